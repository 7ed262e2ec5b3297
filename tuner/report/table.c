/* SPDX-License-Identifier: MIT */
#include "tuner/report/table.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct hn_table {
    char **cells; /* the headings are the first row */
    size_t count;
    size_t capacity;
    size_t columns;
    bool failed;
};

static void add_cell(struct hn_table *table, char *cell)
{
    if (table->count == table->capacity) {
        size_t capacity = table->capacity * 2 + 64;
        char **cells = realloc(table->cells, capacity * sizeof *cells);
        if (cells == NULL) {
            table->failed = true;
            free(cell);
            return;
        }
        table->cells = cells;
        table->capacity = capacity;
    }
    if (cell == NULL)
        table->failed = true;
    else
        table->cells[table->count++] = cell;
}

struct hn_table *hn_table_create(const char *const *headings)
{
    struct hn_table *table = calloc(1, sizeof *table);
    if (table == NULL)
        return NULL;
    for (; headings[table->columns] != NULL; table->columns++)
        add_cell(table, strdup(headings[table->columns]));
    return table;
}

void hn_table_destroy(struct hn_table *table)
{
    if (table == NULL)
        return;
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i]);
    free(table->cells);
    free(table);
}

void hn_table_cell(struct hn_table *table, const char *format, ...)
{
    char *cell = NULL;
    va_list arguments;
    if (table == NULL || table->failed)
        return;
    va_start(arguments, format);
    if (vasprintf(&cell, format, arguments) < 0)
        cell = NULL;
    va_end(arguments);
    add_cell(table, cell);
}

/* Characters of a UTF-8 string. */
static int width_of(const char *text)
{
    int width = 0;
    for (; *text != '\0'; text++)
        width += (*text & 0xC0) != 0x80;
    return width;
}

static const char *cell_text(const struct hn_table *table, size_t i)
{
    const char *text = table->cells[i];
    return i < table->columns && text[0] == '>' ? text + 1 : text;
}

static int column_width(const struct hn_table *table, size_t column)
{
    int widest = 0;
    for (size_t i = column; i < table->count; i += table->columns) {
        int width = width_of(cell_text(table, i));
        if (width > widest)
            widest = width;
    }
    return widest;
}

static void print_cell(const struct hn_table *table, size_t i, int width, FILE *file)
{
    size_t column = i % table->columns;
    const char *text = cell_text(table, i);
    int blanks = width - width_of(text);
    bool right = table->cells[column][0] == '>';
    bool last = column + 1 == table->columns;
    fprintf(file, "%*s%s%*s", right ? blanks : 0, "", text, right || last ? 0 : blanks, "");
    fputs(last ? "\n" : "  ", file);
}

void hn_table_print(const struct hn_table *table, FILE *file, int indent)
{
    int *widths = table != NULL ? calloc(table->columns + 1, sizeof *widths) : NULL;
    if (widths == NULL || table->failed) {
        fputs("(out of memory for a table)\n", file);
        free(widths);
        return;
    }
    for (size_t c = 0; c < table->columns; c++)
        widths[c] = column_width(table, c);
    for (size_t i = 0; i < table->count; i++) {
        if (i % table->columns == 0)
            fprintf(file, "%*s", indent, "");
        print_cell(table, i, widths[i % table->columns], file);
    }
    free(widths);
}
