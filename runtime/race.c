/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "runtime/workbench.h"

enum { MAX_FIELD = 64 };

/* A candidate on the track. */
struct runner {
    struct hn_variant variant;
    struct hn_work work;
    struct hn_outputs *outputs;
    struct hn_record *record;
    size_t batch;
    double *host_us; /* of the rounds that were taken, by the host's clock */
    size_t laps;
};

static bool is_running(const struct runner *runner)
{
    return runner->record->outcome == HN_OUTCOME_OK;
}

static enum hn_status line_up(struct hn_bench *bench, const struct hn_bench_candidate *candidate,
                              struct runner *runner, struct hn_record *record, struct hn_error *err)
{
    double estimate_us = 0.0;
    runner->record = record;
    record->outcome = HN_OUTCOME_OK;
    enum hn_status status =
        hn_bench_prepare(bench, candidate->point, candidate->image, &runner->variant, record, err);
    if (status != HN_OK || !is_running(runner))
        return status;
    runner->work = hn_bench_work(bench, &runner->variant);
    status = hn_bench_find_outputs(bench, candidate->point, &runner->outputs, err);
    if (status == HN_OK && runner->outputs == &bench->own_outputs)
        runner->outputs = NULL;
    if (status == HN_OK)
        status = hn_sampler_choose_batch(&bench->sampler, &runner->work, &runner->batch,
                                         &estimate_us, err);
    return hn_bench_settle(bench, &runner->variant, status, record, err);
}

static enum hn_status compare_output(struct hn_bench *bench, struct runner *runner,
                                     struct hn_error *err)
{
    struct hn_outputs *outputs = runner->outputs;
    if (outputs == NULL)
        outputs = &bench->own_outputs;
    enum hn_status status =
        hn_verify_check(&runner->variant, outputs, "in the final race: ", runner->record, err);
    if (status == HN_OK && !is_running(runner))
        status = hn_bench_repair_references(bench, err);
    return status;
}

/* Without a reference each lap compares with the outputs of a launch just before it. */
static enum hn_status capture_own_outputs(struct hn_bench *bench, struct runner *runner,
                                          struct hn_error *err)
{
    enum hn_status status = hn_verify_launch(&runner->variant, 0, runner->record, err);
    if (status == HN_OK && is_running(runner))
        status = hn_outputs_capture(&bench->own_outputs, err);
    return status;
}

/* Outputs are compared in the first round and after the last: each comparison costs about as much
 * as the lap. */
static enum hn_status run_lap(struct hn_bench *bench, struct runner *runner, bool compare,
                              double *sample_us, struct hn_error *err)
{
    struct hn_sample sample = {0};
    enum hn_status status = hn_variant_place(&runner->variant, runner->record, err);
    if (status == HN_OK && is_running(runner) && compare && runner->outputs == NULL)
        status = capture_own_outputs(bench, runner, err);
    if (status == HN_OK && is_running(runner))
        status = hn_sampler_take(&bench->sampler, &runner->work, runner->batch, 1, &sample, err);
    if (status == HN_OK && is_running(runner) && compare)
        status = compare_output(bench, runner, err);
    status = hn_bench_settle(bench, &runner->variant, status, runner->record, err);
    *sample_us = status == HN_OK && is_running(runner) ? sample.time_us : 0.0;
    runner->host_us[runner->laps++] = sample.host_us;
    return status;
}

/* Each round begins with another candidate, so that none always follows the same one. */
static enum hn_status run_round(struct hn_bench *bench, struct runner *runners, size_t count,
                                size_t round, double *samples, size_t max_rounds,
                                struct hn_error *err)
{
    for (size_t i = 0; i < count; i++) {
        size_t c = (i + round) % count;
        samples[c * max_rounds + round] = 0.0;
        if (!is_running(&runners[c]))
            continue;
        enum hn_status status =
            run_lap(bench, &runners[c], round == 0, &samples[c * max_rounds + round], err);
        if (status != HN_OK || bench->context.dead)
            return status;
    }
    return HN_OK;
}

/* Whether the rounds so far tell who is faster. */
static bool is_decided(const struct hn_bench *bench, const struct runner *runners, size_t count,
                       const double *samples, size_t max_rounds, size_t rounds)
{
    const double *field[MAX_FIELD];
    size_t running = 0;
    double resolution_us = 0.0;
    for (size_t c = 0; c < count && running < MAX_FIELD; c++) {
        if (!is_running(&runners[c]))
            continue;
        field[running++] = samples + c * max_rounds;
        resolution_us =
            fmax(resolution_us, bench->sampler.resolution_us / (double)runners[c].batch);
    }
    return hn_race_is_decided(field, running, rounds, resolution_us);
}

static enum hn_status run_rounds(struct hn_bench *bench, struct runner *runners, size_t count,
                                 int min_rounds, int max_rounds, double budget_ms, double *samples,
                                 int *done, struct hn_error *err)
{
    double started_ms = hn_now_ms();
    for (*done = 0; *done < max_rounds; ++*done) {
        if (*done >= min_rounds &&
            (hn_now_ms() - started_ms >= budget_ms ||
             is_decided(bench, runners, count, samples, (size_t)max_rounds, (size_t)*done)))
            break;
        enum hn_status status =
            run_round(bench, runners, count, (size_t)*done, samples, (size_t)max_rounds, err);
        if (status != HN_OK || bench->context.dead)
            return status;
    }
    return HN_OK;
}

/* Of the laps whose times count, which the last one's does not. */
static void take_host_times(struct runner *runners, size_t count, int rounds)
{
    for (size_t i = 0; i < count; i++) {
        size_t laps = runners[i].laps < (size_t)rounds ? runners[i].laps : (size_t)rounds;
        if (is_running(&runners[i]))
            runners[i].record->timing.host_us = hn_median(runners[i].host_us, laps);
    }
}

static enum hn_status run_last_laps(struct hn_bench *bench, struct runner *runners, size_t count,
                                    struct hn_error *err)
{
    double ignored_us;
    for (size_t i = 0; i < count && !bench->context.dead; i++) {
        if (!is_running(&runners[i]))
            continue;
        enum hn_status status = run_lap(bench, &runners[i], true, &ignored_us, err);
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}

enum hn_status hn_bench_race(struct hn_bench *bench, const struct hn_bench_candidate *candidates,
                             size_t count, int min_rounds, int max_rounds, double budget_ms,
                             double *samples, int *done, struct hn_record *records,
                             struct hn_error *err)
{
    struct hn_error own_error;
    err = err == NULL ? &own_error : err;
    *done = 0;
    struct runner *runners = calloc(count + 1, sizeof *runners);
    if (runners == NULL)
        return hn_fail_memory(err);
    enum hn_status status = hn_bench_clear_unchecked(bench, err);
    for (size_t i = 0; i < count && status == HN_OK; i++) {
        runners[i].host_us = calloc((size_t)max_rounds + 1, sizeof *runners[i].host_us);
        if (runners[i].host_us == NULL)
            status = hn_fail_memory(err);
    }
    for (size_t i = 0; i < count && status == HN_OK && !bench->context.dead; i++)
        status = line_up(bench, &candidates[i], &runners[i], &records[i], err);
    if (status == HN_OK && !bench->context.dead)
        status = run_rounds(bench, runners, count, min_rounds, max_rounds, budget_ms, samples, done,
                            err);
    if (status == HN_OK)
        status = run_last_laps(bench, runners, count, err);
    if (status == HN_OK)
        take_host_times(runners, count, *done);
    for (size_t i = 0; i < count; i++) {
        hn_variant_finish(&runners[i].variant);
        free(runners[i].host_us);
    }
    free(runners);
    return status;
}
