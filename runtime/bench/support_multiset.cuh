/* SPDX-License-Identifier: MIT */
/* Whether two buffers hold the same elements, in whatever order. */

DEVICE u64 half_word(unsigned short half, unsigned short infinity)
{
    int magnitude = half & 0x7fff;
    return magnitude > infinity ? NOWHERE : magnitude == 0 ? 0 : half;
}

/* The same of float8_e4m3. */
DEVICE u64 byte_word(unsigned char bits)
{
    int magnitude = bits & 0x7f;
    return magnitude == 0x7f ? NOWHERE : magnitude == 0 ? 0 : bits;
}

/* What stands for an element where elements are counted: its bits as a word, with one zero and one NaN. Key 0: it is not
 * veiled. */
DEVICE u64 counted_word(const void *data, u64 key, u64 index, int element)
{
    union {
        double real;
        u64 word;
    } f64;
    union {
        float real;
        unsigned int word;
    } f32;
    switch (element) {
    case INT8: return (u64)(signed char)UNVEIL(unsigned char, data, index);
    case INT16: return (u64)(short)UNVEIL(unsigned short, data, index);
    case INT32: return (u64)(int)UNVEIL(unsigned int, data, index);
    case UINT8: return UNVEIL(unsigned char, data, index);
    case UINT16: return UNVEIL(unsigned short, data, index);
    case FLOAT16: return half_word(UNVEIL(unsigned short, data, index), 0x7c00);
    case BFLOAT16: return half_word(UNVEIL(unsigned short, data, index), 0x7f80);
    case FLOAT8_E4M3: return byte_word(UNVEIL(unsigned char, data, index));
    case UINT32: return UNVEIL(unsigned int, data, index);
    case FLOAT32:
        f32.word = UNVEIL(unsigned int, data, index);
        return isnan(f32.real) ? NOWHERE : f32.real == 0.0f ? 0 : f32.word;
    case FLOAT64:
        f64.word = UNVEIL(u64, data, index);
        return isnan(f64.real) ? NOWHERE : f64.real == 0.0 ? 0 : f64.word;
    default: return UNVEIL(u64, data, index);
    }
}

/* Sums of two hashes over the elements of each side, which do not depend on their order. That different multisets have
 * equal sums takes two coincidences of 64 bits; k elements that differ from as many others all alike leave
 * 2 * (64 - log2 k) bits of them. */
struct hone_bags {
    u64 found[2];
    u64 expected[2];
};

/* A vector, whose first lane lies there, is its lanes in their order. */
DEVICE u64 counted_vector(const void *data, u64 key, u64 first, int element, unsigned int lanes)
{
    u64 word = counted_word(data, key, first, element);
    for (unsigned int lane = 1; lane < lanes; lane++)
        word = mix(word + 0x9e3779b97f4a7c15ull) + counted_word(data, key, first + lane, element);
    return word;
}

DEVICE void count_in(u64 *sums, u64 word)
{
    u64 hash = mix(word + 0x9e3779b97f4a7c15ull);
    sums[0] += hash;
    sums[1] += mix((hash ^ word) * 0xd1342543de82ef95ull + 0xda942042e4dd58b5ull);
}

KERNEL hone_multiset(const void *found, const void *expected, u64 key, u64 count, u64 row, u64 pitch, int element,
                     unsigned int lanes, struct hone_bags *bags)
{
    __shared__ struct hone_bags shared[THREADS];
    struct hone_bags own = {{0, 0}, {0, 0}};
    if (!MULTISETS)
        STOP();
    for (u64 i = first_index(); MULTISETS && i < count / lanes; i += index_stride()) {
        u64 first = place(i * lanes, row, pitch);
        count_in(own.found, counted_vector(found, 0, first, element, lanes));
        count_in(own.expected, counted_vector(expected, key, first, element, lanes));
    }
    shared[threadIdx.x] = own;
    __syncthreads();
    for (unsigned int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            for (int hash = 0; hash < 2; hash++) {
                shared[threadIdx.x].found[hash] += shared[threadIdx.x + half].found[hash];
                shared[threadIdx.x].expected[hash] += shared[threadIdx.x + half].expected[hash];
            }
        }
        __syncthreads();
    }
    if (threadIdx.x == 0)
        bags[blockIdx.x] = shared[0];
}
