/* SPDX-License-Identifier: MIT */
#include "runtime/bench/beside.h"

#include <stdlib.h>

#include "runtime/bench/bench_internal.h"

enum { VARIANT, REFERENCE, FIELD };
enum { MIN_ROUNDS = 6, MAX_ROUNDS = 101 };
static const double BUDGET_MS = 1000;

const char *hn_beside_obstacle(const struct hn_plan *plan)
{
    if (plan->reference.kind == HN_REFERENCE_NONE)
        return "the config says `reference: none`";
    if (plan->reference.kind == HN_REFERENCE_FILES)
        return "the reference is files, which take no time";
    if (plan->reference.kind == HN_REFERENCE_TEMPLATE && plan->pipeline != NULL)
        return "the reference runs in device memory, the pipeline from host memory to host memory";
    return NULL;
}

static struct hn_interval interval_of(double *values, size_t count, double resolution)
{
    return hn_interval_widen(hn_interval_of(values, count), resolution);
}

enum hn_status hn_beside_judge(const double *variant_us, const double *reference_us, size_t count,
                               double variant_resolution_us, double reference_resolution_us,
                               struct hn_beside *beside, struct hn_error *err)
{
    double *sorted = calloc(3 * count, sizeof *sorted);
    if (sorted == NULL)
        return hn_fail_memory(err);
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
    free(sorted);
    return HN_OK;
}

/* What became of the variant in the race; false when its times do not count. */
static bool take_outcome(struct hn_record *record, const struct hn_record *raced)
{
    record->verdict.launches += raced->verdict.launches;
    if (raced->suspicion != HN_SUSPICION_NONE)
        record->suspicion = raced->suspicion;
    if (raced->outcome == HN_OUTCOME_OK)
        return true;
    hn_record_fail(record, raced->outcome, "%s (beside the reference)",
                   raced->message == NULL ? "no message" : raced->message);
    return false;
}

static enum hn_status judge(const struct hn_bench *bench, const struct hn_record *raced,
                            const double *samples, int rounds, struct hn_record *record,
                            struct hn_beside *beside, struct hn_error *err)
{
    const struct hn_record *reference = &raced[REFERENCE];
    if (reference->outcome != HN_OUTCOME_OK)
        return hn_fail(err, HN_ERUN, "the reference failed beside the variant: %s: %.3000s",
                       hn_outcome_name(reference->outcome),
                       reference->message == NULL ? "no message" : reference->message);
    if (rounds == 0)
        return HN_OK;
    return hn_beside_judge(samples, samples + MAX_ROUNDS, (size_t)rounds,
                           record->timing.resolution_us, bench->sampler.resolution_us, beside, err);
}

enum hn_status hn_bench_beside(struct hn_bench *bench, const struct hn_image *image,
                               struct hn_record *record, struct hn_beside *beside,
                               struct hn_error *err)
{
    const struct hn_bench_candidate field[FIELD] = {
        [VARIANT] = {&record->point, image}, [REFERENCE] = {&record->point, NULL}};
    const struct hn_race_rules rules = {MIN_ROUNDS, MAX_ROUNDS, BUDGET_MS};
    double samples[FIELD * MAX_ROUNDS];
    struct hn_record raced[FIELD];
    int rounds = 0;
    *beside = (struct hn_beside){.rounds = 0};
    for (size_t i = 0; i < FIELD; i++)
        hn_record_init(&raced[i]);
    enum hn_status status =
        hn_bench_race(bench, field, FIELD, &rules, samples, &rounds, raced, err);
    if (status == HN_OK && take_outcome(record, &raced[VARIANT]))
        status = judge(bench, raced, samples, rounds, record, beside, err);
    for (size_t i = 0; i < FIELD; i++)
        hn_record_finish(&raced[i]);
    return status;
}
