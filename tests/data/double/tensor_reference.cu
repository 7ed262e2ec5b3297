// SPDX-License-Identifier: MIT
extern "C" __global__ void tensor_reference(const float *in, float *out, int rows, int columns)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = at / columns, column = at % columns;
    if (row < rows)
        out[at] = row + 1 < rows && column + 4 < columns ? in[at + columns + 4] : 0.0f;
}
