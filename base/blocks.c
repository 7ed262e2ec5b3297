/* SPDX-License-Identifier: MIT */
#include "base/blocks.h"

#include <stdalign.h>
#include <stdlib.h>

enum { BLOCK_BYTES = 8192 };

struct hn_block {
    struct hn_block *before;
    size_t used;
    size_t size;
    alignas(max_align_t) unsigned char bytes[];
};

void *hn_blocks_take(struct hn_blocks *blocks, size_t size)
{
    struct hn_block *block = blocks->last;
    size = (size + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
    if (block == NULL || block->size - block->used < size) {
        size_t bytes = size > BLOCK_BYTES ? size : BLOCK_BYTES;
        block = calloc(1, sizeof *block + bytes);
        if (block == NULL)
            return NULL;
        block->size = bytes;
        block->before = blocks->last;
        blocks->last = block;
    }
    void *taken = block->bytes + block->used;
    block->used += size;
    return taken;
}

void hn_blocks_finish(struct hn_blocks *blocks)
{
    while (blocks->last != NULL) {
        struct hn_block *before = blocks->last->before;
        free(blocks->last);
        blocks->last = before;
    }
}
