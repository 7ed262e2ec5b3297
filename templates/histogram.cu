// SPDX-License-Identifier: MIT
// histogram[b] = how many of SIZE values fall into bin b, by their highest bits. Every value is an atomic increment, so
// that all depends on where the counters live: one set for all threads in global memory, or private sets in shared
// memory that are added up at the end (PMPP, chapter 9; Gomez-Luna et al., "An optimized approach to histogram
// computation on GPU"). COPIES gives neighbouring lanes counters of their own: the counters of a bin lie side by side,
// in different banks, and a warp that meets 32 values of one bin does not wait for itself.
#include "fixed_width.cuh"

#ifndef VALUE_BYTES // of a value: 1 or 2
#define VALUE_BYTES 1
#endif
#ifndef BINS // a power of two
#define BINS 256
#endif

#ifndef PRIVATE // who has counters of its own
#define PRIVATE_global 1
#define PRIVATE_block 2
#define PRIVATE_warp 3
#define PRIVATE PRIVATE_block
#endif
#ifndef COPIES // of the private counters, by lane; a power of two, up to 32
#define COPIES 1
#endif
#ifndef VECTOR // bytes in a word that a thread reads
#define VECTOR 4
#endif
#ifndef ITEMS // words that a thread has in flight
#define ITEMS 1
#endif
#ifndef RUN_LENGTH // 1: equal values that follow each other are counted in a register
#define RUN_LENGTH 0
#endif
#ifndef BLOCK
#define BLOCK 256
#endif
#ifndef BLOCKS_PER_SM // that run at a time; the grid has as many
#define BLOCKS_PER_SM 8
#endif

#if VALUE_BYTES == 1
typedef uint8_t value_type;
#else
typedef uint16_t value_type;
#endif
#if VECTOR == 1
typedef uint8_t word_type;
#elif VECTOR == 2
typedef uint16_t word_type;
#elif VECTOR == 4
typedef unsigned word_type;
#elif VECTOR == 8
typedef uint2 word_type;
#else
typedef uint4 word_type;
#endif

__host__ __device__ constexpr int log2_of(int power)
{
    return power > 1 ? 1 + log2_of(power / 2) : 0;
}

constexpr int shift = 8 * VALUE_BYTES - log2_of(BINS);
constexpr int values_of_word = VECTOR / VALUE_BYTES;
constexpr int owners = PRIVATE == PRIVATE_warp ? BLOCK / 32 : 1; // of private counters, in a block

union word {
    word_type bits;
    value_type value[values_of_word];
};

// Increments the counter of a value's bin.
struct counting {
    char *counters; // of this thread's lane. In bytes: an address takes fewer instructions than an index
#if RUN_LENGTH
    unsigned bin = 0, run = 0;
#endif

    __device__ __forceinline__ void add(unsigned of_bin, unsigned count)
    {
        constexpr unsigned stride = sizeof(unsigned) * (PRIVATE == PRIVATE_global ? 1 : COPIES);
        atomicAdd((unsigned *)(counters + of_bin * stride), count);
    }

    __device__ __forceinline__ void count(unsigned value)
    {
#if RUN_LENGTH
        if (value >> shift != bin) {
            finish();
            bin = value >> shift;
            run = 0;
        }
        ++run;
#else
        add(value >> shift, 1);
#endif
    }

    __device__ __forceinline__ void finish()
    {
#if RUN_LENGTH
        if (run > 0)
            add(bin, run);
#endif
    }
};

extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS_PER_SM)
    histogram(const uint8_t *__restrict__ data, unsigned *histogram, int64_t SIZE)
{
#if PRIVATE == PRIVATE_global
    counting own = {(char *)histogram};
#else
    extern __shared__ unsigned counters[];
    for (int i = threadIdx.x; i < owners * BINS * COPIES; i += BLOCK)
        counters[i] = 0;
    __syncthreads();
    const int owner = PRIVATE == PRIVATE_warp ? threadIdx.x / 32 : 0;
    counting own = {(char *)(counters + owner * BINS * COPIES) + threadIdx.x % COPIES * sizeof *counters};
#endif

    const int64_t words = SIZE / values_of_word, threads = (int64_t)gridDim.x * BLOCK;
    const word_type *const in = (const word_type *)data;
    int64_t i = (int64_t)blockIdx.x * (BLOCK * ITEMS) + threadIdx.x;
    for (; i + (ITEMS - 1) * BLOCK < words; i += threads * ITEMS) {
        word item[ITEMS];
#pragma unroll
        for (int k = 0; k < ITEMS; ++k)
            item[k].bits = in[i + k * BLOCK];
#pragma unroll
        for (int k = 0; k < ITEMS; ++k)
#pragma unroll
            for (int j = 0; j < values_of_word; ++j)
                own.count(item[k].value[j]);
    }
    for (int k = 0; k < ITEMS; ++k) // the last words of a thread whose last tile is not whole
        if (i + k * BLOCK < words) {
            const word last = {in[i + k * BLOCK]};
            for (int j = 0; j < values_of_word; ++j)
                own.count(last.value[j]);
        }
    for (int64_t v = words * values_of_word + blockIdx.x * BLOCK + threadIdx.x; v < SIZE; v += threads)
        own.count(((const value_type *)data)[v]);
    own.finish();

#if PRIVATE != PRIVATE_global
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += BLOCK) {
        unsigned sum = 0;
        for (int o = 0; o < owners; ++o)
#pragma unroll 1
            for (int copy = 0; copy < COPIES; ++copy) // every lane begins in another bank
                sum += counters[(o * BINS + bin) * COPIES + (copy + threadIdx.x) % COPIES];
        if (sum > 0)
            atomicAdd(&histogram[bin], sum);
    }
#endif
}

// Before it: the counters of all blocks together.
extern "C" __global__ void histogram_clear(unsigned *histogram)
{
    const int bin = blockIdx.x * blockDim.x + threadIdx.x;
    if (bin < BINS)
        histogram[bin] = 0;
}
