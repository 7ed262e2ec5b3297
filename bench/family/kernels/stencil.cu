// SPDX-License-Identifier: MIT
// Nine points around each: a block has BLOCK_X columns times BLOCK_Y lines of threads, each of which takes ITEMS lines.
extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
stencil(const float *__restrict__ in, float *__restrict__ out, int width, int height)
{
    const int x = blockIdx.x * BLOCK_X + threadIdx.x;
    const int first = (blockIdx.y * BLOCK_Y + threadIdx.y) * ITEMS;
#if TILE
    __shared__ float tile[BLOCK_Y * ITEMS + 2][BLOCK_X + 2];
    const int left = blockIdx.x * BLOCK_X - 1, top = blockIdx.y * BLOCK_Y * ITEMS - 1;
    for (int j = threadIdx.y; j < BLOCK_Y * ITEMS + 2; j += BLOCK_Y)
        for (int i = threadIdx.x; i < BLOCK_X + 2; i += BLOCK_X) {
            const int u = min(max(left + i, 0), width - 1), v = min(max(top + j, 0), height - 1);
            tile[j][i] = in[(size_t)v * width + u];
        }
    __syncthreads();
#endif
    if (x >= width)
        return;
#if UNROLLED
    #pragma unroll
#else
    #pragma unroll 1
#endif
    for (int n = 0; n < ITEMS; n++) {
        const int y = first + n;
        if (y >= height)
            return;
        float sum = 0;
        #pragma unroll
        for (int j = -1; j <= 1; j++)
            #pragma unroll
            for (int i = -1; i <= 1; i++) {
#if TILE
                const float v = tile[threadIdx.y * ITEMS + n + 1 + j][threadIdx.x + 1 + i];
#else
                const float v = in[(size_t)min(max(y + j, 0), height - 1) * width + min(max(x + i, 0), width - 1)];
#endif
                sum += v * (i == 0 && j == 0 ? 0.5f : 0.0625f);
            }
        out[(size_t)y * width + x] = sum;
    }
}
