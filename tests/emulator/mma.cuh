// SPDX-License-Identifier: MIT
// In place of templates/mma.cuh: a warp's lanes lay down their words and each sums up its own four.
#pragma once

namespace emulator
{
inline unsigned operands[most_threads][6]; // of A upper, lower, upper right, lower right; of B

// Element k of a row of A, or of a column of B: a word of the warp's lane 4 line + k % 8 / 2, the first or the one to the right.
inline double operand(int line, int k, int left, int right)
{
    const unsigned word = operands[threads[current].number / 32 * 32 + 4 * line + k % 8 / 2][k < 8 ? left : right];
    const unsigned short bits = (unsigned short)(word >> k % 2 * 16);
#if TYPE == TYPE_half
    return __half::of_bits(bits);
#else
    return __nv_bfloat16::of_bits(bits);
#endif
}
} // namespace emulator

inline void multiply(float (&sums)[4], unsigned upper, unsigned lower, unsigned upper_right, unsigned lower_right,
                     unsigned column, unsigned column_right)
{
    const unsigned own[6] = {upper, lower, upper_right, lower_right, column, column_right};
    std::memcpy(emulator::operands[emulator::threads[emulator::current].number], own, sizeof own);
    __syncwarp();
    const int lane = (int)emulator::lane();
    for (int i = 0; i < 4; ++i) {
        double sum = sums[i];
        for (int k = 0; k < 16; ++k)
            sum += emulator::operand(lane / 4, k, i / 2, i / 2 + 2) * emulator::operand(lane % 4 * 2 + i % 2, k, 4, 5);
        sums[i] = (float)sum;
    }
    __syncwarp();
}

inline unsigned exchanged(unsigned pair)
{
    const int lane = (int)emulator::lane(), from = lane % 4 * 8 + lane / 8;
    const unsigned first = __shfl_sync(~0u, pair, from), second = __shfl_sync(~0u, pair, from + 4);
    return __byte_perm(first, second, lane / 4 % 2 == 0 ? 0x5410 : 0x7632);
}
