/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_CUBIN_INTERNAL_H
#define HONE_RUNTIME_COMPILE_CUBIN_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* The sections and symbols of a cubin (a 64-bit little-endian ELF file), checked once so that
 * readers need not check again. Borrows the bytes; names and data point into them. */
struct hn_cubin_section {
    const char *name;
    uint32_t type;
    uint64_t flags;
    uint32_t info;
    uint32_t link;
    const unsigned char *data; /* NULL when the section holds nothing in the file (.nv.shared) */
    size_t size;
};

struct hn_cubin_symbol {
    const char *name;
    size_t section; /* index, or at least section_count when it is in none of this file */
    uint64_t value;
    uint64_t size;
    unsigned char type;  /* STT_* */
    unsigned char other; /* 0x10 is set for a kernel */
};

struct hn_cubin {
    struct hn_cubin_section *sections;
    size_t section_count;
    struct hn_cubin_symbol *symbols;
    size_t symbol_count;
};

/* Section "<prefix><name>", or NULL. */
const struct hn_cubin_section *hn_cubin_find(const struct hn_cubin *cubin, const char *prefix, const char *name);
/* Calls `visit` with each attribute of a section of attributes (.nv.info…), which may be NULL: its number and its
 * payload. Stops quietly where the section is damaged. */
void hn_cubin_each_attribute(const struct hn_cubin_section *section,
                             void (*visit)(void *context, unsigned attribute, const unsigned char *payload,
                                           size_t size),
                             void *context);

/* Appends everything that decides how kernels run: their code and that of the functions which they refer to, constant
 * banks, initialised data, limits of the launch; no names, no compiler options. */
void hn_cubin_append_code(struct hn_text *text, const struct hn_cubin *cubin, const char *const *entries,
                          size_t entry_count);

/* The mangled names of the kernels of a cubin, sorted. Owns them. */
struct hn_kernel_names {
    char **names;
    size_t count;
};

/* HN_EFORMAT: no cubin. */
enum hn_status hn_cubin_read_kernels(const void *cubin, size_t size, struct hn_kernel_names *kernels,
                                     struct hn_error *err);
void hn_kernel_names_finish(struct hn_kernel_names *kernels);

#endif
