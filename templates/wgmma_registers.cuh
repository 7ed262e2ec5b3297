// SPDX-License-Identifier: MIT
// Products by warpgroups whose tall operand is in registers, beside those of wgmma.cuh: what a thread has of the sums of one
// product, packed by twos, is what it has to have of the next one's operand.
#ifndef HONE_WGMMA_REGISTERS_CUH
#define HONE_WGMMA_REGISTERS_CUH

#include "wgmma.cuh"

// sums += tall wide, 64 x 16 by 16 x columns. Nobody may touch `tall` either until the product has been waited for. The last
// arguments are the numbers of the operands tall, four, wide and wide_across.
#define WGMMA(columns, count, a0, a1, a2, a3, b, tb)                                                                     \
    template <bool wide_across>                                                                                        \
    __device__ __forceinline__ void wgmma_from_registers(float (&d)[count], const unsigned *tall, unsigned long long wide) \
    {                                                                                                                  \
        asm volatile("wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." WGMMA_TYPE "." WGMMA_TYPE                  \
                     " {" WGMMA_NAMES_##count "}, {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3 "}, %" #b ", 1, 1, 1, %" #tb ";" \
                     : WGMMA_SUMS_##count                                                                              \
                     : "r"(tall[0]), "r"(tall[1]), "r"(tall[2]), "r"(tall[3]), "l"(wide), "n"((int)wide_across));        \
    }
WGMMA(64, 32, 32, 33, 34, 35, 36, 37)
WGMMA(128, 64, 64, 65, 66, 67, 68, 69)
WGMMA(192, 96, 96, 97, 98, 99, 100, 101)
WGMMA(256, 128, 128, 129, 130, 131, 132, 133)
#undef WGMMA

#endif
