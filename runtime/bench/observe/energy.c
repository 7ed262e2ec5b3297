/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "base/memory.h"
#include "base/run.h"
#include "runtime/bench/bench_parts.h"
#include "runtime/bench/observe/observers.h"

/* What launches of a variant cost, one behind the other for some seconds, by the GPU's own counter:
 *   joules         a launch, on the average of the windows
 *   spread         half of what the windows differ by, over the average; 0 of one
 *   power_w        of the GPU meanwhile
 *   launch_us      from one launch to the next meanwhile
 *   idle_w         of the GPU with nothing to do, a second after it had
 *   seconds        that were measured, in all windows together
 *   windows
 *   temperature_c  at the end; 0: not known */

/* The GPU's energy counter (Volta and later), read by a thread beside whatever keeps the GPU busy.
 * The counter moves in steps, of 100 ms on an H100 and an H200, and reading it takes 2 to 15 ms:
 * what counts is from step to step, whose moment is known to the time of a reading. */

struct reading {
    double at_ms, joules;
};

struct meter {
    struct hn_health_watch *watch;
    pthread_t thread;
    pthread_mutex_t lock; /* of all below */
    bool running, stopped;
    size_t steps;
    struct reading first;
    struct reading last;
};

static void rest(double ms)
{
    const struct timespec pause = {.tv_sec = (time_t)(ms / 1e3),
                                   .tv_nsec = (long)(fmod(ms, 1e3) * 1e6)};
    nanosleep(&pause, NULL);
}

static bool take_reading(struct meter *meter, struct reading *reading)
{
    double before_ms = hn_now_ms();
    bool read = hn_health_energy(meter->watch, &reading->joules);
    reading->at_ms = (before_ms + hn_now_ms()) / 2;
    return read;
}

/* The counter has moved between two readings: most likely in the middle of them. */
static void *follow(void *context)
{
    struct meter *meter = context;
    struct reading before, now;
    bool stopped = !take_reading(meter, &before);
    while (!stopped && take_reading(meter, &now)) {
        pthread_mutex_lock(&meter->lock);
        if (now.joules != before.joules) {
            meter->last = (struct reading){(before.at_ms + now.at_ms) / 2, now.joules};
            if (meter->steps++ == 0)
                meter->first = meter->last;
        }
        stopped = meter->stopped;
        pthread_mutex_unlock(&meter->lock);
        before = now;
        if (!stopped) /* its next step is not to be expected yet */
            rest(1.0);
    }
    return NULL;
}

static bool start_meter(struct meter *meter)
{
    meter->steps = 0;
    meter->stopped = false;
    meter->running = hn_thread_start(&meter->thread, follow, meter, NULL);
    return meter->running;
}

/* Call with the lock held, or after the thread's end. */
static double seconds_of(const struct meter *meter)
{
    return meter->steps > 1 ? (meter->last.at_ms - meter->first.at_ms) / 1e3 : 0;
}

static double meter_seconds(struct meter *meter)
{
    pthread_mutex_lock(&meter->lock);
    double seconds = seconds_of(meter);
    pthread_mutex_unlock(&meter->lock);
    return seconds;
}

static double stop_meter(struct meter *meter)
{
    pthread_mutex_lock(&meter->lock);
    meter->stopped = true;
    pthread_mutex_unlock(&meter->lock);
    if (meter->running)
        pthread_join(meter->thread, NULL);
    meter->running = false;
    double seconds = seconds_of(meter);
    return seconds > 0 ? (meter->last.joules - meter->first.joules) / seconds : 0;
}

/* Before a window the GPU is at work for so long, so that its power is that of the work; the idle
 * GPU rests so long. */
static const double SETTLE_MS = 500.0;
static const double REST_MS = 1000.0;
static const double IDLE_S = 1.0;
/* A counter that does not move any more is not waited for. */
static const double PATIENCE_MS = 1000.0;
/* Launches are queued in blocks that take about so long; one runs while the next is queued. */
static const double BLOCK_US = 5000.0;
static const double MOST_A_BLOCK = 1000.0;

/* What keeps the GPU busy. */
struct load {
    struct hn_context *context;
    struct hn_work work;
    struct meter *meter;
    size_t sets;
    size_t block;    /* launches */
    size_t slot;     /* of the events, of the block that was queued last */
    size_t launches; /* in all */
};

static void record_event(const struct load *load, CUevent event, struct hn_error *err)
{
    HN_CALL(load->context, cuEventRecord, (event, load->context->stream), "cuEventRecord", err);
}

/* Queues another block and waits for the one before. */
static void go_on(struct load *load, struct hn_error *err)
{
    CUevent *events = &load->work.sampler->starts[1];
    hn_sampler_queue(&load->work, load->sets, load->block, err);
    record_event(load, events[1 - load->slot], err);
    HN_CALL(load->context, cuEventSynchronize, (events[load->slot]), load->work.what, err);
    load->slot = 1 - load->slot;
    load->launches += load->block;
}

/* Cold: where all arguments fit the cache, so many sets that they do not. */
static void begin(struct load *load, struct hn_error *err)
{
    struct hn_arena *arena = load->work.sampler->arena;
    enum hn_regime regime = load->work.sampler->regime;
    bool fits = arena->argument_bytes < 3 * (uint64_t)arena->context->device->l2_bytes;
    double estimate_us = 0.0;
    load->sets = 1;
    if (regime == HN_COLD && fits)
        hn_arena_make_sets(arena, HN_MAX_SETS, &load->sets, err);
    hn_sampler_choose_batch(&load->work, &estimate_us, err);
    double block = fmin(fmax(BLOCK_US / fmax(estimate_us, 0.1), 1.0), MOST_A_BLOCK);
    load->block = regime == HN_GRAPH10 ? HN_GRAPH_CHAIN * (size_t)ceil(block / HN_GRAPH_CHAIN)
                                       : (size_t)block;
    load->work.prepare(load->work.subject, load->sets, HN_OUTPUTS_LEFT, err);
    record_event(load, load->work.sampler->starts[1], err);
}

/* From the first step of the counter behind the beginning to the first one after so many seconds.
 * The events enclose all launches that were counted. */
static void measure_load(struct load *load, double seconds, double idle_w,
                         struct hn_bindings *observed, struct hn_error *err)
{
    const struct hn_sampler *sampler = load->work.sampler;
    struct hn_health ignored = {.checks = 0};
    if (hn_failed(err))
        return;
    if (!start_meter(load->meter)) {
        hn_fail(err, HN_ERUN, "a thread that reads the energy counter cannot be started");
        return;
    }
    record_event(load, sampler->starts[0], err);
    double until_ms = hn_now_ms() + 1e3 * seconds + PATIENCE_MS;
    load->launches = 0;
    while (!hn_failed(err) && meter_seconds(load->meter) < seconds && hn_now_ms() < until_ms)
        go_on(load, err);
    double measured_s = meter_seconds(load->meter), power_w = stop_meter(load->meter);
    int temperature_c = hn_health_look(load->meter->watch, &ignored);
    record_event(load, sampler->ends[0], err);
    hn_context_synchronize(load->context, load->work.what, err);
    double all_us = hn_elapsed_us(load->context, sampler->starts[0], sampler->ends[0], err);
    double launch_us = load->launches > 0 ? all_us / (double)load->launches : 0.0;
    if (hn_failed(err) || !(power_w * launch_us > 0.0))
        return;
    hn_observed_set(observed, "energy.joules", hn_real(1e-6 * power_w * launch_us), err);
    hn_observed_set(observed, "energy.spread", hn_real(0.0), err);
    hn_observed_set(observed, "energy.power_w", hn_real(power_w), err);
    hn_observed_set(observed, "energy.launch_us", hn_real(launch_us), err);
    hn_observed_set(observed, "energy.idle_w", hn_real(idle_w), err);
    hn_observed_set(observed, "energy.seconds", hn_real(measured_s), err);
    hn_observed_set(observed, "energy.windows", hn_integer(1), err);
    hn_observed_set(observed, "energy.temperature_c", hn_integer(temperature_c), err);
}

void hn_energy_add(struct hn_bindings *observed, const struct hn_bindings *window,
                   struct hn_error *err)
{
    static const char *const averages[] = {"energy.joules", "energy.power_w", "energy.launch_us"};
    double windows = hn_observed(observed, "energy.windows");
    double joules = hn_observed(observed, "energy.joules");
    double half = hn_observed(observed, "energy.spread") * joules;
    double seconds = hn_observed(observed, "energy.seconds");
    double one = hn_observed(window, "energy.joules");
    double means[3];
    if (!hn_observed_any(window, "energy"))
        return;
    for (int i = 0; i < 3; i++) {
        double sum =
            hn_observed(observed, averages[i]) * windows + hn_observed(window, averages[i]);
        means[i] = sum / (windows + 1);
    }
    hn_observed_replace(observed, "energy", window, err);
    if (windows == 0)
        return;
    for (int i = 0; i < 3; i++)
        hn_observed_set(observed, averages[i], hn_real(means[i]), err);
    double apart = fmax(joules + half, one) - fmin(joules - half, one);
    hn_observed_set(observed, "energy.spread", hn_real(means[0] > 0 ? apart / 2 / means[0] : 0),
                    err);
    hn_observed_set(observed, "energy.seconds",
                    hn_real(seconds + hn_observed(window, "energy.seconds")), err);
    hn_observed_set(observed, "energy.windows", hn_integer((int64_t)windows + 1), err);
}

struct energy {
    struct hn_bench *bench;
    struct meter meter;
    double idle_w; /* of the GPU, once it was measured */
};

static void close_energy(void *own)
{
    struct energy *energy = own;
    (void)stop_meter(&energy->meter);
    pthread_mutex_destroy(&energy->meter.lock);
    free(energy);
}

/* None where NVML is not there or the GPU (or a part of it, with MIG) has no counter. */
static void *open_energy(struct hn_bench *bench)
{
    double joules = 0;
    struct hn_health_watch *watch = bench->options.watch;
    if (watch == NULL || !hn_health_energy(watch, &joules))
        return NULL;
    struct energy *energy = hn_need(1, sizeof *energy);
    energy->bench = bench;
    energy->meter.watch = watch;
    pthread_mutex_init(&energy->meter.lock, NULL);
    return energy;
}

/* One window of so many seconds: the work is launched back to back, as the sampler's regime has it
 * but without flushes (cold: over sets of the arguments that do not fit the L2 cache together),
 * while the meter runs. Nothing is observed where launches cannot follow one another. */
static void run(void *own, struct hn_variant *variant, double seconds, struct hn_error *err)
{
    struct energy *energy = own;
    struct hn_bench *bench = energy->bench;
    struct load load = {
        .context = &bench->context, .work = hn_bench_work(bench, variant), .meter = &energy->meter};
    bench->unchecked = true;
    if (!load.work.batchable)
        return;
    /* The context stays, so that clocks and power are those of a GPU between two launches and not
     * of one that nobody uses. */
    if (energy->idle_w == 0.0) {
        rest(REST_MS);
        double idle_until_ms = hn_now_ms() + 1e3 * IDLE_S + PATIENCE_MS;
        if (start_meter(&energy->meter)) {
            while (meter_seconds(&energy->meter) < IDLE_S && hn_now_ms() < idle_until_ms)
                rest(10.0);
            energy->idle_w = stop_meter(&energy->meter);
        }
    }
    begin(&load, err);
    double until_ms = hn_now_ms() + SETTLE_MS;
    while (!hn_failed(err) && hn_now_ms() < until_ms)
        go_on(&load, err);
    measure_load(&load, seconds, energy->idle_w, &variant->record->observed, err);
}

const struct hn_observer hn_energy_observer = {
    .name = "energy", .open = open_energy, .run = run, .close = close_energy};
