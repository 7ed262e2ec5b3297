/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "runtime/bench/arena.h"

static CUarray_format format_of(enum hn_element element)
{
    static const CUarray_format formats[HN_ELEMENT_COUNT] = {
        [HN_INT8] = CU_AD_FORMAT_SIGNED_INT8,      [HN_INT16] = CU_AD_FORMAT_SIGNED_INT16,
        [HN_INT32] = CU_AD_FORMAT_SIGNED_INT32,    [HN_UINT8] = CU_AD_FORMAT_UNSIGNED_INT8,
        [HN_UINT16] = CU_AD_FORMAT_UNSIGNED_INT16, [HN_UINT32] = CU_AD_FORMAT_UNSIGNED_INT32,
        [HN_FLOAT16] = CU_AD_FORMAT_HALF,          [HN_FLOAT32] = CU_AD_FORMAT_FLOAT,
    };
    return formats[element];
}

static CUDA_RESOURCE_DESC describe_resource(const struct hn_arena *arena, size_t set, size_t i)
{
    const struct hn_argument *texture = &arena->plan->arguments[i];
    size_t source = hn_plan_source(arena->plan, i);
    const struct hn_buffer *buffer = &arena->buffers[source];
    CUDA_RESOURCE_DESC resource = {0};
    if (texture->texture.dimensions == 1) {
        resource.resType = CU_RESOURCE_TYPE_LINEAR;
        resource.res.linear.devPtr = hn_arena_address(arena, set, source);
        resource.res.linear.format = format_of(texture->element);
        resource.res.linear.numChannels = texture->lanes;
        resource.res.linear.sizeInBytes = buffer->bytes;
        return resource;
    }
    resource.resType = CU_RESOURCE_TYPE_PITCH2D;
    resource.res.pitch2D.devPtr = hn_arena_address(arena, set, source);
    resource.res.pitch2D.format = format_of(texture->element);
    resource.res.pitch2D.numChannels = texture->lanes;
    resource.res.pitch2D.width = buffer->row / texture->lanes;
    resource.res.pitch2D.height = buffer->count / buffer->row;
    resource.res.pitch2D.pitchInBytes = buffer->pitch;
    return resource;
}

static CUDA_TEXTURE_DESC describe_texture(const struct hn_argument *argument)
{
    static const CUaddress_mode modes[HN_TEXTURE_ADDRESS_COUNT] = {
        [HN_TEXTURE_WRAP] = CU_TR_ADDRESS_MODE_WRAP,
        [HN_TEXTURE_CLAMP] = CU_TR_ADDRESS_MODE_CLAMP,
        [HN_TEXTURE_MIRROR] = CU_TR_ADDRESS_MODE_MIRROR,
        [HN_TEXTURE_BORDER] = CU_TR_ADDRESS_MODE_BORDER,
    };
    const struct hn_texture *texture = &argument->texture;
    CUDA_TEXTURE_DESC description = {0};
    description.addressMode[0] = modes[texture->address[0]];
    description.addressMode[1] = modes[texture->address[1]];
    description.addressMode[2] = CU_TR_ADDRESS_MODE_CLAMP;
    description.filterMode = texture->linear ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
    if (!texture->as_float && !hn_element_is_real(argument->element))
        description.flags |= CU_TRSF_READ_AS_INTEGER;
    if (texture->normalized)
        description.flags |= CU_TRSF_NORMALIZED_COORDINATES;
    return description;
}

CUresult hn_arena_texture(struct hn_arena *arena, size_t set, size_t argument, CUtexObject *texture)
{
    size_t count = arena->plan->argument_count;
    if (arena->textures == NULL)
        arena->textures = calloc(HN_MAX_SETS * count, sizeof *arena->textures);
    if (arena->textures == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUtexObject *made = &arena->textures[set * count + argument];
    CUresult result = CUDA_SUCCESS;
    if (*made == 0) {
        CUDA_RESOURCE_DESC resource = describe_resource(arena, set, argument);
        CUDA_TEXTURE_DESC description = describe_texture(&arena->plan->arguments[argument]);
        result = arena->context->driver->p_cuTexObjectCreate(made, &resource, &description, NULL);
        if (result != CUDA_SUCCESS)
            *made = 0;
    }
    *texture = *made;
    return result;
}

void hn_arena_drop_textures(struct hn_arena *arena)
{
    size_t count = arena->textures == NULL ? 0 : HN_MAX_SETS * arena->plan->argument_count;
    for (size_t i = 0; i < count; i++)
        if (arena->textures[i] != 0)
            arena->context->driver->p_cuTexObjectDestroy(arena->textures[i]);
    free(arena->textures);
    arena->textures = NULL;
}
