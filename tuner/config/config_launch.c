/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "tuner/config/config_parts.h"

/* What is frozen, steps, compile options and the reference. */

/* [M, N], or {values: [M, N], if: FROZEN}. */
void hn_config_read_freeze(struct hn_config_reader *reader)
{
    static const char *const keys[] = {"values", "if"};
    struct hn_plan *plan = reader->config->plan;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "freeze"), *values = node;
    if (node != NULL && node->kind == HN_YAML_MAPPING) {
        hn_config_check_keys(reader, node, keys, sizeof keys / sizeof keys[0]);
        values = hn_config_need(reader, node, "values");
        hn_config_read_expression(reader, hn_yaml_get(node, "if"), &plan->freeze_if);
    }
    hn_config_read_words(reader, values, "problem value", plan->problem, plan->problem_count,
                         &plan->freeze, &plan->freeze_count);
}

static const char expected_entry[] =
    "the name of an extern \"C\" kernel, or a C++ name expression such as \"f<TILE>\"";

static void read_entry(struct hn_config_reader *reader, const struct hn_yaml *node, void *owner)
{
    hn_config_read_text(reader, node, expected_entry, &((struct hn_step *)owner)->entry);
}

static const struct hn_config_form step_forms[] = {{"entry", read_entry}, {NULL, NULL}};
static const struct hn_config_mapping step_mapping = {&hn_step_structure, step_forms, NULL};

/* A step without an entry of its own takes the config's. */
static void complete_entry(struct hn_config_reader *reader, struct hn_step *step)
{
    const struct hn_yaml *entry = hn_yaml_get(reader->root, "entry");
    if (step->entry == NULL && entry == NULL)
        hn_config_fail(reader, reader->root, "key 'entry' is missing, expected %s", expected_entry);
    else if (step->entry == NULL)
        read_entry(reader, entry, step);
}

/* A step that lists no arguments takes all of the plan's, but the reference no tensor maps. */
static void complete_arguments(struct hn_config_reader *reader, struct hn_step *step, bool maps)
{
    const struct hn_plan *plan = reader->config->plan;
    if (step->arguments != NULL)
        return;
    step->arguments = hn_config_allocate(reader, plan->argument_count, sizeof *step->arguments);
    for (size_t i = 0; step->arguments != NULL && i < plan->argument_count; i++)
        if (hn_argument_is_passed(&plan->arguments[i]) &&
            (maps || plan->arguments[i].role != HN_ROLE_TENSOR_MAP))
            step->arguments[step->argument_count++] = i;
}

static void check_window(struct hn_config_reader *reader, const struct hn_yaml *node,
                         const struct hn_window_plan *window)
{
    const struct hn_plan *plan = reader->config->plan;
    if (node == NULL || reader->status != HN_OK ||
        hn_argument_is_buffer(&plan->arguments[window->argument]))
        return;
    const struct hn_yaml *argument = hn_yaml_get(node, "argument");
    hn_config_fail(reader, argument, "'%s' is no buffer, which a window lies over", argument->text);
}

static void read_step(struct hn_config_reader *reader, const struct hn_yaml *node,
                      struct hn_step *step)
{
    hn_config_check_mapping(reader, node, &step_mapping);
    hn_config_read_mapping(reader, node, &step_mapping, step);
    complete_entry(reader, step);
    complete_arguments(reader, step, true);
    check_window(reader, hn_yaml_get(node, "l2_window"), &step->geometry.window);
}

void hn_config_read_launch(struct hn_config_reader *reader)
{
    enum { STEPS_MOST = 64 };
    struct hn_plan *plan = reader->config->plan;
    const struct hn_yaml *node = hn_config_need(reader, reader->root, "launch");
    if (node == NULL)
        return;
    bool list = node->kind == HN_YAML_SEQUENCE;
    size_t room = list ? node->count : 1;
    hn_config_expect(reader, node->kind != HN_YAML_SCALAR && room > 0 && room <= STEPS_MOST, node,
                     "a mapping with grid and block, or a list of 1 to 64 steps");
    plan->steps = hn_config_allocate(reader, room, sizeof *plan->steps);
    const struct hn_yaml *step = list ? hn_config_first(reader, node) : node;
    for (size_t i = 0; i < room && reader->status == HN_OK; i++, step = step->next) {
        if (list && step->kind == HN_YAML_MAPPING && hn_yaml_get(step, "copy") != NULL)
            hn_config_read_copy(reader, step);
        else
            read_step(reader, step, &plan->steps[plan->step_count++]);
    }
    if (plan->step_count == 0)
        hn_config_fail(reader, node, "no step launches a kernel");
}

static void read_option_text(struct hn_config_reader *reader, const struct hn_yaml *node,
                             struct hn_option *option)
{
    struct hn_error reason = {0};
    if (node == NULL ||
        !hn_config_expect(reader, node->kind == HN_YAML_SCALAR && node->text[0] == '-', node,
                          "a compile option such as \"--use_fast_math\""))
        return;
    char *text = hn_config_expand(reader, node, node->text, true);
    if (text == NULL)
        return;
    enum hn_status status = hn_option_set_text(option, text, &reason);
    free(text);
    if (status == HN_ENOMEM)
        hn_config_take(reader, hn_fail_memory(reader->err));
    else if (status != HN_OK)
        hn_config_fail(reader, node, "%s", reason.message);
    for (size_t i = 0; i < option->hole_count; i++)
        hn_config_remember(reader, option->holes[i], node);
}

static void read_option(struct hn_config_reader *reader, const struct hn_yaml *node,
                        struct hn_option *option)
{
    static const char *const keys[] = {"if", "option"};
    if (node->kind == HN_YAML_SCALAR) {
        read_option_text(reader, node, option);
        return;
    }
    hn_config_check_keys(reader, node, keys, 2);
    const struct hn_yaml *text = hn_config_need(reader, node, "option");
    hn_config_read_expression(reader, hn_config_need(reader, node, "if"), &option->condition);
    read_option_text(reader, text, option);
}

static void read_compiler(struct hn_config_reader *reader, const struct hn_yaml *node,
                          struct hn_plan *plan)
{
    bool nvcc = node != NULL && node->kind == HN_YAML_SCALAR &&
                strcmp(node->text, hn_compiler_names[HN_COMPILER_NVCC]) == 0;
    bool nvrtc = node == NULL || (node->kind == HN_YAML_SCALAR &&
                                  strcmp(node->text, hn_compiler_names[HN_COMPILER_NVRTC]) == 0);
    hn_config_expect(reader, nvcc || nvrtc, node, "nvrtc or nvcc");
    plan->compiler = nvcc ? HN_COMPILER_NVCC : HN_COMPILER_NVRTC;
}

static void read_refused(struct hn_config_reader *reader, const struct hn_yaml *node,
                         struct hn_plan *plan)
{
    if (node == NULL || !hn_config_expect_kind(reader, node, HN_YAML_SEQUENCE,
                                               "a list of warnings, as [serialised]"))
        return;
    for (const struct hn_yaml *item = hn_config_first(reader, node); item != NULL;
         item = hn_config_next(reader, item))
        plan->refused |= 1u << hn_config_read_choice(reader, item, "warning", hn_warning_names,
                                                     HN_WARNING_COUNT);
}

void hn_config_read_compile(struct hn_config_reader *reader)
{
    static const char *const keys[] = {"compiler", "arch_specific", "refuse", "options"};
    struct hn_plan *plan = reader->config->plan;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "compile");
    if (node == NULL)
        return;
    static const char *const truths[] = {"false", "true"};
    hn_config_check_keys(reader, node, keys, sizeof keys / sizeof keys[0]);
    read_compiler(reader, hn_yaml_get(node, "compiler"), plan);
    plan->arch_specific = hn_config_read_choice(reader, hn_yaml_get(node, "arch_specific"),
                                                "value of arch_specific", truths, 2) == 1;
    read_refused(reader, hn_yaml_get(node, "refuse"), plan);
    const struct hn_yaml *options = hn_yaml_get(node, "options");
    if (options == NULL ||
        !hn_config_expect_kind(reader, options, HN_YAML_SEQUENCE,
                               "a list of options, each a string or {if: ..., option: ...}"))
        return;
    plan->options = hn_config_allocate(reader, options->count, sizeof *plan->options);
    for (const struct hn_yaml *item = hn_config_first(reader, options); item != NULL;
         item = hn_config_next(reader, item))
        read_option(reader, item, &plan->options[plan->option_count++]);
}

/* The step of a reference stands beside its other keys. */

static const struct hn_config_form reference_step_forms[] = {
    {"entry", read_entry}, {"if", NULL}, {"l2_window", NULL}, {NULL, NULL}};
static const struct hn_config_mapping reference_step_mapping = {&hn_step_structure,
                                                                reference_step_forms, NULL};

static void read_template(struct hn_config_reader *reader, const struct hn_yaml *node, void *owner)
{
    hn_config_read_path(reader, node, "the path of a .cu file",
                        &((struct hn_reference *)owner)->template_path);
}

static void read_depends(struct hn_config_reader *reader, const struct hn_yaml *node, void *owner)
{
    struct hn_plan *plan = reader->config->plan;
    struct hn_reference *reference = owner;
    hn_config_read_words(reader, node, "parameter", plan->parameters, plan->parameter_count,
                         &reference->depends, &reference->depends_count);
}

static const struct hn_config_form reference_forms[] = {
    {"kind", NULL},  {"template", read_template}, {"step", NULL},
    {"files", NULL}, {"depends", read_depends},   {NULL, NULL}};
static const struct hn_config_mapping reference_mapping = {&hn_reference_structure, reference_forms,
                                                           &reference_step_mapping};

/* {y: expected.npy}: a file for each argument that is compared. */
static void read_files(struct hn_config_reader *reader, const struct hn_yaml *node)
{
    struct hn_plan *plan = reader->config->plan;
    if (!hn_config_expect_kind(reader, node, HN_YAML_MAPPING,
                               "a mapping of outputs to files, as {y: expected.npy}"))
        return;
    plan->reference.kind = HN_REFERENCE_FILES;
    for (const struct hn_yaml *item = hn_config_first(reader, node); item != NULL;
         item = hn_config_next(reader, item)) {
        char *path = NULL;
        size_t argument = hn_config_find_argument(reader, item->key);
        if (reader->status == HN_OK && !hn_argument_is_compared(&plan->arguments[argument]))
            hn_config_fail(reader, item->key,
                           "'%s' has role %s; only output and inout are compared", item->key->text,
                           hn_role_name(plan->arguments[argument].role));
        hn_config_read_path(reader, item, "the path of a data file", &path);
        if (reader->status == HN_OK)
            hn_config_take(reader,
                           hn_reference_add_file(&plan->reference, argument, path, reader->err));
        free(path);
    }
    for (size_t i = 0; reader->status == HN_OK && i < plan->argument_count; i++)
        if (hn_argument_is_compared(&plan->arguments[i]) &&
            hn_yaml_get(node, plan->arguments[i].name) == NULL)
            hn_config_fail(reader, node, "'%s' is compared and has no file here; expected one",
                           plan->arguments[i].name);
}

void hn_config_read_reference(struct hn_config_reader *reader)
{
    struct hn_reference *reference = &reader->config->plan->reference;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "reference");
    if (node == NULL)
        return;
    if (node->kind == HN_YAML_SCALAR && strcmp(node->text, "none") == 0) {
        reference->kind = HN_REFERENCE_NONE;
        return;
    }
    if (!hn_config_expect_kind(reader, node, HN_YAML_MAPPING,
                               "a mapping with template and entry, or with files, or none"))
        return;
    if (hn_yaml_get(node, "files") != NULL) {
        static const char *const keys[] = {"files"};
        hn_config_check_keys(reader, node, keys, 1);
        read_files(reader, hn_yaml_get(node, "files"));
        return;
    }
    reference->kind = HN_REFERENCE_TEMPLATE;
    hn_config_check_mapping(reader, node, &reference_mapping);
    hn_config_need(reader, node, "template");
    hn_config_need(reader, node, "entry");
    hn_config_read_mapping(reader, node, &reference_mapping, reference);
    hn_config_read_mapping(reader, node, &reference_step_mapping, &reference->step);
    complete_arguments(reader, &reference->step, false);
    for (size_t i = 0; reader->status == HN_OK && i < reference->step.argument_count; i++) {
        const struct hn_argument *argument =
            &reader->config->plan->arguments[reference->step.arguments[i]];
        if (argument->role == HN_ROLE_TENSOR_MAP)
            hn_config_fail(reader, hn_yaml_get(node, "arguments"),
                           "'%s' is a tensor map, which a reference is not given; expected '%s', "
                           "the buffer",
                           argument->name, argument->from);
    }
}
