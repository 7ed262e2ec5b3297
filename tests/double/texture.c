/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "calls.h"

static struct double_texture *textures;

bool double_textures_left(void)
{
    return textures != NULL;
}

void double_textures_free(void)
{
    while (textures != NULL) {
        struct double_texture *next = textures->next;
        free(textures);
        textures = next;
    }
}

/* The limits of linear and pitched memory that a device has. */
static bool is_resource(const CUDA_RESOURCE_DESC *resource)
{
    if (resource->resType == CU_RESOURCE_TYPE_LINEAR)
        return double_is_valid(resource->res.linear.devPtr, resource->res.linear.sizeInBytes) &&
               resource->res.linear.devPtr % 512 == 0;
    if (resource->resType != CU_RESOURCE_TYPE_PITCH2D)
        return false;
    size_t bytes = resource->res.pitch2D.pitchInBytes * resource->res.pitch2D.height;
    return double_is_valid(resource->res.pitch2D.devPtr, bytes) &&
           resource->res.pitch2D.devPtr % 512 == 0 && resource->res.pitch2D.pitchInBytes % 32 == 0;
}

CUresult CUDAAPI cuTexObjectCreate(CUtexObject *texture, const CUDA_RESOURCE_DESC *resource,
                                   const CUDA_TEXTURE_DESC *description,
                                   const CUDA_RESOURCE_VIEW_DESC *view)
{
    ENTER();
    if (view != NULL || !is_resource(resource))
        return CUDA_ERROR_INVALID_VALUE;
    struct double_texture *made = malloc(sizeof *made);
    if (made == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *made = (struct double_texture){textures, *resource, *description};
    textures = made;
    *texture = (CUtexObject)(uintptr_t)made;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuTexObjectDestroy(CUtexObject texture)
{
    ENTER();
    struct double_texture **link = &textures;
    while (*link != NULL && (CUtexObject)(uintptr_t)*link != texture)
        link = &(*link)->next;
    if (*link == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    struct double_texture *found = *link;
    *link = found->next;
    free(found);
    return CUDA_SUCCESS;
}
