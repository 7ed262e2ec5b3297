/* SPDX-License-Identifier: MIT */
#include "runtime/bench/audit.h"

#include <math.h>

enum { LEAST_PAIRS = 4, MOST_PAIRS = 20, LEAST_LONG_PAIRS = 3, MOST_LONG_PAIRS = 6 };
/* Launches from here on are long: dear, and little disturbed. */
static const double LONG_US = 50e3;
static const double TOLERATED = 0.03;
/* Who remembers may wait with answers until it has seen its inputs often: from pair to pair more
 * launches on the same inputs come in between, so many or as many as take so long. A pipeline is
 * not raced on new inputs, so that its audit always has them. */
enum { MOST_BEFORE = 32 };
static const double MOST_BEFORE_US = 5e3;

size_t hn_audit_before(double launch_us, size_t pairs)
{
    double most = fmin(MOST_BEFORE, MOST_BEFORE_US / fmax(launch_us, 1.0));
    return (size_t)fmin(most, ldexp(1.0, (int)pairs) - 1.0);
}

static enum hn_status set_inputs(const struct hn_audit_leg *leg, struct hn_error *err)
{
    enum hn_status status = hn_arena_refill(leg->variant->arena, leg->seed, err);
    return status == HN_OK ? hn_variant_restore(leg->variant, err) : status;
}

static enum hn_status show_inputs(const struct hn_audit_leg *leg, struct hn_error *err)
{
    struct hn_context *context = leg->variant->arena->context;
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < leg->before && status == HN_OK; i++) {
        status = set_inputs(leg, err);
        if (status == HN_OK)
            status = leg->work->launch(leg->work->subject, 0, err);
        if (status == HN_OK)
            status = hn_context_synchronize(context, leg->work->what, err);
    }
    return status;
}

static enum hn_status prepare_leg(void *subject, size_t sets, enum hn_outputs_before before,
                                  struct hn_error *err)
{
    const struct hn_audit_leg *leg = subject;
    struct hn_arena *arena = leg->variant->arena;
    (void)sets;
    (void)before;
    enum hn_status status = leg->again ? show_inputs(leg, err) : HN_OK;
    if (status == HN_OK)
        status = set_inputs(leg, err);
    if (status == HN_OK && !leg->again)
        status = leg->work->issued ? hn_variant_poison(leg->variant, 1, leg->seed, err)
                                   : hn_arena_poison(arena, leg->batch, leg->seed, err);
    if (status == HN_OK && !leg->again)
        status = hn_arena_poison_scratch(arena, leg->batch, leg->seed, err);
    /* In both, so that memory is left in the same state. */
    if (status == HN_OK)
        status = hn_arena_rewrite(arena, HN_ROLE_OUTPUT, leg->batch, err);
    if (status == HN_OK)
        status = hn_arena_rewrite(arena, HN_ROLE_SCRATCH, leg->batch, err);
    return status;
}

static enum hn_status launch_leg(void *subject, size_t set, struct hn_error *err)
{
    const struct hn_audit_leg *leg = subject;
    return leg->work->launch(leg->work->subject, set, err);
}

enum hn_status hn_audit_take(struct hn_sampler *sampler, struct hn_audit_leg *leg, bool again,
                             double *time_us, struct hn_error *err)
{
    struct hn_work work = *leg->work;
    struct hn_sample sample = {0};
    work.subject = leg;
    work.prepare = prepare_leg;
    work.launch = launch_leg;
    leg->again = again;
    enum hn_status status = hn_sampler_take(sampler, &work, leg->batch, 1, 0, &sample, err);
    *time_us = sample.time_us;
    return status;
}

static enum hn_status take_pair(struct hn_sampler *sampler, struct hn_audit_leg *leg,
                                double *fresh_us, double *again_us, struct hn_error *err)
{
    leg->seed = hn_random_next(&sampler->arena->secret);
    enum hn_status status = hn_audit_take(sampler, leg, false, fresh_us, err);
    return status == HN_OK ? hn_audit_take(sampler, leg, true, again_us, err) : status;
}

enum hn_audit_verdict hn_audit_judge(const double *fresh_us, const double *again_us, size_t pairs,
                                     double slack_us, double *difference_us)
{
    double differences_us[MOST_PAIRS];
    double sorted_us[MOST_PAIRS];
    for (size_t i = 0; i < pairs; i++) {
        differences_us[i] = fresh_us[i] - again_us[i];
        sorted_us[i] = fresh_us[i];
    }
    double tolerated_us = fmax(TOLERATED * hn_median(sorted_us, pairs), slack_us);
    struct hn_interval interval = hn_interval_of(differences_us, pairs);
    *difference_us = interval.median;
    if (interval.low >= -tolerated_us && interval.high <= tolerated_us)
        return HN_AUDIT_ALIKE;
    return interval.low > tolerated_us || interval.high < -tolerated_us ? HN_AUDIT_DIFFERS
                                                                        : HN_AUDIT_DOUBT;
}

/* Only all the pairs tell that it differs: few may do so by chance where the device is disturbed.
 */
static enum hn_status compare_launches(struct hn_sampler *sampler, struct hn_audit_leg *leg,
                                       bool *differs, double *fresh_median_us,
                                       double *again_median_us, struct hn_error *err)
{
    double fresh_us[MOST_PAIRS] = {0.0}, again_us[MOST_PAIRS];
    double difference_us = 0.0;
    double slack_us = hn_sampler_slack_us(sampler, leg->batch);
    enum hn_audit_verdict verdict = HN_AUDIT_DOUBT;
    /* The first launch of a module is slower, whatever it finds. */
    enum hn_status status = take_pair(sampler, leg, &fresh_us[0], &again_us[0], err);
    bool is_long = fresh_us[0] >= LONG_US;
    double first_us = fresh_us[0];
    size_t least = is_long ? LEAST_LONG_PAIRS : LEAST_PAIRS;
    size_t most = is_long ? MOST_LONG_PAIRS : MOST_PAIRS;
    size_t pairs = 0;
    while (status == HN_OK && pairs < most) {
        if (leg->memory)
            leg->before = hn_audit_before(first_us, pairs);
        status = take_pair(sampler, leg, &fresh_us[pairs], &again_us[pairs], err);
        pairs += status == HN_OK;
        if (pairs >= least)
            verdict = hn_audit_judge(fresh_us, again_us, pairs, slack_us, &difference_us);
        if (verdict == HN_AUDIT_ALIKE)
            break;
    }
    *differs = status == HN_OK && verdict == HN_AUDIT_DIFFERS;
    *fresh_median_us = pairs > 0 ? hn_median(fresh_us, pairs) : 0;
    *again_median_us = *fresh_median_us - difference_us;
    return status;
}

/* What is no chance is found again. */
static enum hn_status take_pairs(struct hn_sampler *sampler, struct hn_audit_leg *leg,
                                 struct hn_record *record, struct hn_error *err)
{
    double fresh_us = 0, again_us = 0;
    bool differs = true;
    enum hn_status status = HN_OK;
    for (int i = 0; i < 2 && differs && status == HN_OK; i++)
        status = compare_launches(sampler, leg, &differs, &fresh_us, &again_us, err);
    if (status == HN_OK && differs)
        hn_record_fail(record, HN_OUTCOME_WRONG_RESULT,
                       "a launch on new inputs takes %.4g us, one on the same inputs again %.4g "
                       "us: it does not do all of its work in every launch",
                       fresh_us, again_us);
    return status;
}

static enum hn_status cover_sets(struct hn_arena *arena, size_t sets, uint64_t seed,
                                 struct hn_error *err)
{
    enum hn_status status = hn_arena_poison(arena, sets, seed, err);
    return status == HN_OK ? hn_arena_poison_scratch(arena, sets, seed, err) : status;
}

/* What launches may write in their sets is covered by what was there before: then nothing differs.
 */
static enum hn_status look_beside_buffers(struct hn_sampler *sampler,
                                          const struct hn_audit_leg *leg, size_t batch,
                                          uint64_t seed, uint64_t before, struct hn_record *record,
                                          struct hn_error *err)
{
    struct hn_sample sample;
    uint64_t after = 0;
    /* Counters are left as launches leave them. */
    if (leg->variant->zeroed_count > 0)
        return HN_OK;
    enum hn_status status = hn_sampler_take(sampler, leg->work, batch, 1, 0, &sample, err);
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
static enum hn_status look_into_sets(struct hn_sampler *sampler, struct hn_audit_leg *leg,
                                     struct hn_record *record, struct hn_error *err)
{
    struct hn_arena *arena = sampler->arena;
    struct hn_sample sample;
    uint64_t seed = hn_random_next(&arena->secret);
    uint64_t before, after = 0;
    size_t batch = leg->batch;
    enum hn_status status = HN_OK;
    for (int i = 0; i < 2 && status == HN_OK; i++)
        status = hn_sampler_take(sampler, leg->work, batch, 1, 1, &sample, err);
    if (status == HN_OK)
        status = hn_arena_renew_sets(arena, err);
    if (status == HN_OK)
        status = hn_variant_restore(leg->variant, err);
    if (status == HN_OK)
        status = cover_sets(arena, batch, seed, err);
    if (status == HN_OK)
        status = hn_arena_sum_sets(arena, &before, err);
    if (status == HN_OK)
        status = leg->work->launch(leg->work->subject, 0, err);
    if (status == HN_OK)
        status = hn_arena_sum_sets(arena, &after, err);
    if (status == HN_OK && before != after)
        hn_record_fail(record, HN_OUTCOME_WRONG_RESULT,
                       "a launch on one set of the arguments wrote into others: it works ahead for "
                       "launches to come");
    if (status != HN_OK || record->outcome != HN_OUTCOME_OK)
        return status;
    return look_beside_buffers(sampler, leg, batch, seed, before, record, err);
}

enum hn_status hn_audit(struct hn_sampler *sampler, const struct hn_work *work,
                        struct hn_variant *variant, bool memory, struct hn_record *record,
                        struct hn_error *err)
{
    struct hn_audit_leg leg = {.work = work, .variant = variant, .memory = memory || work->issued};
    struct hn_arena *arena = sampler->arena;
    double estimate_us = 0.0;
    const enum hn_regime regime = sampler->regime;
    /* Single launches tell, without what launching them costs, which differs more. */
    if (hn_regime_is_deployed(regime))
        sampler->regime = HN_WARM;
    enum hn_status status = hn_sampler_choose_batch(sampler, work, &leg.batch, &estimate_us, err);
    if (sampler->regime == HN_WARM)
        leg.batch = 1;
    if (status == HN_OK)
        status = take_pairs(sampler, &leg, record, err);
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK && leg.batch > 1)
        status = look_into_sets(sampler, &leg, record, err);
    variant->compared_set = 0;
    sampler->regime = regime;
    return status == HN_OK ? hn_arena_fill(arena, arena->seed, err) : status;
}
