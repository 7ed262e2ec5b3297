// SPDX-License-Identifier: MIT
// Every thread finds its own word.
extern "C" __global__ void bank_stride_reference(unsigned *found)
{
    found[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x;
}
