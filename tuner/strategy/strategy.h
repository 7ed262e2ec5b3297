/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_STRATEGY_STRATEGY_H
#define HONE_TUNER_STRATEGY_STRATEGY_H

#include "cache/record/record.h"
#include "tuner/space/space.h"

/* A search strategy proposes points; each proposal carries a ticket (0, 1, 2, …), and the strategy is told of a ticket
 * twice: when it was compiled and when it was finished. At a proposal at most L/2 tickets are not told as compiled and
 * L - 1 not as finished (look-ahead L). They are told in the order in which they would end on a machine that
 * schedule.h describes, so that seed, config and measurements, compile times among them, alone determine the sequence.
 * A strategy of its own is one file with one exported hn_strategy_kind, listed in strategy.c. */
struct hn_strategy;

/* The knowledge of a point: lower cost is better. */
struct hn_observation {
    enum hn_outcome outcome;
    /* ok, duplicate: the objective (negated when it is maximised); slower: a lower bound of it; else NAN. */
    double cost;
    const struct hn_resources *resources; /* for the call; NULL or not known: nothing was compiled */
    double compile_ms;  /* finished: what that took, or after how long it was stopped; 0: not known */
    double evaluate_ms; /* the same of verifying and measuring */
};

/* A point that was measured before this search, maybe under other circumstances. */
struct hn_prior {
    const uint16_t *choice; /* a valid point of the space */
    struct hn_observation observation;
    unsigned source; /* priors of the same source (device, problem, session) can be compared with each other */
};

struct hn_search {
    const struct hn_space *space; /* outlives the strategy */
    uint64_t seed;
    unsigned look_ahead;
    /* For the call of create, by parameter: the program does not read it, so that points which differ in it alone compile once.
     * NULL: it reads all. */
    const bool *unread;
    const struct hn_prior *priors; /* for the call of create; most relevant source first (0) */
    size_t prior_count;
};

struct hn_strategy_kind {
    const char *name;
    const char *summary;
    bool needs_feedback; /* false: it runs ahead without bound, and is told of nothing */
    bool uses_priors;
    struct hn_strategy *(*create)(const struct hn_search *search, struct hn_error *err); /* NULL: err has failed */
    void (*destroy)(struct hn_strategy *strategy);
    /* Whether it would rather be told of more than propose now; asked while a ticket is in flight. May be NULL (never). */
    bool (*waits)(const struct hn_strategy *strategy);
    /* Writes the next point, which may be one proposed before; false when the strategy is done. */
    bool (*propose)(struct hn_strategy *strategy, uint64_t ticket, uint16_t *choice);
    /* How long the point of the last proposal is worth compiling for, in ms: what takes longer may be stopped. May be NULL
     * (INFINITY: as long as it takes). */
    double (*patience)(const struct hn_strategy *strategy);
    /* Told of a compiled ticket, whose cost is NAN yet: false declines to measure it (skipped). May be NULL (always
     * measure). */
    bool (*compiled)(struct hn_strategy *strategy, uint64_t ticket, const struct hn_observation *observation);
    /* Told of a finished ticket. May be NULL. */
    void (*finished)(struct hn_strategy *strategy, uint64_t ticket, const struct hn_observation *observation);
    /* The estimated chance, 0 to 1, that a point exists whose cost is at least 2% lower than the best told; NAN when it
     * cannot tell. Changes nothing. May be NULL. */
    double (*chance)(struct hn_strategy *strategy);
};

/* All kinds, NULL-terminated; the first is the default. */
extern const struct hn_strategy_kind *const hn_strategy_kinds[];
/* NULL when there is none of that name. */
const struct hn_strategy_kind *hn_strategy_find(const char *name);

#endif
