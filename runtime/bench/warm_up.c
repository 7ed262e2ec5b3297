/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "runtime/bench/bench_parts.h"

/* Clocks need some tenths of a second of work to settle; groups of samples whose medians agree say
 * that they have. Where all samples of these groups ran at the maximal SM clock there is nothing
 * left for it to rise to, and agreement says that of the memory's: then a quarter of the time will
 * do, as it does where the device was at work a moment ago. */
enum { GROUP = 8, AGREEING = 3, MEASUREMENTS = 3 };
static const double MIN_WARM_MS = 200.0;
static const double MIN_SETTLED_MS = 50.0;
static const double MAX_WARM_MS = 1000.0;
static const double AGREEMENT = 0.01;
static const double MAXIMUM_SHARE = 0.98;

/* slowest_mhz: the lowest clock of the group, 0 when not known. */
static void take_group(struct hn_bench *bench, const struct hn_work *work, size_t batch,
                       double *median_us, double *slowest_mhz, struct hn_error *err)
{
    struct hn_sample samples[GROUP];
    double times[GROUP];
    hn_sampler_take(&bench->sampler, work, batch, GROUP, 0, samples, err);
    if (hn_failed(err))
        return;
    *slowest_mhz = samples[0].clock_mhz;
    for (size_t i = 0; i < GROUP; i++) {
        times[i] = samples[i].time_us;
        *slowest_mhz = fmin(*slowest_mhz, samples[i].clock_mhz);
    }
    *median_us = hn_median(times, GROUP);
}

static void warm(struct hn_bench *bench, const struct hn_work *work, bool was_busy,
                 struct hn_error *err)
{
    size_t batch = 1;
    double estimate_us = 0.0;
    double started_ms = hn_now_ms();
    hn_sampler_choose_batch(&bench->sampler, work, &batch, &estimate_us, err);
    double last_us = estimate_us;
    double maximum_mhz = MAXIMUM_SHARE * (double)bench->device->clock_khz / 1e3;
    int at_maximum = 0;
    for (int agreeing = 0; !hn_failed(err);) {
        double elapsed_ms = hn_now_ms() - started_ms;
        double least_ms = was_busy || at_maximum >= AGREEING ? MIN_SETTLED_MS : MIN_WARM_MS;
        if (elapsed_ms >= MAX_WARM_MS || (elapsed_ms >= least_ms && agreeing >= AGREEING))
            break;
        double median_us = 0.0;
        double slowest_mhz = 0.0;
        take_group(bench, work, batch, &median_us, &slowest_mhz, err);
        agreeing = fabs(median_us - last_us) <= AGREEMENT * last_us ? agreeing + 1 : 0;
        at_maximum = slowest_mhz > 0.0 && slowest_mhz >= maximum_mhz ? at_maximum + 1 : 0;
        last_us = median_us;
    }
}

static void measure_noise(struct hn_bench *bench, const struct hn_work *work, double *noise,
                          struct hn_error *err)
{
    const struct hn_bench_request request = {.full = true};
    double low = INFINITY;
    double high = 0.0;
    for (int i = 0; i < MEASUREMENTS && !hn_failed(err); i++) {
        struct hn_timing timing = {0};
        struct hn_measured measured;
        hn_measure(&bench->sampler, work, &request, (struct hn_sample){0}, &timing, &measured, err);
        free(timing.samples_us);
        low = fmin(low, timing.median_us);
        high = fmax(high, timing.median_us);
    }
    if (!hn_failed(err))
        *noise = low > 0.0 ? (high - low) / low : 0.0;
}

enum hn_status hn_bench_warm_up(struct hn_bench *bench, const struct hn_bindings *point,
                                const struct hn_image *image, bool was_busy, double *noise,
                                struct hn_error *err)
{
    struct hn_variant variant;
    struct hn_record record;
    hn_error_init(err);
    hn_record_init(&record);
    hn_bench_prepare(bench, point, image, &variant, &record, err);
    if (hn_goes_on(err, &record)) {
        struct hn_work work = hn_bench_work(bench, &variant);
        warm(bench, &work, was_busy, err);
        if (noise != NULL)
            measure_noise(bench, &work, noise, err);
    } else if (!hn_failed(err)) {
        hn_fail(err, HN_ERUN, "can not warm up: %s: %s", hn_outcome_name(record.outcome),
                record.message == NULL ? "no message" : record.message);
    }
    hn_variant_finish(&variant);
    hn_record_finish(&record);
    return err->status;
}
