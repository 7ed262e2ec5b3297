/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_INIT_FIND_MACROS_H
#define HONE_TUNER_INIT_FIND_MACROS_H

#include <stdint.h>

#include "tuner/init/find_kernels.h"

/* What a source leaves to whoever compiles it: #ifndef X, #define X value. */
enum hn_macro_kind {
    HN_MACRO_NUMBER, /* an integer */
    HN_MACRO_WORD,   /* X_plain 1, X_ldg 2, X X_plain */
    HN_MACRO_OTHER,  /* anything else: left as it is */
};

struct hn_macro {
    char *name;
    enum hn_macro_kind kind;
    int64_t number;
    bool undefined; /* used and nowhere defined: whoever compiles has to say the number */
    int64_t compared[8]; /* of these: what conditions of the source compare it with */
    size_t compared_count;
    char *word;    /* the chosen one */
    char **words;  /* all of them, as defined */
    size_t word_count;
};

struct hn_macros {
    struct hn_macro *items;
    size_t count;
};

enum hn_status hn_macros_find(const struct hn_source_text *source, struct hn_macros *macros, struct hn_error *err);
/* Adds names that the device's code, conditions and macros need and that are neither defined nor declared anywhere; none
 * where the source includes files of its own, which may define them. */
enum hn_status hn_macros_add_undefined(const struct hn_source_text *source, struct hn_macros *macros,
                                       struct hn_error *err);
void hn_macros_finish(struct hn_macros *macros);
/* Takes the macro over when that succeeds, and empties it. */
enum hn_status hn_macros_add(struct hn_macros *macros, struct hn_macro *macro, struct hn_error *err);
/* NULL when there is none. */
const struct hn_macro *hn_macros_get(const struct hn_macros *macros, const char *name);

/* 16, (16), 0x10, 16u. */
bool hn_read_number(const char *text, int64_t *number);

#endif
