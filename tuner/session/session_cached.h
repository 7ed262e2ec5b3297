/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SESSION_SESSION_CACHED_H
#define HONE_TUNER_SESSION_SESSION_CACHED_H

#include "cache/store/store.h"
#include "tuner/session/points.h"
#include "tuner/session/ticket.h"

/* What earlier sessions found out here, as far as it is of this space: a few numbers a record, which stays in the cache. */

struct hn_cached_entry {
    int64_t row; /* hn_store_get; 0: there is none */
    struct hn_result result;
    char code_hash[33];
};

struct hn_cached {
    struct hn_cached_entry *entries; /* by point */
    uint32_t count;
    uint32_t capacity;
    double earliest;    /* time of the earliest record; INFINITY: there is none */
    uint32_t incumbent; /* the best of the ok ones; HN_NO_KEY: there is none */
    uint32_t lead;      /* the best of what was imported, which is measured before it counts; HN_NO_KEY: there is none */
    double lead_objective;
};

struct hn_session;

/* Numbers the points of the cached records, the first that a session numbers. A session without a store has none. */
enum hn_status hn_session_load_cached(struct hn_session *session, struct hn_error *err);
void hn_cached_finish(struct hn_cached *cached);

/* The entry of a point when it serves this session; NULL when the point has to be evaluated (again). */
const struct hn_cached_entry *hn_session_find_cached(const struct hn_session *session, uint32_t point);

#endif
