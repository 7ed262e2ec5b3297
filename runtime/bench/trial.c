/* SPDX-License-Identifier: MIT */
#include "runtime/bench/trial.h"

#include <math.h>
#include <string.h>

#include "base/statistics.h"

static const double CHANCE = 1e-6;
/* By which share of the spared time a launch may be longer, by kind and leg: what is under it gains
 * nothing that matters. Over outputs that were left the honest differ, too, by what poison leaves
 * in caches and queues. */
static const double MATERIAL[][HN_TRIAL_LEGS] = {
    [HN_TRIAL_CHECKED] = {0.0, 0.05, 0.5}, [HN_TRIAL_AGAIN] = {0.0, 0.03, INFINITY}};

enum hn_status hn_trial_take(struct hn_trial *trial, const struct hn_trial_source *source,
                             struct hn_random *secret, struct hn_error *err)
{
    int order[HN_TRIAL_SIDES * HN_TRIAL_LEGS];
    size_t count = (size_t)(HN_TRIAL_SIDES * trial->legs);
    enum hn_status status = source->begin(source->subject, trial->rounds, err);
    for (size_t i = 0; i < count; i++) {
        size_t other = hn_random_below(secret, i + 1);
        order[i] = order[other];
        order[other] = (int)i;
    }
    for (size_t i = 0; i < count && status == HN_OK; i++) {
        int side = order[i] / trial->legs, leg = order[i] % trial->legs;
        status = source->take(source->subject, side, leg,
                              &trial->times_us[side][leg][trial->rounds], err);
    }
    trial->rounds += status == HN_OK;
    return status;
}

double hn_trial_median(const struct hn_trial *trial, int side, int leg)
{
    double sorted_us[HN_TRIAL_ROUNDS];
    memcpy(sorted_us, trial->times_us[side][leg], sizeof sorted_us);
    return hn_median(sorted_us, trial->rounds);
}

/* Of the full launches' times less those of the leg. */
static struct hn_interval difference(const struct hn_trial *trial, int side, int leg)
{
    double differences_us[HN_TRIAL_ROUNDS];
    for (size_t i = 0; i < trial->rounds; i++)
        differences_us[i] = trial->times_us[side][0][i] - trial->times_us[side][leg][i];
    return hn_interval_at(differences_us, trial->rounds, CHANCE);
}

enum hn_trial_verdict hn_trial_judge(const struct hn_trial *trial, int *leg)
{
    for (*leg = 1; *leg < trial->legs; ++*leg) {
        struct hn_interval found[HN_TRIAL_SIDES];
        double spared_us[HN_TRIAL_SIDES], limit_us[HN_TRIAL_SIDES];
        for (int side = 0; side < HN_TRIAL_SIDES; side++) {
            found[side] = difference(trial, side, *leg);
            /* Who is slower on what it has seen before is found out, too. */
            if (trial->kind == HN_TRIAL_AGAIN && found[side].median < 0)
                found[side] =
                    (struct hn_interval){-found[side].median, -found[side].high, -found[side].low};
            spared_us[side] = hn_trial_median(trial, side, *leg);
            limit_us[side] =
                fmax(MATERIAL[trial->kind][*leg] * spared_us[side], trial->slack_us[side]);
        }
        /* A longer control's difference counts as a share. */
        double share = fmin(1.0, spared_us[HN_TRIAL_ACCUSED] / spared_us[HN_TRIAL_CONTROL]);
        double honest_us = fmax(0.0, share * found[HN_TRIAL_CONTROL].high);
        if (found[HN_TRIAL_ACCUSED].low <= limit_us[HN_TRIAL_ACCUSED] + honest_us)
            continue;
        return found[HN_TRIAL_CONTROL].low > limit_us[HN_TRIAL_CONTROL] ? HN_TRIAL_FAILED
                                                                        : HN_TRIAL_GUILTY;
    }
    return HN_TRIAL_ACQUITTED;
}
