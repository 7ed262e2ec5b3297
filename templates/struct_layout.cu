// SPDX-License-Identifier: MIT
// out[row][column] = the sum of what is read of the structure at (row, column), MEMBERS floats of which all or the first
// are used: how the members of structures should lie in memory (CUDA C++ Programming Guide, "Device Memory Accesses").
// An array of structures makes neighbouring threads read MEMBERS floats apart; aligned to 16 bytes, a structure is read
// in whole words; a structure of arrays is read without gaps. PITCH begins every row at a multiple of 128 bytes.
#ifndef MEMBERS // floats of a structure: 1 to 8
#define MEMBERS 3
#endif
#ifndef USED // which of them the kernel needs
#define USED_all 1
#define USED_first 2
#define USED USED_all
#endif

#ifndef LAYOUT // array of structures; the same, aligned and filled up to 16 or 32 bytes; structure of arrays
#define LAYOUT_aos 1
#define LAYOUT_aos_aligned 2
#define LAYOUT_soa 3
#define LAYOUT LAYOUT_aos
#endif
#ifndef PITCH // 1: rows are filled up to a multiple of 32 elements
#define PITCH 0
#endif
#ifndef BLOCK
#define BLOCK 256
#endif

#if LAYOUT == LAYOUT_aos_aligned
struct __align__(16) structure {
#else
struct structure {
#endif
    float member[MEMBERS];
};

extern "C" __global__ void __launch_bounds__(BLOCK)
    struct_layout(const float *__restrict__ in, float *__restrict__ out, int WIDTH, int HEIGHT)
{
    const int column = blockIdx.x * BLOCK + threadIdx.x, row = blockIdx.y;
    if (column >= WIDTH)
        return;
    const size_t pitch = PITCH ? (WIDTH + 31) / 32 * 32 : WIDTH, i = row * pitch + column;
    constexpr int used = USED == USED_first ? 1 : MEMBERS;
    float sum = 0;

#if LAYOUT == LAYOUT_soa
    const size_t plane = HEIGHT * pitch;
#pragma unroll
    for (int m = 0; m < used; ++m)
        sum += in[m * plane + i];
#else
    const structure own = ((const structure *)in)[i];
#pragma unroll
    for (int m = 0; m < used; ++m)
        sum += own.member[m];
#endif
    out[(size_t)row * WIDTH + column] = sum;
}
