/* SPDX-License-Identifier: MIT */
#include "runtime/bench/trial.h"

#include <math.h>
#include <string.h>

#include "base/statistics.h"

enum { ENOUGH_TO_ACQUIT = 4 };
static const double CHANCE_TO_ACQUIT = 0.05;
static const double CHANCE_TO_ACCUSE = 1e-6;
static const double AGAIN_GAIN = 0.03;
/* Over outputs that were left honest launches differ, too, by what poison leaves in caches. */
static const double CHECKED_GAIN[HN_TRIAL_LEGS] = {0.0, 0.05, 0.5};

struct finding {
    struct hn_interval saved_us; /* beside leg 0 */
    double spared_us;
    double limit_us;
};

static double median_of(const struct hn_trial *trial, int side, int leg)
{
    double sorted_us[HN_TRIAL_ROUNDS];
    memcpy(sorted_us, trial->times_us[side][leg], sizeof sorted_us);
    return hn_median(sorted_us, trial->rounds);
}

static struct finding find(const struct hn_trial *trial, int side, int leg, double chance)
{
    double saved_us[HN_TRIAL_ROUNDS];
    struct finding found = {.spared_us = median_of(trial, side, leg)};
    double gain = trial->kind == HN_SUSPICION_AGAIN ? AGAIN_GAIN : CHECKED_GAIN[leg];
    for (size_t i = 0; i < trial->rounds; i++)
        saved_us[i] = trial->times_us[side][0][i] - trial->times_us[side][leg][i];
    found.saved_us = hn_interval_at(saved_us, trial->rounds, chance);
    found.limit_us = fmax(gain * found.spared_us, trial->slack_us[side]);
    /* Who is slower on what it has seen before looks at that, too. */
    if (trial->kind == HN_SUSPICION_AGAIN && found.saved_us.median < 0.0)
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

static enum hn_status take_round(struct hn_trial *trial, hn_trial_take *take, void *subject,
                                 struct hn_random *secret, struct hn_error *err)
{
    int order[HN_TRIAL_SIDES * HN_TRIAL_LEGS];
    int count = trial->sides * trial->legs;
    enum hn_status status = HN_OK;
    for (int i = 0; i < count; i++) {
        int other = (int)hn_random_below(secret, (uint64_t)i + 1);
        order[i] = order[other];
        order[other] = i;
    }
    for (int i = 0; i < count && status == HN_OK; i++) {
        int side = order[i] / trial->legs, leg = order[i] % trial->legs;
        double *time_us = &trial->times_us[side][leg][trial->rounds];
        status = take(subject, side, leg, trial->rounds, time_us, err);
    }
    return status;
}

enum hn_status hn_trial_run(struct hn_trial *trial, hn_trial_take *take, void *subject,
                            struct hn_random *secret, struct hn_error *err)
{
    /* The first launches of a module are slower, whatever they find. */
    trial->rounds = 0;
    enum hn_status status = take_round(trial, take, subject, secret, err);
    while (status == HN_OK && trial->rounds < trial->most && !is_cleared(trial)) {
        status = take_round(trial, take, subject, secret, err);
        trial->rounds += status == HN_OK;
    }
    return status;
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
