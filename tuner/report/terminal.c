/* SPDX-License-Identifier: MIT */
#include "tuner/report/terminal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

enum { LEAST_COLUMNS = 20, MOST_COLUMNS = 100000 };

bool hn_terminal_allows_colour(void)
{
    const char *no_colour = getenv("NO_COLOR");
    return no_colour == NULL || no_colour[0] == '\0';
}

/* COLUMNS as a number that makes sense; 0: it says nothing. */
static size_t columns_wanted(void)
{
    const char *columns = getenv("COLUMNS");
    char *end;
    if (columns == NULL || columns[0] < '0' || columns[0] > '9')
        return 0;
    unsigned long wanted = strtoul(columns, &end, 10);
    return *end == '\0' && wanted >= LEAST_COLUMNS && wanted <= MOST_COLUMNS ? wanted : 0;
}

size_t hn_terminal_columns(FILE *file)
{
    struct winsize size;
    if (file != stdout)
        return SIZE_MAX;
    size_t wanted = columns_wanted();
    if (wanted > 0)
        return wanted;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return SIZE_MAX;
    return size.ws_col < LEAST_COLUMNS ? LEAST_COLUMNS : size.ws_col;
}

bool hn_terminal_has_colour(FILE *file)
{
    const char *term = getenv("TERM");
    return file == stdout && hn_terminal_allows_colour() && term != NULL && term[0] != '\0' &&
           strcmp(term, "dumb") != 0 && isatty(STDOUT_FILENO) != 0;
}

void hn_terminal_switch(FILE *file, const char *sequence)
{
    if (fflush(file) == 0)
        (void)hn_file_write_all(STDOUT_FILENO, sequence, strlen(sequence));
}

size_t hn_terminal_width(const char *text, size_t length)
{
    size_t width = 0;
    for (size_t i = 0; i < length; i++)
        width += (text[i] & 0xC0) != 0x80;
    return width;
}

size_t hn_terminal_take_line(const char *text, size_t columns)
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
        size_t length = hn_terminal_take_line(text, columns > blanks ? columns - blanks : 1);
        fprintf(file, "%*s%.*s\n", (int)blanks, "", (int)length, text);
        text += length;
        text += strspn(text, " ");
    }
}
