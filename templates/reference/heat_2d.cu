// SPDX-License-Identifier: MIT
// Two steps of heat flow: a cell works out its neighbours after the first step itself. Rows begin `pitch` cells apart.
struct grid {
    const float *cells;
    int width, height, pitch;
};

__device__ static double cell(const grid &in, int x, int y)
{
    return in.cells[(size_t)min(max(y, 0), in.height - 1) * in.pitch + min(max(x, 0), in.width - 1)];
}

__device__ static double after_a_step(const grid &in, int x, int y)
{
    x = min(max(x, 0), in.width - 1);
    y = min(max(y, 0), in.height - 1);
    const double centre = cell(in, x, y);
    const double around = cell(in, x, y - 1) + cell(in, x, y + 1) + cell(in, x - 1, y) + cell(in, x + 1, y);
    return centre + 0.2 * (around - 4 * centre);
}

extern "C" __global__ void heat_2d_reference(const float *cells, float *out, int WIDTH, int HEIGHT, int pitch)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= WIDTH || y >= HEIGHT)
        return;
    const grid in = {cells, WIDTH, HEIGHT, pitch};
    const double centre = after_a_step(in, x, y);
    const double around = after_a_step(in, x, y - 1) + after_a_step(in, x, y + 1) + after_a_step(in, x - 1, y) +
                          after_a_step(in, x + 1, y);
    out[(size_t)y * pitch + x] = (float)(centre + 0.2 * (around - 4 * centre));
}
