/* SPDX-License-Identifier: MIT */
#include "runtime/libhone/sizes.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/libhone/family.h"
#include "runtime/libhone/kernel.h"
#include "runtime/plan/launch_program.h"

struct hn_lib_pattern {
    struct hn_launch_program program;
    size_t *slots;         /* of each problem value: the program's */
    uint64_t *value_masks; /* of each argument: the bits that its type has; 0: it is a buffer */
    struct hone_kernel *like;
};

/* A kernel with slots, problem values and grids of its own behind it, in one piece. */
static struct hone_kernel *copy(const struct hone_kernel *kernel, const struct hn_value *problem)
{
    size_t slots = kernel->slot_count * sizeof *kernel->slots;
    size_t values = kernel->problem.count * sizeof *problem;
    size_t grids = kernel->step_count * sizeof *kernel->grids;
    struct hone_kernel *made = malloc(sizeof *made + slots + values + grids);
    if (made == NULL)
        return NULL;
    char *behind = (char *)(made + 1);
    memcpy(made, kernel, sizeof *made);
    made->slots = memcpy(behind, kernel->slots, slots);
    made->problem.values = memcpy(behind + slots, problem, values);
    made->grids = memcpy(behind + slots + values, kernel->grids, grids);
    made->is_piece = true;
    return made;
}

static bool fill(struct hn_lib_pattern *made, const struct hone_kernel *kernel)
{
    const struct hn_plan *plan = kernel->plan->plan;
    made->slots = calloc(kernel->problem.count + 1, sizeof *made->slots);
    made->value_masks = calloc(kernel->slot_count + 1, sizeof *made->value_masks);
    if (made->slots == NULL || made->value_masks == NULL)
        return false;
    for (size_t i = 0; i < kernel->problem.count; i++)
        for (size_t slot = 0; slot < plan->name_count; slot++)
            if (strcmp(plan->names[slot], kernel->problem.names[i]) == 0)
                made->slots[i] = slot;
    for (size_t i = 0; i < kernel->slot_count; i++)
        if (plan->arguments[i].value != NULL)
            made->value_masks[i] = UINT64_MAX >> (64 - 8 * kernel->slots[i].value_bytes);
    made->like = copy(kernel, kernel->problem.values);
    if (made->like == NULL)
        return false;
    /* all that it points to is the rule's, its configuration's or the module's */
    size_t bytes = kernel->step_count * sizeof *kernel->steps;
    made->like->launch = (struct hn_launch){.steps = NULL};
    made->like->steps = malloc(bytes + 1);
    if (made->like->steps == NULL)
        return false;
    memcpy(made->like->steps, kernel->steps, bytes);
    made->like->compiled = false;
    made->like->about = NULL;
    made->like->problem.names = kernel->rule->names.names;
    for (size_t i = 0; i < kernel->problem.count; i++) {
        const struct hn_value *word =
            hn_bindings_get(&kernel->shared->values, kernel->problem.names[i]);
        if (kernel->problem.values[i].type == HN_WORD && word == NULL)
            return false;
        if (kernel->problem.values[i].type == HN_WORD)
            made->like->problem.values[i] = *word;
    }
    return true;
}

/* What is copied is of the kernel alone where it has nothing else than a launch. */
static bool is_simple(const struct hone_kernel *kernel)
{
    return kernel->symbol_count == 0 && kernel->maps == NULL && !kernel->as_graph &&
           !kernel->is_watched && kernel->shared != NULL;
}

struct hn_lib_pattern *hn_lib_pattern_make(const struct hone_kernel *kernel,
                                           const struct hn_lib_choice *choice)
{
    struct hn_bindings low, high;
    if (!is_simple(kernel))
        return NULL;
    struct hn_lib_pattern *made = calloc(1, sizeof *made);
    bool can = made != NULL && hn_lib_corner_make(choice, false, 0, &low, NULL) == HN_OK;
    if (!can) {
        free(made);
        return NULL;
    }
    can = hn_lib_corner_make(choice, true, 0, &high, NULL) == HN_OK &&
          hn_launch_program_make(&made->program, choice->plan->plan, choice->device, choice->point,
                                 &low, &high, &kernel->launch) &&
          fill(made, kernel);
    hn_bindings_finish(&low);
    hn_bindings_finish(&high);
    if (can)
        return made;
    hn_lib_pattern_destroy(made);
    return NULL;
}

void hn_lib_pattern_destroy(struct hn_lib_pattern *pattern)
{
    if (pattern == NULL)
        return;
    hn_launch_program_finish(&pattern->program);
    free(pattern->slots);
    free(pattern->value_masks);
    if (pattern->like != NULL)
        free(pattern->like->steps);
    free(pattern->like);
    free(pattern);
}

static void set_grids(const struct hn_lib_pattern *pattern, struct hone_kernel *kernel)
{
    const struct hn_program *program = &pattern->program.program;
    for (size_t i = 0; i < kernel->step_count; i++)
        for (size_t axis = 0; axis < 3; axis++)
            kernel->grids[i][axis] =
                (unsigned int)hn_program_result(program, pattern->program.grids[i][axis]);
}

static void set_slots(const struct hn_lib_pattern *pattern, struct hone_kernel *kernel)
{
    const struct hn_argument *arguments = kernel->plan->plan->arguments;
    for (size_t i = 0; i < kernel->slot_count; i++) {
        int term = pattern->program.arguments[i], align = pattern->program.aligns[i];
        if (align >= 0)
            kernel->slots[i].below_align =
                (uint64_t)hn_program_result(&pattern->program.program, align) - 1;
        if (term < 0)
            continue;
        uint64_t result = (uint64_t)hn_program_result(&pattern->program.program, term);
        if (pattern->value_masks[i] != 0)
            kernel->slots[i].preset = result & pattern->value_masks[i];
        else
            kernel->slots[i].bytes = result * hn_argument_bytes(&arguments[i]);
    }
    hn_lib_slots_place(kernel);
}

struct hone_kernel *hn_lib_pattern_apply(struct hn_lib_pattern *pattern,
                                         const struct hn_lib_choice *choice)
{
    struct hn_program *program = &pattern->program.program;
    const struct hn_bindings *problem = choice->problem;
    for (size_t i = 0; i < problem->count; i++)
        if (problem->values[i].type == HN_INTEGER)
            hn_program_set(program, pattern->slots[i], problem->values[i].integer);
    struct hone_kernel *made =
        hn_program_run(program) ? copy(pattern->like, problem->values) : NULL;
    if (made == NULL)
        return NULL;
    made->sure = choice->sure;
    for (size_t i = 0; i < problem->count; i++)
        if (problem->values[i].type == HN_WORD)
            made->problem.values[i] = pattern->like->problem.values[i];
    set_grids(pattern, made);
    set_slots(pattern, made);
    return made;
}
