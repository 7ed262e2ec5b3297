/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_STRATEGY_LOOPS_H
#define HONE_TUNER_STRATEGY_LOOPS_H

#include <stddef.h>

/* Before a function whose loops gain by wide registers: where the processor has them it runs a copy that was compiled
 * for them. The results are the same bit by bit, since no copy sums in another order or fuses a product with a sum. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define HN_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define HN_WIDE
#endif

/* to[c] += the sum over `count` rows of weights[i * step] * rows[i * stride + c], for c < width, in the order of the
 * rows: four at a time, so that to[c] is read and written a quarter as often. */
static inline void hn_add_rows(double *restrict to, const double *weights, size_t step, const double *restrict rows,
                               size_t stride, size_t count, size_t width)
{
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        const double w0 = weights[i * step], w1 = weights[(i + 1) * step];
        const double w2 = weights[(i + 2) * step], w3 = weights[(i + 3) * step];
        const double *r0 = rows + i * stride, *r1 = r0 + stride, *r2 = r1 + stride, *r3 = r2 + stride;
        for (size_t c = 0; c < width; c++)
            to[c] = (((to[c] + w0 * r0[c]) + w1 * r1[c]) + w2 * r2[c]) + w3 * r3[c];
    }
    for (; i < count; i++) {
        const double weight = weights[i * step];
        const double *row = rows + i * stride;
        for (size_t c = 0; c < width; c++)
            to[c] += weight * row[c];
    }
}

#endif
