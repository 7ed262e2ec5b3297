// SPDX-License-Identifier: MIT
// The energy of a row's histogram, a bin at a time.
#ifndef LENGTH
#define LENGTH 64
#endif

extern "C" __global__ void occupancy_reference(const unsigned *values, unsigned *energy, int ROWS)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= ROWS)
        return;
    unsigned sum = 0;
    for (unsigned bin = 0; bin < 16; ++bin) {
        unsigned count = 0;
        for (int i = 0; i < LENGTH; ++i)
            count += (values[(size_t)(i / 8) * ROWS + row] >> 4 * (i % 8) & 15) == bin;
        sum += count * count;
    }
    energy[row] = sum;
}
