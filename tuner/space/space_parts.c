/* SPDX-License-Identifier: MIT */
#include "tuner/space/space_parts.h"

#include <stdlib.h>
#include <string.h>

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

static size_t next_slot(const uint64_t *slots, size_t slot, size_t count)
{
    while (slot < count && (slots[slot / 64] >> (slot % 64) & 1) == 0)
        slot++;
    return slot;
}

static void connect(const struct hn_space_problem *problem, size_t *root)
{
    size_t count = problem->demands->space->parameter_count;
    for (size_t i = 0; i < count; i++)
        root[i] = i;
    for (size_t i = 0; i < problem->check_count; i++) {
        const uint64_t *slots = problem->checks[i].slots;
        size_t first = next_slot(slots, 0, count);
        for (size_t slot = first; slot < count; slot = next_slot(slots, slot + 1, count))
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
        for (size_t j = i; j < count; j++) {
            if (problem->domains[j].count > 1 && find_root(root, j) == i)
                parts->parameters[parameter++] = j;
        }
        part->parameter_count = (size_t)(parts->parameters + parameter - part->parameters);
        for (size_t j = 0; j < problem->check_count; j++) {
            size_t first = next_slot(problem->checks[j].slots, 0, count);
            if (first < count && find_root(root, first) == i)
                parts->checks[check++] = j;
        }
        part->check_count = (size_t)(parts->checks + check - part->checks);
    }
}

enum hn_status hn_space_parts_init(struct hn_space_parts *parts,
                                   const struct hn_space_problem *problem, struct hn_error *err)
{
    size_t count = problem->demands->space->parameter_count + 1;
    *parts = (struct hn_space_parts){0};
    parts->items = calloc(count, sizeof *parts->items);
    parts->parameters = calloc(count, sizeof *parts->parameters);
    parts->checks = calloc(problem->check_count + 1, sizeof *parts->checks);
    size_t *root = calloc(count, sizeof *root);
    bool failed =
        parts->items == NULL || parts->parameters == NULL || parts->checks == NULL || root == NULL;
    if (!failed) {
        connect(problem, root);
        list_parts(parts, problem, root);
    }
    free(root);
    if (!failed)
        return HN_OK;
    hn_space_parts_finish(parts);
    return hn_fail_memory(err);
}

void hn_space_parts_finish(struct hn_space_parts *parts)
{
    free(parts->items);
    free(parts->parameters);
    free(parts->checks);
    *parts = (struct hn_space_parts){0};
}

static enum hn_status init_table(struct hn_space_table *table,
                                 const struct hn_space_problem *problem,
                                 const struct hn_space_part *part, struct hn_error *err)
{
    const struct hn_space *space = problem->demands->space;
    size_t *values = calloc(space->parameter_count + 1, sizeof *values);
    if (values == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < space->parameter_count; i++)
        values[i] = space->parameters[i].count;
    enum hn_status status =
        hn_space_table_init(table, part->parameters, part->parameter_count, values, err);
    free(values);
    return status;
}

enum hn_status hn_space_solver_init(struct hn_space_solver *solver,
                                    struct hn_space_problem *problem,
                                    const struct hn_space_part *part, struct hn_error *err)
{
    memset(solver, 0, sizeof *solver);
    size_t *order = calloc(part->parameter_count + 1, sizeof *order);
    if (order == NULL)
        return hn_fail_memory(err);
    enum hn_status status = init_table(&solver->table, problem, part, err);
    if (status == HN_OK)
        status = hn_space_order(problem, part, order, err);
    if (status == HN_OK)
        status = hn_space_plan_init(&solver->plan, problem, part, order, &solver->table, err);
    if (status == HN_OK)
        status = hn_space_search_init(&solver->search, &solver->plan, err);
    free(order);
    if (status != HN_OK)
        hn_space_solver_finish(solver);
    return status;
}

void hn_space_solver_finish(struct hn_space_solver *solver)
{
    hn_space_search_finish(&solver->search);
    hn_space_plan_finish(&solver->plan);
    hn_space_table_finish(&solver->table);
}
