/* SPDX-License-Identifier: MIT */
/* The difference of two buffers, element by element. What is expected is veiled: see support_veil.cuh. */

/* What a block found: the largest |x - r| up to the tolerance and where (nowhere: no two of the elements are numbers), the
 * largest |r|, the first place where one of the two is NaN or infinite and the other is not the same, how many other
 * elements are beyond the tolerance, how many of these are as they were poisoned, the first place between rows that is
 * not as it was, how many elements zeros would be beyond the tolerance of, and how many are expected to be NaN. */
struct hone_difference {
    double max_error;
    double max_reference;
    u64 worst;
    u64 misplaced;
    u64 differing;
    u64 unwritten;
    u64 strayed;
    u64 telling;
    u64 nans;
};

/* Which elements are compared and what of them: `written` has a bit for each element that is (null: all are), `poison`
 * and `poisoned` are the seed and the first index of what they held before the launch. */
struct terms {
    double tolerance;
    int element;
    const unsigned int *written;
    u64 poison;
    u64 poisoned;
};

DEVICE int is_compared(const struct terms *terms, u64 index)
{
    return !LOOSE || terms->written == 0 || (terms->written[index >> 5] >> (index & 31) & 1);
}

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
    if (b.strayed < a.strayed)
        a.strayed = b.strayed;
    a.differing += b.differing;
    a.unwritten += b.unwritten;
    a.telling += b.telling;
    a.nans += b.nans;
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

/* `bits` is what was found `at` that place. */
DEVICE void note_error(struct hone_difference *own, const struct terms *terms, double error, double r, u64 index, u64 at,
                       u64 bits)
{
    if (fabs(r) > own->max_reference)
        own->max_reference = fabs(r);
    own->telling += LOOSE && fabs(r) > terms->tolerance;
    if (error > terms->tolerance) {
        own->differing++;
        if (LOOSE && bits == poison_bits(terms->element, terms->poison, terms->poisoned + at))
            own->unwritten++;
    } else if (error > own->max_error || own->worst == NOWHERE) {
        own->max_error = error;
        own->worst = index;
    }
}

DEVICE void compare_one(struct hone_difference *own, const struct terms *terms, double x, double r, u64 index, u64 at,
                        u64 bits)
{
    if (isfinite(x) && isfinite(r)) {
        note_error(own, terms, fabs(x - r), r, index, at, bits);
        return;
    }
    int same = x == r || (isnan(x) && isnan(r));
    own->nans += isnan(r) != 0;
    if (!same && index < own->misplaced)
        own->misplaced = index;
}

/* `before` the launch it was as there, or poisoned where that is null. */
#define FIND_STRAYED(word)                                                                                             \
    for (u64 i = first_index(); i < rows * (pitch - row); i += index_stride()) {                                       \
        u64 at = row + place(i, pitch - row, pitch);                                                                   \
        u64 was = before != 0 ? ((const word *)before)[at] : (word)poison_bits(element, poison, at);                   \
        if (((const word *)found)[at] != was && at < own.strayed)                                                      \
            own.strayed = at;                                                                                          \
    }

#define COMPARE_REALS(type, word)                                                                                      \
    FIND_STRAYED(word)                                                                                                 \
    for (u64 i = first_index(); i < count; i += index_stride()) {                                                      \
        u64 at = place(i, row, pitch);                                                                                 \
        union {                                                                                                        \
            word bits;                                                                                                 \
            type real;                                                                                                 \
        } x = {((const word *)found)[at]}, r = {UNVEIL(word, expected, at)};                                           \
        if (is_compared(&terms, i))                                                                                    \
            compare_one(&own, &terms, (double)x.real, (double)r.real, i, at, x.bits);                                  \
    }

#define COMPARE_NARROW(type, fraction_bits)                                                                            \
    FIND_STRAYED(type)                                                                                                 \
    for (u64 i = first_index(); i < count; i += index_stride()) {                                                      \
        u64 at = place(i, row, pitch);                                                                                 \
        type x = ((const type *)found)[at];                                                                            \
        if (is_compared(&terms, i))                                                                                    \
            compare_one(&own, &terms, widen(x, fraction_bits), widen(UNVEIL(type, expected, at), fraction_bits), i, at, \
                        x);                                                                                            \
    }

/* Two 64-bit integers that differ can be equal as doubles; they still count as 1 apart. */
#define COMPARE_INTEGERS(type, word)                                                                                   \
    FIND_STRAYED(word)                                                                                                 \
    for (u64 i = first_index(); i < count; i += index_stride()) {                                                      \
        u64 at = place(i, row, pitch);                                                                                 \
        type x = ((const type *)found)[at];                                                                            \
        type r = (type)UNVEIL(word, expected, at);                                                                     \
        double apart = fabs((double)x - (double)r);                                                                    \
        if (is_compared(&terms, i))                                                                                    \
            note_error(&own, &terms, x == r ? 0.0 : apart < 1.0 ? 1.0 : apart, (double)r, i, at, (word)x);             \
    }

KERNEL hone_compare(const void *found, const void *expected, u64 key, u64 count, u64 row, u64 pitch, int element,
                    double tolerance, const unsigned int *written, u64 poison, u64 poisoned, u64 rows, const void *before,
                    struct hone_difference *differences)
{
    struct hone_difference own = {0.0, 0.0, NOWHERE, NOWHERE, 0, 0, NOWHERE, 0, 0};
    struct terms terms = {tolerance, element, written, poison, poisoned};
    require_use(element, UNIFORM);
    if (!LOOSE && written != 0)
        STOP();
    switch (element) {
    CASE(INT8, COMPARE_INTEGERS(signed char, unsigned char))
    CASE(INT16, COMPARE_INTEGERS(short, unsigned short))
    CASE(INT32, COMPARE_INTEGERS(int, unsigned int))
    CASE(INT64, COMPARE_INTEGERS(long long, u64))
    CASE(UINT8, COMPARE_INTEGERS(unsigned char, unsigned char))
    CASE(UINT16, COMPARE_INTEGERS(unsigned short, unsigned short))
    CASE(UINT32, COMPARE_INTEGERS(unsigned int, unsigned int))
    CASE(UINT64, COMPARE_INTEGERS(u64, u64))
    CASE(FLOAT32, COMPARE_REALS(float, unsigned int))
    CASE(FLOAT64, COMPARE_REALS(double, u64))
    CASE(FLOAT16, COMPARE_NARROW(unsigned short, 10))
    CASE(BFLOAT16, COMPARE_NARROW(unsigned short, 7))
    CASE(FLOAT8_E4M3, COMPARE_NARROW(unsigned char, 3))
    }
    store_block_difference(own, differences);
}
