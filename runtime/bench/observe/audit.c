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
    hn_arena_poison(arena, HN_ROLE_OUTPUT, sets, seed, err);
    hn_arena_poison(arena, HN_ROLE_SCRATCH, sets, seed, err);
}

/* Of all bytes of the sets behind the first: whether something wrote there. */
static uint64_t sum_sets(struct hn_arena *arena, struct hn_error *err)
{
    const size_t flush = arena->plan->argument_count;
    hn_support_checksum(arena->support, arena->set_block,
                        (arena->set_count - 1) * arena->argument_bytes,
                        hn_arena_slot(arena, flush, HN_SLOT_CHECKSUM), err);
    hn_arena_read_results(arena, err);
    return hn_failed(err) ? 0 : hn_arena_sum(arena, flush, HN_SLOT_CHECKSUM);
}

/* Behind a batch, so that it has seen the sets. What launches may write in their sets is covered by
 * what was there before: then nothing differs. */
static void look_into_sets(const struct hn_work *work, struct hn_variant *variant,
                           struct hn_error *err)
{
    struct hn_arena *arena = variant->arena;
    struct hn_sample sample;
    uint64_t seed = hn_random_next(&arena->secret);
    for (int i = 0; i < 2; i++)
        hn_sampler_take(work, 1, 1, &sample, err);
    hn_arena_renew_sets(arena, err);
    hn_variant_restore(variant, err);
    cover_sets(arena, work->batch, seed, err);
    uint64_t before = sum_sets(arena, err);
    work->launch(work->subject, 0, err);
    uint64_t after = sum_sets(arena, err);
    if (!hn_failed(err) && before != after)
        hn_record_fail(variant->record, HN_OUTCOME_WRONG_RESULT,
                       "a launch on one set of the arguments wrote into others: it works ahead for "
                       "launches to come");
    /* Counters are left as launches leave them. */
    if (variant->zeroed_count > 0 || !hn_goes_on(variant, err))
        return;
    hn_sampler_take(work, 1, 0, &sample, err);
    cover_sets(arena, work->batch, seed, err);
    after = sum_sets(arena, err);
    if (!hn_failed(err) && before != after)
        hn_record_fail(variant->record, HN_OUTCOME_OUT_OF_BOUNDS,
                       "a launch on another set of the arguments wrote into its inputs, or outside "
                       "of its buffers");
}

static void run(void *own, struct hn_variant *variant, double asked, struct hn_error *err)
{
    struct hn_bench *bench = own;
    struct hn_record *record = variant->record;
    struct hn_work work = hn_bench_work(bench, variant);
    double estimate_us = 0.0;
    if (bench->options.regime == HN_COLD)
        hn_sampler_choose_batch(&work, &estimate_us, err);
    if (!hn_failed(err))
        hn_bench_try(bench, variant, HN_SUSPICION_AGAIN, asked > 1, NULL, err);
    /* Nobody had suspected it. */
    if (record->suspicion == HN_SUSPICION_ACQUITTED)
        record->suspicion = HN_SUSPICION_NONE;
    if (hn_goes_on(variant, err) && work.batch > 1)
        look_into_sets(&work, variant, err);
    variant->compared_set = 0;
    hn_arena_fill(&bench->arena, bench->arena.seed, err);
}

const struct hn_observer hn_audit_observer = {.name = "audit", .unseen = true, .run = run};
