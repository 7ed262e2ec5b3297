/* SPDX-License-Identifier: MIT */
#include "base/fields.h"

#include <stdlib.h>
#include <string.h>

static void *member_of(const struct hn_field *field, const void *owner)
{
    return (char *)owner + field->offset;
}

static size_t *count_of(const struct hn_field *field, const void *owner)
{
    return (size_t *)(void *)((char *)owner + field->count_offset);
}

/* The pointer that a member holds, whatever it points to. */
static void *pointer_in(const void *member)
{
    void *pointer;
    memcpy(&pointer, member, sizeof pointer);
    return pointer;
}

static bool applies(const struct hn_field *field, const void *owner)
{
    return field->when == NULL || field->when(owner);
}

static void *allocate(struct hn_json_reader *reader, size_t count, size_t size, void *member)
{
    void *made = calloc(count, size);
    if (made == NULL)
        reader->status = hn_fail_memory(reader->err);
    else
        memcpy(member, &made, sizeof made);
    return made;
}

static void read_value(struct hn_json_reader *reader, const struct hn_field *field,
                       const json_t *json, void *owner);

static bool is_list_of_values(const struct hn_structure *item)
{
    return item->fields[0].key != NULL && item->fields[0].key[0] == '\0';
}

static void read_list(struct hn_json_reader *reader, const struct hn_field *field,
                      const json_t *json, void *owner)
{
    const struct hn_structure *item = field->of;
    struct hn_field value = item->fields[0];
    value.key = field->key;
    if (!hn_json_expect(reader, json_is_array(json), field->key, "a list"))
        return;
    char *items = allocate(reader, json_array_size(json) + 1, item->size, member_of(field, owner));
    for (size_t i = 0; reader->status == HN_OK && i < json_array_size(json); i++) {
        const json_t *element = json_array_get(json, i);
        *count_of(field, owner) = i + 1;
        if (is_list_of_values(item))
            read_value(reader, &value, element, items + i * item->size);
        else
            hn_fields_read(reader, item, element, items + i * item->size);
    }
}

static void read_choice(struct hn_json_reader *reader, const struct hn_field *field,
                        const json_t *json, void *member)
{
    int choice = 0;
    hn_json_choice(reader, json, field->key, field->of, field->choices, &choice);
    if (field->kind == HN_FIELD_CHOICE)
        memcpy(member, &choice, sizeof choice);
    else
        *(bool *)member = choice == 1;
}

static void read_value(struct hn_json_reader *reader, const struct hn_field *field,
                       const json_t *json, void *owner)
{
    void *member = member_of(field, owner);
    switch (field->kind) {
    case HN_FIELD_TEXT:
        hn_json_text(reader, json, field->key, member);
        break;
    case HN_FIELD_WORD:
        hn_json_word(reader, json, field->key, member);
        break;
    case HN_FIELD_INDEX:
        hn_json_index(reader, json, field->key, member);
        break;
    case HN_FIELD_FLAG:
        if (hn_json_expect(reader, json_is_boolean(json), field->key, "true or false"))
            *(bool *)member = json_is_true(json);
        break;
    case HN_FIELD_CHOICE:
    case HN_FIELD_NAMED_FLAG:
        read_choice(reader, field, json, member);
        break;
    case HN_FIELD_STRUCT:
        hn_fields_read(reader, field->of, json, member);
        break;
    case HN_FIELD_POINTER: {
        const struct hn_structure *structure = field->of;
        void *made = allocate(reader, 1, structure->size, member);
        hn_fields_read(reader, structure, json, made);
        break;
    }
    case HN_FIELD_LIST:
        read_list(reader, field, json, owner);
        break;
    case HN_FIELD_OWN: {
        const struct hn_field_own *own = field->of;
        own->read(reader, field, json, member);
        break;
    }
    }
}

void hn_fields_read(struct hn_json_reader *reader, const struct hn_structure *structure,
                    const json_t *json, void *owner)
{
    for (size_t i = 0; reader->status == HN_OK && i < structure->count; i++) {
        const struct hn_field *field = &structure->fields[i];
        if (field->key == NULL || !applies(field, owner))
            continue;
        const json_t *value = json_object_get(json, field->key);
        if (value != NULL || field->needed)
            read_value(reader, field, value, owner);
    }
    if (reader->status == HN_OK && structure->check != NULL)
        structure->check(reader, owner);
}

static json_t *list_to_json(const struct hn_field *field, const void *owner)
{
    const struct hn_structure *item = field->of;
    const char *items = pointer_in(member_of(field, owner));
    struct hn_builder array = hn_build_array();
    for (size_t i = 0; i < *count_of(field, owner); i++)
        hn_build_append(&array, hn_fields_to_json(item, items + i * item->size));
    return hn_build_finish(&array);
}

/* Whether a member says anything; choices are always told where the owner has them. */
static bool is_empty(const struct hn_field *field, const void *owner)
{
    const void *member = member_of(field, owner);
    switch (field->kind) {
    case HN_FIELD_TEXT:
    case HN_FIELD_WORD:
    case HN_FIELD_POINTER:
        return pointer_in(member) == NULL;
    case HN_FIELD_FLAG:
    case HN_FIELD_NAMED_FLAG:
        return !*(const bool *)member;
    case HN_FIELD_LIST:
        return *count_of(field, owner) == 0;
    case HN_FIELD_STRUCT: {
        const struct hn_structure *structure = field->of;
        return pointer_in(member_of(&structure->fields[0], member)) == NULL;
    }
    case HN_FIELD_INDEX:
    case HN_FIELD_CHOICE:
    case HN_FIELD_OWN:
        break;
    }
    return false;
}

static void build_value(struct hn_builder *object, const struct hn_field *field, const void *owner)
{
    const void *member = member_of(field, owner);
    switch (field->kind) {
    case HN_FIELD_TEXT:
    case HN_FIELD_WORD:
        hn_build_string(object, field->key, pointer_in(member));
        break;
    case HN_FIELD_INDEX:
        hn_build_set(object, field->key, json_integer((json_int_t) * (const size_t *)member));
        break;
    case HN_FIELD_FLAG:
        hn_build_set(object, field->key, json_boolean(*(const bool *)member));
        break;
    case HN_FIELD_CHOICE: {
        int choice;
        memcpy(&choice, member, sizeof choice);
        hn_build_string(object, field->key, ((const char *const *)field->of)[choice]);
        break;
    }
    case HN_FIELD_NAMED_FLAG:
        hn_build_string(object, field->key,
                        ((const char *const *)field->of)[*(const bool *)member]);
        break;
    case HN_FIELD_STRUCT:
        hn_build_set(object, field->key, hn_fields_to_json(field->of, member));
        break;
    case HN_FIELD_POINTER:
        hn_build_set(object, field->key, hn_fields_to_json(field->of, pointer_in(member)));
        break;
    case HN_FIELD_LIST:
        hn_build_set(object, field->key, list_to_json(field, owner));
        break;
    case HN_FIELD_OWN: {
        const struct hn_field_own *own = field->of;
        own->build(object, field, member);
        break;
    }
    }
}

json_t *hn_fields_to_json(const struct hn_structure *structure, const void *owner)
{
    struct hn_builder object = hn_build_object();
    for (size_t i = 0; i < structure->count; i++) {
        const struct hn_field *field = &structure->fields[i];
        if (field->key != NULL && applies(field, owner) &&
            (field->needed || !is_empty(field, owner)))
            build_value(&object, field, owner);
    }
    if (!is_list_of_values(structure))
        return hn_build_finish(&object);
    json_t *value = json_incref(json_object_get(object.json, ""));
    json_decref(object.json);
    return value;
}

/* For each struct that a field holds. */
typedef void each_struct(const struct hn_structure *structure, void *owner, size_t item,
                         void *context);

static void for_structs(const struct hn_field *field, void *owner, size_t item, each_struct *each,
                        void *context)
{
    const struct hn_structure *structure = field->of;
    void *member = member_of(field, owner);
    if (field->kind == HN_FIELD_STRUCT)
        each(structure, member, item, context);
    if (field->kind == HN_FIELD_POINTER && pointer_in(member) != NULL)
        each(structure, pointer_in(member), item, context);
    char *items = field->kind == HN_FIELD_LIST ? pointer_in(member) : NULL;
    for (size_t i = 0; items != NULL && i < *count_of(field, owner); i++)
        each(structure, items + i * structure->size, i, context);
}

static void finish_struct(const struct hn_structure *structure, void *owner, size_t item,
                          void *context)
{
    (void)item;
    (void)context;
    hn_fields_finish(structure, owner);
}

void hn_fields_finish(const struct hn_structure *structure, void *owner)
{
    for (size_t i = 0; i < structure->count; i++) {
        const struct hn_field *field = &structure->fields[i];
        void *member = member_of(field, owner);
        for_structs(field, owner, 0, finish_struct, NULL);
        if (field->kind == HN_FIELD_TEXT || field->kind == HN_FIELD_WORD ||
            field->kind == HN_FIELD_POINTER || field->kind == HN_FIELD_LIST)
            free(pointer_in(member));
        if (field->kind == HN_FIELD_OWN) {
            const struct hn_field_own *own = field->of;
            if (own->finish != NULL)
                own->finish(member);
        }
    }
}

struct walk {
    hn_field_visit *visit;
    void *context;
};

static void walk_struct(const struct hn_structure *structure, void *owner, size_t item,
                        void *context)
{
    struct walk *walk = context;
    for (size_t i = 0; i < structure->count; i++) {
        const struct hn_field *field = &structure->fields[i];
        for_structs(field, owner, item, walk_struct, walk);
        if (field->kind == HN_FIELD_OWN)
            walk->visit(walk->context, field, member_of(field, owner), item);
    }
}

void hn_fields_walk(const struct hn_structure *structure, void *owner, hn_field_visit *visit,
                    void *context)
{
    struct walk walk = {visit, context};
    walk_struct(structure, owner, 0, &walk);
}
