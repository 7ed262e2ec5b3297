/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_INIT_TRANSLATE_H
#define HONE_TUNER_INIT_TRANSLATE_H

#include "tuner/init/unit.h"

/* Expressions of C++ as configs have them: names for what they stand for, floor division, ceil_div where that is
 * meant. */

enum { HN_TRANSLATE_BOUND = 4 };

struct hn_translation {
    struct hn_unit *unit;
    /* What configs call a name at a token, which may be "blockDim.x"; NULL: what it stands for in the source is
     * translated. */
    const char *(*known)(void *data, const char *name, size_t at);
    void *data;
    /* The number that a name of the config stands for, where the source has the number; NULL: there is none. */
    const char *literal;
    int64_t literal_value;

    /* Its own, which begins with 0: names that stand for others, and the parameters of what is called. */
    int depth;
    const char *names[HN_TRANSLATE_BOUND], *values[HN_TRANSLATE_BOUND];
};

/* Lives as long as the unit. NULL: it is empty, or beyond what configs can say. */
const char *hn_translate(const struct hn_translation *translation, struct hn_tokens tokens);
/* The product, without factors that are "1"; left may be NULL, which is 1, too. */
const char *hn_times(struct hn_unit *unit, const char *left, const char *right);

#endif
