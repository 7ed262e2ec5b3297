// SPDX-License-Identifier: MIT
// Lines whose length is no multiple of 8 elements begin where no tensor map may have them. Those of A and B are copied to
// where they do, with zeros behind each, for bgemm.cu.
#ifndef HONE_BGEMM_LINES_CUH
#define HONE_BGEMM_LINES_CUH

// Elements from the `first`-th of `total` on: `count`, then zeros. What lies across two words of 16 bytes is shifted.
__device__ __forceinline__ uint4 read_eight(const unsigned short *elements, size_t first, size_t total, int count)
{
    unsigned word[8] = {};
    const size_t begin = first / 8;
    if ((begin + 2) * 8 <= total) {
        *(uint4 *)word = ((const uint4 *)elements)[begin];
        *(uint4 *)(word + 4) = ((const uint4 *)elements)[begin + 1];
        const int shift = first % 8;
#pragma unroll
        for (int i = 0; i < 6; ++i)
            word[i] = shift & 4 ? word[i + 2] : word[i];
#pragma unroll
        for (int i = 0; i < 5; ++i)
            word[i] = shift & 2 ? word[i + 1] : word[i];
#pragma unroll
        for (int i = 0; i < 4; ++i)
            word[i] = shift & 1 ? __funnelshift_r(word[i], word[i + 1], 16) : word[i];
    } else { // at the end
#pragma unroll
        for (int i = 0; i < 8; ++i)
            word[i / 2] |= i < count ? (unsigned)elements[first + i] << i % 2 * 16 : 0;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
        word[i] = count >= 2 * i + 2 ? word[i] : count > 2 * i ? word[i] & 0xffff : 0;
    return make_uint4(word[0], word[1], word[2], word[3]);
}

// Word `number` of the copy of `lines` lines of so many elements.
__device__ __forceinline__ void copy_word(const unsigned short *from, uint4 *to, size_t number, int lines, int length)
{
    const int words = max(1, ceil_div(length, 8)), at = (int)(number % words) * 8;
    const size_t line = number / words;
    to[number] = read_eight(from, line * length + at, (size_t)lines * length, lines > 0 ? length - at : 0);
}

// A thread copies a word: of A, then of B, as far as their lines have to be copied. Without steps of k there is one of zeros.
extern "C" __global__ void bgemm_lines(const unsigned short *A, uint4 *A_lines, const unsigned short *B, uint4 *B_lines,
                                       int rows, int columns, int depth)
{
    asm volatile("griddepcontrol.launch_dependents;"); // the product may begin, and waits where it needs what is copied
    const int lines = TRANS_B == TRANS_B_t ? columns : depth, length = TRANS_B == TRANS_B_t ? depth : columns;
    const bool copies_a = depth % 8 != 0 || depth == 0, copies_b = length % 8 != 0 || depth == 0;
    const size_t words_a = copies_a ? (size_t)rows * max(1, ceil_div(depth, 8)) : 0;
    const size_t words_b = copies_b ? (size_t)max(1, lines) * max(1, ceil_div(length, 8)) : 0;
    const size_t word = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (word < words_a)
        copy_word(A, A_lines, word, rows, depth);
    else if (word - words_a < words_b)
        copy_word(B, B_lines, word - words_a, lines, length);
}

#endif
