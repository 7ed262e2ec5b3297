/* SPDX-License-Identifier: MIT */
#include "runtime/compile/kernel_templates.h"

#include <stdbool.h>
#include <string.h>

#include "base/ascii.h"

enum { MOST_DEPTH = 64 };

struct word {
    const char *text;
    size_t length;
};

/* Where in a source, and what was read of the declaration there. */
struct scan {
    const char *at;
    struct word scopes[MOST_DEPTH]; /* of the open braces; length 0: no namespace */
    size_t depth;
    struct word next_scope;
    const char *parameters; /* behind "template <"; NULL: there was none */
    bool is_kernel;
};

static const char *behind_string(const char *at)
{
    char quote = *at++;
    while (*at != '\0' && *at != quote && *at != '\n')
        at += at[0] == '\\' && at[1] != '\0' ? 2 : 1;
    return *at == quote ? at + 1 : at;
}

static const char *behind_line(const char *at)
{
    while (*at != '\0' && *at != '\n')
        at += at[0] == '\\' && at[1] != '\0' ? 2 : 1;
    return at;
}

/* Behind a comment, a string or a line for the preprocessor; NULL: there is none. */
static const char *skip(const char *at)
{
    if (strncmp(at, "//", 2) == 0 || *at == '#')
        return behind_line(at);
    if (strncmp(at, "/*", 2) == 0) {
        const char *end = strstr(at + 2, "*/");
        return end != NULL ? end + 2 : at + strlen(at);
    }
    return *at == '"' || *at == '\'' ? behind_string(at) : NULL;
}

static void end_declaration(struct scan *scan)
{
    scan->parameters = NULL;
    scan->is_kernel = false;
    scan->next_scope = (struct word){.length = 0};
}

static void read_mark(struct scan *scan)
{
    if (*scan->at == '{') {
        if (scan->depth < MOST_DEPTH)
            scan->scopes[scan->depth] = scan->next_scope;
        scan->depth++;
    } else if (*scan->at == '}' && scan->depth > 0) {
        scan->depth--;
    }
    if (*scan->at == '{' || *scan->at == '}' || *scan->at == ';')
        end_declaration(scan);
    scan->at++;
}

static bool equals(const struct word *word, const char *text)
{
    return strlen(text) == word->length && strncmp(word->text, text, word->length) == 0;
}

/* How deep in brackets, beginning with 0; `<` and `>` within parentheses compare. */
struct nesting {
    int angles;
    int parentheses;
};

static void follow(struct nesting *nesting, char c)
{
    nesting->parentheses += (c == '(') - (c == ')');
    if (nesting->parentheses == 0)
        nesting->angles += (c == '<') - (c == '>');
}

/* The name of the parameter at *at, which is then behind it: the last word before a comma, an end
 * or a default. False at the end of the list. */
static bool next_parameter(const char **at, struct word *name)
{
    struct nesting nesting = {.angles = 0};
    bool given = false;
    *name = (struct word){.length = 0};
    for (; **at != '\0' && nesting.angles >= 0; ++*at) {
        if (**at == ',' && nesting.angles == 0 && nesting.parentheses == 0) {
            ++*at;
            return true;
        }
        follow(&nesting, **at);
        given = given || **at == '=';
        if (given || !hn_is_word_char(**at))
            continue;
        *name = (struct word){.text = *at};
        while (hn_is_word_char((*at)[name->length]))
            name->length++;
        *at += name->length - 1;
    }
    --*at; /* stays at the end */
    return name->length > 0 && **at == '>';
}

/* "typename T, int N = 3" becomes "T, N". */
static void append_parameters(const char *at, struct hn_text *text)
{
    struct word name;
    const char *between = "";
    while (next_parameter(&at, &name)) {
        hn_text_append(text, between);
        hn_text_append_bytes(text, name.text, name.length);
        between = ", ";
    }
}

static void append_template(const struct scan *scan, const char *name, struct hn_text *found)
{
    hn_text_append(found, found->length > 0 ? ", \"" : "\"");
    for (size_t i = 0; i < scan->depth && i < MOST_DEPTH; i++) {
        if (scan->scopes[i].length == 0)
            continue;
        hn_text_append_bytes(found, scan->scopes[i].text, scan->scopes[i].length);
        hn_text_append(found, "::");
    }
    hn_text_printf(found, "%s<", name);
    append_parameters(scan->parameters, found);
    hn_text_append(found, ">\"");
}

/* Behind the ">" of "template <…>". */
static const char *behind_parameters(const char *at)
{
    struct nesting nesting = {.angles = 0};
    while (*at != '\0' && nesting.angles >= 0)
        follow(&nesting, *at++);
    return at;
}

static void read_word(struct scan *scan, const char *name, size_t *count, struct hn_text *found)
{
    struct word word = {.text = scan->at};
    while (hn_is_word_char(scan->at[word.length]))
        word.length++;
    scan->at += word.length;
    const char *next = scan->at + strspn(scan->at, " \t\r\n");
    if (equals(&word, "namespace")) {
        while (hn_is_word_char(*next) || strncmp(next, "::", 2) == 0)
            next += *next == ':' ? 2 : 1;
        const char *start = scan->at + strspn(scan->at, " \t\r\n");
        scan->next_scope = (struct word){start, (size_t)(next - start)};
        scan->at = next;
    } else if (equals(&word, "template") && *next == '<') {
        scan->parameters = next + 1;
        scan->at = behind_parameters(next + 1);
    } else if (equals(&word, "__global__")) {
        scan->is_kernel = true;
    } else if (equals(&word, name) && *next == '(' && scan->is_kernel && scan->parameters != NULL) {
        append_template(scan, name, found);
        end_declaration(scan);
        ++*count;
    }
}

size_t hn_kernel_templates_append(const char *source, const char *name, struct hn_text *found)
{
    struct scan scan = {.at = source};
    size_t count = 0;
    while (*scan.at != '\0') {
        const char *behind = skip(scan.at);
        if (behind != NULL)
            scan.at = behind;
        else if (hn_is_word_char(*scan.at))
            read_word(&scan, name, &count, found);
        else
            read_mark(&scan);
    }
    return count;
}

static bool declares(const char *at, const char *name)
{
    struct word parameter;
    while (next_parameter(&at, &parameter)) {
        if (equals(&parameter, name))
            return true;
    }
    return false;
}

bool hn_template_parameter_is_declared(const char *source, const char *name)
{
    bool found = false;
    for (const char *at = source; *at != '\0' && !found;) {
        const char *behind = skip(at);
        struct word word = {.text = at};
        while (behind == NULL && hn_is_word_char(at[word.length]))
            word.length++;
        const char *list = at + word.length + strspn(at + word.length, " \t\r\n");
        found = equals(&word, "template") && *list == '<' && declares(list + 1, name);
        at = behind != NULL ? behind : at + (word.length > 0 ? word.length : 1);
    }
    return found;
}
