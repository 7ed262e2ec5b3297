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
/* How long what `launch` queues takes, with a cold L2 cache. */
double gpu_time_us(const struct gpu *gpu, void (*launch)(void *context), void *context);

#endif
