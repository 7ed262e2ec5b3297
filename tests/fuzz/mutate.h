/* SPDX-License-Identifier: MIT */
#ifndef HONE_FUZZ_MUTATE_H
#define HONE_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* What somebody might write who knows how a file is laid out: one thing of it is another, and the rest is as it was. */

/* Pseudo-random numbers (splitmix64): the same seed gives the same ones everywhere. */
struct fuzz_random {
    uint64_t state;
};
/* 0 to count - 1. */
size_t fuzz_below(struct fuzz_random *random, size_t count);

/* A JSON text with one change: a member is removed, replaced, exchanged with another, wrapped, renamed or repeated, or a
 * text or a number is another; rarely the text itself is damaged. NULL: it is no JSON text, or there is no memory. Free
 * it. */
char *fuzz_mutate_json(const char *text, size_t size, struct fuzz_random *random);

#endif
