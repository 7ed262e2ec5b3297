/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_LIBHONE_SIZES_H
#define HONE_RUNTIME_LIBHONE_SIZES_H

#include "runtime/libhone/choice.h"

/* Handles for sizes of a family that nobody asked for before. The first handle of a shared module is made as any other is, and leaves a
 * pattern behind: all that its like have in common, and a program for what differs. With the lock held. */
struct hn_lib_pattern;

/* NULL: its like differ in more than a program can say, or memory is out. choice: with which the kernel was made. */
struct hn_lib_pattern *hn_lib_pattern_make(const struct hone_kernel *kernel, const struct hn_lib_choice *choice);
void hn_lib_pattern_destroy(struct hn_lib_pattern *pattern);

/* The handle for a choice of the module's configuration; NULL: its launch would be invalid, or memory is out. */
struct hone_kernel *hn_lib_pattern_apply(struct hn_lib_pattern *pattern, const struct hn_lib_choice *choice);

#endif
