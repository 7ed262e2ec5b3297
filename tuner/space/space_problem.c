/* SPDX-License-Identifier: MIT */
#include "tuner/space/space_problem.h"

#include <stdlib.h>
#include <string.h>

static size_t count_words(const struct hn_space *space)
{
    size_t count = space->constant_count + space->word_count;
    for (size_t i = 0; i < space->parameter_count; i++)
        count += space->parameters[i].count;
    return count;
}

/* The words that names in constraints can stand for; returns how many. */
static size_t list_words(const struct hn_space *space, const char **words)
{
    size_t count = 0;
    for (size_t i = 0; i < space->parameter_count; i++) {
        const struct hn_space_parameter *parameter = &space->parameters[i];
        for (size_t j = 0; j < parameter->count; j++) {
            if (parameter->values[j].type == HN_WORD)
                words[count++] = parameter->values[j].word;
        }
    }
    for (size_t i = 0; i < space->constant_count; i++) {
        if (space->constants[i].value.type == HN_WORD)
            words[count++] = space->constants[i].value.word;
    }
    for (size_t i = 0; i < space->word_count; i++)
        words[count++] = space->words[i];
    return count;
}

static enum hn_status bind_all(struct hn_space *space, const struct hn_scope *scope,
                               struct hn_error *err)
{
    for (size_t i = 0; i < space->constraint_count; i++) {
        const struct hn_space_constraint *constraint = &space->constraints[i];
        struct hn_error reason;
        enum hn_status status = hn_expression_bind(constraint->expression, scope, &reason);
        if (status != HN_OK)
            return hn_fail(err, status, "%s%sconstraint '%s': %s",
                           constraint->where == NULL ? "" : constraint->where,
                           constraint->where == NULL ? "" : ": ",
                           hn_expression_text(constraint->expression), reason.message);
    }
    return HN_OK;
}

enum hn_status hn_space_scope_init(const struct hn_space *space, struct hn_scope *scope,
                                   struct hn_error *err)
{
    size_t name_count = space->parameter_count + space->constant_count;
    const char **names = calloc(name_count + 1, sizeof *names);
    const char **words = calloc(count_words(space) + 1, sizeof *words);
    *scope = (struct hn_scope){names, name_count, words, 0};
    if (names == NULL || words == NULL) {
        hn_space_scope_finish(scope);
        return hn_fail_memory(err);
    }
    for (size_t i = 0; i < space->parameter_count; i++)
        names[i] = space->parameters[i].name;
    for (size_t i = 0; i < space->constant_count; i++)
        names[space->parameter_count + i] = space->constants[i].name;
    scope->word_count = list_words(space, words);
    return HN_OK;
}

void hn_space_scope_finish(struct hn_scope *scope)
{
    free((void *)scope->names);
    free((void *)scope->words);
}

static enum hn_status bind_constraints(struct hn_space *space, struct hn_error *err)
{
    struct hn_scope scope;
    enum hn_status status = hn_space_scope_init(space, &scope, err);
    if (status != HN_OK)
        return status;
    status = bind_all(space, &scope, err);
    hn_space_scope_finish(&scope);
    return status;
}

enum hn_status hn_space_demands_init(struct hn_space_demands *demands, struct hn_space *space,
                                     struct hn_error *err)
{
    *demands = (struct hn_space_demands){
        .space = space, .slot_count = space->parameter_count + space->constant_count};
    demands->slot_words = demands->slot_count / 64 + 1;
    enum hn_status status = bind_constraints(space, err);
    for (size_t i = 0; i < space->constraint_count && status == HN_OK; i++)
        status = hn_conjuncts_add(&demands->conjuncts, space->constraints[i].expression, i, err);
    if (status == HN_OK) {
        demands->slots =
            calloc((demands->conjuncts.count + 1) * demands->slot_words, sizeof *demands->slots);
        if (demands->slots == NULL)
            status = hn_fail_memory(err);
    }
    if (status != HN_OK) {
        hn_space_demands_finish(demands);
        return status;
    }
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

static void place_domains(struct hn_space_problem *problem)
{
    const struct hn_space *space = problem->demands->space;
    size_t place = 0;
    for (size_t i = 0; i < problem->demands->slot_count; i++) {
        bool is_parameter = i < space->parameter_count;
        const struct hn_space_parameter *parameter = &space->parameters[is_parameter ? i : 0];
        const struct hn_value *values =
            is_parameter ? parameter->values : &space->constants[i - space->parameter_count].value;
        size_t count = is_parameter ? parameter->count : 1;
        problem->domains[i] = (struct hn_domain){problem->values + place, count};
        memcpy(problem->values + place, values, count * sizeof *values);
        for (size_t j = 0; j < count; j++)
            problem->indices[place + j] = (uint16_t)j;
        problem->current[i] = values[0];
        place += count;
    }
}

static enum hn_status allocate(struct hn_space_problem *problem, struct hn_error *err)
{
    const struct hn_space_demands *demands = problem->demands;
    size_t slots = demands->slot_count + 1;
    size_t conjuncts = demands->conjuncts.count + 1;
    size_t values = demands->space->constant_count + 1;
    for (size_t i = 0; i < demands->space->parameter_count; i++)
        values += demands->space->parameters[i].count;
    problem->domains = calloc(slots, sizeof *problem->domains);
    problem->values = calloc(values, sizeof *problem->values);
    problem->indices = calloc(values, sizeof *problem->indices);
    problem->current = calloc(slots, sizeof *problem->current);
    problem->restricted_by = calloc(slots, sizeof *problem->restricted_by);
    problem->may_fail = calloc(conjuncts, sizeof *problem->may_fail);
    problem->folded = calloc(conjuncts, sizeof *problem->folded);
    problem->checks = calloc(conjuncts, sizeof *problem->checks);
    problem->slots = calloc(conjuncts * demands->slot_words, sizeof *problem->slots);
    bool failed = problem->domains == NULL || problem->values == NULL || problem->indices == NULL ||
                  problem->current == NULL || problem->restricted_by == NULL ||
                  problem->may_fail == NULL || problem->folded == NULL || problem->checks == NULL ||
                  problem->slots == NULL;
    return failed ? hn_fail_memory(err) : HN_OK;
}

void hn_space_problem_finish(struct hn_space_problem *problem)
{
    free(problem->domains);
    free(problem->values);
    free(problem->indices);
    free(problem->current);
    free(problem->restricted_by);
    free(problem->may_fail);
    free(problem->folded);
    free(problem->checks);
    free(problem->slots);
    hn_terms_finish(&problem->terms);
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
         slot = next_slot(problem, slots, slot + 1)) {
        if (problem->restricted_by[slot] > last)
            last = problem->restricted_by[slot];
    }
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

/* What the check depends on: what its term does, or all that is written and open. */
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
         slot = next_slot(problem, slots, slot + 1)) {
        if (problem->domains[slot].count > 1)
            marked[slot / 64] |= (uint64_t)1 << (slot % 64);
    }
}

static enum hn_status add_check(struct hn_space_problem *problem, size_t conjunct,
                                struct hn_error *err)
{
    struct hn_terms *terms = &problem->terms;
    bool failing = conjunct == problem->failing;
    struct hn_condition condition =
        hn_terms_add_condition(terms, problem->demands->conjuncts.items[conjunct].expression);
    if (terms->out_of_memory)
        return hn_fail_memory(err);
    struct hn_space_check check = {.conjunct = conjunct,
                                   .failing = failing,
                                   .term = failing ? condition.fails : condition.holds};
    problem->may_fail[conjunct] =
        !hn_terms_is(terms, condition.fails, 0) || relied_on(problem, conjunct) > conjunct + 1;
    problem->empty = problem->empty || hn_terms_is(terms, check.term, 0);
    if (hn_terms_is(terms, check.term, 1))
        return HN_OK;
    mark_slots(problem, &check);
    problem->checks[problem->check_count++] = check;
    return HN_OK;
}

static enum hn_status add_checks(struct hn_space_problem *problem, struct hn_error *err)
{
    enum hn_status status =
        hn_terms_init(&problem->terms, problem->domains, problem->demands->slot_count, err);
    for (size_t i = 0; i < end_of(problem) && status == HN_OK; i++) {
        if (!problem->folded[i])
            status = add_check(problem, i, err);
    }
    return status;
}

enum hn_status hn_space_problem_init(struct hn_space_problem *problem,
                                     const struct hn_space_demands *demands, size_t limit,
                                     size_t failing, struct hn_error *err)
{
    *problem = (struct hn_space_problem){.demands = demands, .limit = limit, .failing = failing};
    enum hn_status status = allocate(problem, err);
    if (status == HN_OK) {
        place_domains(problem);
        fold(problem);
    }
    /* without a point there is nothing to check, and all that was not folded may fail */
    for (size_t i = 0; i < end_of(problem) && status == HN_OK && problem->empty; i++)
        problem->may_fail[i] = problem->may_fail[i] || !problem->folded[i];
    if (status == HN_OK && !problem->empty)
        status = add_checks(problem, err);
    if (status != HN_OK)
        hn_space_problem_finish(problem);
    return status;
}
