// SPDX-License-Identifier: MIT
// y = a * x, with faults to order: the variant that FAULT names goes wrong in its own way, on a GPU as on the driver
// double of tests/double, which reads the table below. 0 is right; 1 is refused at launch; 2 writes to an illegal
// address; 3 never ends; 4 computes one element wrong; 5 writes past y; 6 writes before y; 7 writes into x; 8 is right
// the first time only; 9 crashes the process (a trap on a GPU); 10 leaves the last element unwritten.
#ifndef BLOCK
#define BLOCK 256
#define ITEMS 4
#define FAULT 0
#endif

extern "C" __device__ const int hone_double[] = {BLOCK, ITEMS, FAULT};

#if FAULT == 1
#define MAX_THREADS 16
#else
#define MAX_THREADS BLOCK
#endif

__device__ int runs;

extern "C" __global__ void __launch_bounds__(MAX_THREADS) scale(const float *x, float *y, float a, int n)
{
    int first = blockIdx.x * BLOCK * ITEMS + threadIdx.x;
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        int i = first + item * BLOCK;
        if (i < n - (FAULT == 10))
            y[i] = a * x[i] + (FAULT == 4 && i == n / 2);
    }
#if FAULT >= 2
    if (blockIdx.x != 0 || threadIdx.x != 0)
        return;
    if (FAULT == 2)
        *(volatile float *)64 = 1.0f;
    while (FAULT == 3)
        __nanosleep(1000);
    if (FAULT == 5)
        y[n] = 1.0f;
    if (FAULT == 6)
        y[-1] = 1.0f;
    if (FAULT == 7)
        const_cast<float *>(x)[0] += 1.0f;
    if (FAULT == 8)
        y[0] += atomicAdd(&runs, 1);
    if (FAULT == 9)
        __trap();
#endif
}
