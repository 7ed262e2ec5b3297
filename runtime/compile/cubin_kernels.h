/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_CUBIN_KERNELS_H
#define HONE_RUNTIME_COMPILE_CUBIN_KERNELS_H

#include <stddef.h>

#include "base/error.h"

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
