/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "double.h"

/* The kernels of border.yaml (tests/data/double.txt) in C: outputs that are written in part. */

enum {
    FAULT_WRITES_BORDER = 1,
    FAULT_LEAVES_OUT,
    FAULT_WRONG,
    FAULT_IDLE,
    FAULT_LATE,
    FAULT_WHOLE
};

static void add_neighbours(const float *x, float *y, int n, int fault, bool late)
{
    bool leaves_out = fault == FAULT_LEAVES_OUT || (fault == FAULT_LATE && late);
    for (int i = 1; i < n - 1; i++)
        if (!leaves_out || (i != 5 && i != 6))
            y[i] = x[i - 1] + x[i + 1] + (fault == FAULT_WRONG && i < 4 ? 1.0f : 0.0f);
    if (fault == FAULT_WRITES_BORDER)
        y[0] = y[n - 1] = 7.0f;
}

static void write_even(int *z, int n, int fault)
{
    for (int i = 0; i < n; i += 2)
        if (fault != FAULT_WHOLE || (i != 8 && i != 10))
            z[i] = i;
}

static CUresult run(const struct double_launch *launch, int fault, bool late)
{
    int n = TAKE(int, 3);
    launch->device->now_us += 20.0 * double_noise(launch->device);
    if (fault == FAULT_IDLE)
        return CUDA_SUCCESS;
    add_neighbours(TAKE(const float *, 0), TAKE(float *, 1), n, fault, late);
    write_even(TAKE(int *, 2), n, fault);
    return CUDA_SUCCESS;
}

CUresult double_border(const struct double_launch *launch)
{
    return run(launch, launch->function->module->table[0], launch->function->launches > 1);
}

CUresult double_border_reference(const struct double_launch *launch)
{
    return run(launch, 0, false);
}
