/* SPDX-License-Identifier: MIT */
extern "C" __global__ void broken(float *x)
{
    x[0] = undeclared;
    int y = 3
}
