/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_INIT_SOURCE_TEXT_H
#define HONE_TUNER_INIT_SOURCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "base/error.h"

/* A CUDA source for a reader that is no compiler: the text, and the same with blanks for what is no code. Offsets are the
 * same in all. */
struct hn_source_text {
    char *path;
    char *text;       /* with line continuations joined by blanks */
    char *code;       /* without comments, the contents of strings and characters, and preprocessor lines */
    char *directives; /* nothing but preprocessor lines, without comments */
    size_t length;
};

/* HN_ERUN, HN_EFORMAT: not a text. */
enum hn_status hn_source_text_load(const char *path, struct hn_source_text *source, struct hn_error *err);
/* Takes the text over. */
enum hn_status hn_source_text_make(const char *path, char *text, struct hn_source_text *source, struct hn_error *err);
void hn_source_text_finish(struct hn_source_text *source);

/* The first place from `from` on where the identifier stands alone, before `end`; SIZE_MAX when it does not. */
size_t hn_find_identifier(const char *text, size_t from, size_t end, const char *identifier);
/* Whether the source has the identifier anywhere, macros included. */
bool hn_source_has(const struct hn_source_text *source, const char *identifier);
/* The place of the bracket that closes the one at `open` ('(', '[', '{', '<'), or SIZE_MAX. */
size_t hn_closing_bracket(const char *text, size_t open, size_t end);

#endif
