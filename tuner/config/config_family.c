/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "tuner/config/config_parts.h"

/* `family`: values by their names, and beside them what is asked of them all. */

static const char *const own_keys[] = {"where",  "sizes",          "goal", "defaults",
                                       "ladder", "configurations", "loss", "weight"};

static bool is_own_key(const char *name)
{
    for (size_t i = 0; i < sizeof own_keys / sizeof own_keys[0]; i++)
        if (strcmp(own_keys[i], name) == 0)
            return true;
    return false;
}

/* A whole number, or an expression of constants that gives one: 2 ** 20. */
static int64_t read_integer(struct hn_config_reader *reader, const struct hn_yaml *node,
                            const char *expected)
{
    static const struct hn_scope nothing = {NULL, 0, NULL, 0};
    struct hn_expression *expression = NULL;
    int64_t result = 0;
    if (!hn_config_expect_kind(reader, node, HN_YAML_SCALAR, expected))
        return 0;
    bool found = hn_expression_parse(node->text, &expression, NULL) == HN_OK &&
                 hn_expression_bind(expression, &nothing, NULL) == HN_OK &&
                 hn_expression_integer(expression, NULL, &result, NULL) == HN_OK;
    hn_expression_destroy(expression);
    hn_config_expect(reader, found, node, expected);
    return result;
}

/* To the multiples that lie between the bounds. */
static void tighten(struct hn_config_reader *reader, const struct hn_yaml *node,
                    struct hn_family_value *value)
{
    int64_t step = value->multiple_of;
    int64_t below = value->low % step, above = value->high % step;
    bool fits = !__builtin_add_overflow(value->low, below > 0 ? step - below : -below, &value->low);
    fits = fits &&
           !__builtin_sub_overflow(value->high, above < 0 ? step + above : above, &value->high);
    if (!fits || value->low > value->high)
        hn_config_fail(reader, node, "no multiple of %lld lies in the range; widen it",
                       (long long)step);
}

static void read_range(struct hn_config_reader *reader, const struct hn_yaml *node,
                       struct hn_family_value *value)
{
    static const char *const keys[] = {"range", "scale", "multiple_of"};
    static const char *const scales[] = {"log", "linear"};
    const struct hn_yaml *bounds = hn_yaml_get(node, "range");
    const struct hn_yaml *multiple = hn_yaml_get(node, "multiple_of");
    hn_config_check_keys(reader, node, keys, 3);
    value->kind = HN_FAMILY_RANGE;
    value->multiple_of = 1;
    value->log = hn_config_read_choice(reader, hn_yaml_get(node, "scale"), "scale", scales, 2) == 0;
    if (multiple != NULL) {
        value->multiple_of = read_integer(reader, multiple, "a whole number of at least 1");
        hn_config_expect(reader, value->multiple_of >= 1, multiple, "a whole number of at least 1");
    }
    if (!hn_config_expect(reader, bounds->kind == HN_YAML_SEQUENCE && bounds->count == 2, bounds,
                          "[low, high]"))
        return;
    value->low = read_integer(reader, bounds->child, "a whole number");
    value->high = read_integer(reader, bounds->child->next, "a whole number");
    if (value->low > value->high)
        hn_config_fail(reader, bounds, "found [%s, %s], expected the lower bound first",
                       bounds->child->text, bounds->child->next->text);
    if (value->log && value->low < 1)
        hn_config_fail(reader, bounds->child,
                       "found '%s', expected at least 1, since there is no logarithm of less; "
                       "`scale: linear` may begin anywhere",
                       bounds->child->text);
    if (reader->status == HN_OK)
        tighten(reader, bounds, value);
}

static void read_fixed(struct hn_config_reader *reader, const struct hn_yaml *node,
                       struct hn_family_value *value)
{
    struct hn_value fixed = hn_config_read_value(reader, node);
    if (fixed.type == HN_WORD)
        hn_config_copy(reader, fixed.word, (char **)&fixed.word);
    value->values = hn_config_allocate(reader, 1, sizeof *value->values);
    if (value->values != NULL)
        value->values[value->count++] = fixed;
    else if (fixed.type == HN_WORD && fixed.word != node->text)
        free((char *)fixed.word);
}

static void read_value(struct hn_config_reader *reader, const struct hn_yaml *node,
                       struct hn_family_value *value)
{
    hn_config_check_name(reader, node->key);
    hn_config_copy(reader, node->key->text, &value->name);
    value->kind = HN_FAMILY_LIST;
    if (node->kind == HN_YAML_SCALAR)
        read_fixed(reader, node, value);
    else if (node->kind == HN_YAML_SEQUENCE || hn_yaml_get(node, "powers_of_two") != NULL)
        hn_config_read_values(reader, node, &value->values, &value->count);
    else if (hn_yaml_get(node, "range") != NULL)
        read_range(reader, node, value);
    else
        hn_config_fail_found(reader, node,
                             "a value, a list of values, {range: [low, high], scale: log or "
                             "linear, multiple_of: m} or {powers_of_two: [low, high]}");
}

static void read_values(struct hn_config_reader *reader, const struct hn_yaml *node,
                        struct hn_family *family)
{
    family->values = hn_config_allocate(reader, node->count, sizeof *family->values);
    for (const struct hn_yaml *child = hn_config_first(reader, node); child != NULL;
         child = hn_config_next(reader, child))
        if (!is_own_key(child->key->text))
            read_value(reader, child, &family->values[family->value_count++]);
    if (family->value_count == 0)
        hn_config_fail(reader, node,
                       "found no problem values, expected at least one, as M: {range: [1, 4096]}");
}

/* What `where` may name: the family's values, and their words. The lists are the caller's. */
static struct hn_scope make_scope(struct hn_config_reader *reader, const struct hn_family *family)
{
    size_t most = 0;
    for (size_t i = 0; i < family->value_count; i++)
        most += family->values[i].count;
    const char **names = hn_config_allocate(reader, family->value_count, sizeof *names);
    const char **words = hn_config_allocate(reader, most, sizeof *words);
    struct hn_scope scope = {names, 0, words, 0};
    for (size_t i = 0; words != NULL && i < family->value_count; i++) {
        const struct hn_family_value *value = &family->values[i];
        names[scope.name_count++] = value->name;
        for (size_t v = 0; v < value->count; v++)
            if (value->values[v].type == HN_WORD)
                words[scope.word_count++] = value->values[v].word;
    }
    return scope;
}

static void read_condition(struct hn_config_reader *reader, const struct hn_yaml *node,
                           const struct hn_scope *scope, struct hn_config_constraint *condition)
{
    struct hn_error reason = {0};
    hn_config_note_place(reader, node, &condition->where);
    hn_config_read_expression(reader, node, &condition->expression);
    hn_config_copy(reader, node->text, &condition->text);
    if (reader->status == HN_OK)
        hn_config_take_in(reader, node, node->text,
                          hn_expression_bind(condition->expression, scope, &reason), &reason);
}

static void read_where(struct hn_config_reader *reader, const struct hn_yaml *node,
                       struct hn_family *family)
{
    if (node == NULL ||
        !hn_config_expect_kind(reader, node, HN_YAML_SEQUENCE, "a list of expressions"))
        return;
    struct hn_scope scope = make_scope(reader, family);
    family->where = hn_config_allocate(reader, node->count, sizeof *family->where);
    for (const struct hn_yaml *item = hn_config_first(reader, node); item != NULL;
         item = hn_config_next(reader, item))
        if (hn_config_expect_kind(reader, item, HN_YAML_SCALAR, "an expression"))
            read_condition(reader, item, &scope, &family->where[family->where_count++]);
    free((void *)scope.names);
    free((void *)scope.words);
}

static void read_configurations(struct hn_config_reader *reader, const struct hn_yaml *node,
                                struct hn_family *family)
{
    static const char expected[] = "a whole number from 1 to 255";
    _Static_assert(HN_FAMILY_CONFIGURATIONS_MOST == 255, "as the message says");
    family->configurations = HN_FAMILY_CONFIGURATIONS;
    if (node == NULL)
        return;
    int64_t count = read_integer(reader, node, expected);
    if (hn_config_expect(reader, count >= 1 && count <= HN_FAMILY_CONFIGURATIONS_MOST, node,
                         expected))
        family->configurations = (unsigned)count;
}

/* 0.03, or 3%. */
static void read_loss(struct hn_config_reader *reader, const struct hn_yaml *node,
                      struct hn_family *family)
{
    static const char expected[] = "a share of the best time, as 3% or 0.03";
    family->loss = HN_FAMILY_LOSS;
    if (node == NULL || !hn_config_expect_kind(reader, node, HN_YAML_SCALAR, expected))
        return;
    char *end = node->text;
    double loss = hn_c_strtod(node->text, &end);
    bool percent = *end == '%' && end[1] == '\0';
    if (hn_config_expect(
            reader, end != node->text && (*end == '\0' || percent) && isfinite(loss) && loss >= 0,
            node, expected))
        family->loss = percent ? loss / 100 : loss;
}

void hn_config_read_family(struct hn_config_reader *reader)
{
    static const char *const goals[] = {"mean", "worst"};
    const struct hn_yaml *node = hn_yaml_get(reader->root, "family");
    if (node == NULL ||
        !hn_config_expect_kind(reader, node, HN_YAML_MAPPING, "a mapping of problem values"))
        return;
    struct hn_family *family = hn_config_allocate(reader, 1, sizeof *family);
    reader->config->family = family;
    if (family == NULL)
        return;
    const struct hn_yaml *weight = hn_yaml_get(node, "weight");
    if (weight != NULL)
        hn_config_fail(reader, weight->key, "'weight' is no name of a value: sizes have weights");
    read_values(reader, node, family);
    read_where(reader, hn_yaml_get(node, "where"), family);
    family->worst = hn_config_read_choice(reader, hn_yaml_get(node, "goal"), "goal", goals, 2) == 1;
    read_configurations(reader, hn_yaml_get(node, "configurations"), family);
    read_loss(reader, hn_yaml_get(node, "loss"), family);
    hn_config_read_sizes(reader, hn_yaml_get(node, "sizes"), family);
}

static const char *kind_of(const struct hn_value *value)
{
    return value->type == HN_WORD ? "words" : value->type == HN_BOOLEAN ? "booleans" : "numbers";
}

static bool is_of_kind(const struct hn_family_value *value, const struct hn_value *given)
{
    const struct hn_value number = hn_integer(0);
    const struct hn_value *model = value->kind == HN_FAMILY_RANGE ? &number : &value->values[0];
    return strcmp(kind_of(model), kind_of(given)) == 0;
}

void hn_config_match_family(struct hn_config_reader *reader)
{
    const struct hn_config *config = reader->config;
    const struct hn_family *family = config->family;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "family");
    if (reader->status != HN_OK || family == NULL)
        return;
    const struct hn_bindings *problem = &config->problems[0];
    for (size_t i = 0; i < family->value_count; i++) {
        const struct hn_family_value *value = &family->values[i];
        const struct hn_yaml *child = hn_yaml_get(node, value->name);
        const struct hn_value *given = hn_bindings_get(problem, value->name);
        if (given == NULL)
            hn_config_fail(reader, child->key,
                           "the family has '%s', which `problem` has not; "
                           "add it there or remove it here",
                           value->name);
        else if (!is_of_kind(value, given))
            hn_config_fail(reader, child, "found %s, expected %s as under `problem`",
                           kind_of(value->count > 0 ? &value->values[0] : &(struct hn_value){0}),
                           kind_of(given));
    }
    for (size_t i = 0; i < problem->count; i++)
        if (hn_yaml_get(node, problem->names[i]) == NULL)
            hn_config_fail(reader, node,
                           "the family has no '%s', which `problem` has; add it, as "
                           "a range, a list or a fixed value",
                           problem->names[i]);
}
