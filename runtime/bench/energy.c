/* SPDX-License-Identifier: MIT */
#include "runtime/bench/energy.h"

#include <math.h>
#include <time.h>

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

struct window {
    double power_w;
    double launch_us;
    double seconds;
    int temperature_c;
};

/* What keeps the GPU busy. */
struct load {
    struct hn_sampler *sampler;
    const struct hn_work *work;
    struct hn_energy_meter *meter;
    size_t sets;
    size_t block;    /* launches */
    size_t slot;     /* of the events, of the block that was queued last */
    size_t launches; /* in all */
};

static struct hn_context *context_of(const struct load *load)
{
    return load->sampler->arena->context;
}

static enum hn_status record_event(const struct load *load, CUevent event, struct hn_error *err)
{
    struct hn_context *context = context_of(load);
    return hn_context_check(context, context->driver->p_cuEventRecord(event, context->stream),
                            "cuEventRecord", err);
}

/* Queues another block and waits for the one before. */
static enum hn_status go_on(struct load *load, struct hn_error *err)
{
    struct hn_context *context = context_of(load);
    CUevent *events = &load->sampler->starts[1];
    enum hn_status status =
        hn_sampler_queue(load->sampler, load->work, load->sets, load->block, err);
    if (status == HN_OK)
        status = record_event(load, events[1 - load->slot], err);
    if (status == HN_OK)
        status =
            hn_context_check(context, context->driver->p_cuEventSynchronize(events[load->slot]),
                             load->work->what, err);
    load->slot = 1 - load->slot;
    load->launches += load->block;
    return status;
}

static enum hn_status go_on_until(struct load *load, double until_ms, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    while (status == HN_OK && hn_now_ms() < until_ms)
        status = go_on(load, err);
    return status;
}

/* Cold: where all arguments fit the cache, so many sets that they do not. */
static enum hn_status begin(struct load *load, struct hn_error *err)
{
    struct hn_arena *arena = load->sampler->arena;
    enum hn_regime regime = load->sampler->regime;
    bool fits = arena->argument_bytes < 3 * (uint64_t)arena->context->device->l2_bytes;
    double estimate_us = 0.0;
    size_t batch = 1;
    enum hn_status status = HN_OK;
    load->sets = 1;
    if (regime == HN_COLD && fits)
        status = hn_arena_make_sets(arena, HN_MAX_SETS, &load->sets, err);
    if (status == HN_OK)
        status = hn_sampler_choose_batch(load->sampler, load->work, &batch, &estimate_us, err);
    double block = fmin(fmax(BLOCK_US / fmax(estimate_us, 0.1), 1.0), MOST_A_BLOCK);
    load->block = regime == HN_GRAPH10 ? HN_GRAPH_CHAIN * (size_t)ceil(block / HN_GRAPH_CHAIN)
                                       : (size_t)block;
    if (status == HN_OK)
        status = load->work->prepare(load->work->subject, load->sets, HN_OUTPUTS_LEFT, err);
    return status == HN_OK ? record_event(load, load->sampler->starts[1], err) : status;
}

/* Between the events, which enclose all launches that were counted. */
static enum hn_status time_launches(const struct load *load, double *launch_us,
                                    struct hn_error *err)
{
    struct hn_context *context = context_of(load);
    struct hn_sampler *sampler = load->sampler;
    float elapsed_ms = 0.0f;
    enum hn_status status = record_event(load, sampler->ends[0], err);
    if (status == HN_OK)
        status = hn_context_synchronize(context, load->work->what, err);
    if (status == HN_OK)
        status = hn_context_check(context,
                                  context->driver->p_cuEventElapsedTime(
                                      &elapsed_ms, sampler->starts[0], sampler->ends[0]),
                                  "cuEventElapsedTime", err);
    *launch_us = load->launches > 0 ? 1e3 * (double)elapsed_ms / (double)load->launches : 0.0;
    return status;
}

/* From the first step of the counter behind the beginning to the first one after so many seconds.
 */
static enum hn_status measure_load(struct load *load, double seconds, struct window *window,
                                   struct hn_error *err)
{
    if (!hn_energy_meter_start(load->meter))
        return hn_fail(err, HN_ERUN, "a thread that reads the energy counter can not be started");
    enum hn_status status = record_event(load, load->sampler->starts[0], err);
    double until_ms = hn_now_ms() + 1e3 * seconds + PATIENCE_MS;
    load->launches = 0;
    while (status == HN_OK && hn_energy_meter_seconds(load->meter) < seconds &&
           hn_now_ms() < until_ms)
        status = go_on(load, err);
    window->seconds = hn_energy_meter_seconds(load->meter);
    window->power_w = hn_energy_meter_stop(load->meter);
    window->temperature_c = hn_energy_meter_temperature(load->meter);
    return status == HN_OK ? time_launches(load, &window->launch_us, err) : status;
}

static void rest(double ms)
{
    const struct timespec pause = {.tv_sec = (time_t)(ms / 1e3),
                                   .tv_nsec = (long)(fmod(ms, 1e3) * 1e6)};
    nanosleep(&pause, NULL);
}

/* The context stays, so that clocks and power are those of a GPU between two launches and not of
 * one that nobody uses. */
static void measure_idle(struct hn_energy_meter *meter, double *idle_w)
{
    rest(REST_MS);
    if (!hn_energy_meter_start(meter))
        return;
    double until_ms = hn_now_ms() + 1e3 * IDLE_S + PATIENCE_MS;
    while (hn_energy_meter_seconds(meter) < IDLE_S && hn_now_ms() < until_ms)
        rest(10.0);
    *idle_w = hn_energy_meter_stop(meter);
}

static double average(double all, double windows, double one)
{
    return (all * windows + one) / (windows + 1);
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
    for (int i = 0; i < 3; i++)
        means[i] =
            average(hn_observed(observed, averages[i]), windows, hn_observed(window, averages[i]));
    hn_observed_replace(observed, "energy", window, err);
    if (windows == 0)
        return;
    for (int i = 0; i < 3; i++)
        hn_observed_set(observed, averages[i], means[i], err);
    double apart = fmax(joules + half, one) - fmin(joules - half, one);
    hn_observed_set(observed, "energy.spread", means[0] > 0 ? apart / 2 / means[0] : 0, err);
    hn_observed_set(observed, "energy.seconds", seconds + hn_observed(window, "energy.seconds"),
                    err);
    hn_observed_count(observed, "energy.windows", (int64_t)windows + 1, err);
}

static void note(struct hn_bindings *observed, const struct window *window, double idle_w,
                 struct hn_error *err)
{
    double joules = 1e-6 * window->power_w * window->launch_us;
    if (!(joules > 0.0))
        return;
    hn_observed_set(observed, "energy.joules", joules, err);
    hn_observed_set(observed, "energy.spread", 0.0, err);
    hn_observed_set(observed, "energy.power_w", window->power_w, err);
    hn_observed_set(observed, "energy.launch_us", window->launch_us, err);
    hn_observed_set(observed, "energy.idle_w", idle_w, err);
    hn_observed_set(observed, "energy.seconds", window->seconds, err);
    hn_observed_count(observed, "energy.windows", 1, err);
    hn_observed_count(observed, "energy.temperature_c", window->temperature_c, err);
}

enum hn_status hn_energy_measure(struct hn_sampler *sampler, const struct hn_work *work,
                                 struct hn_energy_meter *meter, double seconds, double *idle_w,
                                 struct hn_bindings *observed, struct hn_error *err)
{
    struct load load = {.sampler = sampler, .work = work, .meter = meter};
    struct window window = {.power_w = 0.0};
    if (!work->batchable)
        return HN_OK;
    if (*idle_w == 0.0)
        measure_idle(meter, idle_w);
    enum hn_status status = begin(&load, err);
    if (status == HN_OK)
        status = go_on_until(&load, hn_now_ms() + SETTLE_MS, err);
    if (status == HN_OK)
        status = measure_load(&load, seconds, &window, err);
    if (status != HN_OK)
        return status;
    hn_error_init(err);
    note(observed, &window, *idle_w, err);
    return err->status;
}
