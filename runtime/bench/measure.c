/* SPDX-License-Identifier: MIT */
#include "runtime/bench/measure.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

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
static const double STREAM_TARGET = 0.01;
static const double STREAM_BUDGET_MS = 100.0;
/* Of the groups before the last, one in so many is compared. */
static const uint64_t COMPARED_ONE_IN = 8;
/* Compared launches that are slower than all others by this make a variant suspect. */
static const double SUSPICIOUS = 1.05;
enum { ENOUGH_TO_SUSPECT = 3 };
/* Where samples disagree, so many in a row are compared: who leaves out every second launch has to
 * leave out one of them. */
enum { COMPARED_OF_UNSTABLE = 4 };

static bool has_full_clock(const struct hn_sample *sample, double max_clock_mhz)
{
    return sample->clock_mhz == 0.0 || sample->clock_mhz >= CLOCK_SHARE * max_clock_mhz;
}

size_t hn_measure_keep(const struct hn_sample *samples, size_t count, double max_clock_mhz,
                       double *kept, bool *trusted)
{
    size_t kept_count = 0;
    *trusted = true;
    for (size_t i = 0; i < count; i++)
        if (has_full_clock(&samples[i], max_clock_mhz))
            kept[kept_count++] = samples[i].time_us;
    if (count < ENOUGH_TO_JUDGE_DROPS || 2 * kept_count >= count)
        return kept_count;
    *trusted = false;
    for (size_t i = 0; i < count; i++)
        kept[i] = samples[i].time_us;
    return count;
}

/* The state of one measurement. */
struct measurement {
    const struct hn_work *work;
    struct hn_stopping_rule rule;
    struct hn_measured *measured;
    double max_clock_mhz;
    double started_ms;
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

/* Of the SM clocks that are known; or of the host's times, but for those that were taken at a low
 * clock: 0 where its clock was not read. */
static double median_of(const struct measurement *m, bool of_host)
{
    double values[MAX_TAKEN];
    size_t count = 0;
    for (size_t i = 0; i < m->taken_count; i++) {
        const struct hn_sample *sample = &m->taken[i];
        if (of_host ? has_full_clock(sample, m->max_clock_mhz) : sample->clock_mhz > 0.0)
            values[count++] = of_host ? sample->host_us : sample->clock_mhz;
    }
    return hn_median(values, count);
}

static void judge(struct measurement *m)
{
    struct hn_stopping_rule rule = m->rule;
    rule.censor_us =
        hn_measure_fair_censor(rule.censor_us, m->censor_clock_mhz, median_of(m, false));
    m->measured->stop = HN_STOP_NOT;
    m->kept_count =
        hn_measure_keep(m->taken, m->taken_count, m->max_clock_mhz, m->kept, &m->trusted);
    if (m->kept_count == 0)
        return;
    m->interval = hn_interval_of(m->kept, m->kept_count);
    m->measured->stop =
        hn_stopping_decide(&rule, &m->interval, m->kept_count, hn_now_ms() - m->started_ms);
    if (m->measured->stop == HN_STOP_NOT && m->taken_count == MAX_TAKEN)
        m->measured->stop = HN_STOP_BOUND;
}

/* While an early stop may still come cheap, two at a time, or one. A part of it is drawn, so that
 * no variant can tell which launches may be compared, which are the last of a group. */
static size_t draw_chunk(const struct measurement *m, double sample_us)
{
    const struct hn_stopping_rule *rule = &m->rule;
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
    if (chunk <= 2)
        return chunk;
    return chunk - hn_random_below(&m->work->sampler->arena->secret, chunk / 2 + 1);
}

static bool is_unstable(const struct measurement *m)
{
    return !m->trusted || m->measured->stop == HN_STOP_BOUND;
}

static void fill_timing(const struct measurement *m, struct hn_timing *timing)
{
    struct hn_interval interval = hn_interval_widen(m->interval, m->rule.resolution_us);
    bool trusted = true;
    double *samples_us = hn_need(m->taken_count, sizeof *samples_us);
    free(timing->samples_us);
    *timing = (struct hn_timing){
        .median_us = m->measured->stop == HN_STOP_SLOWER ? interval.low : interval.median,
        .low_us = interval.low,
        .high_us = interval.high,
        .resolution_us = m->rule.resolution_us,
        .batch = (int)m->work->batch,
        .dropped = (int)(m->taken_count - m->kept_count),
        .clock_mhz = median_of(m, false),
        .host_us = median_of(m, true),
        .unstable = is_unstable(m),
        .samples_us = samples_us,
    };
    /* Again, in the order in which they were taken: the interval has sorted m->kept. */
    timing->sample_count =
        hn_measure_keep(m->taken, m->taken_count, m->max_clock_mhz, samples_us, &trusted);
}

/* Whether the launch that gave the estimate counts as a sample: where another one would cost more
 * than it is worth, and where it is slow enough to decide. */
static bool keeps_estimate(const struct measurement *m, double estimate_us)
{
    const struct hn_interval first = {estimate_us, estimate_us, estimate_us};
    return m->work->batch == 1 && (estimate_us >= (m->rule.clean ? LONG_US / 10 : LONG_US) ||
                                   hn_stopping_decide(&m->rule, &first, 1, 0.0) == HN_STOP_SLOWER);
}

static void take_group(struct measurement *m, size_t count, size_t prepared, struct hn_error *err)
{
    struct hn_sample *samples = &m->taken[m->taken_count];
    hn_sampler_take(m->work, count, prepared, samples, err);
    if (hn_failed(err))
        return;
    m->taken_count += count;
    if (m->work->taken != NULL)
        m->work->taken(m->work->judge, samples, count);
    judge(m);
}

static void compare(const struct measurement *m, struct hn_error *err)
{
    bool right = true;
    m->work->compare(m->work->judge, &right, err);
    m->measured->wrong = !right;
}

/* What is stopped as slower is not compared: it can not win. A comparison takes about as long as a
 * short launch: while an early stop may still come, none is drawn. All samples of a group are
 * prepared to be compared where that costs little. What comes last is compared, where samples
 * disagree several times; it counts, but ends nothing. */
static void sample_until(struct measurement *m, struct hn_sample first, struct hn_error *err)
{
    const struct hn_work *work = m->work;
    struct hn_measured *measured = m->measured;
    double sample_us = first.time_us * (double)work->batch;
    bool compared = false;
    size_t prepared = 0;
    if (keeps_estimate(m, first.time_us))
        m->taken[m->taken_count++] = first;
    judge(m);
    while (!hn_failed(err) && measured->stop == HN_STOP_NOT && !measured->wrong) {
        size_t chunk = draw_chunk(m, sample_us);
        compared = work->compare != NULL && m->taken_count >= m->rule.min_samples &&
                   hn_random_below(&work->sampler->arena->secret, COMPARED_ONE_IN) == 0;
        prepared = hn_poison_is_cheap(work, sample_us) ? chunk : compared || sample_us >= LONG_US;
        take_group(m, chunk, work->compare == NULL ? 0 : prepared, err);
        if (!hn_failed(err) && compared && measured->stop != HN_STOP_SLOWER)
            compare(m, err);
    }
    if (hn_failed(err) || work->compare == NULL || measured->wrong ||
        measured->stop == HN_STOP_SLOWER)
        return;
    size_t more = is_unstable(m) ? COMPARED_OF_UNSTABLE : !compared;
    if (more == 1 && prepared > 0) {
        compare(m, err);
        return;
    }
    enum hn_stop stop = measured->stop;
    for (; more > 0 && !hn_failed(err) && !measured->wrong; more--) {
        m->started_ms = hn_now_ms();
        m->taken_count -= m->taken_count == MAX_TAKEN;
        take_group(m, 1, 1, err);
        measured->stop = stop;
        if (!hn_failed(err))
            compare(m, err);
    }
}

bool hn_measure_is_suspicious(double compared_us, double *others_us, size_t others, double slack_us)
{
    return others >= ENOUGH_TO_SUSPECT && isfinite(compared_us) &&
           compared_us > SUSPICIOUS * hn_interval_of(others_us, others).high + slack_us;
}

/* A warm launch may be slower only because poison took its place in the cache: there it is the race
 * that finds this out. A pipeline's may be because pages of managed memory went another way: there
 * it is the audit. */
static bool is_suspect(const struct measurement *m)
{
    const struct hn_work *work = m->work;
    double others_us[MAX_TAKEN];
    double least_us = INFINITY;
    size_t others = 0;
    for (size_t i = 0; i < m->taken_count; i++)
        if (m->taken[i].compared)
            least_us = fmin(least_us, m->taken[i].time_us);
        else
            others_us[others++] = m->taken[i].time_us;
    return work->compare != NULL && !work->issued && work->sampler->regime == HN_COLD &&
           hn_measure_is_suspicious(least_us, others_us, others, hn_sampler_slack_us(work));
}

/* In a stream the host's pace is in the time, which changes by about as much from one tenth of a
 * second to the next: more samples tell no more. */
static struct hn_stopping_rule rule_for(const struct hn_work *work,
                                        const struct hn_bench_request *request,
                                        const struct hn_sample *first)
{
    double resolution_us = work->sampler->resolution_us / (double)work->batch;
    struct hn_stopping_rule rule =
        hn_stopping_rule_for(first->time_us, request->target, resolution_us);
    if (work->sampler->regime == HN_STREAM) {
        rule.target = request->target > 0.0 ? request->target : STREAM_TARGET;
        rule.budget_ms = STREAM_BUDGET_MS;
    }
    rule.clean = first->clean;
    rule.full = request->full;
    rule.censor_us = request->censor_us;
    return rule;
}

void hn_measure(struct hn_work *work, const struct hn_bench_request *request,
                struct hn_sample first, struct hn_timing *timing, struct hn_measured *measured,
                struct hn_error *err)
{
    double first_us = first.time_us;
    *measured = (struct hn_measured){.stop = HN_STOP_NOT, .launched = true};
    hn_sampler_choose_batch(work, &first.time_us, err);
    if (hn_failed(err))
        return;
    struct measurement *m = hn_need(1, sizeof *m);
    m->work = work;
    m->rule = rule_for(work, request, &first);
    m->measured = measured;
    m->max_clock_mhz = (double)work->sampler->arena->context->device->clock_khz / 1e3;
    m->started_ms = hn_now_ms();
    m->censor_clock_mhz = request->censor_clock_mhz;
    sample_until(m, first, err);
    measured->launched =
        m->taken_count > 1 || first.time_us != first_us || !keeps_estimate(m, first_us);
    if (!hn_failed(err) && !measured->wrong && measured->stop != HN_STOP_SLOWER)
        measured->suspect = is_suspect(m);
    if (!hn_failed(err))
        fill_timing(m, timing);
    free(m);
}

/* When enough samples have been taken. */

/* From six samples on the interval of the median holds at 95%, and its lower end decides. Before,
 * the smallest decides, since what disturbs a launch makes it slower, by a margin that shrinks as
 * samples come in. Long kernels vary by a percent or two and each launch is dear: less will do. */
static const struct {
    size_t samples;
    double factor;
    double long_factor;
} slower_steps[] = {{6, 1.02, 1.01}, {4, 1.05, 1.015}, {2, 1.1, 1.03}, {1, 1.5, 1.1}};
static const double LONG_KERNEL_US = 1e3;
/* What a first launch may take longer on the device: it finds none of its code in the caches. */
static const double COLD_CODE_US = 20.0;
/* A launch that the host was late for may have waited that long: to load code, to make room for
 * local memory. One such sample decides only beyond it, and by more. */
static const double STALL_US = 1e3;
static const double STALL_FACTOR = 2.0;
static const double LONG_STALL_FACTOR = 1.2;
enum { TRUSTED_SAMPLES = 6 };

static double slower_factor(const struct hn_stopping_rule *rule, size_t count)
{
    bool is_long = rule->censor_us >= LONG_KERNEL_US;
    size_t i = 0;
    if (count == 1 && !rule->clean)
        return is_long ? LONG_STALL_FACTOR : STALL_FACTOR;
    while (count < slower_steps[i].samples)
        i++;
    return is_long ? slower_steps[i].long_factor : slower_steps[i].factor;
}

struct hn_stopping_rule hn_stopping_rule_for(double estimate_us, double target,
                                             double resolution_us)
{
    return (struct hn_stopping_rule){
        .target = target > 0.0 ? target : 0.005,
        .resolution_us = resolution_us,
        .min_samples = estimate_us > 1e5 ? 3 : TRUSTED_SAMPLES,
        .max_samples = 200,
        .budget_ms = 500.0,
    };
}

enum hn_stop hn_stopping_decide(const struct hn_stopping_rule *rule,
                                const struct hn_interval *interval, size_t count, double elapsed_ms)
{
    double low_us = hn_interval_widen(*interval, rule->resolution_us).low;
    double stall_us = rule->clean ? COLD_CODE_US : STALL_US;
    if (!rule->full && rule->censor_us > 0.0 && count > 0 &&
        (count > 1 || low_us - rule->censor_us >= stall_us) &&
        low_us > slower_factor(rule, count) * rule->censor_us)
        return HN_STOP_SLOWER;
    if (count < rule->min_samples)
        return HN_STOP_NOT;
    double width = interval->high - interval->low;
    if (hn_interval_half_width(interval) <= rule->target || width <= rule->resolution_us)
        return HN_STOP_PRECISE;
    if (count >= rule->max_samples || elapsed_ms >= rule->budget_ms)
        return HN_STOP_BOUND;
    return HN_STOP_NOT;
}

enum { MOST_ROUNDS = 101 };
static const double RACE_TARGET = 0.005;

static struct hn_interval interval_of_differences(const double *times, const double *leader,
                                                  size_t rounds)
{
    double differences[MOST_ROUNDS];
    for (size_t r = 0; r < rounds; r++)
        differences[r] = times[r] - (leader != NULL ? leader[r] : 0.0);
    return hn_interval_of(differences, rounds);
}

bool hn_race_is_decided(const double *const *times, size_t count, size_t rounds,
                        double resolution_us)
{
    struct hn_interval best = {INFINITY, INFINITY, INFINITY};
    size_t leader = 0;
    if (rounds > MOST_ROUNDS || count == 0)
        return true;
    for (size_t c = 0; c < count; c++) {
        struct hn_interval own = interval_of_differences(times[c], NULL, rounds);
        if (own.median >= best.median)
            continue;
        best = own;
        leader = c;
    }
    double margin_us = fmax(RACE_TARGET * best.median, resolution_us);
    if (best.high - best.low > 2.0 * margin_us)
        return false;
    for (size_t c = 0; c < count; c++) {
        struct hn_interval behind = interval_of_differences(times[c], times[leader], rounds);
        bool slower = behind.low > 0.0 && behind.median > resolution_us;
        if (c != leader && !slower && (behind.low < -margin_us || behind.high > margin_us))
            return false;
    }
    return true;
}
