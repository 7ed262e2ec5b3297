/* SPDX-License-Identifier: MIT */
#include "tuner/workers/compile_memory.h"

#include <stdlib.h>
#include <string.h>

static const size_t most_bytes = (size_t)512 << 20;

void hn_compile_memory_finish(struct hn_compile_memory *memory)
{
    for (size_t i = 0; i < memory->capacity; i++) {
        if (memory->slots[i] == NULL)
            continue;
        hn_image_finish(&memory->slots[i]->image);
        free(memory->slots[i]);
    }
    free(memory->slots);
    *memory = (struct hn_compile_memory){.count = 0};
}

/* The slot that has the key, or the free one where it belongs. There is a free one. */
static struct hn_compiled **find_slot(const struct hn_compile_memory *memory,
                                      const struct hn_hash *key)
{
    size_t start = 0;
    for (int i = 0; i < 12; i++)
        start = start * 31 + (unsigned char)key->hex[i];
    for (size_t i = 0;; i++) {
        struct hn_compiled **slot = &memory->slots[(start + i) & (memory->capacity - 1)];
        if (*slot == NULL || strcmp((*slot)->key.hex, key->hex) == 0)
            return slot;
    }
}

const struct hn_image *hn_compile_memory_find(const struct hn_compile_memory *memory,
                                              const struct hn_hash *key)
{
    if (memory->capacity == 0)
        return NULL;
    const struct hn_compiled *found = *find_slot(memory, key);
    return found != NULL ? &found->image : NULL;
}

static bool make_room(struct hn_compile_memory *memory)
{
    if (memory->count * 2 < memory->capacity)
        return true;
    struct hn_compile_memory larger = *memory;
    larger.capacity = memory->capacity > 0 ? memory->capacity * 2 : 64;
    larger.slots = calloc(larger.capacity, sizeof(struct hn_compiled *));
    if (larger.slots == NULL)
        return false;
    for (size_t i = 0; i < memory->capacity; i++)
        if (memory->slots[i] != NULL)
            *find_slot(&larger, &memory->slots[i]->key) = memory->slots[i];
    free(memory->slots);
    *memory = larger;
    return true;
}

void hn_compile_memory_add(struct hn_compile_memory *memory, const struct hn_hash *key,
                           const struct hn_image *image)
{
    if (image->outcome != HN_OUTCOME_OK || memory->bytes + image->size > most_bytes ||
        !make_room(memory))
        return;
    struct hn_compiled **slot = find_slot(memory, key);
    if (*slot != NULL)
        return;
    struct hn_compiled *compiled = calloc(1, sizeof *compiled);
    if (compiled == NULL)
        return;
    if (hn_image_copy(&compiled->image, image, NULL) != HN_OK) {
        free(compiled);
        return;
    }
    compiled->key = *key;
    *slot = compiled;
    memory->count++;
    memory->bytes += image->size;
}
