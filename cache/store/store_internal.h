/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_STORE_STORE_INTERNAL_H
#define HONE_CACHE_STORE_STORE_INTERNAL_H

#include "cache/store/database.h"
#include "cache/store/store.h"

/* What the files of the store share. What takes an err and returns no status is sticky (base/error.h). */

/* A record or an image (cubin not NULL) that waits for its commit. */
struct hn_pending {
    int64_t session_id;
    struct hn_record record; /* unless it is an image, which has the others */
    char *point;
    void *cubin;
    size_t size;
    char *entry;
};

void hn_pending_finish(struct hn_pending *pending);

struct hn_store {
    struct hn_database *database;
    char *path;
    char *name;            /* of hn_store_set_name; NULL: its file's */
    struct hn_store *base; /* of hn_store_set_base; NULL: none */
    char *lost_path;       /* where it was, if it was rescued to `path`; NULL: it was not */
    enum hn_store_mode mode;
    char warning[512]; /* "" when there is nothing to say */
    int64_t *left_out; /* ids of records, and of sessions below 0 */
    size_t left_out_count;
    struct hn_pending *pending;
    size_t pending_count;
    double oldest_ms; /* when the first pending was put, by hn_now_ms */
    struct hn_store_follower follower;
};

/* Whether a row is as it was written: its checksum is that of all its columns but id, cubin (which has a hash) and the checksum itself, in
 * the order of the table. t: the table's alias with its dot, or "". */
#define HN_INTACT(t, columns) t "checksum = checksum(" columns ")"
#define HN_SESSION_INTACT(t)                                                                                           \
    HN_INTACT(t, t "origin, " t "kernel, " t "problem, " t "task, " t "version, " t "plan, " t "rule, " t "started, " \
                 t "command, " t "simulated, " t "machine, " t "source, " t "imported")
#define HN_RECORD_INTACT(t)                                                                                            \
    HN_INTACT(t, t "session_id, " t "point, " t "outcome, " t "verification, " t "final, " t "objective, " t "json")
#define HN_PLAN_INTACT(t) HN_INTACT(t, t "hash, " t "json")
#define HN_IMAGE_INTACT(t)                                                                                             \
    HN_INTACT(t, t "kernel, " t "problem, " t "task, " t "version, " t "point, " t "entry, " t "hash")
#define HN_ROOF_INTACT(t) HN_INTACT(t, t "device, " t "driver, " t "measured, " t "json")

/* After a row was read: where that failed with HN_EFORMAT it is left out from here on, as its id in left_out says, and told; err has
 * not failed then. Of a cache that has too many of them it stays so. */
bool hn_store_leave_out(struct hn_store *store, int64_t id, struct hn_error *err);
/* HN_EFORMAT unless a row is, by one of HN_..._INTACT; `what` is named. */
void hn_store_expect_intact(const struct hn_store *store, bool intact, const char *what, struct hn_error *err);
/* Of a damaged or hostile cache: err's message with the cache's name before it, and `what` of it cannot be read. */
void hn_store_name_failure(const struct hn_store *store, const char *what, struct hn_error *err);

/* Where the cache was deleted, moved or replaced while it is open, copies all of it into a new file beside its place and
 * goes on there. HN_ERUN: that cannot be done either. */
void hn_store_keep_place(struct hn_store *store, struct hn_error *err);

/* The JSON of a value; NULL has none. Sticky. Free the text. */
char *hn_document_text(const struct hn_structure *structure, const void *value, struct hn_error *err);
/* Whether a row of sessions or images is of a subject, which is bound first. Of a version there may be thousands of sessions, so that its
 * index is no help (+). */
#define HN_SUBJECT "kernel = ?1 AND problem = ?2 AND task = ?3 AND +version = ?4"
#define HN_SUBJECT_VALUES(subject) (subject)->kernel, (subject)->problem, (subject)->task, (subject)->version

/* What hn_store_read_head reads, from column 0 on; t: the alias of the table with its dot. */
#define HN_HEAD_COLUMNS(t)                                                                                             \
    t "origin, " t "kernel, " t "problem, " t "task, " t "version, " t "rule, " t "started, " t "command, "           \
      t "simulated, " t "machine, " t "source, " t "imported, " HN_SESSION_INTACT(t) ", " t "id"
enum { HN_HEAD_COLUMN_COUNT = 14 };
/* Into a zeroed head, all but its plan. HN_EFORMAT: it is damaged, does not pass the gate, or its columns say another thing than its JSON. */
void hn_store_read_head(const struct hn_store *store, struct hn_statement *statement, struct hn_store_head *head,
                        struct hn_error *err);
/* What of it is shown is text of one line, and a date. */
void hn_store_gate_origin(const struct hn_origin *origin, struct hn_error *err);

/* What hn_store_read_record reads, from column 0 on; t: the alias of the table with its dot. */
#define HN_RECORD_COLUMNS(t)                                                                                           \
    t "id, " t "json, " t "point, " t "outcome, " t "verification, " t "final, " t "objective, " HN_RECORD_INTACT(t)
#define HN_SELECT_RECORDS "SELECT " HN_RECORD_COLUMNS("") " FROM record"
enum { HN_RECORD_COLUMN_COUNT = 8 };
/* Into an initialised record. HN_EFORMAT, which names it: it is damaged, does not pass the gate, or its columns say another
 * thing than its JSON. objective: of its task, NULL: not known. */
void hn_store_read_record(const struct hn_store *store, struct hn_statement *statement, const char *objective,
                          struct hn_record *record, struct hn_error *err);

/* What hn_store_read_image reads, from column 0 on; valid until the next step. HN_EFORMAT: it is damaged. */
#define HN_IMAGE_COLUMNS(t) t "point, " t "entry, " t "hash, " t "cubin, " HN_IMAGE_INTACT(t)
void hn_store_read_image(const struct hn_store *store, struct hn_statement *statement, struct hn_store_image *image,
                         struct hn_error *err);

/* JSON that anybody may have written, through the gate; NULL: err says why. */
json_t *hn_document_parse(const char *text, struct hn_error *err);
/* The same into a zeroed struct of that structure; what: begins messages. */
void hn_document_read(const char *what, const struct hn_structure *structure, const char *text, void *owner,
                      struct hn_error *err);
/* Whether it can be read; NULL: there is nothing to read. */
void hn_document_check(const char *what, const struct hn_structure *structure, const char *text, struct hn_error *err);

/* The base's name, as the source of what it has. */
void hn_base_mark(const struct hn_store *base, struct hn_origin *origin);

/* Which of a point's records (aliases of record and session) counts: the one with the least of these columns, compared in
 * their order. What was measured here counts before what was imported; then a measured record without a verification yields
 * to any other; then the newest session counts; within it the final race, or that a point turned out wrong; then the order
 * of writing. Not with IN: SQLite makes a table of what stands behind it, in every query. */
#define HN_PLACE(record, session)                                                                                      \
    session ".source <> '', " record ".verification = 0 AND (" record ".outcome = 'ok' OR " record                     \
            ".outcome = 'slower' OR " record ".outcome = 'duplicate'), -" session ".started, -" session ".id, NOT ("   \
            record ".final OR " record ".outcome = 'wrong_result' OR " record ".outcome = 'out_of_bounds'), -" record  \
            ".id"

#endif
