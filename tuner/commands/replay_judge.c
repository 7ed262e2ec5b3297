/* SPDX-License-Identifier: MIT */
#include "tuner/commands/replay_judge.h"

#include <math.h>

/* Processes differed by 6% where each knew its own time to 0.5%. */
static const double unknown_spread = 0.1;

/* 1 where one of both is not known. */
static double ratio(double of, double to)
{
    return of > 0 && to > 0 ? of / to : 1;
}

enum hn_replay_verdict hn_replay_judge_time(const struct hn_timing *was,
                                            const struct hn_timing *now, double most)
{
    double spread = was->processes > 1 ? was->slowest_us / was->fastest_us - 1 : unknown_spread;
    double slower = (now->processes > 0 ? now->fastest_us : now->median_us) /
                    (was->processes > 0 ? was->fastest_us : was->median_us);
    double intervals = ratio(now->median_us, now->low_us) * ratio(was->high_us, was->median_us);
    double machine =
        fmax(ratio(was->copy_gb_per_s, now->copy_gb_per_s), ratio(was->clock_mhz, now->clock_mhz));
    double limit = 1 + fmax(most, spread);
    if (!(slower > fmax(limit, intervals)))
        return HN_REPLAY_HOLDS;
    return slower > limit * fmax(machine, 1) ? HN_REPLAY_SLOWER : HN_REPLAY_MACHINE;
}
