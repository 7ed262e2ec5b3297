/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "tuner/session/finals_part.h"

/* Of so many of the best. */
static const size_t counted_finalists = 5;

/* What the GPU counts of a finalist's launch; why it can not is told once. */
static enum hn_status count_one(struct hn_finals *finals, size_t i, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    struct hn_record *record = &hn_finals_flight(finals, i)->record;
    const struct hn_bench_request request = {.counters = true};
    struct hn_record counted;
    hn_record_init(&counted);
    enum hn_status status = hn_finals_check(finals, i, &request, &counted, err);
    if (status == HN_OK && counted.outcome == HN_OUTCOME_OK &&
        hn_observed_any(&counted.observed, "counters")) {
        hn_error_init(err);
        hn_observed_replace(&record->observed, "counters", &counted.observed, err);
        status = hn_failed(err) ? err->status : hn_session_keep(session, finals->numbers[i], err);
    } else if (status == HN_OK && counted.outcome != HN_OUTCOME_SKIPPED) {
        snprintf(session->state.no_counters, sizeof session->state.no_counters, "%s",
                 counted.message != NULL ? counted.message : "nothing was counted");
    }
    hn_record_finish(&counted);
    return status;
}

enum hn_status hn_finals_count(struct hn_finals *finals, struct hn_error *err)
{
    struct hn_session *session = finals->session;
    enum hn_status status = HN_OK;
    if (!session->options.counters)
        return HN_OK;
    hn_session_show(session, "reading the counters of the finalists");
    for (size_t i = 0; status == HN_OK && i < finals->count && i < counted_finalists &&
                       session->state.no_counters[0] == '\0' && !hn_session_is_over(session);
         i++)
        if (!hn_observed_any(&hn_finals_flight(finals, i)->record.observed, "counters"))
            status = count_one(finals, i, err);
    return status;
}

enum hn_status hn_finals_count_again(struct hn_finals *finals, struct hn_error *err)
{
    enum hn_status status = hn_finals_gather(finals, err);
    if (status != HN_OK || finals->count == 0)
        return status;
    hn_finals_sort(finals);
    finals->count = finals->count < counted_finalists ? finals->count : counted_finalists;
    bool known = true;
    for (size_t i = 0; i < finals->count; i++)
        known = known && hn_observed_any(&hn_finals_flight(finals, i)->record.observed, "counters");
    if (known)
        return HN_OK;
    status = hn_session_prepare(finals->session, err);
    if (status == HN_OK)
        status = hn_finals_ensure_images(finals, err);
    return status == HN_OK ? hn_finals_count(finals, err) : status;
}
