/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_KERNEL_TEMPLATES_H
#define HONE_RUNTIME_COMPILE_KERNEL_TEMPLATES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/* The kernel templates of that name in a source, which no cubin has unless something instantiates them: appended as
 * name expressions of their parameters, "app::k<T, N>", each in quotes and apart by ", ". Reads without a compiler:
 * conditions and macros are not followed. Returns how many. */
size_t hn_kernel_templates_append(const char *source, const char *name, struct hn_text *found);

/* Whether a C++ template of the source has a parameter of that name. */
bool hn_template_parameter_is_declared(const char *source, const char *name);

#endif
