/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_STORE_STORE_H
#define HONE_CACHE_STORE_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/hash.h"
#include "cache/family/rule.h"
#include "cache/record/record.h"

/* The cache: one SQLite file of append-only measurements, safe under concurrent tuners. It holds a document a session: its head (what was
 * measured with what, from where, the plan, the rule of a family) and its records, one a point; and beside them images (cubins of
 * points) and roofs (store_roofs.h). docs/formats.md describes the tables. */
struct hn_store;

enum hn_store_mode {
    HN_STORE_READ,  /* the file must be there; a read-only place is opened immutable */
    HN_STORE_WRITE, /* made with its folders when missing; HN_ERUN when it cannot be written */
};

/* HN_EFORMAT: not a Hone cache, truncated, corrupt, of another format, or with anything in it that Hone does not make;
 * the file is not touched. */
enum hn_status hn_store_open(const char *path, enum hn_store_mode mode, struct hn_store **store, struct hn_error *err);
/* Commits what is pending; its failure is lost, so call hn_store_commit first. NULL is fine. */
void hn_store_close(struct hn_store *store);

/* The path that it was opened at, where it was deleted, moved or replaced meanwhile: *rescued is where all of it is now, to
 * be told. NULL: nothing of that kind. Both are the store's. */
const char *hn_store_lost(const struct hn_store *store, const char **rescued);

/* $HONE_CACHE, else $XDG_CACHE_HOME/hone/hone.db, else ~/.cache/hone/hone.db; `given` (--cache) before all. Free it. */
char *hn_store_default_path(const char *given);

/* Whether a cache is named by the URI of a PostgreSQL server: tuner/server opens those, and hn_store_open the copy that it
 * keeps. Whether by that or by an SQLite file: what else begins like one is none of the user's outputs either. */
bool hn_store_is_server(const char *path);
bool hn_store_is_cache(const char *path);

/* Whether a path is no link, and nobody but the user and root owns it or can write to it; else why. leads_on: it is a folder on the
 * way, where everybody may write if only owners rename (/tmp): the next part has to be the user's, too. why is "" before. */
bool hn_store_is_own(const char *path, bool leads_on, char *why, size_t size);

/* What a merge calls the cache as a source, in place of its file's name. Copied. */
void hn_store_set_name(struct hn_store *store, const char *name, struct hn_error *err);

/* Who is told after each commit, in the caller's thread, and when the store has been closed; and what the user should know though
 * all works: that a cache lies on a network file system (at once), and each row that cannot be read and is left out, once.
 * Members may be NULL. */
struct hn_store_follower {
    void (*committed)(void *context);
    void (*closed)(void *context);
    void (*warned)(const char *message);
    void *context;
};
void hn_store_follow(struct hn_store *store, const struct hn_store_follower *follower);

/* The plan of a version, and the files that it was made from, so that a cache alone can compile a miss. */
struct hn_stored_plan {
    json_t *json; /* hn_plan_to_json: an object */
    struct hn_text_file *files; /* the template under its own name, then what it includes */
    size_t file_count;
};

struct hn_store_session {
    const struct hn_identity *identity;
    const struct hn_version *version;
    const struct hn_stored_plan *plan; /* may be NULL; not kept of a version that does not know its template */
    const char *command;              /* how it was asked for */
    bool simulated;
    const struct hn_origin *from; /* NULL: measured here and now; its date is that of now */
    const char *origin; /* of an imported session: its name in all caches, which is imported once; NULL: a new one */
    double started;     /* seconds since the epoch; 0: now, after all of its problem. The newest session of a point counts */
    const struct hn_rule *rule; /* of an imported session of a family; NULL: none */
};

struct hn_records {
    struct hn_record *items;
    size_t count;
};
void hn_records_free(struct hn_records *records);

/* Adds (or finds) identity and version and opens a session for them, with all of its records (NULL: none yet), all or nothing.
 * *session_id is 0 where a session of its origin is there already. */
enum hn_status hn_store_begin(struct hn_store *store, const struct hn_store_session *session,
                              const struct hn_records *records, int64_t *session_id, struct hn_error *err);

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
 * selects which kind. */
enum hn_status hn_store_load(struct hn_store *store, const struct hn_identity *identity,
                             const struct hn_version *version, bool simulated, struct hn_records *records,
                             struct hn_error *err);

/* The same one by one, for what does not want to hold them all. id: see hn_store_get; 0 for those of a base, which count as imported. The
 * visitor may take the record over and leave an initialised one; what is left is finished. Sticky. */
typedef void hn_store_visit_record(void *visitor, int64_t id, struct hn_record *record, struct hn_error *err);
enum hn_store_whose {
    HN_STORE_ALL,
    HN_STORE_OWN, /* not imported; of other machines, and in a file that others can write to, those that are ok: a failure that was
                     made up would keep the best from being measured */
    HN_STORE_IMPORTED
};
void hn_store_visit(struct hn_store *store, const struct hn_identity *identity, const struct hn_version *version,
                    bool simulated, enum hn_store_whose whose, hn_store_visit_record *visit, void *visitor,
                    struct hn_error *err);
/* One record again: by its id, or the last one put for a point in a session, committed or not. record starts afresh;
 * HN_ENOTFOUND when it is not there, or no longer. */
enum hn_status hn_store_get(struct hn_store *store, int64_t id, struct hn_record *record, struct hn_error *err);
enum hn_status hn_store_get_last(struct hn_store *store, int64_t session_id, const struct hn_bindings *point,
                                 struct hn_record *record, struct hn_error *err);

/* Whether anything was measured with this template, these options and this plan, whatever the device, the driver and the
 * compiler. Sticky. */
bool hn_store_knows(struct hn_store *store, const struct hn_version *version, struct hn_error *err);

/* Takes over from another cache every session that is not there yet, and of those that are what they got since, all or
 * nothing; images of both only where asked for, because they are machine code of somebody else's making. */
struct hn_store_merged {
    int64_t sessions; /* of which something was taken over */
    int64_t records;
    int64_t rules; /* of families */
    int64_t images;
    int64_t known; /* sessions that were there already, with all records */
};
enum hn_status hn_store_merge(struct hn_store *store, struct hn_store *from, bool images,
                              struct hn_store_merged *merged, struct hn_error *err);

/* What cannot be read decides nothing: it is left out, and so is what it would have taken the place of. */

/* A tuned result: the best record of an identity at its newest version with a valid one; where records took part in a
 * final race, the best of the newest such race. Or, of an identity without a problem, the rule of a family. */
struct hn_tuned {
    struct hn_identity identity;
    struct hn_version version;
    struct hn_record best;
    int64_t points;          /* records of that version; 0 where they were not counted */
    struct hn_rule *rule;    /* NULL: the best record counts */
    double begun;            /* its session, seconds since the epoch; 0: not known */
    int64_t session_id;      /* of the best record or the rule */
    struct hn_origin origin; /* of the same */
    bool simulated;
    bool stale; /* measured by an older protocol than ours, or later sessions had another version */
};
struct hn_tuned_list {
    struct hn_tuned *items;
    size_t count;
};
enum hn_store_listed {
    HN_STORE_RESULTS,  /* every tuned identity, ordered by kernel, device, problem */
    HN_STORE_VERSIONS, /* the same with every version that has a valid record, the newest of an identity first */
    HN_STORE_UNCOUNTED, /* the results without counting points: fast in a cache of many */
    HN_STORE_RULES /* of each family the rule that counts: what was measured before what was simulated, what was learnt here before what
                      was imported, then the newest. Ordered by kernel and device */
};
/* kernel NULL: of all kernels. problem: of results alone, whatever the device; NULL: of all. */
enum hn_status hn_store_list(struct hn_store *store, enum hn_store_listed listed, const char *kernel,
                             const struct hn_bindings *problem, struct hn_tuned_list *list, struct hn_error *err);
/* HN_ENOTFOUND, in place of tunings of a kernel, which names what there is. */
void hn_store_fail_missing(struct hn_store *store, const char *kernel, struct hn_error *err);
/* An empty one at the end; sticky, NULL after a failure. */
struct hn_tuned *hn_tuned_list_add(struct hn_tuned_list *list, struct hn_error *err);
void hn_tuned_finish(struct hn_tuned *tuned);
void hn_tuned_list_free(struct hn_tuned_list *list);
/* The tuning of that identity, measured or simulated, the first of that version, NULL: of any; NULL: there is none. */
const struct hn_tuned *hn_tuned_list_find(const struct hn_tuned_list *list, const struct hn_identity *identity,
                                          const struct hn_version *version, bool simulated);

/* HN_ENOTFOUND: none of that point and version is kept; HN_EFORMAT: damaged. Free *cubin and *entry; err may be NULL. */
enum hn_status hn_store_get_image(struct hn_store *store, const struct hn_identity *identity,
                                  const struct hn_version *version, const struct hn_bindings *point, void **cubin,
                                  size_t *size, char **entry, struct hn_error *err);

/* The plan with which a version of that kernel was measured. HN_ENOTFOUND when none is kept; err may be NULL. */
enum hn_status hn_store_get_plan(struct hn_store *store, const char *kernel, const struct hn_version *version,
                                 struct hn_stored_plan *plan, struct hn_error *err);
void hn_stored_plan_free(struct hn_stored_plan *plan);
/* {"plan": …, "files": [{"name": …, "text": …}, …]}. */
extern const struct hn_structure hn_stored_plan_structure;
/* Keeps the plan for all sessions of a version of that kernel, in place of those that they had. HN_ENOTFOUND: there is none, or the
 * version does not know its template. */
enum hn_status hn_store_put_plan(struct hn_store *store, const char *kernel, const struct hn_version *version,
                                 const struct hn_stored_plan *plan, struct hn_error *err);

/* Rules of families. A rule belongs to a session whose identity has no problem values: that is the task of the family, beside
 * the tasks of its problems. Images that are put into that session are those of the rule's configurations, for every
 * problem of the family. Words and frozen values of a problem are part of every program: where there are some, the images of
 * each way to choose them go into a session of the same version whose identity has these alone as its problem. */

/* Commits what is pending, and the rule with it. A session has one: another takes its place. */
enum hn_status hn_store_put_rule(struct hn_store *store, int64_t session_id, const struct hn_rule *rule,
                                 struct hn_error *err);
/* The problems of a kernel that sessions were begun for, whatever the device, as they were when they were read: who asks for thousands of sizes
 * asks memory. */
struct hn_known_problems {
    uint64_t *hashes; /* in order */
    size_t count;
};
enum hn_status hn_known_problems_read(struct hn_store *store, const char *kernel, struct hn_known_problems *known,
                                      struct hn_error *err);
void hn_known_problems_finish(struct hn_known_problems *known);
/* False: there is none of that problem for sure. */
bool hn_known_problems_may_have(const struct hn_known_problems *known, const struct hn_bindings *problem);

/* A cache under another: what is read is answered from both, what is written goes into the upper one. What the lower one has
 * counts as imported from it: it leads and serves, where the upper one has nothing of its own for the same. Takes the base over, which is
 * open for reading. */
void hn_store_set_base(struct hn_store *store, struct hn_store *base);

/* What is to be removed. Criteria add up; a session that holds the best of a tuning (as hn_store_list gives it) or the rule of a family that
 * counts goes by `simulated` only. */
struct hn_prune {
    const char *kernel; /* NULL: of all kernels */
    bool stale;         /* sessions of another version than the tuning's newest */
    bool simulated;     /* simulated sessions */
    double before;      /* sessions that were started before, in seconds since the epoch; 0: none for that */
    bool images;        /* all compiled kernels; those of removed sessions go anyway */
    bool dry_run;       /* only count */
};
struct hn_pruned {
    int64_t sessions;
    int64_t records;
    int64_t images;
    int64_t image_bytes;
};
/* All or nothing; plans that nothing refers to any longer go too. The file shrinks. */
enum hn_status hn_store_prune(struct hn_store *store, const struct hn_prune *prune, struct hn_pruned *pruned,
                              struct hn_error *err);

/* SQLite's integrity check, foreign keys, checksums and hashes, and that every head, record and rule parses. Appends a line a finding to
 * report; HN_EFORMAT when there is one. */
enum hn_status hn_store_check(struct hn_store *store, struct hn_text *report, struct hn_error *err);

/* What it takes to make two caches alike. A session has one name everywhere, its origin, and grows at its end only: of two
 * caches the one with fewer records of it lacks the last ones. The position of a record is its place in its session. */

/* An object of all sessions that got a record after `last_record` (an id), with 0 of all there are: of each by its origin "id",
 * "records" and "rule" (whether it has one, of a family). Sticky. */
json_t *hn_store_get_extents(struct hn_store *store, int64_t last_record, struct hn_error *err);
/* The id of the newest, and where it is asked for that of the newest session; 0: there is none. Sticky. */
int64_t hn_store_last_record(struct hn_store *store, int64_t *session, struct hn_error *err);

/* The id of the session of that origin; 0: there is none. records (NULL: not asked for): how many it has. Sticky. */
int64_t hn_store_find_session(struct hn_store *store, const char *origin, int64_t *records, struct hn_error *err);
/* The newest of that identity and version; 0: there is none. Sticky. */
int64_t hn_store_session_of(struct hn_store *store, const struct hn_identity *identity, const struct hn_version *version,
                            struct hn_error *err);

/* The texts by which tables know what was measured and with what: identity and version as canonical JSON, and what is asked for alone. */
struct hn_subject {
    char *kernel;
    char *problem; /* canonical text */
    char *task;
    char *version;
};
/* Sticky; empty after a failure. */
void hn_subject_make(struct hn_subject *subject, const struct hn_identity *identity, const struct hn_version *version,
                     struct hn_error *err);
void hn_subject_finish(struct hn_subject *subject);

/* A session without its records, as it is kept, merged and sent. */
struct hn_store_head {
    char *origin;
    struct hn_subject subject;
    char *plan; /* as hn_stored_plan_to_json has it; NULL: not kept */
    char *rule; /* of a family, as JSON; NULL: it has none */
    double started;
    char *command;
    bool simulated;
    struct hn_origin from;
    /* What the subject's texts say. */
    struct hn_identity identity;
    struct hn_version version;
};
/* HN_ENOTFOUND: there is none of that id. */
enum hn_status hn_store_get_head(struct hn_store *store, int64_t session_id, struct hn_store_head *head,
                                 struct hn_error *err);
void hn_store_head_finish(struct hn_store_head *head); /* zeroed is fine */

/* The same as a JSON document, where plan is what the head has for it: its text, or the hash of a plan that is kept apart. Reading
 * gives identity, version and subject, and trusts nothing: HN_EFORMAT. */
extern const struct hn_structure hn_store_head_structure;
enum hn_status hn_store_head_from_json(const char *text, struct hn_store_head *head, struct hn_error *err);

/* The lines of a session: its records at positions from 0 on, at -1 the rule of a family. Each is JSON. */
/* At most `most` records from position `first` on, or with -1 the rule, where there is one: an array of texts. Sticky. */
json_t *hn_store_get_lines(struct hn_store *store, int64_t session_id, int64_t first, int64_t most,
                           struct hn_error *err);

/* Sessions of another cache, whose documents nobody vouches for: HN_EFORMAT. Adds one without lines, unless it is there; head's
 * plan is a text. */
enum hn_status hn_store_add(struct hn_store *store, const struct hn_store_head *head, struct hn_error *err);
/* Appends to the session of that origin what it lacks of the records that begin at position `first`, or with -1 puts the rule into
 * it. HN_ENOTFOUND: there is no such session, or it ends before `first`. */
enum hn_status hn_store_extend(struct hn_store *store, const char *origin, int64_t first, const char *const *lines,
                               size_t count, struct hn_error *err);

struct hn_store_image {
    const char *point;
    const char *entry;
    const char *hash;
    const void *cubin;
    size_t size;
};
/* Those of the task and version of a session, of which hn_store_next_image reads one after the other, until there is none or it
 * fails; image is valid until the next one. Sticky. */
struct hn_statement;
struct hn_statement *hn_store_get_images(struct hn_store *store, int64_t session_id, struct hn_error *err);
bool hn_store_next_image(const struct hn_store *store, struct hn_statement **images, struct hn_store_image *image,
                         struct hn_error *err);

#endif
