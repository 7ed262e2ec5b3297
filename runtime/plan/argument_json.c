/* SPDX-License-Identifier: MIT */
#include "runtime/plan/argument_json.h"

#include <stdlib.h>

#include "base/expression/expression_json.h"

static void build_number(struct hn_builder *object, const char *key, const struct hn_fill *fill,
                         int number)
{
    if (fill->expressions[number] != NULL)
        hn_build_expression(object, key, fill->expressions[number]);
    else
        hn_build_set(object, key, json_real(fill->numbers[number]));
}

static json_t *fill_json(const struct hn_fill *fill)
{
    struct hn_builder object = hn_build_object();
    hn_build_string(&object, "kind", hn_fill_kind_name(fill->kind));
    build_number(&object, "a", fill, 0);
    build_number(&object, "b", fill, 1);
    hn_build_string(&object, "file", fill->file);
    return hn_build_finish(&object);
}

json_t *hn_compare_to_json(const struct hn_compare *compare)
{
    struct hn_builder object = hn_build_object();
    hn_build_string(&object, "mode", hn_compare_mode_names[compare->mode]);
    hn_build_expression(&object, "relative", compare->relative);
    hn_build_expression(&object, "absolute", compare->absolute);
    return hn_build_finish(&object);
}

static json_t *texture_json(const struct hn_texture *texture)
{
    return json_pack("{s:i, s:[s, s], s:s, s:b, s:s}", "dimensions", texture->dimensions, "address",
                     hn_texture_addresses[texture->address[0]],
                     hn_texture_addresses[texture->address[1]], "filter",
                     hn_texture_filters[texture->linear], "normalized", texture->normalized, "read",
                     hn_texture_reads[texture->as_float]);
}

static void build_shape(struct hn_builder *object, const struct hn_shape *shape)
{
    hn_build_expression(object, "width", shape->width);
    hn_build_expression(object, "height", shape->height);
    hn_build_expression(object, "pitch", shape->pitch);
    if (shape->device)
        hn_build_set(object, "device_pitch", json_true());
}

json_t *hn_argument_to_json(const struct hn_argument *argument)
{
    char type[HN_TYPE_SIZE];
    struct hn_builder object = hn_build_object();
    hn_argument_format_type(argument, type);
    hn_build_string(&object, "name", argument->name);
    hn_build_string(&object, "type", type);
    hn_build_string(&object, "role", hn_role_name(argument->role));
    if (argument->shape.width == NULL)
        hn_build_expression(&object, "count", argument->count);
    else
        build_shape(&object, &argument->shape);
    hn_build_expression(&object, "value", argument->value);
    if (hn_argument_is_filled(argument))
        hn_build_set(&object, "fill", fill_json(&argument->fill));
    hn_build_string(&object, "from", argument->from);
    if (argument->role == HN_ROLE_TEXTURE)
        hn_build_set(&object, "texture", texture_json(&argument->texture));
    hn_build_expression(&object, "if", argument->condition);
    if (argument->changes)
        hn_build_set(&object, "changes", json_true());
    if (argument->zero_inside)
        hn_build_string(&object, "zero", "inside");
    if (argument->compare != NULL)
        hn_build_set(&object, "compare", hn_compare_to_json(argument->compare));
    hn_build_string(&object, "length", argument->length);
    return hn_build_finish(&object);
}

static enum hn_status read_number(const json_t *json, const char *key, struct hn_fill *fill,
                                  int number, struct hn_error *err)
{
    if (json_is_string(json_object_get(json, key)))
        return hn_json_expression(json, key, &fill->expressions[number], err);
    return hn_json_finite(json, key, &fill->numbers[number], err);
}

static enum hn_status read_fill(const json_t *object, struct hn_fill *fill, struct hn_error *err)
{
    const json_t *json = json_object_get(object, "fill");
    const char *kind = json_string_value(json_object_get(json, "kind"));
    int numbers = 0;
    if (kind == NULL || !hn_fill_kind_parse(kind, &fill->kind, &numbers))
        return hn_json_fail(err, "fill", "a known fill");
    enum hn_status status = read_number(json, "a", fill, 0, err);
    if (status == HN_OK)
        status = read_number(json, "b", fill, 1, err);
    if (status == HN_OK && fill->kind == HN_FILL_FILE)
        status = hn_json_string(json, "file", false, &fill->file, err);
    return status;
}

/* What may stand beside what. */
static bool is_consistent(const struct hn_argument *argument)
{
    bool judged = argument->compare != NULL || argument->length != NULL;
    if (judged && !hn_argument_is_compared(argument))
        return false;
    if (argument->value != NULL && argument->lanes > 1)
        return false;
    int sources = (argument->count != NULL) + (argument->value != NULL) + (argument->from != NULL);
    if (argument->role == HN_ROLE_SYMBOL)
        return sources == 1;
    if (argument->role == HN_ROLE_TEXTURE)
        return sources == 1 && argument->from != NULL;
    return sources == 1 && (argument->count == NULL) == (argument->role == HN_ROLE_VALUE);
}

static enum hn_status read_texture(const json_t *object, struct hn_texture *texture,
                                   struct hn_error *err)
{
    const json_t *address = json_object_get(object, "address");
    const json_t *dimensions = json_object_get(object, "dimensions");
    int filter = hn_json_choice(object, "filter", hn_texture_filters, 2);
    int read = hn_json_choice(object, "read", hn_texture_reads, 2);
    if (!json_is_integer(dimensions) || json_integer_value(dimensions) < 1 ||
        json_integer_value(dimensions) > 2 || filter < 0 || read < 0 ||
        json_array_size(address) != 2)
        return hn_json_fail(err, "texture", "what a texture is to be");
    texture->dimensions = (int)json_integer_value(dimensions);
    texture->linear = filter == 1;
    texture->as_float = read == 1;
    texture->normalized = json_is_true(json_object_get(object, "normalized"));
    for (size_t i = 0; i < 2; i++) {
        int mode = hn_json_choice_of(json_array_get(address, i), hn_texture_addresses,
                                     HN_TEXTURE_ADDRESS_COUNT);
        if (mode < 0)
            return hn_json_fail(err, "address", "a list of two address modes");
        texture->address[i] = (enum hn_texture_address)mode;
    }
    return HN_OK;
}

static enum hn_status read_source(const json_t *object, struct hn_argument *argument,
                                  struct hn_error *err)
{
    enum hn_status status = HN_OK;
    if (json_object_get(object, "from") != NULL)
        status = hn_json_word(object, "from", &argument->from, err);
    if (status == HN_OK && argument->role == HN_ROLE_TEXTURE)
        return read_texture(json_object_get(object, "texture"), &argument->texture, err);
    if (status != HN_OK || argument->role != HN_ROLE_SYMBOL)
        return status;
    argument->changes = json_is_true(json_object_get(object, "changes"));
    return hn_json_expression(object, "if", &argument->condition, err);
}

enum hn_status hn_compare_from_json(const json_t *object, struct hn_compare *compare,
                                    struct hn_error *err)
{
    int mode = hn_json_choice(object, "mode", hn_compare_mode_names, HN_COMPARE_MODE_COUNT);
    if (mode < 0)
        return hn_json_fail(err, "compare", "a known comparison");
    compare->mode = (enum hn_compare_mode)mode;
    enum hn_status status = hn_json_expression(object, "relative", &compare->relative, err);
    return status == HN_OK ? hn_json_expression(object, "absolute", &compare->absolute, err)
                           : status;
}

static enum hn_status read_comparison(const json_t *object, struct hn_argument *argument,
                                      struct hn_error *err)
{
    const json_t *compare = json_object_get(object, "compare");
    enum hn_status status = HN_OK;
    if (json_object_get(object, "length") != NULL)
        status = hn_json_word(object, "length", &argument->length, err);
    if (status != HN_OK || compare == NULL)
        return status;
    argument->compare = calloc(1, sizeof *argument->compare);
    if (argument->compare == NULL)
        return hn_fail_memory(err);
    return hn_compare_from_json(compare, argument->compare, err);
}

static enum hn_status read_zero(const json_t *object, struct hn_argument *argument,
                                struct hn_error *err)
{
    static const char *const names[] = {"outside", "inside"};
    if (json_object_get(object, "zero") == NULL)
        return HN_OK;
    int choice = hn_json_choice(object, "zero", names, 2);
    if (choice < 0 || argument->role != HN_ROLE_COUNTER)
        return hn_json_fail(err, "zero", "inside or outside, of a counter");
    argument->zero_inside = choice == 1;
    return HN_OK;
}

/* Either count, or width and height. */
static enum hn_status read_count(const json_t *object, struct hn_argument *argument,
                                 struct hn_error *err)
{
    struct hn_shape *shape = &argument->shape;
    if (json_object_get(object, "width") == NULL)
        return hn_json_expression(object, "count", &argument->count, err);
    if (argument->role != HN_ROLE_INPUT && argument->role != HN_ROLE_OUTPUT &&
        argument->role != HN_ROLE_INOUT && argument->role != HN_ROLE_SCRATCH)
        return hn_json_fail(err, "width", "of an argument that can have rows");
    shape->device = json_is_true(json_object_get(object, "device_pitch"));
    enum hn_status status = hn_json_expression(object, "width", &shape->width, err);
    if (status == HN_OK)
        status = hn_json_parse_expression(json_object_get(object, "height"), "height",
                                          &shape->height, err);
    if (status == HN_OK)
        status = hn_json_expression(object, "pitch", &shape->pitch, err);
    if (status == HN_OK)
        status = hn_argument_set_count(argument, err);
    return status == HN_ECONFIG ? HN_EFORMAT : status;
}

enum hn_status hn_argument_from_json(const json_t *object, struct hn_argument *argument,
                                     struct hn_error *err)
{
    const char *type = json_string_value(json_object_get(object, "type"));
    const char *role = json_string_value(json_object_get(object, "role"));
    if (type == NULL || !hn_type_parse(type, &argument->element, &argument->lanes))
        return hn_json_fail(err, "type", "an element type");
    if (role == NULL || !hn_role_parse(role, &argument->role))
        return hn_json_fail(err, "role", "a role");
    enum hn_status status = hn_json_word(object, "name", &argument->name, err);
    if (status == HN_OK)
        status = read_count(object, argument, err);
    if (status == HN_OK)
        status = hn_json_expression(object, "value", &argument->value, err);
    if (status == HN_OK)
        status = read_source(object, argument, err);
    if (status == HN_OK)
        status = read_comparison(object, argument, err);
    if (status == HN_OK)
        status = read_zero(object, argument, err);
    if (status != HN_OK)
        return status;
    if (!is_consistent(argument))
        return hn_json_fail(err, argument->name, "an argument with either count or value");
    if (hn_argument_is_filled(argument))
        return read_fill(object, &argument->fill, err);
    return HN_OK;
}
