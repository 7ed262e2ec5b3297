/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/memory.h"
#include "runtime/bench/bench_parts.h"
#include "runtime/bench/observe/observers.h"
#include "runtime/counters/profiler.h"

/* What the GPU counts of a launch (runtime/counters/counters.h), each from the state that a sample
 * begins with. Nothing is timed or compared. Where there are no counters to be had, the record's
 * message says in one line why. */

/* Far more laps than any set of counters takes. */
enum { MOST_LAPS = 200 };

/* As a sample finds it: unless the cache is flushed, what a launch finds is what one before it
 * left. What CUPTI refuses is no failure of the bench: `obstacle` has its message then. */
static void do_laps(struct hn_bench *bench, struct hn_profiler *profiler,
                    const struct hn_work *work, struct hn_bindings *observed,
                    struct hn_error *obstacle, struct hn_error *err)
{
    bool more = true;
    hn_profiler_begin(profiler, obstacle);
    for (int lap = 0; more && !hn_failed(obstacle) && lap < MOST_LAPS; lap++) {
        if (bench->options.regime != HN_COLD) {
            hn_sampler_prepare(work, 1, HN_OUTPUTS_LEFT, err);
            work->launch(work->subject, 0, err);
        }
        hn_sampler_prepare(work, 1, HN_OUTPUTS_LEFT, err);
        hn_context_synchronize(&bench->context, work->what, err);
        if (!hn_failed(err))
            hn_profiler_start_lap(profiler, obstacle);
        if (hn_failed(err) || hn_failed(obstacle))
            break;
        work->launch(work->subject, 0, err);
        hn_context_synchronize(&bench->context, work->what, err);
        more = !hn_failed(err) && hn_profiler_end_lap(profiler, obstacle);
    }
    if (!hn_failed(err))
        hn_profiler_read(profiler, observed, obstacle);
    hn_profiler_stop(profiler);
}

struct counters {
    struct hn_bench *bench;
    struct hn_profiler *profiler; /* NULL: it can not be made, or was not yet */
};

static void *open_counters(struct hn_bench *bench)
{
    struct counters *counters = hn_need(1, sizeof *counters);
    counters->bench = bench;
    return counters;
}

static void close_counters(void *own)
{
    struct counters *counters = own;
    hn_profiler_destroy(counters->profiler);
    free(counters);
}

static void run(void *own, struct hn_variant *variant, double asked, struct hn_error *err)
{
    struct counters *counters = own;
    struct hn_bench *bench = counters->bench;
    struct hn_record *record = variant->record;
    struct hn_error obstacle;
    const struct hn_work work = hn_bench_work(bench, variant);
    (void)asked;
    hn_error_init(&obstacle);
    if (work.issued)
        hn_fail(&obstacle, HN_ERUN,
                "a pipeline's launches and copies run side by side, and are not counted");
    else if (counters->profiler == NULL)
        hn_profiler_create(&bench->context, &counters->profiler, &obstacle);
    hn_observed_drop(&record->observed, "counters");
    if (counters->profiler != NULL && !work.issued) {
        do_laps(bench, counters->profiler, &work, &record->observed, &obstacle, err);
        bench->unchecked = true;
    }
    if (!hn_failed(err) && hn_failed(&obstacle)) {
        hn_observed_drop(&record->observed, "counters");
        hn_record_fail(record, HN_OUTCOME_OK, "%s", obstacle.message);
    }
}

const struct hn_observer hn_counters_observer = {
    .name = "counters", .open = open_counters, .run = run, .close = close_counters};
