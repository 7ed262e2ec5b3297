/* SPDX-License-Identifier: MIT */
#include "runtime/compile/include_scan.h"

#include <string.h>

/* What stands behind `#` and what the directive begins with in a line, or NULL. */
static const char *behind_directive(const char *line, const char *end, const char *begins)
{
    const char *const tokens[] = {"#", begins};
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        size_t length = strlen(tokens[i]);
        line += strspn(line, " \t");
        if ((size_t)(end - line) < length || strncmp(line, tokens[i], length) != 0)
            return NULL;
        line += length;
    }
    return line + strspn(line, " \t");
}

/* Whether a block comment is open at the end of a line. A mark within a string or after // opens
 * none. */
static bool ends_in_comment(const char *at, const char *end, bool comment)
{
    char quote = '\0';
    for (; at < end; at++) {
        bool pair = at + 1 < end;
        if (comment) {
            comment = !(pair && at[0] == '*' && at[1] == '/');
            at += !comment;
        } else if (quote != '\0') {
            if (at[0] == '\\' && pair)
                at++;
            else if (at[0] == quote)
                quote = '\0';
        } else if (pair && at[0] == '/' && at[1] == '/') {
            return false;
        } else if (pair && at[0] == '/' && at[1] == '*') {
            comment = true;
            at++;
        } else if (at[0] == '"') {
            quote = at[0];
        }
    }
    return comment;
}

static bool read_include(const char *line, const char *end, struct hn_include *include)
{
    const char *mark = behind_directive(line, end, "include");
    if (mark == NULL || (*mark != '"' && *mark != '<'))
        return false;
    include->quoted = *mark == '"';
    include->name = mark + 1;
    const char *close = memchr(mark + 1, include->quoted ? '"' : '>', (size_t)(end - mark - 1));
    if (close == NULL)
        return false;
    include->length = (size_t)(close - include->name);
    return true;
}

static void follow_conditions(struct hn_include_scan *scan, const char *line, const char *end)
{
    if (behind_directive(line, end, "if") != NULL) {
        const char *name = behind_directive(line, end, "ifdef");
        scan->conditions++;
        if (scan->nvrtc == 0 && name != NULL && strncmp(name, "__CUDACC_RTC__", 14) == 0)
            scan->nvrtc = scan->conditions;
    } else if (scan->nvrtc > 0 && scan->conditions == scan->nvrtc &&
               behind_directive(line, end, "else") != NULL) {
        scan->host = true;
    } else if (behind_directive(line, end, "endif") != NULL && --scan->conditions < scan->nvrtc) {
        scan->nvrtc = 0;
        scan->host = false;
    }
}

bool hn_include_next(struct hn_include_scan *scan, struct hn_include *include)
{
    bool found = false;
    while (!found && *scan->next != '\0') {
        const char *line = scan->next;
        const char *end = line + strcspn(line, "\n");
        include->line = ++scan->line;
        if (!scan->comment)
            follow_conditions(scan, line, end);
        found = !scan->comment && read_include(line, end, include);
        include->conditional = scan->conditions > 0;
        include->host = scan->host;
        scan->comment = ends_in_comment(line, end, scan->comment);
        scan->next = *end == '\n' ? end + 1 : end;
    }
    return found;
}
