/* SPDX-License-Identifier: MIT */
#include "runtime/bench/host_memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/clock.h"

enum { PAGE = 4096, GUARD = 65536, PATTERN = 0xa5 };

enum hn_host_class hn_host_class_of(enum hn_host_memory memory, unsigned char parts)
{
    static const enum hn_host_class classes[HN_HOST_MEMORY_COUNT] = {
        [HN_HOST_PAGEABLE] = HN_CLASS_PAGEABLE, [HN_HOST_REGISTERED] = HN_CLASS_REGISTERED,
        [HN_HOST_PINNED] = HN_CLASS_PINNED,     [HN_HOST_WRITE_COMBINED] = HN_CLASS_WRITE_COMBINED,
        [HN_HOST_MAPPED] = HN_CLASS_PINNED,     [HN_HOST_MANAGED] = HN_CLASS_MANAGED,
    };
    if (memory == HN_HOST_WRITE_COMBINED && (parts & HN_PARTS_ON_HOST) != HN_PART_UPLOAD)
        return HN_CLASS_PINNED;
    return classes[memory];
}

uint64_t hn_host_buffer_size(uint64_t bytes)
{
    return (bytes + (uint64_t)2 * GUARD + PAGE - 1) / PAGE * PAGE;
}

static CUresult allocate_block(struct hn_host_buffer *buffer, struct hn_context *context,
                               enum hn_host_class class)
{
    const struct hn_driver *driver = context->driver;
    void *block = NULL;
    CUdeviceptr address = 0;
    CUresult result = CUDA_SUCCESS;
    switch (class) {
    case HN_CLASS_PAGEABLE:
    case HN_CLASS_REGISTERED:
        block = aligned_alloc(PAGE, buffer->block_bytes);
        result = block == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
        break;
    case HN_CLASS_PINNED:
        result = driver->p_cuMemHostAlloc(&block, buffer->block_bytes,
                                          CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE);
        break;
    case HN_CLASS_WRITE_COMBINED:
        result = driver->p_cuMemHostAlloc(&block, buffer->block_bytes,
                                          CU_MEMHOSTALLOC_WRITECOMBINED | CU_MEMHOSTALLOC_PORTABLE);
        break;
    case HN_CLASS_MANAGED:
        result = driver->p_cuMemAllocManaged(&address, buffer->block_bytes, CU_MEM_ATTACH_GLOBAL);
        block = (void *)(uintptr_t)address;
        break;
    case HN_CLASS_COUNT:
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS)
        buffer->block = block;
    return result;
}

/* Pages are touched before, so that only the registering is timed. */
static CUresult register_block(struct hn_host_buffer *buffer, struct hn_context *context)
{
    memset(buffer->block, 0, buffer->block_bytes);
    double started_ms = hn_now_ms();
    CUresult result = context->driver->p_cuMemHostRegister(buffer->block, buffer->block_bytes, 0);
    buffer->register_ms = hn_now_ms() - started_ms;
    if (result == CUDA_SUCCESS)
        return result;
    free(buffer->block);
    buffer->block = NULL;
    return result;
}

static CUresult find_address(struct hn_host_buffer *buffer, struct hn_context *context,
                             enum hn_host_class class)
{
    if (class == HN_CLASS_MANAGED)
        buffer->device = (CUdeviceptr)(uintptr_t)buffer->data;
    if (class != HN_CLASS_PINNED)
        return CUDA_SUCCESS;
    CUresult result =
        context->driver->p_cuMemHostGetDevicePointer(&buffer->device, buffer->block, 0);
    buffer->device += GUARD;
    return result;
}

static void write_guards(struct hn_host_buffer *buffer)
{
    memset(buffer->block, PATTERN, GUARD);
    memset(buffer->data + buffer->bytes, PATTERN, GUARD);
}

CUresult hn_host_buffer_allocate(struct hn_host_buffer *buffer, struct hn_context *context,
                                 enum hn_host_class class, uint64_t bytes)
{
    *buffer = (struct hn_host_buffer){.bytes = bytes};
    buffer->block_bytes = hn_host_buffer_size(bytes);
    CUresult result = allocate_block(buffer, context, class);
    if (result == CUDA_SUCCESS && class == HN_CLASS_REGISTERED)
        result = register_block(buffer, context);
    if (result != CUDA_SUCCESS) {
        *buffer = (struct hn_host_buffer){0};
        return result;
    }
    buffer->data = buffer->block + GUARD;
    result = find_address(buffer, context, class);
    if (result == CUDA_SUCCESS)
        write_guards(buffer);
    else
        hn_host_buffer_free(buffer, context, class);
    return result;
}

void hn_host_buffer_free(struct hn_host_buffer *buffer, struct hn_context *context,
                         enum hn_host_class class)
{
    const struct hn_driver *driver = context->driver;
    if (buffer->block == NULL)
        return;
    switch (class) {
    case HN_CLASS_REGISTERED:
        driver->p_cuMemHostUnregister(buffer->block);
        free(buffer->block);
        break;
    case HN_CLASS_PAGEABLE:
        free(buffer->block);
        break;
    case HN_CLASS_PINNED:
    case HN_CLASS_WRITE_COMBINED:
        driver->p_cuMemFreeHost(buffer->block);
        break;
    case HN_CLASS_MANAGED:
        driver->p_cuMemFree((CUdeviceptr)(uintptr_t)buffer->block);
        break;
    case HN_CLASS_COUNT:
        break;
    }
    *buffer = (struct hn_host_buffer){0};
}

/* The first byte of a guard zone that has changed, or GUARD. What is write-combined is read in
 * large pieces: each read goes to memory. */
static size_t find_change(const unsigned char *zone)
{
    unsigned char piece[PAGE];
    for (size_t at = 0; at < GUARD; at += PAGE) {
        memcpy(piece, zone + at, PAGE);
        for (size_t i = 0; i < PAGE; i++)
            if (piece[i] != PATTERN)
                return at + i;
    }
    return GUARD;
}

bool hn_host_buffer_check(struct hn_host_buffer *buffer, int64_t *offset)
{
    size_t before = find_change(buffer->block);
    size_t behind = find_change(buffer->data + buffer->bytes);
    if (before == GUARD && behind == GUARD)
        return true;
    *offset = before < GUARD ? (int64_t)before - GUARD : (int64_t)buffer->bytes + (int64_t)behind;
    write_guards(buffer);
    return false;
}

/* The number behind `key` at the beginning of a line; `without` when the file does not say. */
static double read_number(const char *path, const char *key, double without)
{
    double number = without;
    char line[128];
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return without;
    while (fgets(line, sizeof line, file) != NULL) {
        char *end;
        char *text = line + strlen(key);
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        double found = hn_c_strtod(text, &end);
        number = end != text && isfinite(found) ? found : without;
        break;
    }
    fclose(file);
    return number;
}

/* Of a control group, what it keeps of files and has not used for long makes room when asked to. */
static double read_group(void)
{
    double most = read_number("/sys/fs/cgroup/memory.max", "", INFINITY);
    double used = read_number("/sys/fs/cgroup/memory.current", "", 0.0);
    double files = read_number("/sys/fs/cgroup/memory.stat", "inactive_file ", 0.0);
    return fmax(0.0, most - fmax(0.0, used - files));
}

double hn_host_memory_available(void)
{
    return fmin(1024 * read_number("/proc/meminfo", "MemAvailable:", INFINITY), read_group());
}
