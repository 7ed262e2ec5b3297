/* SPDX-License-Identifier: MIT */
#include "runtime/bench/trial.h"

#include <math.h>
#include <string.h>

#include "base/statistics.h"
#include "runtime/bench/bench_parts.h"

enum { ENOUGH_TO_ACQUIT = 4 };
static const double CHANCE_TO_ACQUIT = 0.05;
static const double CHANCE_TO_ACCUSE = 1e-6;
static const double AGAIN_GAIN = 0.03;
/* Over outputs that were left honest launches differ, too, by what poison leaves in caches. */
static const double CHECKED_GAIN[HN_TRIAL_LEGS] = {0.0, 0.05, 0.5};

struct finding {
    struct hn_interval saved_us; /* beside leg 0 */
    double spared_us, limit_us;
};

static double median_of(const struct hn_trial *trial, int side, int leg)
{
    double sorted_us[HN_TRIAL_ROUNDS];
    memcpy(sorted_us, trial->times_us[side][leg], sizeof sorted_us);
    return hn_median(sorted_us, trial->rounds);
}

static struct finding find(const struct hn_trial *trial, int side, int leg, double chance)
{
    const double *whole_us = trial->times_us[side][0], *spared_us = trial->times_us[side][leg];
    bool again = trial->kind == HN_SUSPICION_AGAIN;
    double saved_us[HN_TRIAL_ROUNDS];
    struct finding found = {.spared_us = median_of(trial, side, leg)};
    for (size_t i = 0; i < trial->rounds; i++)
        saved_us[i] = whole_us[i] - spared_us[i];
    found.saved_us = hn_interval_of(saved_us, trial->rounds, chance);
    found.limit_us =
        fmax((again ? AGAIN_GAIN : CHECKED_GAIN[leg]) * found.spared_us, trial->slack_us[side]);
    /* Who is slower on what it has seen before looks at that, too. */
    if (again && found.saved_us.median < 0.0)
        found.saved_us =
            (struct hn_interval){-found.saved_us.median, -found.saved_us.high, -found.saved_us.low};
    return found;
}

static bool is_cleared(const struct hn_trial *trial)
{
    bool cleared = trial->sides == 1 && trial->rounds >= ENOUGH_TO_ACQUIT;
    for (int leg = 1; leg < trial->legs && cleared; leg++) {
        struct finding found = find(trial, HN_TRIAL_ACCUSED, leg, CHANCE_TO_ACQUIT);
        cleared = found.saved_us.high <= found.limit_us;
        if (trial->kind == HN_SUSPICION_AGAIN)
            cleared = cleared && found.saved_us.low >= -found.limit_us;
    }
    return cleared;
}

/* Takes one launch: on a GPU, or from a test's noise. */
typedef void trial_take(void *subject, int side, int leg, size_t round, double *time_us,
                        struct hn_error *err);

static void take_round(struct hn_trial *trial, trial_take *take, void *subject,
                       struct hn_random *secret, struct hn_error *err)
{
    int order[HN_TRIAL_SIDES * HN_TRIAL_LEGS] = {0};
    int count = trial->sides * trial->legs;
    for (int i = 0; i < count; i++) {
        int other = (int)hn_random_below(secret, (uint64_t)i + 1);
        order[i] = order[other];
        order[other] = i;
    }
    for (int i = 0; i < count && !hn_failed(err); i++) {
        int side = order[i] / trial->legs, leg = order[i] % trial->legs;
        take(subject, side, leg, trial->rounds, &trial->times_us[side][leg][trial->rounds], err);
    }
}

/* Takes rounds, the first of which does not count; orders come from `secret`. */
static void trial_run(struct hn_trial *trial, trial_take *take, void *subject,
                      struct hn_random *secret, struct hn_error *err)
{
    /* The first launches of a module are slower, whatever they find. */
    trial->rounds = 0;
    take_round(trial, take, subject, secret, err);
    while (!hn_failed(err) && trial->rounds < trial->most && !is_cleared(trial)) {
        take_round(trial, take, subject, secret, err);
        trial->rounds += !hn_failed(err);
    }
}

enum hn_suspicion hn_trial_judge(struct hn_trial *trial)
{
    for (int leg = 1; leg < trial->legs; leg++) {
        struct finding accused = find(trial, HN_TRIAL_ACCUSED, leg, CHANCE_TO_ACCUSE);
        struct finding control = {.spared_us = INFINITY};
        if (trial->sides == HN_TRIAL_SIDES)
            control = find(trial, HN_TRIAL_CONTROL, leg, CHANCE_TO_ACCUSE);
        if (accused.saved_us.low <= accused.limit_us)
            continue;
        if (control.saved_us.low > control.limit_us)
            return HN_SUSPICION_CHECK_FAILED;
        /* Of a longer control, its share. */
        double honest_us = fmax(0.0, control.saved_us.high) *
                           fmin(1.0, accused.spared_us / fmax(control.spared_us, 1e-3));
        if (accused.saved_us.low <= accused.limit_us + honest_us)
            continue;
        trial->whole_us = median_of(trial, HN_TRIAL_ACCUSED, 0);
        trial->spared_us = accused.spared_us;
        return trial->kind;
    }
    return HN_SUSPICION_ACQUITTED;
}

/* Trials on a GPU. */

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
    double estimate_us;
    uint64_t seed; /* of a launch's inputs, where they are new */
    bool again;
    size_t before; /* then: launches on the same inputs in front of it */
};

struct court {
    struct hn_bench *bench;
    struct hn_trial *trial;
    bool memory;
    struct side sides[HN_TRIAL_SIDES];
};

/* Launches on the same inputs come in front, where those are not new. */
static void prepare(void *subject, size_t sets, enum hn_outputs_before outputs,
                    struct hn_error *err)
{
    const struct side *side = subject;
    struct hn_arena *arena = side->variant->arena;
    (void)sets;
    (void)outputs;
    for (size_t i = 0; i <= (side->again ? side->before : 0) && !hn_failed(err); i++) {
        if (i > 0) {
            side->own.launch(side->own.subject, 0, err);
            hn_context_synchronize(arena->context, side->own.what, err);
        }
        hn_arena_refill(arena, side->seed, err);
        hn_variant_restore(side->variant, err);
    }
    if (!side->again) {
        if (side->own.issued)
            hn_variant_poison(side->variant, 1, side->seed, err);
        else
            hn_arena_poison(arena, HN_ROLE_OUTPUT, side->own.batch, side->seed, err);
        hn_arena_poison(arena, HN_ROLE_SCRATCH, side->own.batch, side->seed, err);
    }
    /* In both, so that memory is left in the same state. */
    hn_arena_rewrite(arena, HN_ROLE_OUTPUT, side->own.batch, err);
    hn_arena_rewrite(arena, HN_ROLE_SCRATCH, side->own.batch, err);
}

static void launch(void *subject, size_t set, struct hn_error *err)
{
    const struct side *side = subject;
    side->own.launch(side->own.subject, set, err);
}

/* Hone's own kernel, which leaves nothing out. */
static void write_outputs(void *subject, size_t set, struct hn_error *err)
{
    const struct hn_variant *variant = subject;
    (void)set;
    hn_arena_rewrite(variant->arena, HN_ROLE_OUTPUT, 1, err);
}

static void seat(struct court *court, int number, struct hn_error *err)
{
    struct side *side = &court->sides[number];
    side->estimate_us = 0.0;
    hn_sampler_choose_batch(&side->own, &side->estimate_us, err);
    if (side->own.sampler->regime == HN_WARM)
        side->own.batch = 1;
    court->trial->slack_us[number] = hn_sampler_slack_us(&side->own);
    side->work = side->own;
    if (court->trial->kind == HN_SUSPICION_AGAIN) {
        side->work.subject = side;
        side->work.prepare = prepare;
        side->work.launch = launch;
    }
}

/* The reference where it is a kernel of its own and takes about as long; else Hone's own kernel. */
static void seat_control(struct court *court, struct hn_variant *reference, struct hn_error *err)
{
    struct hn_bench *bench = court->bench;
    struct side *side = &court->sides[HN_TRIAL_CONTROL];
    const struct side *accused = &court->sides[HN_TRIAL_ACCUSED];
    if (bench->plan->reference.kind == HN_REFERENCE_TEMPLATE && bench->plan->pipeline == NULL) {
        struct hn_record *record = accused->variant->record;
        hn_bench_prepare_reference(bench, &record->point, reference, record, err);
        if (!hn_goes_on(reference, err))
            return;
        side->variant = reference;
        side->own = hn_bench_work(bench, reference);
        seat(court, HN_TRIAL_CONTROL, err);
        if (hn_failed(err) ||
            side->estimate_us <= fmax(SHORT_US, CONTROL_SHARE * accused->estimate_us))
            return;
    }
    side->variant = accused->variant;
    side->own = accused->own;
    side->own.launch = write_outputs;
    seat(court, HN_TRIAL_CONTROL, err);
}

static void take(void *subject, int number, int leg, size_t round, double *time_us,
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
    hn_variant_place(side->variant, err);
    hn_sampler_take(&side->work, count, 1, samples, err);
    *time_us = samples[count - 1].time_us;
}

void hn_bench_try(struct hn_bench *bench, struct hn_variant *variant, enum hn_suspicion kind,
                  bool memory, struct hn_trial *trial, struct hn_error *err)
{
    struct hn_trial own;
    bool decides = trial != NULL;
    trial = decides ? trial : &own;
    struct court court = {.bench = bench, .trial = trial, .memory = memory};
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
    seat(&court, HN_TRIAL_ACCUSED, err);
    if (decides && !hn_failed(err))
        seat_control(&court, &reference, err);
    double round_us = trial->sides * trial->legs * accused->estimate_us;
    trial->most = (size_t)fmax(LEAST_ROUNDS, fmin(HN_TRIAL_ROUNDS, MOST_US / fmax(round_us, 1.0)));
    if (hn_goes_on(variant, err))
        trial_run(trial, take, &court, &bench->arena.secret, err);
    hn_variant_finish(&reference);
    variant->compared_set = 0;
    bench->sampler.regime = regime;
    if (hn_goes_on(variant, err))
        variant->record->suspicion = hn_trial_judge(trial);
}

void hn_bench_decide(struct hn_bench *bench, struct hn_variant *variant, enum hn_suspicion kind,
                     struct hn_error *err)
{
    static const char *const texts[] = {
        [HN_SUSPICION_CHECKED] = "launches whose results were compared took %.4g us, the others "
                                 "%.4g us: it does less where it is not checked",
        [HN_SUSPICION_AGAIN] = "a launch on new inputs takes %.4g us, one on the same inputs again "
                               "%.4g us: it does not do all of its work in every launch",
    };
    struct hn_trial trial;
    if (!hn_goes_on(variant, err))
        return;
    hn_bench_try(bench, variant, kind, true, &trial, err);
    hn_arena_fill(&bench->arena, bench->arena.seed, err);
    if (hn_goes_on(variant, err) && variant->record->suspicion == kind)
        hn_record_fail(variant->record, HN_OUTCOME_WRONG_RESULT, texts[kind], trial.whole_us,
                       trial.spared_us);
}
