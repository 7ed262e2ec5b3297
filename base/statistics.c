/* SPDX-License-Identifier: MIT */
#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

void hn_sort(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_doubles);
}

int hn_ranked_compare(const void *a, const void *b)
{
    const struct hn_ranked *x = a, *y = b;
    int order = (x->key > y->key) - (x->key < y->key);
    return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

double hn_median(double *values, size_t count)
{
    if (count == 0)
        return 0.0;
    size_t middle = count / 2;
    hn_sort(values, count);
    return count % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

static size_t interval_rank(size_t count, double outside)
{
    double n = (double)count;
    /* 2^-n leaves the range of a double near 1,000; the normal approximation is exact to a rank
     * there. */
    if (count > 1000)
        return (size_t)floor(0.5 * n - 0.98 * sqrt(n));
    double probability = exp2(-n);
    double tail = probability;
    size_t rank = 0;
    while (2.0 * tail <= outside) {
        rank++;
        probability *= (n - (double)rank + 1.0) / (double)rank;
        tail += probability;
    }
    /* `rank` values may be missing at each end: the interval goes from the rank-th to the rank-th
     * last. */
    return rank == 0 ? 0 : rank - 1;
}

struct hn_interval hn_interval_of(double *values, size_t count, double outside)
{
    struct hn_interval interval;
    interval.median = hn_median(values, count);
    size_t rank = interval_rank(count, outside);
    interval.low = values[rank];
    interval.high = values[count - 1 - rank];
    return interval;
}

struct hn_interval hn_interval_widen(struct hn_interval interval, double resolution)
{
    interval.low = fmin(interval.low, interval.median - 0.5 * resolution);
    interval.high = fmax(interval.high, interval.median + 0.5 * resolution);
    return interval;
}
