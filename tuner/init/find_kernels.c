/* SPDX-License-Identifier: MIT */
#include "tuner/init/find_kernels.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

static const size_t size_limit = 4u << 20;

/* A line that goes on in the next one is one line. */
static void join_lines(char *text)
{
    for (char *at = strchr(text, '\\'); at != NULL; at = strchr(at + 1, '\\')) {
        if (at[1] == '\n') {
            at[0] = at[1] = ' ';
        } else if (at[1] == '\r' && at[2] == '\n') {
            at[0] = at[1] = at[2] = ' ';
        }
    }
}

static void blank(char *text, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        if (text[i] != '\n')
            text[i] = ' ';
}

/* Behind the comment that begins here; begin where there is none. */
static size_t skip_comment(const char *text, size_t begin)
{
    const char *end = NULL;
    if (text[begin] != '/' || (text[begin + 1] != '/' && text[begin + 1] != '*'))
        return begin;
    bool line = text[begin + 1] == '/';
    end = strstr(text + begin + 2, line ? "\n" : "*/");
    if (end == NULL)
        return strlen(text);
    return (size_t)(end - text) + (line ? 0 : 2);
}

/* Behind the raw string whose quote is here: R"tag( ... )tag". */
static size_t skip_raw_string(const char *text, size_t quote)
{
    char closing[24];
    const char *open = strchr(text + quote, '(');
    size_t tag = open != NULL ? (size_t)(open - text) - quote - 1 : sizeof closing;
    if (tag > 16)
        return quote + 1;
    closing[0] = ')';
    memcpy(closing + 1, text + quote + 1, tag);
    closing[tag + 1] = '"';
    closing[tag + 2] = '\0';
    const char *end = strstr(open, closing);
    return end != NULL ? (size_t)(end - text) + tag + 2 : strlen(text);
}

/* Behind the string or character whose quote is here; both end with their line at the latest. */
static size_t skip_literal(const char *text, size_t quote)
{
    size_t i = quote + 1;
    if (text[quote] == '"' && quote > 0 && text[quote - 1] == 'R' &&
        (quote == 1 || !hn_is_word_char(text[quote - 2])))
        return skip_raw_string(text, quote);
    while (text[i] != '\0' && text[i] != '\n' && text[i] != text[quote])
        i += text[i] == '\\' && text[i + 1] != '\0' ? 2 : 1;
    return text[i] == text[quote] ? i + 1 : i;
}

/* 1'000'000 */
static bool is_separator(const char *text, size_t i)
{
    return text[i] == '\'' && i > 0 && hn_is_hex_digit(text[i - 1]) && hn_is_hex_digit(text[i + 1]);
}

/* Comments become blanks in both; the contents of literals in code alone. */
static void blank_comments(struct hn_source_text *source)
{
    for (size_t i = 0; i < source->length;) {
        size_t end = skip_comment(source->text, i);
        if (end > i) {
            blank(source->code, i, end);
            blank(source->directives, i, end);
            i = end;
        } else if ((source->text[i] == '"' || source->text[i] == '\'') &&
                   !is_separator(source->text, i)) {
            end = skip_literal(source->text, i);
            bool closed = end > i + 1 && source->text[end - 1] == source->text[i];
            blank(source->code, i + 1, closed ? end - 1 : end);
            i = end;
        } else {
            i++;
        }
    }
}

static void part_directives(struct hn_source_text *source)
{
    for (size_t begin = 0; begin < source->length;) {
        const char *newline = strchr(source->code + begin, '\n');
        size_t end = newline != NULL ? (size_t)(newline - source->code) : source->length;
        size_t first = begin + strspn(source->directives + begin, " \t\r");
        bool directive = first < end && source->directives[first] == '#';
        blank(directive ? source->code : source->directives, begin, end);
        begin = end + 1;
    }
}

void hn_source_text_make(const char *path, char *text, struct hn_source_text *source)
{
    *source =
        (struct hn_source_text){.path = hn_need_copy(path), .text = text, .length = strlen(text)};
    join_lines(text);
    source->code = hn_need_copy(text);
    source->directives = hn_need_copy(text);
    blank_comments(source);
    part_directives(source);
}

enum hn_status hn_source_text_load(const char *path, struct hn_source_text *source,
                                   struct hn_error *err)
{
    char *text;
    size_t size;
    *source = (struct hn_source_text){.path = NULL};
    if (hn_file_read(path, size_limit, &text, &size, err) != HN_OK)
        return err->status;
    if (strlen(text) != size) {
        free(text);
        return hn_fail(err, HN_EFORMAT, "%s: found a NUL byte; expected a CUDA source", path);
    }
    hn_source_text_make(path, text, source);
    return HN_OK;
}

void hn_source_text_finish(struct hn_source_text *source)
{
    free(source->path);
    free(source->text);
    free(source->code);
    free(source->directives);
    *source = (struct hn_source_text){.path = NULL};
}

size_t hn_find_identifier(const char *text, size_t from, size_t end, const char *identifier)
{
    size_t length = strlen(identifier);
    for (size_t i = from; i + length <= end; i++) {
        const char *first = memchr(text + i, identifier[0], end - i);
        if (first == NULL)
            break;
        i = (size_t)(first - text);
        if (i + length > end || strncmp(text + i, identifier, length) != 0 ||
            hn_is_word_char(text[i + length]) || (i > 0 && hn_is_word_char(text[i - 1])))
            continue;
        return i;
    }
    return SIZE_MAX;
}

bool hn_source_has(const struct hn_source_text *source, const char *identifier)
{
    return hn_find_identifier(source->code, 0, source->length, identifier) != SIZE_MAX ||
           hn_find_identifier(source->directives, 0, source->length, identifier) != SIZE_MAX;
}

size_t hn_closing_bracket(const char *text, size_t open, size_t end)
{
    static const char opening[] = "([{<";
    static const char closing[] = ")]}>";
    bool angle = text[open] == '<';
    size_t depth = 0;
    for (size_t i = open; i < end; i++) {
        const char *o = text[i] != '\0' ? strchr(opening, text[i]) : NULL;
        const char *c = text[i] != '\0' ? strchr(closing, text[i]) : NULL;
        if (o != NULL && (angle || *o != '<'))
            depth++;
        else if (c != NULL && (angle || *c != '>') && --depth == 0)
            return i;
    }
    return SIZE_MAX;
}

size_t hn_skip_blanks(const char *text, size_t at, size_t end)
{
    while (at < end && hn_is_space(text[at]))
        at++;
    return at;
}

bool hn_is_listed(const char *name, const char *list, char separator)
{
    size_t length = strlen(name);
    for (const char *at = list; *at != '\0';) {
        const char *end = strchrnul(at, separator);
        if ((size_t)(end - at) == length && strncmp(at, name, length) == 0)
            return true;
        at = end + (*end == separator);
    }
    return false;
}

bool hn_ends_with_word(const char *text, size_t end, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(words[i]);
        if (end >= length && strncmp(text + end - length, words[i], length) == 0 &&
            (end == length || !hn_is_word_char(text[end - length - 1])))
            return true;
    }
    return false;
}

/* Where the next comma stands that is in no brackets, or end. */
static size_t next_comma(const char *code, size_t begin, size_t end)
{
    int depth = 0;
    for (size_t i = begin; i < end; i++) {
        if (strchr("([{<", code[i]) != NULL && code[i] != '\0')
            depth++;
        else if (strchr(")]}>", code[i]) != NULL && code[i] != '\0')
            depth--;
        else if (code[i] == ',' && depth == 0)
            return i;
    }
    return end;
}

/* Words of a declaration that say nothing of the type. */
static bool is_qualifier(const char *word)
{
    static const char *const words[] = {
        "const", "volatile", "__restrict__",      "__restrict", "restrict", "struct",
        "class", "enum",     "__grid_constant__", "typename",   "constexpr"};
    return hn_text_is_among(word, words, sizeof words / sizeof *words);
}

/* The words and signs of one declaration. */
struct words {
    char *items[32];
    size_t count;
};

static void finish_words(struct words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->items[i]);
    words->count = 0;
}

/* Identifiers with their scopes ("std::size_t"), and single signs; up to an initialiser. */
static void split(const char *code, size_t begin, size_t end, struct words *words)
{
    words->count = 0;
    for (size_t i = begin; i < end && code[i] != '=' && words->count < 32;) {
        size_t length = 1;
        if (hn_is_space(code[i])) {
            i++;
            continue;
        }
        if (hn_is_word_char(code[i]) || (code[i] == ':' && code[i + 1] == ':')) {
            length = 0;
            while (i + length < end &&
                   (hn_is_word_char(code[i + length]) || code[i + length] == ':'))
                length++;
        }
        words->items[words->count++] = hn_needed(strndup(code + i, length));
        i += length;
    }
}

/* The words but the name and what is no part of a type. */
static char *spell(const struct words *words, size_t name)
{
    struct hn_text text = {0};
    for (size_t i = 0; i < words->count; i++) {
        const char *word = words->items[i];
        if (word[0] == '[')
            hn_text_append(&text, " *");
        if (word[0] == '[')
            break;
        if (i == name || strstr(word, "restrict") != NULL || strcmp(word, "__grid_constant__") == 0)
            continue;
        hn_text_printf(&text, "%s%s", text.length > 0 ? " " : "", word);
    }
    return hn_needed(hn_text_take(&text));
}

/* "const float *__restrict__ x": the last word is the name, what stands before without qualifiers
 * the type. */
static void read_argument(const char *code, size_t begin, size_t end,
                          struct hn_kernel_argument *argument)
{
    struct words words;
    struct hn_text type = {0};
    size_t name = SIZE_MAX;
    split(code, begin, end, &words);
    *argument = (struct hn_kernel_argument){.name = NULL};
    for (size_t i = 0; i < words.count; i++) {
        const char *word = words.items[i];
        if (hn_text_is_word(word) && !is_qualifier(word))
            name = i;
        argument->pointer = argument->pointer || word[0] == '*' || word[0] == '[';
        if (word[0] == '[')
            break;
    }
    bool stars = false;
    for (size_t i = 0; i < words.count && i != name; i++) {
        const char *word = words.items[i];
        stars = stars || word[0] == '*';
        if (strcmp(word, "const") == 0 && !stars)
            argument->constant = true;
        if ((hn_is_word_char(word[0]) || word[0] == ':') && !is_qualifier(word))
            hn_text_printf(&type, "%s%s", type.length > 0 ? " " : "", word);
    }
    /* An argument without a name has its type for the last word. */
    bool named = name != SIZE_MAX && type.length > 0;
    argument->name = hn_need_copy(named ? words.items[name] : NULL);
    if (!named && name != SIZE_MAX)
        hn_text_append(&type, words.items[name]);
    argument->type = hn_needed(hn_text_take(&type));
    argument->spelled = spell(&words, named ? name : SIZE_MAX);
    finish_words(&words);
}

static bool is_empty(const char *code, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        if (!hn_is_space(code[i]))
            return (size_t)strspn(code + i, "void") == 4 && i + 4 >= end;
    return true;
}

static void read_arguments(const char *code, size_t begin, size_t end, struct hn_kernel *kernel)
{
    if (is_empty(code, begin, end))
        return;
    for (size_t at = begin; at <= end; at = next_comma(code, at, end) + 1) {
        size_t count = kernel->argument_count++;
        kernel->arguments = hn_need_more(kernel->arguments, count + 1, sizeof *kernel->arguments);
        struct hn_kernel_argument *argument = &kernel->arguments[count];
        read_argument(code, at, next_comma(code, at, end), argument);
        if (argument->name == NULL && asprintf(&argument->name, "argument_%zu", count + 1) < 0)
            argument->name = hn_needed(NULL);
    }
}

static bool is_number_type(const char *word)
{
    static const char *const words[] = {"int",  "unsigned", "signed", "long",     "short", "char",
                                        "bool", "auto",     "class",  "typename", "const"};
    size_t length = strlen(word);
    return hn_text_is_among(word, words, sizeof words / sizeof *words) ||
           (length > 2 && strcmp(word + length - 2, "_t") == 0);
}

/* Those of its template. */
static void read_parameters(const char *code, size_t begin, size_t end, struct hn_kernel *kernel)
{
    for (size_t at = begin; at <= end;) {
        size_t comma = next_comma(code, at, end), count = kernel->parameter_count++;
        struct words words;
        kernel->parameters =
            hn_need_more(kernel->parameters, count + 1, sizeof *kernel->parameters);
        split(code, at, comma, &words);
        const char *first = words.count > 0 ? words.items[0] : "";
        const char *last = words.count > 1 ? words.items[words.count - 1] : "T";
        const char *preset = memchr(code + at, '=', comma - at);
        bool is_other = words.count == 2 && !is_number_type(first);
        kernel->parameters[count] = (struct hn_kernel_parameter){
            .name = hn_need_copy(last),
            .is_type = strcmp(first, "class") == 0 || strcmp(first, "typename") == 0,
            .is_boolean = strcmp(first, "bool") == 0,
            .other_type = hn_need_copy(is_other ? first : NULL),
            .preset = preset == NULL
                          ? NULL
                          : hn_needed(strndup(preset + 1, (size_t)(code + comma - preset - 1))),
        };
        finish_words(&words);
        at = comma + 1;
    }
}

static void finish_kernel(struct hn_kernel *kernel)
{
    for (size_t i = 0; i < kernel->argument_count; i++) {
        free(kernel->arguments[i].name);
        free(kernel->arguments[i].type);
        free(kernel->arguments[i].spelled);
    }
    for (size_t i = 0; i < kernel->parameter_count; i++) {
        free(kernel->parameters[i].name);
        free(kernel->parameters[i].preset);
        free(kernel->parameters[i].other_type);
    }
    free(kernel->arguments);
    free(kernel->parameters);
    free(kernel->name);
    free(kernel->scope);
    free(kernel->bounds);
}

/* Where the declaration around a place begins: behind the last ';', '{' or '}' before it. */
static size_t declaration_begin(const char *code, size_t at)
{
    while (at > 0 && strchr(";{}", code[at - 1]) == NULL)
        at--;
    return at;
}

static bool is_extern_c(const struct hn_source_text *source, size_t begin, size_t end)
{
    size_t linkage = hn_find_identifier(source->code, begin, end, "extern");
    if (linkage == SIZE_MAX)
        return false;
    size_t quote = hn_skip_blanks(source->text, linkage + strlen("extern"), end);
    return strncmp(source->text + quote, "\"C\"", 3) == 0;
}

/* Braces that are open at a place: namespaces give the scope, extern "C" { its linkage. */
static void read_scope(const struct hn_source_text *source, size_t place, struct hn_kernel *kernel)
{
    const char *code = source->code;
    size_t opened[64];
    size_t depth = 0;
    struct hn_text scope = {0};
    for (size_t i = 0; i < place; i++) {
        if (code[i] == '{' && depth < 64)
            opened[depth++] = i;
        else if (code[i] == '}' && depth > 0)
            depth--;
    }
    for (size_t d = 0; d < depth; d++) {
        size_t begin = declaration_begin(code, opened[d]);
        size_t name = hn_find_identifier(code, begin, opened[d], "namespace");
        kernel->extern_c = kernel->extern_c || is_extern_c(source, begin, opened[d]);
        if (name == SIZE_MAX)
            continue;
        size_t from = hn_skip_blanks(code, name + strlen("namespace"), opened[d]);
        size_t to = from;
        while (to < opened[d] && (hn_is_word_char(code[to]) || code[to] == ':'))
            to++;
        if (to > from)
            hn_text_printf(&scope, "%.*s::", (int)(to - from), code + from);
    }
    kernel->scope = hn_needed(hn_text_take(&scope));
}

/* Reads the words before __global__: extern "C", template <...>. */
static void read_before(const struct hn_source_text *source, size_t begin, size_t global,
                        struct hn_kernel *kernel)
{
    const char *code = source->code;
    kernel->extern_c = is_extern_c(source, begin, global);
    size_t template = hn_find_identifier(code, begin, global, "template");
    if (template == SIZE_MAX)
        return;
    size_t open = hn_skip_blanks(code, template + strlen("template"), global);
    size_t close = code[open] == '<' ? hn_closing_bracket(code, open, global) : SIZE_MAX;
    if (close != SIZE_MAX)
        read_parameters(code, open + 1, close, kernel);
}

/* Finds the name and the bracket behind it; attributes with brackets of their own are passed over.
 */
static bool find_name(const struct hn_source_text *source, size_t from, struct hn_kernel *kernel,
                      size_t *open)
{
    const char *code = source->code;
    for (size_t at = from; at < source->length;) {
        at = hn_skip_blanks(code, at, source->length);
        size_t length = 0;
        while (hn_is_word_char(code[at + length]))
            length++;
        if (length == 0)
            return false;
        size_t next = hn_skip_blanks(code, at + length, source->length);
        if (code[next] != '(') {
            at += length;
            continue;
        }
        size_t close = hn_closing_bracket(code, next, source->length);
        if (close == SIZE_MAX)
            return false;
        bool bounds = hn_find_identifier(code, at, at + length, "__launch_bounds__") == at;
        if (!bounds && strncmp(code + at, "__", 2) != 0) {
            kernel->name = hn_needed(strndup(code + at, length));
            *open = next;
            return true;
        }
        if (bounds && kernel->bounds == NULL) {
            size_t end = next + 1;
            int depth = 0;
            for (; end < close && !(code[end] == ',' && depth == 0); end++)
                depth += (code[end] == '(') - (code[end] == ')');
            kernel->bounds = hn_needed(strndup(code + next + 1, end - next - 1));
        }
        at = close + 1;
    }
    return false;
}

/* False when what stands here is no kernel with a body. */
static bool read_kernel(const struct hn_source_text *source, size_t global,
                        struct hn_kernel *kernel)
{
    const char *code = source->code;
    size_t open = 0;
    if (!find_name(source, global + strlen("__global__"), kernel, &open))
        return false;
    size_t close = hn_closing_bracket(code, open, source->length);
    if (close == SIZE_MAX)
        return false;
    size_t brace = hn_skip_blanks(code, close + 1, source->length);
    if (code[brace] != '{')
        return false;
    size_t end = hn_closing_bracket(code, brace, source->length);
    kernel->head = open;
    kernel->body = brace;
    kernel->end = end != SIZE_MAX ? end : source->length;
    read_before(source, declaration_begin(code, global), global, kernel);
    read_scope(source, global, kernel);
    read_arguments(code, open + 1, close, kernel);
    return true;
}

void hn_kernels_find(const struct hn_source_text *source, struct hn_kernels *kernels)
{
    *kernels = (struct hn_kernels){.items = NULL};
    for (size_t at = hn_find_identifier(source->code, 0, source->length, "__global__");
         at != SIZE_MAX;
         at = hn_find_identifier(source->code, at + 1, source->length, "__global__")) {
        struct hn_kernel kernel = {.name = NULL};
        if (!read_kernel(source, at, &kernel)) {
            finish_kernel(&kernel);
            continue;
        }
        kernels->items = hn_need_more(kernels->items, kernels->count + 1, sizeof kernel);
        for (size_t i = 0; i < kernels->count; i++) {
            struct hn_kernel *other = &kernels->items[i];
            if (strcmp(other->name, kernel.name) == 0 && strcmp(other->scope, kernel.scope) == 0)
                other->overloaded = kernel.overloaded = true;
        }
        kernels->items[kernels->count++] = kernel;
    }
}

void hn_kernels_finish(struct hn_kernels *kernels)
{
    for (size_t i = 0; i < kernels->count; i++)
        finish_kernel(&kernels->items[i]);
    free(kernels->items);
    *kernels = (struct hn_kernels){.items = NULL};
}
