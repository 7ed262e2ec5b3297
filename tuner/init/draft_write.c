/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <stdlib.h>

#include "base/schema.h"
#include "base/text.h"
#include "tuner/init/draft.h"

const char *hn_draft_line(const struct hn_draft *draft, const char *text)
{
    char *line = hn_need_kept(&draft->unit->memory, hn_need_copy(text));
    for (char *c = line; *c != '\0'; c++)
        *c = *c >= ' ' && *c <= '~' ? *c : ' ';
    if (strlen(line) > 400)
        memcpy(line + 400, "...", 4);
    return line;
}

/* Whatever stands before it. NULL: it is left out. YAML takes these signs for a text as they stand,
 * within brackets too; what looks like a key, a comment or a list it does not. */
static void append_scalar(struct hn_text *text, const char *before, const char *string)
{
    if (string == NULL)
        return;
    size_t length = strlen(string);
    bool plain = hn_is_word_char(string[0]) || strchr("(./", string[0]) != NULL;
    for (const char *c = string; *c != '\0'; c++)
        plain = plain && (hn_is_word_char(*c) || strchr(" +-*/%()<>=!.", *c) != NULL);
    hn_text_append(text, before);
    if (plain && length > 0 && string[length - 1] != ' ') {
        hn_text_append(text, string);
        return;
    }
    char *quoted HN_FREED = hn_json_text(hn_string_to_json(string), JSON_ENCODE_ANY);
    hn_text_append(text, hn_needed(quoted));
}

static void append_comment(struct hn_text *text, const char *before, const char *comment)
{
    if (comment != NULL)
        hn_text_printf(text, "  # %s%s", before, comment);
}

struct hn_text *hn_draft_part(struct hn_draft *draft, const char *name, const char *apart)
{
    struct hn_draft_part *part = NULL;
    HN_EACH(each, draft->parts)
        part = strcmp(each->name, name) == 0 ? each : part;
    if (part == NULL)
        part = HN_GROW(draft->unit, draft->parts);
    part->name = name;
    hn_text_append(&part->text, part->text.length > 0 ? apart : "");
    return &part->text;
}

static void fill_head(struct hn_draft *draft)
{
    struct hn_text *entry = hn_draft_part(draft, "entry", "");
    append_scalar(entry, "", draft->entry);
    append_comment(entry, "TODO: ", draft->entry_todo);
    hn_text_append_word(hn_draft_part(draft, "origin", ""), hn_draft_line(draft, draft->origin));
    if (draft->capture != NULL)
        HN_DRAFT_NOTE(draft, "capture", "%s", draft->capture->path);
    HN_DRAFT_NOTE(draft, "name", "%s", draft->name);
    struct hn_text *template = hn_draft_part(draft, "template", "");
    append_scalar(template, "", draft->template);
    append_comment(template, "TODO: ", draft->template_todo);
    HN_EACH(option, draft->options)
        append_scalar(hn_draft_part(draft, "options", "\n"), "    - ", *option);
}

static void fill_names(struct hn_draft *draft)
{
    HN_EACH(each, draft->names) {
        if (each->is_size && !each->made)
            hn_text_printf(hn_draft_part(draft, "sizes", ", "), "%s: %lld", each->name,
                           (long long)each->preset.integer);
        if (each->frozen)
            hn_text_append(hn_draft_part(draft, "frozen", ", "), each->name);
        if (each->override != NULL)
            hn_text_printf(hn_draft_part(draft, "overrides", ", "), "%s: %s", each->name,
                           each->override);
        if (each->is_size)
            continue;
        struct hn_text *text = hn_draft_part(draft, "parameters", "\n");
        hn_text_printf(text, "  %s: [", each->name);
        HN_EACH(value, each->values) {
            hn_text_append(text, value > each->values.items ? ", " : "");
            hn_value_append(text, value);
        }
        hn_text_append(text, "]");
        append_comment(text, "", each->comment);
        if (!each->has_preset)
            continue;
        hn_text_printf(hn_draft_part(draft, "defaults", ", "), "%s: ", each->name);
        hn_value_append(hn_draft_part(draft, "defaults", ""), &each->preset);
    }
    HN_EACH(constraint, draft->constraints)
        append_scalar(hn_draft_part(draft, "constraints", "\n"), "  - ", *constraint);
}

static void append_argument(const struct hn_draft_argument *argument, struct hn_text *text)
{
    static const char *const roles[] = {NULL, "output", "inout"};
    hn_text_printf(text, "  - {name: %s", argument->name);
    append_scalar(text, ", type: ", argument->type);
    append_scalar(text, ", count: ", argument->count);
    append_scalar(text, ", value: ", argument->value);
    append_scalar(text, ", from: ", argument->from);
    if (argument->other != NULL)
        hn_text_printf(text, ", %s", argument->other);
    append_scalar(text, ", role: ", roles[argument->role]);
    append_scalar(text, ", fill: ", argument->fill);
    append_scalar(text, ", file: ", argument->file);
    hn_text_append(text, "}");
    append_comment(text, "TODO: ", argument->todo);
}

/* And the launch that passes them. */
static void fill_arguments(struct hn_draft *draft)
{
    bool all = true;
    HN_EACH(argument, draft->arguments) {
        append_argument(argument, hn_draft_part(draft, "arguments", "\n"));
        if (argument->expected != NULL)
            append_scalar(hn_draft_part(draft, "expected", ", "),
                          HN_DRAFT_TEXT(draft, "%s: ", argument->name), argument->expected);
        all &= !argument->hidden;
        /* Every buffer once, what is read and written twice. */
        bool written = argument->role == HN_DRAFT_INOUT && !argument->unread;
        if (argument->count != NULL && (!argument->hidden || written))
            hn_text_printf(hn_draft_part(draft, "bytes", " + "), "%ssizeof(%s) * (%s)",
                           written ? "2 * " : "", argument->type, argument->count);
    }
    /* A step has to list its arguments where not all of the plan are the kernel's. */
    HN_EACH(argument, draft->arguments)
        if (!all && !argument->hidden && !argument->within)
            hn_text_append(hn_draft_part(draft, "passed", ", "), argument->name);
    HN_EACH(symbol, draft->symbols)
        append_argument(symbol, hn_draft_part(draft, "symbols", "\n"));
    for (int axis = 0; axis < draft->dimensions; axis++) {
        append_scalar(hn_draft_part(draft, "block", ", "), "", draft->block[axis]);
        append_scalar(hn_draft_part(draft, "grid", ", "), "", draft->grid[axis]);
    }
    append_scalar(hn_draft_part(draft, "shared", ""), "", draft->shared_bytes);
    append_comment(hn_draft_part(draft, "shared", ""), "TODO: ", draft->shared_todo);
    hn_text_append(hn_draft_part(draft, "cooperative", ""), draft->cooperative ? "true" : "");
}

/* A part that a line of draft.yaml has behind a sign; moves the line behind it. "": it is empty. */
static const char *part_at(struct hn_draft *draft, const char **line)
{
    const char *name = HN_DRAFT_TEXT(draft, "%.*s", (int)hn_word_length(*line + 1), *line + 1);
    const struct hn_text *text = hn_draft_part(draft, name, "");
    *line += 1 + strlen(name);
    return text->length > 0 ? text->data : "";
}

char *hn_draft_write(struct hn_draft *draft, const char *lines)
{
    const char *line;
    struct hn_text text = {0};
    size_t length;
    if (draft->entry != NULL) {
        fill_head(draft);
        fill_names(draft);
        fill_arguments(draft);
    }
    while (hn_text_line(&lines, &line, &length)) {
        const char *end = line + length;
        bool is_there = true;
        for (char sign = *line; sign == '?' || sign == '!'; sign = *++line)
            is_there &= (*part_at(draft, &line) != '\0') == (sign == '?');
        if (!is_there)
            continue;
        const char *at = memchr(line, '@', (size_t)(end - line)), *begin = line;
        if (at != NULL) {
            line = at;
            const char *part = part_at(draft, &line);
            if (*part == '\0')
                continue;
            hn_text_printf(&text, "%.*s%s", (int)(at - begin), begin, part);
        }
        hn_text_append_bytes(&text, line, (size_t)(end - line));
        hn_text_append(&text, "\n");
    }
    return hn_needed(hn_text_take(&text));
}
