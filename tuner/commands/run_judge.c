/* SPDX-License-Identifier: MIT */
#include "tuner/commands/run_judge.h"

#include "base/hash.h"

static const double repeat_ms = 50;

enum hn_status hn_run_try(struct hn_bench *bench, const struct hn_image *image,
                          struct hn_record *record, struct hn_error *err)
{
    const struct hn_bench_request request = {.trial = record->suspicion};
    if (record->outcome != HN_OUTCOME_OK || record->suspicion < HN_SUSPICION_CHECKED)
        return HN_OK;
    return hn_bench_evaluate(bench, image, &request, record, err);
}

/* On a second seed, which nobody could prepare for; files say what is right for one seed only. */
static enum hn_status verify_again(struct hn_bench *bench, const struct hn_plan *plan,
                                   const struct hn_image *image, struct hn_record *record,
                                   struct hn_error *err)
{
    bool one_seed = plan->reference.kind == HN_REFERENCE_FILES;
    const struct hn_bench_request request = {
        .verify = true, .observe = "audit", .repeat_ms = repeat_ms};
    struct hn_record again;
    struct hn_random secret;
    uint64_t seed = 0;
    hn_record_init(&again);
    enum hn_status status = hn_bindings_copy(&again.point, &record->point, err);
    if (status == HN_OK)
        status = hn_random_seed_secretly(&secret, err);
    if (status == HN_OK && !one_seed) {
        seed = hn_random_below(&secret, INT64_MAX); /* as --seed takes it */
        status = hn_bench_reseed(bench, seed, err);
    }
    if (status == HN_OK)
        status = hn_bench_evaluate(bench, image, &request, &again, err);
    if (status == HN_OK)
        status = hn_run_try(bench, image, &again, err);
    if (status == HN_OK && again.outcome != HN_OUTCOME_OK && one_seed)
        hn_record_fail(record, again.outcome, "%s (when it was launched again)",
                       again.message == NULL ? "no message" : again.message);
    else if (status == HN_OK && again.outcome != HN_OUTCOME_OK)
        hn_record_fail(record, again.outcome, "%s (on the second seed, %llu)",
                       again.message == NULL ? "no message" : again.message,
                       (unsigned long long)seed);
    record->verdict.seeds += status == HN_OK && again.outcome == HN_OUTCOME_OK && !one_seed;
    record->verdict.launches += again.verdict.launches;
    hn_record_finish(&again);
    return status;
}

enum hn_status hn_run_judge(struct hn_bench *bench, const struct hn_plan *plan,
                            const struct hn_image *image, struct hn_record *record,
                            struct hn_beside *beside, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    if (hn_beside_obstacle(plan) == NULL)
        status = hn_bench_beside(bench, image, record, beside, err);
    if (status == HN_OK)
        status = hn_run_try(bench, image, record, err);
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK)
        status = verify_again(bench, plan, image, record, err);
    return status;
}
