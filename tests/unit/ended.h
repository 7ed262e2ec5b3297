/* SPDX-License-Identifier: MIT */
#ifndef HONE_TESTS_ENDED_H
#define HONE_TESTS_ENDED_H

#include <stdlib.h>
#include <string.h>

/* Behind a variable's name in its declaration: where its block ends, this function is given its address, or free()
 * itself. Not where a test fails before that: the program ends then anyway. */
#define ENDED_BY(release) __attribute__((cleanup(release)))
#define FREED ENDED_BY(ended_free)

static inline void ended_free(void *variable)
{
    void *memory;
    memcpy(&memory, variable, sizeof memory);
    free(memory);
}

#endif
