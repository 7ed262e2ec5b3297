/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/config/config_read.h"

static enum hn_status check_cuts(const struct hn_config_reader *reader, const struct hn_yaml *list)
{
    enum hn_status status = HN_OK;
    for (const struct hn_yaml *item = list->child; item != NULL && status == HN_OK;
         item = item->next)
        status = hn_config_check_cut(reader, item);
    return status;
}

/* One expression, or a list of one to three. */
static enum hn_status read_dimensions(struct hn_config_reader *reader, const struct hn_yaml *node,
                                      struct hn_expression **dimensions)
{
    if (node->kind == HN_YAML_SCALAR)
        return hn_config_read_expression(reader, node, &dimensions[0]);
    enum hn_status status = check_cuts(reader, node);
    if (status != HN_OK)
        return status;
    if (node->kind != HN_YAML_SEQUENCE || node->count < 1 || node->count > 3)
        return hn_config_fail_found(reader, node, "an expression, or a list of 1 to 3: x, y, z");
    size_t count = 0;
    for (const struct hn_yaml *item = node->child; item != NULL && status == HN_OK;
         item = item->next)
        status = hn_config_read_expression(reader, item, &dimensions[count++]);
    return status;
}

static enum hn_status read_optional(struct hn_config_reader *reader, const struct hn_yaml *parent,
                                    const char *key, struct hn_expression **to)
{
    const struct hn_yaml *node = hn_yaml_get(parent, key);
    return node == NULL ? HN_OK : hn_config_read_expression(reader, node, to);
}

static enum hn_status find_argument(const struct hn_config_reader *reader,
                                    const struct hn_yaml *node, size_t *index)
{
    const struct hn_plan *plan = reader->config->plan;
    if (node->kind != HN_YAML_SCALAR)
        return hn_config_fail_found(reader, node, "the name of an argument");
    const struct hn_argument *found = hn_plan_find_argument(plan, node->text);
    if (found != NULL && hn_argument_is_passed(found)) {
        *index = (size_t)(found - plan->arguments);
        return HN_OK;
    }
    if (found != NULL)
        return hn_config_fail(
            reader, node, "'%s' is a symbol, which kernels find by its name; expected arguments",
            node->text);
    const char **names = calloc(plan->argument_count + 1, sizeof *names);
    if (names == NULL)
        return hn_fail_memory(reader->err);
    size_t count = 0;
    for (size_t i = 0; i < plan->argument_count; i++)
        if (hn_argument_is_passed(&plan->arguments[i]))
            names[count++] = plan->arguments[i].name;
    enum hn_status status =
        hn_config_fail_unknown(reader, node, "argument", node->text, names, count);
    free(names);
    return status;
}

static enum hn_status read_window(struct hn_config_reader *reader, const struct hn_yaml *node,
                                  struct hn_window_plan *window)
{
    static const char *const keys[] = {"argument", "bytes",     "hit_ratio", "hit",
                                       "miss",     "set_aside", NULL};
    const struct hn_yaml *argument = NULL;
    const struct hn_yaml *bytes = NULL;
    enum hn_status status = hn_config_check_keys(reader, node, keys);
    if (status == HN_OK)
        status = hn_config_need(reader, node, "argument", &argument);
    if (status == HN_OK)
        status = hn_config_need(reader, node, "bytes", &bytes);
    if (status == HN_OK)
        status = find_argument(reader, argument, &window->argument);
    if (status == HN_OK &&
        !hn_argument_is_buffer(&reader->config->plan->arguments[window->argument]))
        status = hn_config_fail(reader, argument, "'%s' is no buffer, which a window lies over",
                                argument->text);
    for (size_t i = 0; i < HN_WINDOW_PARTS && status == HN_OK; i++)
        status = read_optional(reader, node, hn_window_keys[i], &window->parts[i]);
    return status;
}

static enum hn_status read_geometry(struct hn_config_reader *reader, const struct hn_yaml *node,
                                    struct hn_geometry *geometry)
{
    const struct hn_yaml *grid = NULL;
    const struct hn_yaml *block = NULL;
    const struct hn_yaml *cluster = hn_yaml_get(node, "cluster");
    const struct hn_yaml *window = hn_yaml_get(node, "l2_window");
    enum hn_status status = hn_config_need(reader, node, "grid", &grid);
    if (status == HN_OK)
        status = read_dimensions(reader, grid, geometry->grid);
    if (status == HN_OK)
        status = hn_config_need(reader, node, "block", &block);
    if (status == HN_OK)
        status = read_dimensions(reader, block, geometry->block);
    if (status == HN_OK && cluster != NULL)
        status = read_dimensions(reader, cluster, geometry->cluster);
    if (status == HN_OK)
        status = read_optional(reader, node, "shared_bytes", &geometry->shared_bytes);
    if (status == HN_OK)
        status = read_optional(reader, node, "carveout", &geometry->carveout);
    if (status == HN_OK)
        status = read_optional(reader, node, "cooperative", &geometry->cooperative);
    if (status == HN_OK && window != NULL)
        status = read_window(reader, window, &geometry->window);
    return status;
}

static size_t count_passed(const struct hn_plan *plan)
{
    size_t count = 0;
    while (count < plan->argument_count && hn_argument_is_passed(&plan->arguments[count]))
        count++;
    return count;
}

/* The names under `arguments`; all of the plan's where there are none: symbols come behind them. */
static enum hn_status read_step_arguments(const struct hn_config_reader *reader,
                                          const struct hn_yaml *node, struct hn_step *step)
{
    const struct hn_plan *plan = reader->config->plan;
    size_t room = node == NULL ? count_passed(plan) : node->count;
    enum hn_status status = node == NULL ? HN_OK
                                         : hn_config_check_kind(reader, node, HN_YAML_SEQUENCE,
                                                                "a list of arguments' names");
    if (status != HN_OK)
        return status;
    step->arguments = calloc(room + 1, sizeof *step->arguments);
    if (step->arguments == NULL)
        return hn_fail_memory(reader->err);
    const struct hn_yaml *item = node == NULL ? NULL : node->child;
    for (size_t i = 0; i < room && status == HN_OK; i++) {
        size_t index = i;
        if (item != NULL) {
            status = find_argument(reader, item, &index);
            item = item->next;
        }
        step->arguments[step->argument_count++] = index;
    }
    return status;
}

/* A step without an entry of its own takes the config's. */
static enum hn_status read_entry(const struct hn_config_reader *reader, const struct hn_yaml *node,
                                 struct hn_step *step)
{
    static const char expected[] =
        "the name of an extern \"C\" kernel, or a C++ name expression such as \"f<TILE>\"";
    const struct hn_yaml *entry = hn_yaml_get(node, "entry");
    if (entry == NULL)
        entry = hn_yaml_get(reader->root, "entry");
    if (entry == NULL)
        return hn_config_fail(reader, reader->root, "key 'entry' is missing, expected %s",
                              expected);
    return hn_config_read_text(reader, entry, expected, &step->entry);
}

static enum hn_status read_step(struct hn_config_reader *reader, const struct hn_yaml *node,
                                struct hn_step *step)
{
    static const char *const keys[] = {"grid",     "block",       "cluster", "shared_bytes",
                                       "carveout", "cooperative", "entry",   "arguments",
                                       "if",       "l2_window",   NULL};
    enum hn_status status = hn_config_check_keys(reader, node, keys);
    if (status == HN_OK)
        status = read_entry(reader, node, step);
    if (status == HN_OK)
        status = read_optional(reader, node, "if", &step->condition);
    if (status == HN_OK)
        status = read_geometry(reader, node, &step->geometry);
    if (status == HN_OK)
        status = read_step_arguments(reader, hn_yaml_get(node, "arguments"), step);
    return status;
}

enum hn_status hn_config_read_launch(struct hn_config_reader *reader)
{
    enum { STEPS_MOST = 64 };
    struct hn_plan *plan = reader->config->plan;
    const struct hn_yaml *node = NULL;
    enum hn_status status = hn_config_need(reader, reader->root, "launch", &node);
    if (status != HN_OK)
        return status;
    bool list = node->kind == HN_YAML_SEQUENCE;
    size_t room = list ? node->count : 1;
    if (node->kind == HN_YAML_SCALAR || room == 0 || room > STEPS_MOST)
        return hn_config_fail_found(reader, node,
                                    "a mapping with grid and block, or a list of 1 to 64 steps");
    plan->steps = calloc(room, sizeof *plan->steps);
    if (plan->steps == NULL)
        return hn_fail_memory(reader->err);
    const struct hn_yaml *step = list ? node->child : node;
    for (size_t i = 0; i < room && status == HN_OK; i++, step = step->next) {
        if (list && step->kind == HN_YAML_MAPPING && hn_yaml_get(step, "copy") != NULL) {
            status = hn_config_read_copy(reader, step);
            continue;
        }
        plan->step_count++;
        status = read_step(reader, step, &plan->steps[plan->step_count - 1]);
    }
    if (status == HN_OK && plan->step_count == 0)
        return hn_config_fail(reader, node, "no step launches a kernel");
    return status;
}

static enum hn_status read_option_text(struct hn_config_reader *reader, const struct hn_yaml *node,
                                       struct hn_option *option)
{
    struct hn_error reason = {""};
    if (node->kind != HN_YAML_SCALAR || node->text[0] != '-')
        return hn_config_fail_found(reader, node, "a compile option such as \"--use_fast_math\"");
    enum hn_status status = hn_option_set_text(option, node->text, &reason);
    if (status == HN_ENOMEM)
        return hn_fail_memory(reader->err);
    if (status != HN_OK)
        return hn_config_fail(reader, node, "%s", reason.message);
    for (size_t i = 0; i < option->hole_count && status == HN_OK; i++)
        status = hn_config_remember(reader, option->holes[i], node);
    return status;
}

static enum hn_status read_option(struct hn_config_reader *reader, const struct hn_yaml *node,
                                  struct hn_option *option)
{
    static const char *const keys[] = {"if", "option", NULL};
    if (node->kind == HN_YAML_SCALAR)
        return read_option_text(reader, node, option);
    const struct hn_yaml *condition = NULL;
    const struct hn_yaml *text = NULL;
    enum hn_status status = hn_config_check_keys(reader, node, keys);
    if (status == HN_OK)
        status = hn_config_need(reader, node, "option", &text);
    if (status == HN_OK)
        status = hn_config_need(reader, node, "if", &condition);
    if (status == HN_OK)
        status = hn_config_read_expression(reader, condition, &option->condition);
    return status == HN_OK ? read_option_text(reader, text, option) : status;
}

enum hn_status hn_config_read_compile(struct hn_config_reader *reader)
{
    static const char *const keys[] = {"options", NULL};
    struct hn_plan *plan = reader->config->plan;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "compile");
    if (node == NULL)
        return HN_OK;
    enum hn_status status = hn_config_check_keys(reader, node, keys);
    const struct hn_yaml *options = status == HN_OK ? hn_yaml_get(node, "options") : NULL;
    if (options == NULL)
        return status;
    status = hn_config_check_kind(reader, options, HN_YAML_SEQUENCE,
                                  "a list of options, each a string or {if: ..., option: ...}");
    if (status != HN_OK)
        return status;
    plan->options = calloc(options->count + 1, sizeof *plan->options);
    if (plan->options == NULL)
        return hn_fail_memory(reader->err);
    for (const struct hn_yaml *item = options->child; item != NULL && status == HN_OK;
         item = item->next) {
        plan->option_count++;
        status = read_option(reader, item, &plan->options[plan->option_count - 1]);
    }
    return status;
}

enum hn_status hn_config_read_path(const struct hn_config_reader *reader,
                                   const struct hn_yaml *mapping, char **path)
{
    const struct hn_yaml *node = NULL;
    char *written = NULL;
    enum hn_status status = hn_config_need(reader, mapping, "template", &node);
    if (status == HN_OK)
        status = hn_config_read_text(reader, node, "the path of a .cu file", &written);
    if (status != HN_OK)
        return status;
    *path = hn_config_resolve_path(reader, written);
    free(written);
    return *path == NULL ? hn_fail_memory(reader->err) : HN_OK;
}

static enum hn_status read_depends(struct hn_config_reader *reader, const struct hn_yaml *node)
{
    struct hn_plan *plan = reader->config->plan;
    struct hn_reference *reference = &plan->reference;
    enum hn_status status =
        hn_config_check_kind(reader, node, HN_YAML_SEQUENCE, "a list of parameters");
    if (status != HN_OK)
        return status;
    reference->depends = calloc(node->count + 1, sizeof *reference->depends);
    if (reference->depends == NULL)
        return hn_fail_memory(reader->err);
    for (const struct hn_yaml *item = node->child; item != NULL && status == HN_OK;
         item = item->next) {
        char *name = NULL;
        status = hn_config_read_word(reader, item, "the name of a parameter", &name);
        if (status != HN_OK)
            break;
        reference->depends[reference->depends_count++] = name;
        bool known = false;
        for (size_t i = 0; i < plan->parameter_count; i++)
            known = known || strcmp(plan->parameters[i], name) == 0;
        if (!known)
            status = hn_config_fail_unknown(reader, item, "parameter", name,
                                            (const char *const *)plan->parameters,
                                            plan->parameter_count);
    }
    return status;
}

enum hn_status hn_config_read_reference(struct hn_config_reader *reader)
{
    static const char *const keys[] = {"template",  "entry",    "grid",        "block",
                                       "cluster",   "carveout", "cooperative", "shared_bytes",
                                       "arguments", "depends",  NULL};
    struct hn_reference *reference = &reader->config->plan->reference;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "reference");
    if (node == NULL)
        return HN_OK;
    if (node->kind == HN_YAML_SCALAR && strcmp(node->text, "none") == 0) {
        reference->kind = HN_REFERENCE_NONE;
        return HN_OK;
    }
    if (node->kind != HN_YAML_MAPPING)
        return hn_config_fail_found(reader, node, "a mapping with template and entry, or none");
    const struct hn_yaml *entry = NULL;
    const struct hn_yaml *depends = hn_yaml_get(node, "depends");
    reference->kind = HN_REFERENCE_TEMPLATE;
    enum hn_status status = hn_config_check_keys(reader, node, keys);
    if (status == HN_OK)
        status = hn_config_read_path(reader, node, &reference->template_path);
    if (status == HN_OK)
        status = hn_config_need(reader, node, "entry", &entry);
    if (status == HN_OK)
        status = read_entry(reader, node, &reference->step);
    if (status == HN_OK)
        status = read_geometry(reader, node, &reference->step.geometry);
    if (status == HN_OK)
        status = read_step_arguments(reader, hn_yaml_get(node, "arguments"), &reference->step);
    if (status == HN_OK && depends != NULL)
        status = read_depends(reader, depends);
    return status;
}
