/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/expression/expression_json.h"
#include "runtime/plan/pipeline.h"

/* The lists of arguments by what they take part in. */
static const struct {
    const char *key;
    enum hn_part part;
} lists[] = {
    {"upload", HN_PART_UPLOAD},
    {"download", HN_PART_DOWNLOAD},
    {"cut", HN_PART_CUT},
};
enum { LISTS = sizeof lists / sizeof lists[0] };
static const char *const directions[] = {"to_device", "to_host"};

static json_t *numbers_json(const size_t *numbers, size_t count)
{
    struct hn_builder array = hn_build_array();
    for (size_t i = 0; i < count; i++)
        hn_build_append(&array, json_integer((json_int_t)numbers[i]));
    return hn_build_finish(&array);
}

static json_t *list_json(const struct hn_pipeline *pipeline, enum hn_part part)
{
    struct hn_builder array = hn_build_array();
    for (size_t i = 0; i < pipeline->argument_count; i++)
        if ((pipeline->parts[i] & part) != 0)
            hn_build_append(&array, json_integer((json_int_t)i));
    return hn_build_finish(&array);
}

static json_t *copy_json(const struct hn_copy_step *copy)
{
    struct hn_builder object = hn_build_object();
    hn_build_set(&object, "before", json_integer((json_int_t)copy->before));
    hn_build_string(&object, "copy", directions[copy->to_host]);
    hn_build_expression(&object, "if", copy->condition);
    hn_build_set(&object, "arguments", numbers_json(copy->arguments, copy->argument_count));
    return hn_build_finish(&object);
}

json_t *hn_pipeline_to_json(const struct hn_pipeline *pipeline)
{
    struct hn_builder object = hn_build_object();
    struct hn_builder copies = hn_build_array();
    for (size_t i = 0; i < LISTS; i++)
        hn_build_set(&object, lists[i].key, list_json(pipeline, lists[i].part));
    for (size_t i = 0; i < HN_PIPELINE_FIELD_COUNT; i++)
        hn_build_expression(&object, hn_pipeline_keys[i], pipeline->fields[i]);
    for (size_t i = 0; i < pipeline->copy_count; i++)
        hn_build_append(&copies, copy_json(&pipeline->copies[i]));
    hn_build_set(&object, "copies", hn_build_finish(&copies));
    return hn_build_finish(&object);
}

static bool read_index(const json_t *json, size_t limit, size_t *index)
{
    json_int_t number = json_integer_value(json);
    *index = (size_t)number;
    return json_is_integer(json) && number >= 0 && (uint64_t)number < limit;
}

static enum hn_status read_list(const json_t *object, const char *key, enum hn_part part,
                                struct hn_pipeline *pipeline, struct hn_error *err)
{
    const json_t *array = json_object_get(object, key);
    if (!json_is_array(array))
        return hn_json_fail(err, key, "a list of arguments' numbers");
    for (size_t i = 0; i < json_array_size(array); i++) {
        size_t argument;
        if (!read_index(json_array_get(array, i), pipeline->argument_count, &argument))
            return hn_json_fail(err, key, "a list of arguments' numbers");
        pipeline->parts[argument] |= (unsigned char)part;
    }
    return HN_OK;
}

static enum hn_status read_copy(const json_t *object, size_t step_count,
                                struct hn_pipeline *pipeline, struct hn_error *err)
{
    const json_t *array = NULL;
    struct hn_copy_step *copy = hn_pipeline_add_copy(pipeline);
    if (copy == NULL)
        return hn_fail_memory(err);
    int direction = hn_json_choice(object, "copy", directions, 2);
    if (direction < 0 ||
        !read_index(json_object_get(object, "before"), step_count + 1, &copy->before))
        return hn_json_fail(err, "copies", "a list of steps that copy");
    copy->to_host = direction == 1;
    enum hn_status status = hn_json_expression(object, "if", &copy->condition, err);
    if (status == HN_OK)
        status = hn_json_list(object, "arguments", sizeof *copy->arguments, &array,
                              &copy->arguments, err);
    for (size_t i = 0; status == HN_OK && i < json_array_size(array); i++) {
        size_t argument;
        if (!read_index(json_array_get(array, i), pipeline->argument_count, &argument))
            return hn_json_fail(err, "arguments", "a list of arguments' numbers");
        copy->arguments[copy->argument_count++] = argument;
        pipeline->parts[argument] |= HN_PART_COPY;
    }
    return status;
}

static enum hn_status read_all(const json_t *object, size_t step_count,
                               struct hn_pipeline *pipeline, struct hn_error *err)
{
    const json_t *copies = json_object_get(object, "copies");
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < LISTS; i++)
        status = read_list(object, lists[i].key, lists[i].part, pipeline, err);
    for (size_t i = 0; status == HN_OK && i < HN_PIPELINE_FIELD_COUNT; i++)
        status = hn_json_expression(object, hn_pipeline_keys[i], &pipeline->fields[i], err);
    for (size_t i = 0; status == HN_OK && i < json_array_size(copies); i++)
        status = read_copy(json_array_get(copies, i), step_count, pipeline, err);
    if (status == HN_OK && pipeline->fields[HN_PIPELINE_OVER] == NULL)
        status = hn_json_fail(err, "over", "an expression");
    return status;
}

enum hn_status hn_pipeline_from_json(const json_t *object, size_t argument_count, size_t step_count,
                                     struct hn_pipeline **pipeline, struct hn_error *err)
{
    struct hn_pipeline *made = hn_pipeline_create(argument_count);
    if (made == NULL)
        return hn_fail_memory(err);
    enum hn_status status = read_all(object, step_count, made, err);
    if (status == HN_OK)
        *pipeline = made;
    else
        hn_pipeline_destroy(made);
    return status;
}
