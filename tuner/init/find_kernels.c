/* SPDX-License-Identifier: MIT */
#include "tuner/init/find_kernels.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static size_t skip_blanks(const char *code, size_t at, size_t end)
{
    while (at < end && hn_is_space(code[at]))
        at++;
    return at;
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
    size_t quote = skip_blanks(source->text, linkage + strlen("extern"), end);
    return strncmp(source->text + quote, "\"C\"", 3) == 0;
}

/* Braces that are open at a place: namespaces give the scope, extern "C" { its linkage. */
static enum hn_status read_scope(const struct hn_source_text *source, size_t place,
                                 struct hn_kernel *kernel, struct hn_error *err)
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
        size_t from = skip_blanks(code, name + strlen("namespace"), opened[d]);
        size_t to = from;
        while (to < opened[d] && (hn_is_word_char(code[to]) || code[to] == ':'))
            to++;
        if (to > from) {
            hn_text_append_bytes(&scope, code + from, to - from);
            hn_text_append(&scope, "::");
        }
    }
    kernel->scope = hn_text_take(&scope);
    return kernel->scope != NULL ? HN_OK : hn_fail_memory(err);
}

/* What stands before __global__: extern "C", template <...>. */
static enum hn_status read_before(const struct hn_source_text *source, size_t begin, size_t global,
                                  struct hn_kernel *kernel, struct hn_error *err)
{
    kernel->extern_c = is_extern_c(source, begin, global);
    size_t template = hn_find_identifier(source->code, begin, global, "template");
    if (template == SIZE_MAX)
        return HN_OK;
    size_t open = skip_blanks(source->code, template + strlen("template"), global);
    size_t close =
        source->code[open] == '<' ? hn_closing_bracket(source->code, open, global) : SIZE_MAX;
    return close == SIZE_MAX
               ? HN_OK
               : hn_kernel_read_parameters(source->code, open + 1, close, kernel, err);
}

static bool is_word(const char *code, size_t at, size_t length, const char *word)
{
    return strlen(word) == length && strncmp(code + at, word, length) == 0;
}

/* Finds the name and the bracket behind it; attributes with brackets of their own are passed over.
 */
static bool find_name(const struct hn_source_text *source, size_t from, struct hn_kernel *kernel,
                      size_t *open)
{
    const char *code = source->code;
    for (size_t at = from; at < source->length;) {
        at = skip_blanks(code, at, source->length);
        size_t length = 0;
        while (hn_is_word_char(code[at + length]))
            length++;
        if (length == 0)
            return false;
        size_t next = skip_blanks(code, at + length, source->length);
        if (code[next] != '(') {
            at += length;
            continue;
        }
        size_t close = hn_closing_bracket(code, next, source->length);
        if (close == SIZE_MAX)
            return false;
        bool bounds = is_word(code, at, length, "__launch_bounds__");
        if (!bounds && strncmp(code + at, "__", 2) != 0) {
            kernel->name = strndup(code + at, length);
            *open = next;
            return kernel->name != NULL;
        }
        if (bounds && kernel->bounds == NULL) {
            size_t end = next + 1;
            int depth = 0;
            for (; end < close && !(code[end] == ',' && depth == 0); end++)
                depth += (code[end] == '(') - (code[end] == ')');
            kernel->bounds = strndup(code + next + 1, end - next - 1);
        }
        at = close + 1;
    }
    return false;
}

/* False in *found when what stands here is no kernel with a body. */
static enum hn_status read_kernel(const struct hn_source_text *source, size_t global,
                                  struct hn_kernel *kernel, bool *found, struct hn_error *err)
{
    const char *code = source->code;
    size_t open = 0;
    *found = false;
    if (!find_name(source, global + strlen("__global__"), kernel, &open))
        return HN_OK;
    size_t close = hn_closing_bracket(code, open, source->length);
    if (close == SIZE_MAX)
        return HN_OK;
    size_t brace = skip_blanks(code, close + 1, source->length);
    if (code[brace] != '{')
        return HN_OK;
    size_t end = hn_closing_bracket(code, brace, source->length);
    kernel->head = open;
    kernel->body = brace;
    kernel->end = end != SIZE_MAX ? end : source->length;
    enum hn_status status =
        read_before(source, declaration_begin(code, global), global, kernel, err);
    if (status == HN_OK)
        status = read_scope(source, global, kernel, err);
    if (status == HN_OK)
        status = hn_kernel_read_arguments(code, open + 1, close, kernel, err);
    *found = status == HN_OK;
    return status;
}

static void mark_overloaded(struct hn_kernels *kernels)
{
    for (size_t i = 0; i < kernels->count; i++)
        for (size_t k = 0; k < kernels->count; k++)
            if (i != k && strcmp(kernels->items[i].name, kernels->items[k].name) == 0 &&
                strcmp(kernels->items[i].scope, kernels->items[k].scope) == 0)
                kernels->items[i].overloaded = true;
}

enum hn_status hn_kernels_find(const struct hn_source_text *source, struct hn_kernels *kernels,
                               struct hn_error *err)
{
    enum hn_status status = HN_OK;
    size_t at = 0;
    *kernels = (struct hn_kernels){.items = NULL};
    while (status == HN_OK) {
        struct hn_kernel kernel = {.name = NULL};
        bool found;
        at = hn_find_identifier(source->code, at, source->length, "__global__");
        if (at == SIZE_MAX)
            break;
        status = read_kernel(source, at, &kernel, &found, err);
        struct hn_kernel *grown =
            found ? realloc(kernels->items, (kernels->count + 1) * sizeof *grown) : NULL;
        if (grown != NULL) {
            kernels->items = grown;
            grown[kernels->count++] = kernel;
        } else {
            hn_kernel_finish(&kernel);
            if (found && status == HN_OK)
                status = hn_fail_memory(err);
        }
        at++;
    }
    if (status != HN_OK)
        hn_kernels_finish(kernels);
    else
        mark_overloaded(kernels);
    return status;
}

void hn_kernels_finish(struct hn_kernels *kernels)
{
    for (size_t i = 0; i < kernels->count; i++)
        hn_kernel_finish(&kernels->items[i]);
    free(kernels->items);
    *kernels = (struct hn_kernels){.items = NULL};
}
