/* SPDX-License-Identifier: MIT */
#include "base/schema.h"
#include "base/text.h"
#include "cache/record/record.h"
#include "tuner/init/draft.h"
#include "tuner/report/render.h"

const char *hn_draft_line(const struct hn_draft *draft, const char *text)
{
    char *line = hn_need_kept(&draft->unit->memory, hn_need_copy(text));
    for (char *c = line; *c != '\0'; c++)
        *c = *c >= ' ' && *c <= '~' ? *c : ' ';
    if (strlen(line) > 400)
        memcpy(line + 400, "...", 4);
    return line;
}

/* YAML takes these signs for a text as they stand, within brackets too; what looks like a key, a
 * comment or a list it does not. NULL for NULL. */
static const char *scalar(const struct hn_draft *draft, const char *string)
{
    size_t length = string != NULL ? strlen(string) : 0;
    bool plain = length > 0 && (hn_is_word_char(string[0]) || strchr("(./", string[0]) != NULL) &&
                 string[length - 1] != ' ';
    for (size_t i = 0; i < length; i++)
        plain = plain && (hn_is_word_char(string[i]) || strchr(" +-*/%()<>=!.", string[i]) != NULL);
    return plain || string == NULL
               ? string
               : hn_need_kept(&draft->unit->memory,
                              hn_json_text(hn_string_to_json(string), JSON_ENCODE_ANY));
}

/* Takes the item over. */
static void add(struct hn_draft *draft, const char *list, json_t *item)
{
    if (json_object_get(draft->document, list) == NULL)
        json_object_set_new(draft->document, list, json_array());
    json_array_append_new(json_object_get(draft->document, list), hn_needed(item));
}

void hn_draft_note(struct hn_draft *draft, const char *list, const char *text)
{
    if (text[0] != '\0')
        add(draft, list, hn_string_to_json(text));
}

void hn_draft_note_scalar(struct hn_draft *draft, const char *list, const char *text)
{
    if (text != NULL)
        hn_draft_note(draft, list, scalar(draft, text));
}

const char *hn_draft_value(const struct hn_draft *draft, const struct hn_value *value)
{
    struct hn_text text = {0};
    hn_value_append(&text, value);
    return hn_need_kept(&draft->unit->memory, hn_text_take(&text));
}

static void add_names(struct hn_draft *draft)
{
    HN_EACH(each, draft->names) {
        if (each->is_size && !each->made)
            HN_DRAFT_NOTE(draft, "sizes", "%s: %lld", each->name, (long long)each->preset.integer);
        hn_draft_note(draft, "frozen", each->frozen ? each->name : "");
        if (each->override != NULL)
            HN_DRAFT_NOTE(draft, "overrides", "%s: %s", each->name, each->override);
        if (each->is_size)
            continue;
        json_t *values = json_array();
        HN_EACH(value, each->values)
            json_array_append_new(values, hn_value_to_json(value));
        add(draft, "parameters",
            json_pack("{ss so ss*}", "name", each->name, "values", values, "comment",
                      each->comment));
        if (each->has_preset)
            HN_DRAFT_NOTE(draft, "defaults", "%s: %s", each->name,
                          hn_draft_value(draft, &each->preset));
    }
}

void hn_draft_note_argument(struct hn_draft *draft, const char *list,
                            const struct hn_draft_argument *argument)
{
    static const char *const roles[] = {NULL, "output", "inout"};
    add(draft, list,
        json_pack("{so ss* ss* ss* ss* so ss* ss* ss* ss*}", "name",
                  hn_string_to_json(argument->name), "type", scalar(draft, argument->type), "count",
                  scalar(draft, argument->count), "value", scalar(draft, argument->value), "from",
                  scalar(draft, argument->from), "other", hn_string_to_json(argument->other),
                  "role", roles[argument->role], "fill", scalar(draft, argument->fill), "file",
                  scalar(draft, argument->file), "todo", argument->todo));
}

/* And the launch that passes them. */
static void add_arguments(struct hn_draft *draft)
{
    bool all = true;
    const char *bytes = "";
    HN_EACH(constraint, draft->constraints)
        hn_draft_note_scalar(draft, "constraints", *constraint);
    HN_EACH(argument, draft->arguments) {
        hn_draft_note_argument(draft, "arguments", argument);
        if (argument->expected != NULL)
            HN_DRAFT_NOTE(draft, "expected", "%s: %s", argument->name,
                          scalar(draft, argument->expected));
        all &= !argument->hidden;
        /* Every buffer once, what is read and written twice. */
        bool written = argument->role == HN_DRAFT_INOUT && !argument->unread;
        if (argument->count != NULL && (!argument->hidden || written))
            bytes =
                HN_DRAFT_TEXT(draft, "%s%s%ssizeof(%s) * (%s)", bytes, *bytes != '\0' ? " + " : "",
                              written ? "2 * " : "", argument->type, argument->count);
    }
    hn_draft_note(draft, "bytes", bytes);
    /* A step has to list its arguments where not all of the plan are the kernel's. */
    HN_EACH(argument, draft->arguments)
        if (!all && !argument->hidden && !argument->within)
            hn_draft_note(draft, "passed", argument->name);
    for (int axis = 0; axis < draft->dimensions; axis++) {
        hn_draft_note_scalar(draft, "block", draft->block[axis]);
        hn_draft_note_scalar(draft, "grid", draft->grid[axis]);
    }
}

const char *hn_draft_write(struct hn_draft *draft, const char *lines)
{
    struct hn_text text = {0};
    struct hn_text origin HN_ENDED_BY(hn_text_finish) = {0};
    const char *line;
    size_t length;
    hn_text_append_word(&origin, hn_draft_line(draft, draft->origin));
    HN_DRAFT_NOTE(draft, "origin", "%s", origin.data);
    HN_DRAFT_NOTE(draft, "name", "%s", draft->name);
    HN_DRAFT_NOTE(draft, "capture", "%s", draft->capture != NULL ? draft->capture->path : "");
    hn_draft_note_scalar(draft, "template", draft->template);
    hn_draft_note_scalar(draft, "shared", draft->shared_bytes);
    HN_DRAFT_FLAG(draft, "own_grid", draft->grid_is_known);
    HN_DRAFT_FLAG(draft, "own_block", draft->block_is_known);
    add_names(draft);
    add_arguments(draft);
    struct hn_render_place place = {.document = draft->document, .doubled = true};
    while (hn_text_line(&lines, &line, &length)) {
        size_t word = *line == '*' ? hn_word_length(line + 1) : 0;
        const char *own = HN_DRAFT_TEXT(draft, "%.*s", (int)length, line);
        const char *list = HN_DRAFT_TEXT(draft, "%.*s", (int)word, line + 1);
        const json_t *items = json_object_get(draft->document, list);
        own += word > 0 ? word + 2 : 0;
        for (size_t i = 0; i < (word > 0 ? json_array_size(items) : 1); i++) {
            struct hn_text whole HN_ENDED_BY(hn_text_finish) = {0};
            place.item = word > 0 ? json_array_get(items, i) : draft->document;
            if (hn_render_at(&whole, &place, own))
                hn_text_printf(&text, "%s\n",
                               *own == '#'    ? hn_draft_line(draft, whole.data)
                               : *own != '\0' ? whole.data
                                              : "");
        }
    }
    return hn_need_kept(&draft->unit->memory, hn_text_take(&text));
}
