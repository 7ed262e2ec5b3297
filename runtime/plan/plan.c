/* SPDX-License-Identifier: MIT */
#include "runtime/plan/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/expression/expression.h"
#include "base/memory.h"
#include "base/text.h"
#include "runtime/plan/option_list.h"

const char *const hn_access_names[HN_ACCESS_COUNT] = {
    [HN_ACCESS_NORMAL] = "normal",
    [HN_ACCESS_STREAMING] = "streaming",
    [HN_ACCESS_PERSISTING] = "persisting",
};

void hn_reference_finish(struct hn_reference *reference)
{
    hn_fields_finish(&hn_reference_structure, reference);
    *reference = (struct hn_reference){.kind = HN_REFERENCE_SELF};
}

bool hn_reference_is_kernel(const struct hn_reference *reference)
{
    return reference->kind == HN_REFERENCE_SELF || reference->kind == HN_REFERENCE_TEMPLATE;
}

void hn_reference_add_file(struct hn_reference *reference, size_t argument, const char *file,
                           struct hn_error *err)
{
    if (!hn_make_room(&reference->files, reference->file_count, sizeof *reference->files, err))
        return;
    reference->kind = HN_REFERENCE_FILES;
    reference->files[reference->file_count++] =
        (struct hn_expected_file){argument, hn_copy_string(file, err)};
}

void hn_plan_destroy(struct hn_plan *plan)
{
    if (plan == NULL)
        return;
    hn_fields_finish(&hn_plan_structure, plan);
    free(plan);
}

char *hn_plan_signature(const struct hn_plan *plan)
{
    struct hn_text text = {0};
    for (size_t i = 0; i < plan->argument_count; i++) {
        const struct hn_argument *argument = &plan->arguments[i];
        char type[HN_TYPE_SIZE];
        hn_argument_format_type(argument, type);
        hn_text_printf(&text, "%s%s:%s:%s", i == 0 ? "" : ",", argument->name, type,
                       hn_role_names[argument->role]);
    }
    return hn_text_take(&text);
}

const struct hn_argument *hn_plan_find_argument(const struct hn_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->argument_count; i++)
        if (plan->arguments[i].name != NULL && strcmp(plan->arguments[i].name, name) == 0)
            return &plan->arguments[i];
    return NULL;
}

const struct hn_compare *hn_plan_comparison(const struct hn_plan *plan,
                                            const struct hn_argument *argument)
{
    return argument->compare != NULL ? argument->compare : &plan->compare;
}

size_t hn_plan_source(const struct hn_plan *plan, size_t argument)
{
    if (plan->arguments[argument].from == NULL)
        return argument;
    return (size_t)(hn_plan_find_argument(plan, plan->arguments[argument].from) - plan->arguments);
}

/* Only parameters among the names have values here. One that the point does not have, as it was
 * tuned before there was such a parameter, takes the default. */
bool hn_plan_freezes(const struct hn_plan *plan, const struct hn_bindings *point)
{
    if (plan->freeze_if == NULL || point == NULL)
        return true;
    struct hn_value *values HN_FREED = calloc(hn_plan_slot_count(plan) + 1, sizeof *values);
    for (size_t i = 0; values != NULL && i < plan->name_count; i++) {
        const struct hn_value *value = hn_bindings_get(point, plan->names[i]);
        if (value == NULL)
            value = hn_bindings_get(&plan->defaults, plan->names[i]);
        values[i] = value == NULL ? hn_integer(0) : *value;
    }
    return values == NULL || hn_expression_truth(plan->freeze_if, values) != HN_FALSE;
}

bool hn_plan_serves_all(const struct hn_plan *plan, const struct hn_bindings *point)
{
    return plan->freeze_if == NULL || !hn_plan_freezes(plan, point);
}

bool hn_plan_is_frozen(const struct hn_plan *plan, const struct hn_bindings *point,
                       const char *name, const struct hn_value *value)
{
    if (value->type == HN_WORD)
        return true;
    return hn_text_is_among(name, (const char *const *)plan->freeze, plan->freeze_count) &&
           hn_plan_freezes(plan, point);
}

enum hn_status hn_plan_program_values(const struct hn_plan *plan, const struct hn_bindings *point,
                                      const struct hn_bindings *problem, struct hn_bindings *values,
                                      struct hn_error *err)
{
    enum hn_status status = HN_OK;
    *values = (struct hn_bindings){0};
    for (size_t i = 0; i < problem->count && status == HN_OK; i++)
        if (hn_plan_is_frozen(plan, point, problem->names[i], &problem->values[i]))
            status = hn_bindings_set(values, problem->names[i], &problem->values[i], err);
    return status;
}

void hn_word_list_add(struct hn_word_list *list, const char *word, struct hn_error *err)
{
    if (hn_failed(err) || hn_text_is_among(word, (const char *const *)list->words, list->count))
        return;
    /* A list that was read has no room beyond its words. */
    char **words = hn_made(reallocarray(list->words, list->count + 1, sizeof *words), err);
    list->words = words != NULL ? words : list->words;
    char *copy = hn_copy_string(word, err);
    if (copy != NULL)
        list->words[list->count++] = copy;
}

void hn_option_read_holes(struct hn_option *option, struct hn_error *err)
{
    /* With a number in the place of each hole, as its values are. */
    struct hn_text filled HN_ENDED_BY(hn_text_finish) = {0};
    if (hn_failed(err))
        return;
    option->holes = hn_allocate(strlen(option->text), sizeof(struct hn_expression *), err);
    for (const char *at = option->text; *at != '\0' && !hn_failed(err);) {
        size_t before = strcspn(at, "{}");
        hn_text_append_bytes(&filled, at, before);
        at += before;
        const char *end = *at == '{' ? at + 1 + strcspn(at + 1, "{}") : at;
        if (*at == '}') {
            hn_fail(err, HN_ECONFIG, "'}' without its '{' in option '%s'", option->text);
        } else if (*at == '{' && *end != '}') {
            hn_fail(err, HN_ECONFIG, "'{' without its '}' in option '%s'", option->text);
        } else if (*at == '{') {
            char *text HN_FREED = hn_made(strndup(at + 1, (size_t)(end - at - 1)), err);
            if (text != NULL &&
                hn_expression_parse(text, &option->holes[option->hole_count], err) == HN_OK)
                option->hole_count++;
            hn_text_append(&filled, "0");
            at = end + 1;
        }
    }
    if (!hn_failed(err) && filled.failed)
        hn_fail_memory(err);
    if (!hn_failed(err))
        hn_option_check(filled.data == NULL ? "" : filled.data, err);
}

/* Binds a plan's expressions until one fails. */
struct binder {
    const struct hn_plan *plan;
    struct hn_scope scope;
    const char **names;   /* of the scope, whose one behind the slots depends on the field */
    size_t before_metric; /* names that the next metric sees */
    const struct hn_expression **failed;
    struct hn_error *err;
};

/* That `max_active_clusters` stands in a grid, where it has a value. */
static void check_clusters(const struct hn_plan *plan, const struct hn_expression *expression,
                           const struct hn_field *field, struct hn_error *err)
{
    struct hn_expression *const *grid = plan->reference.step.geometry.grid;
    bool in_grid = field->tag == HN_SEES_CLUSTERS && expression != grid[0] &&
                   expression != grid[1] && expression != grid[2];
    if (hn_text_find_word(hn_expression_text(expression), hn_clusters_name,
                          strlen(hn_clusters_name)) &&
        !hn_plan_has_name(plan, hn_clusters_name) && !(in_grid && plan->pipeline == NULL))
        hn_fail(err, HN_ECONFIG,
                "'%s' is known once a kernel is compiled and loaded, and so it stands in a "
                "'grid' of 'launch' alone%s",
                hn_clusters_name, in_grid ? ", and not with a pipeline" : "");
}

static void bind(void *context, struct hn_expression *expression, const struct hn_field *field)
{
    struct binder *binder = context;
    const struct hn_plan *plan = binder->plan;
    const size_t names[] = {
        [HN_SEES_ALL] = hn_plan_slot_count(plan),
        [HN_SEES_NAMES] = plan->name_count,
        [HN_SEES_PITCHES] = plan->name_count + plan->pitch_count,
        [HN_SEES_METRICS] = binder->before_metric,
        [HN_SEES_CLUSTERS] = hn_plan_slot_count(plan) + 1,
    };
    if (hn_failed(binder->err))
        return;
    binder->names[hn_plan_slot_count(plan)] =
        field->tag == HN_SEES_CLUSTERS ? hn_clusters_name : "time_us";
    binder->scope.name_count = names[field->tag];
    check_clusters(plan, expression, field, binder->err);
    if (!hn_failed(binder->err))
        hn_expression_bind(expression, &binder->scope, binder->err);
    binder->before_metric += field->tag == HN_SEES_METRICS;
    if (hn_failed(binder->err) && binder->failed != NULL)
        *binder->failed = expression;
}

static size_t add_words(const char **words, size_t count, const char *const *more,
                        size_t more_count)
{
    for (size_t i = 0; i < more_count; i++)
        words[count++] = more[i];
    return count;
}

/* All names in slot order: the plan's, pitches, time_us, metric arguments, metrics. Returns how
 * many come before the metrics. */
static size_t collect_names(const struct hn_plan *plan, const char **names)
{
    size_t count = add_words(names, 0, (const char *const *)plan->names, plan->name_count);
    count = add_words(names, count, (const char *const *)plan->pitches, plan->pitch_count);
    count = add_words(names, count, hn_chunk_names, plan->pipeline != NULL ? HN_CHUNK_NAMES : 0);
    names[count++] = "time_us";
    for (size_t i = 0; i < plan->argument_count; i++)
        if (plan->arguments[i].role == HN_ROLE_METRIC)
            names[count++] = plan->arguments[i].name;
    for (size_t i = 0; i < plan->metric_count; i++)
        names[count + i] = plan->metrics[i].name;
    return count;
}

/* Those of a window or a tensor map may stand in no list of the config. */
static size_t collect_words(const struct hn_plan *plan, const char **words)
{
    size_t count = add_words(words, 0, hn_access_names, HN_ACCESS_COUNT);
    for (size_t i = 0; i < plan->word_list_count; i++)
        count = add_words(words, count, (const char *const *)plan->word_lists[i].words,
                          plan->word_lists[i].count);
    if (plan->pipeline != NULL) {
        count = add_words(words, count, hn_order_names, HN_ORDER_COUNT);
        count = add_words(words, count, hn_host_memory_names, HN_HOST_MEMORY_COUNT);
    }
    return hn_plan_has_role(plan, HN_ROLE_TENSOR_MAP)
               ? add_words(words, count, hn_tensor_fills, HN_TENSOR_FILL_COUNT)
               : count;
}

enum hn_status hn_plan_bind(struct hn_plan *plan, const struct hn_expression **failed,
                            struct hn_error *err)
{
    size_t most = hn_plan_slot_count(plan) + 1 + plan->argument_count + plan->metric_count;
    size_t most_words =
        (size_t)HN_ACCESS_COUNT + HN_ORDER_COUNT + HN_HOST_MEMORY_COUNT + HN_TENSOR_FILL_COUNT;
    for (size_t i = 0; i < plan->word_list_count; i++)
        most_words += plan->word_lists[i].count;
    hn_error_init(err);
    const char **names HN_FREED = hn_allocate(most, sizeof *names, err);
    const char **words HN_FREED = hn_allocate(most_words, sizeof *words, err);
    struct binder binder = {.plan = plan, .failed = failed, .names = names, .err = err};
    if (!hn_failed(err)) {
        binder.before_metric = collect_names(plan, names);
        binder.scope = (struct hn_scope){names, 0, words, collect_words(plan, words)};
        hn_expressions_walk(&hn_plan_structure, plan, bind, &binder);
    }
    return err->status;
}

bool hn_plan_has_name(const struct hn_plan *plan, const char *name)
{
    return hn_text_is_among(name, (const char *const *)plan->names, plan->name_count);
}

bool hn_plan_is_taken(const struct hn_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->word_list_count; i++)
        if (hn_text_is_among(name, (const char *const *)plan->word_lists[i].words,
                             plan->word_lists[i].count))
            return true;
    const struct hn_argument *argument = hn_plan_find_argument(plan, name);
    return hn_plan_has_name(plan, name) || (argument != NULL && argument->role == HN_ROLE_METRIC);
}

enum hn_status hn_plan_name_pitches(struct hn_plan *plan, struct hn_error *err)
{
    hn_error_init(err);
    plan->pitches = hn_allocate(plan->argument_count, sizeof *plan->pitches, err);
    for (size_t i = 0; i < plan->argument_count && !hn_failed(err); i++) {
        const struct hn_argument *argument = &plan->arguments[i];
        char *name = NULL;
        if (argument->shape.width == NULL)
            continue;
        if (asprintf(&name, "%s_pitch", argument->name) < 0)
            return hn_fail_memory(err);
        plan->pitches[plan->pitch_count++] = name;
        if (hn_plan_is_taken(plan, name))
            return hn_fail(err, HN_ECONFIG,
                           "expressions know the pitch of argument '%s' as '%s', which is the name "
                           "of something else; rename one",
                           argument->name, name);
    }
    return err->status;
}

bool hn_plan_uses(const struct hn_plan *plan, const struct hn_expression *expression, size_t slot)
{
    if (expression == NULL)
        return false;
    if (hn_expression_uses(expression, slot))
        return true;
    /* Outside of its chunks a plan's chunk is the whole extent. */
    size_t pitch = plan->name_count, chunk = pitch + plan->pitch_count;
    for (size_t i = 0; plan->pipeline != NULL && i < HN_CHUNK_NAMES; i++)
        if (hn_expression_uses(expression, chunk + i) &&
            hn_expression_uses(plan->pipeline->fields[HN_PIPELINE_OVER], slot))
            return true;
    for (size_t i = 0; i < plan->argument_count && pitch < chunk; i++) {
        const struct hn_shape *shape = &plan->arguments[i].shape;
        if (shape->width != NULL && hn_expression_uses(expression, pitch++) &&
            (hn_expression_uses(shape->width, slot) ||
             (shape->pitch != NULL && hn_expression_uses(shape->pitch, slot))))
            return true;
    }
    return false;
}

static const char *find_used(const struct hn_plan *plan, char *const *names, size_t count,
                             const struct hn_expression *expression)
{
    for (size_t slot = 0; slot < plan->name_count; slot++)
        if (hn_plan_uses(plan, expression, slot) &&
            hn_text_is_among(plan->names[slot], (const char *const *)names, count))
            return plan->names[slot];
    return NULL;
}

const char *hn_plan_parameter_used(const struct hn_plan *plan,
                                   const struct hn_expression *expression)
{
    return find_used(plan, plan->parameters, plan->parameter_count, expression);
}

const char *hn_plan_problem_used(const struct hn_plan *plan, const struct hn_expression *expression)
{
    return find_used(plan, plan->problem, plan->problem_count, expression);
}

bool hn_plan_has_role(const struct hn_plan *plan, enum hn_role role)
{
    for (size_t i = 0; i < plan->argument_count; i++)
        if (plan->arguments[i].role == role)
            return true;
    return false;
}

bool hn_plan_allows_values(const struct hn_plan *plan, const struct hn_value *values)
{
    bool allows = true;
    for (size_t i = 0; allows && i < plan->constraint_count; i++)
        allows = hn_expression_truth(plan->constraints[i], values) == HN_TRUE;
    return allows;
}

bool hn_plan_allows(const struct hn_plan *plan, const struct hn_bindings *problem,
                    const struct hn_bindings *point, struct hn_error *err)
{
    struct hn_value *values HN_FREED = NULL;
    return hn_plan_values(plan, problem, point, &values, err) == HN_OK &&
           hn_plan_allows_values(plan, values);
}

enum hn_status hn_plan_depends(const struct hn_plan *plan, const struct hn_bindings *point,
                               struct hn_bindings *depends, struct hn_error *err)
{
    const struct hn_reference *reference = &plan->reference;
    hn_error_init(err);
    *depends = (struct hn_bindings){0};
    if (reference->kind == HN_REFERENCE_SELF)
        return hn_bindings_copy(depends, &plan->defaults, err);
    for (size_t i = 0; i < reference->depends_count && !hn_failed(err); i++) {
        const char *name = reference->depends[i];
        const struct hn_value *value = hn_bindings_get(point, name);
        if (value != NULL)
            hn_bindings_set(depends, name, value, err);
        else
            hn_fail(err, HN_ECONFIG, "the reference depends on '%s', which the point lacks", name);
    }
    if (hn_failed(err))
        hn_bindings_finish(depends);
    return err->status;
}

const struct hn_bindings *hn_plan_default(const struct hn_plan *plan,
                                          const struct hn_bindings *problem)
{
    const struct hn_bindings *found = &plan->defaults;
    struct hn_value *values HN_FREED = NULL;
    if (plan->other_default_count == 0 ||
        hn_plan_values(plan, problem, &plan->defaults, &values, NULL) != HN_OK)
        return found;
    for (size_t i = 0; i < plan->other_default_count && found == &plan->defaults; i++) {
        const struct hn_default *other = &plan->other_defaults[i];
        if (hn_expression_truth(other->condition, values) == HN_TRUE &&
            hn_plan_allows(plan, problem, &other->point, NULL))
            found = &other->point;
    }
    return found;
}

size_t hn_plan_slot_count(const struct hn_plan *plan)
{
    return plan->name_count + plan->pitch_count + (plan->pipeline == NULL ? 0 : HN_CHUNK_NAMES);
}

void hn_plan_set_chunk(const struct hn_plan *plan, struct hn_value *values, int64_t begin,
                       int64_t count, int64_t index)
{
    struct hn_value *chunk = values + plan->name_count + plan->pitch_count;
    chunk[HN_CHUNK_BEGIN] = hn_integer(begin);
    chunk[HN_CHUNK_COUNT] = hn_integer(count);
    chunk[HN_CHUNK_INDEX] = hn_integer(index);
}

const char hn_clusters_name[] = "max_active_clusters";

/* No device has room for so many. */
static const int64_t many_clusters = 1024;

bool hn_plan_asks_clusters(const struct hn_plan *plan, const struct hn_step *step)
{
    bool asks = false;
    for (size_t i = 0; i < 3; i++)
        asks = asks || (step->geometry.grid[i] != NULL &&
                        hn_expression_uses(step->geometry.grid[i], hn_plan_slot_count(plan)));
    return asks;
}

enum hn_status hn_plan_values(const struct hn_plan *plan, const struct hn_bindings *problem,
                              const struct hn_bindings *point, struct hn_value **values,
                              struct hn_error *err)
{
    struct hn_error own;
    err = hn_error_begin(err, &own);
    size_t slot = plan->name_count;
    size_t extra = 1 + plan->argument_count + plan->metric_count;
    struct hn_value *made = hn_allocate(hn_plan_slot_count(plan) + extra, sizeof *made, err);
    if (made == NULL)
        return err->status;
    for (size_t i = 0; i < plan->name_count && !hn_failed(err); i++) {
        const struct hn_value *value = hn_bindings_get(point, plan->names[i]);
        if (value == NULL)
            value = hn_bindings_get(problem, plan->names[i]);
        if (value == NULL)
            value = hn_bindings_get(&plan->defaults, plan->names[i]);
        if (value != NULL)
            made[i] = *value;
        else
            hn_fail(err, HN_ECONFIG, "'%s' has no value", plan->names[i]);
    }
    made[hn_plan_slot_count(plan)] = hn_integer(many_clusters);
    for (size_t i = 0; i < plan->argument_count && !hn_failed(err); i++) {
        uint64_t row, pitch;
        if (plan->arguments[i].shape.width == NULL)
            continue;
        hn_argument_evaluate_rows(&plan->arguments[i], made, &row, &pitch, err);
        made[slot++] = hn_integer((int64_t)pitch);
    }
    if (plan->pipeline != NULL) {
        int64_t over = 0;
        hn_expression_integer(plan->pipeline->fields[HN_PIPELINE_OVER], made, &over, err);
        if (!hn_failed(err) && over < 1)
            hn_fail(err, HN_EVALUE, "'over' of the pipeline is %lld, expected at least 1",
                    (long long)over);
        hn_plan_set_chunk(plan, made, 0, over, 0);
    }
    if (hn_failed(err))
        free(made);
    else
        *values = made;
    return err->status;
}

const struct hn_word_list *hn_plan_find_words(const struct hn_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->word_list_count; i++)
        if (strcmp(plan->word_lists[i].name, name) == 0)
            return &plan->word_lists[i];
    return NULL;
}
