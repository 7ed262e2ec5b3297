/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tuner/config/config_parts.h"

/* Values of parameters that are computed of the problem. All problems have one list, of what any of
 * them allows, and a constraint that says which of it one does: so -p, results and whoever looks
 * for the nearest of them need to know nothing of it. */

enum { LOW, HIGH, STEP };

static bool is_let(const struct hn_config_reader *reader, const char *name)
{
    const struct hn_yaml *lets = hn_yaml_get(reader->root, "let");
    return lets != NULL && hn_yaml_get(lets, name) != NULL;
}

/* A name of something, or what reads as no value but as an expression. */
static bool is_expression(const struct hn_config_reader *reader, const struct hn_yaml *node)
{
    struct hn_expression *expression = NULL;
    struct hn_value value = {.type = HN_WORD};
    if (node->kind != HN_YAML_SCALAR || node->text[0] == '\0')
        return false;
    if (hn_value_parse(node->text, &value, NULL) == HN_OK)
        return !node->quoted && value.type == HN_WORD &&
               (hn_bindings_get(&reader->config->problems[0], node->text) != NULL ||
                is_let(reader, node->text));
    bool parses = hn_expression_parse(node->text, &expression, NULL) == HN_OK;
    hn_expression_destroy(expression);
    return parses;
}

/* The list, or [low, high] of the others. */
static const struct hn_yaml *find_bounds(const struct hn_yaml *node)
{
    const struct hn_yaml *range = hn_yaml_get(node, "range");
    return range != NULL ? range : hn_yaml_get(node, "powers_of_two");
}

bool hn_config_is_computed(const struct hn_config_reader *reader, const struct hn_yaml *node)
{
    const struct hn_yaml *list = node->kind == HN_YAML_MAPPING ? find_bounds(node) : node;
    const struct hn_yaml *step = hn_yaml_get(node, "step");
    bool computed = step != NULL && is_expression(reader, step);
    for (const struct hn_yaml *item = list == NULL ? NULL : list->child; item != NULL;
         item = item->next)
        computed = computed || is_expression(reader, item);
    return computed;
}

static void read_item(struct hn_config_reader *reader, const struct hn_yaml *node,
                      const struct hn_scope *scope, struct hn_config_recipe *recipe)
{
    struct hn_error reason = {0};
    struct hn_expression **item = &recipe->items[recipe->count++];
    hn_config_read_expression(reader, node, item);
    if (reader->status == HN_OK && hn_text_is_word(node->text) && !is_expression(reader, node))
        hn_config_fail(reader, node,
                       "found the word '%s' in a list of expressions, where names are those of "
                       "problem values and of let; rename one",
                       node->text);
    if (reader->status == HN_OK)
        hn_config_take_in(reader, node, node->text, hn_expression_bind(*item, scope, &reason),
                          &reason);
}

static void read_items(struct hn_config_reader *reader, const struct hn_yaml *node,
                       const struct hn_scope *scope, struct hn_config_recipe *recipe)
{
    static const char *const keys[] = {"range", "step", "powers_of_two"};
    const struct hn_yaml *list = node;
    const struct hn_yaml *step = NULL;
    if (node->kind == HN_YAML_MAPPING) {
        bool range = hn_yaml_get(node, "range") != NULL;
        recipe->kind = range ? HN_CONFIG_RANGE : HN_CONFIG_POWERS;
        hn_config_check_keys(reader, node, range ? keys : keys + 2, range ? 2 : 1);
        step = hn_yaml_get(node, "step");
        list = find_bounds(node);
        hn_config_expect(reader, list->kind == HN_YAML_SEQUENCE && list->count == 2, list,
                         "[low, high]");
    }
    recipe->items = hn_config_allocate(reader, list->count + 1, sizeof(struct hn_expression *));
    for (const struct hn_yaml *item = hn_config_first(reader, list); item != NULL;
         item = hn_config_next(reader, item))
        read_item(reader, item, scope, recipe);
    if (step != NULL && reader->status == HN_OK)
        read_item(reader, step, scope, recipe);
}

/* "P in (a, b)" of a list, "low <= P <= high" of the others, and of a range that P is a step. */
static void add_constraint(struct hn_config_reader *reader, const struct hn_yaml *node,
                           const struct hn_config_parameter *parameter)
{
    const struct hn_config_recipe *recipe = parameter->recipe;
    const char *name = parameter->name;
    struct hn_text text;
    hn_text_init(&text);
    if (recipe->kind == HN_CONFIG_LIST) {
        hn_text_printf(&text, "%s in [", name);
        for (size_t i = 0; i < recipe->count; i++)
            hn_text_printf(&text, "%s%s", i == 0 ? "" : ", ", hn_expression_text(recipe->items[i]));
        hn_text_append(&text, "]");
    } else {
        const char *low = hn_expression_text(recipe->items[LOW]);
        hn_text_printf(&text, "(%s) <= %s <= (%s)", low, name,
                       hn_expression_text(recipe->items[HIGH]));
        if (recipe->count > STEP)
            hn_text_printf(&text, " and (%s - (%s)) %% (%s) == 0", name, low,
                           hn_expression_text(recipe->items[STEP]));
    }
    char *taken = hn_text_take(&text);
    if (taken == NULL)
        hn_config_take(reader, hn_fail_memory(reader->err));
    else
        hn_config_add_constraint(reader, node, taken);
    free(taken);
}

void hn_config_read_computed(struct hn_config_reader *reader)
{
    struct hn_config *config = reader->config;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "parameters");
    const struct hn_scope scope = {(const char *const *)config->plan->problem,
                                   config->plan->problem_count, NULL, 0};
    size_t i = 0;
    for (const struct hn_yaml *child = hn_config_first(reader, node); child != NULL;
         child = hn_config_next(reader, child), i++) {
        struct hn_config_recipe *recipe = config->parameters[i].recipe;
        if (recipe == NULL)
            continue;
        hn_config_note_place(reader, child, &recipe->where);
        read_items(reader, child, &scope, recipe);
        if (reader->status == HN_OK)
            add_constraint(reader, child, &config->parameters[i]);
    }
    if (reader->status == HN_OK)
        hn_config_take(reader, hn_config_compute(config, reader->err));
}

/* What the items of a recipe are for a problem. */
static enum hn_status evaluate(const struct hn_config *config, size_t problem,
                               const struct hn_config_recipe *recipe, int64_t *items,
                               struct hn_error *err)
{
    const struct hn_plan *plan = config->plan;
    struct hn_value *values = calloc(plan->problem_count + 1, sizeof *values);
    enum hn_status status = values == NULL ? hn_fail_memory(err) : HN_OK;
    for (size_t i = 0; status == HN_OK && i < plan->problem_count; i++)
        values[i] = *hn_bindings_get(&config->problems[problem], plan->problem[i]);
    for (size_t i = 0; status == HN_OK && i < recipe->count; i++) {
        struct hn_error reason = {0};
        status = hn_expression_integer(recipe->items[i], values, &items[i], &reason);
        if (status != HN_OK)
            status = hn_fail(err, HN_ECONFIG, "%s: in '%s': %s", recipe->where,
                             hn_expression_text(recipe->items[i]), reason.message);
    }
    free(values);
    return status;
}

static enum hn_status add_value(struct hn_config_parameter *parameter, int64_t number,
                                struct hn_error *err)
{
    const struct hn_value value = hn_integer(number);
    if (parameter->count == HN_CONFIG_VALUES_MOST)
        return hn_fail(err, HN_ECONFIG, "%s: '%s' has more than %d values for all problems",
                       parameter->recipe->where, parameter->name, HN_CONFIG_VALUES_MOST);
    size_t count = parameter->count;
    if ((count & (count - 1)) == 0) { /* there is room for the next power of two */
        struct hn_value *grown =
            realloc(parameter->values, (count > 0 ? 2 * count : 1) * sizeof *grown);
        if (grown == NULL)
            return hn_fail_memory(err);
        parameter->values = grown;
    }
    parameter->values[parameter->count++] = value;
    return HN_OK;
}

static enum hn_status add_steps(struct hn_config_parameter *parameter, const int64_t *items,
                                struct hn_error *err)
{
    const struct hn_config_recipe *recipe = parameter->recipe;
    bool powers = recipe->kind == HN_CONFIG_POWERS;
    int64_t low = items[LOW];
    int64_t step = recipe->count > STEP ? items[STEP] : 1;
    enum hn_status status = HN_OK;
    if (step < 1 || (powers && (low < 1 || (low & (low - 1)) != 0)))
        return hn_fail(err, HN_ECONFIG, "%s: found %lld, expected %s", recipe->where,
                       (long long)(powers ? low : step),
                       powers ? "a power of two as the lower bound" : "a step of at least 1");
    for (int64_t at = low; status == HN_OK && at <= items[HIGH];) {
        status = add_value(parameter, at, err);
        int64_t next;
        if (__builtin_add_overflow(at, powers ? at : step, &next))
            break;
        at = next;
    }
    return status;
}

static enum hn_status add_values(const struct hn_config *config, size_t problem,
                                 struct hn_config_parameter *parameter, struct hn_error *err)
{
    const struct hn_config_recipe *recipe = parameter->recipe;
    int64_t *items = calloc(recipe->count + 1, sizeof *items);
    if (items == NULL)
        return hn_fail_memory(err);
    enum hn_status status = evaluate(config, problem, recipe, items, err);
    if (status == HN_OK && recipe->kind != HN_CONFIG_LIST)
        status = add_steps(parameter, items, err);
    for (size_t i = 0; status == HN_OK && recipe->kind == HN_CONFIG_LIST && i < recipe->count; i++)
        status = add_value(parameter, items[i], err);
    free(items);
    return status;
}

static int compare_integers(const void *a, const void *b)
{
    int64_t x = ((const struct hn_value *)a)->integer;
    int64_t y = ((const struct hn_value *)b)->integer;
    return (x > y) - (x < y);
}

/* One problem's values keep their order; those of several are sorted. */
static void drop_repeats(struct hn_config_parameter *parameter, bool sorted)
{
    struct hn_value *values = parameter->values;
    size_t kept = 0;
    if (sorted && parameter->count > 0)
        qsort(values, parameter->count, sizeof *values, compare_integers);
    for (size_t i = 0; i < parameter->count; i++) {
        size_t first = sorted && kept > 0 ? kept - 1 : 0;
        if (hn_config_find_value(values + first, kept - first, &values[i]) == NULL)
            values[kept++] = values[i];
    }
    parameter->count = kept;
}

enum hn_status hn_config_compute(struct hn_config *config, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < config->parameter_count; i++) {
        struct hn_config_parameter *parameter = &config->parameters[i];
        if (parameter->recipe == NULL)
            continue;
        parameter->count = 0;
        bool several = config->problem_count > 1;
        for (size_t p = 0; status == HN_OK && p < config->problem_count; p++) {
            status = add_values(config, p, parameter, err);
            if (several || parameter->recipe->kind == HN_CONFIG_LIST)
                drop_repeats(parameter, several);
        }
        if (status == HN_OK && parameter->count == 0)
            status = hn_fail(err, HN_ECONFIG, "%s: '%s' has no value", parameter->recipe->where,
                             parameter->name);
    }
    return status;
}

void hn_config_finish_recipe(struct hn_config_recipe *recipe)
{
    for (size_t i = 0; recipe != NULL && i < recipe->count; i++)
        hn_expression_destroy(recipe->items[i]);
    if (recipe != NULL) {
        free(recipe->items);
        free(recipe->where);
    }
    free(recipe);
}
