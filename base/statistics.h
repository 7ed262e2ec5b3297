/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_STATISTICS_H
#define HONE_BASE_STATISTICS_H

#include <stddef.h>

/* A median and its 95% interval. */
struct hn_interval {
    double median;
    double low;
    double high;
};

/* Ascending. */
void hn_sort(double *values, size_t count);

/* Something at a place, with what it is sorted by. */
struct hn_ranked {
    double key;
    size_t place;
};

/* Ascending by key, then by place, as qsort wants it. */
int hn_ranked_compare(const void *a, const void *b);

/* The median of unsorted values, which it sorts. 0 when there are none. */
double hn_median(double *values, size_t count);

/* The interval of the median by order statistics; sorts the values. count is at least 1. So many are left out at each end that
 * the median of whatever distribution they came from lies outside of the rest with at most this probability: 2 P(B <= k - 1)
 * for B binomial(n, 1/2). None is where it is more even for the smallest and the largest value (at 5%: n < 6). Of more than
 * 1,000 values it is always 5%. */
#define HN_OUTSIDE_USUAL 0.05
struct hn_interval hn_interval_of(double *values, size_t count, double outside);

/* Widens an interval to at least `resolution` around its median. */
struct hn_interval hn_interval_widen(struct hn_interval interval, double resolution);

#endif
