/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/launch.h"

/* A plan's launches at one point for problems that come as they come, as terms of a program. */

struct maker {
    struct hn_launch_program *made;
    const struct hn_plan *plan;
    const struct hn_device *device;
    const struct hn_bindings *point, *low;
    struct hn_value *values;    /* of the lower end */
    struct hn_value (*ends)[2]; /* of each name */
    struct hn_domain *domains;
};

static bool fill_end(struct maker *maker, const struct hn_bindings *problem, size_t end)
{
    struct hn_value *values = NULL;
    bool known = hn_plan_values(maker->plan, problem, maker->point, &values, NULL) == HN_OK;
    for (size_t i = 0; known && i < maker->plan->name_count; i++)
        maker->ends[i][end] = values[i];
    free(maker->values);
    maker->values = values;
    return known;
}

/* False: a value differs that is no integer. */
static bool fill_domains(struct maker *maker)
{
    bool known = true;
    for (size_t i = 0; known && i < maker->plan->name_count; i++) {
        const struct hn_value *ends = maker->ends[i];
        bool same = hn_value_equal(&ends[0], &ends[1]);
        known = same || (ends[0].type == HN_INTEGER && ends[1].type == HN_INTEGER);
        maker->domains[i] = (struct hn_domain){ends, same};
    }
    return known;
}

static bool differs(const struct maker *maker, const struct hn_expression *expression)
{
    bool uses = false;
    for (size_t i = 0; expression != NULL && !uses && i < maker->plan->name_count; i++)
        uses = maker->domains[i].count == 0 && hn_expression_uses(expression, i);
    return uses;
}

/* Whether it is the same number for all problems, or not there. */
static bool is_known(struct maker *maker, const struct hn_expression *expression)
{
    const struct hn_terms *terms = &maker->made->program.terms;
    if (!differs(maker, expression))
        return true;
    int value = hn_terms_add(&maker->made->program.terms, expression, false).value;
    return value >= 0 && terms->items[value].operation == HN_OP_CONSTANT;
}

/* Whether a step is the same for all problems that it is launched for, but for its grid, and the
 * device can hold it. */
static bool fix_step(struct maker *maker, const struct hn_step *step, struct hn_launch_step *fixed)
{
    const struct hn_geometry *geometry = &step->geometry;
    struct hn_record record HN_ENDED_BY(hn_record_finish) = {0};
    struct hn_error reason;
    bool known = is_known(maker, geometry->shared_bytes) && is_known(maker, geometry->carveout) &&
                 is_known(maker, geometry->cooperative) &&
                 is_known(maker, geometry->programmatic) &&
                 !hn_plan_asks_clusters(maker->plan, step);
    for (size_t i = 0; i < 3; i++)
        known =
            known && is_known(maker, geometry->block[i]) && is_known(maker, geometry->cluster[i]);
    for (size_t i = 0; i < HN_WINDOW_PARTS; i++)
        known = known && !differs(maker, geometry->window.parts[i]);
    known = known && hn_launch_make_step(maker->plan, step, maker->low, maker->point, fixed,
                                         &reason) == HN_OK;
    if (!known)
        return false;
    struct hn_launch_step alone = *fixed;
    const struct hn_launch launch = {.steps = &alone, .step_count = 1};
    memcpy(alone.grid, fixed->cluster, sizeof alone.grid);
    alone.programmatic = false;
    return hn_launch_check(&launch, maker->device, &record) &&
           (!fixed->programmatic || maker->device->identity.capability >= 90);
}

static void demand_between(struct hn_program *program, int term, int64_t low, int64_t high)
{
    struct hn_terms *terms = &program->terms;
    if (program->failed || term < 0)
        return;
    int least = hn_terms_constant(terms, low), most = hn_terms_constant(terms, high);
    hn_program_demand(program, hn_terms_make(terms, HN_OP_LESS_EQUAL, least, term, -1));
    hn_program_demand(program, hn_terms_make(terms, HN_OP_LESS_EQUAL, term, most, -1));
}

static void add_grid(struct maker *maker, const struct hn_launch_step *step, int grid[3])
{
    struct hn_program *program = &maker->made->program;
    for (size_t i = 0; i < 3; i++) {
        const struct hn_expression *expression = step->step->geometry.grid[i];
        grid[i] = hn_program_want(program, expression == NULL
                                               ? hn_terms_constant(&program->terms, 1)
                                               : hn_program_number(program, expression, false));
        demand_between(program, grid[i], 1, maker->device->max_grid[i]);
        if (step->cluster[i] == 1)
            continue;
        int blocks = hn_terms_constant(&program->terms, step->cluster[i]);
        int rest = hn_terms_make(&program->terms, HN_OP_MODULO, grid[i], blocks, -1);
        demand_between(program, rest, 0, 0);
    }
}

/* Whether all of it is the same for all problems, but for an integer, or a count and an align. */
static bool add_argument(struct maker *maker, size_t index)
{
    const struct hn_argument *argument = &maker->plan->arguments[index];
    const struct hn_argument *source = &maker->plan->arguments[hn_plan_source(maker->plan, index)];
    struct hn_program *program = &maker->made->program;
    int *term = &maker->made->arguments[index], *align = &maker->made->aligns[index];
    int64_t low = 1, high = 0;
    *term = *align = -1;
    const struct hn_tensor_terms *tensor = &maker->made->tensors[index];
    for (size_t i = 0; i < tensor->rank; i++)
        hn_program_want(program, tensor->dims[i]);
    for (size_t i = 0; i + 1 < tensor->rank; i++)
        hn_program_want(program, tensor->strides[i]);
    if (differs(maker, argument->align)) {
        *align = hn_program_want(program, hn_program_number(program, argument->align, false));
        demand_between(program, *align, (int64_t)hn_element_size(argument->element), HN_MOST_ALIGN);
        hn_program_demand(program,
                          hn_terms_make(&program->terms, HN_OP_IS_POWER_OF_2, *align, -1, -1));
    }
    if (argument->role == HN_ROLE_VALUE && differs(maker, source->count))
        return false;
    const struct hn_expression *expression =
        argument->value != NULL ? argument->value : argument->count;
    if (!differs(maker, expression))
        return true;
    if (argument->value != NULL && hn_element_is_real(argument->element))
        return false;
    if (argument->value != NULL)
        hn_element_range(argument->element, &low, &high);
    else
        high = hn_argument_most(argument);
    *term = hn_program_want(program, hn_program_number(program, expression, false));
    demand_between(program, *term, low, high);
    return true;
}

/* Whether all of a tensor map is the same for all problems, but for extents, strides and the bytes
 * of its buffer; then it is valid with small ones. */
static bool fix_tensor(struct maker *maker, const struct hn_argument *argument,
                       const struct hn_argument *over, struct hn_tensor *tensor)
{
    const struct hn_tensor_map *map = &argument->tensor_map;
    char why[HN_TENSOR_WHY];
    struct hn_error reason;
    bool known = !differs(maker, over->align) && maker->device->identity.capability >= 90;
    for (size_t i = 0; i < map->box_count; i++)
        known = known && is_known(maker, map->box[i]);
    for (size_t i = 0; i < map->element_stride_count; i++)
        known = known && is_known(maker, map->element_strides[i]);
    for (size_t i = 0; i < HN_TENSOR_SETTING_COUNT; i++)
        known = known && !differs(maker, map->settings[i]);
    hn_error_init(&reason);
    hn_argument_evaluate_tensor(argument, over, maker->values, tensor, &reason);
    tensor->bytes = INT64_MAX;
    for (size_t i = 0; i < map->rank; i++) {
        tensor->dims[i] = 1;
        tensor->strides[i] = hn_tensor_grain(tensor);
    }
    return known && !hn_failed(&reason) && hn_tensor_check(tensor, why);
}

/* As hn_tensor_check. */
static bool add_tensor(struct maker *maker, size_t index)
{
    const struct hn_argument *argument = &maker->plan->arguments[index];
    const struct hn_argument *over = &maker->plan->arguments[hn_plan_source(maker->plan, index)];
    const struct hn_tensor_map *map = &argument->tensor_map;
    struct hn_program *program = &maker->made->program;
    struct hn_terms *terms = &program->terms;
    struct hn_tensor fixed;
    if (!fix_tensor(maker, argument, over, &fixed))
        return false;
    struct hn_tensor_terms *made = &maker->made->tensors[index];
    int grain = hn_terms_constant(terms, hn_tensor_grain(&fixed)), end = 0;
    made->rank = map->rank;
    for (size_t i = 0; i < map->rank; i++) {
        int steps = made->dims[i] = hn_program_number(program, map->dims[i], false);
        int stride = hn_terms_constant(terms, (int64_t)hn_element_size(fixed.element));
        demand_between(program, steps, 1, INT64_C(1) << 32);
        if (i > 0) {
            stride = made->strides[i - 1] = hn_program_number(program, map->strides[i - 1], false);
            demand_between(program, stride, hn_tensor_grain(&fixed), (INT64_C(1) << 40) - 1);
            demand_between(program, hn_terms_make(terms, HN_OP_MODULO, stride, grain, -1), 0, 0);
            steps = hn_terms_make(terms, HN_OP_SUBTRACT, steps, hn_terms_constant(terms, 1), -1);
        }
        int span = hn_terms_make(terms, HN_OP_MULTIPLY, steps, stride, -1);
        end = i == 0 ? span : hn_terms_make(terms, HN_OP_ADD, end, span, -1);
    }
    int bytes = hn_terms_constant(terms, (int64_t)hn_argument_bytes(over));
    bytes = hn_terms_make(terms, HN_OP_MULTIPLY, hn_program_number(program, over->count, false),
                          bytes, -1);
    hn_program_demand(program, hn_terms_make(terms, HN_OP_LESS_EQUAL, end, bytes, -1));
    return true;
}

/* Steps that some problems launch, too, of which those that are programmatic come behind another
 * one. */
static bool add_steps(struct maker *maker)
{
    const struct hn_plan *plan = maker->plan;
    struct hn_program *program = &maker->made->program;
    struct hn_terms *terms = &program->terms;
    int any = hn_terms_constant(terms, 0), *steps = &maker->made->steps;
    bool fixed = plan->step_count < 63; /* bits of a number */
    *steps = any;
    for (size_t i = 0; fixed && i < plan->step_count; i++) {
        struct hn_launch_step own;
        struct hn_said launched = {hn_terms_constant(terms, 1), hn_terms_constant(terms, 0)};
        if (plan->steps[i].condition != NULL)
            launched = hn_terms_add(terms, plan->steps[i].condition, true);
        hn_program_demand(program, hn_terms_make(terms, HN_OP_NOT, launched.fails, -1, -1));
        if (hn_terms_is(terms, launched.value, 0))
            continue;
        int before = program->valid;
        program->valid = hn_terms_constant(terms, 1);
        fixed = launched.value >= 0 && fix_step(maker, &plan->steps[i], &own);
        if (fixed)
            add_grid(maker, &own, maker->made->grids[i]);
        for (size_t k = 0; fixed && k < plan->steps[i].argument_count; k++)
            if (plan->arguments[plan->steps[i].arguments[k]].role == HN_ROLE_TENSOR_MAP)
                fixed = add_tensor(maker, plan->steps[i].arguments[k]);
        if (fixed && own.programmatic)
            hn_program_demand(program, any);
        /* What it demands need hold only where it is launched. */
        int demanded = program->valid;
        int not = hn_terms_make(terms, HN_OP_NOT, launched.value, -1, -1);
        program->valid = before;
        hn_program_demand(program, hn_terms_make(terms, HN_OP_OR, not, demanded, -1));
        any = hn_terms_make(terms, HN_OP_OR, any, launched.value, -1);
        int bit = hn_terms_constant(terms, INT64_C(1) << i);
        bit = hn_terms_make(terms, HN_OP_MULTIPLY, launched.value, bit, -1);
        *steps = hn_terms_make(terms, HN_OP_ADD, *steps, bit, -1);
    }
    hn_program_demand(program, any);
    hn_program_want(program, *steps);
    return fixed;
}

bool hn_launch_program_make(struct hn_launch_program *made, const struct hn_plan *plan,
                            const struct hn_device *device, const struct hn_bindings *point,
                            const struct hn_bindings *low, const struct hn_bindings *high)
{
    struct maker maker = {.made = made, .plan = plan, .device = device, .point = point, .low = low};
    *made = (struct hn_launch_program){.grids = NULL};
    if (plan->pitch_count > 0 || plan->pipeline != NULL)
        return false;
    made->grids = hn_blocks_take(&made->blocks, plan->step_count * sizeof *made->grids);
    made->arguments = hn_blocks_take(&made->blocks, plan->argument_count * sizeof(int));
    made->aligns = hn_blocks_take(&made->blocks, plan->argument_count * sizeof(int));
    maker.domains = hn_blocks_take(&made->blocks, plan->name_count * sizeof *maker.domains);
    maker.ends = hn_blocks_take(&made->blocks, plan->name_count * sizeof *maker.ends);
    made->tensors = hn_blocks_take(&made->blocks, plan->argument_count * sizeof *made->tensors);
    bool can = made->grids != NULL && made->arguments != NULL && made->aligns != NULL &&
               made->tensors != NULL && maker.domains != NULL && maker.ends != NULL &&
               fill_end(&maker, high, 1) && fill_end(&maker, low, 0) && fill_domains(&maker);
    if (can)
        hn_program_init(&made->program, maker.domains, plan->name_count);
    can = can && add_steps(&maker);
    for (size_t i = 0; can && i < plan->argument_count; i++)
        can = add_argument(&maker, i);
    for (size_t i = 0; can && i < plan->constraint_count; i++)
        hn_program_demand(&made->program,
                          hn_terms_add(&made->program.terms, plan->constraints[i], true).value);
    can = can && hn_program_compile(&made->program, &made->part);
    free(maker.values);
    return can;
}

void hn_launch_program_finish(struct hn_launch_program *made)
{
    hn_program_finish(&made->program);
    hn_blocks_finish(&made->blocks);
    *made = (struct hn_launch_program){.grids = NULL};
}
