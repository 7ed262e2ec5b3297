/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_STORE_STORE_HISTORY_H
#define HONE_CACHE_STORE_STORE_HISTORY_H

#include "cache/store/store.h"

/* What a cache keeps of former tunings. */

/* As hn_store_list, but with every version that has a valid record, the newest of an identity first. */
enum hn_status hn_store_list_versions(struct hn_store *store, const char *kernel, struct hn_tuned_list *list,
                                      struct hn_error *err);
/* How the session was asked for; NULL where that is not known. Free it. */
enum hn_status hn_store_get_command(struct hn_store *store, int64_t session_id, char **command, struct hn_error *err);

#endif
