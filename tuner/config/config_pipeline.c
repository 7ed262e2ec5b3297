/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/flow.h"
#include "runtime/plan/launch.h"
#include "tuner/config/config_read.h"

/* The buffers among the arguments, by name; NULL when out of memory. */
static const char **list_buffers(const struct hn_plan *plan, size_t *count)
{
    const char **names = calloc(plan->argument_count + 1, sizeof *names);
    for (size_t i = 0; names != NULL && i < plan->argument_count; i++)
        if (plan->arguments[i].count != NULL && hn_argument_is_passed(&plan->arguments[i]))
            names[(*count)++] = plan->arguments[i].name;
    return names;
}

static enum hn_status find_buffer(const struct hn_config_reader *reader, const struct hn_yaml *node,
                                  size_t *index)
{
    const struct hn_plan *plan = reader->config->plan;
    size_t count = 0;
    if (node->kind != HN_YAML_SCALAR)
        return hn_config_fail_found(reader, node, "the name of a buffer");
    const struct hn_argument *found = hn_plan_find_argument(plan, node->text);
    if (found != NULL && found->count != NULL && hn_argument_is_passed(found)) {
        *index = (size_t)(found - plan->arguments);
        return HN_OK;
    }
    if (found != NULL)
        return hn_config_fail(reader, node, "'%s' is no buffer, so it can not be in a pipeline",
                              node->text);
    const char **names = list_buffers(plan, &count);
    if (names == NULL)
        return hn_fail_memory(reader->err);
    enum hn_status status =
        hn_config_fail_unknown(reader, node, "buffer", node->text, names, count);
    free(names);
    return status;
}

/* What a list of arguments makes of each. */
typedef enum hn_status take_argument(const struct hn_config_reader *reader,
                                     const struct hn_yaml *node, size_t argument,
                                     unsigned char *parts);

static enum hn_status take_upload(const struct hn_config_reader *reader, const struct hn_yaml *node,
                                  size_t argument, unsigned char *parts)
{
    enum hn_role role = reader->config->plan->arguments[argument].role;
    *parts |= HN_PART_UPLOAD | HN_PART_CUT;
    if (role == HN_ROLE_INPUT || role == HN_ROLE_INOUT)
        return HN_OK;
    return hn_config_fail(reader, node, "'%s' is %s; only input and inout can be uploaded",
                          node->text, hn_role_name(role));
}

static enum hn_status take_download(const struct hn_config_reader *reader,
                                    const struct hn_yaml *node, size_t argument,
                                    unsigned char *parts)
{
    enum hn_role role = reader->config->plan->arguments[argument].role;
    *parts |= HN_PART_DOWNLOAD | HN_PART_CUT;
    if (role == HN_ROLE_OUTPUT || role == HN_ROLE_INOUT)
        return HN_OK;
    return hn_config_fail(reader, node, "'%s' is %s; only output and inout can be downloaded",
                          node->text, hn_role_name(role));
}

static enum hn_status take_whole(const struct hn_config_reader *reader, const struct hn_yaml *node,
                                 size_t argument, unsigned char *parts)
{
    (void)argument;
    if ((*parts & (HN_PART_UPLOAD | HN_PART_DOWNLOAD)) == 0)
        return hn_config_fail(reader, node,
                              "'%s' is neither uploaded nor downloaded; what is not listed is not "
                              "cut anyway",
                              node->text);
    *parts &= (unsigned char)~HN_PART_CUT;
    return HN_OK;
}

static enum hn_status take_cut(const struct hn_config_reader *reader, const struct hn_yaml *node,
                               size_t argument, unsigned char *parts)
{
    (void)argument;
    if ((*parts & (HN_PART_UPLOAD | HN_PART_DOWNLOAD)) != 0)
        return hn_config_fail(reader, node,
                              "'%s' is uploaded or downloaded, and so cut unless it is under "
                              "'whole'; 'cut' is for buffers that stay on the device",
                              node->text);
    *parts |= HN_PART_CUT;
    return HN_OK;
}

static enum hn_status read_list(const struct hn_config_reader *reader, const struct hn_yaml *parent,
                                const char *key, take_argument *take)
{
    struct hn_pipeline *pipeline = reader->config->plan->pipeline;
    const struct hn_yaml *node = hn_yaml_get(parent, key);
    if (node == NULL)
        return HN_OK;
    enum hn_status status =
        hn_config_check_kind(reader, node, HN_YAML_SEQUENCE, "a list of arguments' names");
    for (const struct hn_yaml *item = node->child; item != NULL && status == HN_OK;
         item = item->next) {
        size_t argument = 0;
        status = find_buffer(reader, item, &argument);
        if (status == HN_OK)
            status = take(reader, item, argument, &pipeline->parts[argument]);
    }
    return status;
}

static enum hn_status read_lists(const struct hn_config_reader *reader, const struct hn_yaml *node)
{
    const struct hn_plan *plan = reader->config->plan;
    enum hn_status status = read_list(reader, node, "upload", take_upload);
    if (status == HN_OK)
        status = read_list(reader, node, "download", take_download);
    if (status == HN_OK)
        status = read_list(reader, node, "whole", take_whole);
    if (status == HN_OK)
        status = read_list(reader, node, "cut", take_cut);
    for (size_t i = 0; i < plan->argument_count && status == HN_OK; i++)
        if ((plan->pipeline->parts[i] & (HN_PART_UPLOAD | HN_PART_DOWNLOAD)) != 0)
            return HN_OK;
    return status != HN_OK ? status
                           : hn_config_fail(reader, node,
                                            "the pipeline neither uploads nor downloads anything");
}

/* Expressions know a chunk by these. */
static enum hn_status check_names(const struct hn_config_reader *reader, const struct hn_yaml *node)
{
    const struct hn_plan *plan = reader->config->plan;
    for (size_t i = 0; i < HN_CHUNK_NAMES; i++)
        for (size_t n = 0; n < plan->name_count; n++)
            if (strcmp(plan->names[n], hn_chunk_names[i]) == 0)
                return hn_config_fail(reader, node->key,
                                      "with a pipeline '%s' is what expressions know of a chunk; "
                                      "rename the parameter or problem value",
                                      hn_chunk_names[i]);
    return HN_OK;
}

enum hn_status hn_config_read_pipeline(struct hn_config_reader *reader)
{
    static const char *const keys[] = {
#define X(identifier, key) key,
        HN_PIPELINE_FIELDS(X)
#undef X
            "upload",
        "download", "whole", "cut", NULL};
    struct hn_plan *plan = reader->config->plan;
    const struct hn_yaml *over = NULL;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "pipeline");
    if (node == NULL)
        return HN_OK;
    enum hn_status status = hn_config_check_keys(reader, node, keys);
    if (status == HN_OK)
        status = check_names(reader, node);
    if (status == HN_OK)
        status = hn_config_need(reader, node, "over", &over);
    if (status != HN_OK)
        return status;
    plan->pipeline = hn_pipeline_create(plan->argument_count);
    if (plan->pipeline == NULL)
        return hn_fail_memory(reader->err);
    status = read_lists(reader, node);
    for (size_t i = 0; i < HN_PIPELINE_FIELD_COUNT && status == HN_OK; i++) {
        const struct hn_yaml *field = hn_yaml_get(node, hn_pipeline_keys[i]);
        if (field != NULL)
            status = hn_config_read_expression(reader, field, &plan->pipeline->fields[i]);
    }
    return status;
}

static enum hn_status read_copy_arguments(struct hn_config_reader *reader,
                                          const struct hn_yaml *node, struct hn_copy_step *copy)
{
    struct hn_pipeline *pipeline = reader->config->plan->pipeline;
    const struct hn_yaml *list = NULL;
    enum hn_status status = hn_config_need(reader, node, "arguments", &list);
    if (status == HN_OK)
        status = hn_config_check_kind(reader, list, HN_YAML_SEQUENCE, "a list of arguments' names");
    if (status != HN_OK)
        return status;
    copy->arguments = calloc(list->count + 1, sizeof *copy->arguments);
    if (copy->arguments == NULL)
        return hn_fail_memory(reader->err);
    for (const struct hn_yaml *item = list->child; item != NULL && status == HN_OK;
         item = item->next) {
        size_t *argument = &copy->arguments[copy->argument_count];
        status = find_buffer(reader, item, argument);
        if (status != HN_OK)
            return status;
        copy->argument_count++;
        pipeline->parts[*argument] |= HN_PART_COPY;
    }
    return status;
}

enum hn_status hn_config_read_copy(struct hn_config_reader *reader, const struct hn_yaml *node)
{
    static const char *const keys[] = {"copy", "arguments", "if", NULL};
    struct hn_plan *plan = reader->config->plan;
    const struct hn_yaml *direction = hn_yaml_get(node, "copy");
    const struct hn_yaml *condition = hn_yaml_get(node, "if");
    enum hn_status status = hn_config_check_keys(reader, node, keys);
    if (status != HN_OK)
        return status;
    if (plan->pipeline == NULL)
        return hn_config_fail(reader, direction,
                              "a step that copies needs a 'pipeline', which the config lacks");
    bool to_host = direction->kind == HN_YAML_SCALAR && strcmp(direction->text, "to_host") == 0;
    if (!to_host &&
        (direction->kind != HN_YAML_SCALAR || strcmp(direction->text, "to_device") != 0))
        return hn_config_fail_found(reader, direction, "to_host or to_device");
    struct hn_copy_step *copy = hn_pipeline_add_copy(plan->pipeline);
    if (copy == NULL)
        return hn_fail_memory(reader->err);
    copy->before = plan->step_count;
    copy->to_host = to_host;
    if (condition != NULL)
        status = hn_config_read_expression(reader, condition, &copy->condition);
    return status == HN_OK ? read_copy_arguments(reader, node, copy) : status;
}

/* Where a field is nothing but a parameter, all of its values are known. */
static enum hn_status check_words(const struct hn_config_reader *reader,
                                  enum hn_pipeline_field field, const char *const *known,
                                  size_t count)
{
    const struct hn_plan *plan = reader->config->plan;
    const struct hn_expression *expression = plan->pipeline->fields[field];
    for (size_t i = 0; expression != NULL && i < plan->word_list_count; i++) {
        const struct hn_word_list *list = &plan->word_lists[i];
        if (strcmp(list->name, hn_expression_text(expression)) != 0)
            continue;
        for (size_t w = 0; w < list->count; w++) {
            bool found = false;
            for (size_t k = 0; k < count; k++)
                found = found || strcmp(known[k], list->words[w]) == 0;
            if (!found)
                return hn_config_fail_unknown(reader, hn_config_place(reader, expression),
                                              hn_pipeline_keys[field], list->words[w], known,
                                              count);
        }
    }
    return HN_OK;
}

/* A chunk sees a part of what is cut, of which a window would have to be another one each. */
static enum hn_status check_windows(const struct hn_config_reader *reader,
                                    const struct hn_yaml *node)
{
    const struct hn_plan *plan = reader->config->plan;
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct hn_window_plan *window = &plan->steps[i].geometry.window;
        if (window->parts[HN_WINDOW_BYTES] == NULL ||
            (plan->pipeline->parts[window->argument] & HN_PART_CUT) == 0)
            continue;
        return hn_config_fail(reader, node,
                              "'%s' is cut into chunks and has an l2_window; expected one over a "
                              "buffer that is whole",
                              plan->arguments[window->argument].name);
    }
    return HN_OK;
}

enum hn_status hn_config_check_pipeline(const struct hn_config_reader *reader)
{
    const struct hn_plan *plan = reader->config->plan;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "pipeline");
    if (plan->pipeline == NULL)
        return HN_OK;
    enum hn_status status = check_words(reader, HN_PIPELINE_ORDER, hn_order_names, HN_ORDER_COUNT);
    if (status == HN_OK)
        status = check_words(reader, HN_PIPELINE_HOST_MEMORY, hn_host_memory_names,
                             HN_HOST_MEMORY_COUNT);
    for (size_t i = 0; i < plan->argument_count && status == HN_OK; i++) {
        const char *parameter = hn_plan_parameter_used(plan, plan->arguments[i].count);
        if ((plan->pipeline->parts[i] & HN_PARTS_ON_HOST) != 0 && parameter != NULL)
            return hn_config_fail(reader, node,
                                  "the size of '%s' uses the parameter '%s'; what is copied has "
                                  "the same size at all points",
                                  plan->arguments[i].name, parameter);
    }
    return status == HN_OK ? check_windows(reader, node) : status;
}

enum hn_status hn_config_try_pipeline(const struct hn_config_reader *reader, size_t problem,
                                      const char *where)
{
    const struct hn_config *config = reader->config;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "pipeline");
    struct hn_error reason = {""};
    struct hn_launch launch;
    if (config->plan->pipeline == NULL)
        return HN_OK;
    enum hn_status status = hn_launch_make(config->plan, &config->problems[problem],
                                           &config->plan->defaults, &launch, &reason);
    if (status == HN_ENOMEM)
        return hn_fail_memory(reader->err);
    if (status != HN_OK)
        return hn_config_fail(reader, node, "%s (at the default point: %s)", reason.message, where);
    if (launch.flow->why[0] != '\0')
        status =
            hn_config_fail(reader, node, "%s (at the default point: %s)", launch.flow->why, where);
    hn_launch_finish(&launch);
    return status;
}
