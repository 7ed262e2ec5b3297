/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "runtime/bench/bench_parts.h"

enum { MAX_FIELD = 64 };

/* A candidate on the track. */
struct runner {
    struct hn_variant variant;
    struct hn_work work;
    struct hn_reference_run *reference; /* with what its outputs have to be */
    struct hn_record *record;
    double *samples_us; /* the record's: of each round, and of the lap behind the last */
    double *host_us;    /* of the rounds that were taken, by the host's clock */
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
    size_t done;           /* whole rounds */
    size_t compared_round; /* drawn, beside the first; the laps behind the last round are compared
                              too */
};

static bool is_running(const struct runner *runner)
{
    return runner->record->outcome == HN_OUTCOME_OK;
}

static void line_up(struct hn_bench *bench, const struct hn_bench_candidate *candidate,
                    struct runner *runner, struct hn_error *err)
{
    struct hn_record *record = runner->record;
    bool cold = bench->options.regime == HN_COLD;
    double estimate_us = 0.0;
    record->outcome = HN_OUTCOME_OK;
    if (candidate->image == NULL)
        hn_bench_prepare_reference(bench, candidate->point, &runner->variant, record, err);
    else
        hn_bench_prepare(bench, candidate->point, candidate->image, &runner->variant, record, err);
    if (!hn_goes_on(&runner->variant, err))
        return;
    runner->work = hn_bench_work(bench, &runner->variant);
    runner->compared_us = INFINITY;
    /* Where caches are warm, what is compared must not be told by what poison displaced. */
    runner->work.rewritten = !cold;
    runner->reference = hn_bench_find_reference(bench, candidate->point, err);
    hn_sampler_choose_batch(&runner->work, &estimate_us, err);
    runner->cheap =
        cold && hn_poison_is_cheap(&runner->work, estimate_us * (double)runner->work.batch);
    hn_bench_settle(bench, &runner->variant, err);
}

/* Outputs are compared in a round that is drawn and after the last: each comparison costs about as
 * much as the lap. Without a reference each lap compares with the outputs of a launch just before
 * it. */
static void run_lap(struct hn_bench *bench, struct runner *runner, bool compare, double *sample_us,
                    struct hn_error *err)
{
    struct hn_sample sample = {0};
    struct hn_variant *variant = &runner->variant;
    hn_variant_place(variant, err);
    if (compare && bench->plan->reference.kind == HN_REFERENCE_NONE) {
        hn_verify_launch(variant, 0, err);
        if (hn_goes_on(variant, err))
            hn_outputs_capture(&runner->reference->outputs, err);
    }
    if (hn_goes_on(variant, err))
        hn_sampler_take(&runner->work, 1, compare || runner->cheap, &sample, err);
    if (hn_goes_on(variant, err) && compare) {
        hn_verify_check(variant, &runner->reference->outputs, "in the final race: ", err);
        if (!is_running(runner))
            hn_bench_repair_references(bench, err);
    }
    hn_bench_settle(bench, variant, err);
    *sample_us = hn_goes_on(variant, err) ? sample.time_us : 0.0;
    if (compare)
        runner->compared_us = fmin(runner->compared_us, sample.time_us);
    runner->host_us[runner->laps++] = sample.host_us;
}

/* Neither the run nor the device has failed. */
static bool goes_on(const struct race *race, const struct hn_error *err)
{
    return !hn_failed(err) && !race->bench->context.dead;
}

/* A pipeline's inputs are not changed: they would have to go to the host first. */
static void change_inputs(struct race *race, bool known, struct hn_error *err)
{
    struct hn_arena *arena = &race->bench->arena;
    uint64_t seed = known ? arena->seed : hn_random_next(&arena->secret);
    if (race->bench->plan->pipeline == NULL && seed != arena->contents_seed)
        hn_arena_refill(arena, seed, err);
}

/* Each round begins with another candidate, so that none always follows the same one. */
static void run_round(struct race *race, bool compared, struct hn_error *err)
{
    change_inputs(race, compared, err);
    for (size_t i = 0; i < race->count && goes_on(race, err); i++) {
        struct runner *runner = &race->runners[(i + race->done) % race->count];
        if (is_running(runner))
            run_lap(race->bench, runner, compared, &runner->samples_us[race->done], err);
    }
}

/* Whether the rounds so far tell who is faster. */
static bool is_decided(const struct race *race)
{
    const double *field[MAX_FIELD];
    size_t running = 0;
    double resolution_us = 0.0;
    for (size_t c = 0; c < race->count && running < MAX_FIELD; c++) {
        if (!is_running(&race->runners[c]))
            continue;
        field[running++] = race->runners[c].samples_us;
        resolution_us = fmax(resolution_us, race->bench->sampler.resolution_us /
                                                (double)race->runners[c].work.batch);
    }
    return hn_race_is_decided(field, running, race->done, resolution_us);
}

/* Suspected is whose compared laps took longer than those on inputs that were as new. The host's
 * times are of the laps that count, which the last one does not. */
static void run_race(struct race *race, const struct hn_bench_candidate *candidates,
                     struct hn_error *err)
{
    const struct hn_race_rules *rules = race->rules;
    struct hn_bench *bench = race->bench;
    hn_bench_clear_unchecked(bench, err);
    change_inputs(race, false, err);
    for (size_t i = 0; i < race->count && goes_on(race, err); i++)
        line_up(bench, &candidates[i], &race->runners[i], err);
    double started_ms = hn_now_ms();
    while (race->done < (size_t)rules->max_rounds && goes_on(race, err)) {
        if (race->done >= (size_t)rules->min_rounds &&
            (hn_now_ms() - started_ms >= rules->budget_ms || is_decided(race)))
            break;
        run_round(race, race->done == race->compared_round, err);
        race->done += goes_on(race, err);
    }
    if (goes_on(race, err))
        run_round(race, true, err);
    for (size_t i = 0; i < race->count && !hn_failed(err); i++) {
        struct runner *runner = &race->runners[i];
        double others_us[HN_RACE_MOST_ROUNDS];
        size_t others = 0;
        for (size_t r = 0; r < race->done; r++)
            if (r != race->compared_round)
                others_us[others++] = runner->samples_us[r];
        if (goes_on(race, err) && is_running(runner) && !runner->work.issued &&
            hn_measure_is_suspicious(runner->compared_us, others_us, others,
                                     hn_sampler_slack_us(&runner->work)))
            runner->record->suspicion = HN_SUSPICION_CHECKED;
        if (is_running(runner)) {
            size_t laps = runner->laps < race->done ? runner->laps : race->done;
            runner->record->timing.sample_count = race->done;
            runner->record->timing.host_us = hn_median(runner->host_us, laps);
        }
    }
    for (size_t i = 0; i < race->count; i++)
        hn_bench_note(bench, "", race->runners[i].record, err);
}

enum hn_status hn_bench_race(struct hn_bench *bench, const struct hn_bench_candidate *candidates,
                             size_t count, const struct hn_race_rules *rules,
                             struct hn_record *records, struct hn_error *err)
{
    hn_error_init(err);
    struct runner *runners HN_FREED = hn_need(count + 1, sizeof *runners);
    struct race race = {.bench = bench, .runners = runners, .count = count, .rules = rules};
    if (rules->min_rounds > 0)
        race.compared_round = hn_random_below(&bench->arena.secret, (uint64_t)rules->min_rounds);
    for (size_t i = 0; i < count; i++) {
        runners[i].record = &records[i];
        runners[i].host_us = hn_need((size_t)rules->max_rounds + 1, sizeof(double));
        runners[i].samples_us = hn_need((size_t)rules->max_rounds + 1, sizeof(double));
        free(records[i].timing.samples_us);
        records[i].timing.samples_us = runners[i].samples_us;
        records[i].timing.sample_count = 0;
    }
    run_race(&race, candidates, err);
    for (size_t i = 0; i < count; i++) {
        hn_variant_finish(&runners[i].variant);
        free(runners[i].host_us);
    }
    return err->status;
}

/* A variant beside the reference of its point. */

enum { VARIANT, REFERENCE, FIELD };
enum { MIN_ROUNDS = 6, MAX_ROUNDS = 101 };
static const double BESIDE_MS = 1000;

static struct hn_interval interval_of(double *values, size_t count, double resolution)
{
    return hn_interval_widen(hn_interval_of(values, count, HN_OUTSIDE_USUAL), resolution);
}

/* Of `count` rounds, at least one; the resolutions are the timer's. */
static void beside_judge(const double *variant_us, const double *reference_us, size_t count,
                         double variant_resolution_us, double reference_resolution_us,
                         struct hn_beside *beside)
{
    double *sorted HN_FREED = hn_need(3 * count, sizeof *sorted);
    double *ratios = sorted + 2 * count;
    for (size_t i = 0; i < count; i++) {
        sorted[i] = variant_us[i];
        sorted[count + i] = reference_us[i];
        ratios[i] = reference_us[i] / variant_us[i];
    }
    beside->rounds = (int)count;
    beside->variant_us = interval_of(sorted, count, variant_resolution_us);
    beside->reference_us = interval_of(sorted + count, count, reference_resolution_us);
    double blur = variant_resolution_us / beside->variant_us.median +
                  reference_resolution_us / beside->reference_us.median;
    beside->speedup = interval_of(ratios, count, blur * hn_median(ratios, count));
}

enum hn_status hn_bench_beside(struct hn_bench *bench, const struct hn_image *image,
                               struct hn_record *record, struct hn_beside *beside,
                               struct hn_error *err)
{
    const struct hn_bench_candidate field[FIELD] = {
        [VARIANT] = {&record->point, image}, [REFERENCE] = {&record->point, NULL}};
    const struct hn_race_rules rules = {MIN_ROUNDS, MAX_ROUNDS, BESIDE_MS};
    struct hn_record raced[FIELD] = {0};
    hn_error_init(err);
    *beside = (struct hn_beside){.rounds = 0};
    hn_bench_race(bench, field, FIELD, &rules, raced, err);
    const struct hn_record *variant = &raced[VARIANT], *reference = &raced[REFERENCE];
    if (!hn_failed(err)) {
        record->verdict.launches += variant->verdict.launches;
        if (variant->suspicion != HN_SUSPICION_NONE)
            record->suspicion = variant->suspicion;
        if (variant->outcome != HN_OUTCOME_OK)
            hn_record_fail(record, variant->outcome, "%s (beside the reference)",
                           variant->message == NULL ? "no message" : variant->message);
        else if (reference->outcome != HN_OUTCOME_OK)
            hn_fail(err, HN_ERUN, "the reference failed beside the variant: %s: %.3000s",
                    hn_outcome_names[reference->outcome],
                    reference->message == NULL ? "no message" : reference->message);
        else if (reference->timing.sample_count > 0)
            beside_judge(variant->timing.samples_us, reference->timing.samples_us,
                         reference->timing.sample_count, record->timing.resolution_us,
                         bench->sampler.resolution_us, beside);
    }
    for (size_t i = 0; i < FIELD; i++)
        hn_record_finish(&raced[i]);
    return err->status;
}
