/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_IMAGE_H
#define HONE_RUNTIME_COMPILE_IMAGE_H

#include <stddef.h>

#include "cache/record/record.h"

/* What came of compiling: a cubin, or the reason why there is none. Owns all. */
struct hn_image {
    enum hn_outcome outcome; /* ok, compile_error, compile_timeout, compile_crash; invalid_launch with a cubin */
    char *message;           /* first error with its line, else NULL */
    char *log;               /* the whole compiler log, may be NULL */
    void *cubin;
    size_t size;
    char **entries; /* per step that is launched: the lowered (mangled) name in the cubin */
    size_t entry_count;
    char code_hash[33]; /* of the entries' machine code, constants and resources */
    struct hn_resources resources;
    double compile_ms;
};

/* An image that was not made yet. */
#define HN_NO_IMAGE ((struct hn_image){.outcome = HN_OUTCOME_COMPILE_ERROR})
void hn_image_finish(struct hn_image *image);
/* `to` need not be initialised, and is to be finished in any case. */
enum hn_status hn_image_copy(struct hn_image *to, const struct hn_image *from, struct hn_error *err);
/* From the names of the kernels, a line each. */
enum hn_status hn_image_set_entries(struct hn_image *image, const char *lines, struct hn_error *err);
/* The names of the kernels, a line each; free it. NULL when out of memory. */
char *hn_image_entry_lines(const struct hn_image *image);

#endif
