/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_STORE_STORE_BEST_H
#define HONE_CACHE_STORE_STORE_BEST_H

#include "cache/store/database.h"

/* Of which records the best is asked: all of a task and a version, measured or simulated. */
struct hn_store_scope {
    int64_t task_id;
    int64_t version_id;
    bool simulated;
};

/* The statements, prepared once for many scopes. */
struct hn_store_best {
    struct hn_statement *sessions;
    struct hn_statement *record;
};
enum hn_status hn_store_best_prepare(struct hn_database *database, struct hn_store_best *best, struct hn_error *err);
void hn_store_best_finish(struct hn_store_best *best); /* zeroed is fine */

/* The id of the best record that counts; 0: there is none. */
enum hn_status hn_store_best_find(const struct hn_store_best *best, const struct hn_store_scope *scope, int64_t *id,
                                  struct hn_error *err);

#endif
