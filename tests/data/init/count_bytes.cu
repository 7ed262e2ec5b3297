// Counts bytes; with Shared each block counts on its own first.
using uint8 = unsigned char;

template <bool Shared, int Bins = 256>
__global__ void histogram(const uint8 *__restrict__ data, unsigned int *__restrict__ counts, unsigned long long size)
{
    __shared__ unsigned int own[Shared ? Bins : 1];
    if (Shared) {
        for (int i = threadIdx.x; i < Bins; i += blockDim.x)
            own[i] = 0;
        __syncthreads();
    }
    for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x)
        atomicAdd(Shared ? &own[data[i] % Bins] : &counts[data[i] % Bins], 1u);
    __syncthreads();
    if (Shared)
        for (int i = threadIdx.x; i < Bins; i += blockDim.x)
            atomicAdd(&counts[i], own[i]);
}
