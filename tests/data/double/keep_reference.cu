// SPDX-License-Identifier: MIT
extern "C" __global__ void keep_reference(const float *x, float *out, unsigned int *kept, float threshold, int n)
{
    unsigned int count = 0;
    for (int i = 0; i < n; i++)
        if (x[i] > threshold)
            out[count++] = x[i];
    *kept = count;
}
