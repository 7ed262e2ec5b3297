// SPDX-License-Identifier: MIT
// out = transpose of in, an element a thread.
extern "C" __global__ void transpose_reference(const float *in, float *out, int ROWS, int COLUMNS)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    for (int row = blockIdx.y * blockDim.y + threadIdx.y; row < ROWS; row += gridDim.y * blockDim.y)
        if (column < COLUMNS)
            out[(size_t)column * ROWS + row] = in[(size_t)row * COLUMNS + column];
}
