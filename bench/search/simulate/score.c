/* SPDX-License-Identifier: MIT */
#include "bench/search/simulate/score.h"

#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/statistics.h"

/* "Close to the optimum", for the number of evaluations until then. */
static const double near_part = 0.05;

/* The rank of the best point so far along both axes, a row of each a run. */
struct curves {
    const struct hn_scale *scale;
    size_t count;
    double *evaluations; /* failures rank below the valid: rank + number of failures */
    double *times;       /* 0 until the run has something valid */
    size_t *valid_from;  /* the place on the time axis from which it has */
    double *sums;
    size_t *starts; /* runs by valid_from */
};

static void free_curves(struct curves *curves)
{
    free(curves->evaluations);
    free(curves->times);
    free(curves->valid_from);
    free(curves->sums);
    free(curves->starts);
}

static void allocate_curves(struct curves *curves)
{
    size_t longest =
        curves->scale->budget > HN_SCALE_TIME_POINTS ? curves->scale->budget : HN_SCALE_TIME_POINTS;
    curves->evaluations =
        hn_need(curves->count * curves->scale->budget, sizeof *curves->evaluations);
    curves->times = hn_need(curves->count * HN_SCALE_TIME_POINTS, sizeof *curves->times);
    curves->valid_from = hn_need(curves->count, sizeof *curves->valid_from);
    curves->sums = hn_need(longest, sizeof *curves->sums);
    curves->starts = hn_need(HN_SCALE_TIME_POINTS + 1, sizeof *curves->starts);
}

/* fmax ignores the NAN of a failure, and gives NAN where there is nothing valid yet. */
static void draw_evaluations(struct curves *curves, size_t number, const struct hn_run *run)
{
    const struct hn_scale *scale = curves->scale;
    double *curve = curves->evaluations + number * scale->budget;
    double failures = (double)(scale->count - scale->valid);
    double best = NAN;
    for (uint64_t i = 0; i < scale->budget; i++) {
        if (i < run->count)
            best = fmax(best, scale->ranks[run->rows[i]]);
        /* Nothing valid yet: the middle of the failed ones' ranks. */
        curve[i] = isnan(best) ? (failures - 1) / 2 : best + failures;
    }
}

static void draw_times(struct curves *curves, size_t number, const struct hn_run *run,
                       const struct hn_recording_table *table)
{
    const struct hn_scale *scale = curves->scale;
    double *curve = curves->times + number * HN_SCALE_TIME_POINTS;
    double best = NAN;
    double spent_ms = 0;
    size_t next = 0;
    curves->valid_from[number] = HN_SCALE_TIME_POINTS;
    for (size_t i = 0; i < HN_SCALE_TIME_POINTS; i++) {
        while (next < run->count) {
            double after_ms = spent_ms + (table->rows[run->rows[next]].cost_ms + run->overhead_ms);
            if (after_ms > scale->time_grid[i])
                break;
            spent_ms = after_ms;
            best = fmax(best, scale->ranks[run->rows[next++]]);
        }
        curve[i] = isnan(best) ? 0 : best;
        if (!isnan(best) && curves->valid_from[number] == HN_SCALE_TIME_POINTS)
            curves->valid_from[number] = i;
    }
    /* Nothing valid within the budget counts as the worst. */
    if (curves->valid_from[number] == HN_SCALE_TIME_POINTS)
        curves->valid_from[number] = 0;
}

/* The improvement over the baseline, as a part of what was possible. */
static double improvement(const struct hn_scale *scale, double baseline, double rank)
{
    double index = fmin(fmax(rank, 0), (double)scale->valid - 1);
    double value = scale->values[(size_t)index];
    double possible = baseline - scale->optimum;
    if (possible > 0)
        return (baseline - value) / possible;
    return value <= scale->optimum ? 0 : -1;
}

static void add_curves(double *sums, size_t length, const double *curves, const size_t *picks,
                       size_t count)
{
    for (size_t i = 0; i < length; i++)
        sums[i] = 0;
    for (size_t pick = 0; pick < count; pick++) {
        const double *curve = curves + picks[pick] * length;
        for (size_t i = 0; i < length; i++)
            sums[i] += curve[i];
    }
}

static double score_evaluations(struct curves *curves, const size_t *picks)
{
    const struct hn_scale *scale = curves->scale;
    double failures = (double)(scale->count - scale->valid);
    double sum = 0;
    add_curves(curves->sums, scale->budget, curves->evaluations, picks, curves->count);
    for (uint64_t i = 0; i < scale->budget; i++)
        sum += improvement(scale, scale->baseline[i],
                           rint(curves->sums[i] / (double)curves->count) - failures);
    return sum / (double)scale->budget;
}

/* Runs without anything valid do not count yet; before the first has, what that one has. */
static double score_times(struct curves *curves, const size_t *picks)
{
    const struct hn_scale *scale = curves->scale;
    double sum = 0;
    size_t counted = 0;
    size_t pending = 0;
    add_curves(curves->sums, HN_SCALE_TIME_POINTS, curves->times, picks, curves->count);
    for (size_t i = 0; i <= HN_SCALE_TIME_POINTS; i++)
        curves->starts[i] = 0;
    for (size_t i = 0; i < curves->count; i++)
        curves->starts[curves->valid_from[picks[i]]]++;
    while (pending < HN_SCALE_TIME_POINTS && curves->starts[pending] == 0)
        pending++;
    double first = curves->sums[pending] / (double)curves->starts[pending];
    for (size_t i = 0; i < HN_SCALE_TIME_POINTS; i++) {
        counted += curves->starts[i];
        double mean = counted > 0 ? curves->sums[i] / (double)counted : first;
        sum += improvement(scale, scale->time_baseline[i], rint(mean));
    }
    return sum / HN_SCALE_TIME_POINTS;
}

/* By linear interpolation between order statistics. */
static double percentile(const double *sorted, size_t count, double part)
{
    double place = part * (double)(count - 1);
    size_t below = (size_t)place;
    size_t above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (sorted[above] - sorted[below]) * (place - (double)below);
}

static void set_interval(struct hn_score_value *value)
{
    double sorted[HN_SCORE_RESAMPLES];
    for (size_t i = 0; i < HN_SCORE_RESAMPLES; i++)
        sorted[i] = value->resamples[i];
    hn_sort(sorted, HN_SCORE_RESAMPLES);
    value->low = percentile(sorted, HN_SCORE_RESAMPLES, 0.025);
    value->high = percentile(sorted, HN_SCORE_RESAMPLES, 0.975);
}

static void score_curves(struct curves *curves, uint64_t seed, struct hn_score *score)
{
    struct hn_random random = hn_random_seeded(seed);
    size_t *picks HN_FREED = hn_need(curves->count, sizeof *picks);
    for (size_t i = 0; i < curves->count; i++)
        picks[i] = i;
    score->axes[HN_SCORE_TIME].score = score_times(curves, picks);
    score->axes[HN_SCORE_EVALUATIONS].score = score_evaluations(curves, picks);
    for (size_t resample = 0; resample < HN_SCORE_RESAMPLES; resample++) {
        for (size_t i = 0; i < curves->count; i++)
            picks[i] = hn_random_below(&random, curves->count);
        score->axes[HN_SCORE_TIME].resamples[resample] = score_times(curves, picks);
        score->axes[HN_SCORE_EVALUATIONS].resamples[resample] = score_evaluations(curves, picks);
    }
    set_interval(&score->axes[HN_SCORE_TIME]);
    set_interval(&score->axes[HN_SCORE_EVALUATIONS]);
}

static bool is_near(const struct hn_recording_table *table, const struct hn_scale *scale,
                    uint32_t row)
{
    return table->rows[row].time_ms <= scale->optimum * (1 + near_part);
}

/* Evaluations until the first point near the optimum. */
static double evaluations_until_near(const struct hn_recording_table *table,
                                     const struct hn_scale *scale, const struct hn_run *run)
{
    for (size_t i = 0; i < run->count; i++)
        if (is_near(table, scale, run->rows[i]))
            return (double)(i + 1);
    return INFINITY;
}

/* The time until one is there, which need not be the first proposed; NAN without a clock. */
static double seconds_until_near(const struct hn_recording_table *table,
                                 const struct hn_scale *scale, const struct hn_run *run)
{
    double ends_ms = run->ends_ms != NULL ? INFINITY : NAN;
    for (size_t i = 0; i < run->count && run->ends_ms != NULL; i++)
        if (is_near(table, scale, run->rows[i]))
            ends_ms = fmin(ends_ms, run->ends_ms[i]);
    return ends_ms / 1000;
}

static void count_evaluations(const struct hn_recording_table *table, const struct hn_scale *scale,
                              const struct hn_run *runs, size_t count, struct hn_score *score)
{
    double *until HN_FREED = hn_need(2 * count, sizeof *until);
    for (size_t i = 0; i < count; i++) {
        until[i] = evaluations_until_near(table, scale, &runs[i]);
        until[count + i] = seconds_until_near(table, scale, &runs[i]);
        score->reached += isfinite(until[i]) ? 1 / (double)count : 0;
        score->overhead_us += runs[i].overhead_ms * 1000 / (double)count;
    }
    score->median_evaluations = hn_median(until, count);
    score->median_s = hn_median(until + count, count);
}

void hn_score_runs(const struct hn_recording_table *table, const struct hn_scale *scale,
                   const struct hn_run *runs, size_t count, uint64_t seed, struct hn_score *score)
{
    struct curves curves = {.scale = scale, .count = count};
    *score = (struct hn_score){.reached = 0};
    allocate_curves(&curves);
    for (size_t i = 0; i < count; i++) {
        draw_evaluations(&curves, i, &runs[i]);
        draw_times(&curves, i, &runs[i], table);
    }
    score_curves(&curves, seed, score);
    count_evaluations(table, scale, runs, count, score);
    free_curves(&curves);
}

void hn_score_mean(const struct hn_score *scores, size_t count, struct hn_score *mean)
{
    *mean = (struct hn_score){.reached = 0};
    for (size_t i = 0; i < count; i++) {
        for (int axis = 0; axis < HN_SCORE_AXES; axis++) {
            const struct hn_score_value *value = &scores[i].axes[axis];
            mean->axes[axis].score += value->score / (double)count;
            for (size_t resample = 0; resample < HN_SCORE_RESAMPLES; resample++)
                mean->axes[axis].resamples[resample] += value->resamples[resample] / (double)count;
        }
        mean->median_evaluations += scores[i].median_evaluations;
        mean->median_s += scores[i].median_s;
        mean->reached += scores[i].reached / (double)count;
        mean->overhead_us += scores[i].overhead_us / (double)count;
    }
    for (int axis = 0; axis < HN_SCORE_AXES; axis++)
        set_interval(&mean->axes[axis]);
}
