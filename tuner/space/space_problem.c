/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tuner/space/space_internal.h"

void hn_space_scope_init(const struct hn_space *space, struct hn_scope *scope)
{
    const char **names = hn_need(space->slot_count, sizeof *names);
    for (size_t i = 0; i < space->slot_count; i++)
        names[i] = space->parameters[i].name;
    *scope = (struct hn_scope){names, space->slot_count, (const char *const *)space->words,
                               space->word_count};
}

static enum hn_status bind_constraints(struct hn_space *space, struct hn_error *err)
{
    struct hn_scope scope;
    enum hn_status status = HN_OK;
    hn_space_scope_init(space, &scope);
    for (size_t i = 0; i < space->constraint_count && status == HN_OK; i++) {
        const struct hn_space_constraint *constraint = &space->constraints[i];
        struct hn_error reason;
        status = hn_expression_bind(constraint->expression, &scope, &reason);
        if (status != HN_OK)
            hn_fail(err, status, "%sconstraint '%s': %s", constraint->where,
                    hn_expression_text(constraint->expression), reason.message);
    }
    free((void *)scope.names);
    return status;
}

enum hn_status hn_space_demands_init(struct hn_space_demands *demands, struct hn_space *space,
                                     struct hn_error *err)
{
    *demands = (struct hn_space_demands){.space = space, .slot_count = space->slot_count};
    demands->slot_words = demands->slot_count / 64 + 1;
    enum hn_status status = bind_constraints(space, err);
    if (status != HN_OK)
        return status;
    for (size_t i = 0; i < space->constraint_count; i++)
        if (hn_conjuncts_add(&demands->conjuncts, space->constraints[i].expression, i, NULL) !=
            HN_OK)
            hn_needed(NULL);
    demands->slots =
        hn_need(demands->conjuncts.count * demands->slot_words, sizeof *demands->slots);
    for (size_t i = 0; i < demands->conjuncts.count; i++)
        hn_expression_mark_slots(demands->conjuncts.items[i].expression,
                                 demands->slots + i * demands->slot_words);
    return HN_OK;
}

void hn_space_demands_finish(struct hn_space_demands *demands)
{
    hn_conjuncts_finish(&demands->conjuncts);
    free(demands->slots);
    *demands = (struct hn_space_demands){0};
}

void hn_space_set_values(const struct hn_space *space, const uint16_t *choice,
                         struct hn_value *values)
{
    for (size_t i = 0; i < space->slot_count; i++)
        values[i] = space->parameters[i].values[i < space->parameter_count ? choice[i] : 0];
}

static void place_domains(struct hn_space_problem *problem)
{
    size_t place = 0;
    for (size_t i = 0; i < problem->demands->slot_count; i++) {
        const struct hn_space_parameter *slot = &problem->demands->space->parameters[i];
        problem->domains[i] = (struct hn_domain){problem->values + place, slot->count};
        memcpy(problem->values + place, slot->values, slot->count * sizeof *slot->values);
        for (size_t j = 0; j < slot->count; j++)
            problem->indices[place + j] = (uint16_t)j;
        problem->current[i] = slot->values[0];
        place += slot->count;
    }
}

static void allocate(struct hn_space_problem *problem)
{
    const struct hn_space_demands *demands = problem->demands;
    size_t slots = demands->slot_count, conjuncts = demands->conjuncts.count, values = 0;
    for (size_t i = 0; i < slots; i++)
        values += demands->space->parameters[i].count;
    struct hn_blocks *blocks = &problem->blocks;
    problem->domains = hn_need_block(blocks, slots, sizeof *problem->domains);
    problem->values = hn_need_block(blocks, values, sizeof *problem->values);
    problem->indices = hn_need_block(blocks, values, sizeof *problem->indices);
    problem->current = hn_need_block(blocks, slots, sizeof *problem->current);
    problem->restricted_by = hn_need_block(blocks, slots, sizeof *problem->restricted_by);
    problem->may_fail = hn_need_block(blocks, conjuncts, sizeof *problem->may_fail);
    problem->folded = hn_need_block(blocks, conjuncts, sizeof *problem->folded);
    problem->checks = hn_need_block(blocks, conjuncts, sizeof *problem->checks);
    problem->slots = hn_need_block(blocks, conjuncts * demands->slot_words, sizeof *problem->slots);
}

void hn_space_problem_finish(struct hn_space_problem *problem)
{
    hn_terms_finish(&problem->terms);
    hn_blocks_finish(&problem->blocks);
    *problem = (struct hn_space_problem){0};
}

static const uint64_t *slots_of(const struct hn_space_problem *problem, size_t conjunct)
{
    return problem->demands->slots + conjunct * problem->demands->slot_words;
}

/* The next slot of the set from `slot` on; SIZE_MAX after the last. */
static size_t next_slot(const struct hn_space_problem *problem, const uint64_t *slots, size_t slot)
{
    for (; slot < problem->demands->slot_count; slot++) {
        uint64_t bits = slots[slot / 64] >> (slot % 64);
        if (bits == 0)
            slot |= 63;
        else
            return slot + (size_t)__builtin_ctzll(bits);
    }
    return SIZE_MAX;
}

/* The conjunct's only slot with several values; SIZE_MAX for none, SIZE_MAX - 1 for more than one.
 */
static size_t open_slot(const struct hn_space_problem *problem, size_t conjunct)
{
    const uint64_t *slots = slots_of(problem, conjunct);
    size_t open = SIZE_MAX;
    for (size_t slot = next_slot(problem, slots, 0); slot != SIZE_MAX;
         slot = next_slot(problem, slots, slot + 1)) {
        if (problem->domains[slot].count == 1)
            continue;
        if (open != SIZE_MAX)
            return SIZE_MAX - 1;
        open = slot;
    }
    return open;
}

/* The last conjunct plus one that what is known of this one's slots relies on. */
static size_t relied_on(const struct hn_space_problem *problem, size_t conjunct)
{
    const uint64_t *slots = slots_of(problem, conjunct);
    size_t last = 0;
    for (size_t slot = next_slot(problem, slots, 0); slot != SIZE_MAX;
         slot = next_slot(problem, slots, slot + 1))
        if (problem->restricted_by[slot] > last)
            last = problem->restricted_by[slot];
    return last;
}

/* Keeps the values with which the conjunct does what it has to. */
static void filter(struct hn_space_problem *problem, size_t conjunct, size_t slot)
{
    struct hn_domain *domain = &problem->domains[slot];
    struct hn_value *values = problem->values + (domain->values - problem->values);
    uint16_t *indices = problem->indices + (domain->values - problem->values);
    enum hn_truth wanted = conjunct == problem->failing ? HN_NO_VALUE : HN_TRUE;
    bool failed = false;
    size_t kept = 0;
    for (size_t i = 0; i < domain->count; i++) {
        problem->current[slot] = values[i];
        enum hn_truth truth = hn_expression_truth(
            problem->demands->conjuncts.items[conjunct].expression, problem->current);
        failed = failed || truth == HN_NO_VALUE;
        if (truth != wanted)
            continue;
        values[kept] = values[i];
        indices[kept++] = indices[i];
    }
    size_t relied = relied_on(problem, conjunct);
    problem->may_fail[conjunct] = failed || relied > conjunct + 1;
    if (kept < domain->count)
        problem->restricted_by[slot] = relied > conjunct + 1 ? relied : conjunct + 1;
    domain->count = kept;
    problem->current[slot] = values[0];
    problem->empty = problem->empty || kept == 0;
}

static void decide(struct hn_space_problem *problem, size_t conjunct)
{
    enum hn_truth wanted = conjunct == problem->failing ? HN_NO_VALUE : HN_TRUE;
    enum hn_truth truth = hn_expression_truth(
        problem->demands->conjuncts.items[conjunct].expression, problem->current);
    problem->may_fail[conjunct] =
        truth == HN_NO_VALUE || relied_on(problem, conjunct) > conjunct + 1;
    problem->empty = problem->empty || truth != wanted;
}

static size_t end_of(const struct hn_space_problem *problem)
{
    return problem->failing == SIZE_MAX ? problem->limit : problem->failing + 1;
}

/* Decides conjuncts over one open slot at most, as long as that closes others. Goes on where no
 * point is left, for what may fail. */
static void fold(struct hn_space_problem *problem)
{
    for (bool closed = true; closed;) {
        closed = false;
        for (size_t i = 0; i < end_of(problem); i++) {
            if (problem->folded[i])
                continue;
            size_t slot = open_slot(problem, i);
            if (slot == SIZE_MAX - 1)
                continue;
            problem->folded[i] = true;
            if (slot == SIZE_MAX) {
                decide(problem, i);
                continue;
            }
            filter(problem, i, slot);
            closed = closed || problem->domains[slot].count < 2;
        }
    }
}

/* Marks the slots that the check depends on: those of its term, or all that are written and open.
 */
static void mark_slots(struct hn_space_problem *problem, struct hn_space_check *check)
{
    size_t words = problem->demands->slot_words;
    uint64_t *marked = problem->slots + check->conjunct * words;
    check->slots = marked;
    if (check->term >= 0) {
        memcpy(marked, problem->terms.items[check->term].slots, words * sizeof *marked);
        return;
    }
    const uint64_t *slots = slots_of(problem, check->conjunct);
    for (size_t slot = next_slot(problem, slots, 0); slot != SIZE_MAX;
         slot = next_slot(problem, slots, slot + 1))
        if (problem->domains[slot].count > 1)
            marked[slot / 64] |= (uint64_t)1 << (slot % 64);
}

static void add_check(struct hn_space_problem *problem, size_t conjunct)
{
    struct hn_terms *terms = &problem->terms;
    bool failing = conjunct == problem->failing;
    struct hn_condition condition =
        hn_terms_add_condition(terms, problem->demands->conjuncts.items[conjunct].expression);
    hn_needed(terms->out_of_memory ? NULL : terms);
    struct hn_space_check check = {.conjunct = conjunct,
                                   .failing = failing,
                                   .term = failing ? condition.fails : condition.holds};
    problem->may_fail[conjunct] =
        !hn_terms_is(terms, condition.fails, 0) || relied_on(problem, conjunct) > conjunct + 1;
    problem->empty = problem->empty || hn_terms_is(terms, check.term, 0);
    if (hn_terms_is(terms, check.term, 1))
        return;
    mark_slots(problem, &check);
    problem->checks[problem->check_count++] = check;
}

void hn_space_problem_init(struct hn_space_problem *problem, const struct hn_space_demands *demands,
                           size_t limit, size_t failing)
{
    *problem = (struct hn_space_problem){.demands = demands, .limit = limit, .failing = failing};
    allocate(problem);
    place_domains(problem);
    fold(problem);
    /* without a point there is nothing to check, and all that was not folded may fail */
    for (size_t i = 0; i < end_of(problem) && problem->empty; i++)
        problem->may_fail[i] = problem->may_fail[i] || !problem->folded[i];
    if (problem->empty)
        return;
    if (hn_terms_init(&problem->terms, problem->domains, demands->slot_count, NULL) != HN_OK)
        hn_needed(NULL);
    for (size_t i = 0; i < end_of(problem); i++)
        if (!problem->folded[i])
            add_check(problem, i);
}

static size_t find_root(size_t *root, size_t parameter)
{
    while (root[parameter] != parameter)
        parameter = root[parameter] = root[root[parameter]];
    return parameter;
}

/* The lower number is the root, so that a part is known by its first parameter. */
static void unite(size_t *root, size_t a, size_t b)
{
    a = find_root(root, a);
    b = find_root(root, b);
    root[a < b ? b : a] = a < b ? a : b;
}

static void connect(const struct hn_space_problem *problem, size_t *root)
{
    size_t count = problem->demands->space->parameter_count;
    for (size_t i = 0; i < count; i++)
        root[i] = i;
    for (size_t i = 0; i < problem->check_count; i++) {
        const uint64_t *slots = problem->checks[i].slots;
        size_t first = next_slot(problem, slots, 0);
        for (size_t slot = first; slot < count; slot = next_slot(problem, slots, slot + 1))
            unite(root, first, slot);
    }
}

/* The lists of the parts one after another, each in ascending order. */
static void list_parts(struct hn_space_parts *parts, const struct hn_space_problem *problem,
                       size_t *root)
{
    size_t count = problem->demands->space->parameter_count;
    size_t parameter = 0;
    size_t check = 0;
    for (size_t i = 0; i < count; i++) {
        if (find_root(root, i) != i || problem->domains[i].count == 1)
            continue;
        struct hn_space_part *part = &parts->items[parts->count++];
        *part = (struct hn_space_part){.parameters = parts->parameters + parameter,
                                       .checks = parts->checks + check};
        for (size_t j = i; j < count; j++)
            if (problem->domains[j].count > 1 && find_root(root, j) == i)
                parts->parameters[parameter++] = j;
        part->parameter_count = (size_t)(parts->parameters + parameter - part->parameters);
        for (size_t j = 0; j < problem->check_count; j++) {
            size_t first = next_slot(problem, problem->checks[j].slots, 0);
            if (first < count && find_root(root, first) == i)
                parts->checks[check++] = j;
        }
        part->check_count = (size_t)(parts->checks + check - part->checks);
    }
}

void hn_space_parts_init(struct hn_space_parts *parts, struct hn_space_problem *problem)
{
    size_t count = problem->demands->space->parameter_count;
    struct hn_blocks *blocks = &problem->blocks;
    size_t *root = hn_need_block(blocks, count, sizeof *root);
    *parts = (struct hn_space_parts){
        .items = hn_need_block(blocks, count, sizeof *parts->items),
        .parameters = hn_need_block(blocks, count, sizeof *parts->parameters),
        .checks = hn_need_block(blocks, problem->check_count, sizeof *parts->checks)};
    connect(problem, root);
    list_parts(parts, problem, root);
}

void hn_space_solver_init(struct hn_space_solver *solver, struct hn_space_problem *problem,
                          const struct hn_space_part *part)
{
    size_t *order = hn_need_block(&problem->blocks, part->parameter_count, sizeof *order);
    hn_space_table_init(&solver->table, problem->demands->space, part->parameters,
                        part->parameter_count);
    hn_space_order(problem, part, order);
    hn_space_plan_init(&solver->plan, problem, part, order, &solver->table);
    hn_space_search_init(&solver->search, &solver->plan);
}

void hn_space_solver_finish(struct hn_space_solver *solver)
{
    hn_space_search_finish(&solver->search);
    hn_space_plan_finish(&solver->plan);
    hn_space_table_finish(&solver->table);
}
