// SPDX-License-Identifier: MIT
// energy[r] = the sum over the bins of a row's histogram of its count squared: every thread counts LENGTH values of 0 to
// 15 in counters of its own. Where they live decides: an array that is indexed by data is local memory, in DRAM behind
// the caches; indexed by constants it is registers, and counters of 8 bits are packed into two of them (CUDA C++ Best
// Practices Guide, "Local Memory", "Register Pressure", "Occupancy"). MAX_REGISTERS and DYNAMIC_SHARED set how many
// threads run at a time.
#ifndef LENGTH // values of a row; a multiple of 8, 248 at most (counters of 8 bits)
#define LENGTH 64
#endif

#ifndef INDEX // of the counters: by data, or by constants, each of them compared
#define INDEX_static 1
#define INDEX_dynamic 2
#define INDEX INDEX_static
#endif
#ifndef PACK // 1: counters of 8 bits, packed into registers
#define PACK 0
#endif
#ifndef UNROLL // words of 8 values that a thread has in flight
#define UNROLL 1
#endif
#ifndef BLOCK
#define BLOCK 256
#endif

constexpr int bins = 16, words = LENGTH / 8;

struct counters {
#if PACK
    unsigned long long packed[2] = {};
#else
    unsigned count[bins] = {};
#endif

    __device__ __forceinline__ void add(unsigned bin)
    {
#if PACK && INDEX == INDEX_static
        const unsigned long long one = 1ull << 8 * (bin % 8);
        packed[0] += bin < 8 ? one : 0;
        packed[1] += bin < 8 ? 0 : one;
#elif PACK
        packed[bin / 8] += 1ull << 8 * (bin % 8);
#elif INDEX == INDEX_static
#pragma unroll
        for (int b = 0; b < bins; ++b)
            count[b] += b == bin;
#else
        ++count[bin];
#endif
    }

    __device__ __forceinline__ unsigned at(int bin) const
    {
#if PACK
        return packed[bin / 8] >> 8 * (bin % 8) & 255;
#else
        return count[bin];
#endif
    }
};

// values: 8 of a row in a word, the words of neighbouring rows side by side.
extern "C" __global__ void occupancy(const unsigned *__restrict__ values, unsigned *__restrict__ energy, int ROWS)
{
    const int row = blockIdx.x * BLOCK + threadIdx.x;
    if (row >= ROWS)
        return;
    counters own;
    for (int first = 0; first < words; first += UNROLL) {
        unsigned word[UNROLL];
#pragma unroll
        for (int w = 0; w < UNROLL; ++w)
            word[w] = values[(size_t)(first + w) * ROWS + row];
#pragma unroll
        for (int w = 0; w < UNROLL; ++w)
#pragma unroll
            for (int v = 0; v < 8; ++v)
                own.add(word[w] >> 4 * v & 15);
    }
    unsigned sum = 0;
#pragma unroll
    for (int bin = 0; bin < bins; ++bin)
        sum += own.at(bin) * own.at(bin);
    energy[row] = sum;
}
