// SPDX-License-Identifier: MIT
// For tests of `hone space`, which looks for the names of the entry and of the parameters.
extern "C" __global__ void product()
{
    int tile = TILE, load = LOAD;
}
