/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "runtime/bench/audit.h"
#include "runtime/bench/bench_internal.h"

/* Samples of short launches are the last of so many that are queued together, as in a measurement:
 * then the host keeps ahead, and nothing tells them from others. */
enum { GROUP = 3, LEAST_ROUNDS = 11 };
static const double SHORT_US = 1e3;
static const double MOST_US = 20e6;
/* A reference that takes longer is no control. */
static const double REFERENCE_SHARE = 10.0;

struct side {
    struct hn_variant *variant;
    struct hn_work own;
    struct hn_work work; /* as own, with other outputs before it */
    enum hn_outputs_before before;
    size_t batch;
    size_t group;
    double estimate_us;
    struct hn_audit_leg leg;
};

struct court {
    struct hn_bench *bench;
    struct hn_trial *trial;
    struct hn_record *record;
    struct side sides[HN_TRIAL_SIDES];
};

static enum hn_status prepare(void *subject, size_t sets, enum hn_outputs_before before,
                              struct hn_error *err)
{
    const struct side *side = subject;
    return side->own.prepare(side->own.subject, sets,
                             before == HN_OUTPUTS_POISONED ? side->before : before, err);
}

static enum hn_status launch(void *subject, size_t set, struct hn_error *err)
{
    const struct side *side = subject;
    return side->own.launch(side->own.subject, set, err);
}

static enum hn_status replay(void *subject, size_t launches, struct hn_error *err)
{
    const struct side *side = subject;
    return side->own.replay(side->own.subject, launches, err);
}

static enum hn_status row(void *subject, size_t launches, struct hn_error *err)
{
    const struct side *side = subject;
    return side->own.row(side->own.subject, launches, err);
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
    side->work.subject = side;
    side->work.prepare = prepare;
    side->work.launch = launch;
    side->work.replay = side->own.replay == NULL ? NULL : replay;
    side->work.row = side->own.row == NULL ? NULL : row;
    side->estimate_us = 0.0;
    enum hn_status status =
        hn_sampler_choose_batch(sampler, &side->own, &side->batch, &side->estimate_us, err);
    if (court->trial->kind == HN_TRIAL_AGAIN && sampler->regime == HN_WARM)
        side->batch = 1;
    side->group = side->estimate_us < SHORT_US ? GROUP : 1;
    side->leg =
        (struct hn_audit_leg){.work = &side->own, .variant = side->variant, .batch = side->batch};
    court->trial->slack_us[number] = hn_sampler_slack_us(sampler, side->batch);
    return status;
}

static enum hn_status begin(void *subject, size_t round, struct hn_error *err)
{
    struct court *court = subject;
    uint64_t seed = hn_random_next(&court->bench->arena.secret);
    (void)err;
    for (int i = 0; i < HN_TRIAL_SIDES; i++) {
        struct side *side = &court->sides[i];
        side->leg.seed = seed;
        /* The order is drawn: what is seen again has to be shown first. */
        side->leg.before = 1;
        if (side->leg.memory)
            side->leg.before += hn_audit_before(side->estimate_us, round);
    }
    return HN_OK;
}

static enum hn_status take(void *subject, int number, int leg, double *time_us,
                           struct hn_error *err)
{
    static const enum hn_outputs_before before[HN_TRIAL_LEGS] = {
        HN_OUTPUTS_POISONED, HN_OUTPUTS_REWRITTEN, HN_OUTPUTS_LEFT};
    struct court *court = subject;
    struct side *side = &court->sides[number];
    struct hn_sample samples[GROUP];
    enum hn_status status = hn_variant_place(side->variant, court->record, err);
    if (status != HN_OK || court->trial->kind == HN_TRIAL_AGAIN)
        return status == HN_OK
                   ? hn_audit_take(&court->bench->sampler, &side->leg, leg != 0, time_us, err)
                   : status;
    side->before = before[leg];
    status = hn_sampler_take(&court->bench->sampler, &side->work, side->batch, side->group, 1,
                             samples, err);
    *time_us = samples[side->group - 1].time_us;
    return status;
}

/* The reference where it is a kernel of its own that takes no longer than some of the accused's
 * launches; else Hone's own kernel, as often in a sample as the accused. */
static enum hn_status seat_control(struct court *court, struct hn_variant *reference,
                                   struct hn_error *err)
{
    struct hn_bench *bench = court->bench;
    struct side *side = &court->sides[HN_TRIAL_CONTROL];
    const struct side *accused = &court->sides[HN_TRIAL_ACCUSED];
    struct hn_record ignored;
    enum hn_status status = HN_OK;
    if (bench->plan->reference.kind == HN_REFERENCE_TEMPLATE) {
        hn_record_init(&ignored);
        status = hn_bench_prepare_reference(bench, &court->record->point, reference, &ignored, err);
        bool stands = status == HN_OK && ignored.outcome == HN_OUTCOME_OK;
        hn_record_finish(&ignored);
        side->variant = reference;
        side->own = hn_bench_work(bench, reference);
        if (stands)
            status = seat(court, HN_TRIAL_CONTROL, err);
        if (status != HN_OK ||
            (stands && side->estimate_us <= fmax(SHORT_US, REFERENCE_SHARE * accused->estimate_us)))
            return status;
    }
    side->variant = accused->variant;
    side->own = accused->own;
    side->own.launch = write_outputs;
    side->own.replay = NULL;
    side->own.row = NULL;
    return seat(court, HN_TRIAL_CONTROL, err);
}

enum hn_status hn_bench_try(struct hn_bench *bench, struct hn_variant *variant,
                            enum hn_trial_kind kind, bool memory, struct hn_trial *trial,
                            struct hn_record *record, struct hn_error *err)
{
    struct court court = {.bench = bench, .trial = trial, .record = record};
    struct side *accused = &court.sides[HN_TRIAL_ACCUSED];
    struct hn_variant reference = {0};
    const enum hn_regime regime = bench->sampler.regime;
    const struct hn_trial_source source = {&court, begin, take};
    *trial = (struct hn_trial){.kind = kind,
                               .legs = kind == HN_TRIAL_CHECKED && regime == HN_COLD ? 3 : 2};
    accused->variant = variant;
    accused->own = hn_bench_work(bench, variant);
    if (kind == HN_TRIAL_AGAIN && hn_regime_is_deployed(regime))
        bench->sampler.regime = HN_WARM;
    enum hn_status status = seat(&court, HN_TRIAL_ACCUSED, err);
    if (status == HN_OK)
        status = seat_control(&court, &reference, err);
    for (int i = 0; i < HN_TRIAL_SIDES; i++)
        court.sides[i].leg.memory = memory || court.sides[i].own.issued;
    double round_us =
        2.0 * trial->legs * fmax(accused->estimate_us, court.sides[HN_TRIAL_CONTROL].estimate_us);
    size_t rounds =
        (size_t)fmax(LEAST_ROUNDS, fmin(HN_TRIAL_ROUNDS, MOST_US / fmax(round_us, 1.0)));
    /* The first launches of a module are slower, whatever they find. */
    if (status == HN_OK)
        status = hn_trial_take(trial, &source, &bench->arena.secret, err);
    trial->rounds = 0;
    while (status == HN_OK && trial->rounds < rounds)
        status = hn_trial_take(trial, &source, &bench->arena.secret, err);
    hn_variant_finish(&reference);
    variant->compared_set = 0;
    bench->sampler.regime = regime;
    /* What it did in these launches is checked by nobody. */
    bench->unchecked = true;
    return status == HN_OK && kind == HN_TRIAL_AGAIN
               ? hn_arena_fill(&bench->arena, bench->arena.seed, err)
               : status;
}
