/* SPDX-License-Identifier: MIT */
#include "bench/search/simulate/scale.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/statistics.h"
#include "bench/search/simulate/interpolate.h"

/* The window that is judged: from where random search has come this part of the way from the
 * median to the optimum, to where it has come that part. */
static const double start_part = 0.01;
static const double end_part = 0.95;

void hn_scale_finish(struct hn_scale *scale)
{
    free(scale->values);
    free(scale->ranks);
    free(scale->baseline);
    *scale = (struct hn_scale){.count = 0};
}

static int compare_falling(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x < y) - (x > y);
}

static enum hn_status sort_values(const struct hn_recording_table *table, struct hn_scale *scale,
                                  struct hn_error *err)
{
    scale->count = table->row_count;
    scale->values = hn_need(scale->count, sizeof *scale->values);
    scale->ranks = hn_need(scale->count, sizeof *scale->ranks);
    double *costs HN_FREED = hn_need(scale->count, sizeof *costs);
    for (size_t i = 0; i < scale->count; i++) {
        costs[i] = table->rows[i].cost_ms;
        if (isfinite(table->rows[i].time_ms))
            scale->values[scale->valid++] = table->rows[i].time_ms;
    }
    scale->cost_ms = hn_median(costs, scale->count);
    if (scale->valid == 0)
        return hn_fail(err, HN_ENOTFOUND, "none of the %zu recorded points has a time",
                       scale->count);
    scale->median = hn_median(scale->values, scale->valid);
    qsort(scale->values, scale->valid, sizeof *scale->values, compare_falling);
    scale->optimum = scale->values[scale->valid - 1];
    return HN_OK;
}

/* How many values are worse than `limit`. */
static size_t count_worse(const struct hn_scale *scale, double limit)
{
    size_t low = 0;
    size_t high = scale->valid;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (scale->values[middle] > limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Equal times share the rank of the best among them. */
static void rank_rows(const struct hn_recording_table *table, struct hn_scale *scale)
{
    for (size_t i = 0; i < scale->count; i++) {
        double time = table->rows[i].time_ms;
        size_t behind = count_worse(scale, nextafter(time, -INFINITY));
        scale->ranks[i] = isfinite(time) ? (double)behind - 1 : NAN;
    }
}

static double target(const struct hn_scale *scale, double part)
{
    return scale->optimum + (scale->median - scale->optimum) * (1 - part);
}

/* Draws that random search is expected to need to get past the `worse` worst of the valid. */
static double expected_draws(const struct hn_scale *scale, size_t worse)
{
    return ceil((double)worse / ((double)scale->valid + 1 - (double)worse));
}

/* Mean cost of the valid rows, and of the failed ones by their part of all. */
static double expected_cost(const struct hn_recording_table *table, const struct hn_scale *scale)
{
    double valid = 0;
    double failed = 0;
    size_t failures = scale->count - scale->valid;
    for (size_t i = 0; i < scale->count; i++)
        *(isfinite(table->rows[i].time_ms) ? &valid : &failed) += table->rows[i].cost_ms;
    valid /= (double)scale->valid;
    if (failures == 0)
        return valid;
    return valid + (double)failures / (double)scale->count * (failed / (double)failures);
}

static void make_time_axis(const struct hn_recording_table *table, struct hn_scale *scale)
{
    enum { POINTS = HN_SCALE_TIME_POINTS };
    double draws[POINTS];
    double reached[POINTS];
    double cost = expected_cost(table, scale);
    double step = (scale->time_end_ms - scale->time_start_ms) / (POINTS - 1);
    size_t count = 0;
    for (size_t i = 0; i < POINTS; i++)
        scale->time_grid[i] = (double)i * step + scale->time_start_ms;
    scale->time_grid[POINTS - 1] = scale->time_end_ms;
    for (size_t i = 0; i < POINTS; i++) {
        double drawn = rint(fmax(scale->time_grid[i] / cost, 1));
        double index = rint(drawn * (double)(scale->valid + 1) / (drawn + 1));
        double value = scale->values[(size_t)fmin((double)scale->valid - 1, index)];
        scale->time_baseline[i] = value;
        if (count > 0 && draws[count - 1] == drawn)
            continue;
        draws[count] = drawn;
        reached[count++] = value;
    }
    if (count >= 2)
        hn_interpolate_evenly(draws, reached, count, scale->time_baseline, POINTS);
}

static void make_evaluations_axis(struct hn_scale *scale, size_t good)
{
    double all = (double)scale->count;
    double failures = (double)(scale->count - scale->valid);
    double budget = ceil((all - (double)good) / ((double)good + 1));
    scale->budget = budget > 2 ? (uint64_t)budget : 2;
    scale->baseline = hn_need(scale->budget, sizeof *scale->baseline);
    for (uint64_t i = 0; i < scale->budget; i++) {
        double drawn = (double)(i + 1);
        double index = rint(drawn * (all + 1) / (drawn + 1)) - 1;
        index = fmin(fmax(index, 0), all - 1) - failures;
        scale->baseline[i] = scale->values[(size_t)fmax(index, 0)];
    }
}

enum hn_status hn_scale_make(const struct hn_recording_table *table, struct hn_scale *scale,
                             struct hn_error *err)
{
    *scale = (struct hn_scale){.count = 0};
    enum hn_status status = sort_values(table, scale, err);
    if (status != HN_OK) {
        hn_scale_finish(scale);
        return status;
    }
    rank_rows(table, scale);
    size_t first = count_worse(scale, target(scale, start_part));
    size_t last = count_worse(scale, target(scale, end_part));
    /* Where only the optimum is good enough, one step back. */
    if (last + 1 >= scale->valid && scale->valid > 1)
        last = scale->valid - 2;
    scale->time_start_ms = expected_draws(scale, first) * scale->cost_ms;
    scale->time_end_ms = expected_draws(scale, last) * scale->cost_ms;
    make_time_axis(table, scale);
    make_evaluations_axis(scale, scale->valid - last);
    return HN_OK;
}

double hn_scale_random_draws(const struct hn_scale *scale, double part)
{
    size_t good = scale->valid - count_worse(scale, scale->optimum * (1 + part));
    return ((double)scale->count + 1) / ((double)good + 1);
}
