/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_CUBIN_HASH_H
#define HONE_RUNTIME_COMPILE_CUBIN_HASH_H

#include "base/text.h"
#include "cache/record/record.h"
#include "runtime/compile/cubin_elf.h"

/* Calls `visit` with each attribute of a section of attributes (.nv.info…): its number and its
 * payload. Stops quietly where the section is damaged. */
void hn_cubin_each_attribute(const struct hn_cubin_section *section,
                             void (*visit)(void *context, unsigned attribute,
                                           const unsigned char *payload, size_t size),
                             void *context);

/* Appends everything that decides how a kernel runs: its code and that of the functions which it
 * refers to, constant banks, initialised data, limits of the launch; no names, no compiler options.
 */
void hn_cubin_append_kernel(struct hn_text *text, const struct hn_cubin *cubin, const char *entry);
/* What all kernels of a cubin share: user constants and global data. */
void hn_cubin_append_shared(struct hn_text *text, const struct hn_cubin *cubin);

#endif
