/* SPDX-License-Identifier: MIT */
#include "tuner/config/config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/expression/expression.h"
#include "tuner/config/config_parts.h"

enum { FORMAT = 1 };

void hn_config_constraint_finish(struct hn_config_constraint *constraint)
{
    free(constraint->text);
    hn_expression_destroy(constraint->expression);
    free(constraint->where);
}

static void free_points(struct hn_bindings *points, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hn_bindings_finish(&points[i]);
    free(points);
}

void hn_config_destroy(struct hn_config *config)
{
    if (config == NULL)
        return;
    for (size_t i = 0; i < config->parameter_count; i++) {
        free(config->parameters[i].name);
        hn_config_free_values(config->parameters[i].values, config->parameters[i].count);
        hn_config_finish_recipe(config->parameters[i].recipe);
    }
    for (size_t i = 0; i < config->constraint_count; i++)
        hn_config_constraint_finish(&config->constraints[i]);
    for (size_t i = 0; i < config->typed_count; i++)
        free(config->typed[i].name);
    free(config->parameters);
    free(config->constraints);
    free(config->typed);
    free_points(config->problems, config->problem_count);
    free_points(config->ladder, config->ladder_count);
    free_points(config->only, config->only_count);
    hn_bindings_finish(&config->defaults);
    hn_expression_destroy(config->prior);
    hn_bindings_finish(&config->prior_limits);
    hn_family_destroy(config->family);
    hn_plan_destroy(config->plan);
    free(config->path);
    free(config);
}

static struct hn_config *create(const char *path)
{
    struct hn_config *config = hn_need(1, sizeof *config);
    hn_bindings_init(&config->defaults);
    hn_bindings_init(&config->prior_limits);
    config->look_ahead = HN_LOOK_AHEAD;
    config->plan = hn_needed(hn_plan_create());
    config->path = hn_need_copy(path);
    return config;
}

/* The folder of the file, absolute and without links; that we are in for what has none: a pipe.
 * NULL when that can not be found out. */
static char *folder_of(const char *path)
{
    struct stat about;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode))
        return realpath(".", NULL);
    char *real = realpath(path, NULL);
    char *slash = real == NULL ? NULL : strrchr(real, '/');
    if (slash != NULL)
        slash[slash == real ? 1 : 0] = '\0';
    return real;
}

/* Before unknown keys: a newer format has others. */
static void read_format(struct hn_config_reader *reader)
{
    const struct hn_yaml *node = hn_yaml_get(reader->root, "hone");
    if (node == NULL)
        return;
    struct hn_value value = hn_config_read_value(reader, node);
    if (value.type == HN_INTEGER && value.integer > FORMAT)
        hn_config_fail(reader, node, "format version %lld is newer than this Hone, which knows %d",
                       (long long)value.integer, FORMAT);
    hn_config_expect(reader, value.type == HN_INTEGER && value.integer == FORMAT, node,
                     "the format version 1");
}

static void read_look_ahead(struct hn_config_reader *reader)
{
    static const char expected[] = "a whole number from 1 to 4096";
    _Static_assert(HN_LOOK_AHEAD_MOST == 4096, "as the message says");
    const struct hn_yaml *node = hn_yaml_get(reader->root, "look_ahead");
    if (node == NULL || !hn_config_expect_kind(reader, node, HN_YAML_SCALAR, expected))
        return;
    struct hn_value value = hn_config_read_value(reader, node);
    if (hn_config_expect(reader,
                         value.type == HN_INTEGER && value.integer >= 1 &&
                             value.integer <= HN_LOOK_AHEAD_MOST,
                         node, expected))
        reader->config->look_ahead = (unsigned)value.integer;
}

/* A config of a space alone has no template, and nothing that would need one. */
static void check_without_template(struct hn_config_reader *reader)
{
    static const char *const needing[] = {"entry",   "arguments", "symbols",   "launch",
                                          "compile", "reference", "compare",   "metrics",
                                          "freeze",  "objective", "direction", "pipeline"};
    for (size_t i = 0; i < sizeof needing / sizeof needing[0]; i++) {
        const struct hn_yaml *node = hn_yaml_get(reader->root, needing[i]);
        if (node != NULL)
            hn_config_fail(reader, reader->root,
                           "key 'template' is missing: '%s' on line %d needs it", needing[i],
                           node->key->line);
    }
    reader->config->plan->objective = hn_need_copy("time");
}

static void read_space_parts(struct hn_config_reader *reader)
{
    hn_config_read_word(reader, hn_config_need(reader, reader->root, "kernel"),
                        "a name ([A-Za-z_][A-Za-z0-9_]*)", &reader->config->plan->kernel);
    hn_config_read_family(reader);
    hn_config_read_problem(reader);
    hn_config_read_device(reader);
    hn_config_read_parameters(reader);
    hn_config_move_types(reader);
    hn_config_read_names(reader);
    hn_config_read_let(reader);
    hn_config_read_constraints(reader);
    hn_config_read_computed(reader);
    hn_config_read_points(reader);
    read_look_ahead(reader);
}

static void read_kernel_parts(struct hn_config_reader *reader, const struct hn_yaml *template)
{
    hn_config_read_path(reader, template, "the path of a .cu file",
                        &reader->config->plan->template_path);
    hn_config_read_freeze(reader);
    hn_config_read_arguments(reader);
    hn_config_read_symbols(reader);
    hn_config_read_pipeline(reader);
    hn_config_read_launch(reader);
    hn_config_read_compile(reader);
    hn_config_read_reference(reader);
    hn_config_read_compare(reader);
    hn_config_read_metrics(reader);
    hn_config_read_types(reader);
}

static void read_root(struct hn_config_reader *reader)
{
    static const char keys[] =
        "hone kernel template entry problem family freeze parameters defaults let constraints "
        "promising arguments symbols launch pipeline compile reference compare ladder metrics "
        "objective direction look_ahead prior";
    const struct hn_yaml *template = hn_yaml_get(reader->root, "template");
    hn_config_expect_kind(reader, reader->root, HN_YAML_MAPPING,
                          "a mapping with kernel and parameters");
    read_format(reader);
    hn_config_check_keys(reader, reader->root, keys);
    read_space_parts(reader);
    if (template == NULL)
        check_without_template(reader);
    else
        read_kernel_parts(reader, template);
    hn_config_check(reader);
    hn_config_read_prior(reader);
}

/* What fails later, at a point, says where it stands; until now the reader has said it. */
static void set_place(void *context, struct hn_expression *expression, const struct hn_field *field,
                      size_t item)
{
    struct hn_config_reader *reader = context;
    const struct hn_yaml *node = hn_config_place(reader, expression);
    char place[PATH_MAX + 32];
    (void)field;
    (void)item;
    if (node == reader->root)
        return;
    snprintf(place, sizeof place, "%s:%d:%d", reader->path, node->line, node->column);
    hn_expression_set_place(expression, place);
}

/* What the plan tells those who have no config: which points are valid, and where the config is. */
static void complete_plan(struct hn_config_reader *reader)
{
    const struct hn_config *config = reader->config;
    struct hn_plan *plan = config->plan;
    hn_expressions_walk(&hn_plan_structure, plan, set_place, reader);
    plan->constraints = hn_need(config->constraint_count, sizeof(struct hn_expression *));
    for (size_t i = 0; i < config->constraint_count && !hn_failed(reader->err); i++)
        if (!config->constraints[i].promising)
            hn_expression_copy(config->constraints[i].expression,
                               &plan->constraints[plan->constraint_count++], reader->err);
    plan->config = realpath(config->path, NULL);
    if (plan->config != NULL && hn_text_find_not_utf8(plan->config) != NULL)
        hn_fail(reader->err, HN_ECONFIG,
                "the path of the config, '%s', is not UTF-8, which caches "
                "hold it in; rename the folder or the file",
                plan->config);
}

enum hn_status hn_config_load(const char *path, struct hn_config **config, struct hn_error *err)
{
    return hn_config_load_for(path, NULL, config, err);
}

enum hn_status hn_config_load_for(const char *path, const struct hn_config_for *use,
                                  struct hn_config **config, struct hn_error *err)
{
    struct hn_yaml *root = NULL;
    struct hn_error ignored;
    err = err == NULL ? &ignored : err;
    if (hn_yaml_load(path, &root, err) != HN_OK)
        return err->status;
    struct hn_config_reader reader = {.path = path,
                                      .root = root,
                                      .folder = hn_needed(folder_of(path)),
                                      .config = create(path),
                                      .use = use,
                                      .err = err};
    read_root(&reader);
    if (!hn_failed(err))
        complete_plan(&reader);
    if (!hn_failed(err))
        *config = reader.config;
    else
        hn_config_destroy(reader.config);
    hn_config_finish_lets(&reader);
    free(reader.places);
    free(reader.folder);
    hn_yaml_destroy(root);
    return err->status;
}

static void add_constants(const struct hn_bindings *values, struct hn_space *space,
                          struct hn_error *err)
{
    for (size_t i = 0; i < values->count && !hn_failed(err); i++)
        hn_space_add_constant(space, values->names[i], &values->values[i], err);
}

/* All but its points. */
static void fill_space(const struct hn_config *config, size_t problem, struct hn_space *made,
                       struct hn_error *err)
{
    const struct hn_plan *plan = config->plan;
    for (size_t i = 0; i < config->parameter_count && !hn_failed(err); i++) {
        const struct hn_config_parameter *parameter = &config->parameters[i];
        hn_space_add_parameter(made, parameter->name, parameter->values, parameter->count, err);
    }
    add_constants(&config->problems[problem], made, err);
    add_constants(&config->prior_limits, made, err);
    /* Constraints may name words that other problems have, or that -s has taken from a parameter.
     */
    for (size_t i = 0; i < plan->word_list_count; i++)
        for (size_t w = 0; w < plan->word_lists[i].count; w++)
            hn_space_add_word(made, plan->word_lists[i].words[w]);
    if (config->prior != NULL && !hn_failed(err))
        hn_space_set_estimate(made, config->prior, err);
    for (size_t i = 0; config->only == NULL && i < config->constraint_count; i++)
        hn_space_add_expression(made, config->constraints[i].expression,
                                config->constraints[i].where);
}

/* What only a built space can say is told at once: that it is empty, and where that is unknown. */
static void begin(const struct hn_config *config, struct hn_space *space, struct hn_error *err)
{
    hn_space_make_hasty(space);
    if (hn_space_begin(space, err) == HN_OK && !hn_config_has_defaults(config, space))
        hn_space_wait(space, err);
}

static enum hn_status make_space(const struct hn_config *config, size_t problem, bool waits,
                                 struct hn_space **space, struct hn_error *err)
{
    struct hn_error ignored;
    struct hn_space *made = hn_space_create();
    err = err == NULL ? &ignored : err;
    hn_error_init(err);
    fill_space(config, problem, made, err);
    if (config->only != NULL)
        hn_config_build_only(config, problem, made, err);
    else if (!hn_failed(err) && waits)
        hn_space_build(made, err);
    else if (!hn_failed(err))
        begin(config, made, err);
    if (!hn_failed(err))
        *space = made;
    else
        hn_space_destroy(made);
    return err->status;
}

enum hn_status hn_config_space(const struct hn_config *config, size_t problem,
                               struct hn_space **space, struct hn_error *err)
{
    return make_space(config, problem, true, space, err);
}

enum hn_status hn_config_begin_space(const struct hn_config *config, size_t problem,
                                     struct hn_space **space, struct hn_error *err)
{
    return make_space(config, problem, false, space, err);
}
