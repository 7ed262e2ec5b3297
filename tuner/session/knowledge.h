/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SESSION_KNOWLEDGE_H
#define HONE_TUNER_SESSION_KNOWLEDGE_H

#include "cache/store/store.h"
#include "tuner/strategy/strategy.h"
#include "tuner/session/task.h"

/* The tunings that the cache holds of the same kernel under other circumstances, as priors for a search: tunings of other problems,
 * devices and versions, whose points are valid in this space too. */
struct hn_knowledge {
    struct hn_prior *priors; /* source 0 is the nearest tuning */
    size_t count;
    uint16_t *choices; /* of the priors */
    unsigned sources;
};

/* Nearest first: this problem and device in another version; this device, by the problem's distance (the sum of
 * |log2(a / b)| over its values); devices of the same compute capability; any. Three tunings at most, each with at least
 * eight measured points of this space. Only what was measured before `before` (seconds since the epoch) counts, so that
 * a tuning that is run again finds what it found the first time. simulated selects which kind. */
enum hn_status hn_knowledge_collect(struct hn_store *store, const struct hn_task *task, bool simulated, double before,
                                    struct hn_knowledge *knowledge, struct hn_error *err);
void hn_knowledge_finish(struct hn_knowledge *knowledge);

#endif
