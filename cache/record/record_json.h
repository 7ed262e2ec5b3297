/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_RECORD_RECORD_JSON_H
#define HONE_CACHE_RECORD_RECORD_JSON_H

#include "base/bindings.h"
#include "base/schema.h"
#include "cache/record/identity.h"
#include "cache/record/record.h"

/* Values, and names with values, as JSON. Words are JSON strings; a real always reads back as a real ({"real": "nan"} for
 * what JSON can not say). Reading trusts nothing (HN_EFORMAT). */

/* New references; NULL when out of memory. */
json_t *hn_value_to_json(const struct hn_value *value);
json_t *hn_bindings_to_json(const struct hn_bindings *bindings);
/* A word is borrowed from the JSON string. */
enum hn_status hn_value_from_json(const json_t *json, struct hn_value *value, struct hn_error *err);
/* Into an initialised, empty struct; on failure it can still be finished. */
enum hn_status hn_bindings_from_json(const json_t *json, struct hn_bindings *bindings, struct hn_error *err);
/* Bindings as a field of a struct. */
extern const struct hn_field_own hn_bindings_field;

/* What one observer saw, of those of a record; NULL when out of memory. */
json_t *hn_observed_to_json(const struct hn_bindings *observed, const char *group);

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
