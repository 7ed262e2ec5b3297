/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_PLAIN_TEXT_H
#define HONE_RUNTIME_COMPILE_PLAIN_TEXT_H

#include <stdbool.h>

/* A source as a preprocessor reads it, for whoever only looks for words and directives: lines that a backslash continues are joined,
 * and a comment is a blank. certain: false where compilers may read it in different ways (trigraphs, digraphs, raw strings, blanks behind
 * a backslash, comments behind a quote that is not closed). The caller frees it; NULL: out of memory. */
char *hn_plain_text(const char *text, bool *certain);

#endif
