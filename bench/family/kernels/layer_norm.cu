// SPDX-License-Identifier: MIT
// y = (x - mean) / sqrt(variance + epsilon) * gain + shift, for each row: THREADS lanes a row, ROWS rows a block.
template <int N> struct alignas(4 * N) pack { float v[N]; };

// The sum over the lanes of a row.
__device__ float sum_of_row(float value, float *room)
{
    for (int step = (THREADS < 32 ? THREADS : 32) / 2; step > 0; step /= 2)
        value += __shfl_xor_sync(0xffffffff, value, step);
    if (THREADS > 32) {
        if (threadIdx.x % 32 == 0)
            room[threadIdx.x / 32] = value;
        __syncthreads();
        value = 0;
        for (int i = 0; i < THREADS / 32; i++)
            value += room[i];
        __syncthreads();
    }
    return value;
}

extern "C" __global__ void __launch_bounds__(THREADS * ROWS)
layer_norm(const float *__restrict__ x, const float *__restrict__ gain, const float *__restrict__ shift, float *__restrict__ y, int rows,
           int columns)
{
    extern __shared__ float kept[];
    __shared__ float rooms[ROWS][32];
    const int row = blockIdx.x * ROWS + threadIdx.y;
    const bool there = row < rows;
    const pack<VEC> *from = reinterpret_cast<const pack<VEC> *>(x + (size_t)(there ? row : 0) * columns);
    pack<VEC> *own = reinterpret_cast<pack<VEC> *>(kept + (size_t)threadIdx.y * columns);
    float sum = 0, squares = 0;
    #pragma unroll UNROLL
    for (int i = threadIdx.x; i < columns / VEC; i += THREADS) {
        pack<VEC> p = from[i];
        if (KEEP)
            own[i] = p;
        for (int k = 0; k < VEC; k++) {
            sum += p.v[k];
            squares += p.v[k] * p.v[k];
        }
    }
    const float mean = sum_of_row(sum, rooms[threadIdx.y]) / columns;
    const float variance = fmaxf(sum_of_row(squares, rooms[threadIdx.y]) / columns - mean * mean, 0.0f);
    const float scale = rsqrtf(variance + 1e-5f);
    pack<VEC> *to = reinterpret_cast<pack<VEC> *>(y + (size_t)(there ? row : 0) * columns);
    #pragma unroll UNROLL
    for (int i = threadIdx.x; i < columns / VEC; i += THREADS) {
        pack<VEC> p = KEEP ? own[i] : from[i], g = reinterpret_cast<const pack<VEC> *>(gain)[i],
                  s = reinterpret_cast<const pack<VEC> *>(shift)[i];
        for (int k = 0; k < VEC; k++)
            p.v[k] = (p.v[k] - mean) * scale * g.v[k] + s.v[k];
        if (there)
            to[i] = p;
    }
}
