// SPDX-License-Identifier: MIT
// Products by warpgroups, as in wgmma.cuh, whose columns are an odd multiple of eight.
#ifndef HONE_WGMMA_EIGHTS_CUH
#define HONE_WGMMA_EIGHTS_CUH

#include "wgmma.cuh"

#define WGMMA_NAMES_12 WGMMA_NAMES_8 ", %8, %9, %10, %11"
#define WGMMA_NAMES_20 WGMMA_NAMES_16 ", %16, %17, %18, %19"
#define WGMMA_NAMES_28 WGMMA_NAMES_24 ", %24, %25, %26, %27"
#define WGMMA_NAMES_36 WGMMA_NAMES_32 ", %32, %33, %34, %35"
#define WGMMA_NAMES_44 WGMMA_NAMES_40 ", %40, %41, %42, %43"
#define WGMMA_NAMES_52 WGMMA_NAMES_48 ", %48, %49, %50, %51"
#define WGMMA_NAMES_60 WGMMA_NAMES_56 ", %56, %57, %58, %59"
#define WGMMA_NAMES_68 WGMMA_NAMES_64 ", %64, %65, %66, %67"
#define WGMMA_NAMES_76 WGMMA_NAMES_72 ", %72, %73, %74, %75"
#define WGMMA_NAMES_84 WGMMA_NAMES_80 ", %80, %81, %82, %83"
#define WGMMA_NAMES_92 WGMMA_NAMES_88 ", %88, %89, %90, %91"
#define WGMMA_NAMES_100 WGMMA_NAMES_96 ", %96, %97, %98, %99"
#define WGMMA_NAMES_108 WGMMA_NAMES_104 ", %104, %105, %106, %107"
#define WGMMA_NAMES_116 WGMMA_NAMES_112 ", %112, %113, %114, %115"
#define WGMMA_NAMES_124 WGMMA_NAMES_120 ", %120, %121, %122, %123"
#define WGMMA_SUMS_12 WGMMA_SUMS_8, WGMMA_4(8)
#define WGMMA_SUMS_20 WGMMA_SUMS_16, WGMMA_4(16)
#define WGMMA_SUMS_28 WGMMA_SUMS_24, WGMMA_4(24)
#define WGMMA_SUMS_36 WGMMA_SUMS_32, WGMMA_4(32)
#define WGMMA_SUMS_44 WGMMA_SUMS_40, WGMMA_4(40)
#define WGMMA_SUMS_52 WGMMA_SUMS_48, WGMMA_4(48)
#define WGMMA_SUMS_60 WGMMA_SUMS_56, WGMMA_4(56)
#define WGMMA_SUMS_68 WGMMA_SUMS_64, WGMMA_4(64)
#define WGMMA_SUMS_76 WGMMA_SUMS_72, WGMMA_4(72)
#define WGMMA_SUMS_84 WGMMA_SUMS_80, WGMMA_4(80)
#define WGMMA_SUMS_92 WGMMA_SUMS_88, WGMMA_4(88)
#define WGMMA_SUMS_100 WGMMA_SUMS_96, WGMMA_4(96)
#define WGMMA_SUMS_108 WGMMA_SUMS_104, WGMMA_4(104)
#define WGMMA_SUMS_116 WGMMA_SUMS_112, WGMMA_4(112)
#define WGMMA_SUMS_124 WGMMA_SUMS_120, WGMMA_4(120)

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
WGMMA(24, 12, 12, 13, 14, 15, 16)
WGMMA(40, 20, 20, 21, 22, 23, 24)
WGMMA(56, 28, 28, 29, 30, 31, 32)
WGMMA(72, 36, 36, 37, 38, 39, 40)
WGMMA(88, 44, 44, 45, 46, 47, 48)
WGMMA(104, 52, 52, 53, 54, 55, 56)
WGMMA(120, 60, 60, 61, 62, 63, 64)
WGMMA(136, 68, 68, 69, 70, 71, 72)
WGMMA(152, 76, 76, 77, 78, 79, 80)
WGMMA(168, 84, 84, 85, 86, 87, 88)
WGMMA(184, 92, 92, 93, 94, 95, 96)
WGMMA(200, 100, 100, 101, 102, 103, 104)
WGMMA(216, 108, 108, 109, 110, 111, 112)
WGMMA(232, 116, 116, 117, 118, 119, 120)
WGMMA(248, 124, 124, 125, 126, 127, 128)
#undef WGMMA

#endif
