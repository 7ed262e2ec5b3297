/* SPDX-License-Identifier: MIT */
#include <cmath>

#ifndef TILE
#define TILE 256
#endif
#ifndef PER_THREAD
#define PER_THREAD 1
#endif

static const float softening = 1e-9f;

static __device__ float3 attract(float4 body, float4 other, float3 sum)
{
    const float3 d = make_float3(other.x - body.x, other.y - body.y, other.z - body.z);
    const float r2 = d.x * d.x + d.y * d.y + d.z * d.z + softening;
    const float s = other.w / (std::sqrt(r2) * r2);
    sum.x += d.x * s;
    sum.y += d.y * s;
    sum.z += d.z * s;
    return sum;
}

/* w of a body is its mass. */
static __global__ void forces(const float4 *bodies, float4 *acceleration, int n)
{
    __shared__ float4 tile[TILE];
    float4 own[PER_THREAD];
    float3 sum[PER_THREAD];
    for (int j = 0; j < PER_THREAD; j++) {
        const int i = (blockIdx.x * PER_THREAD + j) * TILE + threadIdx.x;
        own[j] = i < n ? bodies[i] : make_float4(0.f, 0.f, 0.f, 0.f);
        sum[j] = make_float3(0.f, 0.f, 0.f);
    }
    for (int first = 0; first < n; first += TILE) {
        const int k = first + threadIdx.x;
        tile[threadIdx.x] = k < n ? bodies[k] : make_float4(0.f, 0.f, 0.f, 0.f);
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            for (int j = 0; j < PER_THREAD; j++)
                sum[j] = attract(own[j], tile[k], sum[j]);
        __syncthreads();
    }
    for (int j = 0; j < PER_THREAD; j++) {
        const int i = (blockIdx.x * PER_THREAD + j) * TILE + threadIdx.x;
        if (i < n)
            acceleration[i] = make_float4(sum[j].x, sum[j].y, sum[j].z, 0.f);
    }
}
