/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_MACRO_TABLE_H
#define HONE_RUNTIME_COMPILE_MACRO_TABLE_H

#include <stdbool.h>
#include <stddef.h>

/* The macros that are known while a text is read, in the order in which they were first named. */
enum hn_macro_state {
    HN_MACRO_UNSURE,  /* defined or not, as what or with parameters: not known */
    HN_MACRO_DEFINED, /* without parameters, as its value */
    HN_MACRO_NONE,    /* not defined */
};

struct hn_table_macro {
    const char *name;
    size_t name_length;
    enum hn_macro_state state;
    const char *value;
    size_t value_length;
    bool read; /* the owner's to set */
};

struct hn_macro_table {
    struct hn_table_macro *items;
    size_t count;
    size_t *slots; /* by name, open addressing: number + 1; 0: free */
    size_t slot_count;
};

void hn_macro_table_finish(struct hn_macro_table *macros); /* an empty one is {0} */
/* NULL: nothing is known of it. Until the next call of set. */
struct hn_table_macro *hn_macro_table_find(const struct hn_macro_table *macros, const char *name, size_t length);
/* Texts are borrowed. False: out of memory. */
bool hn_macro_table_set(struct hn_macro_table *macros, const char *name, size_t length, enum hn_macro_state state,
                   const char *value, size_t value_length);
/* As many letters, digits and underscores as stand there. */
size_t hn_macro_name_length(const char *text);

#endif
