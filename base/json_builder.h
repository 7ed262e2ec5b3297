/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_JSON_BUILDER_H
#define HONE_BASE_JSON_BUILDER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* An object or array that is being filled; `failed` once, it stays so. */
struct hn_builder {
    json_t *json;
    bool failed;
};

struct hn_builder hn_build_object(void);
struct hn_builder hn_build_array(void);
/* What was built, the caller's; NULL when something of it failed. */
json_t *hn_build_finish(struct hn_builder *builder);

/* Each takes the value; NULL fails. */
void hn_build_set(struct hn_builder *object, const char *key, json_t *value);
void hn_build_append(struct hn_builder *array, json_t *value);
/* NULL leaves the key out. */
void hn_build_string(struct hn_builder *object, const char *key, const char *string);

/* A number; {"real": "nan"}, "inf" or "-inf" for what JSON can not say. */
json_t *hn_real_to_json(double real);
/* Compiler logs may hold any bytes, JSON holds UTF-8 only: of a string that is not UTF-8, '?' for all that is not ASCII. */
json_t *hn_string_to_json(const char *string);

#endif
