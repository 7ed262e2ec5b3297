/* SPDX-License-Identifier: MIT */
/* Only its instantiation is tested: every argument of the template and every macro is used. */
#ifndef VARIANT
#define VARIANT_simple 1
#define VARIANT_tile 2
#define VARIANT_tile_ab 3
#define VARIANT VARIANT_tile_ab
#endif

template <int T, int V, int k, int L, int m, int P> __global__ void tiled(const float *A, float *C, long long *clocks)
{
#if VARIANT == VARIANT_simple
    C[0] = A[0] * T + k;
#else
    C[threadIdx.x] = A[threadIdx.x] * SCALE + L + P + V + m + (FAST ? 1 : 2);
#endif
    clocks[blockIdx.x] = 1;
}

extern "C" __global__ void finish(float *C, int rows)
{
    C[threadIdx.x] += rows;
}
