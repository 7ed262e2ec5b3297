/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_INIT_FIND_KERNELS_H
#define HONE_TUNER_INIT_FIND_KERNELS_H

#include "tuner/init/kernel_signature.h"
#include "tuner/init/source_text.h"

/* The kernels of a source, as far as they can be read without a compiler. */

struct hn_kernels {
    struct hn_kernel *items;
    size_t count;
};

/* Those that have a body. */
enum hn_status hn_kernels_find(const struct hn_source_text *source, struct hn_kernels *kernels, struct hn_error *err);
void hn_kernels_finish(struct hn_kernels *kernels);

#endif
