/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_STORE_STORE_H
#define HONE_CACHE_STORE_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "cache/record/identity.h"
#include "cache/record/record.h"

/* The cache: one SQLite file of append-only measurements, safe under concurrent tuners. Schema: task (an identity),
 * version, session (a task measured at a time by a version), record (a point in a session), rule (of a family, in a session),
 * image (a record's cubin), plan (canonical JSON, template and includes of a version). docs/formats.md describes it. */
struct hn_store;

enum hn_store_mode {
    HN_STORE_READ,  /* the file must be there; a read-only place is opened immutable */
    HN_STORE_WRITE, /* made with its folders when missing; HN_ERUN when it can not be written */
};

/* HN_EFORMAT: not a Hone cache, truncated, corrupt, of another format, or with anything in it that Hone does not make;
 * the file is not touched. */
enum hn_status hn_store_open(const char *path, enum hn_store_mode mode, struct hn_store **store, struct hn_error *err);
/* Commits what is pending; its failure is lost, so call hn_store_commit first. NULL is fine. */
void hn_store_close(struct hn_store *store);

/* What the user should know though all works (a cache on a network file system is slower and less safe), or NULL.
 * Owned by the store; the caller prints it once. */
const char *hn_store_warning(const struct hn_store *store);

/* The path that it was opened at, where it was deleted, moved or replaced meanwhile: *rescued is where all of it is now, to
 * be told. NULL: nothing of that kind. Both are the store's. */
const char *hn_store_lost(const struct hn_store *store, const char **rescued);

/* $HONE_CACHE, else $XDG_CACHE_HOME/hone/hone.db, else ~/.cache/hone/hone.db; `given` (--cache) before all. Free it. */
char *hn_store_default_path(const char *given);

/* Whether a cache is named by the URI of a PostgreSQL server: tuner/server opens those, and hn_store_open the copy that it
 * keeps. */
bool hn_store_is_server(const char *path);

/* What a merge calls the cache as a source, in place of its file's name. Copied; HN_ENOMEM. */
enum hn_status hn_store_set_name(struct hn_store *store, const char *name, struct hn_error *err);

/* Who is told after each commit, in the caller's thread, and when the store has been closed. Members may be NULL. */
struct hn_store_follower {
    void (*committed)(void *context);
    void (*closed)(void *context);
    void *context;
};
void hn_store_follow(struct hn_store *store, const struct hn_store_follower *follower);

/* The files that a version was made from, so that a cache alone can compile a miss. */
struct hn_store_file {
    const char *name; /* as the template includes it; the template itself under its own name */
    const char *text;
};
struct hn_store_plan {
    const char *json; /* hn_plan_to_json */
    const struct hn_store_file *files;
    size_t file_count;
};

struct hn_rule;
struct hn_store_session {
    const struct hn_identity *identity;
    const struct hn_version *version;
    const struct hn_store_plan *plan; /* may be NULL; not kept of a version that does not know its template */
    const char *command;              /* how it was asked for */
    bool simulated;
    const struct hn_origin *from; /* NULL: measured here and now; its date is that of now */
    const char *origin; /* of an imported session: its name in all caches, which is imported once; NULL: a new one */
    double started;     /* seconds since the epoch; 0: now. The newest session of a point counts */
    const struct hn_rule *rule; /* of an imported session of a family; NULL: none */
};

/* Adds (or finds) identity and version and opens a session for them. */
enum hn_status hn_store_begin(struct hn_store *store, const struct hn_store_session *session, int64_t *session_id,
                              struct hn_error *err);

/* Takes a copy of the record and keeps it until the next commit. */
enum hn_status hn_store_put(struct hn_store *store, int64_t session_id, const struct hn_record *record,
                            struct hn_error *err);
/* Also keeps the image (cubin) of that point for the session's version. */
enum hn_status hn_store_put_image(struct hn_store *store, int64_t session_id, const struct hn_bindings *point,
                                  const void *cubin, size_t size, const char *entry, struct hn_error *err);
/* Writes all pending records in one transaction, into a new file where the cache is no longer in its place. When it returns they survive any end of the process (kill -9); a power
 * cut may take the last of them, but never those before, nor the file. HN_ERUN: "disk full" and the like: nothing of
 * the earlier records is lost, and what is pending stays so. */
enum hn_status hn_store_commit(struct hn_store *store, struct hn_error *err);
/* Milliseconds until the oldest pending record must be committed (50 ms after put); -1 when nothing is pending. */
int hn_store_due_ms(const struct hn_store *store);

/* The newest record of each point for this identity and version, over all sessions (a verified one counts before an
 * unverified one, what was measured here before what was imported; a final one counts as newer within a session). simulated
 * selects which kind. Free with
 * hn_records_free. */
struct hn_records {
    struct hn_record *items;
    size_t count;
};
enum hn_status hn_store_load(struct hn_store *store, const struct hn_identity *identity,
                             const struct hn_version *version, bool simulated, struct hn_records *records,
                             struct hn_error *err);
void hn_records_free(struct hn_records *records);

/* A session with all its records at once, all or nothing. *added is false when a session of that origin is there
 * already. */
enum hn_status hn_store_import(struct hn_store *store, const struct hn_store_session *session,
                               const struct hn_records *records, bool *added, struct hn_error *err);

/* Takes over from another cache every session that is not there yet, and of those that are what they got since, all or
 * nothing; images only where asked for, because they are machine code of somebody else's making. */
struct hn_store_merged {
    int64_t sessions; /* of which something was taken over */
    int64_t records;
    int64_t rules; /* of families */
    int64_t images;
    int64_t known; /* sessions that were there already, with all records */
};
enum hn_status hn_store_merge(struct hn_store *store, struct hn_store *from, bool images,
                              struct hn_store_merged *merged, struct hn_error *err);

/* A tuned result: the best record of an identity at its newest version with a valid one; where records took part in a
 * final race, the best of the newest such race. */
struct hn_tuned {
    struct hn_identity identity;
    struct hn_version version;
    struct hn_record best;
    int64_t points;     /* records of that version; 0 from hn_store_list_problem */
    int64_t session_id; /* of the best record */
    struct hn_origin origin; /* of the best record */
    bool simulated;
    bool stale; /* measured by an older protocol than ours, or later sessions had another version */
};
struct hn_tuned_list {
    struct hn_tuned *items;
    size_t count;
};
/* Every tuned identity, best first in nothing: ordered by kernel, device, problem. kernel NULL: all kernels. */
enum hn_status hn_store_list(struct hn_store *store, const char *kernel, struct hn_tuned_list *list,
                             struct hn_error *err);
/* The same without counting points, for one problem (NULL: for all), whatever the device: fast in a cache of many. */
enum hn_status hn_store_list_problem(struct hn_store *store, const char *kernel, const struct hn_bindings *problem,
                                     struct hn_tuned_list *list, struct hn_error *err);
void hn_tuned_list_free(struct hn_tuned_list *list);
/* HN_ENOTFOUND when no image of that point and version is kept, HN_EFORMAT when it is damaged. Free *cubin and *entry. */
enum hn_status hn_store_get_image(struct hn_store *store, const struct hn_identity *identity,
                                  const struct hn_version *version, const struct hn_bindings *point, void **cubin,
                                  size_t *size, char **entry, struct hn_error *err);

/* The plan with which a version of that kernel was measured (json and files owned by the result). HN_ENOTFOUND when none is
 * kept. */
struct hn_stored_plan {
    char *json;
    struct hn_stored_file {
        char *name;
        char *text;
    } *files;
    size_t file_count;
};
enum hn_status hn_store_get_plan(struct hn_store *store, const char *kernel, const struct hn_version *version,
                                 struct hn_stored_plan *plan, struct hn_error *err);
void hn_stored_plan_free(struct hn_stored_plan *plan);

/* SQLite's integrity check, foreign keys, checksums and hashes, and that every record parses. Appends a line a finding to report; HN_EFORMAT
 * when there is one. */
enum hn_status hn_store_check(struct hn_store *store, struct hn_text *report, struct hn_error *err);

#endif
