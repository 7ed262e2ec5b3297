/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SERVER_CONNECTION_H
#define HONE_TUNER_SERVER_CONNECTION_H

#include <jansson.h>
#include <stddef.h>

#include "tuner/server/libpq.h"

/* A connection to a PostgreSQL server, for one thread at a time. Every wait is bounded. A failure is HN_ERUN and one line
 * of the server's own words; whether the connection can be used afterwards is not asked: whoever gets one closes it, and
 * makes another later. */
struct hn_connection;

/* uri: as libpq takes it, with all that it says of the environment, of service and password files. name: how messages call
 * the server. Both are borrowed, pq too. */
#define HN_SERVER_HIDDEN "postgresql://…" /* the name where it can not be told what of a URI is a password */
struct hn_address {
    const struct hn_libpq *pq;
    const char *uri;
    const char *name;
};
enum hn_status hn_connection_open(const struct hn_address *address, double patience_ms,
                                  struct hn_connection **connection, struct hn_error *err);
void hn_connection_close(struct hn_connection *connection); /* NULL is fine */
/* How long a statement may take from the next one on; the server itself ends it after a minute. */
void hn_connection_set_patience(struct hn_connection *connection, double patience_ms);

/* Runs one statement; values are the texts of $1, $2 and so on, NULL is SQL's NULL. */
enum hn_status hn_connection_run(struct hn_connection *connection, const char *sql, const char *const *values,
                                 size_t count, struct hn_error *err);
/* The same for a SELECT, or what has a RETURNING: *rows is a list of objects, a row each by the names of the columns, and
 * the caller's. */
enum hn_status hn_connection_read(struct hn_connection *connection, const char *sql, const char *const *values,
                                  size_t count, json_t **rows, struct hn_error *err);

#endif
