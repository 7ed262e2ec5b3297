/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "runtime/bench/pipeline_run.h"
#include "runtime/bench/variant.h"
#include "runtime/module/module.h"

/* Where an argument is in a set: the address of a buffer, the handle of a texture object, a tensor
 * map. */
static CUresult locate(struct hn_variant *variant, size_t set, size_t argument)
{
    struct hn_arena *arena = variant->arena;
    enum hn_role role = arena->plan->arguments[argument].role;
    if (role == HN_ROLE_TENSOR_MAP)
        return hn_variant_map(variant, set, argument, &variant->map_places[argument]);
    if (role == HN_ROLE_TEXTURE)
        return hn_launch_takes(&variant->launch, argument)
                   ? hn_arena_texture(arena, set, argument, &variant->addresses[argument])
                   : CUDA_SUCCESS;
    variant->addresses[argument] = hn_arena_address(arena, set, argument);
    return CUDA_SUCCESS;
}

/* Where the driver finds an argument. */
static void *parameter_of(const struct hn_variant *variant, uint64_t *scalars, size_t argument)
{
    if (variant->arena->plan->arguments[argument].value != NULL)
        return &scalars[argument];
    if (variant->arena->buffers[argument].host != NULL)
        return variant->arena->buffers[argument].host;
    if (variant->map_places[argument] != NULL)
        return variant->map_places[argument];
    return &variant->addresses[argument];
}

static CUresult zero_counters(const struct hn_variant *variant)
{
    const struct hn_context *context = variant->arena->context;
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < variant->zeroed_count && result == CUDA_SUCCESS; i++) {
        size_t argument = variant->zeroed[i];
        result = context->driver->p_cuMemsetD8Async(variant->addresses[argument], 0,
                                                    variant->arena->buffers[argument].bytes,
                                                    context->stream);
    }
    return result;
}

static CUresult launch_shape(struct hn_variant *variant, size_t number,
                             const struct hn_module_step *shape, const struct hn_step *step,
                             uint64_t *scalars, CUstream stream)
{
    for (size_t i = 0; i < step->argument_count; i++)
        variant->parameters[i] = parameter_of(variant, scalars, step->arguments[i]);
    variant->launched = true;
    return hn_module_launch(shape, variant->arena->context->driver, variant->functions[number],
                            stream, variant->addresses[step->geometry.window.argument],
                            variant->parameters);
}

CUresult hn_variant_launch_step(struct hn_variant *variant, size_t number,
                                const struct hn_launch_step *step, uint64_t *scalars,
                                CUstream stream)
{
    const struct hn_module_step shape = hn_module_step_of(step);
    return launch_shape(variant, number, &shape, step->step, scalars, stream);
}

static CUresult launch_steps(struct hn_variant *variant)
{
    CUresult result = CUDA_SUCCESS;
    for (size_t s = 0; s < variant->launch.step_count && result == CUDA_SUCCESS; s++)
        result = launch_shape(variant, s, &variant->shapes[s], variant->launch.steps[s].step,
                              variant->scalars, variant->arena->context->stream);
    return result;
}

CUresult hn_variant_locate(struct hn_variant *variant, size_t set)
{
    const struct hn_plan *plan = variant->arena->plan;
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < plan->argument_count && result == CUDA_SUCCESS; i++)
        result = locate(variant, set, i);
    return result;
}

CUresult hn_variant_launch(struct hn_variant *variant, size_t set)
{
    CUresult result = hn_variant_locate(variant, set);
    if (result == CUDA_SUCCESS)
        result = zero_counters(variant);
    if (result != CUDA_SUCCESS)
        return result;
    return variant->launch.flow == NULL ? launch_steps(variant) : hn_pipeline_launch(variant);
}

CUresult hn_variant_launch_row(struct hn_variant *variant, size_t launches)
{
    CUresult result = hn_variant_locate(variant, 0);
    for (size_t i = 0; i < launches && result == CUDA_SUCCESS; i++) {
        result = zero_counters(variant);
        if (result == CUDA_SUCCESS)
            result = launch_steps(variant);
    }
    return result;
}

void hn_variant_describe(const struct hn_variant *variant, char *text, size_t size)
{
    const struct hn_launch_step *step = &variant->launch.steps[0];
    char more[160] = "";
    char flow[128] = "";
    if (hn_launch_step_has_clusters(step))
        snprintf(more, sizeof more, ", cluster (%lld, %lld, %lld)", (long long)step->cluster[0],
                 (long long)step->cluster[1], (long long)step->cluster[2]);
    size_t used = strlen(more);
    if (step->window.bytes > 0)
        snprintf(more + used, sizeof more - used, ", L2 window %lld B",
                 (long long)step->window.bytes);
    if (variant->launch.flow != NULL)
        hn_flow_describe(variant->launch.flow, flow, sizeof flow);
    snprintf(text, size, "%s <<<(%lld, %lld, %lld), (%lld, %lld, %lld), %lld B%s%s>>>%s%s",
             step->step->entry, (long long)step->grid[0], (long long)step->grid[1],
             (long long)step->grid[2], (long long)step->block[0], (long long)step->block[1],
             (long long)step->block[2], (long long)step->shared_bytes, more,
             step->cooperative ? ", cooperative" : "", flow[0] == '\0' ? "" : " in ", flow);
}
