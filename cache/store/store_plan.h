/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_STORE_STORE_PLAN_H
#define HONE_CACHE_STORE_STORE_PLAN_H

#include "cache/store/store.h"

/* Keeps the plan of a version that is there already, in place of the one that was. HN_ENOTFOUND: no such version, or one
 * that does not know its template. */
enum hn_status hn_store_put_plan(struct hn_store *store, const char *kernel, const struct hn_version *version,
                                 const struct hn_store_plan *plan, struct hn_error *err);

#endif
