/* SPDX-License-Identifier: MIT */
#include "runtime/device/energy_meter.h"

#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/thread.h"
#include "runtime/device/health.h"

/* So long after the GPU's first step the next ones are not yet to be expected. */
static const long pause_ns = 1000000;

struct reading {
    double at_ms;
    double joules;
};

struct hn_energy_meter {
    struct hn_health_watch *watch;
    pthread_t thread;
    pthread_mutex_t lock; /* of all below */
    bool running;
    bool stopped;
    size_t steps;
    struct reading first;
    struct reading last;
};

struct hn_energy_meter *hn_energy_meter_create(const char *uuid)
{
    double joules = 0;
    struct hn_energy_meter *meter = calloc(1, sizeof *meter);
    if (meter == NULL)
        return NULL;
    pthread_mutex_init(&meter->lock, NULL);
    meter->watch = hn_health_watch_create(uuid);
    if (meter->watch != NULL && hn_health_energy(meter->watch, &joules))
        return meter;
    hn_energy_meter_destroy(meter);
    return NULL;
}

void hn_energy_meter_destroy(struct hn_energy_meter *meter)
{
    if (meter == NULL)
        return;
    (void)hn_energy_meter_stop(meter);
    hn_health_watch_destroy(meter->watch);
    pthread_mutex_destroy(&meter->lock);
    free(meter);
}

/* The counter has moved between two readings: most likely in the middle of them. */
static bool note(struct hn_energy_meter *meter, const struct reading *before,
                 const struct reading *now)
{
    pthread_mutex_lock(&meter->lock);
    if (now->joules != before->joules) {
        meter->last = (struct reading){(before->at_ms + now->at_ms) / 2, now->joules};
        if (meter->steps++ == 0)
            meter->first = meter->last;
    }
    bool stopped = meter->stopped;
    pthread_mutex_unlock(&meter->lock);
    return !stopped;
}

static bool take_reading(struct hn_energy_meter *meter, struct reading *reading)
{
    double before_ms = hn_now_ms();
    bool read = hn_health_energy(meter->watch, &reading->joules);
    reading->at_ms = (before_ms + hn_now_ms()) / 2;
    return read;
}

static void *follow(void *context)
{
    struct hn_energy_meter *meter = context;
    struct reading before, now;
    const struct timespec pause = {.tv_nsec = pause_ns};
    if (!take_reading(meter, &before))
        return NULL;
    while (take_reading(meter, &now) && note(meter, &before, &now)) {
        before = now;
        nanosleep(&pause, NULL);
    }
    return NULL;
}

bool hn_energy_meter_start(struct hn_energy_meter *meter)
{
    meter->steps = 0;
    meter->stopped = false;
    meter->running = hn_thread_start(&meter->thread, follow, meter) == 0;
    return meter->running;
}

/* Call with the lock held, or after the thread's end. */
static double seconds_of(const struct hn_energy_meter *meter)
{
    return meter->steps > 1 ? (meter->last.at_ms - meter->first.at_ms) / 1e3 : 0;
}

double hn_energy_meter_seconds(struct hn_energy_meter *meter)
{
    pthread_mutex_lock(&meter->lock);
    double seconds = seconds_of(meter);
    pthread_mutex_unlock(&meter->lock);
    return seconds;
}

double hn_energy_meter_stop(struct hn_energy_meter *meter)
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

int hn_energy_meter_temperature(struct hn_energy_meter *meter)
{
    struct hn_health ignored = {.checks = 0};
    hn_health_look(meter->watch, &ignored);
    return hn_health_temperature(meter->watch);
}
