// SPDX-License-Identifier: MIT
// y = a * x, with every fault that a variant may have: FAULT names the one that this variant plants. It goes wrong in
// the same way on a GPU and on the driver double of tests/double, which reads the table below.
#ifndef FAULT
#define BLOCK 256
#define ITEMS 4
#define FAULT_none 1
#define FAULT FAULT_none
#endif

#if FAULT == FAULT_syntax_error
this is not C++;
#elif FAULT == FAULT_error_directive
#error this variant is not for this architecture
#elif FAULT == FAULT_slow_compile
// Four million instantiations: minutes in the compiler's front end.
template <int depth, unsigned path>
struct tree {
    static const unsigned sum = tree<depth - 1, 2 * path>::sum + tree<depth - 1, 2 * path + 1>::sum;
};
template <unsigned path>
struct tree<0, path> {
    static const unsigned sum = path;
};
extern "C" __device__ const unsigned leaves = tree<22, 1>::sum;
#endif

extern "C" __device__ const int hone_double[] = {BLOCK, ITEMS, FAULT};

__device__ unsigned runs;
__device__ unsigned zero;

#if FAULT == FAULT_launch_bounds
#define BOUNDS __launch_bounds__(64)
#else
#define BOUNDS
#endif

#if FAULT == FAULT_registers
// 96 values that are all alive at once, in blocks of 1024 threads.
__device__ float crowd(const float *x, int i, int n)
{
    float value[96];
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 96; k++)
        value[k] = x[(i + k * 31) % n];
#pragma unroll 1
    for (int round = 0; round < n; round++)
#pragma unroll
        for (int k = 0; k < 96; k++)
            value[k] += value[(k + 37) % 96] * value[(k + 59) % 96];
#pragma unroll
    for (int k = 0; k < 96; k++)
        sum += value[k];
    return sum;
}
#endif

// By one thread, after its own elements are written.
__device__ void misbehave(float *x, float *y, int n)
{
#if FAULT == FAULT_illegal_address
    *(volatile float *)64 = 1.0f;
#elif FAULT == FAULT_misaligned_address
    *(volatile float *)((char *)y + 1) = 1.0f;
#elif FAULT == FAULT_device_assert
    __assertfail("n > 1000000000", "fault.cu", 1, "misbehave", 1);
#elif FAULT == FAULT_trap
    __trap();
#elif FAULT == FAULT_endless_loop
    while (*(volatile unsigned *)&zero == 0)
        __nanosleep(1000);
#elif FAULT == FAULT_write_past_end
    y[n] = 1.0f;
#elif FAULT == FAULT_write_before_start
    y[-1] = 1.0f;
#elif FAULT == FAULT_write_far_past
    ((volatile float *)y)[n + 262144] = 1.0f;
#elif FAULT == FAULT_write_input
    x[0] += 1.0f;
#elif FAULT == FAULT_unsteady
    y[0] += atomicAdd(&runs, 1);
#endif
}

extern "C" __global__ void BOUNDS fault(float *x, float *y, float *scratch, float a, int n)
{
#if FAULT == FAULT_static_shared_memory
    __shared__ float tile[16384];
#elif FAULT == FAULT_shared_memory_sum
    __shared__ float tile[10240];
#endif
    int first = blockIdx.x * BLOCK * ITEMS + threadIdx.x;
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        int i = first + item * BLOCK;
        if (i < n - (FAULT == FAULT_unwritten_element))
            y[i] = a * x[i] + (FAULT == FAULT_wrong_element && i == n / 2);
    }
#if FAULT == FAULT_registers
    if (n > 1000000000)
        y[0] = crowd(x, first, n);
#elif FAULT == FAULT_static_shared_memory || FAULT == FAULT_shared_memory_sum
    tile[threadIdx.x] = a;
    __syncthreads();
    if (n > 1000000000)
        y[0] = tile[(threadIdx.x + 1) % BLOCK];
#elif FAULT == FAULT_scratch_too_large
    scratch[threadIdx.x] = a;
#elif FAULT == FAULT_printf_flood
    printf("the same line from every thread of every block, more than the buffer between device and host holds\n");
#endif
    if (blockIdx.x == 0 && threadIdx.x == 0)
        misbehave(x, y, n);
}
