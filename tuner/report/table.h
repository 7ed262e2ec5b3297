/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_REPORT_TABLE_H
#define HONE_TUNER_REPORT_TABLE_H

#include <stdbool.h>
#include <stdio.h>

/* A table for people: cells collected row by row, printed with columns as wide as their widest cell. Marks in front of a
 * heading say how its column is printed:
 *   >  aligned to the right
 *   ~  may be broken at blanks and behind commas where the table is too wide
 *   =  printed once above the table where all rows have the same, left out where that is nothing; numbers are aligned to the right
 *   ?  left out where no row says anything
 * What is still too wide goes on below, in columns behind the first one again, or behind numbers of the rows where that one is
 * wide or the same in several. No word is ever broken. */
struct hn_table;

/* headings: NULL-terminated, copied. */
struct hn_table *hn_table_create(const char *const *headings);
void hn_table_destroy(struct hn_table *table);
/* One more column, before there are rows. */
void hn_table_column(struct hn_table *table, const char *marks, const char *heading);
/* The next cell, by rows (printf). */
void hn_table_cell(struct hn_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* indent: blanks before each line. What is printed to standard output fits its width; where that is a terminal, the
 * first `tied` rows, which are the best and cannot be told apart, stand out in colour. */
void hn_table_print(const struct hn_table *table, size_t tied, FILE *file, int indent);

/* Whether a file is a terminal that is no typewriter: TERM says which, and not `dumb`. */
bool hn_terminal_is_capable(int file);
/* Whether the environment allows colour: NO_COLOR is not set, or empty. */
bool hn_terminal_allows_colour(void);

/* How many characters a line of standard output has: COLUMNS, or the terminal's; SIZE_MAX where there is neither, and for
 * any other file. */
size_t hn_terminal_columns(FILE *file);

/* Characters of so many bytes of UTF-8. */
size_t hn_terminal_width(const char *text, size_t bytes);
/* A paragraph: lines behind the first begin two blanks further in. No word is broken. */
void hn_terminal_print(FILE *file, size_t indent, size_t columns, const char *text);

#endif
