/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SERVER_FETCH_H
#define HONE_TUNER_SERVER_FETCH_H

#include "cache/store/store.h"
#include "tuner/server/connection.h"

/* From the server to a cache file that is open for writing. What arrives is as little trusted as a recording: what does not
 * pass the gate is left out. No statement fetches much, and a call ends after HN_FETCH_MOST sessions or two minutes. */
enum { HN_FETCH_MOST = 10000 };
struct hn_fetching {
    struct hn_connection *connection;
    struct hn_store *store;
    const char *kernel; /* NULL: of all kernels */
    bool images;        /* machine code, too */
};
struct hn_fetched {
    int64_t sessions; /* of which there was something to fetch */
    int64_t records;
    int64_t refused; /* sessions, images and roofs that were left out */
    bool left;       /* there is more, for the next call */
    char reason[512]; /* of the first of them */
};

enum hn_status hn_fetch(const struct hn_fetching *fetching, struct hn_fetched *fetched, struct hn_error *err);

#endif
