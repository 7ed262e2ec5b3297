// Blurs rows by weights in constant memory; block_size_x, tile_size_x and the rest are a tuner's to define.
__constant__ float weights[2 * radius + 1];

__global__ void blur(float *out, const float *in, int width, int height)
{
    extern __shared__ float row[];
    int begin = blockIdx.x * block_size_x * tile_size_x;
    int y = blockIdx.y * block_size_y + threadIdx.y;
    float *mine = row + threadIdx.y * (block_size_x * tile_size_x + 2 * radius);
    for (int i = threadIdx.x; i < block_size_x * tile_size_x + 2 * radius; i += block_size_x)
        mine[i] = y < height ? in[y * (width + 2 * radius) + begin + i] : 0.0f;
    __syncthreads();
#pragma unroll loop_unroll_factor_t
    for (int t = 0; t < tile_size_x; t++) {
        int x = t * block_size_x + threadIdx.x;
        float sum = 0.0f;
        for (int i = 0; i <= 2 * radius; i++)
            sum += weights[i] * mine[x + i];
        if (begin + x < width && y < height)
            out[y * width + begin + x] = sum;
    }
}
