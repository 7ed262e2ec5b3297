/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "tuner/init/draft.h"

/* The macros that a source leaves to whoever compiles it: it defines them unless that was done, or
 * nowhere. */

/* Names that no source has to declare: keywords, what CUDA has built in, what the headers of C, C++
 * and CUDA define. */
static const char known_names[] =
    /* of C++ */
    "alignas alignof and asm auto bool break case catch char class const const_cast constexpr "
    "continue decltype default delete do double dynamic_cast else enum explicit extern false "
    "final float for friend goto if inline int long mutable namespace new noexcept not "
    "nullptr operator or override private protected public register reinterpret_cast restrict "
    "return short signed sizeof static static_assert static_cast struct switch template this "
    "throw true try typedef typeid typename union unsigned using virtual void volatile while "
    "std defined unroll "
    /* of CUDA */
    "threadIdx blockIdx blockDim gridDim warpSize half half2 dim3 cub thrust nvcuda "
    "cooperative_groups uchar ushort uint ulong nv_bfloat16 nv_bfloat162 "
    /* of C's headers */
    "NULL EOF INFINITY NAN TRUE FALSE CHAR_BIT stdin stdout stderr errno RAND_MAX SIZE_MAX "
    "HUGE_VAL HUGE_VALF CLOCKS_PER_SEC EXIT_SUCCESS EXIT_FAILURE FP_NAN FP_INFINITE ";

/* INT32_MAX, FLT_EPSILON, M_PI, cudaSuccess, CU_..., __CUDA_ARCH__. */
static const char *const begins[] = {"__",    "CUDA",  "CU_",      "cuda",   "cu",    "M_",
                                     "INT",   "UINT",  "FLT_",     "DBL_",   "LDBL",  "LONG",
                                     "LLONG", "ULONG", "ULLONG",   "SCHAR_", "CHAR_", "UCHAR_",
                                     "SHRT_", "USHRT", "PTRDIFF_", "PRI",    "SCN"};

/* float4, uchar2, longlong1. */
static bool is_vector_type(const char *name)
{
    static const char *const types[] = {"char",     "short", "int",   "long",
                                        "longlong", "float", "double"};
    size_t length = strlen(name);
    if (length < 4 || name[length - 1] < '1' || name[length - 1] > '4')
        return false;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        const char *plain = name[0] == 'u' ? name + 1 : name;
        if (strlen(plain) == strlen(types[i]) + 1 &&
            strncmp(plain, types[i], strlen(types[i])) == 0)
            return true;
    }
    return false;
}

static bool is_known_name(const char *name)
{
    size_t length = strlen(name);
    if (hn_is_listed(name, known_names, ' '))
        return true;
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    /* uint32_t */
    return is_vector_type(name) || (length > 2 && strcmp(name + length - 2, "_t") == 0);
}

/* Back over blanks and the words that may stand between a function's ')' and its '{'. */
static size_t skip_back(const char *code, size_t at)
{
    static const char *const words[] = {"const", "noexcept", "override", "final"};
    for (bool moved = true; moved;) {
        moved = false;
        while (at > 0 && hn_is_space(code[at - 1]))
            at--;
        for (size_t i = 0; i < sizeof words / sizeof words[0] && !moved; i++) {
            moved = hn_ends_with_word(code, at, &words[i], 1);
            at -= moved ? strlen(words[i]) : 0;
        }
    }
    return at;
}

/* Whether a body begins at the brace, of a function; *host: that the device has no part in. */
static bool is_function(const char *code, size_t brace, bool *host)
{
    size_t end = skip_back(code, brace);
    size_t begin = end;
    if (end == 0 || code[end - 1] != ')')
        return false;
    while (begin > 0 && strchr(";{}", code[begin - 1]) == NULL)
        begin--;
    *host = hn_find_identifier(code, begin, end, "__global__") == SIZE_MAX &&
            hn_find_identifier(code, begin, end, "__device__") == SIZE_MAX;
    return true;
}

char *hn_device_code(const struct hn_source_text *source, bool *host)
{
    char *code = hn_need_copy(source->code);
    bool of_host = false;
    *host = false;
    for (size_t i = 0; i < source->length; i++) {
        if (code[i] != '{' || !is_function(code, i, &of_host))
            continue;
        size_t close = hn_closing_bracket(code, i, source->length);
        close = close == SIZE_MAX ? source->length : close;
        for (size_t k = i + 1; of_host && k < close; k++)
            if (code[k] != '\n')
                code[k] = ' ';
        *host = *host || of_host;
        i = close;
    }
    return code;
}

/* A preprocessor line: offsets into the source's directives. */
struct line {
    char keyword[12];
    size_t begin; /* of what follows the keyword */
    size_t end;
    size_t name_end; /* of a #define: its name is begin to here */
    size_t body;     /* behind its name and parameters */
    bool used;       /* of a #define: the device's code has it, or what that is made of */
};

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
    size_t at = hn_skip_blanks(text, begin, end);
    *line = (struct line){.end = end};
    if (at == end || text[at] != '#')
        return false;
    at = hn_skip_blanks(text, at + 1, end);
    size_t length = word_length(text, at, end);
    if (length == 0 || length >= sizeof line->keyword)
        return false;
    memcpy(line->keyword, text + at, length);
    line->begin = hn_skip_blanks(text, at + length, end);
    line->name_end = line->begin + word_length(text, line->begin, end);
    line->body = line->name_end;
    if (line->body < end && text[line->body] == '(') {
        const char *close = memchr(text + line->body, ')', end - line->body);
        line->body = close != NULL ? (size_t)(close - text) + 1 : end;
    }
    return true;
}

/* Free them. */
static struct line *read_lines(const struct hn_source_text *source, size_t *count)
{
    const char *text = source->directives;
    struct line *lines = NULL, line;
    *count = 0;
    for (size_t begin = 0; begin < source->length;) {
        const char *newline = memchr(text + begin, '\n', source->length - begin);
        size_t end = newline != NULL ? (size_t)(newline - text) : source->length;
        if (read_line(text, begin, end, &line)) {
            lines = hn_need_more(lines, *count + 1, sizeof *lines);
            lines[(*count)++] = line;
        }
        begin = end + 1;
    }
    return lines;
}

static char *copy(const char *text, size_t begin, size_t end)
{
    return hn_needed(strndup(text + begin, end - begin));
}

bool hn_read_number(const char *text, int64_t *number)
{
    char *end = NULL;
    size_t open = strspn(text, "( ");
    errno = 0;
    long long value = strtoll(text + open, &end, 0);
    if (end == text + open || errno != 0)
        return false;
    while (*end != '\0' && strchr("uUlL", *end) != NULL)
        end++;
    if (end[strspn(end, ") ")] != '\0')
        return false;
    *number = value;
    return true;
}

/* LOAD_ldg of LOAD; NULL when it has another beginning. */
static const char *word_of(const struct hn_macro *macro, const char *name)
{
    size_t length = strlen(macro->name);
    return strncmp(name, macro->name, length) == 0 && name[length] == '_' &&
                   name[length + 1] != '\0'
               ? name + length + 1
               : NULL;
}

static void classify(struct hn_macro *macro, const char *value)
{
    const char *word = word_of(macro, value);
    macro->kind = HN_MACRO_OTHER;
    if (hn_read_number(value, &macro->number))
        macro->kind = HN_MACRO_NUMBER;
    if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0) {
        macro->kind = HN_MACRO_NUMBER;
        macro->number = value[0] == 't';
    }
    for (size_t i = 0; word != NULL && i < macro->word_count; i++) {
        if (strcmp(macro->words[i], word) != 0)
            continue;
        macro->kind = HN_MACRO_WORD;
        macro->word = macro->words[i];
    }
}

/* Takes the macro over, and empties it. */
static void add(struct hn_macros *macros, struct hn_macro *macro)
{
    macros->items = hn_need_more(macros->items, macros->count + 1, sizeof *macros->items);
    macros->items[macros->count++] = *macro;
    *macro = (struct hn_macro){.name = NULL};
}

static void finish_macro(struct hn_macro *macro)
{
    for (size_t i = 0; i < macro->word_count; i++)
        free(macro->words[i]);
    free(macro->words);
    free(macro->name);
    *macro = (struct hn_macro){.name = NULL};
}

/* The lines between an #ifndef and its #endif: first its own value; macros that are defined behind
 * that is left undefined too by whoever defines the first. */
struct reading {
    struct hn_macros *macros;
    struct hn_macro open; /* name NULL: none */
    bool behind;
};

/* FIELD_H guards an inclusion, also where it has a value. */
static bool is_guard(const char *name)
{
    static const char *const ends[] = {"_H",    "_H_", "_H__", "_CUH",
                                       "_CUH_", "_CU", "_HPP", "_HPP_"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t end = strlen(ends[i]);
        if (length > end && strcmp(name + length - end, ends[i]) == 0)
            return true;
    }
    return false;
}

/* "#ifndef NAME", "#if !defined(NAME)": the name; NULL: it is something else. */
static char *read_ifndef(const char *text, const struct line *line)
{
    size_t at = line->begin;
    if (is_line(line, "ifndef"))
        return copy(text, at, line->name_end);
    if (!is_line(line, "if") || at == line->end || text[at] != '!')
        return NULL;
    at = hn_skip_blanks(text, at + 1, line->end);
    if (word_length(text, at, line->end) != 7 || strncmp(text + at, "defined", 7) != 0)
        return NULL;
    at += 7;
    while (at < line->end && (hn_is_space(text[at]) || text[at] == '('))
        at++;
    return copy(text, at, at + word_length(text, at, line->end));
}

/* "#define NAME value"; takes the name over. */
static void take_define(struct reading *reading, char *name, const char *value)
{
    struct hn_macro *open = &reading->open;
    const char *word = open->name != NULL ? word_of(open, name) : NULL;
    bool is_new = value[0] != '\0' && hn_macros_get(reading->macros, name) == NULL;
    if (open->name == NULL && reading->behind && is_new) {
        struct hn_macro macro = {.name = hn_need_copy(name)};
        classify(&macro, value);
        add(reading->macros, &macro);
    } else if (open->name != NULL && strcmp(name, open->name) != 0 && word != NULL) {
        open->words = hn_need_more(open->words, open->word_count + 1, sizeof *open->words);
        open->words[open->word_count++] = hn_need_copy(word);
    } else if (open->name != NULL && strcmp(name, open->name) == 0 && is_new) {
        classify(open, value);
        reading->behind = true;
        add(reading->macros, open);
    } else if (open->name != NULL && strcmp(name, open->name) == 0) {
        /* Without a value it guards an inclusion. */
        finish_macro(open);
    }
    free(name);
}

static void take_line(struct reading *reading, const char *text, const struct line *line)
{
    char *guarded = read_ifndef(text, line);
    if (guarded != NULL || is_line(line, "endif")) {
        finish_macro(&reading->open);
        reading->behind = false;
    }
    if (guarded != NULL && !is_guard(guarded))
        reading->open.name = guarded;
    else
        free(guarded);
    /* A macro with arguments has no value that could be chosen. */
    if (!is_line(line, "define") || line->body != line->name_end)
        return;
    size_t begin = hn_skip_blanks(text, line->body, line->end), end = line->end;
    while (end > begin && hn_is_space(text[end - 1]))
        end--;
    char *value = copy(text, begin, end);
    take_define(reading, copy(text, line->begin, line->name_end), value);
    free(value);
}

void hn_macros_find(const struct hn_source_text *source, struct hn_macros *macros)
{
    struct reading reading = {.macros = macros};
    size_t count;
    struct line *read = read_lines(source, &count);
    *macros = (struct hn_macros){.items = NULL};
    for (size_t i = 0; i < count; i++)
        take_line(&reading, source->directives, &read[i]);
    finish_macro(&reading.open);
    free(read);
}

void hn_macros_finish(struct hn_macros *macros)
{
    for (size_t i = 0; i < macros->count; i++)
        finish_macro(&macros->items[i]);
    free(macros->items);
    *macros = (struct hn_macros){.items = NULL};
}

const struct hn_macro *hn_macros_get(const struct hn_macros *macros, const char *name)
{
    for (size_t i = 0; i < macros->count; i++)
        if (strcmp(macros->items[i].name, name) == 0)
            return &macros->items[i];
    return NULL;
}

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

/* Also marks macros that others are made of. */
static void mark_used(struct search *search)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < search->line_count; i++) {
            struct line *line = &search->lines[i];
            if (!is_line(line, "define") || line->used)
                continue;
            char *name = copy(search->source->directives, line->begin, line->name_end);
            line->used = stands_in_use(search, name);
            changed = changed || line->used;
            free(name);
        }
    }
}

static const char *const statements[] = {"return", "case",    "else", "do", "throw", "sizeof",
                                         "unroll", "defined", "and",  "or", "not"};
enum { STATEMENTS = sizeof statements / sizeof *statements };

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
    at = hn_skip_blanks(code, at, end);
    size_t length = word_length(code, at, end);
    if (length == 0 || hn_is_digit(code[at]) ||
        hn_ends_with_word(code, at + length, statements, STATEMENTS))
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
    static const char *const types[] = {"float",    "double", "int",  "char", "short",  "long",
                                        "unsigned", "signed", "bool", "half", "__half", "auto",
                                        "float2",   "float4", "int2", "int4", "const",  "void"};
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
        return hn_ends_with_word(code, before, types, sizeof types / sizeof *types) ||
               (hn_is_word_char(last) && hn_is_space(code[before]) != hn_is_space(code[at - 1]));
    /* "vector<int> N"; "a > N" has a blank. */
    bool closes =
        last == '>' && before > 1 && !hn_is_space(code[before - 2]) && code[before - 2] != '-';
    return (hn_is_word_char(last) && before < at &&
            !hn_ends_with_word(code, before, statements, STATEMENTS)) ||
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
        size_t first = hn_skip_blanks(text, line->body, line->end);
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
    static const char *const word = "defined";
    while (at > 0 && (hn_is_space(text[at - 1]) || text[at - 1] == '('))
        at--;
    return hn_ends_with_word(text, at, &word, 1);
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
    behind = hn_skip_blanks(code, behind, end);
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

static bool is_new(struct search *search, const char *name)
{
    for (size_t i = 0; i < search->seen_count; i++)
        if (strcmp(search->seen[i], name) == 0)
            return false;
    search->seen = hn_need_more(search->seen, search->seen_count + 1, sizeof *search->seen);
    search->seen[search->seen_count++] = hn_need_copy(name);
    return true;
}

/* "NAME == 2" in a condition: the numbers that the source knows of. */
static void note_compared(const char *text, const struct line *line, const char *name,
                          struct hn_macro *macro)
{
    size_t room = sizeof macro->compared / sizeof macro->compared[0];
    for (size_t at = hn_find_identifier(text, line->begin, line->end, name); at != SIZE_MAX;
         at = hn_find_identifier(text, at + 1, line->end, name)) {
        size_t sign = hn_skip_blanks(text, at + strlen(name), line->end);
        bool equality = sign + 1 < line->end && (text[sign] == '=' || text[sign] == '!') &&
                        text[sign + 1] == '=';
        bool alone = !equality && (sign == line->end || strchr(")&|?", text[sign]) != NULL);
        size_t digit = equality ? hn_skip_blanks(text, sign + 2, line->end) : line->end;
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
    size_t at = hn_skip_blanks(text, line->body, line->end);
    size_t length = word_length(text, at, line->end);
    return is_line(line, "define") && length == strlen(name) &&
           strncmp(text + at, name, length) == 0 &&
           hn_skip_blanks(text, at + length, line->end) == line->end;
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
        char *alias = copy(text, line->begin, line->name_end);
        for (size_t k = 0; k < search->line_count; k++)
            if (is_line(&search->lines[k], "if") || is_line(&search->lines[k], "elif"))
                note_compared(text, &search->lines[k], alias, macro);
        free(alias);
    }
}

static void add_name(struct search *search, const char *name)
{
    struct hn_macro macro = {.kind = HN_MACRO_NUMBER, .undefined = true};
    if (hn_is_digit(name[0]) || is_known_name(name) || !is_new(search, name) ||
        hn_macros_get(search->macros, name) != NULL || is_defined(search, name) ||
        is_declared(search, name))
        return;
    macro.name = hn_need_copy(name);
    find_compared(search, name, &macro);
    add(search->macros, &macro);
}

static void add_names(struct search *search, const char *code, size_t begin, size_t end)
{
    for (size_t i = begin; i < end;) {
        size_t length = word_length(code, i, end);
        if (length > 0 && is_number_here(code, i + length, end)) {
            char *name = copy(code, i, i + length);
            add_name(search, name);
            free(name);
        }
        i += length > 0 ? length : 1;
    }
}

/* "#define EXP expf", which the code calls: the name of a function. */
static bool renames_function(const struct search *search, const struct line *line)
{
    const char *text = search->source->directives;
    size_t length = search->source->length;
    size_t body = hn_skip_blanks(text, line->body, line->end);
    bool calls = false;
    if (hn_skip_blanks(text, body + word_length(text, body, line->end), line->end) != line->end)
        return false;
    char *name = copy(text, line->begin, line->name_end);
    for (size_t at = hn_find_identifier(search->code, 0, length, name); at != SIZE_MAX && !calls;
         at = hn_find_identifier(search->code, at + 1, length, name))
        calls = search->code[hn_skip_blanks(search->code, at + strlen(name), length)] == '(';
    free(name);
    return calls;
}

void hn_macros_add_undefined(const struct hn_source_text *source, struct hn_macros *macros)
{
    struct search search = {.source = source, .macros = macros};
    bool host;
    if (includes_own_files(source))
        return;
    search.code = hn_device_code(source, &host);
    search.enumerates = hn_find_identifier(search.code, 0, source->length, "enum") != SIZE_MAX;
    search.lines = read_lines(source, &search.line_count);
    mark_used(&search);
    add_names(&search, search.code, 0, source->length);
    for (size_t i = 0; i < search.line_count; i++) {
        const struct line *line = &search.lines[i];
        bool defines = is_line(line, "define");
        if (demands_names(&search, line) && !(defines && renames_function(&search, line)))
            add_names(&search, source->directives, defines ? line->body : line->begin, line->end);
    }
    for (size_t i = 0; i < search.seen_count; i++)
        free(search.seen[i]);
    free(search.seen);
    free(search.lines);
    free(search.code);
}
