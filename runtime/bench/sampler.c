/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "runtime/bench/measure.h"
#include "runtime/device/driver.h"

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
    double sample_us;
    double most;
    size_t ahead;
};
static const struct row GRAPHS = {400.0, 200.0, HN_GRAPH_CHAIN};
static const struct row STREAMS = {4000.0, 2000.0, 100};
/* By what was queued before it, a sample may take longer. */
static const double DISTURBANCE_US = 1.5;
/* What cuda.h promises of events, us. */
static const double RESOLUTION_US = 0.5;
/* Spins by which the timer's step is measured: so many, each longer by a little than the one
 * before. */
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

double hn_sampler_step(double *times_us, size_t count)
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

/* Times of all lengths differ by multiples of the timer's step. */
static void measure_resolution(struct hn_sampler *sampler, struct hn_error *err)
{
    struct hn_arena *arena = sampler->arena;
    double times_us[STEPS];
    for (size_t i = 0; i < STEPS; i++) {
        record(sampler, sampler->starts[i], err);
        hn_support_spin(arena->support, 1000 + STEP_NS * i, arena->stamps, err);
        record(sampler, sampler->ends[i], err);
    }
    hn_context_synchronize(arena->context, "measuring the timer", err);
    for (size_t i = 0; i < STEPS; i++)
        times_us[i] = hn_elapsed_us(arena->context, sampler->starts[i], sampler->ends[i], err);
    if (!hn_failed(err))
        sampler->resolution_us = hn_sampler_step(times_us, STEPS);
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

/* What a launch made persist would outlive the flush. */
static void flush(struct hn_arena *arena, struct hn_error *err)
{
    CUresult result = hn_failed(err) ? CUDA_SUCCESS : hn_l2_reset(arena->context);
    hn_context_check(arena->context, result, "letting go of persisting L2 lines", err);
    hn_support_flush(arena->support, arena->flush, arena->flush_bytes, arena->sink, err);
}

static const struct row *row_of(enum hn_regime regime)
{
    return regime == HN_STREAM ? &STREAMS : &GRAPHS;
}

static void queue_deployed(const struct hn_work *work, size_t count, struct hn_error *err)
{
    if (work->deploy != NULL)
        work->deploy(work->subject, work->sampler->regime, count, err);
    for (size_t i = 0; work->deploy == NULL && i < count && !hn_failed(err); i++)
        work->launch(work->subject, 0, err);
}

void hn_sampler_prepare(const struct hn_work *work, size_t sets, enum hn_outputs_before before,
                        struct hn_error *err)
{
    if (work->prepare != NULL)
        work->prepare(work->subject, sets, before, err);
    if (work->sampler->regime == HN_COLD)
        flush(work->sampler->arena, err);
}

void hn_sampler_queue(const struct hn_work *work, size_t sets, size_t count, struct hn_error *err)
{
    if (hn_regime_is_deployed(work->sampler->regime)) {
        queue_deployed(work, count, err);
        return;
    }
    for (size_t i = 0; i < count && !hn_failed(err); i++)
        work->launch(work->subject, i % sets, err);
}

/* All that comes before the first event of a sample. */
static void queue_before(const struct hn_work *work, size_t sets, bool compared, size_t slot,
                         uint64_t spin_ns, struct hn_error *err)
{
    struct hn_arena *arena = work->sampler->arena;
    enum hn_outputs_before other = work->rewritten ? HN_OUTPUTS_REWRITTEN : HN_OUTPUTS_LEFT;
    hn_sampler_prepare(work, sets, compared ? work->compared : other, err);
    hn_support_spin(arena->support, spin_ns, arena->stamps + slot * sizeof(struct hn_stamp), err);
}

/* In the cold regime each launch of a batch has a set of its own, none of which the flush has left
 * in the cache. */
static void queue_sample(const struct hn_work *work, bool compared, size_t slot, uint64_t spin_ns,
                         struct hn_error *err)
{
    struct hn_sampler *sampler = work->sampler;
    bool cold = sampler->regime == HN_COLD;
    queue_before(work, cold ? work->batch : 1, compared, slot, spin_ns, err);
    record(sampler, sampler->starts[slot], err);
    for (size_t left = work->batch; left > 0 && !hn_failed(err); left--)
        work->launch(work->subject, cold ? left - 1 : 0, err);
    record(sampler, sampler->ends[slot], err);
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
        queue_deployed(work, ahead, err);
    double started_ms = hn_now_ms();
    record(sampler, sampler->starts[0], err);
    if (work->issued)
        work->launch(work->subject, 0, err);
    else
        queue_deployed(work, batch, err);
    record(sampler, sampler->ends[0], err);
    HN_CALL(context, cuEventSynchronize, (sampler->ends[0]), work->what, err);
    double ended_ms = hn_now_ms();
    read_samples(work, batch, 1, false, sample, err);
    if (work->issued)
        sample->host_us = 1e3 * (ended_ms - started_ms);
}

static void take_queued(const struct hn_work *work, size_t count, size_t compared,
                        struct hn_sample *samples, struct hn_error *err)
{
    struct hn_sampler *sampler = work->sampler;
    struct hn_context *context = sampler->arena->context;
    uint64_t spin_ns = SPIN_NS + SPIN_NS_PER_KERNEL * work->batch * work->step_count;
    for (size_t i = 0; i < count; i++)
        queue_sample(work, i + compared >= count, i, i == 0 ? count * spin_ns : spin_ns, err);
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
