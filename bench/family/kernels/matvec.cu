// SPDX-License-Identifier: MIT
// y = A x: THREADS lanes share a row, ROWS rows a block at a time.
template <int N> struct alignas(4 * N) pack { float v[N]; };

extern "C" __global__ void __launch_bounds__(THREADS * ROWS)
matvec(const float *__restrict__ a, const float *__restrict__ x, float *__restrict__ y, int rows, int columns)
{
    __shared__ float rooms[ROWS][32];
    const int row = blockIdx.x * ROWS + threadIdx.y;
    const pack<VEC> *line = reinterpret_cast<const pack<VEC> *>(a + (size_t)(row < rows ? row : rows - 1) * columns);
    const pack<VEC> *vector = reinterpret_cast<const pack<VEC> *>(x);
    const int words = columns / VEC;
    float sum = 0;
    for (int base = threadIdx.x; base < words; base += THREADS * AHEAD) {
        pack<VEC> mine[AHEAD];
        #pragma unroll
        for (int u = 0; u < AHEAD; u++)
            if (base + u * THREADS < words)
                mine[u] = line[base + u * THREADS];
        #pragma unroll
        for (int u = 0; u < AHEAD; u++)
            if (base + u * THREADS < words) {
                const pack<VEC> other = vector[base + u * THREADS];
                #pragma unroll
                for (int k = 0; k < VEC; k++)
                    sum += mine[u].v[k] * other.v[k];
            }
    }
    #pragma unroll
    for (int step = (THREADS < 32 ? THREADS : 32) / 2; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, step);
    if (THREADS > 32) {
        if (threadIdx.x % 32 == 0)
            rooms[threadIdx.y][threadIdx.x / 32] = sum;
        __syncthreads();
        sum = 0;
        for (int i = 0; i < THREADS / 32; i++)
            sum += rooms[threadIdx.y][i];
    }
    if (threadIdx.x == 0 && row < rows)
        y[row] = sum;
}
