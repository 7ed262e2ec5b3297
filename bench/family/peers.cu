// SPDX-License-Identifier: MIT
// What bench_family takes from the toolkit, in a library of its own, so that the program needs no nvcc: CUB, and a kernel
// that reads, for a cold L2 cache without lines that have to be written back.
#include <cub/cub.cuh>

static __global__ void read_all(const float4 *data, size_t count, float *sink)
{
    float sum = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        sum += data[i].x + data[i].y + data[i].z + data[i].w;
    if (sum == 0.5f) // never: keeps the reads alive
        *sink = sum;
}

extern "C" int peers_cub_version()
{
    return CUB_VERSION;
}

extern "C" int peers_read(void *data, size_t bytes)
{
    read_all<<<1024, 256>>>((const float4 *)data, bytes / sizeof(float4), (float *)data);
    return cudaGetLastError();
}

// As CUB's functions: without storage it says how many bytes that takes.
extern "C" int peers_sum(void *storage, size_t *bytes, const float *in, float *out, int64_t count)
{
    return cub::DeviceReduce::Sum(storage, *bytes, in, out, count);
}
