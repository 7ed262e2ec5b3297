// SPDX-License-Identifier: MIT
// A stencil over x, added to y in a second step. Each chunk begins at its own first element; what other chunks own lies
// at negative indices and beyond its count. FAULT breaks something on purpose.
#ifndef FAULT
#define FAULT 0
#define RADIUS 3
#endif

extern "C" __device__ const int hone_double[] = {FAULT};

extern "C" __global__ void gather(const float *x, float *sums, int radius, int begin, int count, int size)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float sum = 0.0f;
    for (int d = -radius; d <= radius; d++) {
        int place = begin + i + d;
        if (place >= 0 && place < size)
            sum += x[i + d];
    }
#if FAULT == 1
    if (begin + i == 5)
        const_cast<float *>(x)[i] = 0.0f;
#endif
    sums[i] = sum;
}

extern "C" __global__ void add(const float *sums, float *y, const float *table, float *last, int begin, int count,
                               int size)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float value = sums[i] * table[(begin + i) % 16];
#if FAULT == 2
    if (begin + i == size / 2)
        value += 1.0f;
#endif
#if FAULT == 3
    if (begin + i == size - 1)
        y[2 * (i + 1)] = 1.0f;
#endif
#if FAULT == 4
    if (begin + i == 7)
        return;
#endif
    y[2 * i] += value;
    y[2 * i + 1] -= value;
    if (begin + i == size - 1)
        for (int k = 0; k < 4; k++)
            last[k] = value + table[k];
}
