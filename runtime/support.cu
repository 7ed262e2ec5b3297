/* SPDX-License-Identifier: MIT */
/* The kernels that Hone itself runs around a variant: they fill and poison buffers, check guard zones and inputs,
 * compare outputs, read the L2 cache clean and hold the device back while work is queued. Written in the C that CUDA
 * C++ and C share, so that the driver double runs this very text on the CPU, with blocks of one thread.
 *
 * Every kernel takes any grid and blocks of up to THREADS threads. Results are one entry a block; the host joins them,
 * so that nothing has to be zeroed before and no atomics are needed. */
#ifdef __CUDACC_RTC__
#define KERNEL extern "C" __global__ void __launch_bounds__(256)
#define DEVICE static __device__ __forceinline__
#define STOP() __trap()
#endif

#define THREADS 256
#define NOWHERE 0xffffffffffffffffull

/* Bits of the element types and of the fills that a plan uses, and whether it compares multisets: the rest is left out, because every tune waits for these
 * kernels to be compiled. */
#ifndef ELEMENTS
#define ELEMENTS 0xffffffffu
#endif
#ifndef FILLS
#define FILLS 0xffffffffu
#endif
#ifndef MULTISETS
#define MULTISETS 1
#endif
#define USES(set, member) ((set) >> (member) & 1u)

typedef unsigned long long u64;

enum element { INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, FLOAT32, FLOAT64, FLOAT16, BFLOAT16 };
enum fill_kind { UNIFORM, NORMAL, IOTA, CONSTANT, PERMUTATION, SKEWED, ZIPF };

/* What was left out must not be asked for: doing nothing would look like success. */
DEVICE void require_use(int element, int kind)
{
    if (!USES(ELEMENTS, element) || !USES(FILLS, kind))
        STOP();
}

/* splitmix64's finalizer (Steele, Lea, Flood 2014): a hash of 64 bits to 64 bits. */
DEVICE u64 mix(u64 z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

DEVICE u64 random_word(u64 seed, u64 index)
{
    return mix(seed + (index + 1) * 0x9e3779b97f4a7c15ull);
}

/* Uniform in [0, 1) with 53 bits. */
DEVICE double unit(u64 word)
{
    return (double)(word >> 11) * 1.1102230246251565e-16;
}

DEVICE u64 first_index(void)
{
    return (u64)blockIdx.x * blockDim.x + threadIdx.x;
}

DEVICE u64 index_stride(void)
{
    return (u64)gridDim.x * blockDim.x;
}

/* Where an element lies whose row has `row` of them, `pitch` after the row before; one after the other where row is 0. */
DEVICE u64 place(u64 index, u64 row, u64 pitch)
{
    return row == 0 ? index : index / row * pitch + index % row;
}

/* The formats of 16 bits by their numbers of fraction bits, 10 (float16) and 7 (bfloat16), without CUDA's headers for
 * them: what is nearest to x, ties to even. */
DEVICE unsigned short narrow(double x, int fraction_bits)
{
    int bias = fraction_bits == 10 ? 15 : 127;
    int infinity = (2 * bias + 1) << fraction_bits;
    int sign = signbit(x) ? 0x8000 : 0;
    int exponent = 0;
    if (isnan(x))
        return (unsigned short)(sign | infinity | 1 << (fraction_bits - 1));
    if (isinf(x) || x == 0.0)
        return (unsigned short)(sign | (x == 0.0 ? 0 : infinity));
    frexp(fabs(x), &exponent);
    if (exponent < 2 - bias)
        exponent = 2 - bias; /* of the numbers without a leading one */
    double units = rint(ldexp(fabs(x), fraction_bits + 1 - exponent));
    int bits = (int)units + ((exponent - 2 + bias) << fraction_bits);
    return (unsigned short)(sign | (bits > infinity ? infinity : bits));
}

/* bfloat16 is the upper half of a float; a float16 has its bits at their places after a shift, but 112 too small an
 * exponent. */
DEVICE double widen(unsigned short half, int fraction_bits)
{
    union {
        unsigned int word;
        float real;
    } value;
    if (fraction_bits == 7) {
        value.word = (unsigned int)half << 16;
        return (double)value.real;
    }
    value.word = (unsigned int)(half & 0x7fff) << 13;
    if (value.word >= 0x0f800000u)
        value.word |= 0x7f800000u;
    else
        value.real *= 5.192296858534828e33f; /* 2^112 */
    return half & 0x8000 ? -(double)value.real : (double)value.real;
}

/* Zipf's distribution over 1 to n by rejection-inversion: a point under the hat t^-s, whose integral can be inverted,
 * falls at a number k or is thrown away (Hoermann and Derflinger, "Rejection-inversion to generate variates from
 * monotone discrete distributions", 1996). */
struct zipf {
    double n, s;
    double low, high; /* integrals of the hat to 3/2 less the whole first bar, and to n + 1/2 */
    double sure;      /* k - x below this needs no test */
};

/* The integral of t^-s from 1 to x, and its inverse. */
DEVICE double hat_area(double x, double s)
{
    return s == 1.0 ? log(x) : expm1((1.0 - s) * log(x)) / (1.0 - s);
}

DEVICE double hat_place(double area, double s)
{
    double t = (1.0 - s) * area;
    return s == 1.0 ? exp(area) : exp(log1p(t > -1.0 ? t : -1.0) / (1.0 - s));
}

DEVICE struct zipf prepare_zipf(double n, double s)
{
    struct zipf zipf = {n, s, hat_area(1.5, s) - 1.0, hat_area(n + 0.5, s),
                        2.0 - hat_place(hat_area(2.5, s) - pow(2.0, -s), s)};
    return zipf;
}

DEVICE double draw_zipf(struct zipf zipf, u64 word)
{
    double k = 1.0;
    for (int round = 0; round < 64; round++) {
        double area = zipf.high + unit(word) * (zipf.low - zipf.high);
        double x = hat_place(area, zipf.s);
        k = floor(x + 0.5);
        k = k < 1.0 ? 1.0 : k > zipf.n ? zipf.n : k;
        if (k - x <= zipf.sure || area >= hat_area(k + 0.5, zipf.s) - pow(k, -zipf.s))
            break;
        word = mix(word + 0x9e3779b97f4a7c15ull);
    }
    return k - 1.0;
}

/* A permutation of the numbers under `count`: a Feistel network over a power of four that is not much larger, gone
 * through again until the number is one of them (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002). */
DEVICE u64 permute(u64 index, u64 count, u64 seed)
{
    unsigned int bits = 1;
    while (bits < 32 && (1ull << (2 * bits)) < count)
        bits++;
    u64 mask = (1ull << bits) - 1;
    do {
        u64 left = index >> bits;
        u64 right = index & mask;
        for (u64 round = 1; round <= 6; round++) {
            u64 next = left ^ (mix(right + seed * round) & mask);
            left = right;
            right = next;
        }
        index = left << bits | right;
    } while (index >= count);
    return index;
}

/* A fill, with what its elements have in common. */
struct recipe {
    int kind;
    int integer;
    double a, b;
    u64 seed;
    u64 count;
    struct zipf zipf;
};

DEVICE double fill_value(const struct recipe *recipe, u64 index)
{
    double a = recipe->a;
    double b = recipe->b;
    u64 word = random_word(recipe->seed, index);
    if (USES(FILLS, CONSTANT) && recipe->kind == CONSTANT)
        return a;
    if (USES(FILLS, IOTA) && recipe->kind == IOTA)
        return a + b * (double)index;
    if (USES(FILLS, NORMAL) && recipe->kind == NORMAL)
        return a + b * sqrt(-2.0 * log(1.0 - unit(word))) * cos(6.283185307179586 * unit(mix(word)));
    if (USES(FILLS, PERMUTATION) && recipe->kind == PERMUTATION)
        return (double)permute(index, recipe->count, recipe->seed | 1);
    if (USES(FILLS, SKEWED) && recipe->kind == SKEWED)
        return unit(word) < b ? 0.0 : floor(a * unit(mix(word)));
    if (USES(FILLS, ZIPF) && recipe->kind == ZIPF)
        return draw_zipf(recipe->zipf, word);
    if (recipe->integer) {
        double value = floor(a + (b - a + 1.0) * unit(word));
        return value > b ? b : value;
    }
    return a + (b - a) * unit(word);
}

#define CASE(element, ...)                                                                                             \
    case element:                                                                                                      \
        if (USES(ELEMENTS, element)) {                                                                                 \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
        break;

DEVICE void store(void *data, u64 index, int element, double value)
{
    switch (element) {
    CASE(INT8, ((signed char *)data)[index] = (signed char)value)
    CASE(INT16, ((short *)data)[index] = (short)value)
    CASE(INT32, ((int *)data)[index] = (int)value)
    CASE(INT64, ((long long *)data)[index] = (long long)value)
    CASE(UINT8, ((unsigned char *)data)[index] = (unsigned char)value)
    CASE(UINT16, ((unsigned short *)data)[index] = (unsigned short)value)
    CASE(UINT32, ((unsigned int *)data)[index] = (unsigned int)value)
    CASE(UINT64, ((u64 *)data)[index] = (u64)value)
    CASE(FLOAT32, ((float *)data)[index] = (float)value)
    CASE(FLOAT64, ((double *)data)[index] = value)
    CASE(FLOAT16, ((unsigned short *)data)[index] = narrow(value, 10))
    CASE(BFLOAT16, ((unsigned short *)data)[index] = narrow(value, 7))
    }
}

/* Element i depends on seed and i only; the host mixes the argument's index into the seed. One loop for all types: each
 * copy of it would take a third of a second to compile, which every tune waits for. */
KERNEL hone_fill(void *data, u64 count, u64 row, u64 pitch, int element, int kind, double a, double b, u64 seed)
{
    struct recipe recipe = {kind, element < FLOAT32, a, b, seed, count, {0.0, 0.0, 0.0, 0.0, 0.0}};
    require_use(element, kind);
    if (USES(FILLS, ZIPF) && kind == ZIPF)
        recipe.zipf = prepare_zipf(a, b);
    for (u64 i = first_index(); i < count; i += index_stride())
        store(data, place(i, row, pitch), element, fill_value(&recipe, i));
}

/* Fills an output with what no kernel writes: NaN for reals where seed is 0; otherwise bits that depend on seed and
 * place, of a magnitude from 1 to 2 for reals. */
KERNEL hone_poison(void *data, u64 count, int element, u64 seed)
{
    u64 first = first_index();
    u64 stride = index_stride();
    if (element == FLOAT64) {
        for (u64 i = first; i < count; i += stride)
            ((u64 *)data)[i] =
                seed == 0 ? NOWHERE : (random_word(seed, i) & 0x800fffffffffffffull) | 0x3ff0000000000000ull;
    } else if (element == FLOAT32) {
        for (u64 i = first; i < count; i += stride)
            ((unsigned int *)data)[i] =
                seed == 0 ? 0xffffffffu : ((unsigned int)random_word(seed, i) & 0x807fffffu) | 0x3f800000u;
    } else if (element == FLOAT16 || element == BFLOAT16) {
        unsigned int kept = element == FLOAT16 ? 0x83ffu : 0x807fu;
        unsigned int one = element == FLOAT16 ? 0x3c00u : 0x3f80u;
        for (u64 i = first; i < count; i += stride)
            ((unsigned short *)data)[i] =
                (unsigned short)(seed == 0 ? 0xffffu : ((unsigned int)random_word(seed, i) & kept) | one);
    } else {
        u64 bytes = count << (element & 3); /* both runs of integer types go 1, 2, 4, 8 bytes */
        for (u64 i = first; i < bytes; i += stride)
            ((unsigned char *)data)[i] = (unsigned char)random_word(seed, i);
    }
}

/* A guard zone: `bytes` bytes from `start` on. */
struct hone_zone {
    u64 start;
    u64 bytes;
};

/* Offsets in a zone of the first and the last byte that changed; NOWHERE when none did. */
struct hone_damage {
    u64 first;
    u64 last;
};

DEVICE unsigned char guard_byte(u64 address)
{
    return (unsigned char)(mix(address >> 3) >> ((address & 7) * 8));
}

/* One block a zone. */
KERNEL hone_write_zones(const struct hone_zone *zones)
{
    struct hone_zone zone = zones[blockIdx.x];
    for (u64 i = threadIdx.x; i < zone.bytes; i += blockDim.x)
        *(unsigned char *)(zone.start + i) = guard_byte(zone.start + i);
}

KERNEL hone_check_zones(const struct hone_zone *zones, struct hone_damage *damage)
{
    __shared__ struct hone_damage shared[THREADS];
    struct hone_zone zone = zones[blockIdx.x];
    struct hone_damage own = {NOWHERE, 0};
    for (u64 i = threadIdx.x; i < zone.bytes; i += blockDim.x) {
        if (*(const unsigned char *)(zone.start + i) == guard_byte(zone.start + i))
            continue;
        if (own.first == NOWHERE)
            own.first = i;
        own.last = i;
    }
    shared[threadIdx.x] = own;
    __syncthreads();
    for (unsigned int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            struct hone_damage other = shared[threadIdx.x + half];
            struct hone_damage *mine = &shared[threadIdx.x];
            mine->first = other.first < mine->first ? other.first : mine->first;
            mine->last = other.last > mine->last ? other.last : mine->last;
        }
        __syncthreads();
    }
    if (threadIdx.x == 0)
        damage[blockIdx.x] = shared[0];
}

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

/* The sum of all words, each mixed with its place: does not depend on the order of summation. data is aligned to 8. */
KERNEL hone_checksum(const void *data, u64 bytes, u64 *sums)
{
    u64 own = 0;
    u64 words = bytes / 8;
    for (u64 i = first_index(); i < words; i += index_stride())
        own += mix(((const u64 *)data)[i] + (i + 1) * 0x9e3779b97f4a7c15ull);
    for (u64 i = words * 8 + first_index(); i < bytes; i += index_stride())
        own += mix(((const unsigned char *)data)[i] + (i + 1) * 0xd1342543de82ef95ull);
    store_block_sum(own, sums);
}

/* What a block found: the largest |x - r| and where, the largest |r|, and the first place where one of the two is NaN
 * or infinite and the other is not the same. */
struct hone_difference {
    double max_error;
    double max_reference;
    u64 worst;
    u64 misplaced;
};

DEVICE struct hone_difference join(struct hone_difference a, struct hone_difference b)
{
    if (b.max_error > a.max_error || (b.max_error == a.max_error && b.worst < a.worst)) {
        a.max_error = b.max_error;
        a.worst = b.worst;
    }
    if (b.max_reference > a.max_reference)
        a.max_reference = b.max_reference;
    if (b.misplaced < a.misplaced)
        a.misplaced = b.misplaced;
    return a;
}

DEVICE void store_block_difference(struct hone_difference own, struct hone_difference *differences)
{
    __shared__ struct hone_difference shared[THREADS];
    shared[threadIdx.x] = own;
    __syncthreads();
    for (unsigned int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            shared[threadIdx.x] = join(shared[threadIdx.x], shared[threadIdx.x + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        differences[blockIdx.x] = shared[0];
}

DEVICE void compare_one(struct hone_difference *own, double x, double r, u64 index)
{
    if (!isfinite(x) || !isfinite(r)) {
        int same = x == r || (isnan(x) && isnan(r));
        if (!same && index < own->misplaced)
            own->misplaced = index;
        return;
    }
    double error = fabs(x - r);
    if (error > own->max_error) {
        own->max_error = error;
        own->worst = index;
    }
    if (fabs(r) > own->max_reference)
        own->max_reference = fabs(r);
}

#define COMPARE_REALS(type)                                                                                            \
    for (u64 i = first_index(); i < count; i += index_stride())                                                        \
    compare_one(&own, (double)((const type *)found)[place(i, row, pitch)],                                             \
                (double)((const type *)expected)[place(i, row, pitch)], i)

#define COMPARE_HALVES(fraction_bits)                                                                                  \
    for (u64 i = first_index(); i < count; i += index_stride())                                                        \
    compare_one(&own, widen(((const unsigned short *)found)[place(i, row, pitch)], fraction_bits),                     \
                widen(((const unsigned short *)expected)[place(i, row, pitch)], fraction_bits), i)

/* Two 64-bit integers that differ can be equal as doubles; they still count as 1 apart. */
#define COMPARE_INTEGERS(type)                                                                                         \
    for (u64 i = first_index(); i < count; i += index_stride()) {                                                      \
        type x = ((const type *)found)[place(i, row, pitch)];                                                          \
        type r = ((const type *)expected)[place(i, row, pitch)];                                                                          \
        double apart = fabs((double)x - (double)r);                                                                    \
        double error = x == r ? 0.0 : apart < 1.0 ? 1.0 : apart;                                                       \
        if (error > own.max_error) {                                                                                   \
            own.max_error = error;                                                                                     \
            own.worst = i;                                                                                             \
        }                                                                                                              \
        if (fabs((double)r) > own.max_reference)                                                                       \
            own.max_reference = fabs((double)r);                                                                       \
    }

KERNEL hone_compare(const void *found, const void *expected, u64 count, u64 row, u64 pitch, int element,
                    struct hone_difference *differences)
{
    struct hone_difference own = {0.0, 0.0, NOWHERE, NOWHERE};
    require_use(element, UNIFORM);
    switch (element) {
    CASE(INT8, COMPARE_INTEGERS(signed char))
    CASE(INT16, COMPARE_INTEGERS(short))
    CASE(INT32, COMPARE_INTEGERS(int))
    CASE(INT64, COMPARE_INTEGERS(long long))
    CASE(UINT8, COMPARE_INTEGERS(unsigned char))
    CASE(UINT16, COMPARE_INTEGERS(unsigned short))
    CASE(UINT32, COMPARE_INTEGERS(unsigned int))
    CASE(UINT64, COMPARE_INTEGERS(u64))
    CASE(FLOAT32, COMPARE_REALS(float))
    CASE(FLOAT64, COMPARE_REALS(double))
    CASE(FLOAT16, COMPARE_HALVES(10))
    CASE(BFLOAT16, COMPARE_HALVES(7))
    }
    store_block_difference(own, differences);
}

DEVICE u64 half_word(unsigned short half, unsigned short infinity)
{
    int magnitude = half & 0x7fff;
    return magnitude > infinity ? NOWHERE : magnitude == 0 ? 0 : half;
}

/* What stands for an element where elements are counted: its bits as a word, with one zero and one NaN. */
DEVICE u64 counted_word(const void *data, u64 index, int element)
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
    case INT8: return (u64)((const signed char *)data)[index];
    case INT16: return (u64)((const short *)data)[index];
    case INT32: return (u64)((const int *)data)[index];
    case UINT8: return ((const unsigned char *)data)[index];
    case UINT16: return ((const unsigned short *)data)[index];
    case FLOAT16: return half_word(((const unsigned short *)data)[index], 0x7c00);
    case BFLOAT16: return half_word(((const unsigned short *)data)[index], 0x7f80);
    case UINT32: return ((const unsigned int *)data)[index];
    case FLOAT32:
        f32.real = ((const float *)data)[index];
        return isnan(f32.real) ? NOWHERE : f32.real == 0.0f ? 0 : f32.word;
    case FLOAT64:
        f64.real = ((const double *)data)[index];
        return isnan(f64.real) ? NOWHERE : f64.real == 0.0 ? 0 : f64.word;
    default: return ((const u64 *)data)[index];
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
DEVICE u64 counted_vector(const void *data, u64 first, int element, unsigned int lanes)
{
    u64 word = counted_word(data, first, element);
    for (unsigned int lane = 1; lane < lanes; lane++)
        word = mix(word + 0x9e3779b97f4a7c15ull) + counted_word(data, first + lane, element);
    return word;
}

DEVICE void count_in(u64 *sums, u64 word)
{
    u64 hash = mix(word + 0x9e3779b97f4a7c15ull);
    sums[0] += hash;
    sums[1] += mix((hash ^ word) * 0xd1342543de82ef95ull + 0xda942042e4dd58b5ull);
}

KERNEL hone_multiset(const void *found, const void *expected, u64 count, u64 row, u64 pitch, int element,
                     unsigned int lanes, struct hone_bags *bags)
{
    __shared__ struct hone_bags shared[THREADS];
    struct hone_bags own = {{0, 0}, {0, 0}};
    if (!MULTISETS)
        STOP();
    for (u64 i = first_index(); MULTISETS && i < count / lanes; i += index_stride()) {
        u64 first = place(i * lanes, row, pitch);
        count_in(own.found, counted_vector(found, first, element, lanes));
        count_in(own.expected, counted_vector(expected, first, element, lanes));
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

#define SUM_AS(type)                                                                                                   \
    for (u64 i = first_index(); i < count; i += index_stride())                                                        \
    own += (double)((const type *)data)[i]

#define SUM_HALVES(fraction_bits)                                                                                      \
    for (u64 i = first_index(); i < count; i += index_stride())                                                        \
    own += widen(((const unsigned short *)data)[i], fraction_bits)

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
    CASE(FLOAT16, SUM_HALVES(10))
    CASE(BFLOAT16, SUM_HALVES(7))
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

#ifdef __CUDACC_RTC__
/* Reads a buffer larger than the L2 cache, which leaves it full of clean lines: a memset would leave dirty ones, and
 * their write-back would fall into the time of the kernel after it. */
KERNEL hone_flush(const ulonglong2 *data, u64 count, u64 *sink)
{
    u64 own = 0;
    for (u64 i = first_index(); i < count; i += index_stride()) {
        ulonglong2 word = data[i];
        own += word.x ^ word.y;
    }
    /* Never true in practice; keeps the loads. */
    if (own == 0x5bd1e995a3c59ac3ull)
        *sink = own;
}

/* Clock cycles and nanoseconds that a spin took: their ratio is the SM clock. */
struct hone_stamp {
    u64 cycles;
    u64 nanoseconds;
};

/* Holds the stream back while the host queues what is to be timed. One thread. The bound in cycles ends it even where
 * the global timer stands still. */
KERNEL hone_spin(u64 nanoseconds, struct hone_stamp *stamp)
{
    u64 start, now;
    long long first = clock64();
    long long cycles = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
        cycles = clock64() - first;
    } while (now - start < nanoseconds && (u64)cycles < nanoseconds * 8);
    stamp->cycles = (u64)cycles;
    stamp->nanoseconds = now - start;
}
#endif
