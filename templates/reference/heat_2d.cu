// SPDX-License-Identifier: MIT
// STEPS steps of heat flow at once. A step makes of a cell the mean of it and its four neighbours, and STEPS steps the mean
// of the cells where 5^STEPS walks from it end. What lies beyond the edge is what lies at it: so the grid goes on there as
// in a mirror. Rows begin `pitch` cells apart.
constexpr int reach = 8, side = 2 * reach + 3; // the most steps; the walks that end at a cell, and a rim without any

__device__ static int mirrored(int i, int size)
{
    i = (i % (2 * size) + 2 * size) % (2 * size);
    return i < size ? i : 2 * size - 1 - i;
}

extern "C" __global__ void heat_2d_reference(const float *in, float *out, int WIDTH, int HEIGHT, int pitch, int STEPS)
{
    __shared__ double walks[2][side][side];
    for (int i = threadIdx.x; i < 2 * side * side; i += blockDim.x)
        walks[i / (side * side)][i / side % side][i % side] = 0;
    __syncthreads();
    if (threadIdx.x == 0)
        walks[0][side / 2][side / 2] = 1;
    __syncthreads();
    for (int step = 0; step < STEPS; ++step) {
        const auto &from = walks[step % 2];
        for (int i = threadIdx.x; i < (side - 2) * (side - 2); i += blockDim.x) {
            const int y = 1 + i / (side - 2), x = 1 + i % (side - 2);
            walks[1 - step % 2][y][x] = (from[y][x] + from[y - 1][x] + from[y + 1][x] + from[y][x - 1] + from[y][x + 1]) / 5;
        }
        __syncthreads();
    }

    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    for (int y = blockIdx.y; x < WIDTH && y < HEIGHT; y += gridDim.y) {
        double sum = 0;
        for (int dy = -STEPS; dy <= STEPS; ++dy) {
            const float *row = in + (size_t)mirrored(y + dy, HEIGHT) * pitch;
            const int left = STEPS - abs(dy); // a walk goes no farther
            for (int dx = -left; dx <= left; ++dx)
                sum += walks[STEPS % 2][side / 2 + dy][side / 2 + dx] * row[mirrored(x + dx, WIDTH)];
        }
        out[(size_t)y * pitch + x] = (float)sum;
    }
}
