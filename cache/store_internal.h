/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_STORE_INTERNAL_H
#define HONE_CACHE_STORE_INTERNAL_H

#include <time.h>

#include "cache/database.h"
#include "cache/store.h"

/* What the files of the store share. */

/* A record or an image (cubin not NULL) that waits for its commit. */
struct hn_pending {
    int64_t session_id;
    struct hn_record record; /* of an image: the point only */
    void *cubin;
    size_t size;
    char *entry;
};

struct hn_store {
    struct hn_database *database;
    char *path;
    enum hn_store_mode mode;
    char warning[512]; /* "" when there is nothing to say */
    struct hn_pending *pending;
    size_t pending_count;
    size_t pending_capacity;
    struct timespec oldest; /* when the first pending was put, monotonic */
};

/* The version of the schema, kept in user_version; application_id says that a database is ours. */
enum { HN_SCHEMA_VERSION = 2 };

/* Makes the tables in a new database; refuses one of another program or of a newer Hone. *outdated
 * is true for an older schema, which nothing but hn_schema_migrate may touch. */
enum hn_status hn_schema_open(struct hn_database *database, const char *path,
                              enum hn_store_mode mode, bool *outdated, struct hn_error *err);
/* Copies the database beside itself, then brings it up to date. Open for writing. */
enum hn_status hn_schema_migrate(struct hn_database *database, const char *path,
                                 struct hn_error *err);

/* What makes look-ups fast, and is no part of the format: without it they give the same. Open for
 * writing. */
enum hn_status hn_schema_make_index(struct hn_database *database, struct hn_error *err);

/* The rows below are written inside the caller's transaction. */
enum hn_status hn_store_add_session(struct hn_store *store, const struct hn_store_session *session,
                                    int64_t *session_id, struct hn_error *err);
enum hn_status hn_store_add_record(struct hn_database *database, int64_t session_id,
                                   const struct hn_record *record, struct hn_error *err);
enum hn_status hn_store_add_image(struct hn_database *database, int64_t session_id,
                                  const char *point, const void *cubin, size_t size,
                                  const char *entry, struct hn_error *err);
/* Whether a session of that origin is there. */
enum hn_status hn_store_has_origin(struct hn_store *store, const char *origin, bool *found,
                                   struct hn_error *err);

/* Binds the nine columns of a task, in the order of the table. *problem, which the caller frees,
 * has to live until the statement has run. */
enum hn_status hn_bind_identity(struct hn_statement *statement, const struct hn_identity *identity,
                                char **problem, struct hn_error *err);
void hn_bind_version(struct hn_statement *statement, const struct hn_version *version);
/* Reads them from column `first` on, into an initialised identity. */
enum hn_status hn_read_identity(struct hn_statement *statement, int first,
                                struct hn_identity *identity, struct hn_error *err);
void hn_read_version(struct hn_statement *statement, int first, struct hn_version *version);

/* 0 when there is none. */
enum hn_status hn_store_find_task(struct hn_store *store, const struct hn_identity *identity,
                                  int64_t *id, struct hn_error *err);
enum hn_status hn_store_find_version(struct hn_store *store, const struct hn_version *version,
                                     int64_t *id, struct hn_error *err);

/* A record from its JSON text; `id` is named when it does not parse. */
enum hn_status hn_store_parse_record(const struct hn_store *store, const char *json, int64_t id,
                                     struct hn_record *record, struct hn_error *err);
/* Canonical text of bindings, never NULL unless out of memory; free it. */
char *hn_store_text_of(const struct hn_bindings *bindings);

#endif
