/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_RECORD_RECORD_JSON_H
#define HONE_CACHE_RECORD_RECORD_JSON_H

#include "cache/record/bindings_json.h"
#include "cache/record/identity.h"
#include "cache/record/record.h"

/* Records and versions as JSON, for the worker protocol, --json, the store and the file formats. docs/formats.md says what
 * each member means; their order is that of the files. Reading trusts nothing: types, ranges and sizes are checked
 * (HN_EFORMAT). */

/* A new reference; NULL when out of memory. */
json_t *hn_record_to_json(const struct hn_record *record);
/* Into an initialised, empty record; on failure it can still be finished. What it gives has passed the gate (gate.h);
 * objective: of the identity, NULL: not known. */
enum hn_status hn_record_from_json(const json_t *json, const char *objective, struct hn_record *record,
                                   struct hn_error *err);

/* Of those that have them. Reading resources makes them known. */
extern const struct hn_structure hn_resources_structure;
extern const struct hn_structure hn_device_identity_structure;
extern const struct hn_structure hn_identity_structure;
extern const struct hn_structure hn_version_structure;

#endif
