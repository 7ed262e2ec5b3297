// SPDX-License-Identifier: MIT
// Results of narrow types and of vectors, all exact: a with its sign turned, b as floats, and pairs in an order to
// choose. FAULT 1 is off by one unit in the last place of a small number, which is tolerated; 2 is off by 1 in a float16,
// 3 in the third lane of a float4; 4 mixes up two pairs; 5 writes a NaN.
#ifndef ORDER
#define ORDER 0
#define FAULT 0
#endif

extern "C" __device__ const int hone_double[] = {ORDER, FAULT};

extern "C" __global__ void types(const unsigned short *a, const ushort2 *b, unsigned short *turned, float4 *wide,
                                 uint2 *pairs, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        turned[i] = a[i] ^ 0x8000;
    for (int i = threadIdx.x; i < n / 4; i += blockDim.x) {
        const ushort2 low = b[2 * i];
        const ushort2 high = b[2 * i + 1];
        wide[i] = make_float4(__int_as_float(low.x << 16), __int_as_float(low.y << 16), __int_as_float(high.x << 16),
                              __int_as_float(high.y << 16));
        if (FAULT == 3 && i == 5)
            wide[i].z += 1.0f;
    }
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        pairs[ORDER ? n - 1 - i : i] = make_uint2(i / 2, a[i]);
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    if (FAULT == 1)
        turned[7] ^= 1;
    if (FAULT == 2)
        turned[7] = 0x4900; /* 10 */
    if (FAULT == 4) {
        const unsigned int kept = pairs[0].y;
        pairs[0].y = pairs[n - 1].y;
        pairs[n - 1].y = kept;
    }
    if (FAULT == 5)
        turned[9] = 0x7e00;
}
