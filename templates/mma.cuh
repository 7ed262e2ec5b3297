// SPDX-License-Identifier: MIT
// Products of a warp from registers on the tensor cores (PTX mma.sync m16n8k16, sm_80 and later): sums += A B, A of 16 rows and B
// of 8 columns of 16-bit numbers, two neighbours a word. Of lane i, with g = i / 4 and t = i % 4, are
//   of A the words at k = 2 t of rows g and g + 8, then those at k = 2 t + 8;
//   of B the words at k = 2 t and 2 t + 8 of column g;
//   the sums of row g in columns 2 t and 2 t + 1, then those of row g + 8.
// In which order k is summed up is free, as long as A and B have the same.
#ifndef HONE_MMA_CUH
#define HONE_MMA_CUH

#if TYPE == TYPE_half
#define MMA_TYPE "f16"
#else
#define MMA_TYPE "bf16"
#endif

__device__ __forceinline__ void multiply(float (&sums)[4], unsigned upper, unsigned lower, unsigned upper_right,
                                         unsigned lower_right, unsigned column, unsigned column_right)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." MMA_TYPE "." MMA_TYPE ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(upper), "r"(lower), "r"(upper_right), "r"(lower_right), "r"(column), "r"(column_right));
}

// A matrix of 8 x 8 whose row g, columns 2 t and 2 t + 1 a lane has, with rows and columns exchanged (PTX movmatrix, sm_75 and
// later): sums of a product, packed, become columns of the next one.
__device__ __forceinline__ unsigned exchanged(unsigned pair)
{
    unsigned result;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(pair));
    return result;
}

#endif
