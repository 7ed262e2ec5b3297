/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_WORKERS_COMPILE_MEMORY_H
#define HONE_TUNER_WORKERS_COMPILE_MEMORY_H

#include "base/hash.h"
#include "runtime/compile/image.h"

/* What was compiled before, by the keys of the programs: several points or problems may want the same. Images are kept until
 * they are 512 MiB; what comes later is compiled each time. */
struct hn_compile_memory {
    struct hn_compiled {
        struct hn_hash key;
        struct hn_image image;
    } **slots; /* open addressing: a power of two of them, NULL: free */
    size_t capacity;
    size_t count;
    size_t bytes;
};

void hn_compile_memory_finish(struct hn_compile_memory *memory);
/* The image of a program; NULL: not kept. Borrowed. */
const struct hn_image *hn_compile_memory_find(const struct hn_compile_memory *memory, const struct hn_hash *key);
/* Keeps a copy of what compiled. A failure to is none of anybody's business. */
void hn_compile_memory_add(struct hn_compile_memory *memory, const struct hn_hash *key, const struct hn_image *image);

#endif
