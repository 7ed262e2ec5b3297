// SPDX-License-Identifier: MIT
// The sum of a structure's members, found where the layout puts them.
#ifndef MEMBERS
#define MEMBERS 3
#endif
#ifndef USED
#define USED_all 1
#define USED_first 2
#define USED USED_all
#endif
#ifndef LAYOUT
#define LAYOUT_aos 1
#define LAYOUT_aos_aligned 2
#define LAYOUT_soa 3
#define LAYOUT LAYOUT_aos
#endif
#ifndef PITCH
#define PITCH 0
#endif

extern "C" __global__ void struct_layout_reference(const float *in, float *out, int WIDTH, int HEIGHT)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column >= WIDTH)
        return;
    const size_t pitch = PITCH ? (WIDTH + 31) / 32 * 32 : WIDTH, i = row * pitch + column;
    const size_t between = LAYOUT == LAYOUT_aos ? MEMBERS : (MEMBERS + 3) / 4 * 4; // structures, in floats
    double sum = 0;
    for (int m = 0; m < (USED == USED_first ? 1 : MEMBERS); ++m)
        sum += LAYOUT == LAYOUT_soa ? in[m * HEIGHT * pitch + i] : in[i * between + m];
    out[(size_t)row * WIDTH + column] = (float)sum;
}
