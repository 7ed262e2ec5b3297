/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SPACE_SPACE_INTERNAL_H
#define HONE_TUNER_SPACE_SPACE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/expression/expression_terms.h"
#include "base/memory.h"
#include "tuner/space/space.h"

/* The inside of a space, for space*.c only. */

/* space.c: points over some parameters, sorted, each packed into a key of a few bytes. */

/* Where a parameter's index is in a key: the first parameter in the highest bits of the first word. */
struct hn_space_field {
    size_t parameter;
    size_t word;
    unsigned shift;
    uint64_t mask;
};

struct hn_space_table {
    struct hn_space_field *fields; /* by parameter, ascending */
    size_t field_count;
    size_t words; /* of a key as it is handled */
    size_t bytes; /* of a key as it is kept */
    uint64_t last_mask;
    unsigned char *rows;
    uint64_t count;
};

/* Parameters of the space, ascending. */
void hn_space_table_init(struct hn_space_table *table, const struct hn_space *space, const size_t *parameters,
                         size_t parameter_count);
void hn_space_table_finish(struct hn_space_table *table);

/* The indices in choice are within their parameters' values. */
static inline void hn_space_table_key(const struct hn_space_table *table, const uint16_t *choice, uint64_t *key)
{
    for (size_t i = 0; i < table->words; i++)
        key[i] = 0;
    for (const struct hn_space_field *field = table->fields; field < table->fields + table->field_count; field++)
        key[field->word] |= (uint64_t)choice[field->parameter] << field->shift;
}

/* Where the parameter is in a key. */
static inline const struct hn_space_field *hn_space_table_field(const struct hn_space_table *table, size_t parameter)
{
    const struct hn_space_field *field = table->fields;
    while (field->parameter != parameter)
        field++;
    return field;
}

/* Sets the indices of the table's parameters in choice. */
void hn_space_table_unpack(const struct hn_space_table *table, const uint64_t *key, uint16_t *choice);

/* Takes `count` keys, one after another, in any order; frees them. */
void hn_space_table_take(struct hn_space_table *table, uint64_t *keys, uint64_t count);

struct hn_space_constraint {
    struct hn_expression *expression;
    const char *where; /* "matmul.yaml:24:5: ", which messages begin with; "" when not known */
};

/* Parameters that constraints connect: their combinations are independent of those of other groups, so that the space
 * is the product of its groups. */
struct hn_space_group {
    size_t *parameters; /* ascending */
    size_t parameter_count;
    struct hn_space_table table;
    struct hn_space_open *open; /* instead of the table, where that would be too large */
};

/* Groups that follow each other in declared order; the points of a block, and so those of the space, are numbered in
 * declared order. A block of several groups, whose parameters alternate, has a table of its own, filled when it is first
 * needed. */
struct hn_space_block {
    size_t first_group;
    size_t group_count;
    struct hn_space_table table; /* of several groups */
    _Atomic(bool) filled;
    uint64_t count;
};

/* Limits of what a config can make us hold and try: a few lines of it describe more points than any machine has memory and time
 * for. Set by hn_space_create; tests lower them. */
struct hn_space_limits {
    uint64_t points;        /* so many are numbered, and so many combinations of a group kept */
    uint64_t steps;         /* values tried without getting to a point: takes seconds, with long constraints minutes */
    uint64_t enough_points; /* when steps end with so many, there is something to draw from */
    uint64_t few_steps;     /* spent on counting before points are looked for */
    uint64_t many_steps;    /* and once it is clear that they are not to be kept */
    double clearly_more;    /* estimates of so many times `points` are believed */
};

struct hn_space {
    struct hn_space_parameter *parameters; /* by slot; constants behind them have one value */
    size_t parameter_count;
    size_t slot_count;
    const char **words; /* that constraints can use */
    size_t word_count;
    struct hn_space_constraint *constraints;
    size_t constraint_count;
    struct hn_expression *estimate; /* NULL: none */
    struct hn_blocks memory; /* of names, values, words, and all below that keeps its size */

    /* what hn_space_build made */
    size_t *group_of;  /* by parameter; SIZE_MAX: has the one value fixed[parameter] */
    uint16_t *fixed;
    struct hn_space_basis *basis; /* where a group is open */
    struct hn_space_building *building; /* by a thread, which alone has what is here; NULL: none does */
    _Atomic(bool) abandoned; /* nobody wants it any more */
    struct hn_space_group *groups; /* by their first parameter */
    size_t group_count;
    struct hn_space_block *blocks;
    size_t block_count;
    uint64_t size;
    double valid; /* as size, or an estimate */
    bool exact;   /* no estimate, but for rounding */
    struct hn_space_limits limits;
    pthread_mutex_t lock; /* of what is made when it is first needed */
};

/* Orders the groups, which have their points, and numbers those. */
void hn_space_number(struct hn_space *space);
/* space_build.c: what the constraints of a space demand. Slots of constraints: parameters in declared order, then
 * constants. */

/* All conjuncts of the constraints, as written; source is the number of the constraint. */
struct hn_space_demands {
    const struct hn_space *space;
    struct hn_conjuncts conjuncts;
    size_t slot_count;
    size_t slot_words; /* of a set of slots */
    uint64_t *slots;   /* slot_words for each conjunct: what it depends on */
};

/* A conjunct that is left after what could be known was folded into the domains. */
struct hn_space_check {
    size_t conjunct;
    bool failing;          /* it has to have no value, else to hold */
    int term;              /* that is 1 where the check passes; -1: ask the evaluator */
    const uint64_t *slots; /* parameters with more than one value that it depends on */
};

/* Points at which the first `limit` conjuncts hold, but for conjunct `failing` (SIZE_MAX: none), the last of them, which has
 * no value. Among the others no value is as good as false. */
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
    struct hn_blocks blocks; /* of all that is here but the terms, of its parts, and of what is planned for them */
};

/* The declared index of the value at a position of a parameter's domain. */
static inline uint16_t hn_space_problem_index(const struct hn_space_problem *problem, size_t parameter, size_t position)
{
    return problem->indices[problem->domains[parameter].values - problem->values + (ptrdiff_t)position];
}

/* A build stands on this, and open groups refer to it. */
struct hn_space_basis {
    struct hn_space_demands demands;
    struct hn_space_problem problem;
};

/* Whether all constraints hold, by the evaluator: of a space that is being built. */
bool hn_space_admits(const struct hn_space *space, const uint16_t *choice);

/* Instructions that compute a term. */
struct hn_space_program {
    const struct hn_instruction *items;
    size_t count;
};

static inline bool hn_has_slot(const uint64_t *slots, size_t slot)
{
    return slots[slot / 64] >> (slot % 64) & 1;
}

/* The lowest bit from `first` on that is set; SIZE_MAX: none is. */
static inline size_t hn_first_bit(const uint64_t *words, size_t word_count, size_t first)
{
    for (size_t i = first / 64; i < word_count; i++) {
        uint64_t bits = i == first / 64 ? words[i] & UINT64_MAX << first % 64 : words[i];
        if (bits != 0)
            return 64 * i + (size_t)__builtin_ctzll(bits);
    }
    return SIZE_MAX;
}

/* For each bit that is set, from the lowest on. */
#define HN_EACH_BIT(bit, words, word_count)                                                                            \
    for (size_t bit = hn_first_bit(words, word_count, 0); bit != SIZE_MAX; bit = hn_first_bit(words, word_count, bit + 1))

/* space_plan.c: how the valid points over some parameters are looked for. Parameters are bound one after another,
 * one a level; a level's steps take away those of its values with which a check cannot pass any more. All that a step needs
 * of the levels above is computed there, when their parameter is bound. */

enum hn_step_kind {
    HN_STEP_TABULATED, /* the values that pass are kept as bits, for each combination of the few parameters above */
    HN_STEP_COMPUTED,  /* a term is computed for each value, or for a few where it rises or falls with them */
    HN_STEP_EVALUATED, /* the evaluator is asked for each value */
};

struct hn_space_step_key {
    size_t slot;
    size_t stride;
};

struct hn_space_step {
    enum hn_step_kind kind;
    const struct hn_space_check *check; /* to be evaluated, where term is -1 */
    int term;
    int edge;                    /* the term, or a <= b where that is a == b */
    enum hn_direction direction; /* of the edge with the position of the level's value */
    struct hn_space_program before; /* what does not change with it */
    struct hn_space_program after;  /* what does */
    struct hn_space_program to_edge;
    const struct hn_space_step_key *keys;
    size_t key_count;
    size_t bits_at;  /* where its bits begin, in words */
    size_t known_at; /* where it is kept which bits are known, in bytes */
};

struct hn_space_level {
    size_t parameter;
    size_t count; /* of values */
    size_t words; /* of a set of values */
    size_t mask_at; /* where its set of candidates is, in words */
    const struct hn_value *values;
    struct hn_space_step *steps;
    size_t step_count;
    struct hn_space_program exports; /* what steps below need */
    const uint64_t *parts;           /* of a key, by position */
    size_t key_word;
};

struct hn_space_plan {
    const struct hn_space_problem *problem;
    struct hn_space_level *levels;
    size_t level_count;
    size_t key_words;
    size_t mask_words;
    size_t bit_words;
    size_t known_bytes;
    bool evaluates;      /* values are needed, not only positions */
    double combinations; /* before any check */
    struct hn_blocks blocks;
};

/* A set of parameters that checks connect with each other, and with no other parameter. */
struct hn_space_part {
    const size_t *parameters; /* ascending */
    size_t parameter_count;
    const size_t *checks; /* of the problem */
    size_t check_count;
};

/* Binds the part's parameters in declared order, or in one in which few combinations have to be tried. The problem's terms
 * grow. */
void hn_space_plan_init(struct hn_space_plan *plan, struct hn_space_problem *problem, const struct hn_space_part *part,
                        bool declared, const struct hn_space_table *table);

/* space_search.c: going through a plan, one thread's state. */
struct hn_space_search {
    const struct hn_space_plan *plan;
    uint16_t *positions;      /* by slot, of the values bound */
    struct hn_value *current; /* by slot, where the plan evaluates */
    union hn_cell *cells;     /* by term */
    uint64_t *bits;           /* tables */
    unsigned char *known;
    uint64_t *masks;          /* candidates, by level */
    uint64_t *keys;           /* of the points below, by level */
    uint64_t *points;         /* keys that were found */
    uint64_t point_count;
    uint64_t capacity;
    uint64_t steps;           /* values bound or checked, those that ask the evaluator many times */
    struct hn_blocks blocks;  /* of all but the points */
};

/* How a walk ended. */
enum hn_walk { HN_WALK_DONE, HN_WALK_ENOUGH, HN_WALK_TOO_LONG };
struct hn_walk_limits {
    uint64_t points; /* ends with ENOUGH when there are that many */
    uint64_t steps;  /* ends with TOO_LONG after so many steps, and four for each point, or a signal */
};
/* All points below the levels that are bound, in the order of the plan: appends their keys. */
enum hn_walk hn_space_walk(struct hn_space_search *search, size_t level, const struct hn_walk_limits *limits);

/* space_build.c: a problem in parts that are independent of each other. Parameters with one value are in none. */
struct hn_space_parts {
    struct hn_space_part *items; /* by their first parameter */
    size_t count;
    size_t *parameters;
    size_t *checks;
};

/* A part with what is needed to look for its points. */
struct hn_space_solver {
    struct hn_space_table table; /* only the layout of keys */
    struct hn_space_plan plan;
    struct hn_space_search search;
};

void hn_space_solver_init(struct hn_space_solver *solver, struct hn_space_problem *problem,
                          const struct hn_space_part *part);
void hn_space_solver_finish(struct hn_space_solver *solver);

/* space_search.c: how many points lie below each state of a plan. The levels from one on depend on little of
 * what is bound above: the values that their steps use. Where few combinations of these occur, all points are counted,
 * and drawn, without being looked at one by one (as paths through a decision diagram). */
struct hn_space_count_level {
    int *terms; /* what the levels from this one on use of those above: cells, and positions */
    size_t term_count;
    size_t *slots;
    size_t slot_count;
    struct hn_keys keys; /* of these */
    double *totals; /* by the number of the key: the points below */
};

struct hn_space_counts {
    const struct hn_space_plan *plan;
    struct hn_space_count_level *levels;
    size_t bytes;
    struct hn_blocks blocks;
};

/* space_search.c: a group with more combinations than can be kept: asks the checks instead. Safe from several threads. */
struct hn_space_open {
    struct hn_space_solver solver;
    struct hn_space_plan declared; /* binds the parameters in declared order */
    const size_t *checks;          /* of the problem */
    size_t check_count;
    struct hn_space_counts counts;
    bool counted;         /* else valid is an estimate, and draws are only about uniform */
    double valid;         /* exact up to 2^53 where it was counted */
    uint16_t *some;       /* a valid choice, of the group's parameters */
    pthread_mutex_t lock; /* of the solver's search, which draws */
};

/* Finds the points of the part, which become the group's: kept, or open where they are too many. False: there are none. The
 * problem outlives the group. */
bool hn_space_solve(struct hn_space_group *group, struct hn_space_problem *problem, const struct hn_space_part *part,
                    struct hn_error *err);
void hn_space_open_destroy(struct hn_space_open *open);

bool hn_space_open_contains(const struct hn_space_open *open, const uint16_t *choice);
/* Sets the bits of the declared indices of a parameter with which, the others being as in choice, all checks pass. */
void hn_space_open_values(const struct hn_space_open *open, const uint16_t *choice, size_t parameter, uint64_t *values);
void hn_space_open_draw(struct hn_space_open *open, struct hn_random *random, uint16_t *choice);
bool hn_space_open_first(const struct hn_space_open *open, const int *wanted, uint16_t *choice);

#endif
