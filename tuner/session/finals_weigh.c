/* SPDX-License-Identifier: MIT */
#include "runtime/bench/energy.h"
#include "runtime/plan/launch.h"
#include "tuner/session/finals_part.h"

static bool has_fallen(const struct hn_finals *finals, size_t i)
{
    return hn_finals_flight(finals, i)->record.outcome != HN_OUTCOME_OK;
}

/* A window of one; false where there was none. */
static enum hn_status weigh_one(struct hn_finals *finals, size_t i, bool *told, bool *again,
                                struct hn_error *err)
{
    const struct hn_bench_request request = {.energy_s = finals->session->options.energy_s};
    struct hn_record verdict;
    hn_record_init(&verdict);
    enum hn_status status = hn_finals_check(finals, i, &request, &verdict, err);
    *told = status == HN_OK && hn_observed_any(&verdict.observed, "energy");
    if (*told) {
        hn_error_init(err);
        hn_energy_add(&hn_finals_flight(finals, i)->record.observed, &verdict.observed, err);
        status = err->status;
    }
    bool failed = verdict.outcome != HN_OUTCOME_OK && verdict.outcome != HN_OUTCOME_SKIPPED;
    if (status == HN_OK && failed && hn_session_weighs(finals->session)) {
        *told = true;
        status = hn_finals_fall(finals, i, &verdict, "(while its energy was measured)", again, err);
    }
    hn_record_finish(&verdict);
    return status;
}

/* One window of each, then another one in the order reversed, so that what warms up or cools down
 * meanwhile adds as much to all. */
static enum hn_status weigh(struct hn_finals *finals, size_t count, bool *again,
                            struct hn_error *err)
{
    enum hn_status status = HN_OK;
    bool told = true;
    for (size_t i = 0; i < count; i++)
        hn_observed_drop(&hn_finals_flight(finals, i)->record.observed, "energy");
    for (size_t i = 0; status == HN_OK && told && i < 2 * count; i++) {
        size_t place = i < count ? i : 2 * count - 1 - i;
        if (hn_session_is_over(finals->session))
            break;
        if (!has_fallen(finals, place))
            status = weigh_one(finals, place, &told, again, err);
    }
    return status;
}

/* Where energy is the objective: no race counts in which not all were weighed. */
static enum hn_status take_joules(struct hn_finals *finals, struct hn_error *err)
{
    const struct hn_session *session = finals->session;
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < finals->count; i++) {
        struct hn_record *record = &hn_finals_flight(finals, i)->record;
        if (has_fallen(finals, i))
            continue;
        finals->raced = finals->raced && hn_observed_any(&record->observed, "energy");
        status = hn_metrics_evaluate(session->task->plan, session->task->problem, record, err);
        if (status == HN_OK)
            status = hn_session_note_result(finals->session, finals->numbers[i], err);
    }
    return status;
}

enum hn_status hn_finals_weigh(struct hn_finals *finals, bool *again, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    bool decides = hn_session_weighs(session);
    size_t count = finals->count < HN_WEIGHED_LIMIT ? finals->count : HN_WEIGHED_LIMIT;
    bool weighed = false;
    if (session->options.energy_s <= 0 || count == 0 || hn_session_is_over(session))
        return HN_OK;
    hn_session_show(session, "measuring the energy of the finalists");
    enum hn_status status = weigh(finals, count, again, err);
    for (size_t i = 0; status == HN_OK && i < count; i++) {
        struct hn_bindings *observed = &hn_finals_flight(finals, i)->record.observed;
        /* Of a single window it is not known what it is worth. */
        if (hn_observed(observed, "energy.windows") < 2)
            hn_observed_drop(observed, "energy");
        else if (!decides)
            status = hn_session_keep(session, finals->numbers[i], err);
        weighed = weighed || hn_observed_any(observed, "energy");
    }
    session->state.unweighed = !weighed && !hn_session_is_over(session);
    return status == HN_OK && decides ? take_joules(finals, err) : status;
}

bool hn_finals_lack_energy(const struct hn_session *session)
{
    return session->options.energy_s > 0 && session->state.best != NULL &&
           !hn_observed_any(&session->state.best->observed, "energy");
}
