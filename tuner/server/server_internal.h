/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SERVER_SERVER_INTERNAL_H
#define HONE_TUNER_SERVER_SERVER_INTERNAL_H

#include <jansson.h>

#include "tuner/server/server.h"

/* A connection to a PostgreSQL server, for one thread at a time. Every wait is bounded. A failure is HN_ERUN and one line
 * of the server's own words; whether the connection can be used afterwards is not asked: whoever gets one closes it, and
 * makes another later. These are sticky (base/error.h). */
struct hn_connection;

/* uri: as libpq takes it, with all that it says of the environment, of service and password files. name: how messages call
 * the server. Both are borrowed. first: the user has just named it, and may mend it. NULL after a failure, also where there is no
 * libpq. */
#define HN_SERVER_HIDDEN "postgresql://…" /* the name where it cannot be told what of a URI is a password */
struct hn_connection *hn_connection_open(const char *uri, const char *name, bool first, double patience_ms,
                                         struct hn_error *err);
void hn_connection_close(struct hn_connection *connection); /* NULL is fine */
/* How long a statement may take from the next one on; the server itself ends it after a minute. */
void hn_connection_set_patience(struct hn_connection *connection, double patience_ms);

/* Runs one statement. Its parameters $1, $2 and so on: for each a letter and a value, t a text (NULL: SQL's NULL), i an
 * int64_t. */
void hn_connection_run(struct hn_connection *connection, struct hn_error *err, const char *sql, const char *kinds, ...);
/* The same for a SELECT, or what has a RETURNING: a list of objects, a row each by the names of the columns; the caller's.
 * NULL after a failure. */
json_t *hn_connection_read(struct hn_connection *connection, struct hn_error *err, const char *sql, const char *kinds,
                           ...);

/* tables.sql and stranger.sql: makes the tables, and tells of one whose code would run there. */
extern const char hn_server_tables[], hn_server_stranger[];

/* Looks whether the tables are there, and makes them where there are none. id: the database's own name, drawn when they were
 * made. HN_EFORMAT: they are of another Hone. */
void hn_tables_open(struct hn_connection *connection, char id[33], struct hn_error *err);

#endif
