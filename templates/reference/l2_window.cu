// SPDX-License-Identifier: MIT
// The product of stream and table, a float at a time.
extern "C" __global__ void l2_window_reference(const float *in, const float *table, float *out, unsigned words,
                                               unsigned table_words)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 4 * words)
        out[i] = (float)((double)in[i] * table[i % (4 * table_words)]);
}
