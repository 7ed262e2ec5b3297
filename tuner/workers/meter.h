/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_WORKERS_METER_H
#define HONE_TUNER_WORKERS_METER_H

#include <pthread.h>

/* For how long at least one of several things was under way. */
struct hn_meter {
    int active;
    double since_ms; /* when the first of those now under way began */
    double total_ms; /* of what has ended */
    struct hn_meter *whole; /* counts these and others' too; NULL: none */
    pthread_mutex_t *lock;  /* of this and the whole, where several threads have parts in it; NULL: none */
};

/* One more is under way, at the time now_ms; one of them has ended. */
void hn_meter_begin(struct hn_meter *meter, double now_ms);
void hn_meter_end(struct hn_meter *meter, double now_ms);
double hn_meter_total_ms(const struct hn_meter *meter, double now_ms);

#endif
