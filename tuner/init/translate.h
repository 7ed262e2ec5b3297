/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_INIT_TRANSLATE_H
#define HONE_TUNER_INIT_TRANSLATE_H

#include "tuner/init/unit.h"

/* Expressions of C++ as configs have them: names for what they stand for, and floor division. */

struct hn_translation {
    struct hn_unit *unit;
    /* What configs call a name at a token, which may be "blockDim.x"; NULL: what it stands for in the source is
     * translated. */
    const char *(*known)(void *data, const char *name, size_t at);
    void *data;
    int depth; /* of names that stand for others; begin with 0 */
};

/* Lives as long as the unit. NULL: it is empty, or beyond what configs can say. */
const char *hn_translate(const struct hn_translation *translation, struct hn_tokens tokens);
/* In brackets where it is more than a name or a number. */
const char *hn_as_factor(struct hn_unit *unit, const char *text);

#endif
