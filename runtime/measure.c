/* SPDX-License-Identifier: MIT */
#include "runtime/measure.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

/* Chunks of samples are queued together and waited for once; a chunk of long kernels is short, so
 * that the rule is asked often enough. */
enum { MAX_CHUNK = 32, MAX_TAKEN = 400, ENOUGH_TO_JUDGE_DROPS = 12 };
static const double MAX_CHUNK_US = 50e3;
/* The first launch is kept as a sample where another one would cost more than it is worth; where
 * the host is not in it, from a tenth of that on. */
static const double LONG_US = 10e3;
/* Samples that cost so much are taken one by one while an early stop may still come. */
static const double DEAR_US = 1e3;
static const double CLOCK_SHARE = 0.75;

size_t hn_measure_keep(const struct hn_sample *samples, size_t count, double max_clock_mhz,
                       double *kept, bool *trusted)
{
    size_t kept_count = 0;
    *trusted = true;
    for (size_t i = 0; i < count; i++)
        if (samples[i].clock_mhz == 0.0 || samples[i].clock_mhz >= CLOCK_SHARE * max_clock_mhz)
            kept[kept_count++] = samples[i].time_us;
    if (count < ENOUGH_TO_JUDGE_DROPS || 2 * kept_count >= count)
        return kept_count;
    *trusted = false;
    for (size_t i = 0; i < count; i++)
        kept[i] = samples[i].time_us;
    return count;
}

static double device_clock_mhz(const struct hn_sampler *sampler)
{
    return (double)sampler->arena->context->device->clock_khz / 1e3;
}

/* The state of one measurement. */
struct measurement {
    struct hn_sample taken[MAX_TAKEN];
    double kept[MAX_TAKEN]; /* sorted by the interval */
    size_t taken_count;
    size_t kept_count;
    bool trusted;
    struct hn_interval interval;
    double censor_clock_mhz;
};

double hn_measure_fair_censor(double censor_us, double censor_clock_mhz, double clock_mhz)
{
    /* Clocks are read to some tenths of a percent. */
    const double alike = 1.005;
    bool slower = clock_mhz > 0.0 && censor_clock_mhz > alike * clock_mhz;
    return slower ? censor_us * censor_clock_mhz / clock_mhz : censor_us;
}

static double median_clock(const struct measurement *m)
{
    double clocks[MAX_TAKEN];
    size_t known = 0;
    for (size_t i = 0; i < m->taken_count; i++)
        if (m->taken[i].clock_mhz > 0.0)
            clocks[known++] = m->taken[i].clock_mhz;
    return hn_median(clocks, known);
}

/* Of those that were not taken at a low clock; 0 where the host's clock was not read. */
static double median_host(const struct measurement *m, double max_clock_mhz)
{
    double times_us[MAX_TAKEN];
    size_t count = 0;
    for (size_t i = 0; i < m->taken_count; i++)
        if (m->taken[i].clock_mhz == 0.0 || m->taken[i].clock_mhz >= CLOCK_SHARE * max_clock_mhz)
            times_us[count++] = m->taken[i].host_us;
    return hn_median(times_us, count);
}

static enum hn_stop judge(struct measurement *m, const struct hn_stopping_rule *asked,
                          double max_clock_mhz, double started_ms)
{
    struct hn_stopping_rule own = *asked;
    const struct hn_stopping_rule *rule = &own;
    own.censor_us = hn_measure_fair_censor(asked->censor_us, m->censor_clock_mhz, median_clock(m));
    m->kept_count = hn_measure_keep(m->taken, m->taken_count, max_clock_mhz, m->kept, &m->trusted);
    if (m->kept_count == 0)
        return HN_STOP_NOT;
    m->interval = hn_interval_of(m->kept, m->kept_count);
    enum hn_stop stop =
        hn_stopping_decide(rule, &m->interval, m->kept_count, hn_now_ms() - started_ms);
    if (stop == HN_STOP_NOT && m->taken_count == MAX_TAKEN)
        return HN_STOP_BOUND;
    return stop;
}

/* While an early stop may still come cheap, two at a time, or one. */
static size_t chunk_size(const struct measurement *m, const struct hn_stopping_rule *rule,
                         double sample_us)
{
    size_t chunk = m->taken_count / 2 + 1;
    bool may_stop = !rule->full && rule->censor_us > 0.0;
    if (m->taken_count < rule->min_samples)
        chunk = may_stop ? (sample_us >= DEAR_US ? 1 : 2) : rule->min_samples - m->taken_count;
    size_t longest = (size_t)fmax(1.0, MAX_CHUNK_US / fmax(sample_us, 1.0));
    if (chunk > longest)
        chunk = longest;
    if (chunk > MAX_CHUNK)
        chunk = MAX_CHUNK;
    if (chunk > MAX_TAKEN - m->taken_count)
        chunk = MAX_TAKEN - m->taken_count;
    return chunk;
}

static enum hn_status fill_timing(const struct measurement *m, const struct hn_stopping_rule *rule,
                                  size_t batch, enum hn_stop stop, double max_clock_mhz,
                                  struct hn_timing *timing, struct hn_error *err)
{
    struct hn_interval interval = hn_interval_widen(m->interval, rule->resolution_us);
    bool trusted = true;
    double *samples_us = malloc(m->taken_count * sizeof *samples_us);
    if (samples_us == NULL)
        return hn_fail_memory(err);
    free(timing->samples_us);
    *timing = (struct hn_timing){
        .median_us = stop == HN_STOP_SLOWER ? interval.low : interval.median,
        .low_us = interval.low,
        .high_us = interval.high,
        .resolution_us = rule->resolution_us,
        .batch = (int)batch,
        .dropped = (int)(m->taken_count - m->kept_count),
        .clock_mhz = median_clock(m),
        .host_us = median_host(m, max_clock_mhz),
        .unstable = !m->trusted || stop == HN_STOP_BOUND,
        .samples_us = samples_us,
    };
    /* Again, in the order in which they were taken: the interval has sorted m->kept. */
    timing->sample_count =
        hn_measure_keep(m->taken, m->taken_count, max_clock_mhz, samples_us, &trusted);
    return HN_OK;
}

/* Whether the launch that gave the estimate counts as a sample: where another one would cost more
 * than it is worth, and where it is slow enough to decide. */
static bool keeps_estimate(const struct hn_stopping_rule *rule, size_t batch, double estimate_us)
{
    const struct hn_interval first = {estimate_us, estimate_us, estimate_us};
    return batch == 1 && (estimate_us >= (rule->clean ? LONG_US / 10 : LONG_US) ||
                          hn_stopping_decide(rule, &first, 1, 0.0) == HN_STOP_SLOWER);
}

static enum hn_status sample_until(struct hn_sampler *sampler, const struct hn_work *work,
                                   const struct hn_stopping_rule *rule, size_t batch,
                                   struct hn_sample first, struct measurement *m,
                                   enum hn_stop *stop, struct hn_error *err)
{
    double started_ms = hn_now_ms();
    double max_clock_mhz = device_clock_mhz(sampler);
    double estimate_us = first.time_us;
    if (keeps_estimate(rule, batch, estimate_us))
        m->taken[m->taken_count++] = first;
    *stop = judge(m, rule, max_clock_mhz, started_ms);
    while (*stop == HN_STOP_NOT) {
        size_t chunk = chunk_size(m, rule, estimate_us * (double)batch);
        enum hn_status status =
            hn_sampler_take(sampler, work, batch, chunk, &m->taken[m->taken_count], err);
        if (status != HN_OK)
            return status;
        m->taken_count += chunk;
        *stop = judge(m, rule, max_clock_mhz, started_ms);
    }
    return HN_OK;
}

enum hn_status hn_measure(struct hn_sampler *sampler, const struct hn_work *work,
                          const struct hn_bench_request *request, struct hn_sample first,
                          struct hn_timing *timing, enum hn_stop *stop, bool *launched,
                          struct hn_error *err)
{
    size_t batch = 1;
    double first_us = first.time_us;
    *stop = HN_STOP_NOT;
    *launched = true;
    enum hn_status status = hn_sampler_choose_batch(sampler, work, &batch, &first.time_us, err);
    if (status != HN_OK)
        return status;
    struct hn_stopping_rule rule = hn_stopping_rule_for(first.time_us, request->target,
                                                        sampler->resolution_us / (double)batch);
    rule.clean = first.clean;
    rule.full = request->full;
    rule.censor_us = request->censor_us;

    struct measurement *m = calloc(1, sizeof *m);
    if (m == NULL)
        return hn_fail_memory(err);
    m->censor_clock_mhz = request->censor_clock_mhz;
    status = sample_until(sampler, work, &rule, batch, first, m, stop, err);
    *launched =
        m->taken_count > 1 || first.time_us != first_us || !keeps_estimate(&rule, batch, first_us);
    if (status == HN_OK)
        status = fill_timing(m, &rule, batch, *stop, device_clock_mhz(sampler), timing, err);
    free(m);
    return status;
}
