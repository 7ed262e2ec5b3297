// SPDX-License-Identifier: MIT
// Clocks of a read from shared memory in which neighbouring lanes are STRIDE words apart (CUDA C++ Best Practices Guide,
// "Shared Memory and Memory Banks"). 32 banks of 4 bytes: lanes that want different words of one bank wait for each
// other, those that want the same word do not. PAD moves a row of 32 words to other banks than the row before, SWIZZLE
// permutes the words of a row by an exclusive or. A word tells the index of the next one to be read: its own.
#ifndef STRIDE // words: 1 to 33
#define STRIDE 1
#endif
#ifndef WORD // bytes: 4, 8 or 16
#define WORD 4
#endif
#ifndef WARPS // of a block
#define WARPS 8
#endif

#ifndef PAD // words after each row of 32
#define PAD 0
#endif
#ifndef SWIZZLE // 1: word w of row r stands at w xor r
#define SWIZZLE 0
#endif
#ifndef UNROLL // reads between two turns of the loop
#define UNROLL 8
#endif

constexpr int words = 31 * STRIDE + 1, rows = (words + 31) / 32, reads = 128;

struct __align__(WORD) word {
    unsigned part[WORD / 4];
};

__device__ __forceinline__ int place(int index)
{
    const int row = index / 32, in_row = index % 32;
    return row * (32 + PAD) + (SWIZZLE ? in_row ^ row % 32 : in_row);
}

// found: what each thread read last. clocks: of a read by a warp, one a block. zero is 0, which the compiler can not know.
extern "C" __global__ void __launch_bounds__(WARPS * 32) bank_stride(unsigned *found, float *clocks, unsigned zero)
{
    __shared__ word shared_words[rows * (32 + PAD)];
    for (int i = threadIdx.x; i < rows * 32; i += WARPS * 32) {
        word own = {};
        for (int part = 0; part < WORD / 4; ++part)
            own.part[part] = zero;
        own.part[0] += place(i);
        shared_words[place(i)] = own;
    }
    __syncthreads();

    constexpr int unroll = UNROLL;
    unsigned at = place(threadIdx.x % 32 * STRIDE);
    const long long start = clock64();
#pragma unroll unroll
    for (int i = 0; i < reads; ++i) {
        const word read = shared_words[at];
        at = 0;
#pragma unroll
        for (int part = 0; part < WORD / 4; ++part)
            at |= read.part[part];
    }
    const long long stop = clock64();

    found[blockIdx.x * (WARPS * 32) + threadIdx.x] = at == place(threadIdx.x % 32 * STRIDE) ? threadIdx.x : ~0u;
    __syncthreads();
    if (threadIdx.x == 0)
        clocks[blockIdx.x] = (float)(stop - start) / reads;
}
