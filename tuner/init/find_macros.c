/* SPDX-License-Identifier: MIT */
#include "tuner/init/find_macros.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* One preprocessor line: "define", its name, and what follows. */
struct directive {
    char keyword[16];
    char *name;
    char *value;
};

static void finish_directive(struct directive *directive)
{
    free(directive->name);
    free(directive->value);
    *directive = (struct directive){.name = NULL};
}

static char *copy_word(const char **at, const char *end)
{
    const char *begin = *at;
    while (*at < end && hn_is_word_char(**at))
        ++*at;
    return strndup(begin, (size_t)(*at - begin));
}

static void skip_blanks(const char **at, const char *end)
{
    while (*at < end && hn_is_space(**at))
        ++*at;
}

/* "#define NAME value", "#ifndef NAME", "#if !defined(NAME)", which is read as #ifndef. */
static bool read_directive(const char *at, const char *end, struct directive *directive)
{
    *directive = (struct directive){.name = NULL};
    skip_blanks(&at, end);
    if (at == end || *at != '#')
        return false;
    at++;
    skip_blanks(&at, end);
    char *keyword = copy_word(&at, end);
    snprintf(directive->keyword, sizeof directive->keyword, "%s", keyword != NULL ? keyword : "");
    free(keyword);
    skip_blanks(&at, end);
    if (strcmp(directive->keyword, "if") == 0 && at < end && *at == '!') {
        at++;
        skip_blanks(&at, end);
        if ((size_t)(end - at) > 7 && strncmp(at, "defined", 7) == 0 && !hn_is_word_char(at[7])) {
            at += 7;
            while (at < end && (hn_is_space(*at) || *at == '('))
                at++;
            snprintf(directive->keyword, sizeof directive->keyword, "ifndef");
        }
    }
    directive->name = copy_word(&at, end);
    /* A macro with arguments has no value that could be chosen. */
    bool function = at < end && *at == '(' && strcmp(directive->keyword, "define") == 0;
    skip_blanks(&at, end);
    while (end > at && hn_is_space(end[-1]))
        end--;
    directive->value = strndup(at, (size_t)(end - at));
    if (directive->name == NULL || directive->value == NULL || function) {
        snprintf(directive->keyword, sizeof directive->keyword, "other");
        free(directive->name);
        directive->name = strdup("");
    }
    return true;
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

static enum hn_status add_word(struct hn_macro *macro, const char *word, struct hn_error *err)
{
    char **words = realloc(macro->words, (macro->word_count + 1) * sizeof *words);
    if (words == NULL)
        return hn_fail_memory(err);
    macro->words = words;
    words[macro->word_count] = strdup(word);
    return words[macro->word_count++] != NULL ? HN_OK : hn_fail_memory(err);
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

enum hn_status hn_macros_add(struct hn_macros *macros, struct hn_macro *macro, struct hn_error *err)
{
    struct hn_macro *items = realloc(macros->items, (macros->count + 1) * sizeof *items);
    if (items == NULL)
        return hn_fail_memory(err);
    macros->items = items;
    items[macros->count++] = *macro;
    *macro = (struct hn_macro){.name = NULL};
    return HN_OK;
}

static void finish_macro(struct hn_macro *macro)
{
    for (size_t i = 0; i < macro->word_count; i++)
        free(macro->words[i]);
    free(macro->words);
    free(macro->name);
    *macro = (struct hn_macro){.name = NULL};
}

/* What stands between an #ifndef and its #endif: first its own value; what is defined behind that
 * is left undefined too by whoever defines the first. */
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

static enum hn_status add_behind(struct reading *reading, const struct directive *directive,
                                 struct hn_error *err)
{
    struct hn_macro macro = {.name = NULL};
    if (directive->value[0] == '\0' || hn_macros_get(reading->macros, directive->name) != NULL)
        return HN_OK;
    macro.name = strdup(directive->name);
    if (macro.name == NULL)
        return hn_fail_memory(err);
    classify(&macro, directive->value);
    enum hn_status status = hn_macros_add(reading->macros, &macro, err);
    finish_macro(&macro);
    return status;
}

static enum hn_status take(struct reading *reading, const struct directive *directive,
                           struct hn_error *err)
{
    struct hn_macro *open = &reading->open;
    if (strcmp(directive->keyword, "ifndef") == 0 || strcmp(directive->keyword, "endif") == 0) {
        finish_macro(open);
        reading->behind = false;
        if (directive->keyword[0] == 'e' || is_guard(directive->name))
            return HN_OK;
        open->name = strdup(directive->name);
        return open->name != NULL ? HN_OK : hn_fail_memory(err);
    }
    if (strcmp(directive->keyword, "define") != 0)
        return HN_OK;
    if (open->name == NULL)
        return reading->behind ? add_behind(reading, directive, err) : HN_OK;
    if (strcmp(directive->name, open->name) != 0)
        return word_of(open, directive->name) != NULL
                   ? add_word(open, word_of(open, directive->name), err)
                   : HN_OK;
    /* Without a value it guards an inclusion. */
    if (directive->value[0] == '\0' || hn_macros_get(reading->macros, open->name) != NULL) {
        finish_macro(open);
        return HN_OK;
    }
    classify(open, directive->value);
    reading->behind = true;
    return hn_macros_add(reading->macros, open, err);
}

enum hn_status hn_macros_find(const struct hn_source_text *source, struct hn_macros *macros,
                              struct hn_error *err)
{
    struct reading reading = {.macros = macros};
    enum hn_status status = HN_OK;
    *macros = (struct hn_macros){.items = NULL};
    for (const char *line = source->directives; status == HN_OK && *line != '\0';) {
        struct directive directive;
        const char *end = strchr(line, '\n');
        if (end == NULL)
            end = line + strlen(line);
        if (read_directive(line, end, &directive))
            status = take(&reading, &directive, err);
        finish_directive(&directive);
        line = *end == '\n' ? end + 1 : end;
    }
    finish_macro(&reading.open);
    if (status != HN_OK)
        hn_macros_finish(macros);
    return status;
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
