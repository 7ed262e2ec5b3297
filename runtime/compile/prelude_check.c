/* SPDX-License-Identifier: MIT */
#include "runtime/compile/prelude_check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* What ends the prelude. */
static const char template_start[] = "#line 1\n";

struct macro {
    const char *line; /* "#define NAME 16" in the prelude */
    size_t length;
    int number;
};

/* Of the name, which ends at the first byte that can not belong to one. */
static bool find_macro(const char *text, const char *name, struct macro *macro)
{
    const char *end = strstr(text, template_start);
    size_t name_length = strcspn(name, " \t\r\n\"(/");
    *macro = (struct macro){.line = text, .number = 1};
    while (end != NULL && name_length > 0 && macro->line < end) {
        static const char define[] = "#define ";
        const char *defined = macro->line + strlen(define);
        macro->length = strcspn(macro->line, "\n");
        if (strncmp(macro->line, define, strlen(define)) == 0 &&
            strncmp(defined, name, name_length) == 0 && defined[name_length] == ' ')
            return true;
        macro->line += macro->length + 1;
        macro->number++;
    }
    return false;
}

static char *describe(const char *place, size_t place_length, const char *what, const char *name,
                      const struct macro *macro)
{
    char *message = NULL;
    int name_length = (int)strcspn(name, " \t\r\n\"(/");
    int length = asprintf(
        &message,
        "%.*s: error: macro '%.*s' is %s, but line %d of the prelude has '%.*s', which so has no "
        "effect; take it out, or write it between #ifndef %.*s and #endif",
        (int)place_length, place, name_length, name, what, macro->number, (int)macro->length,
        macro->line, name_length, name);
    return length < 0 ? NULL : message;
}

/* What a line says of a macro that is defined twice: its name; NULL: nothing. *place is how long
 * the place before it is. */
static const char *defined_twice(const char *line, size_t length, size_t *place)
{
    static const char of_nvrtc[] = ": warning #47-D: incompatible redefinition of macro \"";
    static const char of_host[] = ": warning: \"";
    const char *found = memmem(line, length, of_nvrtc, strlen(of_nvrtc));
    size_t mark = strlen(of_nvrtc);
    /* Where the prelude's came second, behind an option -D, there is no place. */
    bool told = found != NULL && memmem(line, length, "(declared at", 12) != NULL;
    if (found == NULL) {
        found = memmem(line, length, of_host, strlen(of_host));
        mark = strlen(of_host);
        told = found != NULL && memmem(line, length, "\" redefined", 11) != NULL &&
               strncmp(line, "prelude:", 8) != 0;
    }
    *place = told ? (size_t)(found - line) : 0;
    return told ? found + mark : NULL;
}

/* "k.cu(5): warning #47-D: incompatible redefinition of macro "BLOCK" (declared at line 1)"; of
 * nvcc its host compiler's 'k.cu:5: warning: "BLOCK" redefined' */
static char *find_second_define(const char *text, const char *log)
{
    struct macro macro;
    for (const char *at = log; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n') {
        size_t place;
        const char *name = defined_twice(at, strcspn(at, "\n"), &place);
        if (name != NULL && find_macro(text, name, &macro))
            return describe(at, place, "defined again", name, &macro);
    }
    return NULL;
}

/* The rest of a line behind "#word", or NULL. */
static const char *behind_directive(const char *line, const char *word)
{
    line += strspn(line, " \t");
    if (*line != '#')
        return NULL;
    line += 1 + strspn(line + 1, " \t");
    size_t length = strlen(word);
    return strncmp(line, word, length) == 0 ? line + length : NULL;
}

static char *find_undef(const char *name, const char *text)
{
    const char *at = strstr(text, template_start);
    struct macro macro;
    int depth = 0;
    int number = 1;
    at = at == NULL ? "" : at + strlen(template_start);
    for (; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n', number++) {
        const char *undefined = behind_directive(at, "undef");
        depth += behind_directive(at, "if") != NULL; /* and #ifdef, #ifndef */
        depth -= behind_directive(at, "endif") != NULL;
        if (undefined == NULL || depth != 0)
            continue;
        undefined += strspn(undefined, " \t");
        if (find_macro(text, undefined, &macro)) {
            char place[600];
            snprintf(place, sizeof place, "%.500s(%d)", name, number);
            return describe(place, strlen(place), "undefined", undefined, &macro);
        }
    }
    return NULL;
}

char *hn_prelude_check(const char *name, const char *text, const char *log)
{
    char *found = log == NULL ? NULL : find_second_define(text, log);
    return found != NULL ? found : find_undef(name, text);
}
