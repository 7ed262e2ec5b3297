/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "runtime/bench/bench_internal.h"

/* Far more laps than any set of counters takes. */
enum { MOST_LAPS = 200 };

/* As a sample finds it: unless the cache is flushed, what a launch finds is what one before it
 * left. */
static enum hn_status make_ready(struct hn_bench *bench, const struct hn_work *work,
                                 struct hn_error *err)
{
    enum hn_status status = HN_OK;
    if (bench->regime != HN_COLD) {
        status = hn_sampler_prepare(&bench->sampler, work, 1, HN_OUTPUTS_LEFT, err);
        if (status == HN_OK)
            status = work->launch(work->subject, 0, err);
    }
    if (status == HN_OK)
        status = hn_sampler_prepare(&bench->sampler, work, 1, HN_OUTPUTS_LEFT, err);
    return status == HN_OK ? hn_context_synchronize(&bench->context, work->what, err) : status;
}

/* What CUPTI refuses is no failure of the bench: `obstacle` has its message then. */
static enum hn_status do_lap(struct hn_bench *bench, const struct hn_work *work, bool *more,
                             struct hn_error *obstacle, struct hn_error *err)
{
    *more = false;
    enum hn_status status = make_ready(bench, work, err);
    if (status != HN_OK || hn_profiler_start_lap(bench->profiler, obstacle) != HN_OK)
        return status;
    status = work->launch(work->subject, 0, err);
    if (status == HN_OK)
        status = hn_context_synchronize(&bench->context, work->what, err);
    if (status == HN_OK)
        (void)hn_profiler_end_lap(bench->profiler, more, obstacle);
    return status;
}

static enum hn_status do_laps(struct hn_bench *bench, const struct hn_work *work,
                              struct hn_bindings *observed, struct hn_error *obstacle,
                              struct hn_error *err)
{
    enum hn_status status = HN_OK;
    bool more = true;
    if (hn_profiler_begin(bench->profiler, obstacle) != HN_OK)
        return HN_OK;
    for (int lap = 0; status == HN_OK && more && lap < MOST_LAPS; lap++)
        status = do_lap(bench, work, &more, obstacle, err);
    if (status == HN_OK && obstacle->message[0] == '\0')
        (void)hn_profiler_read(bench->profiler, observed, obstacle);
    hn_profiler_stop(bench->profiler);
    return status;
}

enum hn_status hn_bench_count(struct hn_bench *bench, struct hn_variant *variant,
                              struct hn_record *record, struct hn_error *err)
{
    struct hn_error obstacle = {.message = ""};
    const struct hn_work work = hn_bench_work(bench, variant);
    enum hn_status status = HN_OK;
    if (work.issued)
        (void)hn_fail(&obstacle, HN_ERUN,
                      "a pipeline's launches and copies run side by side, and are not counted");
    else if (bench->profiler == NULL)
        (void)hn_profiler_create(&bench->context, &bench->profiler, &obstacle);
    hn_observed_drop(&record->observed, "counters");
    if (bench->profiler != NULL && !work.issued) {
        status = do_laps(bench, &work, &record->observed, &obstacle, err);
        bench->unchecked = true;
    }
    if (status == HN_OK && obstacle.message[0] != '\0') {
        hn_observed_drop(&record->observed, "counters");
        hn_record_fail(record, HN_OUTCOME_OK, "%s", obstacle.message);
    }
    return status;
}
