/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_ENTRY_MARKER_H
#define HONE_RUNTIME_COMPILE_ENTRY_MARKER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/* nvcc can not be asked for the mangled name of a name expression, as NVRTC can. So the program gets an empty kernel
 * for each, a template whose argument is the expression: it makes the compiler instantiate what the expression names,
 * and the marker's own mangled name holds that of the kernel. */

/* Where an error in a name expression is said to be: in line i + 1 of this file. */
#define HN_MARKER_FILE "hone_entry"

void hn_entry_marker_append(struct hn_text *text, size_t entry, const char *expression);
/* Whether `marker`, the mangled name of a kernel, marks that entry as `kernel`, the mangled name of another. */
bool hn_entry_marker_names(const char *marker, size_t entry, const char *kernel);

#endif
