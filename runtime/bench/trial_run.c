/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "runtime/bench/bench_internal.h"

/* A sample of short launches is the last of so many that are queued together, as in a measurement:
 * then the host keeps ahead. */
enum { GROUP = 3 };
static const double SHORT_US = 1e3;
enum { LEAST_ROUNDS = 11 };
static const double MOST_US = 20e6;
/* A reference that takes so much longer is no control. */
static const double CONTROL_SHARE = 3.0;
/* Who remembers may wait with answers until it has seen its inputs often: from round to round more
 * launches on the same inputs come in between, so many or as many as take so long. */
enum { MOST_BEFORE = 32 };
static const double MOST_BEFORE_US = 5e3;

struct side {
    struct hn_variant *variant;
    struct hn_work own;
    struct hn_work work; /* the launches of a trial */
    size_t batch;
    double estimate_us;
    uint64_t seed; /* of a launch's inputs, where they are new */
    bool again;
    size_t before; /* then: launches on the same inputs in front of it */
};

struct court {
    struct hn_bench *bench;
    struct hn_trial *trial;
    struct hn_record *record;
    bool memory;
    struct side sides[HN_TRIAL_SIDES];
};

static enum hn_status set_inputs(const struct side *side, struct hn_error *err)
{
    enum hn_status status = hn_arena_refill(side->variant->arena, side->seed, err);
    return status == HN_OK ? hn_variant_restore(side->variant, err) : status;
}

static enum hn_status show_inputs(const struct side *side, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < side->before && status == HN_OK; i++) {
        status = set_inputs(side, err);
        if (status == HN_OK)
            status = side->own.launch(side->own.subject, 0, err);
        if (status == HN_OK)
            status = hn_context_synchronize(side->variant->arena->context, side->own.what, err);
    }
    return status;
}

static enum hn_status prepare(void *subject, size_t sets, enum hn_outputs_before outputs,
                              struct hn_error *err)
{
    const struct side *side = subject;
    struct hn_arena *arena = side->variant->arena;
    (void)sets;
    (void)outputs;
    enum hn_status status = side->again ? show_inputs(side, err) : HN_OK;
    if (status == HN_OK)
        status = set_inputs(side, err);
    if (status == HN_OK && !side->again)
        status = side->own.issued ? hn_variant_poison(side->variant, 1, side->seed, err)
                                  : hn_arena_poison(arena, side->batch, side->seed, err);
    if (status == HN_OK && !side->again)
        status = hn_arena_poison_scratch(arena, side->batch, side->seed, err);
    /* In both, so that memory is left in the same state. */
    if (status == HN_OK)
        status = hn_arena_rewrite(arena, HN_ROLE_OUTPUT, side->batch, err);
    return status == HN_OK ? hn_arena_rewrite(arena, HN_ROLE_SCRATCH, side->batch, err) : status;
}

static enum hn_status launch(void *subject, size_t set, struct hn_error *err)
{
    const struct side *side = subject;
    return side->own.launch(side->own.subject, set, err);
}

/* Hone's own kernel, which leaves nothing out. */
static enum hn_status write_outputs(void *subject, size_t set, struct hn_error *err)
{
    const struct hn_variant *variant = subject;
    (void)set;
    return hn_arena_rewrite(variant->arena, HN_ROLE_OUTPUT, 1, err);
}

static enum hn_status seat(struct court *court, int number, struct hn_error *err)
{
    struct side *side = &court->sides[number];
    struct hn_sampler *sampler = &court->bench->sampler;
    side->work = side->own;
    if (court->trial->kind == HN_SUSPICION_AGAIN) {
        side->work.subject = side;
        side->work.prepare = prepare;
        side->work.launch = launch;
    }
    side->estimate_us = 0.0;
    enum hn_status status =
        hn_sampler_choose_batch(sampler, &side->own, &side->batch, &side->estimate_us, err);
    if (sampler->regime == HN_WARM)
        side->batch = 1;
    court->trial->slack_us[number] = hn_sampler_slack_us(sampler, side->batch);
    return status;
}

/* The reference where it is a kernel of its own and takes about as long; else Hone's own kernel. */
static enum hn_status seat_control(struct court *court, struct hn_variant *reference,
                                   struct hn_error *err)
{
    struct hn_bench *bench = court->bench;
    struct side *side = &court->sides[HN_TRIAL_CONTROL];
    const struct side *accused = &court->sides[HN_TRIAL_ACCUSED];
    enum hn_status status = HN_OK;
    if (bench->plan->reference.kind == HN_REFERENCE_TEMPLATE && bench->plan->pipeline == NULL) {
        status =
            hn_bench_prepare_reference(bench, &court->record->point, reference, court->record, err);
        side->variant = reference;
        side->own = hn_bench_work(bench, reference);
        if (status == HN_OK)
            status = seat(court, HN_TRIAL_CONTROL, err);
        if (status != HN_OK ||
            side->estimate_us <= fmax(SHORT_US, CONTROL_SHARE * accused->estimate_us))
            return status;
    }
    side->variant = accused->variant;
    side->own = accused->own;
    side->own.launch = write_outputs;
    return seat(court, HN_TRIAL_CONTROL, err);
}

static enum hn_status take(void *subject, int number, int leg, size_t round, double *time_us,
                           struct hn_error *err)
{
    struct court *court = subject;
    struct side *side = &court->sides[number];
    struct hn_sample samples[GROUP];
    size_t count = side->estimate_us < SHORT_US && !side->own.issued ? GROUP : 1;
    if (court->trial->kind == HN_SUSPICION_AGAIN)
        count = 1;
    side->seed = hn_random_next(&court->bench->arena.secret);
    side->again = leg != 0;
    side->before = 1;
    if (court->memory || side->own.issued)
        side->before = (size_t)fmin(fmax(1.0, MOST_BEFORE_US / fmax(side->estimate_us, 1.0)),
                                    fmin(MOST_BEFORE, ldexp(1.0, (int)round)));
    side->work.compared = (enum hn_outputs_before)leg;
    enum hn_status status = hn_variant_place(side->variant, court->record, err);
    if (status == HN_OK)
        status = hn_sampler_take(&court->bench->sampler, &side->work, side->batch, count, 1,
                                 samples, err);
    *time_us = samples[count - 1].time_us;
    return status;
}

enum hn_status hn_bench_try(struct hn_bench *bench, struct hn_variant *variant,
                            enum hn_suspicion kind, bool memory, bool decides,
                            struct hn_trial *trial, struct hn_record *record, struct hn_error *err)
{
    struct court court = {.bench = bench, .trial = trial, .record = record, .memory = memory};
    struct side *accused = &court.sides[HN_TRIAL_ACCUSED];
    struct hn_variant reference = {0};
    const enum hn_regime regime = bench->sampler.regime;
    bool left = kind == HN_SUSPICION_CHECKED && regime == HN_COLD;
    *trial = (struct hn_trial){.kind = kind, .sides = decides ? 2 : 1, .legs = left ? 3 : 2};
    /* Single launches tell, without what launching them costs, which differs more. */
    if (hn_regime_is_deployed(regime))
        bench->sampler.regime = HN_WARM;
    accused->variant = variant;
    accused->own = hn_bench_work(bench, variant);
    enum hn_status status = seat(&court, HN_TRIAL_ACCUSED, err);
    if (status == HN_OK && decides)
        status = seat_control(&court, &reference, err);
    double round_us = trial->sides * trial->legs * accused->estimate_us;
    trial->most = (size_t)fmax(LEAST_ROUNDS, fmin(HN_TRIAL_ROUNDS, MOST_US / fmax(round_us, 1.0)));
    if (status == HN_OK)
        status = hn_trial_run(trial, take, &court, &bench->arena.secret, err);
    hn_variant_finish(&reference);
    variant->compared_set = 0;
    bench->sampler.regime = regime;
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK)
        record->suspicion = hn_trial_judge(trial);
    return status;
}
