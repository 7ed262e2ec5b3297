/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/hash.h"
#include "base/run.h"
#include "tuner/space/space_internal.h"

/* The meaning of names in expressions: parameters in declared order, then constants. */
static struct hn_scope make_scope(struct hn_space *space)
{
    const char **names = hn_need_block(&space->memory, space->slot_count, sizeof *names);
    for (size_t i = 0; i < space->slot_count; i++)
        names[i] = space->parameters[i].name;
    return (struct hn_scope){names, space->slot_count, space->words, space->word_count};
}

static void demands_init(struct hn_space_demands *demands, struct hn_space *space,
                         struct hn_error *err)
{
    const struct hn_scope scope = make_scope(space);
    *demands = (struct hn_space_demands){.space = space, .slot_count = space->slot_count};
    demands->slot_words = demands->slot_count / 64 + 1;
    for (size_t i = 0; i < space->constraint_count && !hn_failed(err); i++) {
        const struct hn_space_constraint *constraint = &space->constraints[i];
        struct hn_error reason;
        enum hn_status status = hn_expression_bind(constraint->expression, &scope, &reason);
        if (status != HN_OK)
            hn_fail(err, status, "%sconstraint '%s': %s", constraint->where,
                    hn_expression_text(constraint->expression), reason.message);
        else if (!hn_conjuncts_add(&demands->conjuncts, constraint->expression, i))
            hn_needed(NULL);
    }
    demands->slots =
        hn_need(demands->conjuncts.count * demands->slot_words, sizeof *demands->slots);
    for (size_t i = 0; i < demands->conjuncts.count; i++)
        for (size_t slot = 0; slot < demands->slot_count; slot++)
            if (hn_expression_uses(demands->conjuncts.items[i].expression, slot))
                demands->slots[i * demands->slot_words + slot / 64] |= (uint64_t)1 << (slot % 64);
}

/* Values of a whole point by slot. */
static void set_values(const struct hn_space *space, const uint16_t *choice,
                       struct hn_value *values)
{
    for (size_t i = 0; i < space->slot_count; i++)
        values[i] = space->parameters[i].values[i < space->parameter_count ? choice[i] : 0];
}

enum hn_status hn_space_set_estimate(struct hn_space *space, const struct hn_expression *expression,
                                     struct hn_error *err)
{
    const struct hn_scope scope = make_scope(space);
    hn_expression_destroy(space->estimate);
    space->estimate = NULL;
    (void)hn_expression_copy(expression, &space->estimate, NULL);
    return hn_expression_bind(hn_needed(space->estimate), &scope, err);
}

bool hn_space_has_estimate(const struct hn_space *space)
{
    return space->estimate != NULL;
}

double hn_space_estimate(const struct hn_space *space, const uint16_t *choice)
{
    struct hn_value values[space->slot_count + 1];
    set_values(space, choice, values);
    double estimate;
    if (!hn_expression_number(space->estimate, values, &estimate, NULL) || !(estimate > 0))
        return NAN;
    return log(estimate);
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

static void problem_finish(struct hn_space_problem *problem)
{
    hn_terms_finish(&problem->terms);
    hn_blocks_finish(&problem->blocks);
    *problem = (struct hn_space_problem){0};
}

static const uint64_t *slots_of(const struct hn_space_problem *problem, size_t conjunct)
{
    return problem->demands->slots + conjunct * problem->demands->slot_words;
}

/* The conjunct's only slot with several values; SIZE_MAX: none, SIZE_MAX - 1: more than one. */
static size_t open_slot(const struct hn_space_problem *problem, size_t conjunct)
{
    const uint64_t *slots = slots_of(problem, conjunct);
    size_t open = SIZE_MAX;
    HN_EACH_BIT(slot, slots, problem->demands->slot_words) {
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
    HN_EACH_BIT(slot, slots, problem->demands->slot_words)
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

/* Decides conjuncts over one open slot at most, as long as that closes others. Goes on where no
 * point is left, for what may fail. */
static void fold(struct hn_space_problem *problem)
{
    for (bool closed = true; closed;) {
        closed = false;
        for (size_t i = 0; i < problem->limit; i++) {
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

/* Marks the slots that the check depends on: those of its term, or all written and open ones. */
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
    HN_EACH_BIT(slot, slots, words)
        if (problem->domains[slot].count > 1)
            marked[slot / 64] |= (uint64_t)1 << (slot % 64);
}

static void add_check(struct hn_space_problem *problem, size_t conjunct)
{
    struct hn_terms *terms = &problem->terms;
    bool failing = conjunct == problem->failing;
    struct hn_said condition =
        hn_terms_add(terms, problem->demands->conjuncts.items[conjunct].expression, true);
    hn_needed(terms->out_of_memory ? NULL : terms);
    struct hn_space_check check = {.conjunct = conjunct,
                                   .failing = failing,
                                   .term = failing ? condition.fails : condition.value};
    problem->may_fail[conjunct] =
        !hn_terms_is(terms, condition.fails, 0) || relied_on(problem, conjunct) > conjunct + 1;
    problem->empty = problem->empty || hn_terms_is(terms, check.term, 0);
    if (hn_terms_is(terms, check.term, 1))
        return;
    mark_slots(problem, &check);
    problem->checks[problem->check_count++] = check;
}

static void problem_init(struct hn_space_problem *problem, const struct hn_space_demands *demands,
                         size_t limit, size_t failing)
{
    *problem = (struct hn_space_problem){.demands = demands, .limit = limit, .failing = failing};
    allocate(problem);
    place_domains(problem);
    fold(problem);
    /* without a point there is nothing to check, and all that was not folded may fail */
    for (size_t i = 0; i < problem->limit && problem->empty; i++)
        problem->may_fail[i] = problem->may_fail[i] || !problem->folded[i];
    if (problem->empty)
        return;
    if (!hn_terms_init(&problem->terms, problem->domains, demands->slot_count))
        hn_needed(NULL);
    for (size_t i = 0; i < problem->limit; i++)
        if (!problem->folded[i])
            add_check(problem, i);
}

static size_t find_root(size_t *root, size_t parameter)
{
    while (root[parameter] != parameter)
        parameter = root[parameter] = root[root[parameter]];
    return parameter;
}

/* The lists of the parts one after another, each in ascending order. */
static void list_parts(struct hn_space_parts *parts, const struct hn_space_problem *problem,
                       size_t *root)
{
    size_t count = problem->demands->space->parameter_count;
    size_t words = problem->demands->slot_words;
    size_t parameter = 0, check = 0;
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
            size_t first = hn_first_bit(problem->checks[j].slots, words, 0);
            if (first < count && find_root(root, first) == i)
                parts->checks[check++] = j;
        }
        part->check_count = (size_t)(parts->checks + check - part->checks);
    }
}

static void parts_init(struct hn_space_parts *parts, struct hn_space_problem *problem)
{
    size_t count = problem->demands->space->parameter_count;
    size_t words = problem->demands->slot_words;
    struct hn_blocks *blocks = &problem->blocks;
    size_t *root = hn_need_block(blocks, count, sizeof *root);
    *parts = (struct hn_space_parts){
        .items = hn_need_block(blocks, count, sizeof *parts->items),
        .parameters = hn_need_block(blocks, count, sizeof *parts->parameters),
        .checks = hn_need_block(blocks, problem->check_count, sizeof *parts->checks)};
    for (size_t i = 0; i < count; i++)
        root[i] = i;
    for (size_t i = 0; i < problem->check_count; i++) {
        const uint64_t *slots = problem->checks[i].slots;
        size_t first = hn_first_bit(slots, words, 0);
        HN_EACH_BIT(slot, slots, words) {
            size_t a = find_root(root, first), b = find_root(root, slot);
            /* The lower number is the root, so that a part is known by its first parameter. */
            root[a < b ? b : a] = a < b ? a : b;
        }
    }
    list_parts(parts, problem, root);
}

/* The cost that looking for an error may have; one that is not found in so many steps is as good as
 * none. */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { MOST_STEPS = 100000 };
#else
enum { MOST_STEPS = 50000000 };
#endif
/* Combinations that are looked at to tell which constraint rejects most. */
enum { MOST_TRIED = 20000 };

/* Any point of the part; false when there is none. */
static bool find_any(struct hn_space_problem *problem, const struct hn_space_part *part,
                     uint16_t *choice)
{
    struct hn_space_solver solver;
    hn_space_solver_init(&solver, problem, part);
    const struct hn_walk_limits limits = {.points = 1, .steps = MOST_STEPS};
    (void)hn_space_walk(&solver.search, 0, &limits);
    bool found = solver.search.point_count > 0;
    if (found)
        hn_space_table_unpack(&solver.table, solver.search.points, choice);
    hn_space_solver_finish(&solver);
    return found;
}

/* A point at which the first conjuncts hold and this one has no value; false when there is none. */
static bool find_failing(const struct hn_space_demands *demands, size_t conjunct, uint16_t *choice)
{
    struct hn_space_problem problem;
    struct hn_space_parts parts = {0};
    problem_init(&problem, demands, conjunct + 1, conjunct);
    bool fails = !problem.empty;
    if (fails) {
        for (size_t i = 0; i < demands->space->parameter_count; i++)
            choice[i] = hn_space_problem_index(&problem, i, 0);
        parts_init(&parts, &problem);
    }
    for (size_t i = 0; i < parts.count && fails; i++)
        fails = find_any(&problem, &parts.items[i], choice);
    problem_finish(&problem);
    return fails;
}

/* What the constraint of the conjunct says at the point, where it has no value. */
static void fail_constraint(const struct hn_space_demands *demands, size_t conjunct,
                            const uint16_t *choice, struct hn_error *err)
{
    const struct hn_space *space = demands->space;
    size_t source = demands->conjuncts.items[conjunct].source;
    const struct hn_space_constraint *constraint = &space->constraints[source];
    struct hn_value values[demands->slot_count + 1];
    struct hn_value result;
    struct hn_error reason = {0};
    struct hn_bindings point HN_ENDED_BY(hn_bindings_finish) = {0};
    set_values(space, choice, values);
    hn_expression_evaluate(constraint->expression, values, &result, &reason);
    hn_space_bindings(space, choice, &point);
    char *text HN_FREED = hn_needed(hn_bindings_text(&point));
    hn_fail(err, HN_ECONFIG,
            "%sconstraint %s, at the point %s; a constraint written before it can exclude such "
            "points",
            constraint->where, reason.message, text);
}

/* How many of the combinations, all or a sample, each constraint is the first to reject. */
static size_t count_rejected(const struct hn_space_demands *demands, uint16_t *choice,
                             struct hn_value *values, size_t *rejected)
{
    const struct hn_space *space = demands->space;
    double cartesian = hn_space_cartesian(space);
    struct hn_random random = hn_random_seeded(1);
    size_t tried = 0;
    for (; tried < MOST_TRIED && (double)tried < cartesian; tried++) {
        for (size_t i = 0; cartesian > MOST_TRIED && i < space->parameter_count; i++)
            choice[i] = (uint16_t)hn_random_below(&random, space->parameters[i].count);
        set_values(space, choice, values);
        size_t i = 0;
        while (i + 1 < space->constraint_count &&
               hn_expression_truth(space->constraints[i].expression, values) == HN_TRUE)
            i++;
        rejected[i]++;
        /* The next combination, like an odometer. */
        for (size_t p = space->parameter_count;
             p-- > 0 && ++choice[p] == space->parameters[p].count;)
            choice[p] = 0;
    }
    return tried;
}

/* HN_ENOTFOUND: names the constraint that rejects most. */
static void fail_empty(const struct hn_space_demands *demands, struct hn_error *err)
{
    const struct hn_space *space = demands->space;
    uint16_t *choice HN_FREED = hn_need(space->parameter_count, sizeof *choice);
    struct hn_value *values HN_FREED = hn_need(demands->slot_count, sizeof *values);
    size_t *rejected HN_FREED = hn_need(space->constraint_count, sizeof *rejected);
    size_t most = 0;
    size_t tried = count_rejected(demands, choice, values, rejected);
    for (size_t i = 1; i < space->constraint_count; i++)
        most = rejected[i] > rejected[most] ? i : most;
    const struct hn_space_constraint *constraint = &space->constraints[most];
    hn_fail(err, HN_ENOTFOUND,
            "%sno point is valid: the constraint '%s' rejects most, %zu of %zu combinations%s",
            constraint->where, hn_expression_text(constraint->expression), rejected[most], tried,
            hn_space_cartesian(space) > MOST_TRIED ? " drawn at random" : "");
}

static void destroy_basis(struct hn_space_basis *basis)
{
    if (basis == NULL)
        return;
    problem_finish(&basis->problem);
    hn_conjuncts_finish(&basis->demands.conjuncts);
    free(basis->demands.slots);
    free(basis);
}

/* Room for groups; all parameters are as yet in none, at their first value. */
static void start(struct hn_space *space, size_t group_count)
{
    size_t count = space->parameter_count;
    space->groups = hn_need_block(&space->memory, group_count, sizeof *space->groups);
    space->group_of = hn_need_block(&space->memory, count, sizeof *space->group_of);
    space->fixed = hn_need_block(&space->memory, count, sizeof *space->fixed);
    for (size_t i = 0; i < count; i++)
        space->group_of[i] = SIZE_MAX;
}

static struct hn_space_group *start_group(struct hn_space *space, const size_t *parameters,
                                          size_t count)
{
    struct hn_space_group *group = &space->groups[space->group_count];
    *group = (struct hn_space_group){
        .parameter_count = count,
        .parameters = hn_need_block(&space->memory, count, sizeof *group->parameters)};
    memcpy(group->parameters, parameters, count * sizeof *parameters);
    for (size_t i = 0; i < count; i++)
        space->group_of[parameters[i]] = space->group_count;
    space->group_count++;
    return group;
}

static void solve_parts(struct hn_space *space, struct hn_space_problem *problem,
                        struct hn_error *err)
{
    struct hn_space_parts parts;
    parts_init(&parts, problem);
    start(space, parts.count);
    for (size_t i = 0; i < space->parameter_count; i++)
        space->fixed[i] = hn_space_problem_index(problem, i, 0);
    for (size_t i = 0; i < parts.count && !hn_failed(err); i++) {
        const struct hn_space_part *part = &parts.items[i];
        struct hn_space_group *group = start_group(space, part->parameters, part->parameter_count);
        if (!hn_space_solve(group, problem, part, err))
            fail_empty(problem->demands, err);
    }
    if (!hn_failed(err))
        hn_space_number(space);
}

/* Binds the constraints. NULL: that has failed. */
static struct hn_space_basis *make_basis(struct hn_space *space, struct hn_error *err)
{
    struct hn_space_basis *basis = hn_need(1, sizeof *basis);
    hn_error_init(err);
    demands_init(&basis->demands, space, err);
    if (!hn_failed(err))
        return basis;
    destroy_basis(basis);
    return NULL;
}

/* Finds the points. */
static void solve(struct hn_space *space, struct hn_space_basis *basis, struct hn_error *err)
{
    struct hn_space_demands *demands = &basis->demands;
    uint16_t choice[space->parameter_count + 1];
    problem_init(&basis->problem, demands, demands->conjuncts.count, SIZE_MAX);
    /* Once there is no such point, no value is as good as not holding, whatever the order. */
    for (size_t i = 0; i < demands->conjuncts.count && !hn_failed(err); i++)
        if (basis->problem.may_fail[i] && find_failing(demands, i, choice))
            fail_constraint(demands, i, choice, err);
    if (!hn_failed(err) && basis->problem.empty)
        fail_empty(demands, err);
    if (!hn_failed(err))
        solve_parts(space, &basis->problem, err);
}

/* The space owns the basis, where it still needs it. */
static void take_basis(struct hn_space *space, struct hn_space_basis *basis)
{
    for (size_t i = 0; i < space->group_count; i++)
        if (space->groups[i].open != NULL)
            space->basis = basis;
    if (space->basis == NULL)
        destroy_basis(basis);
}

enum hn_status hn_space_build(struct hn_space *space, struct hn_error *err)
{
    struct hn_space_basis *basis = make_basis(space, err);
    if (basis == NULL)
        return err->status;
    solve(space, basis, err);
    take_basis(space, basis);
    return err->status;
}

/* One group of all parameters, in the layout of its table. */
enum hn_status hn_space_build_from(struct hn_space *space, const uint16_t *choices, uint64_t count,
                                   struct hn_error *err)
{
    size_t parameter_count = space->parameter_count;
    size_t parameters[parameter_count + 1];
    if (count == 0)
        return hn_fail(err, HN_ECONFIG, "there is no point");
    for (size_t i = 0; i < parameter_count; i++)
        parameters[i] = i;
    start(space, 1);
    struct hn_space_table *table = &start_group(space, parameters, parameter_count)->table;
    hn_space_table_init(table, space, parameters, parameter_count);
    uint64_t *keys = hn_need(count * table->words, sizeof *keys);
    for (uint64_t i = 0; i < count; i++)
        hn_space_table_key(table, choices + i * parameter_count, keys + i * table->words);
    hn_space_table_take(table, keys, count);
    for (uint64_t i = 1; i < table->count; i++) {
        const unsigned char *row = table->rows + i * table->bytes;
        if (memcmp(row - table->bytes, row, table->bytes) == 0)
            return hn_fail(err, HN_ECONFIG, "a point is given twice");
    }
    hn_space_number(space);
    return HN_OK;
}

/* As much as the compile workers, beside which it runs. */
static const int niceness = 5;

/* A build that takes no longer is waited for at once. */
static const long quick_ns = 20000000;

/* Whoever comes second, the thread's end or the space's, cleans up. */
enum state { RUNNING, DONE, ABANDONED };

struct hn_space_building {
    struct hn_space *space;
    struct hn_space_basis *basis;
    pthread_t thread;
    _Atomic(int) state;
    sem_t ended;
    struct hn_error err;
};

static bool change(struct hn_space_building *building, enum state to)
{
    int running = RUNNING;
    return atomic_compare_exchange_strong(&building->state, &running, (int)to);
}

static enum hn_status take(struct hn_space_building *building, struct hn_error *err)
{
    struct hn_space *space = building->space;
    enum hn_status status = building->err.status;
    if (err != NULL)
        *err = building->err;
    space->building = NULL;
    take_basis(space, building->basis);
    sem_destroy(&building->ended);
    free(building);
    return status;
}

static void *build(void *pointer)
{
    struct hn_space_building *building = pointer;
    struct hn_space *space = building->space;
    /* On Linux 0 is this thread. */
    setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + niceness);
    solve(space, building->basis, &building->err);
    if (change(building, DONE)) {
        sem_post(&building->ended);
        return NULL;
    }
    (void)take(building, NULL);
    hn_space_destroy(space);
    return NULL;
}

/* Most spaces are small. */
static bool was_quick(struct hn_space_building *building)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += quick_ns;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return sem_timedwait(&building->ended, &until) == 0;
}

/* Looking for some ten million points takes half a second of a core. */
static const struct hn_space_limits hasty_limits = {
    .points = 10000000,
    .steps = 1000000000,
    .enough_points = 1000000,
    .few_steps = 300000,
    .many_steps = 300000,
    .clearly_more = 2,
};

enum hn_status hn_space_begin(struct hn_space *space, struct hn_error *err)
{
    struct hn_space_basis *basis = make_basis(space, err);
    if (basis == NULL)
        return err->status;
    if (space->limits.points > hasty_limits.points)
        space->limits = hasty_limits;
    struct hn_space_building *building = hn_need(1, sizeof *building);
    building->basis = basis;
    building->space = space;
    space->building = building;
    sem_init(&building->ended, 0, 0);
    if (hn_thread_start(&building->thread, build, building, NULL))
        return was_quick(building) ? hn_space_wait(space, err) : HN_OK;
    /* Without a thread it takes no longer than it would have anyway. */
    solve(space, building->basis, &building->err);
    return take(building, err);
}

bool hn_space_is_built(const struct hn_space *space)
{
    return space->building == NULL || atomic_load(&space->building->state) == DONE;
}

enum hn_status hn_space_wait(struct hn_space *space, struct hn_error *err)
{
    struct hn_space_building *building = space->building;
    if (building == NULL)
        return HN_OK;
    pthread_join(building->thread, NULL);
    return take(building, err);
}

/* Ends what was begun and not waited for. True: the thread is still at it, and will destroy the
 * space. */
static bool abandon(struct hn_space *space)
{
    struct hn_space_building *building = space->building;
    if (building == NULL)
        return false;
    pthread_t thread = building->thread;
    atomic_store(&space->abandoned, true);
    if (!change(building, ABANDONED)) {
        (void)hn_space_wait(space, NULL);
        return false;
    }
    pthread_detach(thread);
    return true;
}

bool hn_space_admits(const struct hn_space *space, const uint16_t *choice)
{
    const struct hn_space_demands *demands = &space->building->basis->demands;
    struct hn_value values[demands->slot_count + 1];
    set_values(space, choice, values);
    bool holds = true;
    for (size_t i = 0; i < demands->conjuncts.count && holds; i++)
        holds = hn_expression_truth(demands->conjuncts.items[i].expression, values) == HN_TRUE;
    return holds;
}

void hn_space_destroy(struct hn_space *space)
{
    if (space == NULL || abandon(space))
        return;
    for (size_t i = 0; i < space->group_count; i++) {
        hn_space_table_finish(&space->groups[i].table);
        hn_space_open_destroy(space->groups[i].open);
    }
    for (size_t i = 0; i < space->block_count; i++)
        hn_space_table_finish(&space->blocks[i].table);
    destroy_basis(space->basis);
    pthread_mutex_destroy(&space->lock);
    for (size_t i = 0; i < space->constraint_count; i++)
        hn_expression_destroy(space->constraints[i].expression);
    hn_expression_destroy(space->estimate);
    hn_blocks_finish(&space->memory);
    free(space->words);
    free(space->parameters);
    free(space->constraints);
    free(space);
}
