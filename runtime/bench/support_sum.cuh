/* SPDX-License-Identifier: MIT */
/* A checksum of a buffer, and the sum of its elements. */

DEVICE void store_block_sum(u64 own, u64 *sums)
{
    __shared__ u64 shared[THREADS];
    shared[threadIdx.x] = own;
    __syncthreads();
    for (unsigned int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            shared[threadIdx.x] += shared[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = shared[0];
}

DEVICE u64 mix_word(u64 word, u64 index) { return mix(word + (index + 1) * 0x9e3779b97f4a7c15ull); }

DEVICE u64 mix_byte(unsigned char byte, u64 index) { return mix(byte + (index + 1) * 0xd1342543de82ef95ull); }

/* The sum of all words, each mixed with its place: does not depend on the order of summation. What does not begin at a
 * word goes by its bytes. */
KERNEL hone_checksum(const void *data, u64 bytes, u64 *sums)
{
    u64 own = 0;
    u64 words = (u64)data % 8 == 0 ? bytes / 8 : 0;
    for (u64 i = first_index(); i < words; i += index_stride())
        own += mix_word(((const u64 *)data)[i], i);
    for (u64 i = words * 8 + first_index(); i < bytes; i += index_stride())
        own += mix_byte(((const unsigned char *)data)[i], i);
    store_block_sum(own, sums);
}

#define SUM_AS(type)                                                                                                   \
    for (u64 i = first_index(); i < count; i += index_stride())                                                        \
    own += (double)((const type *)data)[i]

#define SUM_NARROW(type, fraction_bits)                                                                                \
    for (u64 i = first_index(); i < count; i += index_stride())                                                        \
    own += widen(((const type *)data)[i], fraction_bits)

/* The sum of the elements, for the mean of a metric buffer. */
KERNEL hone_sum(const void *data, u64 count, int element, double *sums)
{
    __shared__ double shared[THREADS];
    double own = 0.0;
    require_use(element, UNIFORM);
    switch (element) {
    CASE(INT8, SUM_AS(signed char))
    CASE(INT16, SUM_AS(short))
    CASE(INT32, SUM_AS(int))
    CASE(INT64, SUM_AS(long long))
    CASE(UINT8, SUM_AS(unsigned char))
    CASE(UINT16, SUM_AS(unsigned short))
    CASE(UINT32, SUM_AS(unsigned int))
    CASE(UINT64, SUM_AS(u64))
    CASE(FLOAT32, SUM_AS(float))
    CASE(FLOAT64, SUM_AS(double))
    CASE(FLOAT16, SUM_NARROW(unsigned short, 10))
    CASE(BFLOAT16, SUM_NARROW(unsigned short, 7))
    CASE(FLOAT8_E4M3, SUM_NARROW(unsigned char, 3))
    }
    shared[threadIdx.x] = own;
    __syncthreads();
    for (unsigned int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            shared[threadIdx.x] += shared[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = shared[0];
}
