/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "runtime/plan/launch_program.h"

struct maker {
    struct hn_launch_program *made;
    const struct hn_plan *plan;
    const struct hn_device *device;
    struct hn_value (*ends)[2]; /* of each name */
    struct hn_domain *domains;
    int *results;
    size_t result_count;
};

static bool fill_end(struct maker *maker, const struct hn_bindings *problem,
                     const struct hn_bindings *point, size_t end)
{
    struct hn_value *values = NULL;
    bool known = hn_plan_values(maker->plan, problem, point, &values, NULL) == HN_OK;
    for (size_t i = 0; known && i < maker->plan->name_count; i++)
        maker->ends[i][end] = values[i];
    free(values);
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

/* Whether a step is the same for all problems, but for its grid: launched, or not. */
static bool is_fixed(struct maker *maker, const struct hn_step *step)
{
    struct hn_terms *terms = &maker->made->program.terms;
    const struct hn_geometry *geometry = &step->geometry;
    int launched = step->condition == NULL ? hn_terms_constant(terms, 1)
                                           : hn_terms_add(terms, step->condition, true).value;
    if (hn_terms_is(terms, launched, 0))
        return true;
    bool fixed = hn_terms_is(terms, launched, 1) && is_known(maker, geometry->shared_bytes) &&
                 is_known(maker, geometry->carveout) && is_known(maker, geometry->cooperative) &&
                 is_known(maker, geometry->programmatic) &&
                 !hn_plan_asks_clusters(maker->plan, step);
    for (size_t i = 0; i < 3; i++)
        fixed =
            fixed && is_known(maker, geometry->block[i]) && is_known(maker, geometry->cluster[i]);
    for (size_t i = 0; i < HN_WINDOW_PARTS; i++)
        fixed = fixed && !differs(maker, geometry->window.parts[i]);
    return fixed;
}

static int keep(struct maker *maker, int term)
{
    maker->results[maker->result_count++] = term;
    return term;
}

static void add_grid(struct maker *maker, const struct hn_launch_step *step, int grid[3])
{
    struct hn_program *program = &maker->made->program;
    for (size_t i = 0; i < 3; i++) {
        const struct hn_expression *expression = step->step->geometry.grid[i];
        grid[i] = keep(maker, expression == NULL ? hn_terms_constant(&program->terms, 1)
                                                 : hn_program_number(program, expression, false));
        hn_program_demand_between(program, grid[i], 1, maker->device->max_grid[i]);
        if (step->cluster[i] == 1)
            continue;
        int blocks = hn_terms_constant(&program->terms, step->cluster[i]);
        int rest = hn_terms_make(&program->terms, HN_OP_MODULO, grid[i], blocks, -1);
        hn_program_demand_between(program, rest, 0, 0);
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
    if (differs(maker, argument->align)) {
        *align = keep(maker, hn_program_number(program, argument->align, false));
        hn_program_demand_between(program, *align, (int64_t)hn_element_size(argument->element),
                                  HN_MOST_ALIGN);
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
    *term = keep(maker, hn_program_number(program, expression, false));
    hn_program_demand_between(program, *term, low, high);
    return true;
}

static bool write(struct maker *maker, const struct hn_launch *launch)
{
    const struct hn_plan *plan = maker->plan;
    struct hn_launch_program *made = maker->made;
    bool fixed = true;
    for (size_t i = 0; i < plan->step_count; i++)
        fixed = fixed && is_fixed(maker, &plan->steps[i]);
    for (size_t i = 0; fixed && i < launch->step_count; i++)
        add_grid(maker, &launch->steps[i], made->grids[i]);
    for (size_t i = 0; fixed && i < plan->argument_count; i++)
        fixed = add_argument(maker, i);
    made->limits = made->program.valid;
    for (size_t i = 0; fixed && i < plan->constraint_count; i++) {
        made->constraints[i] = hn_terms_add(&made->program.terms, plan->constraints[i], true).value;
        hn_program_demand(&made->program, made->constraints[i]);
    }
    return fixed && hn_program_compile(&made->program, maker->results, maker->result_count);
}

bool hn_launch_program_make(struct hn_launch_program *made, const struct hn_plan *plan,
                            const struct hn_device *device, const struct hn_bindings *point,
                            const struct hn_bindings *low, const struct hn_bindings *high,
                            const struct hn_launch *launch)
{
    struct maker maker = {.made = made, .plan = plan, .device = device};
    *made = (struct hn_launch_program){.grids = NULL};
    if (plan->pitch_count > 0 || plan->pipeline != NULL || launch->tensor_count > 0)
        return false;
    made->grids = hn_blocks_take(&made->blocks, launch->step_count * sizeof *made->grids);
    made->arguments = hn_blocks_take(&made->blocks, plan->argument_count * sizeof(int));
    made->aligns = hn_blocks_take(&made->blocks, plan->argument_count * sizeof(int));
    made->constraints = hn_blocks_take(&made->blocks, plan->constraint_count * sizeof(int));
    maker.domains = hn_blocks_take(&made->blocks, plan->name_count * sizeof *maker.domains);
    maker.ends = hn_blocks_take(&made->blocks, plan->name_count * sizeof *maker.ends);
    maker.results = hn_blocks_take(
        &made->blocks, (3 * launch->step_count + 2 * plan->argument_count) * sizeof(int));
    bool can = made->grids != NULL && made->arguments != NULL && made->aligns != NULL &&
               made->constraints != NULL && maker.domains != NULL && maker.results != NULL &&
               maker.ends != NULL && fill_end(&maker, low, point, 0) &&
               fill_end(&maker, high, point, 1) && fill_domains(&maker);
    if (can) {
        hn_program_init(&made->program, maker.domains, plan->name_count);
        can = write(&maker, launch);
    }
    return can;
}

void hn_launch_program_finish(struct hn_launch_program *made)
{
    hn_program_finish(&made->program);
    hn_blocks_finish(&made->blocks);
    *made = (struct hn_launch_program){.grids = NULL};
}
