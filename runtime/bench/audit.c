/* SPDX-License-Identifier: MIT */
#include "runtime/bench/bench_internal.h"

static enum hn_status cover_sets(struct hn_arena *arena, size_t sets, uint64_t seed,
                                 struct hn_error *err)
{
    enum hn_status status = hn_arena_poison(arena, sets, seed, err);
    return status == HN_OK ? hn_arena_poison_scratch(arena, sets, seed, err) : status;
}

/* What launches may write in their sets is covered by what was there before: then nothing differs.
 */
static enum hn_status look_beside_buffers(struct hn_sampler *sampler, const struct hn_work *work,
                                          const struct hn_variant *variant, size_t batch,
                                          uint64_t seed, uint64_t before, struct hn_record *record,
                                          struct hn_error *err)
{
    struct hn_sample sample;
    uint64_t after = 0;
    /* Counters are left as launches leave them. */
    if (variant->zeroed_count > 0)
        return HN_OK;
    enum hn_status status = hn_sampler_take(sampler, work, batch, 1, 0, &sample, err);
    if (status == HN_OK)
        status = cover_sets(sampler->arena, batch, seed, err);
    if (status == HN_OK)
        status = hn_arena_sum_sets(sampler->arena, &after, err);
    if (status == HN_OK && before != after)
        hn_record_fail(record, HN_OUTCOME_OUT_OF_BOUNDS,
                       "a launch on another set of the arguments wrote into its inputs, or outside "
                       "of its buffers");
    return status;
}

/* Behind a batch, so that it has seen the sets. */
static enum hn_status look_into_sets(struct hn_sampler *sampler, const struct hn_work *work,
                                     struct hn_variant *variant, size_t batch,
                                     struct hn_record *record, struct hn_error *err)
{
    struct hn_arena *arena = sampler->arena;
    struct hn_sample sample;
    uint64_t seed = hn_random_next(&arena->secret);
    uint64_t before, after = 0;
    enum hn_status status = HN_OK;
    for (int i = 0; i < 2 && status == HN_OK; i++)
        status = hn_sampler_take(sampler, work, batch, 1, 1, &sample, err);
    if (status == HN_OK)
        status = hn_arena_renew_sets(arena, err);
    if (status == HN_OK)
        status = hn_variant_restore(variant, err);
    if (status == HN_OK)
        status = cover_sets(arena, batch, seed, err);
    if (status == HN_OK)
        status = hn_arena_sum_sets(arena, &before, err);
    if (status == HN_OK)
        status = work->launch(work->subject, 0, err);
    if (status == HN_OK)
        status = hn_arena_sum_sets(arena, &after, err);
    if (status == HN_OK && before != after)
        hn_record_fail(record, HN_OUTCOME_WRONG_RESULT,
                       "a launch on one set of the arguments wrote into others: it works ahead for "
                       "launches to come");
    if (status != HN_OK || record->outcome != HN_OUTCOME_OK)
        return status;
    return look_beside_buffers(sampler, work, variant, batch, seed, before, record, err);
}

enum hn_status hn_bench_audit(struct hn_bench *bench, struct hn_variant *variant, bool memory,
                              struct hn_record *record, struct hn_error *err)
{
    const struct hn_work work = hn_bench_work(bench, variant);
    struct hn_arena *arena = &bench->arena;
    struct hn_trial trial;
    double estimate_us = 0.0;
    size_t batch = 1;
    enum hn_status status = HN_OK;
    if (bench->regime == HN_COLD)
        status = hn_sampler_choose_batch(&bench->sampler, &work, &batch, &estimate_us, err);
    if (status == HN_OK)
        status =
            hn_bench_try(bench, variant, HN_SUSPICION_AGAIN, memory, false, &trial, record, err);
    /* Nobody had suspected it. */
    if (record->suspicion == HN_SUSPICION_ACQUITTED)
        record->suspicion = HN_SUSPICION_NONE;
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK && batch > 1)
        status = look_into_sets(&bench->sampler, &work, variant, batch, record, err);
    variant->compared_set = 0;
    return status == HN_OK ? hn_arena_fill(arena, arena->seed, err) : status;
}
