/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_STORE_STORE_BASE_PART_H
#define HONE_CACHE_STORE_STORE_BASE_PART_H

#include "cache/store/store_record.h"
#include "cache/store/store_rules.h"

/* What the readers of the store need of a base. */

/* The base's name, as the source of what it has. */
void hn_base_mark(const struct hn_store *base, struct hn_origin *origin);

/* Moves what `more`, the base's, has beside the list's: other identities, or with `versions` other versions of them too. What is left
 * of it is to be freed. */
enum hn_status hn_base_join(const struct hn_store *base, struct hn_tuned_list *list, struct hn_tuned_list *more,
                            bool versions, struct hn_error *err);
enum hn_status hn_base_join_rules(const struct hn_store *base, struct hn_stored_rules *rules,
                                  struct hn_stored_rules *more, struct hn_error *err);

/* Visits records as hn_store_visit does, those of points that were visited before left out: once those of the upper cache, with
 * hn_seen_note, then the base's, with hn_seen_skip. The visitor of both is the struct. */
struct hn_seen {
    hn_store_visit_record *visit;
    void *visitor;
    char (*points)[33]; /* hashes */
    size_t count;
    size_t capacity;
    bool sorted;
};
hn_store_visit_record hn_seen_note;
hn_store_visit_record hn_seen_skip;
void hn_seen_finish(struct hn_seen *seen);

#endif
