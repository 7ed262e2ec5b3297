// SPDX-License-Identifier: MIT
// Products by warpgroups (PTX wgmma, sm_90a): four warps multiply a tall matrix of 64 x 16 by a wide one of 16 x columns,
// both 16-bit numbers in shared memory, and add the product to sums in their registers. It goes on while the warps do
// something else; nobody may touch the registers until it has been waited for. WGMMA_TYPE is bf16 or f16; or e4m3 with
// WGMMA_BYTES 1, where the matrices are 64 x 32 and 32 x columns, and lines of both go along what is summed over.
#ifndef HONE_WGMMA_CUH
#define HONE_WGMMA_CUH

#ifndef WGMMA_BYTES // of an element
#define WGMMA_BYTES 2
#endif
constexpr int wgmma_depth = 32 / WGMMA_BYTES; // steps of k of an instruction
#if WGMMA_BYTES == 2
#define WGMMA_DEPTH "k16"
#define WGMMA_ACROSS(ta, tb) ", %" #ta ", %" #tb
#else
#define WGMMA_DEPTH "k32"
#define WGMMA_ACROSS(ta, tb)
#endif

// Of 64 x columns sums a thread of the warpgroup has columns / 2: in groups of four, for each 8 columns, two neighbours of
// one row and two of the row 8 below.
__device__ __forceinline__ int sum_row(int sum) { return threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4 + sum / 2 % 2 * 8; }
__device__ __forceinline__ int sum_column(int sum) { return sum / 4 * 8 + threadIdx.x % 4 * 2 + sum % 2; }

// Where a matrix lies in shared memory: in lines of 128, 64 or 32 bytes, swizzled by as many, eight of which make a pattern.
// Lines go along k, or across: then of 128 bytes, and further ones, for each 64 rows or columns, are `across` bytes apart.
template <int line_bytes = 128> __device__ __forceinline__ unsigned long long wgmma_matrix(unsigned address, int across)
{
    constexpr unsigned long long swizzle = line_bytes == 128 ? 1 : line_bytes == 64 ? 2 : 3, pattern = 8 * line_bytes;
    return swizzle << 62 | pattern >> 4 << 32 | (unsigned long long)(across >> 4) << 16 | (address & 0x3ffff) >> 4;
}

// Before the first product, and after registers were written by anything else.
__device__ __forceinline__ void wgmma_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
// Ends a group of products.
__device__ __forceinline__ void wgmma_end_group() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Until all but the last `count` groups are done.
template <int count> __device__ __forceinline__ void wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(count) : "memory");
}
// Behind a wait for all: no use of the sums is moved before it.
template <int count> __device__ __forceinline__ void sums_are_there(float (&sums)[count])
{
#pragma unroll
    for (int i = 0; i < count; ++i)
        asm volatile("" : "+f"(sums[i])::"memory");
}

// The operands of an instruction are numbered: the sums first, eight for 16 columns.
#define WGMMA_4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define WGMMA_8(i) WGMMA_4(i), WGMMA_4(i + 4)
#define WGMMA_NAMES_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define WGMMA_NAMES_16 WGMMA_NAMES_8 ", " "%8, %9, %10, %11, %12, %13, %14, %15"
#define WGMMA_NAMES_24 WGMMA_NAMES_16 ", " "%16, %17, %18, %19, %20, %21, %22, %23"
#define WGMMA_NAMES_32 WGMMA_NAMES_24 ", " "%24, %25, %26, %27, %28, %29, %30, %31"
#define WGMMA_NAMES_40 WGMMA_NAMES_32 ", " "%32, %33, %34, %35, %36, %37, %38, %39"
#define WGMMA_NAMES_48 WGMMA_NAMES_40 ", " "%40, %41, %42, %43, %44, %45, %46, %47"
#define WGMMA_NAMES_56 WGMMA_NAMES_48 ", " "%48, %49, %50, %51, %52, %53, %54, %55"
#define WGMMA_NAMES_64 WGMMA_NAMES_56 ", " "%56, %57, %58, %59, %60, %61, %62, %63"
#define WGMMA_NAMES_72 WGMMA_NAMES_64 ", " "%64, %65, %66, %67, %68, %69, %70, %71"
#define WGMMA_NAMES_80 WGMMA_NAMES_72 ", " "%72, %73, %74, %75, %76, %77, %78, %79"
#define WGMMA_NAMES_88 WGMMA_NAMES_80 ", " "%80, %81, %82, %83, %84, %85, %86, %87"
#define WGMMA_NAMES_96 WGMMA_NAMES_88 ", " "%88, %89, %90, %91, %92, %93, %94, %95"
#define WGMMA_NAMES_104 WGMMA_NAMES_96 ", " "%96, %97, %98, %99, %100, %101, %102, %103"
#define WGMMA_NAMES_112 WGMMA_NAMES_104 ", " "%104, %105, %106, %107, %108, %109, %110, %111"
#define WGMMA_NAMES_120 WGMMA_NAMES_112 ", " "%112, %113, %114, %115, %116, %117, %118, %119"
#define WGMMA_NAMES_128 WGMMA_NAMES_120 ", " "%120, %121, %122, %123, %124, %125, %126, %127"
#define WGMMA_SUMS_8 WGMMA_8(0)
#define WGMMA_SUMS_16 WGMMA_SUMS_8, WGMMA_8(8)
#define WGMMA_SUMS_24 WGMMA_SUMS_16, WGMMA_8(16)
#define WGMMA_SUMS_32 WGMMA_SUMS_24, WGMMA_8(24)
#define WGMMA_SUMS_40 WGMMA_SUMS_32, WGMMA_8(32)
#define WGMMA_SUMS_48 WGMMA_SUMS_40, WGMMA_8(40)
#define WGMMA_SUMS_56 WGMMA_SUMS_48, WGMMA_8(48)
#define WGMMA_SUMS_64 WGMMA_SUMS_56, WGMMA_8(56)
#define WGMMA_SUMS_72 WGMMA_SUMS_64, WGMMA_8(64)
#define WGMMA_SUMS_80 WGMMA_SUMS_72, WGMMA_8(72)
#define WGMMA_SUMS_88 WGMMA_SUMS_80, WGMMA_8(80)
#define WGMMA_SUMS_96 WGMMA_SUMS_88, WGMMA_8(88)
#define WGMMA_SUMS_104 WGMMA_SUMS_96, WGMMA_8(96)
#define WGMMA_SUMS_112 WGMMA_SUMS_104, WGMMA_8(104)
#define WGMMA_SUMS_120 WGMMA_SUMS_112, WGMMA_8(112)
#define WGMMA_SUMS_128 WGMMA_SUMS_120, WGMMA_8(120)

// sums = tall wide, or with `add` sums + tall wide. Where an operand lies across, k is not the direction of its lines. The
// last five arguments are the numbers of the operands tall, wide, add, tall_across and wide_across.
#define WGMMA(columns, count, a, b, c, ta, tb)                                                                         \
    template <bool tall_across, bool wide_across>                                                                      \
    __device__ __forceinline__ void wgmma(float (&d)[count], unsigned long long tall, unsigned long long wide, int add) \
    {                                                                                                                  \
        asm volatile("{ .reg .pred add; setp.ne.s32 add, %" #c ", 0; wgmma.mma_async.sync.aligned.m64n" #columns       \
                     WGMMA_DEPTH ".f32." WGMMA_TYPE "." WGMMA_TYPE " {" WGMMA_NAMES_##count "}, %" #a ", %" #b          \
                     ", add, 1, 1" WGMMA_ACROSS(ta, tb) "; }"                                                          \
                     : WGMMA_SUMS_##count                                                                              \
                     : "l"(tall), "l"(wide), "r"(add), "n"((int)tall_across), "n"((int)wide_across));                  \
    }
WGMMA(16, 8, 8, 9, 10, 11, 12)
WGMMA(32, 16, 16, 17, 18, 19, 20)
WGMMA(48, 24, 24, 25, 26, 27, 28)
WGMMA(64, 32, 32, 33, 34, 35, 36)
WGMMA(80, 40, 40, 41, 42, 43, 44)
WGMMA(96, 48, 48, 49, 50, 51, 52)
WGMMA(112, 56, 56, 57, 58, 59, 60)
WGMMA(128, 64, 64, 65, 66, 67, 68)
WGMMA(144, 72, 72, 73, 74, 75, 76)
WGMMA(160, 80, 80, 81, 82, 83, 84)
WGMMA(176, 88, 88, 89, 90, 91, 92)
WGMMA(192, 96, 96, 97, 98, 99, 100)
WGMMA(208, 104, 104, 105, 106, 107, 108)
WGMMA(224, 112, 112, 113, 114, 115, 116)
WGMMA(240, 120, 120, 121, 122, 123, 124)
WGMMA(256, 128, 128, 129, 130, 131, 132)
#undef WGMMA

#endif
