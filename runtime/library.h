/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_LIBRARY_H
#define HONE_RUNTIME_LIBRARY_H

#include <stddef.h>

#include <stdbool.h>

#include "base/error.h"

/* Shared libraries opened at run time. library.c is the only caller of dlopen and dlsym. */

struct hn_symbol {
    const char *name;
    void *address; /* where the function pointer goes */
    bool optional; /* left NULL when missing */
};

/* Opens the first of `names` that loads and resolves all symbols. HN_ERUN says which libraries were tried, or which
 * symbol is missing in which library. */
enum hn_status hn_library_open(const char *const *names, size_t name_count, const struct hn_symbol *symbols,
                               size_t symbol_count, void **library, struct hn_error *err);
void hn_library_close(void *library);

#endif
