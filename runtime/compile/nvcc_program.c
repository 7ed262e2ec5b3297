/* SPDX-License-Identifier: MIT */
#include "runtime/compile/nvcc_program.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "runtime/compile/entry_marker.h"
#include "runtime/compile/code_scan.h"
#include "runtime/plan/option_list.h"

static void append_line(struct hn_text *text, int line, const char *file)
{
    hn_text_printf(text, "#line %d \"", line);
    for (; *file != '\0'; file++)
        hn_text_printf(text, *file == '"' || *file == '\\' ? "\\%c" : "%c", *file);
    hn_text_append(text, "\"\n");
}

/* Its number, or include_count. */
static size_t find_include(const struct hn_compile_request *request,
                           const struct hn_include *include)
{
    size_t i = 0;
    while (i < request->include_count &&
           (strlen(request->include_names[i]) != include->length ||
            strncmp(request->include_names[i], include->name, include->length) != 0))
        i++;
    return i;
}

/* What stands behind `#pragma` in a line of a loop's unrolling with a factor, and how much of it
 * until a comment; NULL: it is no such line. */
static const char *unrolling(const char *line, size_t *length)
{
    static const char *const tokens[] = {"#", "pragma", "unroll"};
    const char *at = line;
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        at += strspn(at, " \t");
        if (strncmp(at, tokens[i], strlen(tokens[i])) != 0)
            return NULL;
        at += strlen(tokens[i]);
    }
    const char *factor = at + strspn(at, " \t");
    *length = strcspn(factor, "/\\\r\n");
    bool comment =
        factor[*length] == '/' && factor[*length + 1] != '/' && factor[*length + 1] != '*';
    return *length > 0 && !comment && factor[*length] != '\\' ? factor : NULL;
}

/* The host's preprocessor leaves macros in `#pragma unroll FACTOR` as they are, but not in the
 * arguments of one. */
static void append_lines(const char *source, size_t size, struct hn_text *text)
{
    const char *end = source + size;
    for (const char *line = source; line < end;) {
        size_t length = strcspn(line, "\n");
        size_t here = line + length < end ? length + 1 : (size_t)(end - line);
        size_t factor_length = 0;
        bool begins = line == source || line[-1] == '\n';
        const char *factor = begins ? unrolling(line, &factor_length) : NULL;
        if (factor != NULL)
            hn_text_printf(text, "HONE_PRAGMA(unroll %.*s)\n", (int)factor_length, factor);
        else
            hn_text_append_bytes(text, line, here);
        line += here;
    }
}

static void append_source(const struct hn_compile_request *request, const char *source,
                          struct hn_text *text)
{
    struct hn_include_scan scan = {.next = source};
    struct hn_include include;
    while (hn_include_next(&scan, &include)) {
        size_t number = find_include(request, &include);
        if (number == request->include_count || !include.quoted)
            continue;
        append_lines(source, (size_t)(include.name - source), text);
        hn_text_printf(text, "include_%zu.h", number);
        source = include.name + include.length;
    }
    append_lines(source, strlen(source), text);
    hn_text_append(text, "\n");
}

static void append_macros(const struct hn_compile_request *request, struct hn_text *text)
{
    for (size_t i = 0; i < request->option_count; i++) {
        bool defines = false;
        const char *macro = hn_option_macro(request->options[i], &defines);
        int name = macro != NULL ? (int)strcspn(macro, "=") : 0;
        if (macro == NULL)
            continue;
        if (defines)
            hn_text_printf(text, "#define %.*s %s\n", name, macro,
                           macro[name] == '=' ? macro + name + 1 : "1");
        else
            hn_text_printf(text, "#undef %s\n", macro);
    }
}

static enum hn_status write_file(const struct hn_scratch *scratch, const char *name,
                                 struct hn_text *text, struct hn_error *err)
{
    char path[600];
    hn_scratch_path(scratch, name, path, sizeof path);
    enum hn_status status = text->failed ? hn_fail_memory(err)
                                         : hn_text_write_file(path, text->data, text->length, err);
    hn_text_finish(text);
    return status;
}

static enum hn_status write_main(const struct hn_compile_request *request,
                                 const struct hn_scratch *scratch, struct hn_error *err)
{
    static const char template_start[] = "#line 1\n";
    const char *template = strstr(request->text, template_start);
    struct hn_text text;
    hn_text_init(&text);
    hn_text_append(&text, "#define HONE_PRAGMA_TEXT(...) _Pragma(#__VA_ARGS__)\n"
                          "#define HONE_PRAGMA(...) HONE_PRAGMA_TEXT(__VA_ARGS__)\n");
    append_line(&text, 1, HN_NVCC_PRELUDE);
    append_macros(request, &text);
    if (template != NULL)
        hn_text_append_bytes(&text, request->text, (size_t)(template - request->text));
    append_line(&text, 1, request->name);
    append_source(request, template != NULL ? template + strlen(template_start) : request->text,
                  &text);
    for (size_t i = 0; i < request->entry_count; i++) {
        if (!hn_text_is_word(request->entries[i]))
            hn_entry_marker_append(&text, i, request->entries[i]);
    }
    return write_file(scratch, HN_NVCC_PROGRAM, &text, err);
}

enum hn_status hn_nvcc_write_program(const struct hn_compile_request *request,
                                     const struct hn_scratch *scratch, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < request->include_count; i++) {
        struct hn_text text;
        char name[64];
        hn_text_init(&text);
        append_line(&text, 1, request->include_names[i]);
        append_source(request, request->include_texts[i], &text);
        snprintf(name, sizeof name, "include_%zu.h", i);
        status = write_file(scratch, name, &text, err);
    }
    return status == HN_OK ? write_main(request, scratch, err) : status;
}
