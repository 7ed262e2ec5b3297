/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>

#include "calls.h"

/* Host memory that the driver knows: its own, or registered. */
struct host {
    struct host *next;
    unsigned char *data;
    size_t bytes;
    bool registered;
};

static struct host *all;

static CUresult add(unsigned char *data, size_t bytes, bool registered)
{
    struct host *made = malloc(sizeof *made);
    if (made == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *made = (struct host){all, data, bytes, registered};
    all = made;
    return CUDA_SUCCESS;
}

static CUresult drop(const void *data, bool registered)
{
    struct host **link = &all;
    while (*link != NULL && ((*link)->data != data || (*link)->registered != registered))
        link = &(*link)->next;
    if (*link == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct host *found = *link;
    *link = found->next;
    if (!registered)
        free(found->data);
    free(found);
    return CUDA_SUCCESS;
}

bool double_is_pinned(const void *data, size_t bytes)
{
    uintptr_t address = (uintptr_t)data;
    for (const struct host *one = all; one != NULL; one = one->next)
        if (address >= (uintptr_t)one->data && address + bytes <= (uintptr_t)one->data + one->bytes)
            return true;
    return false;
}

bool double_host_left(void)
{
    return all != NULL;
}

void double_host_free(void)
{
    while (all != NULL)
        drop(all->data, all->registered);
}

CUresult CUDAAPI cuMemHostAlloc(void **data, size_t bytes, unsigned int flags)
{
    ENTER();
    (void)flags;
    unsigned char *made = bytes == 0 ? NULL : aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (made == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = add(made, bytes, false);
    if (result == CUDA_SUCCESS)
        *data = made;
    else
        free(made);
    return result;
}

CUresult CUDAAPI cuMemFreeHost(void *data)
{
    ENTER();
    double_streams_drain();
    return drop(data, false);
}

CUresult CUDAAPI cuMemHostGetDevicePointer(CUdeviceptr *address, void *data, unsigned int flags)
{
    ENTER();
    (void)flags;
    if (!double_is_pinned(data, 1))
        return CUDA_ERROR_INVALID_VALUE;
    *address = (CUdeviceptr)(uintptr_t)data;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemHostRegister(void *data, size_t bytes, unsigned int flags)
{
    ENTER();
    (void)flags;
    return (uintptr_t)data % 4096 == 0 ? add(data, bytes, true) : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuMemHostUnregister(void *data)
{
    ENTER();
    double_streams_drain();
    return drop(data, true);
}

CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned int flags)
{
    ENTER();
    return flags == CU_MEM_ATTACH_GLOBAL ? double_allocate(address, bytes)
                                         : CUDA_ERROR_INVALID_VALUE;
}
