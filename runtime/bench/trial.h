/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_TRIAL_H
#define HONE_RUNTIME_BENCH_TRIAL_H

#include "cache/record/record.h"

/* Whether launches leave work out where they can, told by their times. A round holds one launch that has all of its
 * work to do (leg 0) and one for each way to leave some out, in an order that is drawn, so that what disturbs more
 * than a round is in both times of a difference. Of kind CHECKED: over poison; over outputs that were rewritten as
 * they were; and, where caches are cold, over those that were left. Of kind AGAIN: on inputs that were never seen,
 * over poisoned outputs and scratch; and on the same ones again.
 *
 * It is held twice: once beside the measurement that raised the suspicion, where it ends as soon as nothing is left
 * to be seen, and, if it found something, in a process of its own, beside a control that leaves nothing out,
 * launched in turns with the accused and prepared alike. Only the second one accuses. */
enum { HN_TRIAL_ACCUSED, HN_TRIAL_CONTROL, HN_TRIAL_SIDES };
enum { HN_TRIAL_LEGS = 3, HN_TRIAL_ROUNDS = 48 };

struct hn_trial {
    enum hn_suspicion kind; /* CHECKED or AGAIN */
    int sides;              /* 1: there is no control */
    int legs;
    size_t most; /* rounds */
    size_t rounds;
    double slack_us[HN_TRIAL_SIDES]; /* hn_sampler_slack_us */
    double times_us[HN_TRIAL_SIDES][HN_TRIAL_LEGS][HN_TRIAL_ROUNDS];
    double whole_us; /* medians of the accused, of the leg that decided */
    double spared_us;
};

/* trial->kind: guilty. A leg's difference counts when the interval of its median by order statistics, outside of
 * which it lies with a probability of 1e-6 (of 11 rounds 1e-3), is beyond what gains nothing that matters: 3% of the
 * time of kind AGAIN, 5% over rewritten outputs, half of it over those that were left, or the slack of samples; and
 * beyond what the control shows as well. HN_SUSPICION_CHECK_FAILED where the control itself looks guilty, else
 * HN_SUSPICION_ACQUITTED. */
enum hn_suspicion hn_trial_judge(struct hn_trial *trial);

#endif
