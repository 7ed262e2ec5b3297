// SPDX-License-Identifier: MIT
// The stencil, an element a thread, summed up in float64.
#ifndef RADIUS
#define RADIUS 4
#endif
#ifndef MARGIN
#define MARGIN 8
#endif

extern "C" __global__ void stencil_1d_reference(const float *in, float *out, long long SIZE, const float *coefficients)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= SIZE)
        return;
    const float *centre = in + MARGIN + i;
    double sum = (double)coefficients[0] * centre[0];
    for (int d = 1; d <= RADIUS; ++d)
        sum += coefficients[d] * ((double)centre[-d] + centre[d]);
    out[i] = (float)sum;
}
