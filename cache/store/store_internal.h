/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_STORE_STORE_INTERNAL_H
#define HONE_CACHE_STORE_STORE_INTERNAL_H

#include <time.h>

#include "cache/store/database.h"
#include "cache/store/store.h"
#include "cache/store/store_sums.h"

struct hn_rule;

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
    char *name;      /* of hn_store_set_name; NULL: its file's */
    struct hn_store *base; /* of hn_store_set_base; NULL: none */
    char *lost_path; /* where it was, if it was rescued to `path`; NULL: it was not */
    enum hn_store_mode mode;
    char warning[512]; /* "" when there is nothing to say */
    struct hn_pending *pending;
    size_t pending_count;
    size_t pending_capacity;
    struct timespec oldest; /* when the first pending was put, monotonic */
    struct hn_store_follower follower;
};

/* Tells the follower, if there is one, that something was committed. */
void hn_store_tell(const struct hn_store *store);

/* The version of the schema, kept in user_version; application_id says that a database is ours.
 * Caches from the oldest on are read, and brought to this one when they are opened for writing. */
enum { HN_SCHEMA_VERSION = 6, HN_SCHEMA_OLDEST = 4 };

/* Makes the tables in a new database, and those that an older one lacks: in a file that is only read
 * they are there as well, empty, and nothing of it is written. HN_EFORMAT for one of another program, of another version, or
 * with anything in it that Hone does not make: nothing of it was used then. */
enum hn_status hn_schema_open(struct hn_database *database, const char *path,
                              enum hn_store_mode mode, struct hn_error *err);

/* Of store->path, for writing. */
enum hn_status hn_store_open_database(struct hn_store *store, struct hn_error *err);

/* Where the cache was deleted, moved or replaced while it is open, copies all of it into a new file beside its place and
 * goes on there. HN_ERUN: that can not be done either. */
enum hn_status hn_store_keep_place(struct hn_store *store, struct hn_error *err);

/* The rows below are written inside the caller's transaction. */
enum hn_status hn_store_add_session(struct hn_store *store, const struct hn_store_session *session,
                                    int64_t *session_id, struct hn_error *err);
enum hn_status hn_store_add_record(struct hn_database *database, int64_t session_id,
                                   const struct hn_record *record, struct hn_error *err);
enum hn_status hn_store_add_image(struct hn_database *database, int64_t session_id,
                                  const char *point, const void *cubin, size_t size,
                                  const char *entry, struct hn_error *err);
enum hn_status hn_store_write_rule(struct hn_database *database, int64_t session_id, const struct hn_rule *rule,
                                   struct hn_error *err);
enum hn_status hn_store_add_rule(struct hn_database *database, int64_t session_id, const char *json,
                                 struct hn_error *err);
/* Whether a session of that origin is there. */
enum hn_status hn_store_has_origin(struct hn_store *store, const char *origin, bool *found,
                                   struct hn_error *err);

/* Binds the nine columns of a task, in the order of the table. *problem, which the caller frees,
 * has to live until the statement has run. */
enum hn_status hn_bind_identity(struct hn_statement *statement, const struct hn_identity *identity,
                                char **problem, struct hn_error *err);
void hn_bind_version(struct hn_statement *statement, const struct hn_version *version);
/* Reads them from column `first` on, into an initialised identity, and through the gate. */
enum hn_status hn_read_identity(struct hn_statement *statement, int first,
                                struct hn_identity *identity, struct hn_error *err);
enum hn_status hn_read_version(struct hn_statement *statement, int first,
                               struct hn_version *version, struct hn_error *err);

/* machine, source and imported of a session. */
enum hn_status hn_read_origin(struct hn_statement *statement, int first, struct hn_origin *origin,
                              struct hn_error *err);

/* 0 when there is none. */
enum hn_status hn_store_find_task(struct hn_store *store, const struct hn_identity *identity,
                                  int64_t *id, struct hn_error *err);
enum hn_status hn_store_find_version(struct hn_store *store, const struct hn_version *version,
                                     int64_t *id, struct hn_error *err);

/* HN_EFORMAT unless the column, one of HN_..._INTACT, is true; `what` is named. */
enum hn_status hn_store_expect_intact(const struct hn_store *store, struct hn_statement *statement,
                                      int column, const char *what, struct hn_error *err);

/* What hn_store_read_record reads, from column 0 on; t: the alias of the table with its dot. */
#define HN_RECORD_COLUMNS(t)                                                                       \
    t "id, " t "json, " t "point, " t "outcome, " t "verification, " t "final, " t                 \
      "objective, " HN_RECORD_INTACT(t)
enum { HN_RECORD_COLUMN_COUNT = 8 };
/* Into an initialised record. HN_EFORMAT, which names it: it is damaged, does not pass the gate, or
 * its columns say another thing than its JSON. objective: of its task, NULL: not known. */
enum hn_status hn_store_read_record(const struct hn_store *store, struct hn_statement *statement,
                                    const char *objective, struct hn_record *record,
                                    struct hn_error *err);
/* The images of the task and version of a session: rows for hn_store_read_image, with the point behind. */
#define HN_IMAGES_OF_SESSION                                                                       \
    "SELECT i.entry, i.cubin, i.hash, " HN_IMAGE_INTACT(                                           \
        "i.") ", i.point FROM image i JOIN session s ON s.task_id = i.task_id"                     \
              " AND s.version_id = i.version_id WHERE s.id = ?"
/* The image of a row of entry, cubin, hash and HN_IMAGE_INTACT, valid until the next step.
 * HN_EFORMAT: it is damaged. */
enum hn_status hn_store_read_image(const struct hn_store *store, struct hn_statement *statement,
                                   const void **cubin, size_t *size, struct hn_error *err);
/* The rule of a row of json and HN_RULE_INTACT, into an initialised rule. HN_EFORMAT: it is damaged, or
 * no rule. */
enum hn_status hn_store_read_rule(const struct hn_store *store, struct hn_statement *statement,
                                  struct hn_rule *rule, struct hn_error *err);
/* Canonical text of bindings, never NULL unless out of memory; free it. */
char *hn_store_text_of(const struct hn_bindings *bindings);

#endif
