// SPDX-License-Identifier: MIT
// SIZE atomic increments of TARGETS counters: the instruction against a loop of compare-and-swap, shared against global
// memory, counters of the device against counters that only one block touches (CUDA C++ Programming Guide, "Atomic
// Functions"). A loop of compare-and-swap tries as often as there are threads that want the same counter.
#ifndef TARGETS // counters; a power of two
#define TARGETS 1
#endif

#ifndef OPERATION // atomicAdd, or a loop of atomicCAS
#define OPERATION_native 1
#define OPERATION_cas 2
#define OPERATION OPERATION_native
#endif
#ifndef MEMORY // shared: a block counts in shared memory and adds its counters up at the end
#define MEMORY_shared 1
#define MEMORY_global 2
#define MEMORY MEMORY_global
#endif
#ifndef SCOPE // block: each block counts in counters of its own
#define SCOPE_device 1
#define SCOPE_block 2
#define SCOPE SCOPE_device
#endif
#ifndef BLOCK
#define BLOCK 256
#endif
#ifndef ITEMS // increments a thread
#define ITEMS 32
#endif

#define OWN_COUNTERS (MEMORY == MEMORY_shared || SCOPE == SCOPE_block)

__device__ __forceinline__ void increment(unsigned *counter)
{
#if OPERATION == OPERATION_cas
    unsigned seen = *(volatile unsigned *)counter, expected;
    do {
        expected = seen;
#if SCOPE == SCOPE_block
        seen = atomicCAS_block(counter, expected, expected + 1);
#else
        seen = atomicCAS(counter, expected, expected + 1);
#endif
    } while (seen != expected);
#elif SCOPE == SCOPE_block
    atomicAdd_block(counter, 1u);
#else
    atomicAdd(counter, 1u);
#endif
}

// private_counters: TARGETS for each block, of which nothing is expected before.
extern "C" __global__ void atomics(unsigned *counters, unsigned *private_counters, int SIZE)
{
    unsigned *own = counters;
#if MEMORY == MEMORY_shared
    extern __shared__ unsigned shared_counters[];
    own = shared_counters;
#elif SCOPE == SCOPE_block
    own = private_counters + (size_t)blockIdx.x * TARGETS;
#endif
    if (OWN_COUNTERS) {
        for (int target = threadIdx.x; target < TARGETS; target += BLOCK)
            own[target] = 0;
        __syncthreads();
    }

    // The k-th increment of a thread goes to a counter that a multiplicative hash picks.
    const unsigned first = blockIdx.x * (BLOCK * ITEMS) + threadIdx.x;
    for (int k = 0; k < ITEMS; ++k) {
        const unsigned i = first + k * BLOCK;
        if (i < SIZE)
            increment(&own[(i * 2654435769u >> 12) % TARGETS]);
    }

    if (OWN_COUNTERS) {
        __syncthreads();
        for (int target = threadIdx.x; target < TARGETS; target += BLOCK) {
            const unsigned count = *(volatile unsigned *)&own[target];
            if (count > 0)
                atomicAdd(&counters[target], count);
        }
    }
}

// Before it.
extern "C" __global__ void atomics_clear(unsigned *counters)
{
    const int target = blockIdx.x * blockDim.x + threadIdx.x;
    if (target < TARGETS)
        counters[target] = 0;
}
