/* SPDX-License-Identifier: MIT */
#include "cache/record/bindings_json.h"

json_t *hn_value_to_json(const struct hn_value *value)
{
    switch (value->type) {
    case HN_INTEGER:
        return json_integer(value->integer);
    case HN_REAL:
        return hn_real_to_json(value->real);
    case HN_BOOLEAN:
        return json_boolean(value->boolean);
    case HN_WORD:
        return json_string(value->word);
    }
    return NULL;
}

json_t *hn_bindings_to_json(const struct hn_bindings *bindings)
{
    struct hn_builder object = hn_build_object();
    for (size_t i = 0; i < bindings->count; i++)
        hn_build_set(&object, bindings->names[i], hn_value_to_json(&bindings->values[i]));
    return hn_build_finish(&object);
}

enum hn_status hn_value_from_json(const json_t *json, struct hn_value *value, struct hn_error *err)
{
    double real = 0;
    switch (json == NULL ? JSON_NULL : json_typeof(json)) {
    case JSON_INTEGER:
        *value = hn_integer(json_integer_value(json));
        return HN_OK;
    case JSON_REAL:
        *value = hn_real(json_real_value(json));
        return HN_OK;
    case JSON_TRUE:
    case JSON_FALSE:
        *value = hn_boolean(json_is_true(json));
        return HN_OK;
    case JSON_STRING:
        if (!hn_text_is_word(json_string_value(json)))
            return hn_fail(err, HN_EFORMAT, "found the string '%.60s', expected a word",
                           json_string_value(json));
        *value = hn_word(json_string_value(json));
        return HN_OK;
    case JSON_OBJECT:
        if (!hn_real_from_json(json, &real))
            return hn_fail(err, HN_EFORMAT, "found an object, expected a value");
        *value = hn_real(real);
        return HN_OK;
    default:
        return hn_fail(err, HN_EFORMAT, "found %s, expected a value", hn_json_type_name(json));
    }
}

enum hn_status hn_bindings_from_json(const json_t *json, struct hn_bindings *bindings,
                                     struct hn_error *err)
{
    if (!json_is_object(json))
        return hn_fail(err, HN_EFORMAT, "found %s, expected an object of names and values",
                       hn_json_type_name(json));
    const char *name;
    json_t *item;
    json_object_foreach((json_t *)json, name, item)
    {
        struct hn_value value;
        if (!hn_text_is_word(name))
            return hn_fail(err, HN_EFORMAT, "found the name '%.60s', expected a word", name);
        enum hn_status status = hn_value_from_json(item, &value, err);
        if (status == HN_OK)
            status = hn_bindings_set(bindings, name, &value, err);
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}

static void read_bindings(struct hn_json_reader *reader, const struct hn_field *field,
                          const json_t *json, void *member)
{
    (void)field;
    hn_json_take(reader, hn_bindings_from_json(json, member, reader->err));
}

static void build_bindings(struct hn_builder *object, const struct hn_field *field,
                           const void *member)
{
    hn_build_set(object, field->key, hn_bindings_to_json(member));
}

static void finish_bindings(void *member)
{
    hn_bindings_finish(member);
}

const struct hn_field_own hn_bindings_field = {read_bindings, build_bindings, finish_bindings};
