/* SPDX-License-Identifier: MIT */
#include "runtime/compile/demangle.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { MOST_PARTS = 256, MOST_DEPTH = 64, MOST_BYTES = 4096 };

/* Strings that a name refers back to, in order. */
struct parts {
    char *texts[MOST_PARTS];
    size_t count;
};

struct reader {
    const char *at;
    bool failed;
    int depth;
    struct parts substitutions; /* S_, S0_, … */
    struct parts arguments;     /* T_, T0_, … of the kernel */
};

static void fail(struct reader *reader)
{
    reader->failed = true;
}

static bool take(struct reader *reader, const char *token)
{
    size_t length = strlen(token);
    if (reader->failed || strncmp(reader->at, token, length) != 0)
        return false;
    reader->at += length;
    return true;
}

static void remember(struct reader *reader, struct parts *parts, const char *text)
{
    if (parts->count == MOST_PARTS || strlen(text) > MOST_BYTES ||
        (parts->texts[parts->count] = strdup(text)) == NULL)
        fail(reader);
    else
        parts->count++;
}

static void finish_parts(struct parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        free(parts->texts[i]);
}

/* "_" is 0, "0_" 1, "Z_" 36. */
static size_t read_number(struct reader *reader)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t number = 0;
    bool any = false;
    for (; *reader->at != '_' && !reader->failed; reader->at++, any = true) {
        const char *digit = *reader->at != '\0' ? strchr(digits, *reader->at) : NULL;
        if (digit == NULL || number > MOST_PARTS)
            fail(reader);
        else
            number = number * 36 + (size_t)(digit - digits);
    }
    reader->at += !reader->failed;
    return number + any;
}

static void append_part(struct reader *reader, const struct parts *parts, struct hn_text *text)
{
    size_t number = read_number(reader);
    if (number >= parts->count)
        fail(reader);
    else if (!reader->failed)
        hn_text_append(text, parts->texts[number]);
}

/* "3foo" */
static void read_word(struct reader *reader, struct hn_text *text)
{
    size_t length = 0;
    while (*reader->at >= '0' && *reader->at <= '9' && length < 10000)
        length = length * 10 + (size_t)(*reader->at++ - '0');
    if (length == 0 || strnlen(reader->at, length) < length) {
        fail(reader);
        return;
    }
    hn_text_append_bytes(text, reader->at, length);
    reader->at += length;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void read_type(struct reader *reader, struct hn_text *text);

/* "Li16E" */
static void read_literal(struct reader *reader, struct hn_text *text)
{
    struct hn_text type;
    hn_text_init(&type);
    bool is_bool = *reader->at == 'b';
    bool is_plain = strchr("bcahstijlmxy", *reader->at) != NULL;
    read_type(reader, &type);
    if (!is_plain && type.data != NULL)
        hn_text_printf(text, "(%s)", type.data);
    hn_text_finish(&type);
    if (take(reader, "n"))
        hn_text_append(text, "-");
    size_t length = strspn(reader->at, "0123456789");
    if (length == 0)
        fail(reader);
    else if (is_bool)
        hn_text_append(text, *reader->at == '0' ? "false" : "true");
    else
        hn_text_append_bytes(text, reader->at, length);
    reader->at += length;
    if (!take(reader, "E"))
        fail(reader);
}

/* "IfLi16EE", whose I was taken. `kept` is NULL where nobody refers to them by number. */
static void read_arguments(struct reader *reader, struct parts *kept, struct hn_text *text)
{
    const char *between = "";
    hn_text_append(text, "<");
    while (!reader->failed && !take(reader, "E")) {
        struct hn_text argument;
        hn_text_init(&argument);
        if (take(reader, "L"))
            read_literal(reader, &argument);
        else
            read_type(reader, &argument);
        hn_text_printf(text, "%s%s", between, argument.data != NULL ? argument.data : "");
        if (kept != NULL && argument.data != NULL)
            remember(reader, kept, argument.data);
        hn_text_finish(&argument);
        between = ", ";
    }
    hn_text_append(text, ">");
}

static void read_builtin(struct reader *reader, struct hn_text *text)
{
    static const char *const names[] = {
        ['a' - 'a'] = "signed char",
        ['b' - 'a'] = "bool",
        ['c' - 'a'] = "char",
        ['d' - 'a'] = "double",
        ['e' - 'a'] = "long double",
        ['f' - 'a'] = "float",
        ['h' - 'a'] = "unsigned char",
        ['i' - 'a'] = "int",
        ['j' - 'a'] = "unsigned int",
        ['l' - 'a'] = "long",
        ['m' - 'a'] = "unsigned long",
        ['s' - 'a'] = "short",
        ['t' - 'a'] = "unsigned short",
        ['v' - 'a'] = "void",
        ['w' - 'a'] = "wchar_t",
        ['x' - 'a'] = "long long",
        ['y' - 'a'] = "unsigned long long",
        ['z' - 'a'] = "...",
    };
    const char *name = *reader->at >= 'a' && *reader->at <= 'z' ? names[*reader->at - 'a'] : NULL;
    if (name == NULL) {
        fail(reader);
        return;
    }
    hn_text_append(text, name);
    reader->at++;
}

/* What names a class or an enum. Each scope on the way can be referred to. */
static void read_class(struct reader *reader, struct hn_text *text)
{
    bool nested = take(reader, "N");
    bool first = true;
    bool in_std = take(reader, "St");
    if (in_std)
        hn_text_append(text, "std::");
    do {
        bool back = false;
        if (take(reader, "S")) {
            append_part(reader, &reader->substitutions, text);
            back = true;
        } else if (!first && take(reader, "I")) {
            read_arguments(reader, NULL, text);
        } else {
            hn_text_append(text, first ? "" : "::");
            read_word(reader, text);
        }
        first = false;
        if (!back && text->data != NULL)
            remember(reader, &reader->substitutions, text->data);
    } while (!reader->failed && (nested ? !take(reader, "E") : *reader->at == 'I'));
}

static void read_qualified(struct reader *reader, char mark, struct hn_text *text)
{
    struct hn_text inner;
    hn_text_init(&inner);
    read_type(reader, &inner);
    const char *type = inner.data != NULL ? inner.data : "";
    size_t length = strlen(type);
    bool pointer = length > 0 && (type[length - 1] == '*' || type[length - 1] == '&');
    const char *space = pointer ? "" : " ";
    if (mark == 'K')
        hn_text_printf(text, pointer ? "%sconst" : "const %s", type);
    else if (mark == 'V')
        hn_text_printf(text, pointer ? "%svolatile" : "volatile %s", type);
    else
        hn_text_printf(text, "%s%s%s", type, space, mark == 'P' ? "*" : mark == 'R' ? "&" : "&&");
    hn_text_finish(&inner);
    if (text->data != NULL)
        remember(reader, &reader->substitutions, text->data);
}

/* `text` is empty. */
static void read_type(struct reader *reader, struct hn_text *text)
{
    char first = *reader->at;
    if (++reader->depth > MOST_DEPTH)
        fail(reader);
    if (reader->failed)
        return;
    if (first != '\0' && strchr("PROKV", first) != NULL) {
        reader->at++;
        read_qualified(reader, first, text);
    } else if (take(reader, "T")) {
        append_part(reader, &reader->arguments, text);
        if (text->data != NULL)
            remember(reader, &reader->substitutions, text->data);
    } else if (first == 'N' || first == 'S' || is_digit(first)) {
        read_class(reader, text);
    } else {
        read_builtin(reader, text);
    }
    reader->depth--;
}

/* The kernel's own name: as read_class, but what is whole is referred to by nobody. */
static void read_name(struct reader *reader, struct hn_demangled *demangled)
{
    struct hn_text scope;
    struct hn_text name;
    struct hn_text arguments;
    hn_text_init(&scope);
    hn_text_init(&name);
    hn_text_init(&arguments);
    bool nested = take(reader, "N");
    bool last = false;
    while (!reader->failed && !last) {
        take(reader, "L");
        if (nested && take(reader, "S")) {
            append_part(reader, &reader->substitutions, &scope);
            continue;
        }
        read_word(reader, &name);
        last = *reader->at == 'I' || !nested || *reader->at == 'E';
        if (last && *reader->at != 'I')
            break;
        bool hidden = name.data != NULL && strncmp(name.data, "_GLOBAL__N_", 11) == 0;
        struct hn_text whole;
        hn_text_init(&whole);
        hn_text_printf(&whole, "%s%s%s", scope.data != NULL ? scope.data : "",
                       scope.length > 0 ? "::" : "", name.data != NULL ? name.data : "");
        remember(reader, &reader->substitutions, whole.data != NULL ? whole.data : "");
        if (!last && !hidden) {
            hn_text_finish(&scope);
            scope = whole;
        } else {
            hn_text_finish(&whole);
        }
        if (!last)
            hn_text_finish(&name);
    }
    if (take(reader, "I"))
        read_arguments(reader, &reader->arguments, &arguments);
    if (nested && !take(reader, "E"))
        fail(reader);
    if (scope.length > 0)
        hn_text_append(&scope, "::");
    demangled->scope = hn_text_take(&scope);
    demangled->name = hn_text_take(&name);
    demangled->arguments = hn_text_take(&arguments);
}

static void read_parameters(struct reader *reader, struct hn_demangled *demangled)
{
    struct hn_text all;
    hn_text_init(&all);
    bool skip = demangled->arguments != NULL && *demangled->arguments != '\0';
    while (!reader->failed && *reader->at != '\0') {
        struct hn_text type;
        hn_text_init(&type);
        read_type(reader, &type);
        /* What is returned stands in front of a template's parameters. */
        bool none = type.data == NULL || strcmp(type.data, "void") == 0;
        if (!skip && !none)
            hn_text_printf(&all, "%s%s", all.length > 0 ? ", " : "", type.data);
        hn_text_finish(&type);
        skip = false;
    }
    if (!reader->failed)
        demangled->parameters = hn_text_take(&all);
    hn_text_finish(&all);
}

bool hn_demangle(const char *mangled, struct hn_demangled *demangled)
{
    struct reader reader = {.at = mangled};
    *demangled = (struct hn_demangled){.name = NULL};
    if (!take(&reader, "_Z"))
        return false;
    read_name(&reader, demangled);
    bool whole = !reader.failed && demangled->scope != NULL && demangled->name != NULL &&
                 demangled->arguments != NULL;
    read_parameters(&reader, demangled);
    finish_parts(&reader.substitutions);
    finish_parts(&reader.arguments);
    if (!whole)
        hn_demangled_finish(demangled);
    return whole;
}

void hn_demangled_finish(struct hn_demangled *demangled)
{
    free(demangled->scope);
    free(demangled->name);
    free(demangled->arguments);
    free(demangled->parameters);
    *demangled = (struct hn_demangled){.name = NULL};
}
