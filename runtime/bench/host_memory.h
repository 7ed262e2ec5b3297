/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_HOST_MEMORY_H
#define HONE_RUNTIME_BENCH_HOST_MEMORY_H

#include "runtime/device/driver.h"
#include "runtime/plan/pipeline.h"

/* Buffers in host memory, each between two guard zones. Kinds of host memory that are allocated alike share a class:
 * what is pinned is mapped too. */
enum hn_host_class {
    HN_CLASS_PAGEABLE,
    HN_CLASS_REGISTERED,
    HN_CLASS_PINNED,
    HN_CLASS_WRITE_COMBINED,
    HN_CLASS_MANAGED,
    HN_CLASS_COUNT
};

struct hn_host_buffer {
    unsigned char *block; /* with the guard zones; NULL: there is none */
    size_t block_bytes;
    unsigned char *data;
    uint64_t bytes;
    CUdeviceptr device; /* data, as kernels address it; 0: they can not */
    double register_ms; /* what registering the block took */
    uint64_t contents;  /* which of the arena's contents it holds; 0: none */
};

/* Of an argument with these parts: what is read back is not write-combined. */
enum hn_host_class hn_host_class_of(enum hn_host_memory memory, unsigned char parts);

/* Whatever the driver says; CUDA_ERROR_OUT_OF_MEMORY also for plain memory. The guard zones are written. */
CUresult hn_host_buffer_allocate(struct hn_host_buffer *buffer, struct hn_context *context, enum hn_host_class class,
                                 uint64_t bytes);
void hn_host_buffer_free(struct hn_host_buffer *buffer, struct hn_context *context, enum hn_host_class class);
uint64_t hn_host_buffer_size(uint64_t bytes); /* with the guard zones */

/* False when something was written outside of the buffer: then *offset is where, from its first byte on, and the guard
 * zones are written again. */
bool hn_host_buffer_check(struct hn_host_buffer *buffer, int64_t *offset);

/* Bytes that this process may still take, by /proc/meminfo and the control group; INFINITY when neither says. The limit on
 * locked memory (RLIMIT_MEMLOCK) is none of them: NVIDIA's kernel module pins pages without asking for it. */
double hn_host_memory_available(void);

#endif
