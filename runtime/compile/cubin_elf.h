/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_CUBIN_ELF_H
#define HONE_RUNTIME_COMPILE_CUBIN_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

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

/* HN_EFORMAT says what is wrong. */
enum hn_status hn_cubin_open(const void *bytes, size_t size, struct hn_cubin *cubin,
                             struct hn_error *err);
void hn_cubin_close(struct hn_cubin *cubin);

bool hn_cubin_is_kernel(const struct hn_cubin_symbol *symbol);

/* Section "<prefix><name>", or NULL. */
const struct hn_cubin_section *hn_cubin_find(const struct hn_cubin *cubin, const char *prefix,
                                             const char *name);

#endif
