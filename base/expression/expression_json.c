/* SPDX-License-Identifier: MIT */
#include "base/expression/expression_json.h"

void hn_json_expression(struct hn_json_reader *reader, const json_t *json, const char *key,
                        struct hn_expression **to)
{
    if (hn_json_expect(reader, json_is_string(json), key, "an expression"))
        hn_json_take(reader, hn_expression_parse(json_string_value(json), to, reader->err));
}

static void read_expression(struct hn_json_reader *reader, const struct hn_field *field,
                            const json_t *json, void *member)
{
    hn_json_expression(reader, json, field->key, member);
}

static void build_expression(struct hn_builder *object, const struct hn_field *field,
                             const void *member)
{
    const struct hn_expression *const *expression = member;
    if (*expression != NULL)
        hn_build_string(object, field->key, hn_expression_text(*expression));
}

static void finish_expression(void *member)
{
    struct hn_expression **expression = member;
    hn_expression_destroy(*expression);
}

const struct hn_field_own hn_expression_field = {read_expression, build_expression,
                                                 finish_expression};

static void read_dimensions(struct hn_json_reader *reader, const struct hn_field *field,
                            const json_t *json, void *member)
{
    struct hn_expression **dimensions = member;
    size_t count = json_array_size(json);
    hn_json_expect(reader, count >= 1 && count <= 3, field->key, "a list of 1 to 3 expressions");
    for (size_t i = 0; reader->status == HN_OK && i < count; i++)
        hn_json_expression(reader, json_array_get(json, i), field->key, &dimensions[i]);
}

static void build_dimensions(struct hn_builder *object, const struct hn_field *field,
                             const void *member)
{
    struct hn_expression *const *dimensions = member;
    struct hn_builder array = hn_build_array();
    for (size_t i = 0; i < 3 && dimensions[i] != NULL; i++)
        hn_build_append(&array, json_string(hn_expression_text(dimensions[i])));
    if (dimensions[0] != NULL)
        hn_build_set(object, field->key, hn_build_finish(&array));
    else
        json_decref(array.json);
}

static void finish_dimensions(void *member)
{
    struct hn_expression **dimensions = member;
    for (size_t i = 0; i < 3; i++)
        hn_expression_destroy(dimensions[i]);
}

const struct hn_field_own hn_dimensions_field = {read_dimensions, build_dimensions,
                                                 finish_dimensions};

static const struct hn_field element[] = {
    {.key = "", .kind = HN_FIELD_OWN, .needed = true, .of = &hn_expression_field}};
const struct hn_structure hn_expression_list = {sizeof(struct hn_expression *), element, 1, NULL,
                                                NULL};

struct walk {
    hn_expression_visit *visit;
    void *context;
};

static void walk_field(void *context, const struct hn_field *field, void *member, size_t item)
{
    const struct walk *walk = context;
    struct hn_expression **expressions = member;
    size_t count = field->of == &hn_expression_field   ? 1
                   : field->of == &hn_dimensions_field ? 3
                                                       : 0;
    for (size_t i = 0; i < count; i++)
        if (expressions[i] != NULL)
            walk->visit(walk->context, expressions[i], field, item);
}

void hn_expressions_walk(const struct hn_structure *structure, void *owner,
                         hn_expression_visit *visit, void *context)
{
    struct walk walk = {visit, context};
    hn_fields_walk(structure, owner, walk_field, &walk);
}
