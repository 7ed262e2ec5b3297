// SPDX-License-Identifier: MIT
// The brightest sphere of each pixel, from the list in global memory.
#ifndef SPHERES
#define SPHERES 1024
#endif

extern "C" __global__ void spheres_reference(const float *spheres, float *image, int WIDTH, int HEIGHT)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= WIDTH || row >= HEIGHT)
        return;
    const float x = 2.0f * column / WIDTH - 1, y = 2.0f * row / HEIGHT - 1;
    double brightest = 0;
    for (int i = 0; i < SPHERES; ++i) {
        const float *sphere = spheres + 4 * i;
        const double dx = (double)x - sphere[0], dy = (double)y - sphere[1], radius = 0.05 + 0.04 * sphere[3];
        brightest = fmax(brightest, (sphere[2] + 2.0) * (radius * radius - dx * dx - dy * dy));
    }
    image[(size_t)row * WIDTH + column] = (float)brightest;
}
