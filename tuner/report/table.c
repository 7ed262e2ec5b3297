/* SPDX-License-Identifier: MIT */
#include "tuner/report/table.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

enum { LEAST_COLUMNS = 20, MOST_COLUMNS = 100000 };

bool hn_terminal_allows_colour(void)
{
    const char *no_colour = getenv("NO_COLOR");
    return no_colour == NULL || no_colour[0] == '\0';
}

bool hn_terminal_is_capable(int file)
{
    const char *term = getenv("TERM");
    return term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0 && isatty(file) != 0;
}

size_t hn_terminal_columns(FILE *file)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    char *end = NULL;
    if (file != stdout)
        return SIZE_MAX;
    if (columns != NULL && hn_is_digit(columns[0])) {
        unsigned long wanted = strtoul(columns, &end, 10);
        if (*end == '\0' && wanted >= LEAST_COLUMNS && wanted <= MOST_COLUMNS)
            return wanted;
    }
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return SIZE_MAX;
    return size.ws_col < LEAST_COLUMNS ? LEAST_COLUMNS : size.ws_col;
}

/* Colours go past the stream, which shows control bytes instead of obeying them. */
static void switch_colour(FILE *file, const char *sequence)
{
    if (sequence != NULL && fflush(file) == 0)
        (void)hn_file_write_all(STDOUT_FILENO, sequence, strlen(sequence));
}

size_t hn_terminal_width(const char *text, size_t length)
{
    size_t width = 0;
    for (size_t i = 0; i < length; i++)
        width += (text[i] & 0xC0) != 0x80;
    return width;
}

/* How many bytes of the text have room in a line of so many characters: up to a blank or behind a
 * comma, one word at least. */
static size_t take_line(const char *text, size_t columns)
{
    size_t length = strlen(text);
    size_t taken = 0;
    if (hn_terminal_width(text, length) <= columns)
        return length;
    bool in_command = false; /* which has to run as it is printed */
    for (size_t i = 1; i < length; i++) {
        in_command = in_command != (text[i - 1] == '`');
        bool breaks = text[i] == ' ' || text[i - 1] == ',';
        if (!breaks || in_command)
            continue;
        if (taken > 0 && hn_terminal_width(text, i) > columns)
            break;
        taken = i;
    }
    return taken > 0 ? taken : length;
}

void hn_terminal_print(FILE *file, size_t indent, size_t columns, const char *text)
{
    for (size_t blanks = indent; *text != '\0'; blanks = indent + 2) {
        size_t length = take_line(text, columns > blanks ? columns - blanks : 1);
        fprintf(file, "%*s%.*s\n", (int)blanks, "", (int)length, text);
        text += length;
        text += strspn(text, " ");
    }
}

enum { GAP = 2, NARROWEST = 8 };

static const char best_colour[] = "\033[1;32m";
static const char tied_colour[] = "\033[32m";
static const char no_colour[] = "\033[0m";

struct column {
    const char *heading;
    char marks[8];
};

struct hn_table {
    struct column *columns;
    size_t column_count;
    char **cells;
    size_t count;
    struct hn_blocks memory; /* of headings and cells */
};

struct hn_table *hn_table_create(const char *const *headings)
{
    struct hn_table *table = hn_need(1, sizeof *table);
    for (size_t i = 0; headings[i] != NULL; i++)
        hn_table_column(table, "", headings[i]);
    return table;
}

void hn_table_destroy(struct hn_table *table)
{
    hn_blocks_finish(&table->memory);
    free(table->columns);
    free(table->cells);
    free(table);
}

static bool has_mark(const struct column *column, char mark)
{
    return strchr(column->marks, mark) != NULL;
}

void hn_table_column(struct hn_table *table, const char *marks, const char *heading)
{
    size_t own = strspn(heading, ">~=?");
    struct column *column = HN_NEXT(table->columns, table->column_count);
    column->heading = hn_need_format(&table->memory, "%s", heading + own);
    snprintf(column->marks, sizeof column->marks, "%s%.*s", marks, (int)own, heading);
}

void hn_table_cell(struct hn_table *table, const char *format, ...)
{
    struct hn_text cell = {0};
    va_list arguments;
    va_start(arguments, format);
    hn_text_vprintf(&cell, format, arguments);
    va_end(arguments);
    *HN_NEXT(table->cells, table->count) = hn_need_kept(&table->memory, hn_text_take(&cell));
}

/* How the table is printed. */
struct layout {
    const struct hn_table *table;
    size_t tied; /* rows that stand out */
    FILE *file;
    size_t indent;
    size_t columns; /* characters of a line */
    size_t rows;
    size_t *shown; /* columns of the table */
    size_t shown_count;
    size_t *widths; /* by column of the table */
    size_t *right;  /* likewise: whether it is aligned to the right */
    bool lift_one;  /* of a single row, too, what may stand above it does */
    bool numbered;  /* rows have a number in front, the column behind those of the table: the first
                       does not tell them apart */
    char number[24];
    bool colour;
};

static const char *cell_at(const struct layout *layout, size_t row, size_t column)
{
    return layout->table->cells[row * layout->table->column_count + column];
}

/* Of a single row all is the same: it stands above where it has no room beside the rest. */
static bool is_shared(const struct layout *layout, size_t column)
{
    const struct column *own = &layout->table->columns[column];
    if (layout->rows == 0)
        return false;
    const char *first = cell_at(layout, 0, column);
    if (!has_mark(own, '=') && !(has_mark(own, '?') && first[0] == '\0'))
        return false;
    for (size_t row = 1; row < layout->rows; row++)
        if (strcmp(cell_at(layout, row, column), first) != 0)
            return false;
    return layout->rows > 1 || layout->lift_one || first[0] == '\0';
}

/* The widest line of a cell, where lines are broken at `width`. */
static size_t widest_line(const char *text, size_t width)
{
    size_t widest = 0;
    while (*text != '\0') {
        size_t length = take_line(text, width);
        size_t line = hn_terminal_width(text, length);
        widest = line > widest ? line : widest;
        text += length;
        text += strspn(text, " ");
    }
    return widest;
}

static size_t column_width(const struct layout *layout, size_t column, size_t width)
{
    size_t widest = widest_line(layout->table->columns[column].heading, width);
    for (size_t row = 0; row < layout->rows; row++) {
        size_t cell = widest_line(cell_at(layout, row, column), width);
        widest = cell > widest ? cell : widest;
    }
    return widest;
}

static size_t total_width(const struct layout *layout)
{
    size_t total = layout->indent;
    for (size_t i = 0; i < layout->shown_count; i++)
        total += layout->widths[layout->shown[i]] + (i > 0 ? GAP : 0);
    return total;
}

/* Takes from the widest of the columns that may be broken, until the table fits or none gives. */
static void shrink_columns(const struct layout *layout)
{
    size_t total = total_width(layout);
    while (total > layout->columns) {
        size_t widest = SIZE_MAX;
        for (size_t i = 0; i < layout->shown_count; i++) {
            size_t column = layout->shown[i];
            if (has_mark(&layout->table->columns[column], '~') &&
                layout->widths[column] > NARROWEST &&
                (widest == SIZE_MAX || layout->widths[column] > layout->widths[widest]))
                widest = column;
        }
        if (widest == SIZE_MAX)
            return;
        size_t narrower = column_width(layout, widest, layout->widths[widest] - 1);
        if (narrower >= layout->widths[widest])
            return;
        total -= layout->widths[widest] - narrower;
        layout->widths[widest] = narrower;
    }
}

static void print_shared(const struct layout *layout)
{
    struct hn_text text HN_ENDED_BY(hn_text_finish) = {0};
    for (size_t column = 0; column < layout->table->column_count; column++)
        if (is_shared(layout, column) && cell_at(layout, 0, column)[0] != '\0')
            hn_text_printf(&text, "%s%s=%s",
                           text.length > 0    ? ", "
                           : layout->rows > 1 ? "in all rows: "
                                              : "",
                           layout->table->columns[column].heading, cell_at(layout, 0, column));
    hn_terminal_print(layout->file, layout->indent, layout->columns,
                      text.data == NULL ? "" : text.data);
}

/* One line of the cells of a row, and what is left of each. Blanks are written in front of what is
 * behind them, so that no line ends with any. */
static bool print_line(const struct layout *layout, const size_t *columns, size_t count,
                       const char **rest)
{
    size_t blanks = layout->indent;
    bool more = false;
    for (size_t i = 0; i < count; i++) {
        size_t width = layout->widths[columns[i]];
        size_t length = take_line(rest[i], width);
        size_t room = width - hn_terminal_width(rest[i], length);
        bool right = layout->right[columns[i]] != 0;
        blanks += i > 0 ? GAP : 0;
        if (length > 0)
            fprintf(layout->file, "%*s%.*s", (int)(blanks + (right ? room : 0)), "", (int)length,
                    rest[i]);
        blanks = length == 0 ? blanks + width : right ? 0 : room;
        rest[i] += length;
        rest[i] += strspn(rest[i], " ");
        more = more || *rest[i] != '\0';
    }
    fputc('\n', layout->file);
    return more;
}

/* The heading, and all rows, of some columns. */
static void print_band(struct layout *layout, const size_t *columns, size_t count,
                       const char **rest)
{
    for (size_t i = 0; i < count; i++)
        rest[i] = columns[i] == layout->table->column_count
                      ? "#"
                      : layout->table->columns[columns[i]].heading;
    while (print_line(layout, columns, count, rest))
        continue;
    for (size_t row = 0; row < layout->rows; row++) {
        const char *colour = !layout->colour || row >= layout->tied ? NULL
                             : row == 0                             ? best_colour
                                                                    : tied_colour;
        snprintf(layout->number, sizeof layout->number, "%zu", row + 1);
        for (size_t i = 0; i < count; i++)
            rest[i] = columns[i] == layout->table->column_count ? layout->number
                                                                : cell_at(layout, row, columns[i]);
        switch_colour(layout->file, colour);
        while (print_line(layout, columns, count, rest))
            continue;
        switch_colour(layout->file, colour != NULL ? no_colour : NULL);
    }
}

/* Where columns go on below, rows are found again by the first one: it is narrow, and each is
 * another. */
static bool needs_numbers(const struct layout *layout)
{
    size_t first = layout->shown[0];
    if (total_width(layout) <= layout->columns || layout->rows < 2)
        return false;
    for (size_t row = 1; row < layout->rows; row++)
        if (strcmp(cell_at(layout, row, first), cell_at(layout, row - 1, first)) == 0)
            return true;
    return layout->widths[first] > layout->columns / 4;
}

/* As many columns at a time as fit, each time behind the first one. */
static void print_bands(struct layout *layout, size_t *band, const char **rest)
{
    size_t first = layout->numbered ? layout->table->column_count : layout->shown[0];
    size_t next = 0;
    do {
        size_t count = 0;
        size_t width = layout->indent;
        fputs(next > 0 ? "\n" : "", layout->file);
        if (next > 0 || layout->numbered) {
            band[count++] = first;
            width += layout->widths[first];
        }
        size_t least = count + 1; /* columns, whatever their width */
        while (next < layout->shown_count) {
            size_t more = layout->widths[layout->shown[next]] + (count > 0 ? GAP : 0);
            if (count >= least && width + more > layout->columns)
                break;
            width += more;
            band[count++] = layout->shown[next++];
        }
        print_band(layout, band, count, rest);
    } while (next < layout->shown_count);
}

static void choose_columns(struct layout *layout)
{
    layout->shown_count = 0;
    for (size_t column = 0; column < layout->table->column_count; column++) {
        const struct column *c = &layout->table->columns[column];
        if (is_shared(layout, column))
            continue;
        layout->shown[layout->shown_count++] = column;
        layout->widths[column] = column_width(layout, column, SIZE_MAX);
        bool numeric = has_mark(c, '=');
        for (size_t row = 0; row < layout->rows && numeric; row++) {
            const char *cell = cell_at(layout, row, column);
            cell += *cell == '-';
            numeric = *cell == '\0' || *cell == '.' || hn_is_digit(*cell);
        }
        layout->right[column] = has_mark(c, '>') || numeric;
    }
}

void hn_table_print(const struct hn_table *table, size_t tied, FILE *file, int indent)
{
    size_t count = table->column_count + 1, number = table->column_count;
    size_t *numbers HN_FREED = hn_need(count * 4, sizeof *numbers);
    const char **rest HN_FREED = hn_need(count, sizeof *rest);
    struct layout layout = {
        .table = table,
        .tied = tied,
        .file = file,
        .indent = (size_t)indent,
        .columns = hn_terminal_columns(file),
        .rows = table->column_count > 0 ? table->count / table->column_count : 0,
        .shown = numbers,
        .widths = numbers + count,
        .right = numbers + 3 * count,
        .colour = tied > 0 && file == stdout && hn_terminal_allows_colour() &&
                  hn_terminal_is_capable(STDOUT_FILENO),
    };
    choose_columns(&layout);
    if (layout.rows == 1 && total_width(&layout) > layout.columns) {
        layout.lift_one = true;
        choose_columns(&layout);
    }
    shrink_columns(&layout);
    print_shared(&layout);
    if (layout.shown_count > 0) {
        layout.numbered = needs_numbers(&layout);
        layout.widths[number] =
            (size_t)snprintf(layout.number, sizeof layout.number, "%zu", layout.rows);
        layout.right[number] = true;
        print_bands(&layout, numbers + 2 * count, rest);
    }
}
