// SPDX-License-Identifier: MIT
// For tests of `hone space`, which looks for the entry's name.
extern "C" __global__ void product() {}
