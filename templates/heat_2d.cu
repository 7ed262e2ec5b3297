// SPDX-License-Identifier: MIT
// A step of heat flow on a grid, fp32: a cell moves towards the mean of its four neighbours, and beyond the edge lies what
// lies at it. Which path the neighbours take: through the L1 cache, as read-only data, through a texture over the buffer as
// it lies or over its rows, or by a tile in shared memory with a rim (CUDA C++ Best Practices Guide, "Texture Memory"; PMPP,
// chapter 8). A launch makes two steps, from one buffer to another and on.
#ifndef PATH // of the reads
#define PATH_global 1
#define PATH_ldg 2
#define PATH_restrict 3
#define PATH_texture_1d 4
#define PATH_texture_2d 5
#define PATH_shared 6
#define PATH PATH_global
#endif
#ifndef BLOCK_X
#define BLOCK_X 32
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 8
#endif
#ifndef ITEMS // cells of a thread, one below the other: a row that two of them need is read once
#define ITEMS 1
#endif

#if PATH == PATH_restrict
#define RESTRICT __restrict__
#else
#define RESTRICT
#endif
#if PATH == PATH_texture_1d || PATH == PATH_texture_2d
typedef cudaTextureObject_t source;
#else
typedef const float *RESTRICT source;
#endif

// The grid that is read, in rows of `pitch` floats; cells beyond the edge are those at it.
struct grid {
    source cells;
    int width, height, pitch;

    __device__ __forceinline__ float at(int x, int y) const
    {
#if PATH == PATH_texture_2d // clamps by itself; the middle of a cell lies at a half
        return tex2D<float>(cells, x + 0.5f, y + 0.5f);
#else
        x = min(max(x, 0), width - 1);
        y = min(max(y, 0), height - 1);
#if PATH == PATH_texture_1d
        return tex1Dfetch<float>(cells, y * pitch + x);
#elif PATH == PATH_ldg
        return __ldg(&cells[(size_t)y * pitch + x]);
#else
        return cells[(size_t)y * pitch + x];
#endif
#endif
    }
};

__device__ __forceinline__ float flow(float centre, float above, float below, float left, float right)
{
    return centre + 0.2f * (above + below + left + right - 4 * centre);
}

extern "C" __global__ void __launch_bounds__(BLOCK_X *BLOCK_Y)
    heat_2d(source in, float *RESTRICT out, int WIDTH, int HEIGHT, int pitch)
{
    const int x = blockIdx.x * BLOCK_X + threadIdx.x, y0 = (blockIdx.y * BLOCK_Y + threadIdx.y) * ITEMS;
    const grid from = {in, WIDTH, HEIGHT, pitch};

#if PATH == PATH_shared
    constexpr int columns = BLOCK_X + 2, rows = BLOCK_Y * ITEMS + 2;
    __shared__ float tile[rows][columns];
    const int left = blockIdx.x * BLOCK_X - 1, top = blockIdx.y * (BLOCK_Y * ITEMS) - 1;
    for (int row = threadIdx.y; row < rows; row += BLOCK_Y)
        for (int column = threadIdx.x; column < columns; column += BLOCK_X)
            tile[row][column] = from.at(left + column, top + row);
    __syncthreads();
#define CELL(x, y) tile[(y) - top][(x) - left]
#else
#define CELL(x, y) from.at(x, y)
#endif

    if (x >= WIDTH)
        return;
    float above = CELL(x, y0 - 1), centre = CELL(x, y0);
#pragma unroll
    for (int y = y0; y < y0 + ITEMS; ++y) {
        const float below = CELL(x, y + 1);
        if (y < HEIGHT)
            out[(size_t)y * pitch + x] = flow(centre, above, below, CELL(x - 1, y), CELL(x + 1, y));
        above = centre;
        centre = below;
    }
}
