/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "runtime/bench/bench_parts.h"
#include "runtime/bench/observe/observers.h"

/* The clocks under the samples of a measurement: the SM clock just before each, as the device
 * itself counts it (sm_min_mhz, sm_median_mhz, sm_max_mhz), and the temperature behind each group
 * of them, where NVML tells it (temperature_min_c, temperature_median_c, temperature_max_c). */

enum { MOST = 1024 };

struct clocks {
    struct hn_bench *bench;
    double mhz[MOST], degrees[MOST];
    size_t clock_count, degree_count;
};

static void *open_clocks(struct hn_bench *bench)
{
    struct clocks *clocks = hn_need(1, sizeof *clocks);
    clocks->bench = bench;
    return clocks;
}

static void add(double *values, size_t *count, double value)
{
    if (value > 0.0 && *count < MOST)
        values[(*count)++] = value;
}

static void taken(void *own, const struct hn_sample *samples, size_t count)
{
    struct clocks *clocks = own;
    const struct hn_bench_options *options = &clocks->bench->options;
    for (size_t i = 0; i < count; i++)
        add(clocks->mhz, &clocks->clock_count, samples[i].clock_mhz);
    if (options->watch == NULL)
        return;
    add(clocks->degrees, &clocks->degree_count, hn_health_look(options->watch, options->health));
}

/* names: of the least, the median and the greatest. */
static void note_range(struct hn_bindings *observed, const char *const names[3], double *values,
                       size_t *count, struct hn_error *err)
{
    double least = INFINITY, greatest = 0.0;
    for (size_t i = 0; i < *count; i++) {
        least = fmin(least, values[i]);
        greatest = fmax(greatest, values[i]);
    }
    if (*count > 0) {
        hn_observed_set(observed, names[0], hn_real(least), err);
        hn_observed_set(observed, names[1], hn_real(hn_median(values, *count)), err);
        hn_observed_set(observed, names[2], hn_real(greatest), err);
    }
    *count = 0;
}

static void note(void *own, struct hn_record *record, struct hn_error *err)
{
    static const char *const sm[] = {"clocks.sm_min_mhz", "clocks.sm_median_mhz",
                                     "clocks.sm_max_mhz"};
    static const char *const degrees[] = {"clocks.temperature_min_c", "clocks.temperature_median_c",
                                          "clocks.temperature_max_c"};
    struct clocks *clocks = own;
    note_range(&record->observed, sm, clocks->mhz, &clocks->clock_count, err);
    note_range(&record->observed, degrees, clocks->degrees, &clocks->degree_count, err);
}

const struct hn_observer hn_clocks_observer = {
    .name = "clocks", .open = open_clocks, .taken = taken, .note = note, .close = free};
