/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_WORKERS_USAGE_H
#define HONE_TUNER_WORKERS_USAGE_H

#include <stddef.h>

/* Where the time of a command goes. */

/* For how long at least one of several things was under way. */
struct hn_meter {
    int active;
    double since_ms; /* when the first of those now under way began */
    double total_ms; /* of what has ended */
    struct hn_meter *whole; /* counts these and others' too; NULL: none */
};

/* One more is under way, at the time now_ms; one of them has ended. */
void hn_meter_begin(struct hn_meter *meter, double now_ms);
void hn_meter_end(struct hn_meter *meter, double now_ms);
double hn_meter_total_ms(const struct hn_meter *meter, double now_ms);

/* A record of what was done when: spans in the order begun, of which those of the same kind that follow one another are one. */
enum { HN_TIMELINE_LIMIT = 64 };

struct hn_span {
    char what[24];
    double from_ms;   /* as hn_now_ms */
    double to_ms;
    int count;      /* how many were joined */
    double busy_ms; /* the sum of theirs, without what lies between */
};

struct hn_timeline {
    struct hn_span spans[HN_TIMELINE_LIMIT]; /* the last is joined with all that does not fit */
    size_t count;
};

/* Adds what went on from from_ms to to_ms. */
void hn_timeline_add(struct hn_timeline *timeline, const char *what, double from_ms, double to_ms);

#endif
