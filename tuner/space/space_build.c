/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "tuner/space/space_begin.h"
#include "tuner/space/space_open.h"

/* Estimates of so small a part of the limit are believed. */
static const double clearly_fewer = 2;
/* Steps of such an estimate. */
static const uint64_t most_probed = 100000000;
/* 1 GiB, twice while they are sorted. */
static const uint64_t most_key_words = (uint64_t)1 << 27;

void hn_space_basis_destroy(struct hn_space_basis *basis)
{
    if (basis == NULL)
        return;
    hn_space_problem_finish(&basis->problem);
    hn_space_demands_finish(&basis->demands);
    free(basis);
}

void hn_space_clear(struct hn_space *space)
{
    for (size_t i = 0; i < space->group_count; i++) {
        free(space->groups[i].parameters);
        hn_space_table_finish(&space->groups[i].table);
        hn_space_open_destroy(space->groups[i].open);
    }
    for (size_t i = 0; i < space->block_count; i++)
        hn_space_table_finish(&space->blocks[i].table);
    hn_space_basis_destroy(space->basis);
    free(space->groups);
    free(space->blocks);
    free(space->group_of);
    free(space->fixed);
    space->basis = NULL;
    space->groups = NULL;
    space->blocks = NULL;
    space->group_of = NULL;
    space->fixed = NULL;
    space->group_count = 0;
    space->block_count = 0;
    space->size = 0;
    space->valid = 0;
    space->exact = true;
}

/* Room for groups; all parameters are as yet in none, at their first value. */
static enum hn_status start(struct hn_space *space, size_t group_count, struct hn_error *err)
{
    space->groups = calloc(group_count + 1, sizeof *space->groups);
    space->group_of = calloc(space->parameter_count + 1, sizeof *space->group_of);
    space->fixed = calloc(space->parameter_count + 1, sizeof *space->fixed);
    if (space->groups == NULL || space->group_of == NULL || space->fixed == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < space->parameter_count; i++)
        space->group_of[i] = SIZE_MAX;
    return HN_OK;
}

static enum hn_status start_group(struct hn_space *space, const size_t *parameters, size_t count,
                                  struct hn_error *err)
{
    struct hn_space_group *group = &space->groups[space->group_count];
    *group = (struct hn_space_group){.parameter_count = count};
    group->parameters = malloc((count + 1) * sizeof *group->parameters);
    if (group->parameters == NULL)
        return hn_fail_memory(err);
    memcpy(group->parameters, parameters, count * sizeof *parameters);
    for (size_t i = 0; i < count; i++)
        space->group_of[parameters[i]] = space->group_count;
    space->group_count++;
    return HN_OK;
}

static enum hn_status fail_steps(const struct hn_space_solver *solver, struct hn_error *err)
{
    if (hn_interrupted() != 0)
        return hn_interrupt_check(err);
    return hn_fail(err, HN_ECONFIG,
                   "%" PRIu64 " steps through the %.3g combinations of the parameters found only "
                   "%" PRIu64
                   " valid points; write constraints over fewer parameters, so that they "
                   "decide sooner, or restrict parameters",
                   solver->search.steps, solver->plan.combinations, solver->search.point_count);
}

/* Looks for all points of a part; *complete is false when there are more than can be kept. */
static enum hn_status enumerate(struct hn_space_open *open, const struct hn_space_limits *most,
                                bool *complete, struct hn_error *err)
{
    struct hn_space_search *search = &open->solver.search;
    uint64_t points = most_key_words / open->solver.table.words;
    if (points > most->points)
        points = most->points;
    const struct hn_walk_limits limits = {.points = points + 1, .steps = most->steps};
    enum hn_walk walk = hn_space_walk_all(search, &limits);
    *complete = walk == HN_WALK_DONE;
    if (walk == HN_WALK_NO_MEMORY)
        return hn_fail_memory(err);
    if (walk == HN_WALK_TOO_LONG && search->point_count < most->enough_points)
        return fail_steps(&open->solver, err);
    return HN_OK;
}

/* Whether there are clearly more points than can be kept. Counting is spared where an estimate
 * finds clearly fewer. */
static enum hn_status judge(struct hn_space_open *open, const struct hn_space_limits *most,
                            bool *too_many, struct hn_error *err)
{
    double points = (double)most->points;
    *too_many = false;
    if (open->solver.plan.combinations <= points)
        return HN_OK;
    double estimate = hn_space_open_estimate(open, most->few_steps / 10);
    if (estimate > 0 && estimate < points / clearly_fewer)
        return HN_OK;
    enum hn_walk walk = hn_space_open_count(open, most->few_steps);
    if (walk == HN_WALK_NO_MEMORY)
        return hn_fail_memory(err);
    if (walk == HN_WALK_DONE)
        *too_many = open->valid > points;
    else
        *too_many = hn_space_open_estimate(open, most_probed) > most->clearly_more * points;
    return HN_OK;
}

/* The group is not enumerated. */
static enum hn_status leave_open(struct hn_space_open *open, const struct hn_space_limits *most,
                                 const struct hn_space_part *part, struct hn_error *err)
{
    enum hn_status status = hn_space_open_find_some(open, most->steps, err);
    if (status != HN_OK)
        return status == HN_ENOTFOUND ? fail_steps(&open->solver, err) : status;
    enum hn_walk walk = open->counted ? HN_WALK_DONE : hn_space_open_count(open, most->many_steps);
    if (walk == HN_WALK_NO_MEMORY)
        return hn_fail_memory(err);
    if (walk != HN_WALK_DONE)
        open->valid = hn_space_open_estimate(open, most_probed);
    return hn_space_open_complete(open, part, err);
}

static enum hn_status take_points(struct hn_space_group *group, struct hn_space_open *open,
                                  struct hn_error *err)
{
    struct hn_space_search *search = &open->solver.search;
    uint64_t *points = search->points;
    group->table = open->solver.table;
    memset(&open->solver.table, 0, sizeof open->solver.table);
    search->points = NULL;
    return hn_space_table_take(&group->table, points, search->point_count, err);
}

static enum hn_status solve(struct hn_space *space, struct hn_space_problem *problem,
                            const struct hn_space_part *part, struct hn_error *err)
{
    struct hn_space_open *open = NULL;
    bool too_many = false;
    bool complete = false;
    enum hn_status status = start_group(space, part->parameters, part->parameter_count, err);
    if (status == HN_OK)
        status = hn_space_open_create(problem, part, &open, err);
    struct hn_space_group *group = &space->groups[space->group_count - 1];
    if (status == HN_OK)
        status = judge(open, &space->limits, &too_many, err);
    if (status == HN_OK && open->counted && open->valid == 0)
        complete = true;
    else if (status == HN_OK && !too_many)
        status = enumerate(open, &space->limits, &complete, err);
    if (status == HN_OK && !complete) {
        status = leave_open(open, &space->limits, part, err);
        group->open = open;
        return status;
    }
    if (status == HN_OK && open->solver.search.point_count == 0)
        status = hn_space_fail_empty(problem->demands, err);
    if (status == HN_OK)
        status = take_points(group, open, err);
    hn_space_open_destroy(open);
    return status;
}

static enum hn_status solve_parts(struct hn_space *space, struct hn_space_problem *problem,
                                  struct hn_error *err)
{
    struct hn_space_parts parts;
    enum hn_status status = hn_space_parts_init(&parts, problem, err);
    if (status == HN_OK)
        status = start(space, parts.count, err);
    for (size_t i = 0; i < space->parameter_count && status == HN_OK; i++)
        space->fixed[i] = hn_space_problem_index(problem, i, 0);
    for (size_t i = 0; i < parts.count && status == HN_OK; i++)
        status = solve(space, problem, &parts.items[i], err);
    if (status == HN_OK)
        status = hn_space_number(space, err);
    hn_space_parts_finish(&parts);
    return status;
}

/* A constraint without a value counts where all before it hold. Once there is no such point, having
 * no value is as good as not holding, whatever the order. */
static enum hn_status check_failing(const struct hn_space_problem *problem, struct hn_error *err)
{
    const struct hn_space_demands *demands = problem->demands;
    uint16_t *choice = calloc(demands->space->parameter_count + 1, sizeof *choice);
    if (choice == NULL)
        return hn_fail_memory(err);
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < demands->conjuncts.count && status == HN_OK; i++) {
        bool fails = false;
        if (problem->may_fail[i])
            status = hn_space_find_failing(demands, i, &fails, choice, err);
        if (fails && status == HN_OK)
            status = hn_space_fail_constraint(demands, i, choice, err);
    }
    free(choice);
    return status;
}

static bool has_open(const struct hn_space *space)
{
    for (size_t i = 0; i < space->group_count; i++) {
        if (space->groups[i].open != NULL)
            return true;
    }
    return false;
}

enum hn_status hn_space_basis_make(struct hn_space *space, struct hn_space_basis **basis,
                                   struct hn_error *err)
{
    hn_space_clear(space);
    *basis = calloc(1, sizeof **basis);
    if (*basis == NULL)
        return hn_fail_memory(err);
    enum hn_status status = hn_space_demands_init(&(*basis)->demands, space, err);
    if (status != HN_OK) {
        hn_space_basis_destroy(*basis);
        *basis = NULL;
    }
    return status;
}

enum hn_status hn_space_solve(struct hn_space *space, struct hn_space_basis *basis,
                              struct hn_error *err)
{
    struct hn_space_demands *demands = &basis->demands;
    struct hn_space_problem *problem = &basis->problem;
    enum hn_status status =
        hn_space_problem_init(problem, demands, demands->conjuncts.count, SIZE_MAX, err);
    if (status == HN_OK)
        status = check_failing(problem, err);
    if (status == HN_OK && problem->empty)
        status = hn_space_fail_empty(demands, err);
    return status == HN_OK ? solve_parts(space, problem, err) : status;
}

void hn_space_take_basis(struct hn_space *space, struct hn_space_basis *basis,
                         enum hn_status solved)
{
    if (solved == HN_OK && has_open(space)) {
        space->basis = basis;
        return;
    }
    if (solved != HN_OK)
        hn_space_clear(space);
    hn_space_basis_destroy(basis);
}

enum hn_status hn_space_build(struct hn_space *space, struct hn_error *err)
{
    struct hn_space_basis *basis = NULL;
    enum hn_status status = hn_space_basis_make(space, &basis, err);
    if (status != HN_OK)
        return status;
    status = hn_space_solve(space, basis, err);
    hn_space_take_basis(space, basis, status);
    return status;
}

static enum hn_status check_distinct(const struct hn_space_table *table, struct hn_error *err)
{
    for (uint64_t i = 1; i < table->count; i++) {
        const unsigned char *row = table->rows + i * table->bytes;
        if (memcmp(row - table->bytes, row, table->bytes) == 0)
            return hn_fail(err, HN_ECONFIG, "a point is given twice");
    }
    return HN_OK;
}

/* One group of all parameters, in the layout of its table. */
static enum hn_status take_choices(struct hn_space *space, const uint16_t *choices, uint64_t count,
                                   struct hn_error *err)
{
    struct hn_space_table *table = &space->groups[0].table;
    uint64_t *keys = malloc((count * table->words + 1) * sizeof *keys);
    if (keys == NULL)
        return hn_fail_memory(err);
    for (uint64_t i = 0; i < count; i++)
        hn_space_table_key(table, choices + i * space->parameter_count, keys + i * table->words);
    enum hn_status status = hn_space_table_take(table, keys, count, err);
    if (status == HN_OK)
        status = check_distinct(table, err);
    return status == HN_OK ? hn_space_number(space, err) : status;
}

enum hn_status hn_space_build_from(struct hn_space *space, const uint16_t *choices, uint64_t count,
                                   struct hn_error *err)
{
    hn_space_clear(space);
    if (count == 0)
        return hn_fail(err, HN_ECONFIG, "there is no point");
    enum hn_status status = start(space, 1, err);
    size_t *parameters = calloc(space->parameter_count + 1, sizeof *parameters);
    size_t *values = calloc(space->parameter_count + 1, sizeof *values);
    if (parameters == NULL || values == NULL)
        status = hn_fail_memory(err);
    for (size_t i = 0; i < space->parameter_count && status == HN_OK; i++) {
        parameters[i] = i;
        values[i] = space->parameters[i].count;
    }
    if (status == HN_OK)
        status = start_group(space, parameters, space->parameter_count, err);
    if (status == HN_OK)
        status = hn_space_table_init(&space->groups[0].table, parameters, space->parameter_count,
                                     values, err);
    if (status == HN_OK)
        status = take_choices(space, choices, count, err);
    free(parameters);
    free(values);
    if (status != HN_OK)
        hn_space_clear(space);
    return status;
}
