/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_STRATEGY_DOT_H
#define HONE_TUNER_STRATEGY_DOT_H

#include <stddef.h>

/* Before a function whose loops gain by wide registers: where the processor has them it runs a copy that was compiled for
 * them. The results are the same bit by bit, since no copy sums in another order or fuses a product with a sum. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__has_attribute) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#if __has_attribute(target_clones)
#define HN_WIDE __attribute__((target_clones("avx2", "default")))
#endif
#endif
#ifndef HN_WIDE
#define HN_WIDE
#endif

/* The inner product, always summed in this order: compilers may not reorder it, and four sums keep the adders busy. */
static inline double hn_dot(const double *a, const double *b, size_t count)
{
    double sums[4] = {0};
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        for (size_t j = 0; j < 4; j++)
            sums[j] += a[i + j] * b[i + j];
    }
    for (; i < count; i++)
        sums[0] += a[i] * b[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

#endif
