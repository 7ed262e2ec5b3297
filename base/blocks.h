/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_BLOCKS_H
#define HONE_BASE_BLOCKS_H

#include <stddef.h>

/* Memory for many small things that are freed all at once. Start with all zero. */
struct hn_blocks {
    struct hn_block *last;
};

/* Zeroed, aligned for anything; NULL when out of memory. */
void *hn_blocks_take(struct hn_blocks *blocks, size_t size);
void hn_blocks_finish(struct hn_blocks *blocks);

#endif
