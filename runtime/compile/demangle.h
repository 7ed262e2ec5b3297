/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_DEMANGLE_H
#define HONE_RUNTIME_COMPILE_DEMANGLE_H

#include <stdbool.h>

/* A mangled name of a kernel, taken apart: names, template arguments and the types that kernels usually take, as the
 * Itanium C++ ABI encodes them. Owns all. */
struct hn_demangled {
    char *scope;      /* "app::detail::", or "" */
    char *name;       /* "k" */
    char *arguments;  /* "<float, 16>", or "" */
    char *parameters; /* "const float *, int", or ""; NULL: of types that are not known here */
};

/* False where it is not mangled, or in a way that is not known here. */
bool hn_demangle(const char *mangled, struct hn_demangled *demangled);
void hn_demangled_finish(struct hn_demangled *demangled);

#endif
