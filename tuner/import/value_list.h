/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_IMPORT_VALUE_LIST_H
#define HONE_TUNER_IMPORT_VALUE_LIST_H

#include <jansson.h>
#include <stddef.h>

#include "base/value.h"

/* Values as other tuners list them. Owns the words. */
struct hn_value_list {
    struct hn_value *values;
    size_t count;
};

enum { HN_VALUE_LIST_MOST = 4096 };

/* What Python's text means, of which nothing runs: lists, tuples, range(), list(), comprehensions over one of them with an
 * optional condition, and sums of these; elements are expressions as configs have them. What is listed twice is kept once.
 * HN_ECONFIG: something else, or too much. */
enum hn_status hn_value_list_parse(const char *text, struct hn_value_list *list, struct hn_error *err);
/* The same of a JSON array of numbers, booleans and strings. */
enum hn_status hn_value_list_read(const json_t *array, struct hn_value_list *list, struct hn_error *err);
void hn_value_list_finish(struct hn_value_list *list);

#endif
