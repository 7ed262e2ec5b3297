/* SPDX-License-Identifier: MIT */
#include "runtime/compile/source_key.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/text.h"
#include "runtime/compile/host_headers.h"
#include "runtime/compile/include_scan.h"
#include "runtime/compile/live_text.h"
#include "runtime/compile/macro_table.h"
#include "runtime/device/device.h"
#include "runtime/plan/option_list.h"

/* What a source begins with: a #define a line. */
struct line {
    const char *text;
    size_t length;
    const char *name;
    size_t name_length;
    size_t macro; /* its number */
};

struct prelude {
    struct line *lines;
    size_t count;
    struct hn_macro_table macros; /* those of the prelude, then whatever the text defines */
    const char *body;             /* what stands behind it */
};

static const char define[] = "#define ";

static bool is_define(const char *text)
{
    return strncmp(text, define, sizeof define - 1) == 0 &&
           hn_macro_name_length(text + sizeof define - 1) > 0;
}

static bool add_line(struct prelude *prelude, const char *text, size_t length)
{
    const char *name = text + sizeof define - 1;
    size_t name_length = hn_macro_name_length(name);
    const char *value = name + name_length;
    struct hn_macro_table *macros = &prelude->macros;
    bool plain = *value != '(' && hn_macro_table_find(macros, name, name_length) == NULL;
    if (!hn_macro_table_set(macros, name, name_length, plain ? HN_MACRO_DEFINED : HN_MACRO_UNSURE,
                            value, (size_t)(text + length - value)))
        return false;
    struct hn_table_macro *macro = hn_macro_table_find(macros, name, name_length);
    macro->read |= *name == '_';
    prelude->lines[prelude->count++] =
        (struct line){text, length, name, name_length, (size_t)(macro - macros->items)};
    return true;
}

static bool read_prelude(const char *text, struct prelude *prelude)
{
    size_t count = 0;
    for (const char *at = text; is_define(at); at += *at == '\n') {
        at += strcspn(at, "\n");
        count++;
    }
    *prelude = (struct prelude){.lines = calloc(count + 1, sizeof *prelude->lines)};
    bool fine = prelude->lines != NULL;
    while (fine && prelude->count < count) {
        size_t length = strcspn(text, "\n");
        fine = add_line(prelude, text, length);
        text += length + (text[length] == '\n');
    }
    prelude->body = text;
    return fine;
}

static void finish_prelude(struct prelude *prelude)
{
    free(prelude->lines);
    hn_macro_table_finish(&prelude->macros);
}

static bool is_read(const struct prelude *prelude, size_t line)
{
    return prelude->macros.items[prelude->lines[line].macro].read;
}

static void mark_line(const struct prelude *prelude, size_t line)
{
    prelude->macros.items[prelude->lines[line].macro].read = true;
}

static void mark_within(const struct prelude *prelude, const char *text, const char *end)
{
    while (text < end) {
        size_t length = hn_macro_name_length(text);
        struct hn_table_macro *macro = hn_macro_table_find(&prelude->macros, text, length);
        if (macro != NULL)
            macro->read = true;
        text += length > 0 ? length : 1;
    }
}

static void mark_words(const struct prelude *prelude, const char *text)
{
    mark_within(prelude, text, text + strlen(text));
}

/* The values of macros are words, too. */
static void mark_values(const struct prelude *prelude)
{
    for (size_t i = 0; i < prelude->count; i++) {
        const struct line *line = &prelude->lines[i];
        mark_within(prelude, line->name + line->name_length, line->text + line->length);
    }
}

/* Whether nothing else can be meant by the name of a header of the host's. */
static bool is_own(const struct hn_source *source, const struct hn_host_header *header)
{
    bool certain = header != NULL && !header->fallback && source->compiler == HN_COMPILER_NVRTC;
    for (size_t i = 0; certain && i < source->option_count; i++)
        certain = hn_option_folder(source->options[i]) == NULL;
    return certain;
}

static const char *line_start(const char *text, const char *at)
{
    while (at > text && at[-1] != '\n')
        at--;
    return at;
}

/* The parameters of the macro that a line defines, "(a, b)", "" for none; NULL: it defines none. */
static char *macro_parameters(const char *line)
{
    line += strspn(line, " \t");
    if (*line != '#')
        return NULL;
    line += 1 + strspn(line + 1, " \t");
    if (strncmp(line, "define", 6) != 0)
        return NULL;
    line += 6 + strspn(line + 6, " \t");
    line += hn_macro_name_length(line);
    return strndup(line, *line == '(' ? strcspn(line, ")") : 0);
}

static void mark_prefix(const struct prelude *prelude, const char *prefix, size_t length)
{
    for (size_t i = 0; i < prelude->count; i++)
        if (prelude->lines[i].name_length >= length &&
            memcmp(prelude->lines[i].name, prefix, length) == 0)
            mark_line(prelude, i);
}

/* Names that left##x may become begin with `left`. False: where that is a parameter of the macro,
 * they may be any. */
static bool mark_pasted(const struct prelude *prelude, const char *text)
{
    for (const char *at = text; (at = strstr(at, "##")) != NULL; at += 2) {
        const char *end = at;
        while (end > text && (end[-1] == ' ' || end[-1] == '\t'))
            end--;
        const char *left = end;
        while (left > text && hn_is_word_char(left[-1]))
            left--;
        size_t length = (size_t)(end - left);
        char *parameters = macro_parameters(line_start(text, at));
        bool fixed = parameters != NULL && length > 0 && *left != '_' &&
                     !hn_text_has_word(parameters, left, length);
        free(parameters);
        if (!fixed)
            return false;
        mark_prefix(prelude, left, length);
    }
    return true;
}

/* `#include NAME` */
static bool has_computed_include(const char *text)
{
    for (const char *at = text; (at = strstr(at, "include")) != NULL; at += strlen("include")) {
        const char *before = at;
        const char *behind = at + strlen("include");
        while (before > text && (before[-1] == ' ' || before[-1] == '\t'))
            before--;
        behind += strspn(behind, " \t");
        if (before > text && before[-1] == '#' && *behind != '"' && *behind != '<')
            return true;
    }
    return false;
}

/* With what it includes, which are others of its kind. */
static void mark_header(const struct prelude *prelude, const struct hn_host_header *header)
{
    struct hn_include_scan scan = {.next = header->text};
    struct hn_include include;
    mark_words(prelude, header->text);
    while (hn_include_next(&scan, &include)) {
        const struct hn_host_header *inner = hn_host_header_find(include.name, include.length);
        if (inner != NULL && inner->text != header->text)
            mark_header(prelude, inner);
    }
}

/* Marks what the live text reads; false: there may be more than its words. */
static bool mark_text(const struct prelude *prelude, const struct hn_source *source,
                      const char *text)
{
    struct hn_include_scan scan = {.next = text};
    struct hn_include include;
    if (!mark_pasted(prelude, text) || has_computed_include(text))
        return false;
    mark_words(prelude, text);
    while (hn_include_next(&scan, &include)) {
        const struct hn_host_header *header = hn_host_header_find(include.name, include.length);
        if (!is_own(source, header))
            return false;
        mark_header(prelude, header);
    }
    return true;
}

static void mark_program(const struct prelude *prelude, const struct hn_source *source,
                         const struct hn_live_text *live)
{
    for (size_t i = 0; i < source->option_count; i++)
        mark_words(prelude, source->options[i]);
    for (size_t i = 0; i < source->entry_count; i++)
        mark_words(prelude, source->entries[i]);
    mark_values(prelude);
    if (live->certain && mark_text(prelude, source, live->text.data))
        return;
    for (size_t i = 0; i < prelude->count; i++)
        mark_line(prelude, i);
}

/* LOAD_ldg, which stands before LOAD, one for each of its words. */
static bool is_word_of(const struct prelude *prelude, size_t number)
{
    const struct line *line = &prelude->lines[number];
    for (size_t i = number + 1; i < prelude->count; i++) {
        const struct line *other = &prelude->lines[i];
        if (other->name_length < line->name_length && line->name[other->name_length] == '_' &&
            memcmp(line->name, other->name, other->name_length) == 0)
            return true;
    }
    return false;
}

static void append_part(struct hn_text *text, const char *part)
{
    hn_text_append(text, part);
    hn_text_append_bytes(text, "", 1);
}

static void append_program(const struct prelude *prelude, const struct hn_source *source,
                           const struct hn_live_text *live, const char *architecture,
                           struct hn_text *text)
{
    const struct hn_template *template = source->template;
    char name[HN_ARCHITECTURE_SIZE];
    hn_architecture_name(architecture, source->arch_specific, name);
    append_part(text, name);
    append_part(text, hn_compiler_names[source->compiler]);
    append_part(text, template->path);
    for (size_t i = 0; i < prelude->count; i++)
        if (is_read(prelude, i))
            hn_text_append_bytes(text, prelude->lines[i].text, prelude->lines[i].length + 1);
    append_part(text, live->certain ? live->text.data : "");
    append_part(text, prelude->body);
    for (size_t i = 0; i < template->include_count; i++) {
        append_part(text, template->includes[i].name);
        append_part(text, template->includes[i].text);
    }
    hn_text_printf(text, "%zu", source->entry_count);
    for (size_t i = 0; i < source->entry_count; i++)
        append_part(text, source->entries[i]);
    for (size_t i = 0; i < source->option_count; i++)
        append_part(text, source->options[i]);
}

static bool leaves_out(const struct prelude *prelude)
{
    for (size_t i = 0; i < prelude->count; i++)
        if (!is_read(prelude, i) && !is_word_of(prelude, i))
            return true;
    return false;
}

static enum hn_status make_key(struct prelude *prelude, const struct hn_source *source,
                               const char *architecture, bool decides, struct hn_source_key *key,
                               struct hn_error *err)
{
    struct hn_live_text live;
    struct hn_text text;
    hn_text_init(&text);
    enum hn_status status =
        hn_live_text_make(source->template, prelude->body, decides, &prelude->macros, &live, err);
    if (status == HN_OK) {
        mark_program(prelude, source, &live);
        append_program(prelude, source, &live, architecture, &text);
        if (text.data == NULL || text.failed)
            status = hn_fail_memory(err);
    }
    if (status == HN_OK) {
        key->hash = hn_hash_bytes(text.data, text.length);
        key->leaves_out = leaves_out(prelude);
    }
    hn_text_finish(&text);
    hn_live_text_finish(&live);
    return status;
}

enum hn_status hn_source_key(const struct hn_source *source, const char *architecture, bool decides,
                             struct hn_source_key *key, struct hn_error *err)
{
    struct prelude prelude;
    enum hn_status status = read_prelude(source->text, &prelude)
                                ? make_key(&prelude, source, architecture, decides, key, err)
                                : hn_fail_memory(err);
    finish_prelude(&prelude);
    return status;
}
