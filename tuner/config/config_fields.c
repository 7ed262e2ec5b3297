/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/expression/expression_json.h"
#include "tuner/config/config_parts.h"
#include "tuner/config/config_read.h"

/* A mapping of the YAML by a table of fields. */

static const struct hn_config_form *find_form(const struct hn_config_mapping *mapping,
                                              const char *key)
{
    for (const struct hn_config_form *form = mapping->forms; form != NULL && form->key != NULL;
         form++)
        if (strcmp(form->key, key) == 0)
            return form;
    return NULL;
}

static bool has_field(const struct hn_structure *structure, const char *key)
{
    for (size_t i = 0; i < structure->count; i++)
        if (structure->fields[i].key != NULL && strcmp(structure->fields[i].key, key) == 0)
            return true;
    return false;
}

void hn_config_check_mapping(struct hn_config_reader *reader, const struct hn_yaml *node,
                             const struct hn_config_mapping *mapping)
{
    enum { KEYS_MOST = 64 };
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
            if (!has_field(structure, form->key))
                keys[count++] = form->key;
        assert(count <= KEYS_MOST);
    }
    hn_config_check_keys(reader, node, keys, count);
}

/* What a zero stands for can be left out: the first choice, false, no element. */
static bool is_needed(const struct hn_field *field)
{
    return field->needed && field->kind != HN_FIELD_CHOICE && field->kind != HN_FIELD_FLAG &&
           field->kind != HN_FIELD_NAMED_FLAG && field->kind != HN_FIELD_LIST;
}

static void read_choice(struct hn_config_reader *reader, const struct hn_field *field,
                        const struct hn_yaml *node, void *member)
{
    static const char *const truths[] = {"false", "true"};
    bool flag = field->kind == HN_FIELD_FLAG;
    int choice = hn_config_read_choice(reader, node, field->key, flag ? truths : field->of,
                                       flag ? 2 : (size_t)field->choices);
    if (field->kind == HN_FIELD_CHOICE)
        memcpy(member, &choice, sizeof choice);
    else
        *(bool *)member = choice == 1;
}

/* One, or a list; its table says how many at most. */
static void read_expressions(struct hn_config_reader *reader, const struct hn_field *field,
                             const struct hn_yaml *node, void *owner)
{
    bool list = node->kind == HN_YAML_SEQUENCE;
    size_t room = list ? node->count : 1;
    const struct hn_yaml *item = list ? hn_config_first(reader, node) : node;
    char expected[64];
    for (size_t i = 0; list && i < room && reader->status == HN_OK; i++, item = item->next)
        hn_config_check_cut(reader, item);
    snprintf(expected, sizeof expected, "an expression, or a list of 1 to %zu", field->most);
    if (!hn_config_expect(reader, node->kind != HN_YAML_MAPPING && room > 0 && room <= field->most,
                          node, expected))
        return;
    struct hn_expression **read = hn_config_allocate(reader, room, sizeof *read);
    if (read == NULL)
        return;
    memcpy(hn_field_member(field, owner), &read, sizeof read);
    size_t *count = hn_field_count(field, owner);
    item = list ? node->child : node;
    for (; *count < room && reader->status == HN_OK; item = item->next)
        hn_config_read_expression(reader, item, &read[(*count)++]);
}

/* Arguments by their names; a list of anything else has a form of its own. */
static void read_list(struct hn_config_reader *reader, const struct hn_field *field,
                      const struct hn_yaml *node, void *owner)
{
    const struct hn_structure *item = field->of;
    if (item == &hn_expression_list) {
        read_expressions(reader, field, node, owner);
        return;
    }
    assert(item->fields[0].kind == HN_FIELD_INDEX && item->fields[0].key[0] == '\0');
    if (!hn_config_expect_kind(reader, node, HN_YAML_SEQUENCE, "a list of arguments' names"))
        return;
    size_t *indices = hn_config_allocate(reader, node->count, item->size);
    if (indices == NULL)
        return;
    memcpy(hn_field_member(field, owner), &indices, sizeof indices);
    size_t *count = hn_field_count(field, owner);
    for (const struct hn_yaml *child = hn_config_first(reader, node); child != NULL;
         child = hn_config_next(reader, child))
        indices[(*count)++] = hn_config_find_argument(reader, child);
}

static void read_value(struct hn_config_reader *reader, const struct hn_field *field,
                       const struct hn_yaml *node, void *owner)
{
    void *member = hn_field_member(field, owner);
    switch (field->kind) {
    case HN_FIELD_WORD:
        hn_config_read_word(reader, node, "a name ([A-Za-z_][A-Za-z0-9_]*)", member);
        return;
    case HN_FIELD_INDEX:
        *(size_t *)member = hn_config_find_argument(reader, node);
        return;
    case HN_FIELD_FLAG:
    case HN_FIELD_CHOICE:
    case HN_FIELD_NAMED_FLAG:
        read_choice(reader, field, node, member);
        return;
    case HN_FIELD_STRUCT: {
        const struct hn_config_mapping inner = {field->of, NULL, NULL};
        hn_config_check_mapping(reader, node, &inner);
        hn_config_read_mapping(reader, node, &inner, member);
        return;
    }
    case HN_FIELD_LIST:
        read_list(reader, field, node, owner);
        return;
    case HN_FIELD_OWN:
        if (field->of == &hn_expression_field)
            hn_config_read_expression(reader, node, member);
        else if (field->of == &hn_dimensions_field)
            hn_config_read_dimensions(reader, node, member);
        else
            assert(false && "a form");
        return;
    default:
        assert(false && "a form");
    }
}

void hn_config_read_mapping(struct hn_config_reader *reader, const struct hn_yaml *node,
                            const struct hn_config_mapping *mapping, void *owner)
{
    const struct hn_structure *structure = mapping->structure;
    for (size_t i = 0; i < structure->count && reader->status == HN_OK; i++) {
        const struct hn_field *field = &structure->fields[i];
        if (field->key == NULL || (field->when != NULL && !field->when(owner)))
            continue;
        const struct hn_config_form *form = find_form(mapping, field->key);
        const struct hn_yaml *child = hn_yaml_get(node, field->key);
        if (child == NULL && form == NULL && is_needed(field))
            hn_config_need(reader, node, field->key);
        else if (child != NULL && form == NULL)
            read_value(reader, field, child, owner);
        else if (child != NULL && form->read != NULL)
            form->read(reader, child, owner);
    }
    for (const struct hn_config_form *form = mapping->forms;
         form != NULL && form->key != NULL && reader->status == HN_OK; form++) {
        const struct hn_yaml *child = hn_yaml_get(node, form->key);
        if (child != NULL && !has_field(structure, form->key))
            form->read(reader, child, owner);
    }
}
