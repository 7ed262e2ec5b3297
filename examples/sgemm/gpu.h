/* SPDX-License-Identifier: MIT */
#ifndef GPU_H
#define GPU_H

#include <cuda.h>
#include <stddef.h>

/* The driver, with errors that end the program. */

struct gpu {
    char name[256];
    int capability; /* 90 for 9.0 */
    int sm_count;
    CUevent start, stop;
    CUdeviceptr flush; /* twice as large as the L2 cache */
    size_t flush_size;
};

void gpu_check(CUresult result, const char *what);
/* The first device, its primary context made current. */
void gpu_open(struct gpu *gpu);
/* Device memory with a copy of data, or zeroed where that is NULL. */
CUdeviceptr gpu_upload(const void *data, size_t bytes);
/* What queues work, and the median of the times that it took. */
struct gpu_work {
    void (*launch)(void *context);
    void *context; /* NULL: it is left out */
    double us;
};
/* Two that take turns, each with a cold L2 cache. */
void gpu_measure(const struct gpu *gpu, struct gpu_work *own, struct gpu_work *other);

#endif
