/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_WORKERS_TIMELINE_H
#define HONE_TUNER_WORKERS_TIMELINE_H

#include <stddef.h>

/* What was done when, to see where the time of a command goes: spans in the order begun, of which those of the same
 * kind that follow one another are one. */
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
