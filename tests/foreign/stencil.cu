/* SPDX-License-Identifier: MIT */
/* One step of heat conduction on a grid; the border keeps its temperature.  nvcc -DBX=32 -DBY=8 stencil.cu */
#include <stdio.h>

#define IDX(x, y, z) (((z) * ny + (y)) * nx + (x))

__global__ void heat(const double *__restrict__ now, double *__restrict__ next, int nx, int ny, int nz, double k)
{
    int x = blockIdx.x * BX + threadIdx.x;
    int y = blockIdx.y * BY + threadIdx.y;
    if (nx < 3 || ny < 3 || nz < 3) {
        if (x == 0 && y == 0)
            printf("grid too small: %d x %d x %d\n", nx, ny, nz);
        return;
    }
    if (x < 1 || x >= nx - 1 || y < 1 || y >= ny - 1)
        return;
#pragma unroll UNROLL
    for (int z = 1; z < nz - 1; z++) {
        double around = now[IDX(x - 1, y, z)] + now[IDX(x + 1, y, z)] + now[IDX(x, y - 1, z)] + now[IDX(x, y + 1, z)] +
                        now[IDX(x, y, z - 1)] + now[IDX(x, y, z + 1)];
        next[IDX(x, y, z)] = now[IDX(x, y, z)] + k * (around - 6.0 * now[IDX(x, y, z)]);
    }
}
