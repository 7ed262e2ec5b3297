/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/flow.h"
#include "runtime/plan/launch.h"
#include "tuner/config/config_parts.h"

static bool is_buffer(const struct hn_argument *argument)
{
    return argument->count != NULL && hn_argument_is_passed(argument);
}

/* The place of the buffer that the node names. */
static size_t find_buffer(struct hn_config_reader *reader, const struct hn_yaml *node)
{
    const struct hn_plan *plan = reader->config->plan;
    if (!hn_config_expect_kind(reader, node, HN_YAML_SCALAR, "the name of a buffer"))
        return 0;
    const struct hn_argument *found = hn_plan_find_argument(plan, node->text);
    if (found != NULL && is_buffer(found))
        return (size_t)(found - plan->arguments);
    if (found != NULL)
        hn_config_fail(reader, node, "'%s' is no buffer, so it can not be in a pipeline",
                       node->text);
    const char **names = hn_config_allocate(reader, plan->argument_count, sizeof *names);
    size_t count = 0;
    for (size_t i = 0; names != NULL && i < plan->argument_count; i++)
        if (is_buffer(&plan->arguments[i]))
            names[count++] = plan->arguments[i].name;
    if (names != NULL)
        hn_config_fail_unknown(reader, node, "buffer", node->text, names, count);
    free(names);
    return 0;
}

/* What a list of buffers makes of each. */
typedef void take_buffer(struct hn_config_reader *reader, const struct hn_yaml *node,
                         enum hn_role role, unsigned char *parts);

static void read_list(struct hn_config_reader *reader, const struct hn_yaml *node,
                      struct hn_pipeline *pipeline, take_buffer *take)
{
    const struct hn_plan *plan = reader->config->plan;
    hn_config_expect_kind(reader, node, HN_YAML_SEQUENCE, "a list of arguments' names");
    for (const struct hn_yaml *item = hn_config_first(reader, node); item != NULL;
         item = hn_config_next(reader, item)) {
        size_t argument = find_buffer(reader, item);
        if (reader->status == HN_OK)
            take(reader, item, plan->arguments[argument].role, &pipeline->parts[argument]);
    }
}

static void take_upload(struct hn_config_reader *reader, const struct hn_yaml *node,
                        enum hn_role role, unsigned char *parts)
{
    *parts |= HN_PART_UPLOAD | HN_PART_CUT;
    if (role != HN_ROLE_INPUT && role != HN_ROLE_INOUT)
        hn_config_fail(reader, node, "'%s' is %s; only input and inout can be uploaded", node->text,
                       hn_role_name(role));
}

static void read_upload(struct hn_config_reader *reader, const struct hn_yaml *node, void *owner)
{
    read_list(reader, node, owner, take_upload);
}

static void take_download(struct hn_config_reader *reader, const struct hn_yaml *node,
                          enum hn_role role, unsigned char *parts)
{
    *parts |= HN_PART_DOWNLOAD | HN_PART_CUT;
    if (role != HN_ROLE_OUTPUT && role != HN_ROLE_INOUT)
        hn_config_fail(reader, node, "'%s' is %s; only output and inout can be downloaded",
                       node->text, hn_role_name(role));
}

static void read_download(struct hn_config_reader *reader, const struct hn_yaml *node, void *owner)
{
    read_list(reader, node, owner, take_download);
}

static void take_cut(struct hn_config_reader *reader, const struct hn_yaml *node, enum hn_role role,
                     unsigned char *parts)
{
    (void)role;
    if ((*parts & (HN_PART_UPLOAD | HN_PART_DOWNLOAD)) != 0)
        hn_config_fail(reader, node,
                       "'%s' is uploaded or downloaded, and so cut unless it is under 'whole'; "
                       "'cut' is for buffers that stay on the device",
                       node->text);
    *parts |= HN_PART_CUT;
}

static void read_cut(struct hn_config_reader *reader, const struct hn_yaml *node, void *owner)
{
    read_list(reader, node, owner, take_cut);
}

static void take_whole(struct hn_config_reader *reader, const struct hn_yaml *node,
                       enum hn_role role, unsigned char *parts)
{
    (void)role;
    if ((*parts & (HN_PART_UPLOAD | HN_PART_DOWNLOAD)) == 0)
        hn_config_fail(reader, node,
                       "'%s' is neither uploaded nor downloaded; what is not listed is not cut "
                       "anyway",
                       node->text);
    if ((*parts & HN_PART_PADDED) != 0)
        hn_config_fail(reader, node, "'%s' is padded, and so cut", node->text);
    *parts &= (unsigned char)~HN_PART_CUT;
}

static void read_whole(struct hn_config_reader *reader, const struct hn_yaml *node, void *owner)
{
    read_list(reader, node, owner, take_whole);
}

static void take_padded(struct hn_config_reader *reader, const struct hn_yaml *node,
                        enum hn_role role, unsigned char *parts)
{
    (void)role;
    if (*parts != (HN_PART_UPLOAD | HN_PART_CUT))
        hn_config_fail(reader, node,
                       "'%s' is not what is only uploaded and cut; only that can be padded",
                       node->text);
    *parts |= HN_PART_PADDED;
}

static void read_padded(struct hn_config_reader *reader, const struct hn_yaml *node, void *owner)
{
    read_list(reader, node, owner, take_padded);
}

/* What is uploaded and downloaded is known before what of it is whole or padded. */
static const struct hn_config_form pipeline_forms[] = {{"upload", read_upload},
                                                       {"download", read_download},
                                                       {"cut", read_cut},
                                                       {"whole", read_whole},
                                                       {"padded", read_padded},
                                                       {"copies", NULL},
                                                       {NULL, NULL}};
static const struct hn_config_mapping pipeline_mapping = {&hn_pipeline_structure, pipeline_forms,
                                                          NULL};

/* Expressions know a chunk by these. */
static void check_names(struct hn_config_reader *reader, const struct hn_yaml *node)
{
    const struct hn_plan *plan = reader->config->plan;
    for (size_t i = 0; i < HN_CHUNK_NAMES; i++)
        for (size_t n = 0; n < plan->name_count; n++)
            if (strcmp(plan->names[n], hn_chunk_names[i]) == 0)
                hn_config_fail(reader, node->key,
                               "with a pipeline '%s' is what expressions know of a chunk; rename "
                               "the parameter or problem value",
                               hn_chunk_names[i]);
}

void hn_config_read_pipeline(struct hn_config_reader *reader)
{
    struct hn_plan *plan = reader->config->plan;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "pipeline");
    if (node == NULL)
        return;
    hn_config_check_mapping(reader, node, &pipeline_mapping);
    check_names(reader, node);
    if (reader->status != HN_OK)
        return;
    plan->pipeline = hn_pipeline_create(plan->argument_count);
    if (plan->pipeline == NULL) {
        hn_config_take(reader, hn_fail_memory(reader->err));
        return;
    }
    hn_config_read_mapping(reader, node, &pipeline_mapping, plan->pipeline);
    for (size_t i = 0; i < plan->argument_count; i++)
        if ((plan->pipeline->parts[i] & (HN_PART_UPLOAD | HN_PART_DOWNLOAD)) != 0)
            return;
    hn_config_fail(reader, node, "the pipeline neither uploads nor downloads anything");
}

/* The table would take any argument. */
static void read_copy_arguments(struct hn_config_reader *reader, const struct hn_yaml *node,
                                void *owner)
{
    struct hn_copy_step *copy = owner;
    hn_config_expect_kind(reader, node, HN_YAML_SEQUENCE, "a list of arguments' names");
    copy->arguments = hn_config_allocate(reader, node->count, sizeof *copy->arguments);
    for (const struct hn_yaml *item = hn_config_first(reader, node); item != NULL;
         item = hn_config_next(reader, item)) {
        size_t argument = find_buffer(reader, item);
        copy->arguments[copy->argument_count++] = argument;
        reader->config->plan->pipeline->parts[argument] |= HN_PART_COPY;
    }
}

static const struct hn_config_form copy_forms[] = {
    {"before", NULL}, {"arguments", read_copy_arguments}, {NULL, NULL}};
static const struct hn_config_mapping copy_mapping = {&hn_copy_structure, copy_forms, NULL};

void hn_config_read_copy(struct hn_config_reader *reader, const struct hn_yaml *node)
{
    const struct hn_plan *plan = reader->config->plan;
    hn_config_check_mapping(reader, node, &copy_mapping);
    hn_config_need(reader, node, "arguments");
    if (plan->pipeline == NULL)
        hn_config_fail(reader, hn_yaml_get(node, "copy"),
                       "a step that copies needs a 'pipeline', which the config lacks");
    if (reader->status != HN_OK)
        return;
    struct hn_copy_step *copy = hn_pipeline_add_copy(plan->pipeline);
    if (copy == NULL) {
        hn_config_take(reader, hn_fail_memory(reader->err));
        return;
    }
    copy->before = plan->step_count;
    hn_config_read_mapping(reader, node, &copy_mapping, copy);
}

static bool is_among(const char *word, const char *const *known, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(known[i], word) == 0)
            return true;
    return false;
}

/* Where a field is nothing but a parameter, all of its values are known. */
static void check_words(struct hn_config_reader *reader, enum hn_pipeline_field field,
                        const char *const *known, size_t count)
{
    const struct hn_plan *plan = reader->config->plan;
    const struct hn_expression *expression = plan->pipeline->fields[field];
    for (size_t i = 0; expression != NULL && i < plan->word_list_count; i++) {
        const struct hn_word_list *list = &plan->word_lists[i];
        if (strcmp(list->name, hn_expression_text(expression)) != 0)
            continue;
        for (size_t w = 0; w < list->count; w++)
            if (!is_among(list->words[w], known, count))
                hn_config_fail_unknown(reader, hn_config_place(reader, expression),
                                       hn_pipeline_keys[field], list->words[w], known, count);
    }
}

/* A chunk sees a part of what is cut, of which a window or a tensor map would have to be another
 * one each. */
static void check_whole(struct hn_config_reader *reader, const struct hn_yaml *node)
{
    const struct hn_plan *plan = reader->config->plan;
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct hn_window_plan *window = &plan->steps[i].geometry.window;
        if (window->parts[HN_WINDOW_BYTES] != NULL &&
            (plan->pipeline->parts[window->argument] & HN_PART_CUT) != 0)
            hn_config_fail(reader, node,
                           "'%s' is cut into chunks and has an l2_window; expected one over a "
                           "buffer that is whole",
                           plan->arguments[window->argument].name);
    }
    for (size_t i = 0; i < plan->argument_count; i++)
        if (plan->arguments[i].role == HN_ROLE_TENSOR_MAP &&
            (plan->pipeline->parts[hn_plan_source(plan, i)] & HN_PART_CUT) != 0)
            hn_config_fail(reader, node,
                           "'%s' is cut into chunks and has the tensor map '%s'; expected one over "
                           "a buffer that is whole",
                           plan->arguments[i].from, plan->arguments[i].name);
}

void hn_config_check_pipeline(struct hn_config_reader *reader)
{
    const struct hn_plan *plan = reader->config->plan;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "pipeline");
    if (plan->pipeline == NULL || reader->status != HN_OK)
        return;
    check_words(reader, HN_PIPELINE_ORDER, hn_order_names, HN_ORDER_COUNT);
    check_words(reader, HN_PIPELINE_HOST_MEMORY, hn_host_memory_names, HN_HOST_MEMORY_COUNT);
    for (size_t i = 0; i < plan->argument_count; i++) {
        const char *parameter = hn_plan_parameter_used(plan, plan->arguments[i].count);
        if ((plan->pipeline->parts[i] & HN_PARTS_ON_HOST) != 0 && parameter != NULL)
            hn_config_fail(reader, node,
                           "the size of '%s' uses the parameter '%s'; what is copied has the same "
                           "size at all points",
                           plan->arguments[i].name, parameter);
    }
    check_whole(reader, node);
}

void hn_config_try_pipeline(struct hn_config_reader *reader, size_t problem, const char *where)
{
    const struct hn_config *config = reader->config;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "pipeline");
    struct hn_error reason = {0};
    struct hn_launch launch;
    if (config->plan->pipeline == NULL || reader->status != HN_OK)
        return;
    enum hn_status status = hn_launch_make(config->plan, &config->problems[problem],
                                           &config->plan->defaults, &launch, &reason);
    if (status == HN_ENOMEM)
        hn_config_take(reader, hn_fail_memory(reader->err));
    else if (status != HN_OK)
        hn_config_fail(reader, node, "%s (at the default point: %s)", reason.message, where);
    if (status != HN_OK)
        return;
    if (launch.flow->why[0] != '\0')
        hn_config_fail(reader, node, "%s (at the default point: %s)", launch.flow->why, where);
    hn_launch_finish(&launch);
}
