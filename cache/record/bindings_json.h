/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_RECORD_BINDINGS_JSON_H
#define HONE_CACHE_RECORD_BINDINGS_JSON_H

#include "base/bindings.h"
#include "base/schema.h"

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

#endif
