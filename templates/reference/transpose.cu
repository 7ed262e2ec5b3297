// SPDX-License-Identifier: MIT
// out = transpose of in, an element a thread.
extern "C" __global__ void transpose_reference(const float *in, float *out, int ROWS, int COLUMNS)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < ROWS && column < COLUMNS)
        out[(size_t)column * ROWS + row] = in[(size_t)row * COLUMNS + column];
}
