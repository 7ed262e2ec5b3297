// SPDX-License-Identifier: MIT
// Adds the left and the right neighbour of each element of a field, itself at the edges, read in the way that PATH names,
// from rows that begin at a pitch into rows that begin at another. FAULT 1 writes between the rows, which nobody looks
// at; 2 reads there, where nothing belongs to the field; 3 has one element wrong.
#ifndef PATH
#define PATH_global 1
#define PATH_texture_1d 2
#define PATH_texture_2d 3
#define PATH PATH_global
#define PAD 0
#define FAULT 0
#endif

extern "C" __device__ const int hone_double[] = {PATH, PAD, FAULT};

extern "C" __global__ void field(const float *in, cudaTextureObject_t line, cudaTextureObject_t plane, float2 *out,
                                 unsigned char *rows, int width, int height, long long in_pitch, long long out_pitch,
                                 long long rows_pitch)
{
    const int row = blockIdx.x;
    const int per_row = (int)(in_pitch / 4);
    for (int column = threadIdx.x; column < width; column += blockDim.x) {
        const int left = column > 0 ? column - 1 : 0;
        const int right = column < width - 1 ? column + 1 : column + (FAULT == 2);
        float2 sides;
#if PATH == PATH_texture_1d
        sides = make_float2(tex1Dfetch<float>(line, row * per_row + left), tex1Dfetch<float>(line, row * per_row + right));
#elif PATH == PATH_texture_2d
        sides = make_float2(tex2D<float>(plane, column - 0.5f, row + 0.5f), tex2D<float>(plane, column + 1.5f, row + 0.5f));
#else
        sides = make_float2(in[row * per_row + left], in[row * per_row + right]);
#endif
        if (FAULT == 3 && row == 2 && column == 5)
            sides.y += 1.0f;
        *(float2 *)((char *)out + row * out_pitch + 8 * column) = sides;
        rows[row * rows_pitch + column] = 1;
    }
    if (FAULT == 1 && threadIdx.x == 0)
        *(float *)((char *)out + row * out_pitch + 8 * width) = 7.0f;
}
