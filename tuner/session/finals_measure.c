/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "runtime/bench/observe/observers.h"
#include "runtime/plan/launch.h"
#include "tuner/session/finals_part.h"

/* What is measured of the finalists beside their times. */

/* Of so many of the best. */
static const size_t counted_finalists = 5;

/* --- counters --------------------------------------------------------------------------------- */

/* What the GPU counts of a finalist's launch; why it can not is told once. */
static void count_one(struct hn_finals *finals, size_t i, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    struct hn_record *record = &hn_finals_flight(finals, i)->record;
    const struct hn_bench_request request = {.observe = "counters"};
    struct hn_record counted;
    hn_finals_check(finals, i, &request, &counted, err);
    if (!hn_failed(err) && counted.outcome == HN_OUTCOME_OK &&
        hn_observed_any(&counted.observed, "counters")) {
        hn_observed_replace(&record->observed, "counters", &counted.observed, err);
        hn_session_keep(session, finals->numbers[i], err);
    } else if (!hn_failed(err) && counted.outcome != HN_OUTCOME_SKIPPED) {
        snprintf(session->state.no_counters, sizeof session->state.no_counters, "%s",
                 counted.message != NULL ? counted.message : "nothing was counted");
    }
    hn_record_finish(&counted);
}

void hn_finals_count(struct hn_finals *finals, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    if (hn_failed(err) || !session->options.counters)
        return;
    hn_session_show(session, "reading the counters of the finalists");
    for (size_t i = 0; !hn_failed(err) && i < finals->count && i < counted_finalists &&
                       session->state.no_counters[0] == '\0' && !hn_session_is_over(session);
         i++)
        if (!hn_observed_any(&hn_finals_flight(finals, i)->record.observed, "counters"))
            count_one(finals, i, err);
}

void hn_finals_count_again(struct hn_finals *finals, struct hn_error *err)
{
    bool known = true;
    hn_finals_gather(finals, err);
    hn_finals_sort(finals);
    finals->count = finals->count < counted_finalists ? finals->count : counted_finalists;
    for (size_t i = 0; i < finals->count; i++)
        known = known && hn_observed_any(&hn_finals_flight(finals, i)->record.observed, "counters");
    if (known)
        return;
    hn_session_prepare(finals->session, err);
    hn_finals_ensure_images(finals, err);
    hn_finals_count(finals, err);
}

/* --- energy ----------------------------------------------------------------------------------- */

static bool has_fallen(const struct hn_finals *finals, size_t i)
{
    return hn_finals_flight(finals, i)->record.outcome != HN_OUTCOME_OK;
}

/* A window of one; false where there was none. */
static bool weigh_one(struct hn_finals *finals, size_t i, struct hn_error *err)
{
    struct hn_bench_request request = {.verify = false};
    struct hn_record verdict;
    snprintf(request.observe, sizeof request.observe, "energy=%.17g",
             finals->session->options.energy_s);
    hn_finals_check(finals, i, &request, &verdict, err);
    bool told = !hn_failed(err) && hn_observed_any(&verdict.observed, "energy");
    if (told)
        hn_observers_add("energy", &hn_finals_flight(finals, i)->record.observed, &verdict.observed,
                         err);
    bool falls = hn_verdict_is_failure(&verdict) && hn_session_weighs(finals->session);
    if (falls)
        hn_finals_fall(finals, i, &verdict, "(while its energy was measured)", err);
    hn_record_finish(&verdict);
    return told || falls;
}

/* One window of each, then another one in the order reversed, so that what warms up or cools down
 * meanwhile adds as much to all. */
static void weigh(struct hn_finals *finals, size_t count, struct hn_error *err)
{
    bool told = true;
    for (size_t i = 0; i < count; i++)
        hn_observed_drop(&hn_finals_flight(finals, i)->record.observed, "energy");
    for (size_t i = 0; !hn_failed(err) && told && i < 2 * count; i++) {
        size_t place = i < count ? i : 2 * count - 1 - i;
        if (hn_session_is_over(finals->session))
            break;
        if (!has_fallen(finals, place))
            told = weigh_one(finals, place, err);
    }
}

/* Where energy is the objective: no race counts in which not all were weighed. */
static void take_joules(struct hn_finals *finals, struct hn_error *err)
{
    const struct hn_task *task = finals->session->task;
    for (size_t i = 0; !hn_failed(err) && i < finals->count; i++) {
        struct hn_record *record = &hn_finals_flight(finals, i)->record;
        if (has_fallen(finals, i))
            continue;
        finals->raced = finals->raced && hn_observed_any(&record->observed, "energy");
        if (hn_metrics_evaluate(task->plan, task->problem, record, err) == HN_OK)
            hn_session_note_result(finals->session, finals->numbers[i]);
    }
}

void hn_finals_weigh(struct hn_finals *finals, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    bool decides = hn_session_weighs(session);
    size_t count = finals->count < HN_WEIGHED_LIMIT ? finals->count : HN_WEIGHED_LIMIT;
    bool weighed = false;
    if (hn_failed(err) || session->options.energy_s <= 0 || count == 0 ||
        hn_session_is_over(session))
        return;
    hn_session_show(session, "measuring the energy of the finalists");
    weigh(finals, count, err);
    for (size_t i = 0; !hn_failed(err) && i < count; i++) {
        struct hn_bindings *observed = &hn_finals_flight(finals, i)->record.observed;
        /* Of a single window it is not known what it is worth. */
        if (hn_observed(observed, "energy.windows") < 2)
            hn_observed_drop(observed, "energy");
        else if (!decides)
            hn_session_keep(session, finals->numbers[i], err);
        weighed = weighed || hn_observed_any(observed, "energy");
    }
    session->state.unweighed = !weighed && !hn_session_is_over(session);
    if (decides)
        take_joules(finals, err);
}

bool hn_finals_lack_energy(const struct hn_session *session)
{
    return session->options.energy_s > 0 && session->state.best != NULL &&
           !hn_observed_any(&session->state.best->observed, "energy");
}

/* --- copies and parts ------------------------------------------------------------------------- */

/* A plan says how much the best moves by a metric named bytes. */
void hn_finals_copy(struct hn_finals *finals, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    if (finals->count == 0 || hn_session_is_over(session) || session->task->plan->pipeline != NULL)
        return;
    const struct hn_value *bytes =
        hn_bindings_get(&hn_finals_flight(finals, 0)->record.metrics, "bytes");
    double moved = bytes != NULL ? hn_value_number(bytes) : 0;
    struct hn_run run = {.kind = HN_RUN_COPY, .bytes = moved / 2};
    if (moved < 2)
        return;
    session->backend->kind->run(session->backend, &run, err);
    session->state.copy_gb_per_s = run.gb_per_s;
}

void hn_finals_parts(struct hn_finals *finals, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    const struct hn_bench_request request = {.observe = "staging"};
    struct hn_record parts;
    if (finals->count == 0 || hn_session_is_over(session) || session->task->plan->pipeline == NULL)
        return;
    hn_session_show(session, "measuring the parts of the best pipeline alone");
    hn_finals_check(finals, 0, &request, &parts, err);
    if (!hn_failed(err) && parts.outcome == HN_OUTCOME_OK) {
        hn_observed_replace(&hn_finals_flight(finals, 0)->record.observed, "staging",
                            &parts.observed, err);
        hn_session_keep(session, finals->numbers[0], err);
    }
    hn_record_finish(&parts);
}
