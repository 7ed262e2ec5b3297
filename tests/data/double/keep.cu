// SPDX-License-Identifier: MIT
// Keeps the elements above a threshold, in an order to choose, and says how many they are; goes wrong in the way that
// FAULT names: 1 changes one of them, 2 writes one twice and another not, 3 miscounts by one.
#ifndef ORDER
#define ORDER_forward 1
#define ORDER ORDER_forward
#define FAULT 0
#endif

extern "C" __device__ const int hone_double[] = {ORDER == ORDER_forward, FAULT};

extern "C" __global__ void keep(const float *x, float *out, unsigned int *kept, float threshold, int n)
{
    if (threadIdx.x != 0)
        return;
    unsigned int count = 0;
    for (int i = 0; i < n; i++) {
        const float value = x[ORDER == ORDER_forward ? i : n - 1 - i];
        if (value > threshold)
            out[count++] = value;
    }
    if (FAULT == 1)
        out[count / 2] = 0.25f;
    if (FAULT == 2)
        out[0] = out[1];
    *kept = count + (FAULT == 3);
}
