/* SPDX-License-Identifier: MIT */
#include "runtime/compile/source_key.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/text.h"
#include "runtime/compile/host_headers.h"
#include "runtime/compile/include_scan.h"
#include "runtime/device/device.h"
#include "runtime/plan/option_list.h"

/* A line of the prelude. */
struct macro {
    const char *line;
    size_t line_length;
    const char *name;
    size_t name_length;
    bool read;
};

struct prelude {
    struct macro *macros;
    size_t count;
    size_t *slots; /* by name: number + 1; 0: free */
    size_t slot_count;
    const char *body; /* what stands behind it */
};

static const char define[] = "#define ";

static size_t word_length(const char *text)
{
    size_t length = 0;
    while (hn_is_word_char(text[length]))
        length++;
    return length;
}

/* FNV-1a. */
static size_t *slot_of(const struct prelude *prelude, const char *word, size_t length)
{
    size_t hash = 0x811c9dc5;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)word[i]) * 0x01000193 & 0xffffffff;
    for (size_t i = hash;; i++) {
        size_t *slot = &prelude->slots[i & (prelude->slot_count - 1)];
        const struct macro *macro = *slot > 0 ? &prelude->macros[*slot - 1] : NULL;
        if (macro == NULL ||
            (macro->name_length == length && memcmp(macro->name, word, length) == 0))
            return slot;
    }
}

static size_t count_macros(const char *text)
{
    size_t count = 0;
    for (; strncmp(text, define, sizeof define - 1) == 0; count++) {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return count;
}

static void add_macro(struct prelude *prelude, const char *line, size_t length)
{
    const char *name = line + sizeof define - 1;
    struct macro *macro = &prelude->macros[prelude->count++];
    *macro = (struct macro){line, length, name, word_length(name), false};
    macro->read = macro->name_length == 0 || *name == '_';
    *slot_of(prelude, name, macro->name_length) = prelude->count;
}

static bool read_prelude(const char *text, struct prelude *prelude)
{
    size_t count = count_macros(text);
    *prelude = (struct prelude){.slot_count = 16};
    while (prelude->slot_count < 2 * count)
        prelude->slot_count *= 2;
    prelude->macros = calloc(count + 1, sizeof *prelude->macros);
    prelude->slots = calloc(prelude->slot_count, sizeof *prelude->slots);
    if (prelude->macros == NULL || prelude->slots == NULL)
        return false;
    while (prelude->count < count) {
        size_t length = strcspn(text, "\n");
        add_macro(prelude, text, length);
        text += length + (text[length] == '\n');
    }
    prelude->body = text;
    return true;
}

static void mark_words(const struct prelude *prelude, const char *text)
{
    while (*text != '\0') {
        size_t length = word_length(text);
        size_t *slot = length > 0 ? slot_of(prelude, text, length) : NULL;
        if (slot != NULL && *slot > 0)
            prelude->macros[*slot - 1].read = true;
        text += length > 0 ? length : 1;
    }
}

/* The values of macros are words, too. */
static void mark_values(const struct prelude *prelude)
{
    for (size_t i = 0; i < prelude->count; i++) {
        const struct macro *macro = &prelude->macros[i];
        const char *end = macro->line + macro->line_length;
        for (const char *at = macro->name + macro->name_length; at < end; at++) {
            size_t length = word_length(at);
            size_t *slot = length > 0 ? slot_of(prelude, at, length) : NULL;
            if (slot != NULL && *slot > 0)
                prelude->macros[*slot - 1].read = true;
            at += length;
        }
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

static bool is_of_template(const struct hn_source *source, const struct hn_include *include)
{
    const struct hn_template *template = source->template;
    for (size_t i = 0; i < template->include_count; i++) {
        const char *name = template->includes[i].name;
        if (strlen(name) == include->length && strncmp(name, include->name, include->length) == 0)
            return true;
    }
    return false;
}

/* Where the line begins that `at` is in, with the lines that it continues. */
static const char *line_start(const char *text, const char *at)
{
    while (at > text && (at[-1] != '\n' || (at - 1 > text && at[-2] == '\\')))
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
    line += word_length(line);
    return strndup(line, *line == '(' ? strcspn(line, ")") : 0);
}

static void mark_prefix(const struct prelude *prelude, const char *prefix, size_t length)
{
    for (size_t i = 0; i < prelude->count; i++)
        if (prelude->macros[i].name_length >= length &&
            memcmp(prelude->macros[i].name, prefix, length) == 0)
            prelude->macros[i].read = true;
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
    return strstr(text, "%:") == NULL; /* ## in other signs */
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

/* Marks what a text of the user's reads; false: there may be more than its words. */
static bool mark_text(const struct prelude *prelude, const struct hn_source *source,
                      const char *text)
{
    struct hn_include_scan scan = {.next = text};
    struct hn_include include;
    if (!mark_pasted(prelude, text) || has_computed_include(text))
        return false;
    mark_words(prelude, text);
    while (hn_include_next(&scan, &include)) {
        if (is_of_template(source, &include))
            continue; /* which is marked on its own */
        const struct hn_host_header *header = hn_host_header_find(include.name, include.length);
        if (!is_own(source, header))
            return false;
        mark_header(prelude, header);
    }
    return true;
}

static bool mark_program(const struct prelude *prelude, const struct hn_source *source)
{
    const struct hn_template *template = source->template;
    for (size_t i = 0; i < source->option_count; i++)
        mark_words(prelude, source->options[i]);
    for (size_t i = 0; i < source->entry_count; i++)
        mark_words(prelude, source->entries[i]);
    mark_values(prelude);
    bool certain = mark_text(prelude, source, prelude->body);
    for (size_t i = 0; certain && i < template->include_count; i++)
        certain = mark_text(prelude, source, template->includes[i].text);
    return certain;
}

/* LOAD_ldg, which stands before LOAD, one for each of its words. */
static bool is_word_of(const struct prelude *prelude, size_t number)
{
    const struct macro *macro = &prelude->macros[number];
    for (size_t i = number + 1; i < prelude->count; i++) {
        const struct macro *other = &prelude->macros[i];
        if (other->name_length < macro->name_length && macro->name[other->name_length] == '_' &&
            memcmp(macro->name, other->name, other->name_length) == 0)
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
                           const char *architecture, struct hn_text *text)
{
    const struct hn_template *template = source->template;
    char name[HN_ARCHITECTURE_SIZE];
    hn_architecture_name(architecture, source->arch_specific, name);
    append_part(text, name);
    append_part(text, hn_compiler_names[source->compiler]);
    append_part(text, template->path);
    for (size_t i = 0; i < prelude->count; i++)
        if (prelude->macros[i].read)
            hn_text_append_bytes(text, prelude->macros[i].line, prelude->macros[i].line_length + 1);
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
        if (!prelude->macros[i].read && !is_word_of(prelude, i))
            return true;
    return false;
}

enum hn_status hn_source_key(const struct hn_source *source, const char *architecture,
                             struct hn_source_key *key, struct hn_error *err)
{
    struct prelude prelude;
    struct hn_text text;
    hn_text_init(&text);
    bool fine = read_prelude(source->text, &prelude);
    if (fine && !mark_program(&prelude, source))
        for (size_t i = 0; i < prelude.count; i++)
            prelude.macros[i].read = true;
    if (fine) {
        append_program(&prelude, source, architecture, &text);
        fine = text.data != NULL && !text.failed;
    }
    if (fine) {
        key->hash = hn_hash_bytes(text.data, text.length);
        key->leaves_out = leaves_out(&prelude);
    }
    hn_text_finish(&text);
    free(prelude.macros);
    free(prelude.slots);
    return fine ? HN_OK : hn_fail_memory(err);
}
