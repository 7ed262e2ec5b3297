/* A box blur, as written for a tuner that defines everything itself. */
#define border (2 * radius)
#define tile_width (block_size_x * tile_size_x)

#if use_shmem == 1
#define FETCH(i) cache[i]
#else
#define FETCH(i) row[i]
#endif

__global__ void blur_rows(float *output, const float *input, int w)
{
    const float *row = input + blockIdx.y * (w + border) + blockIdx.x * tile_width;
#if use_shmem == 1
    __shared__ float cache[tile_width + border];
    for (int i = threadIdx.x; i < tile_width + border; i += block_size_x)
        cache[i] = row[i];
    __syncthreads();
#endif
#pragma unroll
    for (int t = 0; t < tile_size_x; t++) {
        int x = t * block_size_x + threadIdx.x;
        float sum = 0.0f;
        for (int i = 0; i <= border; i++)
            sum += FETCH(x + i);
        if (blockIdx.x * tile_width + x < w)
            output[blockIdx.y * w + blockIdx.x * tile_width + x] = sum / (border + 1);
    }
}
