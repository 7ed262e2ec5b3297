/* SPDX-License-Identifier: MIT */
/* The difference of two buffers, element by element. */

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
        type r = ((const type *)expected)[place(i, row, pitch)];                                                       \
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
