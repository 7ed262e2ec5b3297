// SPDX-License-Identifier: MIT
extern "C" __global__ void layer_norm_reference(const float *x, const float *gain, const float *shift, float *y, int rows, int columns)
{
    const int row = blockIdx.x, lane = threadIdx.x;
    __shared__ double sums[2][256];
    double sum = 0, squares = 0;
    for (int i = lane; i < columns; i += 256) {
        double v = x[(size_t)row * columns + i];
        sum += v;
        squares += v * v;
    }
    sums[0][lane] = sum;
    sums[1][lane] = squares;
    for (int step = 128; step > 0; step /= 2) {
        __syncthreads();
        if (lane < step) {
            sums[0][lane] += sums[0][lane + step];
            sums[1][lane] += sums[1][lane + step];
        }
    }
    __syncthreads();
    const double mean = sums[0][0] / columns, scale = rsqrt(sums[1][0] / columns - mean * mean + 1e-5);
    for (int i = lane; i < columns; i += 256)
        y[(size_t)row * columns + i] = (float)((x[(size_t)row * columns + i] - mean) * scale * gain[i] + shift[i]);
}
