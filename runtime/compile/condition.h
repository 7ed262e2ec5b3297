/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_CONDITION_H
#define HONE_RUNTIME_COMPILE_CONDITION_H

#include "runtime/compile/macro_table.h"

enum hn_truth { HN_FALSE, HN_TRUE, HN_UNSURE };

/* Whether what stands behind #if holds: integers, operators but `?:`, `defined`, and macros of which the value is known. Of all that
 * compilers may see otherwise (names that are not known, numbers without a sign or beyond 64 bits) it is not sure. */
enum hn_truth hn_condition_decide(const struct hn_macro_table *macros, const char *text, size_t length);

#endif
