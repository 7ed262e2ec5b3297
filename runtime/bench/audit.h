/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_AUDIT_H
#define HONE_RUNTIME_BENCH_AUDIT_H

#include "runtime/bench/measure.h"
#include "runtime/bench/variant.h"

/* Whether a variant does all of its work in every launch, told by its times. They are taken in pairs: a launch on
 * inputs that it has never seen, with outputs and scratch poisoned, and one on the same inputs again, with outputs
 * and scratch as it left them. Both are prepared by writing the same bytes, so that caches tell no difference; what
 * is written differs. A variant that remembers what it did before, or looks whether it is done already, takes longer
 * in one of the two.
 *
 * Four pairs, or twenty where they leave a doubt; of launches beyond 50 ms three, or six. Cold launches that are short are
 * taken in batches; in front of the second launch of a pipeline, and where `memory` says so,
 * come further ones, from pair to pair more. It is a wrong
 * result when the 95% interval of the median difference (base/statistics.h) lies beyond 3% of the time and the slack of
 * samples (hn_sampler_slack_us). Inputs that come from files stay as they are.
 *
 * It is a wrong result, too, when a launch on the first set of the arguments writes into others, as one does that works
 * ahead for those that follow in a batch; and out of bounds what launches on others write there but into outputs and
 * scratch (not where a counter is zeroed as part of a launch).
 *
 * work: the variant's, as it is measured; it was verified before. Afterwards inputs are again what they were. */
enum hn_status hn_audit(struct hn_sampler *sampler, const struct hn_work *work, struct hn_variant *variant,
                        bool memory, struct hn_record *record, struct hn_error *err);

/* One of its launches: what it finds. */
struct hn_audit_leg {
    const struct hn_work *work;
    struct hn_variant *variant;
    size_t batch; /* of a cold short launch, each over a set of its own */
    uint64_t seed;
    bool again;
    bool memory;   /* more and more launches come in front */
    size_t before; /* launches on the same inputs, in front of the one that is timed again */
};
enum hn_status hn_audit_take(struct hn_sampler *sampler, struct hn_audit_leg *leg, bool again, double *time_us,
                             struct hn_error *err);
/* How many launches come in front where more and more do, so long as one takes, behind so many pairs. */
size_t hn_audit_before(double launch_us, size_t pairs);

/* How the pairs look so far: the times in microseconds of launches that had everything to do, and of those that need
 * not. *difference: the median of new less again. */
enum hn_audit_verdict { HN_AUDIT_ALIKE, HN_AUDIT_DOUBT, HN_AUDIT_DIFFERS };
enum hn_audit_verdict hn_audit_judge(const double *fresh_us, const double *again_us, size_t pairs, double slack_us,
                                     double *difference_us);

#endif
