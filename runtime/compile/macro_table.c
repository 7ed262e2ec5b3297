/* SPDX-License-Identifier: MIT */
#include "runtime/compile/macro_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"

void hn_macro_table_finish(struct hn_macro_table *macros)
{
    free(macros->items);
    free(macros->slots);
    *macros = (struct hn_macro_table){.items = NULL};
}

size_t hn_macro_name_length(const char *text)
{
    size_t length = 0;
    while (hn_is_word_char(text[length]))
        length++;
    return length;
}

/* FNV-1a. There is a free slot. */
static size_t *slot_of(const struct hn_macro_table *macros, const char *name, size_t length)
{
    size_t hash = 0x811c9dc5;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 0x01000193 & 0xffffffff;
    for (size_t i = hash;; i++) {
        size_t *slot = &macros->slots[i & (macros->slot_count - 1)];
        const struct hn_table_macro *macro = *slot > 0 ? &macros->items[*slot - 1] : NULL;
        if (macro == NULL ||
            (macro->name_length == length && memcmp(macro->name, name, length) == 0))
            return slot;
    }
}

struct hn_table_macro *hn_macro_table_find(const struct hn_macro_table *macros, const char *name,
                                           size_t length)
{
    size_t number = macros->count > 0 && length > 0 ? *slot_of(macros, name, length) : 0;
    return number > 0 ? &macros->items[number - 1] : NULL;
}

static bool grow(struct hn_macro_table *macros)
{
    size_t slot_count = macros->slot_count > 0 ? 2 * macros->slot_count : 64;
    struct hn_table_macro *items = realloc(macros->items, slot_count / 2 * sizeof *items);
    if (items == NULL)
        return false;
    macros->items = items;
    size_t *slots = calloc(slot_count, sizeof *slots);
    if (slots == NULL)
        return false;
    free(macros->slots);
    macros->slots = slots;
    macros->slot_count = slot_count;
    for (size_t i = 0; i < macros->count; i++)
        *slot_of(macros, items[i].name, items[i].name_length) = i + 1;
    return true;
}

bool hn_macro_table_set(struct hn_macro_table *macros, const char *name, size_t length,
                        enum hn_macro_state state, const char *value, size_t value_length)
{
    if (2 * macros->count >= macros->slot_count && !grow(macros))
        return false;
    size_t *slot = slot_of(macros, name, length);
    if (*slot == 0) {
        macros->items[macros->count] = (struct hn_table_macro){.name = name, .name_length = length};
        *slot = ++macros->count;
    }
    struct hn_table_macro *macro = &macros->items[*slot - 1];
    macro->state = state;
    macro->value = value;
    macro->value_length = value_length;
    return true;
}
