/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_IMPORT_VALUE_LIST_H
#define HONE_TUNER_IMPORT_VALUE_LIST_H

#include "base/memory.h"
#include "tuner/init/draft.h"

/* Values as other tuners list them. These are sticky (base/error.h). */

/* Appends one that is not there yet. */
void hn_value_list_add(struct hn_draft_parameter *list, struct hn_value value, struct hn_error *err);

/* Appends what Python's text lists, of which nothing runs: lists, tuples, range(), list(), comprehensions over one of
 * them with an optional condition, and sums of these; elements are expressions as configs have them. Words live as long
 * as the memory. HN_ECONFIG: something else, or too much. */
void hn_value_list_read(const char *text, struct hn_draft_parameter *list, struct hn_blocks *memory,
                        struct hn_error *err);

#endif
