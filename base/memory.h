/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_MEMORY_H
#define HONE_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Memory without a check behind each call: where there is none, the process ends with one line on stderr. For the tuner and the
 * bench. Rooms that libhone links return HN_ENOMEM instead, since their process belongs to somebody else. */

/* Zeroed; never NULL, also of no bytes. */
void *hn_need(size_t count, size_t size);
/* realloc: what is added is not zeroed. */
void *hn_need_more(void *items, size_t count, size_t size);
/* strdup; NULL for NULL. */
char *hn_need_copy(const char *string);
/* Makes room for one more, zeroed, at the end of an array of `count`; returns the array, which grows by this alone. */
void *hn_need_room(void *items, size_t count, size_t size);
/* The place of that one, which is counted. */
#define HN_NEXT(items, count) ((items) = hn_need_room(items, count, sizeof *(items)), &(items)[(count)++])
/* Takes out the item at a place; those behind it move up. */
#define HN_DROP(items, count, at) memmove(&(items)[at], &(items)[(at) + 1], (--(count) - (at)) * sizeof *(items))
/* For each item of an array of so many; of a list, a struct that has `items` and their `count`. */
#define HN_EACH_OF(item, array, count)                                                                                 \
    for (__typeof__(&*(array)) item = (array); item != NULL && item < (array) + (count); item++)
#define HN_EACH(item, list) HN_EACH_OF(item, (list).items, (list).count)
/* The same with what ends an item, and frees the array. */
#define HN_FREE_EACH(item, array, count, end)                                                                          \
    do {                                                                                                               \
        HN_EACH_OF(item, array, count)                                                                                 \
        end;                                                                                                           \
        free(array);                                                                                                   \
    } while (0)

/* The same for those rooms, sticky: zeroed memory, also of no bytes, and a copy of a string, NULL for NULL; NULL after a failure. */
void *hn_allocate(size_t count, size_t size, struct hn_error *err);
char *hn_copy_string(const char *string, struct hn_error *err);

/* For json_t, texts and all that says by NULL that memory ended: hands it through. */
void *hn_needed(void *pointer);

/* The same where libhone links it: sticky (base/error.h). */
void *hn_made(void *pointer, struct hn_error *err);
/* Makes room for one more at the end of an array of `count`. items: where the pointer to it lies. An array grows by this alone, so
 * that its room is the next power of two. */
bool hn_make_room(void *items, size_t count, size_t size, struct hn_error *err);

/* Behind a variable's name in its declaration, which gives it a value: where its block ends, however it is left, this function is
 * given its address, or free() itself. jansson's json_auto_t is the same of a json_t. */
#define HN_ENDED_BY(end) __attribute__((cleanup(end)))
#define HN_FREED HN_ENDED_BY(hn_free_at)
static inline void hn_free_at(void *variable)
{
    void *memory;
    memcpy(&memory, variable, sizeof memory);
    free(memory);
}

/* Memory for many small things that are freed all at once. Start with all zero. */
struct hn_blocks {
    struct hn_block *last;
};

/* Zeroed, aligned for anything; NULL when out of memory. */
void *hn_blocks_take(struct hn_blocks *blocks, size_t size);
/* The same of so many items, for the tuner and the bench. */
void *hn_need_block(struct hn_blocks *blocks, size_t count, size_t size);
/* Takes a string over that lives as long as they do. The process ends where it, or a place for it, is NULL. */
char *hn_need_kept(struct hn_blocks *blocks, char *string);
/* The same of what printf would write. */
const char *hn_need_format(struct hn_blocks *blocks, const char *format, ...) __attribute__((format(printf, 2, 3)));
void hn_blocks_finish(struct hn_blocks *blocks);

#endif
