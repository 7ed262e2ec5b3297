/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_LIBHONE_INDEX_H
#define HONE_RUNTIME_LIBHONE_INDEX_H

#include "runtime/libhone/library.h"

/* What is tuned of one kernel, sorted by the text of the problem. */
struct hn_lib_index {
    struct hn_lib_index *next;
    char *kernel;
    struct hn_tuned_list list;
    char **problems; /* texts, in the order of the list */
    struct hn_lib_nearest *nearest;
};

/* Called with the lock held. */

/* All that is tuned of a kernel. HONE_NOT_FOUND: nothing; the message says what there is. */
enum hone_status hn_lib_index_get(struct hone_cache *cache, const char *kernel, struct hn_lib_index **index,
                                  struct hone_error *err);
/* What is tuned of a kernel for one problem, without reading all the rest; nothing of a folder. */
enum hone_status hn_lib_index_list_problem(struct hone_cache *cache, const char *kernel,
                                           const struct hn_bindings *problem, struct hn_tuned_list *list,
                                           struct hone_error *err);
/* Frees it: it is read again when it is next asked for. Kernels hold copies of what they need. */
void hn_lib_index_forget(struct hone_cache *cache, const char *kernel);
/* What hn_lookup gives over the whole list, found faster. */
const struct hn_tuned *hn_lib_index_find(const struct hn_lib_index *index, const struct hn_lookup_query *query,
                                         struct hn_lookup_rank *rank);
void hn_lib_index_finish(struct hn_lib_index *index);

#endif
