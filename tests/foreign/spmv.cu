// SPDX-License-Identifier: MIT
// y = A x of a matrix in CSR, some threads a row.
#include <cstdint>

template <typename Index, typename Value, int Width>
__global__ void spmv(const Index *__restrict__ starts, const Index *__restrict__ columns, const Value *__restrict__ values,
                     const Value *__restrict__ x, Value *__restrict__ y, std::uint32_t rows)
{
    const std::uint32_t row = (blockIdx.x * blockDim.x + threadIdx.x) / Width;
    const int lane = threadIdx.x % Width;
    Value sum{};
    if (row < rows)
        for (Index i = starts[row] + lane; i < starts[row + 1]; i += Width)
            sum += values[i] * x[columns[i]];
    for (int step = Width / 2; step > 0; step /= 2)
        sum += __shfl_down_sync(UINT32_MAX, sum, step, Width);
    if (row < rows && lane == 0)
        y[row] = sum;
}
