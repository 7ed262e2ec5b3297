/* SPDX-License-Identifier: MIT */
#include "base/schema.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    if (!hn_json_expect(reader, holds, key, expected))
        return;
    *to = strdup(json_string_value(json));
    if (*to == NULL)
        hn_fail_memory(reader->err);
}

void hn_json_text(struct hn_json_reader *reader, const json_t *json, const char *key, char **to)
{
    read_text(reader, json, key, json_string_length(json) > 0, "a string", to);
}

void hn_json_word(struct hn_json_reader *reader, const json_t *json, const char *key, char **to)
{
    bool holds = json_is_string(json) && hn_text_is_word(json_string_value(json));
    read_text(reader, json, key, holds, "a name", to);
}

void hn_json_index(struct hn_json_reader *reader, const json_t *json, const char *key, size_t *to)
{
    if (hn_json_expect(reader, json_is_integer(json) && json_integer_value(json) >= 0, key,
                       "a number from 0 on"))
        *to = (size_t)json_integer_value(json);
}

void hn_json_chars(struct hn_json_reader *reader, const json_t *json, const char *key, size_t most,
                   char *to)
{
    char expected[64];
    snprintf(expected, sizeof expected, "a string of at most %zu bytes", most);
    if (hn_json_expect(reader, json_is_string(json) && json_string_length(json) <= most, key,
                       expected))
        strcpy(to, json_string_value(json));
}

void hn_json_count(struct hn_json_reader *reader, const json_t *json, const char *key, int least,
                   int most, int *to)
{
    char expected[64];
    json_int_t count = json_integer_value(json);
    snprintf(expected, sizeof expected, "an integer of %d to %d", least, most);
    if (hn_json_expect(reader, json_is_integer(json) && count >= least && count <= most, key,
                       expected))
        *to = (int)count;
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

void hn_json_amount(struct hn_json_reader *reader, const json_t *json, const char *key, double *to)
{
    double amount = json_number_value(json);
    if (hn_json_expect(reader, json_is_number(json) && isfinite(amount) && amount >= 0, key,
                       "a number from 0 on"))
        *to = amount;
}

void hn_json_finite(struct hn_json_reader *reader, const json_t *json, const char *key, double *to)
{
    if (hn_json_expect(reader, json_is_number(json) && isfinite(json_number_value(json)), key,
                       "a number"))
        *to = json_number_value(json);
}

void hn_json_choice(struct hn_json_reader *reader, const json_t *json, const char *key,
                    const char *const *names, int count, int *to)
{
    const char *name = json_string_value(json);
    int place = name == NULL ? count : (int)hn_text_place(name, names, (size_t)count);
    if (place < count) {
        *to = place;
        return;
    }
    struct hn_text list = {0};
    for (int i = 0; i < count; i++)
        hn_text_printf(&list, "%s%s", i == 0 ? "one of " : ", ", names[i]);
    hn_json_expect(reader, false, key, list.data == NULL ? "a known word" : list.data);
    hn_text_finish(&list);
}

/* Writing one. */

struct hn_builder hn_build_object(void)
{
    json_t *json = json_object();
    return (struct hn_builder){json, json == NULL};
}

struct hn_builder hn_build_array(void)
{
    json_t *json = json_array();
    return (struct hn_builder){json, json == NULL};
}

json_t *hn_build_finish(struct hn_builder *builder)
{
    if (!builder->failed)
        return builder->json;
    json_decref(builder->json);
    return NULL;
}

void hn_build_set(struct hn_builder *object, const char *key, json_t *value)
{
    if (json_object_set_new(object->json, key, value) != 0)
        object->failed = true;
}

void hn_build_append(struct hn_builder *array, json_t *value)
{
    if (json_array_append_new(array->json, value) != 0)
        array->failed = true;
}

void hn_build_string(struct hn_builder *object, const char *key, const char *string)
{
    if (string != NULL)
        hn_build_set(object, key, json_string(string));
}

json_t *hn_real_to_json(double real)
{
    if (isfinite(real))
        return json_real(real);
    return json_pack("{s:s}", "real", isnan(real) ? "nan" : real > 0 ? "inf" : "-inf");
}

json_t *hn_string_to_json(const char *string)
{
    json_t *json = json_string(string);
    char *ascii = json == NULL ? strdup(string) : NULL;
    if (ascii == NULL)
        return json;
    for (char *c = ascii; *c != '\0'; c++) {
        if ((*c & 0x80) != 0)
            *c = '?';
    }
    json = json_string(ascii);
    free(ascii);
    return json;
}

/* The members of a struct. */

void *hn_field_member(const struct hn_field *field, const void *owner)
{
    return (char *)owner + field->offset;
}

size_t *hn_field_count(const struct hn_field *field, const void *owner)
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

static bool is_among(const struct hn_among *among, const void *owner)
{
    int choice;
    memcpy(&choice, (const char *)owner + among->offset, sizeof choice);
    return among->bits == 0 || (among->bits >> choice & 1) != 0;
}

bool hn_field_applies(const struct hn_field *field, const void *owner)
{
    return (field->when == NULL || field->when(owner)) && is_among(&field->among, owner);
}

bool hn_field_rule_holds(const struct hn_field_rule *rule, const void *owner)
{
    return (rule->holds == NULL || rule->holds(owner)) && is_among(&rule->among, owner);
}

static void *allocate(struct hn_json_reader *reader, size_t count, size_t size, void *member)
{
    void *made = calloc(count, size);
    if (made == NULL)
        hn_fail_memory(reader->err);
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
    char *items = allocate(reader, count, item->size, hn_field_member(field, owner));
    for (size_t i = 0; !hn_failed(reader->err) && i < count; i++) {
        const json_t *element = json_array_get(json, i);
        *hn_field_count(field, owner) = i + 1;
        if (is_list_of_values(item))
            read_value(reader, &value, element, items + i * item->size);
        else
            read_struct(reader, field, element, items + i * item->size);
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
    void *member = hn_field_member(field, owner);
    const char *text;
    size_t length;
    double real = 0;
    switch (field->kind) {
    case HN_FIELD_TEXT:
        hn_json_text(reader, json, field->key, member);
        break;
    case HN_FIELD_WORD:
        hn_json_word(reader, json, field->key, member);
        break;
    case HN_FIELD_STRING:
        if (field->needed || !json_is_null(json))
            read_text(reader, json, field->key, json_is_string(json), "a string", member);
        break;
    case HN_FIELD_CHARS:
        hn_json_chars(reader, json, field->key, field->most, member);
        break;
    case HN_FIELD_HASH:
        text = json_is_string(json) ? json_string_value(json) : "?";
        length = strlen(text);
        if (hn_json_expect(
                reader, (length == 0 || length == 32) && strspn(text, "0123456789abcdef") == length,
                field->key, "a hash of 32 hexadecimal digits"))
            strcpy(member, text);
        break;
    case HN_FIELD_INDEX:
        hn_json_index(reader, json, field->key, member);
        break;
    case HN_FIELD_COUNT:
        hn_json_count(reader, json, field->key, field->least,
                      field->most > 0 ? (int)field->most : INT_MAX, member);
        break;
    case HN_FIELD_REAL:
        if (hn_json_expect(reader, hn_real_from_json(json, &real), field->key, "a number"))
            *(double *)member = real;
        break;
    case HN_FIELD_AMOUNT:
        hn_json_amount(reader, json, field->key, member);
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
    case HN_FIELD_OWN:
        ((const struct hn_field_own *)field->of)->read(reader, field, json, member);
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
        if (field->key == NULL || !hn_field_applies(field, owner))
            continue;
        const json_t *value = json_object_get(json, field->key);
        if (value != NULL || field->needed)
            read_value(reader, field, value, owner);
    }
    const struct hn_field_rule *rule = structure->rules;
    for (; !hn_failed(reader->err) && rule != NULL && rule->key != NULL; rule++)
        if (json_object_get(json, rule->key) != NULL && !hn_field_rule_holds(rule, owner))
            hn_fail(reader->err, HN_EFORMAT, "%s: '%s' can not stand here: only %s", reader->what,
                    rule->key, rule->why);
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
        return field->told == NULL && is_empty_struct(field->of, hn_field_member(field, owner));
    /* of which all bytes are 0, then; 0: it never is empty */
    static const size_t sizes[] = {
        [HN_FIELD_TEXT] = sizeof(char *),
        [HN_FIELD_WORD] = sizeof(char *),
        [HN_FIELD_STRING] = sizeof(char *),
        [HN_FIELD_POINTER] = sizeof(void *),
        [HN_FIELD_CHARS] = 1,
        [HN_FIELD_HASH] = 1,
        [HN_FIELD_INDEX] = sizeof(size_t),
        [HN_FIELD_COUNT] = sizeof(int),
        [HN_FIELD_REAL] = sizeof(double),
        [HN_FIELD_AMOUNT] = sizeof(double),
        [HN_FIELD_FLAG] = sizeof(bool),
        [HN_FIELD_NAMED_FLAG] = sizeof(bool),
        [HN_FIELD_LIST] = sizeof(size_t),
        [HN_FIELD_OWN] = 0,
    };
    static const char zeros[sizeof(double)];
    const void *member = field->kind == HN_FIELD_LIST ? (void *)hn_field_count(field, owner)
                                                      : hn_field_member(field, owner);
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

/* Of a field that has no functions of its own. NULL: out of memory. */
static json_t *value_to_json(const struct hn_field *field, const void *owner)
{
    const void *member = hn_field_member(field, owner);
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
    case HN_FIELD_COUNT:
        return json_integer(*(const int *)member);
    case HN_FIELD_REAL:
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
    case HN_FIELD_OWN:
        break;
    }
    return NULL;
}

static void build_own(struct hn_builder *object, const struct hn_field *field, const void *owner)
{
    ((const struct hn_field_own *)field->of)->build(object, field, hn_field_member(field, owner));
}

static json_t *element_to_json(const struct hn_structure *item, const void *element)
{
    const struct hn_field *field = item->fields;
    if (!is_list_of_values(item))
        return hn_fields_to_json(item, element);
    if (field->kind != HN_FIELD_OWN)
        return value_to_json(field, element);
    struct hn_builder object = hn_build_object();
    build_own(&object, field, element);
    json_t *value = json_incref(json_object_get(object.json, field->key));
    json_decref(object.json);
    return value;
}

static json_t *list_to_json(const struct hn_field *field, const void *owner)
{
    const struct hn_structure *item = field->of;
    const char *items = pointer_in(hn_field_member(field, owner));
    struct hn_builder array = hn_build_array();
    for (size_t i = 0; i < *hn_field_count(field, owner); i++)
        hn_build_append(&array, element_to_json(item, items + i * item->size));
    return hn_build_finish(&array);
}

static bool is_written(const struct hn_field *field, const void *owner)
{
    bool is_name = field->kind == HN_FIELD_TEXT || field->kind == HN_FIELD_WORD;
    bool anyway = (field->needed || field->always) && !is_name;
    return field->key != NULL && hn_field_applies(field, owner) &&
           (field->told == NULL || field->told(owner)) && (anyway || !is_empty(field, owner));
}

json_t *hn_fields_to_json(const struct hn_structure *structure, const void *owner)
{
    struct hn_builder object = hn_build_object();
    for (size_t i = 0; i < structure->count; i++) {
        const struct hn_field *field = &structure->fields[i];
        if (!is_written(field, owner))
            continue;
        if (field->kind == HN_FIELD_OWN)
            build_own(&object, field, owner);
        else
            hn_build_set(&object, field->key, value_to_json(field, owner));
    }
    return hn_build_finish(&object);
}

/* The structs that a field holds, one behind the other; returns how many. */
static size_t structs_of(const struct hn_field *field, void *owner, char **structs)
{
    void *member = hn_field_member(field, owner);
    bool points = field->kind == HN_FIELD_POINTER || field->kind == HN_FIELD_LIST;
    *structs = points ? pointer_in(member) : field->kind == HN_FIELD_STRUCT ? member : NULL;
    if (*structs == NULL)
        return 0;
    return field->kind == HN_FIELD_LIST ? *hn_field_count(field, owner) : 1;
}

void hn_fields_finish(const struct hn_structure *structure, void *owner)
{
    for (size_t i = 0; i < structure->count; i++) {
        const struct hn_field *field = &structure->fields[i];
        const struct hn_structure *inner = field->of;
        void *member = hn_field_member(field, owner);
        char *structs;
        size_t count = structs_of(field, owner, &structs);
        for (size_t j = 0; j < count; j++)
            hn_fields_finish(inner, structs + j * inner->size);
        if (field->kind == HN_FIELD_TEXT || field->kind == HN_FIELD_WORD ||
            field->kind == HN_FIELD_STRING || field->kind == HN_FIELD_POINTER ||
            field->kind == HN_FIELD_LIST)
            free(pointer_in(member));
        const struct hn_field_own *own = field->kind == HN_FIELD_OWN ? field->of : NULL;
        if (own != NULL && own->finish != NULL)
            own->finish(member);
    }
}

void hn_fields_walk(const struct hn_structure *structure, void *owner, size_t item,
                    hn_field_visit *visit, void *context)
{
    for (size_t i = 0; i < structure->count; i++) {
        const struct hn_field *field = &structure->fields[i];
        const struct hn_structure *inner = field->of;
        char *structs;
        size_t count = structs_of(field, owner, &structs);
        for (size_t j = 0; j < count; j++)
            hn_fields_walk(inner, structs + j * inner->size,
                           field->kind == HN_FIELD_LIST ? j : item, visit, context);
        if (field->kind == HN_FIELD_OWN)
            visit(context, field, hn_field_member(field, owner), item);
    }
}
