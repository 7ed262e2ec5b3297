// SPDX-License-Identifier: MIT
// One fault each, planted on purpose: counters have to name it before everything else. x holds numbers from 0 to 1, of which
// the compiler does not know; z is room to write to.

#ifndef FAULT
#define FAULT_spills 1
#define FAULT FAULT_spills
#endif

#if FAULT == FAULT_spills
#define BOUNDS __launch_bounds__(1024, 2)
#else
#define BOUNDS
#endif

extern "C" __global__ void BOUNDS planted(const float *x, float *z, float *y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int lane = threadIdx.x % 32;
    const int mask = n - 1;
    float sum = 0;
    if (i == 0)
        y[0] = 1;

#if FAULT == FAULT_uncoalesced_loads
    z[i] = x[(i * 32 & mask) + i / (n / 32)];

#elif FAULT == FAULT_uncoalesced_stores
    z[(i * 32 & mask) + i / (n / 32)] = x[i];

#elif FAULT == FAULT_conflicts
    // All lanes of a warp read the same bank.
    __shared__ volatile float tile[32 * 32];
    for (int k = threadIdx.x; k < 32 * 32; k += blockDim.x)
        tile[k] = x[k];
    __syncthreads();
    for (int k = 0; k < 512; k++)
        sum += tile[lane * 32 + k % 32];
    z[i] = sum;

#elif FAULT == FAULT_occupancy
    // The launch asks for so much shared memory that two warps have an SM for themselves.
    for (int k = i; k < n; k += gridDim.x * blockDim.x)
        z[k] = 2 * x[k];

#elif FAULT == FAULT_loads
    // Each load waits for the one before.
    int at = i;
    for (int k = 0; k < 48; k++) {
        const float value = x[at];
        sum += value;
        at = at + gridDim.x * blockDim.x + (value > 2 ? 1 : 0) & mask;
    }
    z[i] = sum;

#elif FAULT == FAULT_spills
    // 96 sums in the 32 registers that the bounds leave.
    float sums[96];
#pragma unroll
    for (int k = 0; k < 96; k++)
        sums[k] = x[i + k * 32 & mask];
    for (int lap = 0; lap < 8; lap++) {
#pragma unroll
        for (int k = 0; k < 96; k++)
            sums[k] = sums[k] * sums[(k + 37) % 96] + sums[(k + 71) % 96];
    }
#pragma unroll
    for (int k = 0; k < 96; k++)
        sum += sums[k];
    z[i] = sum;

#elif FAULT == FAULT_atomics
    // All threads add to one address.
    atomicAdd(z, x[i]);

#elif FAULT == FAULT_idle
    // One block has the work of hundreds.
    sum = x[i];
    for (int k = 0; k < (blockIdx.x == 0 ? 20000 : 20); k++)
        sum = sum * x[0] + 1;
    z[i] = sum;

#elif FAULT == FAULT_divergence
    // Each lane goes another way.
    sum = x[i];
#pragma unroll 1
    for (int way = 0; way < 32; way++)
        if (lane == way)
#pragma unroll 1
            for (int k = 0; k < 64; k++)
                sum = sum * 0.5f + way;
    z[i] = sum;

#elif FAULT == FAULT_barrier
    // One warp works, and the others of its block wait for it.
    sum = x[i];
    for (int lap = 0; lap < 8; lap++) {
        if (threadIdx.x / 32 == lap)
            for (int k = 0; k < 500; k++)
                sum = sum * 0.5f + k;
        __syncthreads();
    }
    z[i] = sum;

#elif FAULT == FAULT_dependency
    // One warp a scheduler, and each instruction needs the result of the one before.
    sum = x[i];
#pragma unroll 16
    for (int k = 0; k < 20000; k++)
        sum = sum * 0.5f + 1;
    z[i] = sum;
#endif
}
