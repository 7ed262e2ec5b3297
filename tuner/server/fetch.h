/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SERVER_FETCH_H
#define HONE_TUNER_SERVER_FETCH_H

#include "cache/store/store.h"
#include "tuner/server/connection.h"

/* From the server to a cache file that is open for writing. What arrives is as little trusted as a recording: it passes the
 * gate, and a session that does not is left out. */
struct hn_fetching {
    struct hn_connection *connection;
    struct hn_store *store;
    const char *kernel; /* NULL: of all kernels */
    bool images;        /* machine code, too */
};
struct hn_fetched {
    int64_t sessions; /* of which there was something to fetch */
    int64_t records;
    int64_t refused; /* sessions that were left out */
    char reason[512]; /* of the first of them */
};

enum hn_status hn_fetch(const struct hn_fetching *fetching, struct hn_fetched *fetched, struct hn_error *err);

#endif
