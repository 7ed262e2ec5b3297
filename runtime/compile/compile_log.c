/* SPDX-License-Identifier: MIT */
#include "runtime/compile/compile_internal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/compile/code_scan.h"
#include "runtime/compile/template.h"

/* Static shared memory of a block, on every architecture. */
enum { STATIC_SHARED_LIMIT = 48 * 1024 };

static bool contains(const char *line, size_t length, const char *what)
{
    return memmem(line, length, what, strlen(what)) != NULL;
}

void hn_compile_log_strip(char *log)
{
    char *to = log;
    const char *line, *next = log;
    size_t length;
    while (hn_text_line(&next, &line, &length)) {
        if (contains(line, length, "Compile time ="))
            continue;
        memmove(to, line, (size_t)(next - line));
        to += next - line;
    }
    *to = '\0';
}

/* "x.cu(3): error: …", "x.cu(1): catastrophic error: …", "x.cu:1:10: fatal error: …", "ptxas fatal
 * : …", "ptxas …, line 26; error   : …", "nvrtc: error: …". */
static bool is_error(const char *line, size_t length)
{
    static const char *const marks[] = {": error: ",       ": catastrophic error: ",
                                        ": fatal error: ", ": error #",
                                        "error   : ",      "fatal   : ",
                                        "error : "};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (contains(line, length, marks[i]))
            return true;
    return false;
}

/* With -v ptxas writes no error for too much static shared memory, only "… 80000 bytes smem". */
static char *describe_shared(const char *log)
{
    static const char heading[] = "Compiling entry function '";
    const char *line, *kernel = "?";
    size_t length;
    char *message = NULL;
    while (message == NULL && hn_text_line(&log, &line, &length)) {
        const char *name = memmem(line, length, heading, sizeof heading - 1);
        kernel = name != NULL ? name + sizeof heading - 1 : kernel;
        const char *start = memmem(line, length, " bytes smem", 11);
        while (start != NULL && start > line && hn_is_digit(start[-1]))
            start--;
        long bytes = start != NULL ? strtol(start, NULL, 10) : 0;
        size_t shown = strcspn(kernel, "'\n");
        if (bytes > STATIC_SHARED_LIMIT &&
            asprintf(&message,
                     "kernel '%.*s' has %ld bytes of static shared memory; the limit is %d "
                     "(beyond it use dynamic shared memory)",
                     shown < 255 ? (int)shown : 255, kernel, bytes, STATIC_SHARED_LIMIT) < 0)
            return NULL;
    }
    return message;
}

/* NVRTC reports a wrong name expression as an error in a file of its own, with a pragma in the line
 * after it. */
static char *describe_name_expression(const char *line, size_t length)
{
    static const char mark[] = "): error: ";
    static const char pragma[] = "#pragma nv_mangled_name ";
    if (strncmp(line, "__nv_name_map(", 14) != 0)
        return NULL;
    const char *reason = memmem(line, length, mark, sizeof mark - 1);
    const char *expression = strstr(line + length, pragma);
    if (reason == NULL || expression == NULL)
        return NULL;
    reason += sizeof mark - 1;
    expression += sizeof pragma - 1;
    char *message = NULL;
    if (asprintf(&message, "name expression '%.*s': %.*s", (int)strcspn(expression, "\n"),
                 expression, (int)(length - (size_t)(reason - line)), reason) < 0)
        return NULL;
    return message;
}

char *hn_compile_log_error(const char *log)
{
    const char *line, *next = log, *first = NULL;
    size_t length;
    while (hn_text_line(&next, &line, &length)) {
        if (is_error(line, length)) {
            char *message = describe_name_expression(line, length);
            return message != NULL ? message : strndup(line, length);
        }
        first = first == NULL && length > 0 ? line : first;
    }
    char *shared = describe_shared(log);
    if (shared != NULL)
        return shared;
    return first != NULL ? strndup(first, strcspn(first, "\n"))
                         : strdup("the compiler gave no reason");
}

char *hn_compile_log_nvrtc_error(const char *log)
{
    static const char missing[] = "cannot open source file \"";
    char *error = hn_compile_log_error(log);
    char *message = NULL;
    const char *header = error != NULL ? strstr(error, missing) : NULL;
    header = header != NULL ? header + strlen(missing) : NULL;
    if (error == NULL || (header != NULL ? !hn_is_header_of_host(header, strcspn(header, "\""))
                                         : strstr(error, "not allowed in JIT mode") == NULL))
        return error;
    char *advice = strstr(error, ". Consider using -default-device");
    if (advice != NULL)
        *advice = '\0';
    if (asprintf(&message,
                 "%s; NVRTC compiles device code alone: write what is for the host between "
                 "#ifndef __CUDACC_RTC__ and #endif, or have nvcc compile it with `compile: "
                 "{compiler: nvcc}`",
                 error) < 0)
        return error;
    free(error);
    return message;
}

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
    const char *line;
    size_t length, place;
    while (hn_text_line(&log, &line, &length)) {
        struct macro macro;
        const char *name = defined_twice(line, length, &place);
        if (name != NULL && find_macro(text, name, &macro))
            return describe(line, place, "defined again", name, &macro);
    }
    return NULL;
}

static char *find_undef(const char *name, const char *text)
{
    const char *line, *next = strstr(text, template_start);
    size_t length;
    int depth = 0;
    next = next == NULL ? "" : next + strlen(template_start);
    for (int number = 1; hn_text_line(&next, &line, &length); number++) {
        struct macro macro;
        const char *undefined = hn_code_directive(line, line + length, "undef");
        depth += hn_code_directive(line, line + length, "if") != NULL; /* and #ifdef, #ifndef */
        depth -= hn_code_directive(line, line + length, "endif") != NULL;
        if (undefined == NULL || depth != 0 || !find_macro(text, undefined, &macro))
            continue;
        char place[600];
        snprintf(place, sizeof place, "%.500s(%d)", name, number);
        return describe(place, strlen(place), "undefined", undefined, &macro);
    }
    return NULL;
}

char *hn_prelude_check(const char *name, const char *text, const char *log)
{
    char *found = log == NULL ? NULL : find_second_define(text, log);
    return found != NULL ? found : find_undef(name, text);
}
