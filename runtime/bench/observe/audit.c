/* SPDX-License-Identifier: MIT */
#include "runtime/bench/bench_parts.h"
#include "runtime/bench/observe/observers.h"

/* Whether a variant does all of its work in every launch: a trial of kind AGAIN, whose suspicion
 * goes to record; asked for twice over, with more and more launches on the same inputs in between,
 * for who remembers what he has often seen (of a pipeline always). It is a wrong result, too, when
 * a launch on the first set of the arguments writes into others, as one does that works ahead for
 * those that follow in a batch; and out of bounds what launches on others write there but into
 * outputs and scratch (not where a counter is zeroed as part of a launch). */

static void cover_sets(struct hn_arena *arena, size_t sets, uint64_t seed, struct hn_error *err)
{
    hn_arena_poison(arena, sets, seed, err);
    hn_arena_poison_scratch(arena, sets, seed, err);
}

/* What launches may write in their sets is covered by what was there before: then nothing differs.
 */
static void look_beside_buffers(struct hn_sampler *sampler, const struct hn_work *work,
                                const struct hn_variant *variant, size_t batch, uint64_t seed,
                                uint64_t before, struct hn_record *record, struct hn_error *err)
{
    struct hn_sample sample;
    uint64_t after = 0;
    /* Counters are left as launches leave them. */
    if (variant->zeroed_count > 0)
        return;
    hn_sampler_take(sampler, work, batch, 1, 0, &sample, err);
    cover_sets(sampler->arena, batch, seed, err);
    hn_arena_sum_sets(sampler->arena, &after, err);
    if (!hn_failed(err) && before != after)
        hn_record_fail(record, HN_OUTCOME_OUT_OF_BOUNDS,
                       "a launch on another set of the arguments wrote into its inputs, or outside "
                       "of its buffers");
}

/* Behind a batch, so that it has seen the sets. */
static void look_into_sets(struct hn_sampler *sampler, const struct hn_work *work,
                           struct hn_variant *variant, size_t batch, struct hn_record *record,
                           struct hn_error *err)
{
    struct hn_arena *arena = sampler->arena;
    struct hn_sample sample;
    uint64_t seed = hn_random_next(&arena->secret);
    uint64_t before, after = 0;
    for (int i = 0; i < 2; i++)
        hn_sampler_take(sampler, work, batch, 1, 1, &sample, err);
    hn_arena_renew_sets(arena, err);
    hn_variant_restore(variant, err);
    cover_sets(arena, batch, seed, err);
    hn_arena_sum_sets(arena, &before, err);
    work->launch(work->subject, 0, err);
    hn_arena_sum_sets(arena, &after, err);
    if (!hn_failed(err) && before != after)
        hn_record_fail(record, HN_OUTCOME_WRONG_RESULT,
                       "a launch on one set of the arguments wrote into others: it works ahead for "
                       "launches to come");
    if (hn_goes_on(err, record))
        look_beside_buffers(sampler, work, variant, batch, seed, before, record, err);
}

static void run(void *own, struct hn_variant *variant, double asked, struct hn_record *record,
                struct hn_error *err)
{
    struct hn_bench *bench = own;
    const struct hn_work work = hn_bench_work(bench, variant);
    struct hn_arena *arena = &bench->arena;
    double estimate_us = 0.0;
    size_t batch = 1;
    if (bench->options.regime == HN_COLD)
        hn_sampler_choose_batch(&bench->sampler, &work, &batch, &estimate_us, err);
    if (!hn_failed(err))
        hn_bench_try(bench, variant, HN_SUSPICION_AGAIN, asked > 1, false, NULL, record, err);
    /* Nobody had suspected it. */
    if (record->suspicion == HN_SUSPICION_ACQUITTED)
        record->suspicion = HN_SUSPICION_NONE;
    if (hn_goes_on(err, record) && batch > 1)
        look_into_sets(&bench->sampler, &work, variant, batch, record, err);
    variant->compared_set = 0;
    hn_arena_fill(arena, arena->seed, err);
}

const struct hn_observer hn_audit_observer = {.name = "audit", .unseen = true, .run = run};
