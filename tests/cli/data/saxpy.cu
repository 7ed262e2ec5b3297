// SPDX-License-Identifier: MIT
// y = a x + y: small enough that a test can compile all of its variants.
#ifndef BLOCK
#define BLOCK 128
#endif
#ifndef ITEMS
#define ITEMS 1
#endif
#ifndef LOAD
#define LOAD_plain 1
#define LOAD_ldg 2
#define LOAD LOAD_plain
#endif

extern "C" __global__ void saxpy(float a, const float *x, float *y, int n)
{
    for (int item = 0; item < ITEMS; ++item) {
        const int i = (blockIdx.x * ITEMS + item) * BLOCK + threadIdx.x;
        if (i < n)
#if LOAD == LOAD_ldg
            y[i] += a * __ldg(&x[i]);
#else
            y[i] += a * x[i];
#endif
    }
}
