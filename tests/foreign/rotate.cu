/* SPDX-License-Identifier: MIT */
#include "cuda_runtime.h"
#include "device_launch_parameters.h"

extern "C" {

/* Turns an image about its middle. */
__global__ void rotate(cudaTextureObject_t image, float *turned, int width, int height, float angle)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    float sine, cosine;
    __sincosf(angle, &sine, &cosine);
    for (int y = blockIdx.y * blockDim.y + threadIdx.y; y < height; y += gridDim.y * blockDim.y) {
        if (x >= width)
            return;
        const float u = x - 0.5f * width, v = y - 0.5f * height;
        turned[y * width + x] = tex2D<float>(image, u * cosine - v * sine + 0.5f * width + 0.5f,
                                             v * cosine + u * sine + 0.5f * height + 0.5f);
    }
}
}
