/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SESSION_DECLARED_H
#define HONE_TUNER_SESSION_DECLARED_H

#include <stdbool.h>
#include <stddef.h>

/* What a kernel's parameters are in the text of its source, read without a compiler: a cubin tells their sizes alone. */

enum { HN_DECLARED_MOST = 64 };

struct hn_declared {
    struct hn_declared_parameter {
        char type[64];    /* without const, pointer and name: "unsigned int" */
        char spelled[96]; /* with them: "const float *" */
        bool pointer;
        bool constant; /* what it points to */
    } parameters[HN_DECLARED_MOST];
    size_t count;
};

/* False where no kernel of the name has a body, or several, or its list has lines of the preprocessor in it. */
bool hn_declared_find(const char *source, const char *name, size_t name_length, struct hn_declared *declared);

#endif
