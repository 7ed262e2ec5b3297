// y = A x for a matrix in compressed rows, a warp for each row.
#include <stddef.h>

#define WARP_SIZE 32
#define FULL_MASK 0xffffffff

typedef double real;

__global__ void spmv_csr_vector(const int *row_offsets, const int *columns, const real *values, const real *x, real *y,
                                int num_rows)
{
    int lane = threadIdx.x & (WARP_SIZE - 1);
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / WARP_SIZE;
    if (row >= num_rows)
        return;
    real sum = 0;
    for (int i = row_offsets[row] + lane; i < row_offsets[row + 1]; i += WARP_SIZE)
        sum += values[i] * x[columns[i]];
    for (int offset = WARP_SIZE / 2; offset > 0; offset >>= 1)
        sum += __shfl_down_sync(FULL_MASK, sum, offset);
    if (lane == 0)
        y[row] = sum;
}
