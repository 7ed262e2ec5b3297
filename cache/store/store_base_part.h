/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_STORE_STORE_BASE_PART_H
#define HONE_CACHE_STORE_STORE_BASE_PART_H

#include "cache/store/store.h"

/* What the readers of the store need of a base. */

/* The base's name, as the source of what it has. */
void hn_base_mark(const struct hn_store *base, struct hn_origin *origin);

/* Moves what `more`, the base's, has beside the list's: other identities, or with `versions` other versions of them too. What is left
 * of it is to be freed. */
enum hn_status hn_base_join(const struct hn_store *base, struct hn_tuned_list *list, struct hn_tuned_list *more,
                            bool versions, struct hn_error *err);

#endif
