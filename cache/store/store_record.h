/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_STORE_STORE_RECORD_H
#define HONE_CACHE_STORE_STORE_RECORD_H

#include "cache/store/store.h"

/* Records of the cache one at a time, for what does not want to hold them all. */

/* What hn_store_load gives, one by one. id: see hn_store_get; 0 for those of a base, which count as imported. The visitor may take the record
 * over and leave an initialised one; what is left is finished. */
typedef enum hn_status hn_store_visit_record(void *visitor, int64_t id, struct hn_record *record, struct hn_error *err);
enum hn_store_whose {
    HN_STORE_ALL,
    HN_STORE_OWN, /* not imported; of other machines, and in a file that others can write to, those that are ok: a failure that was
                     made up would keep the best from being measured */
    HN_STORE_IMPORTED
};
enum hn_status hn_store_visit(struct hn_store *store, const struct hn_identity *identity,
                              const struct hn_version *version, bool simulated, enum hn_store_whose whose,
                              hn_store_visit_record *visit, void *visitor, struct hn_error *err);
/* One record again: by its id, or the last one put for a point in a session, committed or not. record starts afresh;
 * HN_ENOTFOUND when it is not there, or no longer. */
enum hn_status hn_store_get(struct hn_store *store, int64_t id, struct hn_record *record, struct hn_error *err);
enum hn_status hn_store_get_last(struct hn_store *store, int64_t session_id, const struct hn_bindings *point,
                                 struct hn_record *record, struct hn_error *err);

/* Whether anything was measured with this template, these options and this plan, whatever the device, the driver and the
 * compiler. */
enum hn_status hn_store_knows(struct hn_store *store, const struct hn_version *version, bool *known,
                              struct hn_error *err);

#endif
