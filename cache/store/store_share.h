/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_STORE_STORE_SHARE_H
#define HONE_CACHE_STORE_STORE_SHARE_H

#include "cache/store/store.h"

/* What it takes to make two caches alike. A session has one name everywhere, its origin, and grows at its end only: of two
 * caches the one with fewer records of it lacks the last ones. The position of a record is its place in its session. */

struct hn_store_extent {
    int64_t id;
    char *origin;
    int64_t records;
    bool rule; /* it has one, of a family */
};
struct hn_store_extents {
    struct hn_store_extent *items; /* by origin, as strcmp orders them */
    size_t count;
};
/* Of all sessions that got a record after `last_record` (an id), with 0 of all there are. */
enum hn_status hn_store_get_extents(struct hn_store *store, int64_t last_record, struct hn_store_extents *extents,
                                    struct hn_error *err);
void hn_store_extents_free(struct hn_store_extents *extents);
/* The id of the newest; 0: there is none. */
enum hn_status hn_store_last_record(struct hn_store *store, int64_t *id, struct hn_error *err);
enum hn_status hn_store_last_session(struct hn_store *store, int64_t *id, struct hn_error *err);

/* The session of that origin; *id is 0 when there is none. records (NULL: not asked for): how many it has. */
enum hn_status hn_store_find_session(struct hn_store *store, const char *origin, int64_t *id, int64_t *records,
                                     struct hn_error *err);

/* A session without its records. */
struct hn_store_head {
    struct hn_identity identity;
    struct hn_version version;
    struct hn_origin from;
    char *command;
    char *rule; /* of a family, as JSON; NULL: it has none */
    double started;
    bool simulated;
};
/* HN_ENOTFOUND: there is none of that id. */
enum hn_status hn_store_get_head(struct hn_store *store, int64_t session_id, struct hn_store_head *head,
                                 struct hn_error *err);
void hn_store_head_finish(struct hn_store_head *head);

/* A record as it is kept: its JSON, and the columns that are copied out of it. Valid during the visit. */
struct hn_store_row {
    int64_t position;
    const char *point;
    const char *outcome;
    const char *json;
    int64_t verification;
    bool final;
    double objective; /* NAN: none */
};
typedef enum hn_status hn_store_visit_row(void *visitor, const struct hn_store_row *row, struct hn_error *err);
/* From position `first` on, at most `most`. */
enum hn_status hn_store_visit_rows(struct hn_store *store, int64_t session_id, int64_t first, int64_t most,
                                   hn_store_visit_row *visit, void *visitor, struct hn_error *err);

struct hn_store_image {
    const char *point;
    const char *entry;
    const char *hash;
    const void *cubin;
    size_t size;
};
typedef enum hn_status hn_store_visit_image(void *visitor, const struct hn_store_image *image, struct hn_error *err);
/* Of the task and version of a session. */
enum hn_status hn_store_visit_images(struct hn_store *store, int64_t session_id, hn_store_visit_image *visit,
                                     void *visitor, struct hn_error *err);

/* Appends to the session of that origin what it lacks of records that begin at position `first`. HN_ENOTFOUND: there is no
 * such session, or it ends before `first`. */
enum hn_status hn_store_extend(struct hn_store *store, const char *origin, int64_t first,
                               const struct hn_records *records, struct hn_error *err);

#endif
