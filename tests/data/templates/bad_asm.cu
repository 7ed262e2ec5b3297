/* SPDX-License-Identifier: MIT */
extern "C" __global__ void bad_asm(float *x)
{
    asm volatile("wgmma.fence.sync.aligned;");
}
