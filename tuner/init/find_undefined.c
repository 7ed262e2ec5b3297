/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "tuner/init/find_macros.h"

/* What the compiler's headers define. */
static bool is_standard(const char *name)
{
    static const char *const whole[] = {"NULL", "EOF",   "INFINITY", "NAN",
                                        "TRUE", "FALSE", "CHAR_BIT"};
    static const char *const begins[] = {"CUDART_", "M_",      "INT",      "UINT",
                                         "FLT_",    "DBL_",    "LONG_",    "LLONG_",
                                         "ULONG_",  "ULLONG_", "SIZE_MAX", "__"};
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
        if (strcmp(name, whole[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

/* BLOCK_X, N; not Tile or x. */
static bool is_capital(const char *name)
{
    if (!hn_is_upper(name[0]))
        return false;
    for (const char *c = name; *c != '\0'; c++)
        if (hn_is_lower(*c))
            return false;
    return true;
}

/* Whether one of the words stands before a place. */
static bool ends_with_word(const char *code, size_t end, const char *const *words)
{
    for (; *words != NULL; words++) {
        size_t length = strlen(*words);
        if (end >= length && strncmp(code + end - length, *words, length) == 0 &&
            (end == length || !hn_is_identifier(code[end - length - 1])))
            return true;
    }
    return false;
}

/* "int N", "class T", "enum { A, B }": what a declaration looks like from behind. Anything that may
 * be one is taken for one. */
static bool is_declared_at(const char *code, size_t at, bool enumerates)
{
    static const char *const statements[] = {"return", "case", "else", "do", "throw", NULL};
    static const char *const types[] = {"float",  "double",   "int",    "char",   "short",
                                        "long",   "unsigned", "signed", "bool",   "half",
                                        "__half", "auto",     "float2", "float4", "int2",
                                        "int4",   "const",    "void",   NULL};
    size_t before = at;
    while (before > 0 && strchr(" \t\r\n*&", code[before - 1]) != NULL)
        before--;
    char last = before > 0 ? code[before - 1] : ';';
    /* "a * N" and "a & N" are no declarations, "float *N" is. */
    bool pointer = memchr(code + before, '*', at - before) != NULL ||
                   memchr(code + before, '&', at - before) != NULL;
    if (pointer)
        return ends_with_word(code, before, types);
    return (hn_is_identifier(last) && before < at && !ends_with_word(code, before, statements)) ||
           last == '>' || last == '.' || last == ':' ||
           (enumerates && (last == '{' || last == ','));
}

static bool is_declared(const struct hn_source_text *source, const char *name)
{
    const char *code = source->code;
    bool enumerates = hn_find_identifier(code, 0, source->length, "enum") != SIZE_MAX;
    for (size_t at = hn_find_identifier(code, 0, source->length, name); at != SIZE_MAX;
         at = hn_find_identifier(code, at + 1, source->length, name))
        if (is_declared_at(code, at, enumerates))
            return true;
    return false;
}

static bool is_of_kernel(const struct hn_kernel *kernel, const char *name)
{
    for (size_t i = 0; i < kernel->argument_count; i++)
        if (strcmp(kernel->arguments[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < kernel->parameter_count; i++)
        if (strcmp(kernel->parameters[i].name, name) == 0)
            return true;
    return false;
}

/* A call, an array, a type of a declaration or a scope is no number. */
static bool is_number_here(const char *code, size_t behind)
{
    while (hn_is_space(code[behind]))
        behind++;
    bool assigned = code[behind] == '=' && code[behind + 1] != '=';
    return !assigned && code[behind] != '\0' && strchr("([.:", code[behind]) == NULL &&
           strncmp(code + behind, "->", 2) != 0 && !hn_is_identifier(code[behind]);
}

static bool includes_own_files(const struct hn_source_text *source)
{
    for (const char *at = strstr(source->directives, "include"); at != NULL;
         at = strstr(at + 1, "include"))
        if (at[7 + strspn(at + 7, " \t")] == '"')
            return true;
    return false;
}

static enum hn_status add_name(const struct hn_source_text *source, const struct hn_kernel *kernel,
                               const char *name, struct hn_macros *macros, struct hn_error *err)
{
    struct hn_macro macro = {.kind = HN_MACRO_NUMBER, .undefined = true};
    if (!is_capital(name) || is_standard(name) || hn_macros_get(macros, name) != NULL ||
        hn_find_identifier(source->directives, 0, source->length, name) != SIZE_MAX ||
        is_of_kernel(kernel, name) || is_declared(source, name))
        return HN_OK;
    macro.name = strdup(name);
    if (macro.name == NULL)
        return hn_fail_memory(err);
    enum hn_status status = hn_macros_add(macros, &macro, err);
    free(macro.name);
    return status;
}

enum hn_status hn_macros_add_undefined(const struct hn_source_text *source,
                                       const struct hn_kernel *kernel, struct hn_macros *macros,
                                       struct hn_error *err)
{
    const char *code = source->code;
    enum hn_status status = HN_OK;
    if (includes_own_files(source))
        return HN_OK;
    for (size_t i = kernel->body; status == HN_OK && i < kernel->end;) {
        size_t length = 0;
        while (i + length < kernel->end && hn_is_identifier(code[i + length]))
            length++;
        if (length == 0) {
            i++;
            continue;
        }
        char *name = is_number_here(code, i + length) ? strndup(code + i, length) : strdup("");
        status = name != NULL ? add_name(source, kernel, name, macros, err) : hn_fail_memory(err);
        free(name);
        i += length;
    }
    return status;
}
