/* SPDX-License-Identifier: MIT */
#include "runtime/compile/source.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/compile/code_scan.h"
#include "runtime/compile/host_headers.h"
#include "runtime/device/device.h"
#include "runtime/plan/option_list.h"

/* A source begins with a #define a line. */
struct line {
    const char *text;
    size_t length;
    const char *name;
    size_t name_length;
    bool read;
};

struct prelude {
    struct line *lines;
    size_t count;
    const char *body; /* behind it */
    bool uncertain;   /* the program may read more than its words */
};

static const char define[] = "#define ";

static bool is_define(const char *text)
{
    return strncmp(text, define, sizeof define - 1) == 0 &&
           hn_word_length(text + sizeof define - 1);
}

static bool read_prelude(const char *text, struct prelude *prelude)
{
    size_t count = 0;
    for (const char *at = text; is_define(at); at += *at == '\n') {
        at += strcspn(at, "\n");
        count++;
    }
    *prelude = (struct prelude){.lines = calloc(count + 1, sizeof *prelude->lines)};
    for (; prelude->lines != NULL && prelude->count < count; prelude->count++) {
        const char *name = text + sizeof define - 1;
        size_t length = strcspn(text, "\n");
        prelude->lines[prelude->count] =
            (struct line){text, length, name, hn_word_length(name), *name == '_'};
        text += length + (text[length] == '\n');
    }
    prelude->body = text;
    return prelude->lines != NULL;
}

static void mark_word(struct prelude *prelude, const char *word, size_t length)
{
    for (size_t i = 0; i < prelude->count; i++) {
        struct line *line = &prelude->lines[i];
        if (line->name_length == length && memcmp(line->name, word, length) == 0)
            line->read = true;
    }
}

static void mark_words(struct prelude *prelude, const char *text, const char *end)
{
    while (text < end) {
        size_t length = hn_word_length(text);
        if (length > 0)
            mark_word(prelude, text, length);
        text += length > 0 ? length : 1;
    }
}

/* Whether more may be read there than words tell: names that ## or a line's end within them put
 * together, and includes of what a macro says. */
static bool may_make_words(const char *text, const char *at)
{
    if (*at == '\\' && (at[1] == '\n' || at[1] == '\r'))
        return at == text || strchr(" \t;,(){}", at[-1]) == NULL;
    if (*at != '#')
        return false;
    const char *directive = at + 1 + strspn(at + 1, " \t");
    const char *file = directive + strlen("include");
    if (at[1] == '#' || strncmp(directive, "include", strlen("include")) != 0)
        return at[1] == '#';
    file += strspn(file, " \t");
    return *file != '"' && *file != '<';
}

/* Signs that stand for others, strings in which a comment's mark is none, and backslashes with
 * blanks behind them, which may continue a line or not. */
static bool has_other_signs(const char *text)
{
    static const char *const signs[] = {"?\?", "%:", "R\"", "\\ ", "\\\t"};
    bool has = false;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        has = has || strstr(text, signs[i]) != NULL;
    return has;
}

static void mark_code(struct prelude *prelude, const char *text)
{
    enum hn_code kind;
    const char *behind;
    prelude->uncertain = prelude->uncertain || has_other_signs(text);
    for (const char *at = text; *at != '\0' && !prelude->uncertain; at = behind) {
        behind = hn_code_behind(at, &kind);
        if (kind == HN_CODE_OTHER)
            prelude->uncertain = may_make_words(text, at);
        else if (kind == HN_CODE_OPEN)
            prelude->uncertain = true;
        else if (kind != HN_CODE_COMMENT)
            mark_words(prelude, at, behind);
    }
}

/* With what it includes, which are others of its kind. */
static void mark_header(struct prelude *prelude, const struct hn_host_header *header)
{
    struct hn_include_scan scan = {.next = header->text};
    struct hn_include include;
    mark_words(prelude, header->text, header->text + strlen(header->text));
    while (hn_include_next(&scan, &include)) {
        const struct hn_host_header *inner = hn_host_header_find(include.name, include.length);
        if (inner != NULL && inner->text != header->text)
            mark_header(prelude, inner);
    }
}

static bool is_of_template(const struct hn_template *template, const struct hn_include *include)
{
    for (size_t i = 0; i < template->include_count; i++) {
        const char *name = template->includes[i].name;
        if (strlen(name) == include->length && memcmp(name, include->name, include->length) == 0)
            return true;
    }
    return false;
}

/* A text of the program, and headers of the host that it includes. Others are not looked into. */
static void mark_text(struct prelude *prelude, const struct hn_source *source, const char *text)
{
    struct hn_include_scan scan = {.next = text};
    struct hn_include include;
    mark_code(prelude, text);
    while (!prelude->uncertain && hn_include_next(&scan, &include)) {
        const struct hn_host_header *header = hn_host_header_find(include.name, include.length);
        if (is_of_template(source->template, &include))
            continue;
        if (header != NULL && !header->fallback && source->compiler == HN_COMPILER_NVRTC)
            mark_header(prelude, header);
        else
            prelude->uncertain = true;
    }
}

/* The values of macros are words, too. */
static void mark_program(struct prelude *prelude, const struct hn_source *source)
{
    for (size_t i = 0; i < source->option_count; i++) {
        const char *option = source->options[i];
        prelude->uncertain = prelude->uncertain || hn_option_folder(option) != NULL;
        mark_words(prelude, option, option + strlen(option));
    }
    for (size_t i = 0; i < source->entry_count; i++)
        mark_words(prelude, source->entries[i], source->entries[i] + strlen(source->entries[i]));
    for (size_t i = 0; i < prelude->count; i++) {
        const struct line *line = &prelude->lines[i];
        mark_words(prelude, line->name + line->name_length, line->text + line->length);
    }
    mark_text(prelude, source, prelude->body);
    for (size_t i = 0; i < source->template->include_count; i++)
        mark_text(prelude, source, source->template->includes[i].text);
    for (size_t i = 0; prelude->uncertain && i < prelude->count; i++)
        prelude->lines[i].read = true;
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
    hn_text_append_bytes(text, part, strlen(part) + 1);
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
        if (prelude->lines[i].read)
            hn_text_append_bytes(text, prelude->lines[i].text, prelude->lines[i].length + 1);
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

enum hn_status hn_source_key(const struct hn_source *source, const char *architecture,
                             struct hn_source_key *key, struct hn_error *err)
{
    struct prelude prelude;
    struct hn_text text;
    hn_text_init(&text);
    if (read_prelude(source->text, &prelude)) {
        mark_program(&prelude, source);
        append_program(&prelude, source, architecture, &text);
    }
    bool failed = text.data == NULL || text.failed;
    *key = (struct hn_source_key){.leaves_out = false};
    if (!failed)
        key->hash = hn_hash_bytes(text.data, text.length);
    for (size_t i = 0; i < prelude.count; i++)
        key->leaves_out |= !prelude.lines[i].read && !is_word_of(&prelude, i);
    hn_text_finish(&text);
    free(prelude.lines);
    return failed ? hn_fail_memory(err) : HN_OK;
}
