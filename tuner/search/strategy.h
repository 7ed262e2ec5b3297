/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SEARCH_STRATEGY_H
#define HONE_TUNER_SEARCH_STRATEGY_H

#include "cache/record.h"
#include "tuner/search/space.h"

/* A search strategy proposes points; each proposal carries a ticket (0, 1, 2, …), and the strategy is told of a ticket
 * twice: when it was compiled and when it was finished. Before proposal t it has been told exactly compiled <= t - L/2
 * and finished <= t - L (look-ahead L), in a fixed interleaving, so that seed, config and measurements alone determine
 * the sequence. A strategy of its own is one file with one exported hn_strategy_kind, listed in strategy.c. */
struct hn_strategy;

struct hn_strategy_kind {
    const char *name;
    const char *summary;
    bool needs_feedback; /* false: may run ahead of what it has been told without bound */
    enum hn_status (*create)(const struct hn_space *space, uint64_t seed, struct hn_strategy **strategy,
                             struct hn_error *err);
    void (*destroy)(struct hn_strategy *strategy);
    /* Writes the next point, which may be one proposed before; false when the strategy is done. */
    bool (*propose)(struct hn_strategy *strategy, uint64_t ticket, uint16_t *choice);
    /* Told of a compiled ticket: false declines to measure it (skipped). May be NULL (always measure). */
    bool (*compiled)(struct hn_strategy *strategy, uint64_t ticket, const struct hn_record *record);
    /* Told of a finished ticket. May be NULL. */
    void (*finished)(struct hn_strategy *strategy, uint64_t ticket, const struct hn_record *record);
};

/* All kinds, NULL-terminated; the first is the default. */
extern const struct hn_strategy_kind *const hn_strategy_kinds[];
/* NULL when there is none of that name. */
const struct hn_strategy_kind *hn_strategy_find(const char *name);

#endif
