/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SERVER_SEND_H
#define HONE_TUNER_SERVER_SEND_H

#include "cache/store/store.h"
#include "tuner/server/connection.h"

/* From a cache file to the server. Each statement can be sent twice and does nothing the second time, so that what a lost
 * connection leaves open is sent again. */
struct hn_sending {
    struct hn_connection *connection;
    struct hn_store *store;
    int64_t own_after; /* sessions of larger ids were begun by this process: what they have is newer than the server's */
    int64_t *unkept;   /* records that the server was sent and has not, as where a trigger drops them */
};

/* Sessions that got a record after that of id `last_record`: what the server lacks of them. */
enum hn_status hn_send_news(const struct hn_sending *sending, int64_t last_record, struct hn_error *err);
/* All that the server lacks: records, rules of families, images of what had to be sent, roofs. */
enum hn_status hn_send_all(const struct hn_sending *sending, struct hn_error *err);

/* What the server has: "origin", "records" and "rule" (whether it has one) of each session, ordered by origin; of more than
 * HN_LOOK_MOST others each time. kernel NULL: of all kernels. */
enum { HN_LOOK_MOST = 100000 };
enum hn_status hn_send_look(struct hn_connection *connection, const char *kernel, json_t **sessions,
                            struct hn_error *err);

#endif
