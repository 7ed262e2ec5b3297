// SPDX-License-Identifier: MIT
// Every tile with its elements in reverse order.
#ifndef TILE_BYTES
#define TILE_BYTES 4096
#endif
#ifndef ELEMENT
#define ELEMENT 4
#endif

extern "C" __global__ void async_copy_reference(const unsigned *in, unsigned *out)
{
    const int words = TILE_BYTES / 4, part = ELEMENT / 4;
    for (int i = threadIdx.x; i < words; i += blockDim.x) {
        const int reversed = words - part - i / part * part + i % part;
        out[(size_t)blockIdx.x * words + i] = in[(size_t)blockIdx.x * words + reversed];
    }
}
