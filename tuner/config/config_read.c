/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/expression/expression.h"
#include "tuner/config/config_parts.h"

/* Characters of a text that a message shows; keys of a mapping. */
enum { SHOWN = 60, KEYS_MOST = 64 };

void hn_config_fail(struct hn_reader *reader, const struct hn_yaml *node, const char *format, ...)
{
    char message[3072];
    va_list arguments;
    if (hn_failed(reader->err))
        return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    hn_fail(reader->err, HN_ECONFIG, "%s:%d:%d: %s", reader->path, node->line, node->column,
            message);
}

static bool is_nothing(const struct hn_yaml *node)
{
    return node->kind == HN_YAML_SCALAR && !node->quoted &&
           (node->text[0] == '\0' || strcmp(node->text, "~") == 0 ||
            strcmp(node->text, "null") == 0);
}

/* Whether it is a scalar with something in it. */
static bool has_text(const struct hn_yaml *node)
{
    return node->kind == HN_YAML_SCALAR && !is_nothing(node) && node->text[0] != '\0';
}

static const char *dots_behind(const char *text)
{
    return strlen(text) > SHOWN ? "..." : "";
}

static void fail_found(struct hn_reader *reader, const struct hn_yaml *node, const char *expected)
{
    if (hn_failed(reader->err))
        return;
    if (node->kind != HN_YAML_SCALAR)
        hn_config_fail(reader, node, "found %s %s, expected %s", node->count > 0 ? "a" : "an empty",
                       hn_yaml_kind_names[node->kind], expected);
    else if (is_nothing(node))
        hn_config_fail(reader, node, "found nothing, expected %s", expected);
    else
        hn_config_fail(reader, node, "found '%.*s%s', expected %s", SHOWN, node->text,
                       dots_behind(node->text), expected);
}

void hn_config_expect_known(struct hn_reader *reader, const struct hn_yaml *node, const char *what,
                            const char *found, const char *const *known, size_t count)
{
    if (hn_failed(reader->err) || hn_text_is_among(found, known, count))
        return;
    struct hn_text text HN_ENDED_BY(hn_text_finish) = {0};
    hn_text_append_known(&text, found, known, count);
    hn_config_fail(reader, node, "unknown %s '%.*s'%s", what, SHOWN, found, text.data);
}

void hn_config_take(struct hn_reader *reader, const struct hn_yaml *node, const char *text,
                    const struct hn_error *reason)
{
    if (hn_failed(reason) && text == NULL)
        hn_config_fail(reader, node, "%s", reason->message);
    else if (hn_failed(reason))
        hn_config_fail(reader, node, "in '%.*s%s': %s", SHOWN, text, dots_behind(text),
                       reason->message);
}

const char *hn_config_where(const struct hn_reader *reader, const struct hn_yaml *node)
{
    return hn_need_format(&reader->config->blocks, "%s:%d:%d", reader->path, node->line,
                          node->column);
}

bool hn_config_expect(struct hn_reader *reader, bool holds, const struct hn_yaml *node,
                      const char *expected)
{
    if (!holds)
        fail_found(reader, node, expected);
    return !hn_failed(reader->err);
}

bool hn_config_expect_kind(struct hn_reader *reader, const struct hn_yaml *node,
                           enum hn_yaml_kind kind, const char *expected)
{
    return hn_config_expect(reader, node == NULL || node->kind == kind, node, expected);
}

const struct hn_yaml *hn_config_need(struct hn_reader *reader, const struct hn_yaml *mapping,
                                     const char *key)
{
    const struct hn_yaml *child = hn_yaml_get(mapping, key);
    if (child == NULL)
        hn_config_fail(reader, mapping, "key '%s' is missing", key);
    return hn_failed(reader->err) ? NULL : child;
}

const struct hn_yaml *hn_config_list(struct hn_reader *reader, const struct hn_yaml *node,
                                     const char *expected)
{
    return hn_config_expect_kind(reader, node, HN_YAML_SEQUENCE, expected) && node != NULL
               ? node->child
               : NULL;
}

const struct hn_yaml *hn_config_pairs(struct hn_reader *reader, const struct hn_yaml *node,
                                      const char *expected)
{
    return hn_config_expect_kind(reader, node, HN_YAML_MAPPING, expected) && node != NULL
               ? node->child
               : NULL;
}

size_t hn_config_count(const struct hn_yaml *node)
{
    return node == NULL ? 0 : node->count;
}

static void check_keys(struct hn_reader *reader, const struct hn_yaml *node,
                       const char *const *keys, size_t count)
{
    const struct hn_yaml *before = NULL;
    const struct hn_yaml *child = hn_config_pairs(reader, node, "a mapping");
    for (; child != NULL; before = child, child = child->next)
        /* {count: max(M, N)} has a key "N)": the value before it is to blame. */
        if (!hn_text_is_among(child->key->text, keys, count) &&
            (before == NULL || hn_config_check_cut(reader, before)))
            hn_config_expect_known(reader, child->key, "key", child->key->text, keys, count);
}

void hn_config_check_keys(struct hn_reader *reader, const struct hn_yaml *node, const char *keys)
{
    const char *list[KEYS_MOST];
    size_t count = 0;
    char *rest = NULL, *copy HN_FREED = hn_need_copy(keys);
    for (char *key = strtok_r(copy, " ", &rest); key != NULL; key = strtok_r(NULL, " ", &rest)) {
        assert(count < KEYS_MOST);
        list[count++] = key;
    }
    check_keys(reader, node, list, count);
}

bool hn_config_check_cut(struct hn_reader *reader, const struct hn_yaml *node)
{
    int open = 0;
    if (node->kind == HN_YAML_SCALAR && !node->quoted && node->flow)
        for (const char *c = node->text; *c != '\0'; c++)
            open += *c == '(' ? 1 : *c == ')' ? -1 : 0;
    if (open > 0)
        hn_config_fail(reader, node,
                       "found '%.*s' with a parenthesis left open, since a comma inside [] or {} "
                       "ends it; quote this: \"%.*s, ...\"",
                       SHOWN, node->text, SHOWN, node->text);
    return !hn_failed(reader->err);
}

void hn_config_read_text(struct hn_reader *reader, const struct hn_yaml *node, const char *expected,
                         char **to)
{
    if (node != NULL && hn_config_expect(reader, has_text(node), node, expected))
        *to = hn_need_copy(node->text);
}

void hn_config_read_word(struct hn_reader *reader, const struct hn_yaml *node, const char *expected,
                         char **to)
{
    if (node != NULL &&
        hn_config_expect(reader, node->kind == HN_YAML_SCALAR && hn_text_is_word(node->text), node,
                         expected))
        hn_config_read_text(reader, node, expected, to);
}

void hn_config_read_path(struct hn_reader *reader, const struct hn_yaml *node, const char *expected,
                         char **to)
{
    char *written HN_FREED = NULL;
    struct hn_text path HN_ENDED_BY(hn_text_finish) = {0};
    hn_config_read_text(reader, node, expected, &written);
    if (written == NULL)
        return;
    hn_text_printf(&path, written[0] == '/' ? "" : "%s/", reader->folder);
    hn_text_append(&path, written);
    char *real = realpath(path.data, NULL);
    *to = real != NULL ? real : hn_needed(hn_text_take(&path));
}

int hn_config_read_choice(struct hn_reader *reader, const struct hn_yaml *node,
                          const char *const *choices, size_t count)
{
    if (hn_failed(reader->err) || node == NULL)
        return 0;
    size_t choice =
        node->kind == HN_YAML_SCALAR ? hn_text_place(node->text, choices, count) : count;
    if (choice < count)
        return (int)choice;
    struct hn_text expected HN_ENDED_BY(hn_text_finish) = {0};
    for (size_t i = 0; i < count; i++)
        hn_text_printf(&expected, "%s%s", i == 0 ? "one of " : ", ", choices[i]);
    fail_found(reader, node, expected.data);
    return 0;
}

bool hn_config_read_flag(struct hn_reader *reader, const struct hn_yaml *node)
{
    static const char *const truths[] = {"false", "true"};
    return hn_config_read_choice(reader, node, truths, 2) == 1;
}

const struct hn_yaml *hn_config_place(const struct hn_reader *reader,
                                      const struct hn_expression *expression)
{
    for (size_t i = 0; i < reader->place_count; i++)
        if (reader->places[i].expression == expression)
            return reader->places[i].node;
    return reader->root;
}

void hn_config_parse(struct hn_reader *reader, const struct hn_yaml *node, const char *text,
                     struct hn_expression **to)
{
    struct hn_error reason = {0};
    if (hn_failed(reader->err))
        return;
    char *expanded HN_FREED = hn_config_expand(reader, node, text, false);
    if (!hn_failed(reader->err) && hn_expression_parse(expanded, to, &reason) == HN_OK)
        *HN_NEXT(reader->places, reader->place_count) = (struct hn_config_place){*to, node};
    hn_config_take(reader, node, text, &reason);
}

void hn_config_bind(struct hn_reader *reader, const struct hn_yaml *node, const char *text,
                    struct hn_expression *expression, const struct hn_scope *scope)
{
    struct hn_error reason = {0};
    if (hn_failed(reader->err))
        return;
    hn_expression_bind(expression, scope, &reason);
    hn_config_take(reader, node, text, &reason);
}

void hn_config_read_expression(struct hn_reader *reader, const struct hn_yaml *node,
                               struct hn_expression **to)
{
    if (node != NULL && hn_config_expect(reader, has_text(node), node, "an expression") &&
        hn_config_check_cut(reader, node))
        hn_config_parse(reader, node, node->text, to);
}

/* One, or a list of at most so many. Returns how many. */
static size_t read_expressions(struct hn_reader *reader, const struct hn_yaml *node, size_t most,
                               const char *of, struct hn_expression **to)
{
    bool list = node->kind == HN_YAML_SEQUENCE;
    size_t count = list ? node->count : 1;
    char expected[64];
    for (const struct hn_yaml *item = list ? node->child : NULL; item != NULL; item = item->next)
        hn_config_check_cut(reader, item);
    snprintf(expected, sizeof expected, "an expression, or a list of 1 to %zu%s", most, of);
    if (!hn_config_expect(reader, node->kind != HN_YAML_MAPPING && count > 0 && count <= most, node,
                          expected))
        return 0;
    const struct hn_yaml *item = list ? node->child : node;
    for (size_t i = 0; i < count; i++, item = item->next)
        hn_config_read_expression(reader, item, &to[i]);
    return count;
}

void hn_config_read_whole(struct hn_reader *reader, const struct hn_yaml *node, int64_t least,
                          int64_t most, const char *expected, int64_t *to)
{
    static const struct hn_scope nothing = {NULL, 0, NULL, 0};
    struct hn_expression *expression = NULL;
    int64_t result = least;
    if (!hn_config_expect_kind(reader, node, HN_YAML_SCALAR, expected) || node == NULL)
        return;
    bool found = hn_expression_parse(node->text, &expression, NULL) == HN_OK &&
                 hn_expression_bind(expression, &nothing, NULL) == HN_OK &&
                 hn_expression_integer(expression, NULL, &result, NULL);
    hn_expression_destroy(expression);
    if (hn_config_expect(reader, found && result >= least && result <= most, node, expected))
        *to = result;
}

static const struct hn_config_form *find_form(const struct hn_config_mapping *mapping,
                                              const char *key)
{
    const struct hn_config_form *form = mapping->forms;
    while (form != NULL && form->key != NULL && strcmp(form->key, key) != 0)
        form++;
    return form != NULL && form->key != NULL ? form : NULL;
}

const struct hn_field *hn_config_find_field(const struct hn_structure *structure, const char *key)
{
    for (size_t i = 0; i < structure->count; i++)
        if (structure->fields[i].key != NULL && strcmp(structure->fields[i].key, key) == 0)
            return &structure->fields[i];
    return NULL;
}

void hn_config_check_mapping(struct hn_reader *reader, const struct hn_yaml *node,
                             const struct hn_config_mapping *mapping)
{
    const char *keys[KEYS_MOST];
    size_t count = 0;
    for (; mapping != NULL; mapping = mapping->beside) {
        const struct hn_structure *structure = mapping->structure;
        for (size_t i = 0; i < structure->count; i++) {
            const char *key = structure->fields[i].key;
            const struct hn_config_form *form = key == NULL ? NULL : find_form(mapping, key);
            if (key != NULL && (form == NULL || form->read != NULL))
                keys[count++] = key;
        }
        for (const struct hn_config_form *form = mapping->forms; form != NULL && form->key != NULL;
             form++)
            if (hn_config_find_field(structure, form->key) == NULL)
                keys[count++] = form->key;
        assert(count <= KEYS_MOST);
    }
    check_keys(reader, node, keys, count);
}

/* Expressions, or arguments by their names; a list of anything else has a form of its own. */
static void read_list(struct hn_reader *reader, const struct hn_field *field,
                      const struct hn_yaml *node, void *owner)
{
    void *member = hn_field_at(owner, field->offset);
    size_t *count = hn_field_at(owner, field->count_offset);
    if (field->of == &hn_expression_list) {
        struct hn_expression **list = hn_need(field->most, sizeof *list);
        memcpy(member, &list, sizeof list);
        *count = read_expressions(reader, node, field->most, "", list);
        return;
    }
    assert(((const struct hn_structure *)field->of)->fields[0].kind == HN_FIELD_INDEX);
    const struct hn_yaml *item = hn_config_list(reader, node, "a list of arguments' names");
    size_t *indices = hn_need(node->count, sizeof *indices);
    memcpy(member, &indices, sizeof indices);
    for (; item != NULL; item = item->next)
        indices[(*count)++] = hn_config_find_argument(reader, item);
}

static void read_field(struct hn_reader *reader, const struct hn_field *field,
                       const struct hn_yaml *node, void *owner)
{
    void *member = hn_field_at(owner, field->offset);
    const struct hn_config_mapping inner = {.structure = field->of};
    if (field->kind == HN_FIELD_WORD) {
        hn_config_read_word(reader, node, "a name ([A-Za-z_][A-Za-z0-9_]*)", member);
    } else if (field->kind == HN_FIELD_INDEX) {
        *(size_t *)member = hn_config_find_argument(reader, node);
    } else if (field->kind == HN_FIELD_FLAG) {
        *(bool *)member = hn_config_read_flag(reader, node);
    } else if (field->kind == HN_FIELD_NAMED_FLAG) {
        *(bool *)member = hn_config_read_choice(reader, node, field->of, 2) == 1;
    } else if (field->kind == HN_FIELD_CHOICE) {
        int choice = hn_config_read_choice(reader, node, field->of, (size_t)field->choices);
        memcpy(member, &choice, sizeof choice);
    } else if (field->kind == HN_FIELD_STRUCT) {
        hn_config_read_mapping(reader, node, &inner, member);
    } else if (field->kind == HN_FIELD_LIST) {
        read_list(reader, field, node, owner);
    } else if (field->of == &hn_expression_field) {
        hn_config_read_expression(reader, node, member);
    } else {
        assert(field->of == &hn_dimensions_field);
        read_expressions(reader, node, 3, ": x, y, z", member);
    }
}

/* Whether the owner has what a key says; a key that only others have is refused. */
static bool may_have(struct hn_reader *reader, const struct hn_yaml *child,
                     const struct hn_field *field, const void *owner)
{
    bool applies = hn_field_applies(field, owner);
    if (!applies && child != NULL && field->why != NULL)
        hn_config_fail(reader, child->key, "'%s' cannot stand here: only %s", child->key->text,
                       field->why);
    return applies;
}

static void read_members(struct hn_reader *reader, const struct hn_yaml *node,
                         const struct hn_config_mapping *mapping, void *owner)
{
    const struct hn_structure *structure = mapping->structure;
    for (size_t i = 0; i < structure->count && !hn_failed(reader->err); i++) {
        const struct hn_field *field = &structure->fields[i];
        if (field->key == NULL)
            continue;
        const struct hn_config_form *form = find_form(mapping, field->key);
        const struct hn_yaml *child = hn_yaml_get(node, field->key);
        if (!may_have(reader, child, field, owner))
            continue;
        /* A key can be left out where zero stands for it: the first choice, false, no element. */
        bool needed = field->needed && field->kind != HN_FIELD_CHOICE &&
                      field->kind != HN_FIELD_FLAG && field->kind != HN_FIELD_NAMED_FLAG &&
                      field->kind != HN_FIELD_LIST;
        if (child == NULL && form == NULL && needed)
            hn_config_need(reader, node, field->key);
        else if (child != NULL && form == NULL)
            read_field(reader, field, child, owner);
        else if (child != NULL && form->read != NULL)
            form->read(reader, child, owner);
    }
    for (const struct hn_config_form *form = mapping->forms;
         form != NULL && form->key != NULL && !hn_failed(reader->err); form++) {
        const struct hn_yaml *child = hn_yaml_get(node, form->key);
        if (child != NULL && hn_config_find_field(structure, form->key) == NULL)
            form->read(reader, child, owner);
    }
}

void hn_config_read_mapping(struct hn_reader *reader, const struct hn_yaml *node,
                            const struct hn_config_mapping *mapping, void *owner)
{
    hn_config_check_mapping(reader, node, mapping);
    read_members(reader, node, mapping, owner);
    for (const struct hn_config_mapping *beside = mapping->beside; beside != NULL;
         beside = beside->beside) {
        const struct hn_field *within = hn_config_find_field(mapping->structure, beside->within);
        for (size_t i = 0; i < beside->structure->count; i++)
            may_have(reader, hn_yaml_get(node, beside->structure->fields[i].key), within, owner);
        if (hn_field_applies(within, owner))
            read_members(reader, node, beside, hn_field_at(owner, within->offset));
    }
}
