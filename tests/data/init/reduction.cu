// Sums of blocks; the host adds them up.
#include <cstdint>

constexpr int kWarp = 32;
constexpr int kThreads = 256;

static __device__ __forceinline__ float warp_sum(float value)
{
    for (int offset = kWarp / 2; offset > 0; offset /= 2)
        value += __shfl_down_sync(0xffffffffu, value, offset);
    return value;
}

__global__ void __launch_bounds__(kThreads) block_sums(const float *values, float *sums, uint32_t count)
{
    __shared__ float partial[kThreads / kWarp];
    float sum = 0.0f;
    for (uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < count; i += gridDim.x * kThreads)
        sum += values[i];
    sum = warp_sum(sum);
    if (threadIdx.x % kWarp == 0)
        partial[threadIdx.x / kWarp] = sum;
    __syncthreads();
    if (threadIdx.x < kWarp) {
        sum = threadIdx.x < kThreads / kWarp ? partial[threadIdx.x] : 0.0f;
        sum = warp_sum(sum);
        if (threadIdx.x == 0)
            sums[blockIdx.x] = sum;
    }
}
