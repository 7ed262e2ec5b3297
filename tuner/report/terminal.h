/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_REPORT_TERMINAL_H
#define HONE_TUNER_REPORT_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* What text for people is fitted to. */

/* Whether the environment allows colour: NO_COLOR is not set, or empty. */
bool hn_terminal_allows_colour(void);

/* How many characters a line of standard output has: COLUMNS, or the terminal's; SIZE_MAX where there is neither, and for
 * any other file. */
size_t hn_terminal_columns(FILE *file);

/* Characters of so many bytes of UTF-8. */
size_t hn_terminal_width(const char *text, size_t bytes);
/* How many bytes of the text have room in a line of `columns` characters: up to a blank or behind a comma, one word at least. */
size_t hn_terminal_take_line(const char *text, size_t columns);
/* A paragraph: lines behind the first begin two blanks further in. No word is broken. */
void hn_terminal_print(FILE *file, size_t indent, size_t columns, const char *text);

/* Whether what is printed there may be coloured: standard output on a terminal that can, and NO_COLOR does not forbid it. */
bool hn_terminal_has_colour(FILE *file);

/* Colours of what follows on standard output, by the bytes that switch them on or off. They go past the stream, which shows control bytes
 * instead of obeying them. */
void hn_terminal_switch(FILE *file, const char *sequence);

#endif
