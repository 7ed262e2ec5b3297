// SPDX-License-Identifier: MIT
// The largest power of two, up to 512, of which the address of each buffer is a multiple.
extern "C" __global__ void aligned(const float *x, int *y, const float *scratch, const float *plain)
{
    const void *const buffers[] = {x, y, scratch, plain};
    unsigned long long address = (unsigned long long)buffers[threadIdx.x] | 512;
    y[threadIdx.x] = (int)(address & (0 - address));
}
