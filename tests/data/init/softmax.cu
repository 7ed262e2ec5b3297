// Rows of a matrix, a block for each; half in, half out.
#include <cuda_fp16.h>

#ifdef USE_FAST_EXP
#define EXP __expf
#else
#define EXP expf
#endif

template <typename scalar_t, int block_size>
__global__ void softmax_rows(const scalar_t *in, scalar_t *out, int cols)
{
    extern __shared__ float shared[];
    const scalar_t *row = in + (size_t)blockIdx.x * cols;
    float largest = -1e30f;
    for (int i = threadIdx.x; i < cols; i += block_size)
        largest = fmaxf(largest, (float)row[i]);
    shared[threadIdx.x] = largest;
    __syncthreads();
    for (int stride = block_size / 2; stride > 0; stride /= 2) {
        if (threadIdx.x < stride)
            shared[threadIdx.x] = fmaxf(shared[threadIdx.x], shared[threadIdx.x + stride]);
        __syncthreads();
    }
    largest = shared[0];
    __syncthreads();
    float sum = 0;
    for (int i = threadIdx.x; i < cols; i += block_size)
        sum += EXP((float)row[i] - largest);
    shared[threadIdx.x] = sum;
    __syncthreads();
    for (int stride = block_size / 2; stride > 0; stride /= 2) {
        if (threadIdx.x < stride)
            shared[threadIdx.x] += shared[threadIdx.x + stride];
        __syncthreads();
    }
    for (int i = threadIdx.x; i < cols; i += block_size)
        out[(size_t)blockIdx.x * cols + i] = (scalar_t)(EXP((float)row[i] - largest) / shared[0]);
}
