/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_LIBHONE_NEAREST_H
#define HONE_RUNTIME_LIBHONE_NEAREST_H

#include "cache/store/lookup.h"

/* hn_lookup among many results of one kernel, most of which differ in the numbers of their problems only. */
struct hn_lib_nearest;

/* Borrows the list, which must not change. NULL when out of memory. */
struct hn_lib_nearest *hn_lib_nearest_make(const struct hn_tuned_list *list);
void hn_lib_nearest_destroy(struct hn_lib_nearest *nearest);

/* What hn_lookup gives over the whole list, or NULL where that may be something else than the nearest: what is nearest
 * can not be used, or is none. Not to be called by several threads at once. */
const struct hn_tuned *hn_lib_nearest_find(struct hn_lib_nearest *nearest, const struct hn_lookup_query *query,
                                           struct hn_lookup_rank *rank);

#endif
