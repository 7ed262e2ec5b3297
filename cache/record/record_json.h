/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_RECORD_RECORD_JSON_H
#define HONE_CACHE_RECORD_RECORD_JSON_H

#include <jansson.h>

#include "cache/record/record.h"

/* Values and records as JSON, for the worker protocol, --json, the store and the file formats. Reading trusts
 * nothing: types, ranges and sizes are checked (HN_EFORMAT). */

/* New references; NULL when out of memory. Words are JSON strings; a real always reads back as a real ({"real": "nan"}
 * for what JSON can not say). */
json_t *hn_value_to_json(const struct hn_value *value);
json_t *hn_bindings_to_json(const struct hn_bindings *bindings);
json_t *hn_record_to_json(const struct hn_record *record);

/* A word is borrowed from the JSON string. */
enum hn_status hn_value_from_json(const json_t *json, struct hn_value *value, struct hn_error *err);
/* Into initialised, empty structs; on failure they can still be finished. */
enum hn_status hn_bindings_from_json(const json_t *json, struct hn_bindings *bindings, struct hn_error *err);
/* What it gives has passed the gate (gate.h); objective: of the identity, NULL: not known. */
enum hn_status hn_record_from_json(const json_t *json, const char *objective, struct hn_record *record,
                                   struct hn_error *err);

#endif
