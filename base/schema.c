/* SPDX-License-Identifier: MIT */
#include "base/schema.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

/* Reading a value. */

bool hn_json_expect(struct hn_json_reader *reader, bool holds, const char *key,
                    const char *expected)
{
    if (!hn_failed(reader->err) && !holds)
        hn_fail(reader->err, HN_EFORMAT, "%s: '%s' is not %s", reader->what, key, expected);
    return !hn_failed(reader->err);
}

const char *hn_json_type_name(const json_t *json)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "an object",   [JSON_ARRAY] = "an array", [JSON_STRING] = "a string",
        [JSON_INTEGER] = "an integer", [JSON_REAL] = "a real",    [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",        [JSON_NULL] = "null",
    };
    return json == NULL ? "nothing" : names[json_typeof(json)];
}

static void read_text(struct hn_json_reader *reader, const json_t *json, const char *key,
                      bool holds, const char *expected, char **to)
{
    if (hn_json_expect(reader, holds, key, expected))
        *to = hn_copy_string(json_string_value(json), reader->err);
}

bool hn_real_from_json(const json_t *json, double *real)
{
    static const char *const words[] = {"nan", "inf", "-inf"};
    static const double reals[] = {NAN, INFINITY, -INFINITY};
    const char *word = json_string_value(json_object_get(json, "real"));
    size_t place = word != NULL && json_object_size(json) == 1 ? hn_text_place(word, words, 3) : 3;
    if (json_is_number(json))
        *real = json_number_value(json);
    else if (place < 3)
        *real = reals[place];
    return json_is_number(json) || place < 3;
}

/* Writing one. */

static void drop_after(int failure, json_t **json)
{
    if (failure == 0)
        return;
    json_decref(*json);
    *json = NULL;
}

void hn_build_set(json_t **object, const char *key, json_t *value)
{
    drop_after(json_object_set_new(*object, key, value), object);
}

void hn_build_append(json_t **array, json_t *value)
{
    drop_after(json_array_append_new(*array, value), array);
}

void hn_json_drop_folder(json_t *object, const char *key)
{
    const char *path = json_string_value(json_object_get(object, key));
    if (path != NULL)
        (void)json_object_set_new(object, key, json_string(basename(path)));
}

char *hn_json_text(json_t *json, size_t flags)
{
    char *text = json_dumps(json, flags);
    json_decref(json);
    return text;
}

json_t *hn_real_to_json(double real)
{
    if (isfinite(real))
        return json_real(real);
    return json_pack("{s:s}", "real", isnan(real) ? "nan" : real > 0 ? "inf" : "-inf");
}

json_t *hn_string_to_json(const char *string)
{
    json_t *json = string == NULL ? json_null() : json_string(string);
    char *ascii HN_FREED = json == NULL ? strdup(string) : NULL;
    if (ascii == NULL)
        return json;
    for (char *c = ascii; *c != '\0'; c++) {
        if ((*c & 0x80) != 0)
            *c = '?';
    }
    return json_string(ascii);
}

/* The members of a struct. */

/* The pointer that a member holds, whatever it points to. */
static void *pointer_in(const void *member)
{
    void *pointer;
    memcpy(&pointer, member, sizeof pointer);
    return pointer;
}

bool hn_field_applies(const struct hn_field *field, const void *owner)
{
    int choice;
    memcpy(&choice, (const char *)owner + field->among.offset, sizeof choice);
    return (field->when == NULL || field->when(owner)) &&
           (field->among.bits == 0 || (field->among.bits >> choice & 1) != 0);
}

static void *allocate(struct hn_json_reader *reader, size_t count, size_t size, void *member)
{
    void *made = hn_allocate(count, size, reader->err);
    if (made != NULL)
        memcpy(member, &made, sizeof made);
    return made;
}

static bool is_list_of_values(const struct hn_structure *item)
{
    return item->fields[0].key != NULL && item->fields[0].key[0] == '\0';
}

static void read_fields(struct hn_json_reader *reader, const struct hn_structure *structure,
                        const json_t *json, void *owner);

static void read_struct(struct hn_json_reader *reader, const struct hn_field *field,
                        const json_t *json, void *owner)
{
    if (hn_json_expect(reader, json_is_object(json), field->key, "an object"))
        read_fields(reader, field->of, json, owner);
}

static void read_list(struct hn_json_reader *reader, const struct hn_field *field,
                      const json_t *json, void *owner)
{
    const struct hn_structure *item = field->of;
    struct hn_field value = item->fields[0];
    value.key = field->key;
    size_t count = json_array_size(json);
    char expected[64] = "a list";
    if (field->most > 0)
        snprintf(expected, sizeof expected, "a list of at most %zu", field->most);
    bool fits = json_is_array(json) && (field->most == 0 || count <= field->most);
    if (!hn_json_expect(reader, fits, field->key, expected) || count == 0)
        return;
    char *items = allocate(reader, count, item->size, hn_field_at(owner, field->offset));
    for (size_t i = 0; !hn_failed(reader->err) && i < count; i++) {
        const json_t *element = json_array_get(json, i);
        *(size_t *)hn_field_at(owner, field->count_offset) = i + 1;
        if (is_list_of_values(item))
            hn_field_read(reader, &value, element, items + i * item->size);
        else
            read_struct(reader, field, element, items + i * item->size);
    }
}

static void read_choice(struct hn_json_reader *reader, const struct hn_field *field,
                        const json_t *json, void *member)
{
    const char *const *names = field->of;
    const char *name = json_string_value(json);
    int choice =
        name == NULL ? field->choices : (int)hn_text_place(name, names, (size_t)field->choices);
    if (choice == field->choices) {
        struct hn_text list HN_ENDED_BY(hn_text_finish) = {0};
        for (int i = 0; i < field->choices; i++)
            hn_text_printf(&list, "%s%s", i == 0 ? "one of " : ", ", names[i]);
        hn_json_expect(reader, false, field->key, list.data == NULL ? "a known word" : list.data);
    } else if (field->kind == HN_FIELD_CHOICE) {
        memcpy(member, &choice, sizeof choice);
    } else {
        *(bool *)member = choice == 1;
    }
}

static void read_number(struct hn_json_reader *reader, const struct hn_field *field,
                        const json_t *json, double *to)
{
    double real = json_number_value(json);
    bool holds = json_is_number(json) && isfinite(real);
    if (field->kind == HN_FIELD_REAL)
        holds = hn_real_from_json(json, &real);
    else if (field->kind == HN_FIELD_AMOUNT)
        holds = holds && real >= 0;
    if (hn_json_expect(reader, holds, field->key,
                       field->kind == HN_FIELD_AMOUNT ? "a number from 0 on" : "a number"))
        *to = real;
}

void hn_field_read(struct hn_json_reader *reader, const struct hn_field *field, const json_t *json,
                   void *owner)
{
    void *member = hn_field_at(owner, field->offset);
    const struct hn_field_own *own = field->of;
    const char *text = json_is_string(json) ? json_string_value(json) : "?";
    size_t length = strlen(text);
    json_int_t integer = json_integer_value(json);
    int most = field->most > 0 ? (int)field->most : INT_MAX;
    char expected[64];
    switch (field->kind) {
    case HN_FIELD_TEXT:
        read_text(reader, json, field->key, json_string_length(json) > 0, "a string", member);
        break;
    case HN_FIELD_WORD:
        read_text(reader, json, field->key, hn_text_is_word(text), "a name", member);
        break;
    case HN_FIELD_STRING:
        if (field->needed || !json_is_null(json))
            read_text(reader, json, field->key, json_is_string(json), "a string", member);
        break;
    case HN_FIELD_CHARS:
        snprintf(expected, sizeof expected, "a string of at most %zu bytes", field->most);
        if (hn_json_expect(reader, json_is_string(json) && json_string_length(json) <= field->most,
                           field->key, expected))
            strcpy(member, text);
        break;
    case HN_FIELD_HASH:
        if (hn_json_expect(
                reader, (length == 0 || length == 32) && strspn(text, "0123456789abcdef") == length,
                field->key, "a hash of 32 hexadecimal digits"))
            strcpy(member, text);
        break;
    case HN_FIELD_INDEX:
        if (hn_json_expect(reader, json_is_integer(json) && integer >= 0, field->key,
                           "a number from 0 on"))
            *(size_t *)member = (size_t)integer;
        break;
    case HN_FIELD_INTEGER:
        if (hn_json_expect(reader, json_is_integer(json), field->key, "an integer"))
            *(int64_t *)member = integer;
        break;
    case HN_FIELD_COUNT:
        if (json_is_integer(json) && integer >= field->least && integer <= most) {
            *(int *)member = (int)integer;
            break;
        }
        snprintf(expected, sizeof expected, "an integer of %d to %d", field->least, most);
        hn_json_expect(reader, false, field->key, expected);
        break;
    case HN_FIELD_REAL:
    case HN_FIELD_FINITE:
    case HN_FIELD_AMOUNT:
        read_number(reader, field, json, member);
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
        read_struct(reader, field, json, member);
        break;
    case HN_FIELD_POINTER:
        read_struct(reader, field, json,
                    allocate(reader, 1, ((const struct hn_structure *)field->of)->size, member));
        break;
    case HN_FIELD_LIST:
        read_list(reader, field, json, owner);
        break;
    case HN_FIELD_OBJECT:
        if (hn_json_expect(reader, json_is_object(json), field->key, "an object"))
            *(json_t **)member = json_incref((json_t *)(uintptr_t)json);
        break;
    case HN_FIELD_OWN:
        if (own->read != NULL)
            own->read(reader, field, json, member);
        break;
    }
}

static void read_fields(struct hn_json_reader *reader, const struct hn_structure *structure,
                        const json_t *json, void *owner)
{
    if (!hn_failed(reader->err) && !json_is_object(json))
        hn_fail(reader->err, HN_EFORMAT, "%s: found %s, expected an object", reader->what,
                hn_json_type_name(json));
    for (size_t i = 0; !hn_failed(reader->err) && i < structure->count; i++) {
        const struct hn_field *field = &structure->fields[i];
        if (field->key == NULL)
            continue;
        const json_t *value = json_object_get(json, field->key);
        bool applies = hn_field_applies(field, owner);
        if (applies && (value != NULL || field->needed))
            hn_field_read(reader, field, value, owner);
        else if (!applies && value != NULL && field->why != NULL)
            hn_fail(reader->err, HN_EFORMAT, "%s: '%s' cannot stand here: only %s", reader->what,
                    field->key, field->why);
    }
    if (!hn_failed(reader->err) && structure->check != NULL)
        structure->check(reader, owner);
}

void hn_fields_read(const char *what, const struct hn_structure *structure, const json_t *json,
                    void *owner, struct hn_error *err)
{
    struct hn_json_reader reader = {what, err, owner};
    read_fields(&reader, structure, json, owner);
    if (err->status == HN_ECONFIG)
        err->status = HN_EFORMAT;
}

static bool is_empty_struct(const struct hn_structure *structure, const void *owner);

static bool is_empty(const struct hn_field *field, const void *owner)
{
    if (field->kind == HN_FIELD_STRUCT)
        return field->told == NULL && is_empty_struct(field->of, hn_field_at(owner, field->offset));
    /* of which all bytes are 0, then; 0: it never is empty */
    static const size_t sizes[] = {
        [HN_FIELD_TEXT] = sizeof(char *),
        [HN_FIELD_WORD] = sizeof(char *),
        [HN_FIELD_STRING] = sizeof(char *),
        [HN_FIELD_POINTER] = sizeof(void *),
        [HN_FIELD_CHARS] = 1,
        [HN_FIELD_HASH] = 1,
        [HN_FIELD_INDEX] = sizeof(size_t),
        [HN_FIELD_INTEGER] = sizeof(int64_t),
        [HN_FIELD_COUNT] = sizeof(int),
        [HN_FIELD_CHOICE] = sizeof(int),
        [HN_FIELD_REAL] = sizeof(double),
        [HN_FIELD_FINITE] = sizeof(double),
        [HN_FIELD_AMOUNT] = sizeof(double),
        [HN_FIELD_FLAG] = sizeof(bool),
        [HN_FIELD_NAMED_FLAG] = sizeof(bool),
        [HN_FIELD_LIST] = sizeof(size_t),
        [HN_FIELD_OBJECT] = sizeof(json_t *),
        [HN_FIELD_OWN] = 0,
    };
    static const char zeros[sizeof(double)];
    const void *member = field->kind == HN_FIELD_LIST ? hn_field_at(owner, field->count_offset)
                                                      : hn_field_at(owner, field->offset);
    return sizes[field->kind] > 0 && memcmp(member, zeros, sizes[field->kind]) == 0;
}

static bool is_empty_struct(const struct hn_structure *structure, const void *owner)
{
    for (size_t i = 0; i < structure->count; i++)
        if (!is_empty(&structure->fields[i], owner))
            return false;
    return true;
}

static json_t *list_to_json(const struct hn_field *field, const void *owner);

/* NULL: out of memory. */
static json_t *value_to_json(const struct hn_field *field, const void *owner)
{
    const void *member = hn_field_at(owner, field->offset);
    int choice = 0;
    switch (field->kind) {
    case HN_FIELD_TEXT:
    case HN_FIELD_WORD:
        return json_string(pointer_in(member));
    case HN_FIELD_STRING:
        return hn_string_to_json(pointer_in(member) != NULL ? pointer_in(member) : "");
    case HN_FIELD_CHARS:
    case HN_FIELD_HASH:
        return hn_string_to_json(member);
    case HN_FIELD_INDEX:
        return json_integer((json_int_t) * (const size_t *)member);
    case HN_FIELD_INTEGER:
        return json_integer(*(const int64_t *)member);
    case HN_FIELD_COUNT:
        return json_integer(*(const int *)member);
    case HN_FIELD_REAL:
    case HN_FIELD_FINITE:
    case HN_FIELD_AMOUNT:
        return hn_real_to_json(*(const double *)member);
    case HN_FIELD_FLAG:
        return json_boolean(*(const bool *)member);
    case HN_FIELD_CHOICE:
        memcpy(&choice, member, sizeof choice);
        return json_string(((const char *const *)field->of)[choice]);
    case HN_FIELD_NAMED_FLAG:
        return json_string(((const char *const *)field->of)[*(const bool *)member]);
    case HN_FIELD_STRUCT:
        return hn_fields_to_json(field->of, member);
    case HN_FIELD_POINTER:
        return hn_fields_to_json(field->of, pointer_in(member));
    case HN_FIELD_LIST:
        return list_to_json(field, owner);
    case HN_FIELD_OBJECT:
        return json_incref(pointer_in(member));
    case HN_FIELD_OWN:
        return ((const struct hn_field_own *)field->of)->build(field, member);
    }
    return NULL;
}

static json_t *list_to_json(const struct hn_field *field, const void *owner)
{
    const struct hn_structure *item = field->of;
    const char *items = pointer_in(hn_field_at(owner, field->offset));
    json_t *array = json_array();
    for (size_t i = 0; i < *(size_t *)hn_field_at(owner, field->count_offset); i++) {
        const void *element = items + i * item->size;
        hn_build_append(&array, is_list_of_values(item) ? value_to_json(item->fields, element)
                                                        : hn_fields_to_json(item, element));
    }
    return array;
}

json_t *hn_fields_to_json(const struct hn_structure *structure, const void *owner)
{
    json_t *object = json_object();
    HN_EACH_OF(field, structure->fields, structure->count) {
        bool is_name = field->kind == HN_FIELD_TEXT || field->kind == HN_FIELD_WORD;
        bool anyway = (field->needed || field->always) && !is_name;
        if (field->key == NULL || !hn_field_applies(field, owner) ||
            (field->told != NULL && !field->told(owner)) || (!anyway && is_empty(field, owner)))
            continue;
        json_t *value = value_to_json(field, owner);
        if (!json_is_null(value))
            hn_build_set(&object, field->key, value);
    }
    return object;
}

/* The structs that a field holds, one behind the other; returns how many. */
static size_t structs_of(const struct hn_field *field, void *owner, char **structs)
{
    void *member = hn_field_at(owner, field->offset);
    bool points = field->kind == HN_FIELD_POINTER || field->kind == HN_FIELD_LIST;
    *structs = points ? pointer_in(member) : field->kind == HN_FIELD_STRUCT ? member : NULL;
    if (*structs == NULL)
        return 0;
    return field->kind == HN_FIELD_LIST ? *(size_t *)hn_field_at(owner, field->count_offset) : 1;
}

void hn_fields_finish(const struct hn_structure *structure, void *owner)
{
    HN_EACH_OF(field, structure->fields, structure->count) {
        const struct hn_structure *inner = field->of;
        void *member = hn_field_at(owner, field->offset);
        char *structs;
        size_t count = structs_of(field, owner, &structs);
        for (size_t j = 0; j < count; j++)
            hn_fields_finish(inner, structs + j * inner->size);
        if (field->kind == HN_FIELD_TEXT || field->kind == HN_FIELD_WORD ||
            field->kind == HN_FIELD_STRING || field->kind == HN_FIELD_POINTER ||
            field->kind == HN_FIELD_LIST)
            free(pointer_in(member));
        if (field->kind == HN_FIELD_OBJECT)
            json_decref(pointer_in(member));
        const struct hn_field_own *own = field->kind == HN_FIELD_OWN ? field->of : NULL;
        if (own != NULL && own->finish != NULL)
            own->finish(member);
    }
}

void hn_fields_walk(const struct hn_structure *structure, void *owner,
                    void (*visit)(void *context, const struct hn_field *field, void *member),
                    void *context)
{
    HN_EACH_OF(field, structure->fields, structure->count) {
        const struct hn_structure *inner = field->of;
        char *structs;
        size_t count = structs_of(field, owner, &structs);
        for (size_t j = 0; j < count; j++)
            hn_fields_walk(inner, structs + j * inner->size, visit, context);
        if (field->kind == HN_FIELD_OWN)
            visit(context, field, hn_field_at(owner, field->offset));
    }
}
