/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_STRATEGY_LOOPS_H
#define HONE_TUNER_STRATEGY_LOOPS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Before a function whose loops gain by wide registers: where the processor has them it runs a copy that was compiled
 * for them. The results are the same bit by bit, since no copy sums in another order or fuses a product with a sum. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__has_attribute) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#if __has_attribute(target_clones)
#define HN_WIDE __attribute__((target_clones("avx2", "default")))
#endif
#endif
#ifndef HN_WIDE
#define HN_WIDE
#endif

/* Two numbers that all processors add and multiply at once. */
typedef double hn_pair __attribute__((vector_size(16), aligned(8), may_alias));

/* The inner product, always summed in this order: compilers may not reorder it, and four sums keep the adders busy.
 * First four products at a time, then the rest and the sums. */
static inline void hn_add_products(const double *a, const double *b, hn_pair *low, hn_pair *high)
{
    *low += *(const hn_pair *)a * *(const hn_pair *)b;
    *high += *(const hn_pair *)(a + 2) * *(const hn_pair *)(b + 2);
}
static inline double hn_sum_products(const double *a, const double *b, size_t rest, hn_pair low, hn_pair high)
{
    double first = low[0];
    for (size_t i = 0; i < rest; i++)
        first += a[i] * b[i];
    return (first + low[1]) + (high[0] + high[1]);
}
static inline double hn_dot(const double *a, const double *b, size_t count)
{
    hn_pair low = {0}, high = {0};
    size_t i = 0;
    for (; i + 4 <= count; i += 4)
        hn_add_products(a + i, b + i, &low, &high);
    return hn_sum_products(a + i, b + i, count - i, low, high);
}

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

/* exp(x) for x <= 0, within 1e-14 of it: 2^n times the series of what is left. Loops over it are vectorised, and it is
 * the same on all machines, which libraries are not. */
static inline double hn_decay(double x)
{
    const double shift = 0x1.8p52; /* a sum with it has the nearest whole number in its lowest bits */
    double bounded = x > -700 ? x : -700;
    double shifted = bounded * 0x1.71547652b82fep+0 + shift;
    double n = shifted - shift;
    double r = (bounded - n * 0x1.62e42fefa2p-1) - n * 0x1.9ef35793c7673p-41;
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    double series = 1. / 39916800;
    series = 1. / 3628800 + r * series;
    series = 1. / 362880 + r * series;
    series = 1. / 40320 + r * series;
    series = 1. / 5040 + r * series;
    series = 1. / 720 + r * series;
    series = 1. / 120 + r * series;
    series = 1. / 24 + r * series;
    series = 1. / 6 + r * series;
    return power * (1 + r * (1 + r * (1. / 2 + r * series)));
}

#endif
