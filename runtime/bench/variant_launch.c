/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "runtime/bench/pipeline_run.h"
#include "runtime/bench/variant.h"

bool hn_launch_takes(const struct hn_launch *launch, size_t argument)
{
    for (size_t s = 0; s < launch->step_count; s++)
        for (size_t i = 0; i < launch->steps[s].step->argument_count; i++)
            if (launch->steps[s].step->arguments[i] == argument)
                return true;
    return false;
}

static unsigned int fill_attributes(const struct hn_launch_step *step, CUdeviceptr window_base,
                                    CUlaunchAttribute *attributes)
{
    unsigned int count = 0;
    if (hn_launch_step_has_clusters(step)) {
        CUlaunchAttribute *cluster = &attributes[count++];
        *cluster = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
        cluster->value.clusterDim.x = (unsigned int)step->cluster[0];
        cluster->value.clusterDim.y = (unsigned int)step->cluster[1];
        cluster->value.clusterDim.z = (unsigned int)step->cluster[2];
    }
    if (step->cooperative) {
        CUlaunchAttribute *cooperative = &attributes[count++];
        *cooperative = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE};
        cooperative->value.cooperative = 1;
    }
    if (step->window.bytes > 0) {
        CUlaunchAttribute *window = &attributes[count++];
        *window = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW};
        window->value.accessPolicyWindow = (CUaccessPolicyWindow){
            .base_ptr = (void *)(uintptr_t)window_base,
            .num_bytes = (size_t)step->window.bytes,
            .hitRatio = (float)step->window.hit_ratio,
            .hitProp = (CUaccessProperty)step->window.hit,
            .missProp = (CUaccessProperty)step->window.miss,
        };
    }
    return count;
}

/* Clusters, cooperation and windows are attributes of a launch; all others go the older way. */
static CUresult launch_step(const struct hn_context *context, CUstream stream, CUfunction function,
                            const struct hn_launch_step *step, CUdeviceptr window_base,
                            void **parameters)
{
    CUlaunchAttribute attributes[3];
    const CUlaunchConfig config = {
        .gridDimX = (unsigned int)step->grid[0],
        .gridDimY = (unsigned int)step->grid[1],
        .gridDimZ = (unsigned int)step->grid[2],
        .blockDimX = (unsigned int)step->block[0],
        .blockDimY = (unsigned int)step->block[1],
        .blockDimZ = (unsigned int)step->block[2],
        .sharedMemBytes = (unsigned int)step->shared_bytes,
        .hStream = stream,
        .attrs = attributes,
        .numAttrs = fill_attributes(step, window_base, attributes),
    };
    if (config.numAttrs > 0)
        return context->driver->p_cuLaunchKernelEx(&config, function, parameters, NULL);
    return context->driver->p_cuLaunchKernel(function, config.gridDimX, config.gridDimY,
                                             config.gridDimZ, config.blockDimX, config.blockDimY,
                                             config.blockDimZ, config.sharedMemBytes,
                                             config.hStream, parameters, NULL);
}

/* Of a buffer, or the handle of a texture object. */
static CUresult address_of(const struct hn_variant *variant, size_t set, size_t argument,
                           CUdeviceptr *address)
{
    struct hn_arena *arena = variant->arena;
    if (arena->plan->arguments[argument].role != HN_ROLE_TEXTURE) {
        *address = hn_arena_address(arena, set, argument);
        return CUDA_SUCCESS;
    }
    return hn_launch_takes(&variant->launch, argument)
               ? hn_arena_texture(arena, set, argument, address)
               : CUDA_SUCCESS;
}

/* Where the driver finds an argument. */
static void *parameter_of(const struct hn_variant *variant, uint64_t *scalars, size_t argument)
{
    if (variant->arena->plan->arguments[argument].value != NULL)
        return &scalars[argument];
    if (variant->arena->buffers[argument].host != NULL)
        return variant->arena->buffers[argument].host;
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

CUresult hn_variant_launch_step(struct hn_variant *variant, size_t number,
                                const struct hn_launch_step *step, uint64_t *scalars,
                                CUstream stream)
{
    for (size_t i = 0; i < step->step->argument_count; i++)
        variant->parameters[i] = parameter_of(variant, scalars, step->step->arguments[i]);
    variant->launched = true;
    return launch_step(variant->arena->context, stream, variant->functions[number], step,
                       variant->addresses[step->step->geometry.window.argument],
                       variant->parameters);
}

static CUresult launch_steps(struct hn_variant *variant)
{
    CUresult result = CUDA_SUCCESS;
    for (size_t s = 0; s < variant->launch.step_count && result == CUDA_SUCCESS; s++)
        result = hn_variant_launch_step(variant, s, &variant->launch.steps[s], variant->scalars,
                                        variant->arena->context->stream);
    return result;
}

CUresult hn_variant_launch(struct hn_variant *variant, size_t set)
{
    const struct hn_plan *plan = variant->arena->plan;
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < plan->argument_count && result == CUDA_SUCCESS; i++)
        result = address_of(variant, set, i, &variant->addresses[i]);
    if (result == CUDA_SUCCESS)
        result = zero_counters(variant);
    if (result != CUDA_SUCCESS)
        return result;
    return variant->launch.flow == NULL ? launch_steps(variant) : hn_pipeline_launch(variant);
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
