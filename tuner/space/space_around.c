/* SPDX-License-Identifier: MIT */
#include "tuner/space/space_around.h"

#include <string.h>

static enum hn_status add_check(struct hn_space_around *around, struct hn_space_around_list *list,
                                struct hn_space_gatherer *gatherer,
                                const struct hn_space_check *check, size_t parameter)
{
    struct hn_space_around_check added = {.check = check};
    enum hn_status status = HN_OK;
    if (check->term >= 0) {
        hn_space_gather(gatherer, check->term);
        status = hn_space_program_take(gatherer, parameter, false, &around->blocks, &added.before);
        if (status == HN_OK)
            status =
                hn_space_program_take(gatherer, parameter, true, &around->blocks, &added.after);
    }
    list->items[list->count++] = added;
    return status;
}

static enum hn_status make_list(struct hn_space_around *around, const struct hn_space_part *part,
                                struct hn_space_gatherer *gatherer, size_t parameter)
{
    struct hn_space_around_list *list = &around->lists[parameter];
    list->items = hn_blocks_take(&around->blocks, (part->check_count + 1) * sizeof *list->items);
    enum hn_status status = list->items == NULL ? HN_ENOMEM : HN_OK;
    for (size_t i = 0; i < part->check_count && status == HN_OK; i++) {
        const struct hn_space_check *check = &around->problem->checks[part->checks[i]];
        if (hn_has_slot(check->slots, parameter))
            status = add_check(around, list, gatherer, check, parameter);
    }
    return status;
}

static enum hn_status make_all(struct hn_space_around *around, const struct hn_space_part *part,
                               struct hn_space_gatherer *gatherer)
{
    struct hn_space_around_list *all = &around->all;
    all->items = hn_blocks_take(&around->blocks, (part->check_count + 1) * sizeof *all->items);
    enum hn_status status = all->items == NULL ? HN_ENOMEM : HN_OK;
    for (size_t i = 0; i < part->check_count && status == HN_OK; i++) {
        const struct hn_space_check *check = &around->problem->checks[part->checks[i]];
        status = add_check(around, all, gatherer, check, part->parameters[0]);
    }
    return status;
}

static enum hn_status find_positions(struct hn_space_around *around, size_t parameter)
{
    size_t count = around->problem->demands->space->parameters[parameter].count;
    const struct hn_domain *domain = &around->problem->domains[parameter];
    uint16_t *positions = hn_blocks_take(&around->blocks, count * sizeof *positions);
    if (positions == NULL)
        return HN_ENOMEM;
    memset(positions, 0xff, count * sizeof *positions);
    for (size_t i = 0; i < domain->count; i++)
        positions[hn_space_problem_index(around->problem, parameter, i)] = (uint16_t)i;
    around->positions[parameter] = positions;
    return HN_OK;
}

enum hn_status hn_space_around_init(struct hn_space_around *around,
                                    const struct hn_space_problem *problem,
                                    const struct hn_space_part *part, struct hn_error *err)
{
    size_t count = problem->demands->space->parameter_count + 1;
    struct hn_space_gatherer gatherer;
    *around = (struct hn_space_around){.problem = problem};
    enum hn_status status = hn_space_gatherer_init(&gatherer, &problem->terms, err);
    if (status != HN_OK)
        return status;
    around->lists = hn_blocks_take(&around->blocks, count * sizeof *around->lists);
    around->positions = hn_blocks_take(&around->blocks, count * sizeof *around->positions);
    if (around->lists == NULL || around->positions == NULL)
        status = HN_ENOMEM;
    for (size_t i = 0; i < part->parameter_count && status == HN_OK; i++) {
        status = find_positions(around, part->parameters[i]);
        if (status == HN_OK)
            status = make_list(around, part, &gatherer, part->parameters[i]);
    }
    if (status == HN_OK)
        status = make_all(around, part, &gatherer);
    hn_space_gatherer_finish(&gatherer);
    if (status == HN_OK)
        return HN_OK;
    hn_space_around_finish(around);
    return hn_fail_memory(err);
}

void hn_space_around_finish(struct hn_space_around *around)
{
    hn_blocks_finish(&around->blocks);
    *around = (struct hn_space_around){0};
}

static bool bind_position(const struct hn_space_around *around, struct hn_space_search *search,
                          size_t parameter, size_t index)
{
    uint16_t position = around->positions[parameter][index];
    if (position == UINT16_MAX)
        return false;
    search->positions[parameter] = position;
    search->current[parameter] = around->problem->domains[parameter].values[position];
    return true;
}

/* Binds all parameters of the part but `except`; false when one has a value that no valid point
 * has. */
static bool bind(const struct hn_space_around *around, struct hn_space_search *search,
                 const uint16_t *choice, size_t except)
{
    const struct hn_space_plan *plan = search->plan;
    for (size_t i = 0; i < plan->level_count; i++) {
        size_t parameter = plan->levels[i].parameter;
        if (parameter != except && !bind_position(around, search, parameter, choice[parameter]))
            return false;
    }
    return true;
}

static void run(struct hn_space_search *search, const struct hn_space_program *program)
{
    hn_instructions_run(program->items, program->count, search->positions, search->cells);
}

static bool passes(const struct hn_space_around *around, struct hn_space_search *search,
                   const struct hn_space_around_check *item)
{
    const struct hn_space_check *check = item->check;
    if (check->term >= 0) {
        run(search, &item->after);
        return search->cells[check->term].integer != 0;
    }
    const struct hn_conjuncts *conjuncts = &around->problem->demands->conjuncts;
    return hn_conjunct_evaluate(&conjuncts->items[check->conjunct], search->current) == HN_TRUE;
}

bool hn_space_around_passes(const struct hn_space_around *around, struct hn_space_search *search,
                            const uint16_t *choice)
{
    if (!bind(around, search, choice, SIZE_MAX))
        return false;
    for (size_t i = 0; i < around->all.count; i++) {
        run(search, &around->all.items[i].before);
        if (!passes(around, search, &around->all.items[i]))
            return false;
    }
    return true;
}

/* Whether all checks pass that do not depend on the parameter. */
static bool others_pass(const struct hn_space_around *around, struct hn_space_search *search,
                        size_t parameter)
{
    for (size_t i = 0; i < around->all.count; i++) {
        const struct hn_space_around_check *item = &around->all.items[i];
        if (hn_has_slot(item->check->slots, parameter))
            continue;
        run(search, &item->before);
        if (!passes(around, search, item))
            return false;
    }
    return true;
}

void hn_space_around_values(const struct hn_space_around *around, struct hn_space_search *search,
                            const uint16_t *choice, bool valid, size_t parameter, uint64_t *values)
{
    const struct hn_space_around_list *list = &around->lists[parameter];
    size_t count = around->problem->demands->space->parameters[parameter].count;
    memset(values, 0, (count + 63) / 64 * sizeof *values);
    if (!bind(around, search, choice, parameter) ||
        (!valid && !others_pass(around, search, parameter)))
        return;
    for (size_t i = 0; i < list->count; i++)
        run(search, &list->items[i].before);
    for (size_t index = 0; index < count; index++) {
        bool passed = bind_position(around, search, parameter, index);
        for (size_t i = 0; i < list->count && passed; i++)
            passed = passes(around, search, &list->items[i]);
        if (passed)
            values[index / 64] |= (uint64_t)1 << (index % 64);
    }
}
