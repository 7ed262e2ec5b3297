// SPDX-License-Identifier: MIT
// Two steps of heat flow: a cell works out its neighbours after the first step itself.
__device__ static double cell(const float *in, int WIDTH, int HEIGHT, int x, int y)
{
    return in[(size_t)min(max(y, 0), HEIGHT - 1) * WIDTH + min(max(x, 0), WIDTH - 1)];
}

__device__ static double after_a_step(const float *in, int WIDTH, int HEIGHT, int x, int y)
{
    x = min(max(x, 0), WIDTH - 1);
    y = min(max(y, 0), HEIGHT - 1);
    const double centre = cell(in, WIDTH, HEIGHT, x, y);
    const double around = cell(in, WIDTH, HEIGHT, x, y - 1) + cell(in, WIDTH, HEIGHT, x, y + 1) +
                          cell(in, WIDTH, HEIGHT, x - 1, y) + cell(in, WIDTH, HEIGHT, x + 1, y);
    return centre + 0.2 * (around - 4 * centre);
}

extern "C" __global__ void heat_2d_reference(const float *in, float *out, int WIDTH, int HEIGHT)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= WIDTH || y >= HEIGHT)
        return;
    const double centre = after_a_step(in, WIDTH, HEIGHT, x, y);
    const double around = after_a_step(in, WIDTH, HEIGHT, x, y - 1) + after_a_step(in, WIDTH, HEIGHT, x, y + 1) +
                          after_a_step(in, WIDTH, HEIGHT, x - 1, y) + after_a_step(in, WIDTH, HEIGHT, x + 1, y);
    out[(size_t)y * WIDTH + x] = (float)(centre + 0.2 * (around - 4 * centre));
}
