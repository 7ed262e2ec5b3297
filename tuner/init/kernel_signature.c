/* SPDX-License-Identifier: MIT */
#include "tuner/init/kernel_signature.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

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
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
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
        char *word = strndup(code + i, length);
        if (word != NULL)
            words->items[words->count++] = word;
        i += length;
    }
}

/* The words but the name and what is no part of a type. NULL when out of memory. */
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
    return hn_text_take(&text);
}

/* "const float *__restrict__ x": the last word is the name, what stands before without qualifiers
 * the type. */
static enum hn_status read_argument(const char *code, size_t begin, size_t end,
                                    struct hn_kernel_argument *argument, struct hn_error *err)
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
    argument->name = strdup(named ? words.items[name] : "");
    if (!named && name != SIZE_MAX)
        hn_text_append(&type, words.items[name]);
    argument->type = hn_text_take(&type);
    argument->spelled = spell(&words, named ? name : SIZE_MAX);
    finish_words(&words);
    return argument->name != NULL && argument->type != NULL && argument->spelled != NULL
               ? HN_OK
               : hn_fail_memory(err);
}

static bool is_empty(const char *code, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        if (!hn_is_space(code[i]))
            return (size_t)strspn(code + i, "void") == 4 && i + 4 >= end;
    return true;
}

enum hn_status hn_kernel_read_arguments(const char *code, size_t begin, size_t end,
                                        struct hn_kernel *kernel, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    if (is_empty(code, begin, end))
        return HN_OK;
    for (size_t at = begin; status == HN_OK && at <= end;) {
        size_t comma = next_comma(code, at, end);
        struct hn_kernel_argument *grown =
            realloc(kernel->arguments, (kernel->argument_count + 1) * sizeof *grown);
        if (grown == NULL)
            return hn_fail_memory(err);
        kernel->arguments = grown;
        struct hn_kernel_argument *argument = &grown[kernel->argument_count++];
        status = read_argument(code, at, comma, argument, err);
        if (status == HN_OK && argument->name[0] == '\0') {
            free(argument->name);
            argument->name = NULL;
            if (asprintf(&argument->name, "argument_%zu", kernel->argument_count) < 0)
                status = hn_fail_memory(err);
        }
        at = comma + 1;
    }
    return status;
}

static bool is_number_type(const char *word)
{
    static const char *const words[] = {"int",  "unsigned", "signed", "long",     "short", "char",
                                        "bool", "auto",     "class",  "typename", "const"};
    size_t length = strlen(word);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return length > 2 && strcmp(word + length - 2, "_t") == 0;
}

enum hn_status hn_kernel_read_parameters(const char *code, size_t begin, size_t end,
                                         struct hn_kernel *kernel, struct hn_error *err)
{
    for (size_t at = begin; at <= end;) {
        size_t comma = next_comma(code, at, end);
        struct words words;
        struct hn_kernel_parameter *grown =
            realloc(kernel->parameters, (kernel->parameter_count + 1) * sizeof *grown);
        if (grown == NULL)
            return hn_fail_memory(err);
        kernel->parameters = grown;
        split(code, at, comma, &words);
        const char *first = words.count > 0 ? words.items[0] : "";
        const char *last = words.count > 1 ? words.items[words.count - 1] : "T";
        const char *preset = memchr(code + at, '=', comma - at);
        grown[kernel->parameter_count] = (struct hn_kernel_parameter){
            .name = strdup(last),
            .is_type = strcmp(first, "class") == 0 || strcmp(first, "typename") == 0,
            .is_boolean = strcmp(first, "bool") == 0,
            .other_type = words.count == 2 && !is_number_type(first) ? strdup(first) : NULL,
            .preset =
                preset != NULL ? strndup(preset + 1, (size_t)(code + comma - preset - 1)) : NULL,
        };
        finish_words(&words);
        if (grown[kernel->parameter_count++].name == NULL)
            return hn_fail_memory(err);
        at = comma + 1;
    }
    return HN_OK;
}

void hn_kernel_finish(struct hn_kernel *kernel)
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
    *kernel = (struct hn_kernel){.name = NULL};
}
