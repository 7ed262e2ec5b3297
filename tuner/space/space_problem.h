/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SPACE_SPACE_PROBLEM_H
#define HONE_TUNER_SPACE_SPACE_PROBLEM_H

#include "base/expression/expression_terms.h"
#include "tuner/space/space_internal.h"

/* What the constraints of a space demand, for space*.c only. Slots of constraints: parameters in declared order, then
 * constants. */

/* What names in expressions mean, in that order. The lists are the caller's, what is in them the space's. HN_ENOMEM. */
enum hn_status hn_space_scope_init(const struct hn_space *space, struct hn_scope *scope, struct hn_error *err);
void hn_space_scope_finish(struct hn_scope *scope);

/* All conjuncts of the constraints, as written; source is the number of the constraint. */
struct hn_space_demands {
    const struct hn_space *space;
    struct hn_conjuncts conjuncts;
    size_t slot_count;
    size_t slot_words; /* of a set of slots */
    uint64_t *slots;   /* slot_words for each conjunct: what it depends on */
};

/* Binds the constraints. HN_ECONFIG for an unknown name. */
enum hn_status hn_space_demands_init(struct hn_space_demands *demands, struct hn_space *space, struct hn_error *err);
void hn_space_demands_finish(struct hn_space_demands *demands);

/* A conjunct that is left after what could be known was folded into the domains. */
struct hn_space_check {
    size_t conjunct;
    bool failing;          /* it has to have no value, else to hold */
    int term;              /* that is 1 where the check passes; -1: ask the evaluator */
    const uint64_t *slots; /* parameters with more than one value that it depends on */
};

/* Points at which the first `limit` conjuncts hold, and conjunct `failing` (SIZE_MAX: none) has no value. Among the first
 * ones no value is as good as false. */
struct hn_space_problem {
    const struct hn_space_demands *demands;
    size_t limit;
    size_t failing;
    struct hn_domain *domains; /* by slot, in declared order */
    struct hn_value *values;   /* of all domains */
    uint16_t *indices;         /* of these values in declared order */
    struct hn_value *current;  /* by slot: of those with a single value that one */
    size_t *restricted_by;     /* by slot: the last conjunct plus one that took values away, with what it relied on */
    bool *may_fail;            /* by conjunct: whether it was not shown to have a value wherever all before it hold */
    bool *folded;              /* by conjunct */
    struct hn_terms terms;
    struct hn_space_check *checks;
    size_t check_count;
    uint64_t *slots; /* of the checks */
    bool empty; /* no point is left */
};

enum hn_status hn_space_problem_init(struct hn_space_problem *problem, const struct hn_space_demands *demands,
                                     size_t limit, size_t failing, struct hn_error *err);
void hn_space_problem_finish(struct hn_space_problem *problem);

/* The declared index of the value at a position of a parameter's domain. */
static inline uint16_t hn_space_problem_index(const struct hn_space_problem *problem, size_t parameter, size_t position)
{
    return problem->indices[problem->domains[parameter].values - problem->values + (ptrdiff_t)position];
}

#endif
