/* SPDX-License-Identifier: MIT */
#include "base/memory.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *hn_needed(void *pointer)
{
    if (pointer == NULL) {
        fputs("hone: out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    return pointer;
}

void *hn_need(size_t count, size_t size)
{
    return hn_needed(calloc(count > 0 ? count : 1, size > 0 ? size : 1));
}

void *hn_need_more(void *items, size_t count, size_t size)
{
    return hn_needed(reallocarray(items, count > 0 ? count : 1, size));
}

char *hn_need_copy(const char *string)
{
    return string == NULL ? NULL : hn_needed(strdup(string));
}

void *hn_need_room(void *items, size_t count, size_t size)
{
    struct hn_error err = {.status = HN_OK};
    hn_needed(hn_make_room(&items, count, size, &err) ? items : NULL);
    memset((char *)items + count * size, 0, size);
    return items;
}

void *hn_made(void *pointer, struct hn_error *err)
{
    if (pointer == NULL && !hn_failed(err))
        hn_fail_memory(err);
    return pointer;
}

void *hn_allocate(size_t count, size_t size, struct hn_error *err)
{
    return hn_failed(err) ? NULL : hn_made(calloc(count > 0 ? count : 1, size), err);
}

char *hn_copy_string(const char *string, struct hn_error *err)
{
    return string == NULL || hn_failed(err) ? NULL : hn_made(strdup(string), err);
}

bool hn_make_room(void *items, size_t count, size_t size, struct hn_error *err)
{
    enum { FIRST = 8 };
    void *own;
    if (hn_failed(err) || (count % FIRST != 0) || (count & (count - 1)) != 0)
        return !hn_failed(err);
    memcpy(&own, items, sizeof own);
    own = hn_made(reallocarray(own, count == 0 ? FIRST : 2 * count, size), err);
    if (own != NULL)
        memcpy(items, &own, sizeof own);
    return own != NULL;
}

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

void *hn_need_block(struct hn_blocks *blocks, size_t count, size_t size)
{
    return hn_needed(hn_blocks_take(blocks, count * size + 1));
}

char *hn_need_kept(struct hn_blocks *blocks, char *string)
{
    char *kept = strcpy(hn_need_block(blocks, strlen(hn_needed(string)), 1), string);
    free(string);
    return kept;
}

const char *hn_need_format(struct hn_blocks *blocks, const char *format, ...)
{
    char *string;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&string, format, arguments) < 0)
        string = NULL;
    va_end(arguments);
    return hn_need_kept(blocks, string);
}

void hn_blocks_finish(struct hn_blocks *blocks)
{
    while (blocks->last != NULL) {
        struct hn_block *before = blocks->last->before;
        free(blocks->last);
        blocks->last = before;
    }
}

enum hn_status hn_fail(struct hn_error *err, enum hn_status status, const char *format, ...)
{
    if (err != NULL) {
        err->status = status;
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(err->message, sizeof err->message, format, arguments);
        va_end(arguments);
    }
    return status;
}

enum hn_status hn_fail_memory(struct hn_error *err)
{
    return hn_fail(err, HN_ENOMEM, "out of memory");
}
