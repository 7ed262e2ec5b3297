/* SPDX-License-Identifier: MIT */
#include "double.h"

/* The kernels of pipeline.cu (tests/data/double.txt) in C. */

CUresult double_gather(const struct double_launch *launch)
{
    float *x = TAKE(float *, 0);
    int radius = TAKE(int, 2);
    int begin = TAKE(int, 3);
    int count = TAKE(int, 4);
    for (int i = 0; i < count; i++) {
        float sum = 0.0f;
        for (int d = -radius; d <= radius; d++)
            if (begin + i + d >= 0 && begin + i + d < TAKE(int, 5))
                sum += x[i + d];
        TAKE(float *, 1)[i] = sum;
    }
    if (launch->function->module->table[0] == 1 && begin <= 5 && 5 < begin + count)
        x[5 - begin] = 0.0f;
    return double_took(launch, 5.0 + 0.01 * count);
}

CUresult double_window_sum(const struct double_launch *launch)
{
    int count = TAKE(int, 3);
    for (int i = 0; i < count; i++) {
        float sum = 0.0f;
        for (int d = 0; d <= TAKE(int, 2); d++)
            sum += TAKE(const float *, 0)[i + d];
        TAKE(float *, 1)[i] = sum;
    }
    return double_took(launch, 5.0 + 0.01 * count);
}

static void add_to(float *y, int i, float value)
{
    y[2 * i] += value;
    y[2 * i + 1] -= value;
}

CUresult double_add(const struct double_launch *launch)
{
    const float *table = TAKE(const float *, 2);
    float *y = TAKE(float *, 1);
    int fault = launch->function->module->table[0];
    int begin = TAKE(int, 4);
    int count = TAKE(int, 5);
    int size = TAKE(int, 6);
    for (int i = 0; i < count; i++) {
        float value = TAKE(const float *, 0)[i] * table[(begin + i) % 16];
        bool at_end = begin + i == size - 1;
        if (fault == 2 && begin + i == size / 2)
            value += 1.0f;
        if (fault == 3 && at_end)
            y[2 * (i + 1)] = 1.0f;
        if (fault == 4 && begin + i == 7)
            continue;
        add_to(y, i, value);
        for (int k = 0; at_end && k < 4; k++)
            TAKE(float *, 3)[k] = value + table[k];
    }
    return double_took(launch, 5.0 + 0.01 * count);
}

CUresult double_smooth_reference(const struct double_launch *launch)
{
    const float *x = TAKE(const float *, 0);
    float *y = TAKE(float *, 1);
    const float *table = TAKE(const float *, 2);
    int radius = TAKE(int, 4);
    int size = TAKE(int, 5);
    for (int i = 0; i < size; i++) {
        double sum = 0.0;
        for (int d = -radius; d <= radius; d++)
            if (i + d >= 0 && i + d < size)
                sum += (double)x[i + d];
        double value = sum * (double)table[i % 16];
        y[2 * i] = (float)((double)y[2 * i] + value);
        y[2 * i + 1] = (float)((double)y[2 * i + 1] - value);
        for (int k = 0; i == size - 1 && k < 4; k++)
            TAKE(float *, 3)[k] = (float)(value + (double)table[k]);
    }
    return double_took_exactly(launch, 200.0);
}
