/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_DEVICE_LIBRARY_H
#define HONE_RUNTIME_DEVICE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

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
/* NULL is fine. */
void hn_library_close(void *library);

/* The file, with links resolved, that a function of an open library comes from; false when it can not be told. */
bool hn_library_path(const void *symbol, char *path, size_t size);

#endif
