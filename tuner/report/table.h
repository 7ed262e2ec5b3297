/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_REPORT_TABLE_H
#define HONE_TUNER_REPORT_TABLE_H

#include <stdio.h>

/* A table for people: cells collected row by row, printed with columns as wide as their widest cell. A column whose
 * heading starts with '>' is aligned to the right. */
struct hn_table;

/* headings: NULL-terminated, copied. NULL when out of memory; all calls take NULL. */
struct hn_table *hn_table_create(const char *const *headings);
void hn_table_destroy(struct hn_table *table);
/* The next cell, by rows (printf). */
void hn_table_cell(struct hn_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* indent: blanks before each line. */
void hn_table_print(const struct hn_table *table, FILE *file, int indent);

#endif
