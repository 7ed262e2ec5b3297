/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_BINDINGS_H
#define HONE_BASE_BINDINGS_H

#include <stddef.h>

#include "base/value.h"

/* A set of name=value pairs, sorted by name (strcmp) without repeats: a point, a problem, or both together. Owns its
 * arrays, the names and the words. names[i] has values[i]. Begin with all zero. */
struct hn_bindings {
    char **names;
    struct hn_value *values;
    size_t count;
};

void hn_bindings_finish(struct hn_bindings *bindings);

/* Adds or replaces; copies name and word. */
enum hn_status hn_bindings_set(struct hn_bindings *bindings, const char *name, const struct hn_value *value,
                               struct hn_error *err);
/* Adds to bindings that borrow all, and whose arrays have room: never finish them. False: the name is there. */
bool hn_bindings_lend(struct hn_bindings *bindings, const char *name, const struct hn_value *value);
/* NULL when there is no such name. */
const struct hn_value *hn_bindings_get(const struct hn_bindings *bindings, const char *name);
/* copy and parse start `to` or `bindings` afresh: it need not be initialised, and is empty after a failure. */
enum hn_status hn_bindings_copy(struct hn_bindings *to, const struct hn_bindings *from, struct hn_error *err);
/* A copy in which every pair of `with` (NULL: none) is set; where there is no memory for it the process ends, as with hn_need. */
struct hn_bindings hn_need_bindings(const struct hn_bindings *from, const struct hn_bindings *with);
/* Sets every pair of `from` in `into`. */
enum hn_status hn_bindings_merge(struct hn_bindings *into, const struct hn_bindings *from, struct hn_error *err);
bool hn_bindings_equal(const struct hn_bindings *a, const struct hn_bindings *b);

/* "BLOCK=128,LOAD=ldg,PAD=0": the canonical text of a point, which is also its key in the cache. */
void hn_bindings_append(struct hn_text *text, const struct hn_bindings *bindings);
/* The same as a string; free it. NULL when out of memory. */
char *hn_bindings_text(const struct hn_bindings *bindings);
/* Reads that text, in any order; HN_ECONFIG with what was found. "" is the empty set. */
enum hn_status hn_bindings_parse(const char *string, struct hn_bindings *bindings, struct hn_error *err);
/* Reads it beside what is there: a name that is there already is an error too. */
enum hn_status hn_bindings_add(struct hn_bindings *bindings, const char *string, struct hn_error *err);

#endif
