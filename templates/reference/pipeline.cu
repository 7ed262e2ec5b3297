// SPDX-License-Identifier: MIT
// The same steps in float64, an element a thread.
extern "C" __global__ void pipeline_reference(const float *x, float *y, long long n, int WORK)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double value = 0;
    for (int step = 0; step < WORK; ++step)
        value = (double)0.9995f * value + x[i];
    y[i] = (float)value;
}
