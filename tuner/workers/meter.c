/* SPDX-License-Identifier: MIT */
#include "tuner/workers/meter.h"

#include <stddef.h>

/* The first lock on the way to the whole is that of all. */
static pthread_mutex_t *take_lock(const struct hn_meter *meter)
{
    while (meter != NULL && meter->lock == NULL)
        meter = meter->whole;
    if (meter == NULL)
        return NULL;
    pthread_mutex_lock(meter->lock);
    return meter->lock;
}

static void release(pthread_mutex_t *lock)
{
    if (lock != NULL)
        pthread_mutex_unlock(lock);
}

void hn_meter_begin(struct hn_meter *meter, double now_ms)
{
    pthread_mutex_t *lock = take_lock(meter);
    for (; meter != NULL; meter = meter->whole) {
        if (meter->active == 0)
            meter->since_ms = now_ms;
        meter->active++;
    }
    release(lock);
}

void hn_meter_end(struct hn_meter *meter, double now_ms)
{
    pthread_mutex_t *lock = take_lock(meter);
    for (; meter != NULL; meter = meter->whole) {
        meter->active--;
        if (meter->active == 0)
            meter->total_ms += now_ms - meter->since_ms;
    }
    release(lock);
}

double hn_meter_total_ms(const struct hn_meter *meter, double now_ms)
{
    pthread_mutex_t *lock = take_lock(meter);
    double total_ms = meter->total_ms + (meter->active > 0 ? now_ms - meter->since_ms : 0);
    release(lock);
    return total_ms;
}
