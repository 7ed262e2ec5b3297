/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tuner/init/device_code.h"
#include "tuner/init/find_macros.h"
#include "tuner/init/known_names.h"

/* A preprocessor line: offsets into the source's directives. */
struct line {
    char keyword[12];
    size_t begin; /* of what follows the keyword */
    size_t end;
    size_t name_end; /* of a #define: its name is begin to here */
    size_t body;     /* behind its name and parameters */
    bool used;       /* of a #define: the device's code has it, or what that is made of */
};

struct search {
    const struct hn_source_text *source;
    char *code; /* the device's */
    struct line *lines;
    size_t line_count;
    char **seen;
    size_t seen_count;
    bool enumerates;
    struct hn_macros *macros;
};

static size_t skip_blanks(const char *text, size_t at, size_t end)
{
    while (at < end && hn_is_space(text[at]))
        at++;
    return at;
}

static size_t word_length(const char *text, size_t at, size_t end)
{
    size_t length = 0;
    while (at + length < end && hn_is_word_char(text[at + length]))
        length++;
    return length;
}

static bool is_line(const struct line *line, const char *keyword)
{
    return strcmp(line->keyword, keyword) == 0;
}

static bool read_line(const char *text, size_t begin, size_t end, struct line *line)
{
    size_t at = skip_blanks(text, begin, end);
    *line = (struct line){.end = end};
    if (at == end || text[at] != '#')
        return false;
    at = skip_blanks(text, at + 1, end);
    size_t length = word_length(text, at, end);
    if (length == 0 || length >= sizeof line->keyword)
        return false;
    memcpy(line->keyword, text + at, length);
    line->begin = skip_blanks(text, at + length, end);
    line->name_end = line->begin + word_length(text, line->begin, end);
    line->body = line->name_end;
    if (line->body < end && text[line->body] == '(') {
        const char *close = memchr(text + line->body, ')', end - line->body);
        line->body = close != NULL ? (size_t)(close - text) + 1 : end;
    }
    return true;
}

static enum hn_status read_lines(struct search *search, struct hn_error *err)
{
    const char *text = search->source->directives;
    for (size_t begin = 0; begin < search->source->length;) {
        const char *newline = memchr(text + begin, '\n', search->source->length - begin);
        size_t end = newline != NULL ? (size_t)(newline - text) : search->source->length;
        struct line line;
        if (read_line(text, begin, end, &line)) {
            struct line *grown = realloc(search->lines, (search->line_count + 1) * sizeof *grown);
            if (grown == NULL)
                return hn_fail_memory(err);
            search->lines = grown;
            grown[search->line_count++] = line;
        }
        begin = end + 1;
    }
    return HN_OK;
}

/* Lines whose names have to mean something: conditions, factors of loops, and what macros that are
 * used stand for. */
static bool demands_names(const struct search *search, const struct line *line)
{
    static const char unroll[] = "unroll";
    return is_line(line, "if") || is_line(line, "elif") ||
           (is_line(line, "define") && line->used) ||
           (is_line(line, "pragma") &&
            strncmp(search->source->directives + line->begin, unroll, strlen(unroll)) == 0);
}

static bool stands_in_use(const struct search *search, const char *name)
{
    if (hn_find_identifier(search->code, 0, search->source->length, name) != SIZE_MAX)
        return true;
    for (size_t i = 0; i < search->line_count; i++) {
        const struct line *line = &search->lines[i];
        size_t begin = is_line(line, "define") ? line->body : line->begin;
        if (demands_names(search, line) &&
            hn_find_identifier(search->source->directives, begin, line->end, name) != SIZE_MAX)
            return true;
    }
    return false;
}

/* Of macros that are made of macros, too. */
static enum hn_status mark_used(struct search *search, struct hn_error *err)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < search->line_count; i++) {
            struct line *line = &search->lines[i];
            if (!is_line(line, "define") || line->used)
                continue;
            char *name =
                strndup(search->source->directives + line->begin, line->name_end - line->begin);
            if (name == NULL)
                return hn_fail_memory(err);
            line->used = stands_in_use(search, name);
            changed = changed || line->used;
            free(name);
        }
    }
    return HN_OK;
}

/* Whether one of the words stands before a place. */
static bool ends_with_word(const char *code, size_t end, const char *const *words)
{
    for (; *words != NULL; words++) {
        size_t length = strlen(*words);
        if (end >= length && strncmp(code + end - length, *words, length) == 0 &&
            (end == length || !hn_is_word_char(code[end - length - 1])))
            return true;
    }
    return false;
}

static const char *const statements[] = {"return", "case",    "else", "do", "throw", "sizeof",
                                         "unroll", "defined", "and",  "or", "not",   NULL};

/* Where the statement or the list of arguments around a place begins: brackets in between are
 * passed over. */
static size_t statement_begin(const char *code, size_t at)
{
    size_t depth = 0;
    for (; at > 0; at--) {
        char c = code[at - 1];
        if (c == ')' || c == ']' || c == '}')
            depth++;
        else if ((c == '(' || c == '[' || c == '{' || c == ';') && depth == 0)
            return at;
        else if (c == '(' || c == '[' || c == '{')
            depth--;
    }
    return 0;
}

/* Whether it begins as a declaration does: "const unsigned int a", "std::pair<int, int> *a". */
static bool begins_declaration(const char *code, size_t at, size_t end)
{
    at = skip_blanks(code, at, end);
    size_t length = word_length(code, at, end);
    if (length == 0 || hn_is_digit(code[at]) || ends_with_word(code, at + length, statements))
        return false;
    at += length;
    while (at < end && code[at] == ':')
        at += 1 + word_length(code, at + 1, end);
    if (at < end && code[at] == '<') {
        size_t close = hn_closing_bracket(code, at, end);
        at = close != SIZE_MAX ? close + 1 : end;
    }
    bool apart = at < end && (hn_is_space(code[at]) || code[at] == '*' || code[at] == '&');
    while (at < end && strchr(" \t\r\n*&", code[at]) != NULL)
        at++;
    return apart && word_length(code, at, end) > 0 && !hn_is_digit(code[at]);
}

static bool closes_behind(const char *code, size_t at)
{
    while (hn_is_word_char(code[at]))
        at++;
    while (hn_is_space(code[at]))
        at++;
    return code[at] == ')';
}

/* "int N", "class T", "enum { A, B }", "int a = 1, b": what a declaration looks like from behind.
 * Anything that may be one is taken for one. */
static bool is_declared_at(const char *code, size_t at, bool enumerates)
{
    static const char *const types[] = {"float",  "double",   "int",    "char",   "short",
                                        "long",   "unsigned", "signed", "bool",   "half",
                                        "__half", "auto",     "float2", "float4", "int2",
                                        "int4",   "const",    "void",   NULL};
    size_t before = at;
    while (before > 0 && strchr(" \t\r\n*&", code[before - 1]) != NULL)
        before--;
    char last = before > 0 ? code[before - 1] : ';';
    bool pointer = memchr(code + before, '*', at - before) != NULL ||
                   memchr(code + before, '&', at - before) != NULL;
    if (last == ',') {
        size_t begin = statement_begin(code, before - 1);
        return begins_declaration(code, begin, before) || (enumerates && !pointer);
    }
    /* "} N;" behind a structure, "T (&N)[4]". */
    if (last == '}' || (last == '(' && pointer && closes_behind(code, at)))
        return true;
    /* "real *N" and "real* N", but "a * N" and "a*N". */
    if (pointer)
        return ends_with_word(code, before, types) ||
               (hn_is_word_char(last) && hn_is_space(code[before]) != hn_is_space(code[at - 1]));
    /* "vector<int> N"; "a > N" has a blank. */
    bool closes =
        last == '>' && before > 1 && !hn_is_space(code[before - 2]) && code[before - 2] != '-';
    return (hn_is_word_char(last) && before < at && !ends_with_word(code, before, statements)) ||
           (closes && before < at) || (last == '>' && before > 1 && code[before - 2] == '-') ||
           last == '.' || last == ':' || (enumerates && last == '{');
}

static bool is_declared_within(const char *code, size_t begin, size_t end, const char *name,
                               bool enumerates)
{
    for (size_t at = hn_find_identifier(code, begin, end, name); at != SIZE_MAX;
         at = hn_find_identifier(code, at + 1, end, name))
        if (is_declared_at(code, at, enumerates))
            return true;
    return false;
}

static bool is_declared(const struct search *search, const char *name)
{
    if (is_declared_within(search->code, 0, search->source->length, name, search->enumerates))
        return true;
    for (size_t i = 0; i < search->line_count; i++) {
        const struct line *line = &search->lines[i];
        const char *text = search->source->directives;
        /* Its own name stands before the first word, which is no declaration for that. */
        size_t first = skip_blanks(text, line->body, line->end);
        if (is_line(line, "define") &&
            is_declared_within(text, first + word_length(text, first, line->end), line->end, name,
                               false))
            return true;
    }
    return false;
}

/* Behind `defined`, with or without a bracket. */
static bool is_tested_at(const char *text, size_t at)
{
    static const char *const words[] = {"defined", NULL};
    while (at > 0 && (hn_is_space(text[at - 1]) || text[at - 1] == '('))
        at--;
    return ends_with_word(text, at, words);
}

/* Whether a line defines it, as a macro or as a macro's parameter, or asks whether it is: then it
 * may be missing. */
static bool is_defined_by(const char *text, const struct line *line, const char *name)
{
    bool own = line->name_end - line->begin == strlen(name) &&
               strncmp(text + line->begin, name, strlen(name)) == 0;
    if (is_line(line, "define"))
        return own || hn_find_identifier(text, line->name_end, line->body, name) != SIZE_MAX;
    if (is_line(line, "ifdef") || is_line(line, "ifndef"))
        return own;
    if (!is_line(line, "if") && !is_line(line, "elif"))
        return false;
    for (size_t at = hn_find_identifier(text, line->begin, line->end, name); at != SIZE_MAX;
         at = hn_find_identifier(text, at + 1, line->end, name))
        if (is_tested_at(text, at))
            return true;
    return false;
}

static bool is_defined(const struct search *search, const char *name)
{
    for (size_t i = 0; i < search->line_count; i++)
        if (is_defined_by(search->source->directives, &search->lines[i], name))
            return true;
    return false;
}

/* "<float>(": a template that is called. */
static bool is_called_template(const char *code, size_t at, size_t end)
{
    size_t close = code[at] == '<' ? hn_closing_bracket(code, at, end) : SIZE_MAX;
    return close != SIZE_MAX && close + 1 < end && code[close + 1] == '(';
}

/* A call, an array, a type of a declaration or a scope is no number. */
static bool is_number_here(const char *code, size_t behind, size_t end)
{
    behind = skip_blanks(code, behind, end);
    if (behind >= end)
        return true;
    bool assigned = code[behind] == '=' && code[behind + 1] != '=';
    return !assigned && strchr("([.:{", code[behind]) == NULL &&
           strncmp(code + behind, "->", 2) != 0 && !hn_is_word_char(code[behind]) &&
           !is_called_template(code, behind, end);
}

static bool includes_own_files(const struct hn_source_text *source)
{
    for (const char *at = strstr(source->directives, "include"); at != NULL;
         at = strstr(at + 1, "include"))
        if (at[7 + strspn(at + 7, " \t")] == '"')
            return true;
    return false;
}

static bool is_new(struct search *search, const char *name, struct hn_error *err, bool *failed)
{
    for (size_t i = 0; i < search->seen_count; i++)
        if (strcmp(search->seen[i], name) == 0)
            return false;
    char **grown = realloc(search->seen, (search->seen_count + 1) * sizeof *grown);
    if (grown != NULL) {
        search->seen = grown;
        grown[search->seen_count] = strdup(name);
    }
    *failed = grown == NULL || grown[search->seen_count++] == NULL;
    if (*failed)
        hn_fail_memory(err);
    return !*failed;
}

/* "NAME == 2" in a condition: the numbers that the source knows of. */
static void note_compared(const char *text, const struct line *line, const char *name,
                          struct hn_macro *macro)
{
    size_t room = sizeof macro->compared / sizeof macro->compared[0];
    for (size_t at = hn_find_identifier(text, line->begin, line->end, name); at != SIZE_MAX;
         at = hn_find_identifier(text, at + 1, line->end, name)) {
        size_t sign = skip_blanks(text, at + strlen(name), line->end);
        bool equality = sign + 1 < line->end && (text[sign] == '=' || text[sign] == '!') &&
                        text[sign + 1] == '=';
        bool alone = !equality && (sign == line->end || strchr(")&|?", text[sign]) != NULL);
        size_t digit = equality ? skip_blanks(text, sign + 2, line->end) : line->end;
        char digits[20] = "1";
        if (equality)
            memcpy(digits, text + digit,
                   word_length(text, digit, digit + 19 < line->end ? digit + 19 : line->end));
        int64_t number;
        if (!(equality || alone) || macro->compared_count == room ||
            !hn_read_number(digits, &number))
            continue;
        bool known = false;
        for (size_t i = 0; i < macro->compared_count; i++)
            known = known || macro->compared[i] == number;
        if (!known)
            macro->compared[macro->compared_count++] = number;
    }
}

/* A #define of nothing but this name: what is compared with it is compared with the name. */
static bool is_alias(const char *text, const struct line *line, const char *name)
{
    size_t at = skip_blanks(text, line->body, line->end);
    size_t length = word_length(text, at, line->end);
    return is_line(line, "define") && length == strlen(name) &&
           strncmp(text + at, name, length) == 0 &&
           skip_blanks(text, at + length, line->end) == line->end;
}

static void find_compared(const struct search *search, const char *name, struct hn_macro *macro)
{
    const char *text = search->source->directives;
    for (size_t i = 0; i < search->line_count; i++) {
        const struct line *line = &search->lines[i];
        if (is_line(line, "if") || is_line(line, "elif"))
            note_compared(text, line, name, macro);
        if (!is_alias(text, line, name))
            continue;
        char *alias = strndup(text + line->begin, line->name_end - line->begin);
        for (size_t k = 0; alias != NULL && k < search->line_count; k++)
            if (is_line(&search->lines[k], "if") || is_line(&search->lines[k], "elif"))
                note_compared(text, &search->lines[k], alias, macro);
        free(alias);
    }
}

static enum hn_status add_name(struct search *search, const char *name, struct hn_error *err)
{
    struct hn_macro macro = {.kind = HN_MACRO_NUMBER, .undefined = true};
    bool failed = false;
    if (name[0] == '\0' || hn_is_digit(name[0]) || hn_is_known_name(name) ||
        !is_new(search, name, err, &failed) || hn_macros_get(search->macros, name) != NULL ||
        is_defined(search, name) || is_declared(search, name))
        return failed ? HN_ENOMEM : HN_OK;
    macro.name = strdup(name);
    if (macro.name == NULL)
        return hn_fail_memory(err);
    find_compared(search, name, &macro);
    enum hn_status status = hn_macros_add(search->macros, &macro, err);
    free(macro.name);
    return status;
}

static enum hn_status add_names(struct search *search, const char *code, size_t begin, size_t end,
                                struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t i = begin; status == HN_OK && i < end;) {
        size_t length = word_length(code, i, end);
        if (length == 0) {
            i++;
            continue;
        }
        char *name = is_number_here(code, i + length, end) ? strndup(code + i, length) : strdup("");
        status = name != NULL ? add_name(search, name, err) : hn_fail_memory(err);
        free(name);
        i += length;
    }
    return status;
}

/* "#define EXP expf", which the code calls: the name of a function. */
static bool renames_function(const struct search *search, const struct line *line)
{
    const char *text = search->source->directives;
    size_t body = skip_blanks(text, line->body, line->end);
    size_t length = word_length(text, body, line->end);
    char *name = strndup(text + line->begin, line->name_end - line->begin);
    bool calls = false;
    for (size_t at = name != NULL && skip_blanks(text, body + length, line->end) == line->end
                         ? hn_find_identifier(search->code, 0, search->source->length, name)
                         : SIZE_MAX;
         at != SIZE_MAX && !calls;
         at = hn_find_identifier(search->code, at + 1, search->source->length, name))
        calls =
            search->code[skip_blanks(search->code, at + strlen(name), search->source->length)] ==
            '(';
    free(name);
    return calls;
}

static enum hn_status find_names(struct search *search, struct hn_error *err)
{
    enum hn_status status = read_lines(search, err);
    if (status == HN_OK)
        status = mark_used(search, err);
    if (status == HN_OK)
        status = add_names(search, search->code, 0, search->source->length, err);
    for (size_t i = 0; status == HN_OK && i < search->line_count; i++) {
        const struct line *line = &search->lines[i];
        if (demands_names(search, line) &&
            !(is_line(line, "define") && renames_function(search, line)))
            status = add_names(search, search->source->directives,
                               is_line(line, "define") ? line->body : line->begin, line->end, err);
    }
    return status;
}

enum hn_status hn_macros_add_undefined(const struct hn_source_text *source,
                                       struct hn_macros *macros, struct hn_error *err)
{
    struct search search = {.source = source, .macros = macros};
    bool host;
    if (includes_own_files(source))
        return HN_OK;
    search.code = hn_device_code(source, &host);
    if (search.code == NULL)
        return hn_fail_memory(err);
    search.enumerates = hn_find_identifier(search.code, 0, source->length, "enum") != SIZE_MAX;
    enum hn_status status = find_names(&search, err);
    for (size_t i = 0; i < search.seen_count; i++)
        free(search.seen[i]);
    free(search.seen);
    free(search.lines);
    free(search.code);
    return status;
}
