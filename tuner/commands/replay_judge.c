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
    double then_us = fmax(was->median_us, was->processes > 1 ? was->middle_us : 0);
    double now_us = now->processes > 0 ? now->middle_us : now->median_us;
    double intervals = ratio(now->median_us, now->low_us) * ratio(was->high_us, was->median_us);
    double machine =
        fmax(ratio(was->copy_gb_per_s, now->copy_gb_per_s), ratio(was->clock_mhz, now->clock_mhz));
    double limit = 1 + (was->processes > 1 ? most : fmax(most, unknown_spread));
    if (now->processes == 0)
        limit = (1 + limit) / 2;
    limit = fmax(limit, intervals);
    if (!(now_us > limit * then_us))
        return HN_REPLAY_HOLDS;
    return now_us > limit * fmax(machine, 1) * then_us ? HN_REPLAY_SLOWER : HN_REPLAY_MACHINE;
}
