// SPDX-License-Identifier: MIT
// Each pixel sees the brightest of SPHERES spheres, which glow towards their centres: where a list that all threads read
// should live (CUDA C++ Programming Guide, "Constant Memory"; Sanders and Kandrot, "CUDA by Example", chapter
// 6). The constant cache gives one word to all lanes of a warp at once; lanes that want different words wait in line.
#ifndef SPHERES // a power of two
#define SPHERES 1024
#endif
#ifndef ACCESS // uniform: all lanes go through the list in step; divergent: each begins elsewhere
#define ACCESS_uniform 1
#define ACCESS_divergent 2
#define ACCESS ACCESS_uniform
#endif

#ifndef MEMORY // where the list lives
#define MEMORY_constant 1
#define MEMORY_global 2
#define MEMORY_shared 3
#define MEMORY_ldg 4
#define MEMORY MEMORY_constant
#endif
#ifndef BLOCK_X
#define BLOCK_X 16
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 16
#endif
#ifndef UNROLL // of the loop over the spheres
#define UNROLL 1
#endif

// x, y, z and size of each, like the argument `spheres`.
__constant__ float4 constant_spheres[SPHERES];

// How bright a sphere is at (x, y): 0 outside, and brighter the nearer it is.
__device__ __forceinline__ float brightness(float4 sphere, float x, float y)
{
    const float dx = x - sphere.x, dy = y - sphere.y, radius = 0.05f + 0.04f * sphere.w;
    return (sphere.z + 2) * (radius * radius - dx * dx - dy * dy);
}

extern "C" __global__ void __launch_bounds__(BLOCK_X *BLOCK_Y)
    spheres(const float4 *spheres, float *image, int WIDTH, int HEIGHT)
{
    const int column = blockIdx.x * BLOCK_X + threadIdx.x, row = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int thread = threadIdx.y * BLOCK_X + threadIdx.x;
#if MEMORY == MEMORY_shared
    __shared__ float4 shared_spheres[SPHERES];
    for (int i = thread; i < SPHERES; i += BLOCK_X * BLOCK_Y)
        shared_spheres[i] = spheres[i];
    __syncthreads();
#endif
    if (column >= WIDTH || row >= HEIGHT)
        return;

    const float x = 2.0f * column / WIDTH - 1, y = 2.0f * row / HEIGHT - 1;
    const unsigned first = ACCESS == ACCESS_divergent ? thread % 32 * 7 : 0;
    constexpr int unroll = UNROLL;
    float brightest = 0;
#pragma unroll unroll
    for (int i = 0; i < SPHERES; ++i) {
        const unsigned own = (first + i) % SPHERES;
#if MEMORY == MEMORY_constant
        const float4 sphere = constant_spheres[own];
#elif MEMORY == MEMORY_shared
        const float4 sphere = shared_spheres[own];
#elif MEMORY == MEMORY_ldg
        const float4 sphere = __ldg(&spheres[own]);
#else
        const float4 sphere = spheres[own];
#endif
        brightest = fmaxf(brightest, brightness(sphere, x, y));
    }
    image[(size_t)row * WIDTH + column] = brightest;
}
