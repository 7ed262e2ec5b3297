/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SERVER_SERVER_INTERNAL_H
#define HONE_TUNER_SERVER_SERVER_INTERNAL_H

#include <jansson.h>

#include "tuner/server/server.h"

/* What the files of the room share. What takes an err and returns no status is sticky (base/error.h). */

/* A connection to a PostgreSQL server, for one thread at a time. Every wait is bounded. A failure is HN_ERUN and one line
 * of the server's own words; whether the connection can be used afterwards is not asked: whoever gets one closes it, and
 * makes another later. */
struct hn_connection;

/* uri: as libpq takes it, with all that it says of the environment, of service and password files. name: how messages call
 * the server. Both are borrowed. first: the user has just named it, and may mend it. NULL after a failure, also where there is no
 * libpq. */
#define HN_SERVER_HIDDEN "postgresql://…" /* the name where it can not be told what of a URI is a password */
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

/* Looks whether the tables are there, and makes them where there are none. id: the database's own name, drawn when they were
 * made. HN_EFORMAT: they are of another Hone. */
void hn_tables_open(struct hn_connection *connection, const char *name, char id[33], struct hn_error *err);

/* A server and a cache file that is open for writing, of which each is given what it lacks. */
struct hn_peers {
    struct hn_connection *connection;
    struct hn_store *store;
    int64_t own_after; /* sessions of larger ids were begun by this process: what they have is newer than the server's */
    int64_t *unkept;   /* records that the server was sent and has not, as where a trigger drops them */
};
/* To the server. Each statement can be sent twice and does nothing the second time, so that what a lost connection leaves open is
 * sent again. First: records of sessions that got one after that of id `last_record`. All: everything that the server lacks. */
void hn_send_news(const struct hn_peers *peers, int64_t last_record, struct hn_error *err);
void hn_send_all(const struct hn_peers *peers, struct hn_error *err);
/* From the server. What arrives is as little trusted as a recording: what does not pass the gate is left out and counted. No
 * statement fetches much, and a call ends after 10,000 sessions or two minutes. */
void hn_fetch(const struct hn_peers *peers, const struct hn_sync *sync, struct hn_fetched *fetched, struct hn_error *err);

/* What is tuned and with what, in one word: two tuners of one subject measure the same. */
struct hn_hash hn_subject_hash(const struct hn_subject *subject);

#endif
