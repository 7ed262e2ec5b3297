// SPDX-License-Identifier: MIT
// In place of templates/halves.cuh.
#pragma once

template <bool is_half> unsigned packed_as(float first, float second)
{
    using element = std::conditional_t<is_half, __half, __nv_bfloat16>;
    return element(first).bits | (unsigned)element(second).bits << 16;
}
