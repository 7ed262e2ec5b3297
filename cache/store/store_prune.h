/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_STORE_STORE_PRUNE_H
#define HONE_CACHE_STORE_STORE_PRUNE_H

#include "cache/store/store.h"

/* What is to be removed. Criteria add up; a session that holds the best of a tuning (as hn_store_list gives it) or the rule of a family that counts goes by
 * `simulated` only. */
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

/* All or nothing; plans and templates that nothing refers to any longer go too. The file shrinks. */
enum hn_status hn_store_prune(struct hn_store *store, const struct hn_prune *prune, struct hn_pruned *pruned,
                              struct hn_error *err);

#endif
