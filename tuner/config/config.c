/* SPDX-License-Identifier: MIT */
#include "tuner/config/config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/expression/expression.h"
#include "runtime/plan/contents.h"
#include "runtime/plan/launch.h"
#include "tuner/config/config_parts.h"

/* What its defaults leave open is as at the valid point near them. */
static void fail_default(struct hn_reader *reader, size_t problem, const struct hn_bindings *point)
{
    const struct hn_config *config = reader->config;
    const struct hn_bindings *of = &config->problems[problem];
    struct hn_bindings near HN_ENDED_BY(hn_bindings_finish) = {0};
    struct hn_space *space = NULL;
    if (hn_config_space(config, problem, true, &space, NULL) == HN_OK)
        hn_config_default_point(config, space, &near);
    struct hn_bindings whole HN_ENDED_BY(hn_bindings_finish) = hn_need_bindings(&near, point);
    const struct hn_config_constraint *broken =
        hn_config_find_broken(config, of, &whole, reader->err);
    char *texts[] = {hn_needed(hn_bindings_text(&whole)), hn_needed(hn_bindings_text(of)),
                     hn_needed(hn_bindings_text(&near))};
    if (broken != NULL)
        hn_config_fail(
            reader, hn_yaml_get(reader->root, "defaults"),
            "the default point %s is not valid%s%s: constraint '%s' (%s) does not hold; a "
            "valid point near it: %s",
            texts[0], of->count > 0 ? " for problem " : "", texts[1], broken->text, broken->where,
            near.count > 0 ? texts[2] : "none");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    hn_space_destroy(space);
}

/* Partial defaults are completed by the first valid point that has them; without any, that of the
 * first problem which has points. */
static void complete_defaults(struct hn_reader *reader)
{
    const struct hn_config *config = reader->config;
    const bool given = config->defaults.count > 0;
    struct hn_bindings *defaults = &reader->plan->defaults;
    for (size_t i = 0; i < config->problem_count && (given || defaults->count == 0); i++) {
        struct hn_bindings point;
        struct hn_space *space = NULL;
        hn_config_space(config, i, true, &space, reader->err);
        if (!given && reader->err->status == HN_ENOTFOUND && i + 1 < config->problem_count) {
            hn_error_init(reader->err);
            continue;
        }
        if (hn_failed(reader->err))
            return;
        if (!hn_config_default_point(config, space, &point))
            fail_default(reader, i, &config->defaults);
        hn_space_destroy(space);
        if (defaults->count == 0)
            *defaults = point;
        else
            hn_bindings_finish(&point);
        if (hn_failed(reader->err))
            return;
    }
}

/* It says nothing of points, and is right for each problem that it is for. */
static void check_other_default(struct hn_reader *reader, struct hn_default *other)
{
    const struct hn_config *config = reader->config;
    const struct hn_plan *plan = config->plan;
    if (hn_failed(reader->err))
        return;
    const char *parameter = hn_plan_parameter_used(plan, other->condition);
    if (parameter != NULL)
        hn_config_fail(reader, hn_config_place(reader, other->condition),
                       "'%s' is a parameter; expected an expression of problem values, since it "
                       "says which problems the point is for",
                       parameter);
    struct hn_bindings whole = hn_need_bindings(&plan->defaults, &other->point);
    hn_bindings_finish(&other->point);
    other->point = whole;
    for (size_t i = 0; i < config->problem_count; i++) {
        const struct hn_config_constraint *broken = NULL;
        struct hn_value *values HN_FREED = NULL;
        if (hn_plan_values(plan, &config->problems[i], &plan->defaults, &values, NULL) == HN_OK &&
            hn_expression_truth(other->condition, values) == HN_TRUE)
            broken =
                hn_config_find_broken(config, &config->problems[i], &other->point, reader->err);
        if (broken != NULL && !broken->promising)
            fail_default(reader, i, &other->point);
    }
}

/* An entry that no problem can have is a mistake; one that only some have is left to those. */
static void check_ladder(struct hn_reader *reader)
{
    const struct hn_config *config = reader->config;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "ladder");
    node = node == NULL ? NULL : node->child;
    for (size_t i = 0; i < config->ladder_count && !hn_failed(reader->err); i++) {
        const struct hn_config_constraint *broken = NULL;
        struct hn_bindings point HN_ENDED_BY(hn_bindings_finish) =
            hn_need_bindings(&config->plan->defaults, &config->ladder[i]);
        for (size_t p = 0; p < config->problem_count && (p == 0 || broken != NULL); p++)
            broken = hn_config_find_broken(config, &config->problems[p], &point, reader->err);
        if (broken != NULL)
            hn_config_fail(reader, node,
                           "the ladder entry, completed from the default point, is not valid: "
                           "constraint '%s' (%s) does not hold",
                           broken->text, broken->where);
        node = node->next;
    }
}

/* The default point of one problem, at which everything is evaluated once. */
struct trial {
    struct hn_reader *reader;
    struct hn_value *values;
    char *where; /* "M=4096,TILE_WIDTH=16", for messages */
};

static void take_reason(const struct trial *trial, const struct hn_expression *expression,
                        const struct hn_error *reason)
{
    if (hn_failed(reason))
        hn_config_fail(trial->reader, hn_config_place(trial->reader, expression),
                       "%s (at the default point: %s)", reason->message, trial->where);
}

/* That the expression, when there is one, is a number in these bounds there. */
static void try_number(const struct trial *trial, const struct hn_expression *expression, bool real,
                       double least, double most)
{
    struct hn_error reason = {0};
    int64_t integer = 0;
    double result = least;
    if (real)
        hn_expression_number(expression, trial->values, &result, &reason);
    else if (expression != NULL &&
             hn_expression_integer(expression, trial->values, &integer, &reason))
        result = (double)integer;
    if (!hn_failed(&reason) && !(result >= least && result <= most))
        hn_fail(&reason, HN_ECONFIG, "'%.60s' is %.15g, expected %s %.15g",
                hn_expression_text(expression), result, result > most ? "at most" : "at least",
                result > most ? most : least);
    take_reason(trial, expression, &reason);
}

/* Whether it holds, which it does where there is none. */
static bool try_condition(const struct trial *trial, const struct hn_expression *expression)
{
    struct hn_error reason = {0};
    bool holds = hn_expression_holds(expression, trial->values, &reason);
    take_reason(trial, expression, &reason);
    return holds;
}

/* The values that expressions may have, by their keys; without a row it is any. */
static const struct bounds {
    const char *key;
    bool real;
    double least, most;
} bounds[] = {
    {"grid", false, 1, INT32_MAX},
    {"block", false, 1, INT32_MAX},
    {"shared_bytes", false, 0, INT32_MAX},
    {"cluster", false, 1, HN_MAX_CLUSTER},
    {"carveout", false, HN_NO_CARVEOUT, 100},
    {"bytes", false, 0, INT32_MAX},
    {"set_aside", false, 0, INT32_MAX},
    {"hit_ratio", true, 0, HUGE_VAL},
    {"relative", true, 0, HUGE_VAL},
    {"absolute", true, 0, HUGE_VAL},
    {"mismatches", false, 0, HUGE_VAL},
};

static void try_field(void *context, struct hn_expression *expression, const struct hn_field *field)
{
    const struct trial *trial = context;
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        if (strcmp(bounds[i].key, field->key) != 0)
            continue;
        try_number(trial, expression, bounds[i].real, bounds[i].least, bounds[i].most);
        return;
    }
    (void)try_condition(trial, expression);
}

static void try_step(struct trial *trial, struct hn_step *step)
{
    const struct hn_plan *plan = trial->reader->plan;
    struct hn_error reason = {0};
    struct hn_l2_window window;
    struct hn_tensor tensor;
    if (!try_condition(trial, step->condition))
        return;
    hn_expressions_walk(&hn_step_structure, step, try_field, trial);
    hn_l2_window_evaluate(&step->geometry.window, trial->values, &window, &reason);
    take_reason(trial, step->geometry.window.parts[HN_WINDOW_BYTES], &reason);
    /* That a tensor map's fields have values; what they may be is a matter of each point. */
    for (size_t i = 0; i < step->argument_count && !hn_failed(trial->reader->err); i++) {
        const struct hn_argument *argument = &plan->arguments[step->arguments[i]];
        if (argument->role != HN_ROLE_TENSOR_MAP)
            continue;
        hn_argument_evaluate_tensor(argument, hn_plan_find_argument(plan, argument->from),
                                    trial->values, &tensor, &reason);
        take_reason(trial, argument->tensor_map.dims[0], &reason);
    }
}

/* That a fill makes sense for these values of the plan's names. */
static void check_fill(struct hn_reader *reader, const struct hn_argument *argument,
                       const struct hn_value *values, const char *where)
{
    size_t index = (size_t)(argument - reader->plan->arguments), place = index;
    const struct hn_yaml *list = hn_yaml_get(reader->root, "arguments");
    if (place >= list->count) {
        place -= list->count;
        list = hn_yaml_get(reader->root, "symbols");
    }
    const struct hn_yaml *item = list->child;
    for (; place > 0; place--)
        item = item->next;
    const struct hn_yaml *node = hn_yaml_get(item, "fill");
    node = node != NULL ? node : item;
    const struct hn_fill *fill = &argument->fill;
    struct hn_recipe recipe;
    struct hn_error reason = {0};
    enum hn_status status = hn_recipe_make(reader->plan, index, values, &recipe, &reason);
    bool evaluated =
        status != HN_ECONFIG && (fill->expressions[0] != NULL || fill->expressions[1] != NULL);
    if (status != HN_OK)
        hn_config_fail(reader, node, "found '%s', %s%s%s%s",
                       node->text == NULL ? hn_fill_names[fill->kind] : node->text, reason.message,
                       evaluated ? " (at the default point: " : "", evaluated ? where : "",
                       evaluated ? ")" : "");
}

static void try_argument(struct trial *trial, const struct hn_argument *argument)
{
    struct hn_error reason = {0};
    int64_t low, high;
    uint64_t align;
    if (!try_condition(trial, argument->condition) || argument->from != NULL)
        return;
    if (argument->compare != NULL)
        hn_expressions_walk(&hn_compare_structure, argument->compare, try_field, trial);
    if (argument->count != NULL) {
        try_number(trial, argument->count, false, 1,
                   (double)(INT64_MAX / (int64_t)hn_argument_bytes(argument)));
        hn_argument_evaluate_align(argument, trial->values, &align, &reason);
        take_reason(trial, argument->align, &reason);
        if (!hn_failed(trial->reader->err) && hn_argument_is_filled(argument))
            check_fill(trial->reader, argument, trial->values, trial->where);
    } else {
        bool real = hn_element_is_real(argument->element);
        for (size_t i = 0; i < argument->member_count; i++)
            try_number(trial, argument->members[i].value, true, -HUGE_VAL, HUGE_VAL);
        hn_element_range(argument->element, &low, &high);
        try_number(trial, argument->value, real, real ? -HUGE_VAL : (double)low,
                   real ? HUGE_VAL : (double)high);
    }
}

/* Where a field is nothing but a parameter, all of its values are known. */
static void check_words(struct hn_reader *reader, enum hn_pipeline_field field,
                        const char *const *known, size_t count)
{
    const struct hn_plan *plan = reader->plan;
    const struct hn_expression *expression = plan->pipeline->fields[field];
    for (size_t i = 0; expression != NULL && i < plan->word_list_count; i++) {
        const struct hn_word_list *list = &plan->word_lists[i];
        if (strcmp(list->name, hn_expression_text(expression)) != 0)
            continue;
        for (size_t w = 0; w < list->count; w++)
            hn_config_expect_known(reader, hn_config_place(reader, expression),
                                   hn_pipeline_keys[field], list->words[w], known, count);
    }
}

/* A chunk sees a part of what is cut, of which a window or a tensor map would have to be another
 * one each. */
static void check_whole(struct hn_reader *reader, const struct hn_yaml *node)
{
    const struct hn_plan *plan = reader->plan;
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

static void check_pipeline(struct hn_reader *reader)
{
    const struct hn_yaml *node = hn_yaml_get(reader->root, "pipeline");
    if (reader->plan->pipeline == NULL || hn_failed(reader->err))
        return;
    check_words(reader, HN_PIPELINE_ORDER, hn_order_names, HN_ORDER_COUNT);
    check_words(reader, HN_PIPELINE_HOST_MEMORY, hn_host_memory_names, HN_HOST_MEMORY_COUNT);
    check_whole(reader, node);
}

static void try_pipeline(struct hn_reader *reader, size_t problem, const char *where)
{
    const struct hn_yaml *node = hn_yaml_get(reader->root, "pipeline");
    struct hn_error reason = {0};
    struct hn_launch launch HN_ENDED_BY(hn_launch_finish) = {0};
    if (reader->plan->pipeline == NULL || hn_failed(reader->err))
        return;
    bool made = hn_launch_make(reader->plan, &reader->config->problems[problem],
                               &reader->plan->defaults, &launch, &reason) == HN_OK;
    const char *why = made ? launch.flow->why : reason.message;
    if (!made || why[0] != '\0')
        hn_config_fail(reader, node, "%s (at the default point: %s)", why, where);
}

/* "M=4096,TILE_WIDTH=16": a problem and the default point. The caller frees it. */
static char *describe_default(const struct hn_config *config, size_t problem)
{
    struct hn_text text = {0};
    hn_bindings_append(&text, &config->problems[problem]);
    hn_text_append(&text, text.length > 0 ? "," : "");
    hn_bindings_append(&text, &config->plan->defaults);
    return hn_needed(hn_text_take(&text));
}

static void try_problem(struct hn_reader *reader, size_t problem)
{
    struct hn_plan *plan = reader->plan;
    const struct hn_bindings *bound = &reader->config->problems[problem];
    struct trial trial = {.reader = reader};
    struct hn_error reason = {0};
    if (hn_config_find_broken(reader->config, &reader->config->problems[problem], &plan->defaults,
                              reader->err) != NULL ||
        hn_failed(reader->err))
        return;
    trial.where = describe_default(reader->config, problem);
    if (hn_plan_values(plan, bound, &plan->defaults, &trial.values, &reason) == HN_OK) {
        for (size_t i = 0; i < plan->argument_count; i++)
            try_argument(&trial, &plan->arguments[i]);
        for (size_t i = 0; i < plan->step_count; i++)
            try_step(&trial, &plan->steps[i]);
        for (size_t i = 0; i < plan->option_count; i++)
            (void)try_condition(&trial, plan->options[i].condition);
        try_step(&trial, &plan->reference.step);
        hn_expressions_walk(&hn_compare_structure, &plan->compare, try_field, &trial);
    } else {
        hn_config_fail(reader, hn_yaml_get(reader->root, "arguments"),
                       "%s (at the default point: %s)", reason.message, trial.where);
    }
    try_pipeline(reader, problem, trial.where);
    free(trial.values);
    free(trial.where);
}

/* Only what a variant may find uninitialised or zeroed, whatever its size, can depend on
 * parameters. */
static void check_size(struct hn_reader *reader, const struct hn_argument *argument, bool copied,
                       const struct hn_expression *size)
{
    const char *parameter = hn_plan_parameter_used(reader->plan, size);
    if (parameter != NULL &&
        (copied || (argument->role != HN_ROLE_SCRATCH && argument->role != HN_ROLE_COUNTER &&
                    argument->role != HN_ROLE_METRIC)))
        hn_config_fail(reader, hn_config_place(reader, size),
                       "'%s' is %s and uses the parameter '%s' here; expected problem values, on "
                       "which all but scratch, counter and metric have to depend alone",
                       argument->name, copied ? "copied" : hn_role_names[argument->role],
                       parameter);
}

/* The reference is run once for each value of what it depends on: nothing else may reach it. */
static void check_reference_use(void *context, struct hn_expression *expression,
                                const struct hn_field *field)
{
    struct hn_reader *reader = context;
    const struct hn_plan *plan = reader->plan;
    (void)field;
    for (size_t i = 0; expression != NULL && i < plan->name_count; i++) {
        const char *name = plan->names[i];
        if (hn_bindings_get(&plan->defaults, name) != NULL && hn_plan_uses(plan, expression, i) &&
            !hn_text_is_among(name, (const char *const *)plan->reference.depends,
                              plan->reference.depends_count))
            hn_config_fail(reader, hn_config_place(reader, expression),
                           "the reference uses parameter '%s', which its 'depends' does not list",
                           name);
    }
}

/* The energy of launches is measured of many, one behind the other. */
static void check_energy(struct hn_reader *reader)
{
    const struct hn_plan *plan = reader->plan;
    const struct hn_yaml *place = hn_yaml_get(reader->root, "objective");
    if (hn_failed(reader->err) || !hn_plan_weighs(plan))
        return;
    if (plan->pipeline != NULL || plan->program != NULL)
        hn_config_fail(reader, place,
                       "objective '%s' is not measured of %ss: expected time, or a metric",
                       plan->objective, plan->program != NULL ? "program" : "pipeline");
    for (size_t i = 0; i < plan->argument_count; i++)
        if (!hn_argument_is_repeatable(&plan->arguments[i]))
            hn_config_fail(reader, place,
                           "objective '%s' is measured of launches one behind the other, and "
                           "argument '%s' has to be restored between them: expected time, or a "
                           "metric",
                           plan->objective, plan->arguments[i].name);
}

/* Checks what needs all to be read: names in expressions, the default point, launches at it. */
static void check_all(struct hn_reader *reader)
{
    struct hn_plan *plan = reader->plan;
    struct hn_step *reference = &plan->reference.step;
    const struct hn_expression *failed = NULL;
    struct hn_error reason = {0};
    if (!hn_failed(reader->err))
        hn_plan_bind(plan, &failed, &reason);
    hn_config_take(reader, failed == NULL ? reader->root : hn_config_place(reader, failed),
                   failed == NULL ? "" : hn_expression_text(failed), &reason);
    /* One program is compiled for a point, and may serve all problems. */
    const char *used = hn_failed(reader->err) ? NULL : hn_plan_problem_used(plan, plan->freeze_if);
    if (used != NULL)
        hn_config_fail(reader, hn_config_place(reader, plan->freeze_if),
                       "'%s' is a problem value; expected an expression of parameters, since the "
                       "point says what is frozen",
                       used);
    /* Complete defaults are tested against the constraints, for which no space has to be built. */
    const struct hn_config *config = reader->config;
    const bool complete = config->defaults.count == config->parameter_count;
    for (size_t i = 0; complete && i < config->problem_count && !hn_failed(reader->err); i++)
        if (hn_config_find_broken(config, &config->problems[i], &config->defaults, reader->err) !=
            NULL)
            fail_default(reader, i, &config->defaults);
    if (complete && !hn_failed(reader->err))
        hn_bindings_copy(&plan->defaults, &config->defaults, reader->err);
    else if (plan->template_path != NULL && !hn_failed(reader->err))
        complete_defaults(reader);
    if (plan->template_path == NULL || hn_failed(reader->err))
        return;
    for (size_t i = 0; i < plan->other_default_count; i++)
        check_other_default(reader, &plan->other_defaults[i]);
    for (size_t i = 0; i < plan->argument_count; i++) {
        const struct hn_argument *argument = &plan->arguments[i];
        check_size(reader, argument,
                   plan->pipeline != NULL && (plan->pipeline->parts[i] & HN_PARTS_ON_HOST) != 0,
                   argument->count);
        check_size(reader, argument, false, argument->shape.pitch);
        check_size(reader, argument, false, argument->align);
    }
    check_pipeline(reader);
    check_energy(reader);
    hn_expressions_walk(&hn_step_structure, reference, check_reference_use, reader);
    for (size_t i = 0; i < reference->argument_count; i++)
        check_reference_use(reader, plan->arguments[reference->arguments[i]].value, NULL);
    check_ladder(reader);
    for (size_t i = 0; i < reader->config->problem_count; i++)
        try_problem(reader, i);
}

/* `prior`: what a point may cost. */

double hn_config_estimate(const struct hn_config *config, const struct hn_bindings *problem,
                          const struct hn_bindings *point, struct hn_error *err)
{
    struct hn_value *values HN_FREED = NULL;
    double estimate = 0;
    if (config->prior != NULL &&
        hn_plan_values(config->plan, problem, point, &values, err) == HN_OK)
        hn_expression_number(config->prior, values, &estimate, err);
    return estimate;
}

/* That it is above 0 at the default point of a problem, where there is one. */
static void try_prior(struct hn_reader *reader, size_t problem)
{
    const struct hn_config *config = reader->config;
    struct hn_error reason = {0};
    if (config->plan->defaults.count == 0 || hn_failed(reader->err))
        return;
    struct trial trial = {.reader = reader, .where = describe_default(config, problem)};
    double estimate =
        hn_config_estimate(config, &config->problems[problem], &config->plan->defaults, &reason);
    if (!hn_failed(&reason) && !(estimate > 0))
        hn_fail(&reason, HN_ECONFIG, "'%.60s' is %g, expected a time, above 0",
                hn_expression_text(config->prior), estimate);
    take_reason(&trial, config->prior, &reason);
    free(trial.where);
}

/* The limits of the device that it alone names become numbers in its text. */
static void let_limits(struct hn_reader *reader)
{
    const struct hn_bindings *limits = &reader->config->prior_limits;
    struct hn_blocks *blocks = &reader->config->blocks;
    struct hn_config_let *lets =
        hn_need_block(blocks, reader->let_count + limits->count, sizeof *lets);
    for (size_t i = 0; i < reader->let_count; i++)
        lets[i] = reader->lets[i];
    for (size_t i = 0; i < limits->count; i++)
        lets[reader->let_count++] = (struct hn_config_let){
            limits->names[i], hn_need_format(blocks, "%lld", (long long)limits->values[i].integer)};
    reader->lets = lets;
}

static void read_prior(struct hn_reader *reader)
{
    struct hn_config *config = reader->config;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "prior");
    if (node == NULL || hn_failed(reader->err))
        return;
    let_limits(reader);
    hn_config_read_expression(reader, node, &config->prior);
    if (hn_failed(reader->err))
        return;
    struct hn_scope scope = hn_config_scope(config, NULL, 0);
    hn_config_bind(reader, node, node->text, config->prior, &scope);
    for (size_t i = 0; i < config->problem_count; i++)
        try_prior(reader, i);
}

enum { FORMAT = 1 };

void hn_config_destroy(struct hn_config *config)
{
    if (config == NULL)
        return;
    for (size_t i = 0; i < config->parameter_count; i++) {
        const struct hn_config_recipe *recipe = config->parameters[i].recipe;
        for (size_t j = 0; recipe != NULL && j < recipe->count; j++)
            hn_expression_destroy(recipe->items[j]);
        if (recipe != NULL)
            free(config->parameters[i].values);
    }
    for (size_t i = 0; i < config->constraint_count; i++)
        hn_expression_destroy(config->constraints[i].expression);
    HN_FREE_EACH(point, config->problems, config->problem_count, hn_bindings_finish(point));
    HN_FREE_EACH(point, config->ladder, config->ladder_count, hn_bindings_finish(point));
    HN_FREE_EACH(point, config->only, config->only_count, hn_bindings_finish(point));
    hn_bindings_finish(&config->defaults);
    hn_expression_destroy(config->prior);
    hn_bindings_finish(&config->prior_limits);
    struct hn_family *family = config->family;
    for (size_t i = 0; family != NULL && i < family->where_count; i++)
        hn_expression_destroy(family->where[i].expression);
    if (family != NULL) {
        HN_FREE_EACH(point, family->sizes, family->size_count, hn_bindings_finish(point));
        HN_FREE_EACH(point, family->ladder, family->ladder_count, hn_bindings_finish(point));
        free(family->weights);
        hn_bindings_finish(&family->defaults);
    }
    hn_plan_destroy(config->plan);
    hn_blocks_finish(&config->blocks);
    free(config->path);
    free(config);
}

/* The folder of the file, absolute and without links; that we are in for what has none: a pipe.
 * NULL when that cannot be found out. */
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

/* A config of a space alone has no template, and nothing that would need one. */
static void check_without_template(struct hn_reader *reader)
{
    static const char *const needing[] = {
        "run",     "entry",   "arguments", "symbols",   "launch",    "compile",  "reference",
        "compare", "metrics", "freeze",    "objective", "direction", "pipeline", "override"};
    for (size_t i = 0; i < sizeof needing / sizeof needing[0]; i++) {
        const struct hn_yaml *node = hn_yaml_get(reader->root, needing[i]);
        if (node != NULL)
            hn_config_fail(reader, reader->root,
                           "key 'template' is missing: '%s' on line %d needs it", needing[i],
                           node->key->line);
    }
    reader->plan->objective = hn_need_copy("time");
}

static void read_root(struct hn_reader *reader)
{
    static const char keys[] =
        "hone kernel template entry problem family freeze parameters defaults let constraints "
        "promising arguments symbols launch pipeline compile override reference compare ladder "
        "metrics objective direction look_ahead prior run";
    const struct hn_yaml *template = hn_yaml_get(reader->root, "template");
    hn_config_expect_kind(reader, reader->root, HN_YAML_MAPPING,
                          "a mapping with kernel and parameters");
    /* Before unknown keys: a newer format has others. */
    const struct hn_yaml *format = hn_yaml_get(reader->root, "hone");
    struct hn_value version =
        format == NULL ? hn_integer(FORMAT) : hn_config_read_value(reader, format);
    if (version.type == HN_INTEGER && version.integer > FORMAT)
        hn_config_fail(reader, format,
                       "format version %lld is newer than this Hone, which knows %d",
                       (long long)version.integer, FORMAT);
    hn_config_expect(reader, version.type == HN_INTEGER && version.integer == FORMAT, format,
                     "the format version 1");
    hn_config_check_keys(reader, reader->root, keys);
    hn_config_read_space(reader);
    if (template == NULL)
        check_without_template(reader);
    else
        hn_config_read_kernel(reader, template);
    check_all(reader);
    read_prior(reader);
}

/* An expression that fails later, at a point, says itself where it stands. */
static void set_place(void *context, struct hn_expression *expression, const struct hn_field *field)
{
    struct hn_reader *reader = context;
    const struct hn_yaml *node = hn_config_place(reader, expression);
    (void)field;
    if (node != reader->root)
        hn_expression_set_place(expression, hn_config_where(reader, node));
}

/* Adds to the plan what those need to know who have no config: which points are valid, and where
 * the config is. */
static void complete_plan(struct hn_reader *reader)
{
    const struct hn_config *config = reader->config;
    struct hn_plan *plan = config->plan;
    hn_expressions_walk(&hn_plan_structure, plan, set_place, reader);
    plan->constraints = hn_need(config->constraint_count, sizeof(struct hn_expression *));
    for (size_t i = 0; i < config->constraint_count && !hn_failed(reader->err); i++)
        if (!config->constraints[i].promising)
            hn_expression_copy(config->constraints[i].expression,
                               &plan->constraints[plan->constraint_count++], reader->err);
    if (plan->config != NULL && hn_text_find_not_utf8(plan->config) != NULL)
        hn_fail(reader->err, HN_ECONFIG,
                "the path of the config, '%s', is not UTF-8, which caches "
                "hold it in; rename the folder or the file",
                plan->config);
}

enum hn_status hn_config_load(const char *path, const struct hn_config_for *use,
                              struct hn_config **config, struct hn_error *err)
{
    struct hn_yaml *root = NULL;
    struct hn_blocks blocks = {0};
    struct hn_error ignored;
    err = err == NULL ? &ignored : err;
    if (hn_yaml_load(path, &blocks, &root, err) != HN_OK)
        return err->status;
    struct hn_reader reader = {.path = path,
                               .root = root,
                               .folder = hn_needed(folder_of(path)),
                               .config = hn_need(1, sizeof *reader.config),
                               .plan = hn_need(1, sizeof *reader.plan),
                               .use = use,
                               .err = err};
    *reader.config = (struct hn_config){.path = hn_need_copy(path),
                                        .blocks = blocks,
                                        .plan = reader.plan,
                                        .look_ahead = HN_LOOK_AHEAD};
    reader.plan->config = realpath(path, NULL);
    read_root(&reader);
    if (!hn_failed(err))
        complete_plan(&reader);
    if (!hn_failed(err))
        *config = reader.config;
    else
        hn_config_destroy(reader.config);
    free(reader.places);
    free(reader.folder);
    return err->status;
}
