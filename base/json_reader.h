/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_JSON_READER_H
#define HONE_BASE_JSON_READER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Reading the members of a plan's JSON, none of which is trusted. Each fails with HN_EFORMAT, or HN_ENOMEM. */

/* "plan: 'what' is not <expected>" */
enum hn_status hn_json_fail(struct hn_error *err, const char *what, const char *expected);

/* Copies a string member; a missing one is NULL where it is optional. */
enum hn_status hn_json_string(const json_t *object, const char *key, bool optional, char **to, struct hn_error *err);
enum hn_status hn_json_word(const json_t *object, const char *key, char **to, struct hn_error *err);
enum hn_status hn_json_finite(const json_t *object, const char *key, double *to, struct hn_error *err);

/* An array member of `object` and zeroed room for its elements: `to` is a pointer to a pointer. */
enum hn_status hn_json_list(const json_t *object, const char *key, size_t size, const json_t **array, void *to,
                            struct hn_error *err);
enum hn_status hn_json_words(const json_t *object, const char *key, char ***words, size_t *count,
                             struct hn_error *err);
bool hn_json_contains(char *const *words, size_t count, const char *word);

/* The index of a string in a table of names, or -1. */
int hn_json_choice_of(const json_t *json, const char *const *names, int count);
/* The index of a string member in a table of names, or -1. */
int hn_json_choice(const json_t *object, const char *key, const char *const *names, int count);

#endif
