/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_TRIAL_H
#define HONE_RUNTIME_BENCH_TRIAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/random.h"

/* What a suspicion that rests on times becomes: the accused and a control that is honest (the reference, or Hone's own kernel
 * that writes outputs) are launched in turns in a process that has launched neither before, prepared alike, each with all of its
 * work to be done and with what could let it leave work out. A round holds each of these launches once, in an order that is
 * drawn, so that noise which lasts for more than a round is in both times of a difference. */
enum hn_trial_kind {
    HN_TRIAL_NONE,
    HN_TRIAL_CHECKED, /* over poison; then over outputs rewritten as they were, and, cold, over those that were left */
    HN_TRIAL_AGAIN,   /* on new inputs; then on the same ones again */
};
enum { HN_TRIAL_ACCUSED, HN_TRIAL_CONTROL, HN_TRIAL_SIDES };
enum { HN_TRIAL_LEGS = 3, HN_TRIAL_ROUNDS = 48 };

struct hn_trial {
    enum hn_trial_kind kind;
    int legs; /* 2, or 3 */
    size_t rounds;
    double slack_us[HN_TRIAL_SIDES];                              /* hn_sampler_slack_us */
    double times_us[HN_TRIAL_SIDES][HN_TRIAL_LEGS][HN_TRIAL_ROUNDS]; /* leg 0 has all of its work to do */
};

/* Where times come from: a GPU, or a test's noise. */
struct hn_trial_source {
    void *subject;
    enum hn_status (*begin)(void *subject, size_t round, struct hn_error *err);
    enum hn_status (*take)(void *subject, int side, int leg, double *time_us, struct hn_error *err);
};

/* One more round. The order comes from `secret`. */
enum hn_status hn_trial_take(struct hn_trial *trial, const struct hn_trial_source *source, struct hn_random *secret,
                             struct hn_error *err);

/* A difference counts when the interval of its median over the rounds (order statistics; a chance of 1e-6 outside, of 11 rounds
 * 1e-3) lies beyond what gains nothing: 3% of the time of an audit, 5% over rewritten outputs, half of it over those that were
 * left, or the slack of samples; and, of the accused, beyond that of the control as well. */
enum hn_trial_verdict {
    HN_TRIAL_ACQUITTED,
    HN_TRIAL_GUILTY,
    HN_TRIAL_FAILED, /* the control looks guilty, too: it is the check that failed */
};
/* leg: the one whose difference decided, where it is not acquitted. */
enum hn_trial_verdict hn_trial_judge(const struct hn_trial *trial, int *leg);
double hn_trial_median(const struct hn_trial *trial, int side, int leg);

#endif
