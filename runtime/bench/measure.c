/* SPDX-License-Identifier: MIT */
#include "runtime/bench/measure.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "runtime/device/driver.h"

/* Samples. */

/* A launch costs the host 2 to 3 us; the spin has to outlast the queueing of all that is timed. The
 * first of several samples waits until all are queued, since the host may lose its core meanwhile
 * to the compilers. */
static const uint64_t SPIN_NS = 10000;
static const uint64_t SPIN_NS_PER_KERNEL = 4000;
/* Shorter launches are timed in batches that take about as long as SAMPLE_US. */
static const double SHORT_US = 20.0;
static const double SAMPLE_US = 50.0;
/* Where launching is in the time: how long a sample takes, of how many launches at most, and how
 * many come before it. In a stream the host sets the pace, which takes some hundred microseconds to
 * settle after a wait and is disturbed now and then: only a long row of launches has a program's
 * mean. */
struct row {
    double sample_us, most;
    size_t ahead;
};
static const struct row GRAPHS = {400.0, 200.0, HN_GRAPH_CHAIN};
static const struct row STREAMS = {4000.0, 2000.0, 100};
/* By what was queued before it, a sample may take longer. */
static const double DISTURBANCE_US = 1.5;
/* What cuda.h promises of events, us. */
static const double RESOLUTION_US = 0.5;
/* Spins by which the timer's step is measured: so many, each a little longer than the last. */
enum { STEPS = 12 };
static const uint64_t STEP_NS = 37;

void hn_sampler_finish(struct hn_sampler *sampler)
{
    if (sampler->arena == NULL)
        return;
    const struct hn_driver *driver = sampler->arena->context->driver;
    for (size_t i = 0; i < HN_MAX_STAMPS; i++) {
        if (sampler->starts[i] != NULL)
            driver->p_cuEventDestroy(sampler->starts[i]);
        if (sampler->ends[i] != NULL)
            driver->p_cuEventDestroy(sampler->ends[i]);
    }
    *sampler = (struct hn_sampler){0};
}

static void record(struct hn_sampler *sampler, CUevent event, struct hn_error *err)
{
    struct hn_context *context = sampler->arena->context;
    HN_CALL(context, cuEventRecord, (event, context->stream), "cuEventRecord", err);
}

double hn_elapsed_us(struct hn_context *context, CUevent start, CUevent end, struct hn_error *err)
{
    float elapsed_ms = 0.0f;
    HN_CALL(context, cuEventElapsedTime, (&elapsed_ms, start, end), "cuEventElapsedTime", err);
    return 1e3 * (double)elapsed_ms;
}

/* The smallest difference between these times, which it sorts; 0.5 us where there is none. */
static double sampler_step(double *times_us, size_t count)
{
    double step = RESOLUTION_US;
    hn_sort(times_us, count);
    for (size_t i = 1; i < count; i++) {
        double gap = times_us[i] - times_us[i - 1];
        /* Elapsed times come as floats of milliseconds: below this it is their rounding. */
        if (gap > 1e-6 * times_us[i])
            step = fmin(step, gap);
    }
    return step;
}

static void spin(struct hn_arena *arena, uint64_t nanoseconds, size_t slot, struct hn_error *err)
{
    CUdeviceptr stamp = arena->stamps + slot * sizeof(struct hn_stamp);
    void *parameters[] = {&nanoseconds, &stamp};
    hn_support_launch(arena->support, HN_SUPPORT_SPIN, 1, parameters, err);
}

/* Times of all lengths differ by multiples of the timer's step. */
static void measure_resolution(struct hn_sampler *sampler, struct hn_error *err)
{
    struct hn_arena *arena = sampler->arena;
    double times_us[STEPS];
    for (size_t i = 0; i < STEPS; i++) {
        record(sampler, sampler->starts[i], err);
        spin(arena, 1000 + STEP_NS * i, 0, err);
        record(sampler, sampler->ends[i], err);
    }
    hn_context_synchronize(arena->context, "measuring the timer", err);
    for (size_t i = 0; i < STEPS; i++)
        times_us[i] = hn_elapsed_us(arena->context, sampler->starts[i], sampler->ends[i], err);
    if (!hn_failed(err))
        sampler->resolution_us = sampler_step(times_us, STEPS);
}

void hn_sampler_init(struct hn_sampler *sampler, struct hn_arena *arena, enum hn_regime regime,
                     struct hn_error *err)
{
    if (hn_failed(err))
        return;
    *sampler =
        (struct hn_sampler){.arena = arena, .regime = regime, .resolution_us = RESOLUTION_US};
    for (size_t i = 0; i < 2 * HN_MAX_STAMPS && !hn_failed(err); i++) {
        CUevent *event =
            i < HN_MAX_STAMPS ? &sampler->starts[i] : &sampler->ends[i - HN_MAX_STAMPS];
        HN_CALL(arena->context, cuEventCreate, (event, CU_EVENT_DEFAULT), "cuEventCreate", err);
        if (hn_failed(err))
            *event = NULL;
    }
    measure_resolution(sampler, err);
    if (hn_failed(err))
        hn_sampler_finish(sampler);
}

static const struct row *row_of(enum hn_regime regime)
{
    return regime == HN_STREAM ? &STREAMS : &GRAPHS;
}

void hn_sampler_prepare(const struct hn_work *work, size_t sets, enum hn_outputs_before before,
                        struct hn_error *err)
{
    struct hn_arena *arena = work->sampler->arena;
    uint64_t words = arena->flush_bytes / 16;
    void *parameters[] = {&arena->flush, &words, &arena->sink};
    if (work->prepare != NULL)
        work->prepare(work->subject, sets, before, err);
    if (work->sampler->regime != HN_COLD)
        return;
    /* What a launch made persist would outlive the flush. */
    if (!hn_failed(err) && arena->context->l2.user != NULL)
        hn_context_check(arena->context, hn_l2_reset(arena->context),
                         "letting go of persisting L2 lines", err);
    hn_support_launch(arena->support, HN_SUPPORT_FLUSH, 0, parameters, err);
}

void hn_sampler_queue(const struct hn_work *work, size_t sets, size_t count, struct hn_error *err)
{
    bool deploys = work->deploy != NULL && hn_regime_is_deployed(work->sampler->regime);
    if (deploys)
        work->deploy(work->subject, work->sampler->regime, count, err);
    for (size_t i = 0; !deploys && i < count && !hn_failed(err); i++)
        work->launch(work->subject, i % sets, err);
}

/* All that comes before the first event of a sample. */
static void queue_before(const struct hn_work *work, size_t sets, bool compared, size_t slot,
                         uint64_t spin_ns, struct hn_error *err)
{
    enum hn_outputs_before other = work->rewritten ? HN_OUTPUTS_REWRITTEN : HN_OUTPUTS_LEFT;
    hn_sampler_prepare(work, sets, compared ? work->compared : other, err);
    spin(work->sampler->arena, spin_ns, slot, err);
}

static void read_samples(const struct hn_work *work, size_t batch, size_t count, bool clean,
                         struct hn_sample *samples, struct hn_error *err)
{
    const struct hn_sampler *sampler = work->sampler;
    const struct hn_arena *arena = sampler->arena;
    struct hn_stamp stamps[HN_MAX_STAMPS];
    HN_CALL(arena->context, cuMemcpyDtoH, (stamps, arena->stamps, count * sizeof *stamps),
            "reading the clock", err);
    for (size_t i = 0; i < count && !hn_failed(err); i++) {
        double cycles = (double)stamps[i].cycles, nanoseconds = (double)stamps[i].nanoseconds;
        samples[i] = (struct hn_sample){
            .time_us = hn_elapsed_us(arena->context, sampler->starts[i], sampler->ends[i], err) /
                       (double)batch,
            .clock_mhz = nanoseconds > 0 ? 1e3 * cycles / nanoseconds : 0.0,
            .clean = clean,
        };
    }
}

/* One sample with launching in its time: the device waits for the host, and the first event is
 * recorded on an idle stream, or, where launches follow one another, behind launches that are in no
 * time, as those of a program that has just begun: when host and device keep step. */
static void take_one(const struct hn_work *work, bool compared, struct hn_sample *sample,
                     struct hn_error *err)
{
    struct hn_sampler *sampler = work->sampler;
    struct hn_context *context = sampler->arena->context;
    const size_t most = row_of(sampler->regime)->ahead;
    size_t batch = work->issued ? 1 : work->batch;
    size_t ahead = batch == 1 ? 0 : batch < most ? batch : most;
    queue_before(work, 1, compared, 0, SPIN_NS, err);
    hn_context_synchronize(context, work->what, err);
    if (ahead > 0)
        hn_sampler_queue(work, 1, ahead, err);
    double started_ms = hn_now_ms();
    record(sampler, sampler->starts[0], err);
    hn_sampler_queue(work, 1, batch, err);
    record(sampler, sampler->ends[0], err);
    HN_CALL(context, cuEventSynchronize, (sampler->ends[0]), work->what, err);
    double ended_ms = hn_now_ms();
    read_samples(work, batch, 1, false, sample, err);
    if (work->issued)
        sample->host_us = 1e3 * (ended_ms - started_ms);
}

/* In the cold regime each launch of a batch has a set of its own, none of which the flush has left
 * in the cache. */
static void take_queued(const struct hn_work *work, size_t count, size_t compared,
                        struct hn_sample *samples, struct hn_error *err)
{
    struct hn_sampler *sampler = work->sampler;
    struct hn_context *context = sampler->arena->context;
    uint64_t spin_ns = SPIN_NS + SPIN_NS_PER_KERNEL * work->batch * work->step_count;
    bool cold = sampler->regime == HN_COLD;
    for (size_t i = 0; i < count; i++) {
        queue_before(work, cold ? work->batch : 1, i + compared >= count, i,
                     i == 0 ? count * spin_ns : spin_ns, err);
        record(sampler, sampler->starts[i], err);
        for (size_t left = work->batch; left > 0 && !hn_failed(err); left--)
            work->launch(work->subject, cold ? left - 1 : 0, err);
        record(sampler, sampler->ends[i], err);
    }
    if (hn_failed(err))
        return;
    /* Still spinning before the first. */
    bool clean = context->driver->p_cuEventQuery(sampler->starts[0]) == CUDA_ERROR_NOT_READY;
    HN_CALL(context, cuEventSynchronize, (sampler->ends[count - 1]), work->what, err);
    read_samples(work, work->batch, count, clean, samples, err);
}

void hn_sampler_take(const struct hn_work *work, size_t count, size_t compared,
                     struct hn_sample *samples, struct hn_error *err)
{
    bool queued = !work->issued && !hn_regime_is_deployed(work->sampler->regime);
    if (queued)
        take_queued(work, count, compared, samples, err);
    for (size_t i = 0; !queued && i < count && !hn_failed(err); i++)
        take_one(work, i + compared >= count, &samples[i], err);
    for (size_t i = count - compared; i < count; i++)
        samples[i].compared = true;
}

bool hn_poison_is_cheap(const struct hn_work *work, double sample_us)
{
    /* A launch, of further sets another one, and about 1 TB/s; beside flush and spin. */
    double launches = (double)work->output_count * (work->batch > 1 ? 2.0 : 1.0);
    double poison_us = 2.0 * launches + 1e-6 * (double)work->output_bytes * (double)work->batch;
    return !work->issued && poison_us <= 0.05 * (50.0 + sample_us);
}

double hn_sampler_slack_us(const struct hn_work *work)
{
    return (work->sampler->resolution_us + DISTURBANCE_US) / (double)work->batch;
}

/* Where launching is in the time, long enough that neither the events nor the beginning count. */
static size_t batch_for(enum hn_regime regime, double launch_us)
{
    const struct row *row = row_of(regime);
    if (!hn_regime_is_deployed(regime))
        return (size_t)fmin(ceil(SAMPLE_US / fmax(launch_us, 0.1)), HN_MAX_SETS);
    double batch = fmin(ceil(row->sample_us / fmax(launch_us, 0.1)), row->most);
    if (regime == HN_GRAPH10)
        batch = HN_GRAPH_CHAIN * ceil(batch / HN_GRAPH_CHAIN);
    return (size_t)batch;
}

/* The first estimate is of one launch alone, with all that it waits for: what that costs on top is
 * a large part of a short one, and first batches tell better how long it takes. */
void hn_sampler_choose_batch(struct hn_work *work, double *estimate_us, struct hn_error *err)
{
    enum hn_regime regime = work->sampler->regime;
    bool deployed = hn_regime_is_deployed(regime);
    struct hn_sample sample = {0};
    work->batch = 1;
    if (*estimate_us <= 0.0) {
        hn_sampler_take(work, 1, 0, &sample, err);
        *estimate_us = sample.time_us;
    }
    for (int round = 0, last = deployed ? 2 : 1; round <= last; round++) {
        if (hn_failed(err) || !work->batchable || (!deployed && *estimate_us >= SHORT_US))
            return;
        work->batch = batch_for(regime, *estimate_us);
        if (regime == HN_COLD)
            hn_arena_make_sets(work->sampler->arena, work->batch, &work->batch, err);
        if (hn_failed(err) || round == last)
            return;
        hn_sampler_take(work, 1, 0, &sample, err);
        *estimate_us = sample.time_us;
    }
}

/* Measurements. */

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
static const double TARGET = 0.005, STREAM_TARGET = 0.01;
static const double BUDGET_MS = 500.0, STREAM_BUDGET_MS = 100.0;
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

/* Leaves out what was taken at under 75% of the maximal clock, unless that is more than half of at
 * least 12. Returns how many times it wrote to `kept`, in order; *trusted is false when too many
 * would have had to go. */
static size_t measure_keep(const struct hn_sample *samples, size_t count, double max_clock_mhz,
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
    double max_clock_mhz, started_ms;
    struct hn_sample taken[MAX_TAKEN];
    double kept[MAX_TAKEN];      /* sorted by the interval */
    double others_us[MAX_TAKEN]; /* that were not compared */
    size_t taken_count, kept_count;
    bool trusted;
    struct hn_interval interval;
    double censor_clock_mhz;
};

/* What there is to beat at `clock_mhz`: a time that was taken at a higher clock is held against a
 * lower one as if it scaled with it. */
static double measure_fair_censor(double censor_us, double censor_clock_mhz, double clock_mhz)
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
    HN_EACH_OF(sample, m->taken, m->taken_count) {
        if (of_host ? has_full_clock(sample, m->max_clock_mhz) : sample->clock_mhz > 0.0)
            values[count++] = of_host ? sample->host_us : sample->clock_mhz;
    }
    return hn_median(values, count);
}

/* When enough samples have been taken. */

/* From six samples on the interval of the median holds at 95%, and its lower end decides. Before,
 * the smallest decides, since what disturbs a launch makes it slower, by a margin that shrinks as
 * samples come in. Long kernels vary by a percent or two and each launch is dear: less will do. */
static const struct {
    size_t samples;
    double factor, long_factor;
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

/* interval: of the `count` samples so far, not widened. */
static enum hn_stop stopping_decide(const struct hn_stopping_rule *rule,
                                    const struct hn_interval *interval, size_t count,
                                    double elapsed_ms)
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
    bool precise = interval->median > 0.0 && 0.5 * width / interval->median <= rule->target;
    if (precise || width <= rule->resolution_us)
        return HN_STOP_PRECISE;
    bool bound = count >= rule->max_samples || elapsed_ms >= rule->budget_ms;
    return bound ? HN_STOP_BOUND : HN_STOP_NOT;
}

static void judge(struct measurement *m)
{
    struct hn_stopping_rule rule = m->rule;
    rule.censor_us = measure_fair_censor(rule.censor_us, m->censor_clock_mhz, median_of(m, false));
    m->measured->stop = HN_STOP_NOT;
    m->kept_count = measure_keep(m->taken, m->taken_count, m->max_clock_mhz, m->kept, &m->trusted);
    if (m->kept_count == 0)
        return;
    m->interval = hn_interval_of(m->kept, m->kept_count, HN_OUTSIDE_USUAL);
    m->measured->stop =
        stopping_decide(&rule, &m->interval, m->kept_count, hn_now_ms() - m->started_ms);
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
        measure_keep(m->taken, m->taken_count, m->max_clock_mhz, samples_us, &trusted);
}

/* Whether the launch that gave the estimate counts as a sample: where another one would cost more
 * than it is worth, and where it is slow enough to decide. */
static bool keeps_estimate(const struct measurement *m, double estimate_us)
{
    const struct hn_interval first = {estimate_us, estimate_us, estimate_us};
    return m->work->batch == 1 && (estimate_us >= (m->rule.clean ? LONG_US / 10 : LONG_US) ||
                                   stopping_decide(&m->rule, &first, 1, 0.0) == HN_STOP_SLOWER);
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

/* What is stopped as slower is not compared: it cannot win. A comparison takes about as long as a
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
            measured->wrong = !work->compare(work->judge, err);
    }
    if (hn_failed(err) || work->compare == NULL || measured->wrong ||
        measured->stop == HN_STOP_SLOWER)
        return;
    size_t more = is_unstable(m) ? COMPARED_OF_UNSTABLE : !compared;
    if (more == 1 && prepared > 0) {
        measured->wrong = !work->compare(work->judge, err);
        return;
    }
    enum hn_stop stop = measured->stop;
    for (; more > 0 && !hn_failed(err) && !measured->wrong; more--) {
        m->started_ms = hn_now_ms();
        m->taken_count -= m->taken_count == MAX_TAKEN;
        take_group(m, 1, 1, err);
        measured->stop = stop;
        if (!hn_failed(err))
            measured->wrong = !work->compare(work->judge, err);
    }
}

bool hn_measure_is_suspicious(double compared_us, double *others_us, size_t others, double slack_us)
{
    return others >= ENOUGH_TO_SUSPECT && isfinite(compared_us) &&
           compared_us >
               SUSPICIOUS * hn_interval_of(others_us, others, HN_OUTSIDE_USUAL).high + slack_us;
}

/* At least 6 samples (3 of kernels beyond 100 ms), at most 200 and about half a second. In a stream
 * the host's pace is in the time, which changes by about as much from one tenth of a second to the
 * next: more samples tell no more. */
static struct hn_stopping_rule rule_for(const struct hn_work *work,
                                        const struct hn_bench_request *request,
                                        const struct hn_sample *first)
{
    bool in_stream = work->sampler->regime == HN_STREAM;
    return (struct hn_stopping_rule){
        .target = request->target > 0.0 ? request->target
                  : in_stream           ? STREAM_TARGET
                                        : TARGET,
        .resolution_us = work->sampler->resolution_us / (double)work->batch,
        .censor_us = request->censor_us,
        .full = request->full,
        .clean = first->clean,
        .min_samples = first->time_us > 1e5 ? 3 : TRUSTED_SAMPLES,
        .max_samples = 200,
        .budget_ms = in_stream ? STREAM_BUDGET_MS : BUDGET_MS,
    };
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
    struct measurement *m HN_FREED = hn_need(1, sizeof *m);
    m->work = work;
    m->rule = rule_for(work, request, &first);
    m->measured = measured;
    m->max_clock_mhz = (double)work->sampler->arena->context->device->clock_khz / 1e3;
    m->started_ms = hn_now_ms();
    m->censor_clock_mhz = request->censor_clock_mhz;
    sample_until(m, first, err);
    measured->launched =
        m->taken_count > 1 || first.time_us != first_us || !keeps_estimate(m, first_us);
    /* A warm launch may be slower only because poison took its place in the cache: there it is the
     * race that finds this out. A pipeline's may be because pages of managed memory went another
     * way: there it is the audit. */
    double least_us = INFINITY;
    size_t others = 0;
    for (size_t i = 0; i < m->taken_count; i++)
        if (m->taken[i].compared)
            least_us = fmin(least_us, m->taken[i].time_us);
        else
            m->others_us[others++] = m->taken[i].time_us;
    measured->suspect =
        !hn_failed(err) && !measured->wrong && measured->stop != HN_STOP_SLOWER &&
        work->compare != NULL && !work->issued && work->sampler->regime == HN_COLD &&
        hn_measure_is_suspicious(least_us, m->others_us, others, hn_sampler_slack_us(work));
    if (!hn_failed(err))
        fill_timing(m, timing);
}

static const double RACE_TARGET = 0.005;

static struct hn_interval interval_of_differences(const double *times, const double *leader,
                                                  size_t rounds)
{
    double differences[HN_RACE_MOST_ROUNDS];
    for (size_t r = 0; r < rounds; r++)
        differences[r] = times[r] - (leader != NULL ? leader[r] : 0.0);
    return hn_interval_of(differences, rounds, HN_OUTSIDE_USUAL);
}

bool hn_race_is_decided(const double *const *times, size_t count, size_t rounds,
                        double resolution_us)
{
    struct hn_interval best = {INFINITY, INFINITY, INFINITY};
    size_t leader = 0;
    if (rounds > HN_RACE_MOST_ROUNDS || count == 0)
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
