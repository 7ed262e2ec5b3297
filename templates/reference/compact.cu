// SPDX-License-Identifier: MIT
// Keeps the order: one block, a tile of 1024 elements a step.
#ifndef KEEP
#define KEEP 0.5
#endif

extern "C" __global__ void compact_reference(const float *in, float *out, unsigned *length, long long SIZE)
{
    __shared__ unsigned of_warp[32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    unsigned base = 0;
    for (long long i = threadIdx.x; i < (SIZE + 1023) / 1024 * 1024; i += 1024) {
        const float value = i < SIZE ? in[i] : 0;
        const bool keep = i < SIZE && value < (float)(2 * KEEP - 1);
        const unsigned lanes = __ballot_sync(0xffffffff, keep);
        if (lane == 0)
            of_warp[warp] = __popc(lanes);
        __syncthreads();
        unsigned at = base + __popc(lanes & ((1u << lane) - 1));
        for (int w = 0; w < 32; ++w) {
            at += w < warp ? of_warp[w] : 0;
            base += of_warp[w];
        }
        if (keep)
            out[at] = value;
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *length = base;
}
