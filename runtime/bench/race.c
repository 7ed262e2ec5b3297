/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "runtime/bench/bench_internal.h"

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
    double compared_us; /* the least of the laps that were compared */
    bool cheap;         /* all laps are prepared as those that are compared */
};

/* All runners of a round run on the same inputs. Those of the rounds that are compared are those
 * whose results are known, those of the others are new, so that what a variant remembers is of no
 * use. */
struct race {
    struct hn_bench *bench;
    struct runner *runners;
    size_t count;
    const struct hn_race_rules *rules;
    double *samples;
    size_t compared_round; /* drawn, beside the first; the laps behind the last round are compared
                              too */
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
        candidate->image == NULL
            ? hn_bench_prepare_reference(bench, candidate->point, &runner->variant, record, err)
            : hn_bench_prepare(bench, candidate->point, candidate->image, &runner->variant, record,
                               err);
    if (status != HN_OK || !is_running(runner))
        return status;
    runner->work = hn_bench_work(bench, &runner->variant);
    runner->compared_us = INFINITY;
    /* Where caches are warm, what is compared must not be told by what poison displaced. */
    runner->work.rewritten = bench->regime != HN_COLD;
    status = hn_bench_find_outputs(bench, candidate->point, &runner->outputs, err);
    if (status == HN_OK && runner->outputs == &bench->own_outputs)
        runner->outputs = NULL;
    if (status == HN_OK)
        status = hn_sampler_choose_batch(&bench->sampler, &runner->work, &runner->batch,
                                         &estimate_us, err);
    runner->cheap =
        bench->regime == HN_COLD &&
        hn_poison_is_cheap(&runner->work, runner->batch, estimate_us * (double)runner->batch);
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

/* Outputs are compared in a round that is drawn and after the last: each comparison costs about as
 * much as the lap. */
static enum hn_status run_lap(struct hn_bench *bench, struct runner *runner, bool compare,
                              double *sample_us, struct hn_error *err)
{
    struct hn_sample sample = {0};
    enum hn_status status = hn_variant_place(&runner->variant, runner->record, err);
    if (status == HN_OK && is_running(runner) && compare && runner->outputs == NULL)
        status = capture_own_outputs(bench, runner, err);
    if (status == HN_OK && is_running(runner))
        status = hn_sampler_take(&bench->sampler, &runner->work, runner->batch, 1,
                                 compare || runner->cheap, &sample, err);
    if (status == HN_OK && is_running(runner) && compare)
        status = compare_output(bench, runner, err);
    status = hn_bench_settle(bench, &runner->variant, status, runner->record, err);
    *sample_us = status == HN_OK && is_running(runner) ? sample.time_us : 0.0;
    if (compare)
        runner->compared_us = fmin(runner->compared_us, sample.time_us);
    runner->host_us[runner->laps++] = sample.host_us;
    return status;
}

/* A pipeline's inputs are not changed: they would have to go to the host first. */
static enum hn_status change_inputs(struct race *race, bool known, struct hn_error *err)
{
    struct hn_arena *arena = &race->bench->arena;
    uint64_t seed = known ? arena->seed : hn_random_next(&arena->secret);
    if (race->bench->plan->pipeline != NULL || seed == arena->contents_seed)
        return HN_OK;
    return hn_arena_refill(arena, seed, err);
}

/* Each round begins with another candidate, so that none always follows the same one. */
static enum hn_status run_round(struct race *race, size_t round, struct hn_error *err)
{
    bool compared = round == race->compared_round;
    enum hn_status status = change_inputs(race, compared, err);
    for (size_t i = 0; i < race->count && status == HN_OK && !race->bench->context.dead; i++) {
        size_t c = (i + round) % race->count;
        double *sample_us = &race->samples[c * (size_t)race->rules->max_rounds + round];
        *sample_us = 0.0;
        if (is_running(&race->runners[c]))
            status = run_lap(race->bench, &race->runners[c], compared, sample_us, err);
    }
    return status;
}

/* Whether the rounds so far tell who is faster. */
static bool is_decided(const struct race *race, size_t rounds)
{
    const double *field[MAX_FIELD];
    size_t running = 0;
    double resolution_us = 0.0;
    for (size_t c = 0; c < race->count && running < MAX_FIELD; c++) {
        if (!is_running(&race->runners[c]))
            continue;
        field[running++] = race->samples + c * (size_t)race->rules->max_rounds;
        resolution_us = fmax(resolution_us,
                             race->bench->sampler.resolution_us / (double)race->runners[c].batch);
    }
    return hn_race_is_decided(field, running, rounds, resolution_us);
}

static enum hn_status run_rounds(struct race *race, int *done, struct hn_error *err)
{
    double started_ms = hn_now_ms();
    for (*done = 0; *done < race->rules->max_rounds; ++*done) {
        if (*done >= race->rules->min_rounds &&
            (hn_now_ms() - started_ms >= race->rules->budget_ms || is_decided(race, (size_t)*done)))
            break;
        enum hn_status status = run_round(race, (size_t)*done, err);
        if (status != HN_OK || race->bench->context.dead)
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

static enum hn_status run_last_laps(struct race *race, struct hn_error *err)
{
    double ignored_us;
    enum hn_status status = change_inputs(race, true, err);
    for (size_t i = 0; i < race->count && status == HN_OK && !race->bench->context.dead; i++)
        if (is_running(&race->runners[i]))
            status = run_lap(race->bench, &race->runners[i], true, &ignored_us, err);
    return status;
}

/* Whether compared laps took longer than those on inputs that were as new. */
static void suspect(struct race *race, size_t c, size_t rounds)
{
    struct runner *runner = &race->runners[c];
    double others_us[HN_RACE_MOST_ROUNDS];
    size_t others = 0;
    for (size_t r = 0; r < rounds; r++)
        if (r != race->compared_round)
            others_us[others++] = race->samples[c * (size_t)race->rules->max_rounds + r];
    if (hn_measure_is_suspicious(runner->compared_us, others_us, others,
                                 hn_sampler_slack_us(&race->bench->sampler, runner->batch)))
        runner->record->suspicion = HN_SUSPICION_CHECKED;
}

static enum hn_status run_race(struct race *race, const struct hn_bench_candidate *candidates,
                               int *done, struct hn_record *records, struct hn_error *err)
{
    struct hn_bench *bench = race->bench;
    size_t most_laps = (size_t)race->rules->max_rounds + 1;
    enum hn_status status = hn_bench_clear_unchecked(bench, err);
    for (size_t i = 0; i < race->count && status == HN_OK; i++) {
        race->runners[i].host_us = calloc(most_laps, sizeof *race->runners[i].host_us);
        if (race->runners[i].host_us == NULL)
            status = hn_fail_memory(err);
    }
    if (status == HN_OK)
        status = change_inputs(race, false, err);
    for (size_t i = 0; i < race->count && status == HN_OK && !bench->context.dead; i++)
        status = line_up(bench, &candidates[i], &race->runners[i], &records[i], err);
    if (status == HN_OK && !bench->context.dead)
        status = run_rounds(race, done, err);
    if (status == HN_OK && !bench->context.dead)
        status = run_last_laps(race, err);
    for (size_t i = 0; i < race->count && status == HN_OK && !bench->context.dead; i++)
        if (is_running(&race->runners[i]) && !race->runners[i].work.issued)
            suspect(race, i, (size_t)*done);
    if (status == HN_OK)
        take_host_times(race->runners, race->count, *done);
    return status;
}

enum hn_status hn_bench_race(struct hn_bench *bench, const struct hn_bench_candidate *candidates,
                             size_t count, const struct hn_race_rules *rules, double *samples,
                             int *done, struct hn_record *records, struct hn_error *err)
{
    struct hn_error own_error;
    err = err == NULL ? &own_error : err;
    *done = 0;
    struct runner *runners = calloc(count + 1, sizeof *runners);
    if (runners == NULL)
        return hn_fail_memory(err);
    struct race race = {
        .bench = bench, .runners = runners, .count = count, .rules = rules, .samples = samples};
    if (rules->min_rounds > 0)
        race.compared_round = hn_random_below(&bench->arena.secret, (uint64_t)rules->min_rounds);
    enum hn_status status = run_race(&race, candidates, done, records, err);
    for (size_t i = 0; i < count; i++) {
        hn_variant_finish(&runners[i].variant);
        free(runners[i].host_us);
    }
    free(runners);
    return status;
}
