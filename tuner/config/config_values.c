/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/config/config_parts.h"

/* Words that the grammar of expressions keeps for itself. */
static bool is_reserved(const char *word)
{
    static const char *const reserved[] = {"and",  "or",    "not",  "in",    "if",  "else",
                                           "True", "False", "true", "false", "null"};
    return hn_text_is_among(word, reserved, sizeof reserved / sizeof *reserved);
}

void hn_config_check_name(struct hn_reader *reader, const struct hn_yaml *key)
{
    hn_config_expect(reader, hn_text_is_word(key->text), key, "a name ([A-Za-z_][A-Za-z0-9_]*)");
    if (is_reserved(key->text) || strcmp(key->text, "time_us") == 0 ||
        strcmp(key->text, "sizeof") == 0)
        hn_config_fail(reader, key, "'%s' cannot be a name: expressions use it", key->text);
}

struct hn_value hn_config_read_value(struct hn_reader *reader, const struct hn_yaml *node)
{
    static const char expected[] = "an integer, a real, a boolean or a word";
    static const char *const truths[] = {/* of YAML 1.1 */
                                         "yes", "no",  "on",  "off", "Yes", "No",
                                         "On",  "Off", "YES", "NO",  "ON",  "OFF"};
    struct hn_value value = hn_integer(0);
    struct hn_error reason = {0};
    if (!hn_config_expect(reader, node->kind == HN_YAML_SCALAR && node->text[0] != '\0', node,
                          expected))
        return hn_integer(0);
    bool read = hn_value_parse(node->text, &value, &reason) == HN_OK;
    bool word = read && value.type == HN_WORD && !is_reserved(value.word);
    if (node->quoted) {
        hn_config_expect(reader, word && hn_text_is_word(node->text), node,
                         "a word ([A-Za-z_][A-Za-z0-9_]*), which quotes mean here; "
                         "numbers and booleans are not quoted");
        return word ? value : hn_integer(0);
    }
    if (!read && reason.message[0] != '\0')
        hn_config_fail(reader, node, "%s", reason.message);
    hn_config_expect(reader, word || (read && value.type != HN_WORD), node, expected);
    if (word && hn_text_is_among(node->text, truths, sizeof truths / sizeof *truths))
        hn_config_fail(
            reader, node,
            "'%s' is a word, which sources see as a number from 1 on, and '#if' as true; "
            "write true or false, or put the word in quotes",
            node->text);
    return hn_failed(reader->err) ? hn_integer(0) : value;
}

const struct hn_value *hn_config_find_value(const struct hn_value *values, size_t count,
                                            const struct hn_value *value)
{
    bool number = value->type == HN_INTEGER || value->type == HN_REAL;
    for (size_t i = 0; i < count; i++)
        if (hn_value_equal(&values[i], value))
            return &values[i];
    for (size_t i = 0; number && i < count; i++) {
        bool also = values[i].type == HN_INTEGER || values[i].type == HN_REAL;
        if (also && hn_value_number(&values[i]) == hn_value_number(value))
            return &values[i];
    }
    return NULL;
}

const char *hn_config_value_kind(const struct hn_value *value)
{
    return value->type == HN_WORD ? "word" : value->type == HN_BOOLEAN ? "boolean" : "number";
}

static int compare_pointed(const void *a, const void *b)
{
    const struct hn_value *x = *(const struct hn_value *const *)a;
    const struct hn_value *y = *(const struct hn_value *const *)b;
    int order = hn_value_compare(x, y);
    return order != 0 ? order : (x > y) - (x < y);
}

/* In a list, or in a range whose step is lost in rounding. */
static void check_repeats(struct hn_reader *reader, const struct hn_yaml *node,
                          const struct hn_value *values, size_t count)
{
    const struct hn_value **sorted = hn_need_block(&reader->config->blocks, count, sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i] = &values[i];
    qsort(sorted, count, sizeof *sorted, compare_pointed);
    for (size_t i = 1; i < count; i++) {
        if (!hn_value_equal(sorted[i - 1], sorted[i]))
            continue;
        const struct hn_yaml *item = node->child;
        for (const struct hn_value *at = values; node->kind == HN_YAML_SEQUENCE && at < sorted[i];
             at++)
            item = item->next;
        if (node->kind == HN_YAML_SEQUENCE)
            hn_config_fail(reader, item, "value '%s' is in the list twice", item->text);
        else
            hn_config_fail(reader, node,
                           "the range has a value twice; expected a step that is not lost in "
                           "rounding");
    }
}

static void read_list(struct hn_reader *reader, const struct hn_yaml *node,
                      struct hn_value **values, size_t *count)
{
    hn_config_expect(reader, node->count > 0, node, "at least one value");
    if (node->count > HN_CONFIG_VALUES_MOST)
        hn_config_fail(reader, node, "found %zu values, expected at most %d", node->count,
                       HN_CONFIG_VALUES_MOST);
    if (hn_failed(reader->err))
        return;
    *values = hn_need_block(&reader->config->blocks, node->count, sizeof **values);
    for (const struct hn_yaml *item = node->child; item != NULL; item = item->next) {
        struct hn_value value = hn_config_read_value(reader, item);
        const char *kind = hn_config_value_kind(*count > 0 ? &(*values)[0] : &value);
        if (strcmp(hn_config_value_kind(&value), kind) != 0)
            hn_config_fail(reader, item, "found '%s' in a list of %ss, expected values of one kind",
                           item->text, kind);
        if (hn_failed(reader->err))
            return;
        (*values)[(*count)++] = value;
    }
    check_repeats(reader, node, *values, *count);
}

static struct hn_value read_number(struct hn_reader *reader, const struct hn_yaml *node)
{
    struct hn_value value = hn_config_read_value(reader, node);
    hn_config_expect(reader, value.type == HN_INTEGER || value.type == HN_REAL, node, "a number");
    return hn_failed(reader->err) ? hn_integer(0) : value;
}

static void read_bounds(struct hn_reader *reader, const struct hn_yaml *node, struct hn_value *low,
                        struct hn_value *high)
{
    if (!hn_config_expect(reader, node->kind == HN_YAML_SEQUENCE && node->count == 2, node,
                          "[low, high]"))
        return;
    *low = read_number(reader, node->child);
    *high = read_number(reader, node->child->next);
    if (hn_value_number(low) > hn_value_number(high))
        hn_config_fail(reader, node, "found [%s, %s], expected the lower bound first",
                       node->child->text, node->child->next->text);
}

/* Steps from low within high, which rounding may miss: 0.1 to 0.3 by 0.1 has three values. */
static double count_steps(const struct hn_value *low, const struct hn_value *high,
                          const struct hn_value *step)
{
    if (low->type == HN_INTEGER && high->type == HN_INTEGER && step->type == HN_INTEGER)
        return (double)(((uint64_t)high->integer - (uint64_t)low->integer) /
                        (uint64_t)step->integer);
    double steps = (hn_value_number(high) - hn_value_number(low)) / hn_value_number(step);
    return floor(steps * (1 + 1e-12) + 1e-12);
}

static void read_range(struct hn_reader *reader, const struct hn_yaml *node,
                       struct hn_value **values, size_t *count)
{
    struct hn_value low = hn_integer(0), high = hn_integer(0), step = hn_integer(1);
    const struct hn_yaml *step_node = hn_yaml_get(node, "step");
    hn_config_check_keys(reader, node, "range step");
    read_bounds(reader, hn_yaml_get(node, "range"), &low, &high);
    if (step_node != NULL) {
        step = read_number(reader, step_node);
        hn_config_expect(reader, hn_value_number(&step) > 0, step_node, "a step of more than 0");
    }
    if (hn_failed(reader->err))
        return;
    double most = count_steps(&low, &high, &step);
    if (most >= HN_CONFIG_VALUES_MOST) {
        hn_config_fail(reader, node, "the range has %.0f values, expected at most %d", most + 1,
                       HN_CONFIG_VALUES_MOST);
        return;
    }
    *values = hn_need_block(&reader->config->blocks, (size_t)most + 1, sizeof **values);
    /* Modulo 2^64: the product may be beyond int64 where the sum is not. */
    for (*count = 0; *count < (size_t)most + 1; ++*count)
        (*values)[*count] =
            low.type == HN_INTEGER && step.type == HN_INTEGER
                ? hn_integer((int64_t)((uint64_t)low.integer + (uint64_t)step.integer * *count))
                : hn_real(hn_value_number(&low) + hn_value_number(&step) * (double)*count);
    check_repeats(reader, node, *values, *count);
}

static bool is_power(int64_t number)
{
    return number > 0 && (number & (number - 1)) == 0;
}

static void read_powers(struct hn_reader *reader, const struct hn_yaml *node,
                        struct hn_value **values, size_t *count)
{
    const struct hn_yaml *bounds = hn_yaml_get(node, "powers_of_two");
    struct hn_value low = hn_integer(0), high = hn_integer(0);
    hn_config_check_keys(reader, node, "powers_of_two");
    read_bounds(reader, bounds, &low, &high);
    if (hn_failed(reader->err) ||
        !hn_config_expect(reader, low.type == HN_INTEGER && is_power(low.integer), bounds->child,
                          "a power of two") ||
        !hn_config_expect(reader, high.type == HN_INTEGER && is_power(high.integer),
                          bounds->child->next, "a power of two"))
        return;
    *values = hn_need_block(&reader->config->blocks, 64, sizeof **values);
    for (uint64_t power = (uint64_t)low.integer; power <= (uint64_t)high.integer; power *= 2)
        (*values)[(*count)++] = hn_integer((int64_t)power);
}

void hn_config_read_values(struct hn_reader *reader, const struct hn_yaml *node, bool scalars,
                           struct hn_value **values, size_t *count)
{
    if (scalars && node->kind == HN_YAML_SCALAR) {
        *values = hn_need_block(&reader->config->blocks, 1, sizeof **values);
        (*values)[(*count)++] = hn_config_read_value(reader, node);
    } else if (node->kind == HN_YAML_SEQUENCE)
        read_list(reader, node, values, count);
    else if (node->kind == HN_YAML_MAPPING && hn_yaml_get(node, "range") != NULL)
        read_range(reader, node, values, count);
    else if (node->kind == HN_YAML_MAPPING && hn_yaml_get(node, "powers_of_two") != NULL)
        read_powers(reader, node, values, count);
    else
        hn_config_expect(reader, false, node,
                         "a list of values, {range: [low, high], step: s} or "
                         "{powers_of_two: [low, high]}");
}

/* Values of parameters that are computed of the problem. All problems have one list, of what any of
 * them allows, and a constraint that says which of it one does: so -p, results and whoever looks
 * for the nearest of them need to know nothing of it. */

enum { LOW, HIGH, STEP };

/* A name of something, or what reads as no value but as an expression. */
static bool is_expression(const struct hn_reader *reader, const struct hn_yaml *node)
{
    struct hn_expression *expression = NULL;
    struct hn_value value = {.type = HN_WORD};
    if (node->kind != HN_YAML_SCALAR || node->text[0] == '\0')
        return false;
    if (hn_value_parse(node->text, &value, NULL) == HN_OK)
        return !node->quoted && value.type == HN_WORD &&
               (hn_bindings_get(&reader->config->problems[0], node->text) != NULL ||
                hn_yaml_get(hn_yaml_get(reader->root, "let"), node->text) != NULL);
    bool parses = hn_expression_parse(node->text, &expression, NULL) == HN_OK;
    hn_expression_destroy(expression);
    return parses;
}

/* The list, or [low, high] of the others, which may have a step. */
static const struct hn_yaml *find_bounds(const struct hn_yaml *node, const struct hn_yaml **step)
{
    const struct hn_yaml *range = hn_yaml_get(node, "range");
    *step = hn_yaml_get(node, "step");
    return node->kind != HN_YAML_MAPPING ? node
           : range != NULL               ? range
                                         : hn_yaml_get(node, "powers_of_two");
}

bool hn_config_is_computed(const struct hn_reader *reader, const struct hn_yaml *node)
{
    const struct hn_yaml *step, *list = find_bounds(node, &step);
    bool computed = step != NULL && is_expression(reader, step);
    for (const struct hn_yaml *item = list == NULL ? NULL : list->child; item != NULL;
         item = item->next)
        computed = computed || is_expression(reader, item);
    return computed;
}

static void read_computed(struct hn_reader *reader, const struct hn_yaml *node,
                          const struct hn_scope *scope, struct hn_config_recipe *recipe)
{
    struct hn_expression **item = &recipe->items[recipe->count++];
    hn_config_read_expression(reader, node, item);
    if (node->kind == HN_YAML_SCALAR && hn_text_is_word(node->text) && !is_expression(reader, node))
        hn_config_fail(reader, node,
                       "found the word '%s' in a list of expressions, where names are those of "
                       "problem values and of let; rename one",
                       node->text);
    hn_config_bind(reader, node, node->text, *item, scope);
}

static void read_items(struct hn_reader *reader, const struct hn_yaml *node,
                       const struct hn_scope *scope, struct hn_config_recipe *recipe)
{
    const struct hn_yaml *step, *list = find_bounds(node, &step);
    if (node->kind == HN_YAML_MAPPING) {
        bool range = hn_yaml_get(node, "range") != NULL;
        recipe->kind = range ? HN_CONFIG_RANGE : HN_CONFIG_POWERS;
        hn_config_check_keys(reader, node, range ? "range step" : "powers_of_two");
        hn_config_expect(reader, list->kind == HN_YAML_SEQUENCE && list->count == 2, list,
                         "[low, high]");
    }
    recipe->items = hn_need_block(&reader->config->blocks, list->count + 1, sizeof *recipe->items);
    const struct hn_yaml *item = list->child;
    for (; item != NULL && !hn_failed(reader->err); item = item->next)
        read_computed(reader, item, scope, recipe);
    if (step != NULL && !hn_failed(reader->err))
        read_computed(reader, step, scope, recipe);
}

/* "P in (a, b)" of a list, "low <= P <= high" of the others, and of a range that P is a step. */
static void add_constraint(struct hn_reader *reader, const struct hn_yaml *node,
                           const struct hn_config_parameter *parameter)
{
    const struct hn_config_recipe *recipe = parameter->recipe;
    const char *name = parameter->name;
    struct hn_text text HN_ENDED_BY(hn_text_finish) = {0};
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
    const struct hn_plan *plan = reader->plan;
    const struct hn_scope scope = {(const char *const *)plan->names, plan->name_count, NULL, 0};
    hn_config_read_condition(reader, node, hn_needed(text.data), &scope,
                             &reader->config->constraints[reader->config->constraint_count++]);
}

void hn_config_read_computed(struct hn_reader *reader)
{
    struct hn_config *config = reader->config;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "parameters");
    const struct hn_scope scope = {(const char *const *)reader->plan->problem,
                                   reader->plan->problem_count, NULL, 0};
    for (size_t i = 0; i < config->parameter_count && !hn_failed(reader->err); i++) {
        struct hn_config_parameter *parameter = &config->parameters[i];
        const struct hn_yaml *child = hn_yaml_get(node, parameter->name);
        if (parameter->recipe == NULL)
            continue;
        parameter->recipe->where = hn_config_where(reader, child);
        read_items(reader, child, &scope, parameter->recipe);
        if (!hn_failed(reader->err))
            add_constraint(reader, child, parameter);
    }
    hn_config_compute(config, reader->err);
}

static void add_value(struct hn_config_parameter *parameter, int64_t number, struct hn_error *err)
{
    if (!hn_failed(err) && parameter->count == HN_CONFIG_VALUES_MOST)
        hn_fail(err, HN_ECONFIG, "%s: '%s' has more than %d values for all problems",
                parameter->recipe->where, parameter->name, HN_CONFIG_VALUES_MOST);
    if (!hn_failed(err))
        *HN_NEXT(parameter->values, parameter->count) = hn_integer(number);
}

static void add_steps(struct hn_config_parameter *parameter, const int64_t *items,
                      struct hn_error *err)
{
    const struct hn_config_recipe *recipe = parameter->recipe;
    bool powers = recipe->kind == HN_CONFIG_POWERS;
    int64_t at = items[LOW];
    int64_t step = recipe->count > STEP ? items[STEP] : 1;
    if (step < 1 || (powers && !is_power(at)))
        hn_fail(err, HN_ECONFIG, "%s: found %lld, expected %s", recipe->where,
                (long long)(powers ? at : step),
                powers ? "a power of two as the lower bound" : "a step of at least 1");
    while (!hn_failed(err) && at <= items[HIGH]) {
        add_value(parameter, at, err);
        if (__builtin_add_overflow(at, powers ? at : step, &at))
            break;
    }
}

/* The values that a recipe gives for a problem. */
static void add_values(struct hn_config *config, size_t problem,
                       struct hn_config_parameter *parameter, struct hn_error *err)
{
    const struct hn_config_recipe *recipe = parameter->recipe;
    struct hn_value *values HN_FREED = hn_need(config->plan->problem_count, sizeof *values);
    int64_t *items HN_FREED = hn_need(recipe->count, sizeof *items);
    for (size_t i = 0; i < config->plan->problem_count; i++)
        values[i] = *hn_bindings_get(&config->problems[problem], config->plan->problem[i]);
    for (size_t i = 0; i < recipe->count && !hn_failed(err); i++) {
        struct hn_error reason = {0};
        if (!hn_expression_integer(recipe->items[i], values, &items[i], &reason))
            hn_fail(err, HN_ECONFIG, "%s: in '%s': %s", recipe->where,
                    hn_expression_text(recipe->items[i]), reason.message);
    }
    if (!hn_failed(err) && recipe->kind != HN_CONFIG_LIST)
        add_steps(parameter, items, err);
    for (size_t i = 0; recipe->kind == HN_CONFIG_LIST && i < recipe->count; i++)
        add_value(parameter, items[i], err);
}

/* One problem's values keep their order; those of several are sorted. */
static void drop_repeats(struct hn_config_parameter *parameter, bool sorted)
{
    struct hn_value *values = parameter->values;
    size_t kept = 0;
    if (sorted && parameter->count > 0)
        qsort(values, parameter->count, sizeof *values, hn_value_compare);
    for (size_t i = 0; i < parameter->count; i++) {
        size_t first = sorted && kept > 0 ? kept - 1 : 0;
        if (hn_config_find_value(values + first, kept - first, &values[i]) == NULL)
            values[kept++] = values[i];
    }
    parameter->count = kept;
}

void hn_config_compute(struct hn_config *config, struct hn_error *err)
{
    for (size_t i = 0; i < config->parameter_count && !hn_failed(err); i++) {
        struct hn_config_parameter *parameter = &config->parameters[i];
        if (parameter->recipe == NULL)
            continue;
        parameter->count = 0;
        bool several = config->problem_count > 1;
        for (size_t p = 0; p < config->problem_count && !hn_failed(err); p++) {
            add_values(config, p, parameter, err);
            if (several || parameter->recipe->kind == HN_CONFIG_LIST)
                drop_repeats(parameter, several);
        }
        if (parameter->count == 0 && !hn_failed(err))
            hn_fail(err, HN_ECONFIG, "%s: '%s' has no value", parameter->recipe->where,
                    parameter->name);
    }
}
