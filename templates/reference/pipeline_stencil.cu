// SPDX-License-Identifier: MIT
// The means, summed up in float64; all rows at once.
#ifndef RADIUS
#define RADIUS 1
#endif

extern "C" __global__ void pipeline_stencil_reference(const float *in, float *out, int WIDTH, int HEIGHT)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= WIDTH || y >= HEIGHT)
        return;
    double sum = 0;
    for (int dy = -RADIUS; dy <= RADIUS; ++dy)
        for (int dx = -RADIUS; dx <= RADIUS; ++dx) {
            const int row = min(max(y + dy, 0), HEIGHT - 1), column = min(max(x + dx, 0), WIDTH - 1);
            sum += in[(long long)row * WIDTH + column];
        }
    out[(long long)y * WIDTH + x] = (float)(sum / ((2 * RADIUS + 1) * (2 * RADIUS + 1)));
}
