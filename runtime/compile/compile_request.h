/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_COMPILE_REQUEST_H
#define HONE_RUNTIME_COMPILE_COMPILE_REQUEST_H

#include <stddef.h>

#include "runtime/plan/plan.h"

/* What a compile worker gets: self-contained and free of any plan. Borrows all. */
struct hn_compile_request {
    enum hn_compiler compiler;
    const char *name; /* of the program: the template's absolute path */
    const char *text;
    const char *const *include_names;
    const char *const *include_texts;
    size_t include_count;
    const char *const *entries;
    size_t entry_count;
    const char *const *options;
    size_t option_count;
    const char *architecture; /* "sm_90" */
};

#endif
