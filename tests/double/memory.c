/* SPDX-License-Identifier: MIT */
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "calls.h"

struct allocation {
    struct allocation *next;
    size_t bytes;
    unsigned char *data;
};

static struct {
    size_t total, used;
    struct allocation *allocations;
} memory;

/* The last copy from memory to memory, since which nothing was written. To measure how fast it is,
 * a bench asks for the same large one hundreds of times. */
static struct {
    CUdeviceptr to, from;
    size_t bytes;
} copied;

void double_memory_written(void)
{
    copied.bytes = 0;
}

void double_memory_init(size_t bytes)
{
    memory.total = bytes;
    /* What is freed is soon asked for again; the system would clear each page of it. */
    mallopt(M_MMAP_THRESHOLD, 1 << 28);
    mallopt(M_TRIM_THRESHOLD, 1 << 28);
}

size_t double_memory_total(void)
{
    return memory.total;
}

bool double_memory_left(void)
{
    return memory.allocations != NULL;
}

void double_memory_free(void)
{
    while (memory.allocations != NULL) {
        struct allocation *next = memory.allocations->next;
        free(memory.allocations->data);
        free(memory.allocations);
        memory.allocations = next;
    }
    memory.used = 0;
}

CUresult CUDAAPI cuMemGetInfo(size_t *available, size_t *total)
{
    ENTER();
    *available = memory.total - memory.used;
    *total = memory.total;
    return CUDA_SUCCESS;
}

/* Large buffers are of large pages: most of their time would be that of the faults of small ones.
 */
enum { HUGE = 2 << 20 };

CUresult double_allocate(CUdeviceptr *address, size_t bytes)
{
    const size_t unit = bytes < HUGE ? 512 : HUGE;
    if (bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (bytes > memory.total - memory.used)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct allocation *made = malloc(sizeof *made);
    unsigned char *data = aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
    if (made == NULL || data == NULL) {
        free(made);
        free(data);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (unit == HUGE)
        (void)madvise(data, bytes, MADV_HUGEPAGE);
    *made = (struct allocation){memory.allocations, bytes, data};
    memory.allocations = made;
    memory.used += bytes;
    *address = (CUdeviceptr)(uintptr_t)data;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAlloc(CUdeviceptr *address, size_t bytes)
{
    ENTER();
    return double_allocate(address, bytes);
}

CUresult double_release(CUdeviceptr address)
{
    for (struct allocation **link = &memory.allocations; *link != NULL; link = &(*link)->next) {
        struct allocation *found = *link;
        if ((CUdeviceptr)(uintptr_t)found->data != address)
            continue;
        *link = found->next;
        double_memory_written();
        memory.used -= found->bytes;
        free(found->data);
        free(found);
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuMemFree(CUdeviceptr address)
{
    ENTER();
    return double_release(address);
}

CUresult CUDAAPI cuMemGetAddressRange(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
    ENTER();
    for (const struct allocation *one = memory.allocations; one != NULL; one = one->next) {
        *base = (CUdeviceptr)(uintptr_t)one->data;
        *bytes = one->bytes;
        if (address >= *base && address - *base < one->bytes)
            return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_FOUND;
}

bool double_is_valid(CUdeviceptr address, size_t bytes)
{
    for (const struct allocation *one = memory.allocations; one != NULL; one = one->next) {
        CUdeviceptr start = (CUdeviceptr)(uintptr_t)one->data;
        if (address >= start && bytes <= one->bytes && address - start <= one->bytes - bytes)
            return true;
    }
    return false;
}

static bool are_alike(const float *a, const float *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(a[i] - b[i]) < 1e-6f))
            return false;
    return true;
}

const float *double_find(const float *numbers, size_t count, const float *besides)
{
    for (const struct allocation *one = memory.allocations; one != NULL; one = one->next) {
        for (size_t place = 0; place + count * sizeof *numbers <= one->bytes; place += 256) {
            const float *found = (const float *)(const void *)(one->data + place);
            if (found != besides && are_alike(found, numbers, count))
                return found;
        }
    }
    return NULL;
}

static void *at(CUdeviceptr address)
{
    return (void *)(uintptr_t)address;
}

CUresult CUDAAPI cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
    ENTER();
    if (!double_is_valid(to, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(at(to), from, bytes);
    double_memory_written();
    return double_wait();
}

CUresult CUDAAPI cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
    ENTER();
    if (!double_is_valid(from, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = double_wait();
    if (result == CUDA_SUCCESS)
        memcpy(to, at(from), bytes);
    return result;
}

/* At 4000 GB/s, read and written. */
CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    ENTER();
    (void)stream;
    if (!double_is_valid(to, bytes) || !double_is_valid(from, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (copied.to != to || copied.from != from || copied.bytes != bytes)
        memmove(at(to), at(from), bytes);
    copied.to = to;
    copied.from = from;
    copied.bytes = bytes;
    double slowness = double_the_device()->slowness;
    double_the_device()->now_us += (1.0 + 2.0 * (double)bytes / 4e6) * slowness;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream)
{
    ENTER();
    if (!double_is_valid(to, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (double_graph_takes_memset(stream, at(to), value, bytes))
        return CUDA_SUCCESS;
    memset(at(to), value, bytes);
    double_memory_written();
    double_the_device()->now_us += 1.0;
    return CUDA_SUCCESS;
}
