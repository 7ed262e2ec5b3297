/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_MEASURE_H
#define HONE_RUNTIME_BENCH_MEASURE_H

#include "base/run.h"
#include "base/statistics.h"
#include "cache/record/record.h"
#include "runtime/bench/arena.h"
#include "runtime/bench/request.h"

/* When enough samples have been taken. Times are of one launch, in microseconds. */
struct hn_stopping_rule {
    double target;        /* relative half width of the interval to reach */
    double resolution_us; /* of a sample: an interval as narrow as this is narrow enough */
    double censor_us;     /* what there is to beat; 0: nothing */
    bool full;            /* never stop for being slower */
    bool clean;           /* the host is in none of the samples so far, even if there is but one */
    size_t min_samples, max_samples;
    double budget_ms;
};

enum hn_stop {
    HN_STOP_NOT,
    HN_STOP_PRECISE,
    HN_STOP_SLOWER,
    HN_STOP_BOUND, /* out of samples or time: the interval is wider than the target */
};

/* Whether a race tells who is faster after these rounds, times[c][r] that of candidate c in round r: the time of the
 * leader, which has the lowest median, is known to half a percent, and every other is slower beyond doubt or within
 * half a percent of it, by the intervals of the paired differences. At most 101 rounds. */
bool hn_race_is_decided(const double *const *times, size_t count, size_t rounds, double resolution_us);

/* How a sample finds the outputs that it will write. Rewritten: their bytes are written again as they are; to caches
 * that is what poison is, to what looks at them nothing has changed. */
enum hn_outputs_before { HN_OUTPUTS_POISONED, HN_OUTPUTS_REWRITTEN, HN_OUTPUTS_LEFT };

struct hn_sample;
struct hn_sampler;

/* What is timed. A sample is: prepare; flush the L2 cache (cold); spin; event; `batch` launches; event. Where
 * launching is in the time, the device waits for the host after the spin, and some launches come before the first
 * event. */
struct hn_work {
    struct hn_sampler *sampler;
    size_t batch; /* launches of a sample, at least 1: hn_sampler_choose_batch */
    void *subject;
    /* Before each sample, outside of its time: the outputs of so many sets are made what `before` says. NULL: nothing. */
    void (*prepare)(void *subject, size_t sets, enum hn_outputs_before before, struct hn_error *err);
    /* Queues one launch on a set of the arguments; the last launch of a sample is on set 0. */
    void (*launch)(void *subject, size_t set, struct hn_error *err);
    /* Queues so many launches on the first set as a regime in which launching is timed has them; NULL: one by one. */
    void (*deploy)(void *subject, enum hn_regime regime, size_t launches, struct hn_error *err);
    enum hn_outputs_before compared; /* how samples that are to be compared find outputs; in a trial as if they were */
    bool rewritten;    /* outputs of samples that are not compared are rewritten; else left */
    bool issued;       /* what issuing a launch costs belongs to its time: samples are taken one by one, with nothing before
                          the launch that would hide it, and the host's clock is read beside the events */
    const char *what;  /* the launch, for messages */
    bool batchable;    /* may be launched several times on what prepare left */
    size_t step_count; /* kernels a launch */
    size_t output_count; /* buffers to be poisoned, and their bytes */
    uint64_t output_bytes;
    /* Compares what the last sample wrote, which was prepared for it; false where it is wrong. NULL: nothing is ever
     * compared. */
    bool (*compare)(void *judge, struct hn_error *err);
    /* Looks at samples of a measurement that were just taken; NULL: nobody does. */
    void (*taken)(void *judge, const struct hn_sample *samples, size_t count);
    void *judge;
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
    double time_us, clock_mhz;
    double host_us; /* by the host's clock, until it has seen the end; only where it is issued, else 0 */
    bool clean;
    bool compared; /* outputs were poisoned before it, as before every sample that is compared */
};

void hn_sampler_init(struct hn_sampler *sampler, struct hn_arena *arena, enum hn_regime regime, struct hn_error *err);
void hn_sampler_finish(struct hn_sampler *sampler);
/* Between two events that have passed, in microseconds. Sticky, as what follows. */
double hn_elapsed_us(struct hn_context *context, CUevent start, CUevent end, struct hn_error *err);

/* By how much samples of the same launches may differ, in microseconds of one launch, systematically: by the timer's
 * resolution, and by what was queued before a sample, which moves it by up to 1.1 us on an H200. */
double hn_sampler_slack_us(const struct hn_work *work);

/* What comes before the launches of a sample but for the spin: so many sets of the arguments are made ready, and in
 * the cold regime the L2 cache is flushed. */
void hn_sampler_prepare(const struct hn_work *work, size_t sets, enum hn_outputs_before before, struct hn_error *err);
/* `count` samples, at most HN_MAX_STAMPS, queued together; waits for them once. So many of the last of them are
 * prepared so that they can be compared. */
void hn_sampler_take(const struct hn_work *work, size_t count, size_t compared, struct hn_sample *samples,
                     struct hn_error *err);
/* Queues launches as the regime has them, one behind the other, cold ones over so many sets of arguments in turn. */
void hn_sampler_queue(const struct hn_work *work, size_t sets, size_t count, struct hn_error *err);
/* Whether poison costs so little, beside samples of so many microseconds, that it may as well come before all of them:
 * then none is told from another. */
bool hn_poison_is_cheap(const struct hn_work *work, double sample_us);

/* How many launches a sample takes so that it is long against the timer's resolution: 1 from 20 us on, and wherever
 * launches cannot follow one another. Goes to work->batch. estimate_us: of one launch; 0: not known, the call measures
 * it. */
void hn_sampler_choose_batch(struct hn_work *work, double *estimate_us, struct hn_error *err);

/* How a measurement ended. */
struct hn_measured {
    enum hn_stop stop;
    bool launched; /* not where the launch timed before it already showed the variant to be slower */
    bool wrong;    /* a launch that was compared was wrong */
    bool suspect;  /* every launch over poisoned outputs took clearly longer than the others */
};

/* Samples until the rule of stopping says that it is enough. first: a launch timed before (that of the verification),
 * time 0 for none. timing->samples_us is allocated. For what is slower, the median is the lower end of the interval.
 * Where the work is compared, the last sample is, and others at random, over outputs that were poisoned just before.
 * What is slower is not compared. */
void hn_measure(struct hn_work *work, const struct hn_bench_request *request, struct hn_sample first,
                struct hn_timing *timing, struct hn_measured *measured, struct hn_error *err);

/* A variant that finds out, by whatever means, which launches are compared, and does its work only in those, is
 * slower in them. The least of several times is hardly above the median of others by chance: where it is by more
 * than 5% and the slack of samples, a trial has to tell. Sorts the others. */
bool hn_measure_is_suspicious(double compared_us, double *others_us, size_t others, double slack_us);

#endif
