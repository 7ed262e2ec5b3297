/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_MEASURE_H
#define HONE_RUNTIME_MEASURE_H

#include "base/clock.h"
#include "runtime/arena.h"
#include "runtime/bench.h"
#include "runtime/stopping.h"

/* What is timed. A sample is: prepare; flush the L2 cache (cold); spin; event; `batch` launches; event. */
struct hn_work {
    void *subject;
    /* Before each sample, outside of its time. */
    enum hn_status (*prepare)(void *subject, struct hn_error *err);
    /* Queues one launch on a set of the arguments; the last launch of a sample is on set 0. */
    enum hn_status (*launch)(void *subject, size_t set, struct hn_error *err);
    bool issued;       /* what issuing a launch costs belongs to its time: samples are taken one by one, with nothing before
                          the launch that would hide it, and the host's clock is read beside the events */
    const char *what;  /* the launch, for messages */
    bool batchable;    /* may be launched several times on what prepare left */
    size_t step_count; /* kernels a launch */
};

/* Takes samples; owns the events. Borrows the arena. */
struct hn_sampler {
    struct hn_arena *arena;
    enum hn_regime regime;
    double resolution_us; /* the smallest difference between two times of events, as measured; at most the 0.5 us that
                             CUDA promises */
    CUevent starts[HN_MAX_STAMPS];
    CUevent ends[HN_MAX_STAMPS];
};

/* One launch's time, and the SM clock just before; 0 when not known. clean: all was queued before it began, so that
 * nothing that kept the host busy is in the time: loading code, making room for local memory, losing its core. */
struct hn_sample {
    double time_us;
    double clock_mhz;
    double host_us; /* by the host's clock, until it has seen the end; only where it is issued, else 0 */
    bool clean;
};

enum hn_status hn_sampler_init(struct hn_sampler *sampler, struct hn_arena *arena, enum hn_regime regime,
                               struct hn_error *err);
void hn_sampler_finish(struct hn_sampler *sampler);
/* The smallest difference between these times, which it sorts; 0.5 us where there is none. */
double hn_sampler_step(double *times_us, size_t count);

/* `count` samples, at most HN_MAX_STAMPS, queued together; waits for them once. */
enum hn_status hn_sampler_take(struct hn_sampler *sampler, const struct hn_work *work, size_t batch, size_t count,
                               struct hn_sample *samples, struct hn_error *err);

/* How many launches a sample takes so that it is long against the timer's resolution: 1 from 20 us on, and wherever
 * launches can not follow one another. estimate_us: of one launch; 0: not known, the call measures it. */
enum hn_status hn_sampler_choose_batch(struct hn_sampler *sampler, const struct hn_work *work, size_t *batch,
                                       double *estimate_us, struct hn_error *err);

/* Samples until the rule of stopping.h says that it is enough. first: a launch timed before (that of the verification),
 * time 0 for none; where it already shows the variant to be slower, nothing is launched and *launched is false.
 * timing->samples_us is allocated. For what is slower, the median is the lower end of the interval. */
enum hn_status hn_measure(struct hn_sampler *sampler, const struct hn_work *work,
                          const struct hn_bench_request *request, struct hn_sample first, struct hn_timing *timing,
                          enum hn_stop *stop, bool *launched, struct hn_error *err);

/* What there is to beat at `clock_mhz`: a time that was taken at a higher clock is held against a lower one as if it
 * scaled with it. */
double hn_measure_fair_censor(double censor_us, double censor_clock_mhz, double clock_mhz);

/* Leaves out what was taken at under 75% of the maximal clock, unless that is more than half of at least 12. Returns
 * how many times it wrote to `kept`, in order; *trusted is false when too many would have had to go. */
size_t hn_measure_keep(const struct hn_sample *samples, size_t count, double max_clock_mhz, double *kept,
                       bool *trusted);

#endif
