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

/* The file, with links resolved, that a function of an open library comes from; false when it cannot be told. */
bool hn_library_path(const void *symbol, char *path, size_t size);

/* A library, mostly of the CUDA toolkit, which may lie in a toolkit's folder, the loader's path or a Python wheel. */
struct hn_toolkit_library {
    const char *variable; /* of the environment: names a file, which is then the only one that is tried */
    const char *file;     /* "libnvrtc.so" */
    const char *wheel;    /* where wheels have it: "nvidia/{cu13,cuda_nvrtc}/lib" */
    const char *aside;    /* a further folder of a toolkit, "/extras/CUPTI/lib64"; NULL: none */
    const char *const *also; /* further files, patterns as of glob() up to a NULL; NULL: none */
};

/* Looks at its variable, the wheel folder $HONE_CUDA_WHEELS, $CUDA_HOME, the loader's path, its further files,
 * /usr/local/cuda, /opt/cuda, the build's wheel folder and Python environments, version 13 before 12, and resolves the
 * symbols. err says what was tried. HN_ERUN: the file that the variable names; HN_ENOTFOUND: all others. */
enum hn_status hn_toolkit_open(const struct hn_toolkit_library *wanted, const struct hn_symbol *symbols,
                               size_t symbol_count, void **library, struct hn_error *err);
/* Loads a file of the folder that a function of an open library comes from, so that the library finds it by its name:
 * wheels are in no path. What is not there is not loaded. */
void hn_toolkit_load_beside(const void *symbol, const char *file);

#endif
