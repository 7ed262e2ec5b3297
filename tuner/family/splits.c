/* SPDX-License-Identifier: MIT */
#include "tuner/family/splits.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static enum hn_status set_value(const struct hn_family *family, const char *name,
                                const struct hn_value *example, struct hn_rule_value *value,
                                struct hn_error *err)
{
    const struct hn_family_value *own = NULL;
    for (size_t i = 0; i < family->value_count; i++)
        if (strcmp(family->values[i].name, name) == 0)
            own = &family->values[i];
    value->name = strdup(name);
    if (value->name == NULL)
        return hn_fail_memory(err);
    if (own != NULL && own->kind == HN_FAMILY_RANGE) {
        value->low = (double)own->low;
        value->high = (double)own->high;
        return HN_OK;
    }
    size_t count = own != NULL ? own->count : 1;
    const struct hn_value *values = own != NULL ? own->values : example;
    if (values[0].type != HN_WORD) {
        value->low = value->high = hn_value_number(&values[0]);
        for (size_t i = 1; i < count; i++) {
            double number = hn_value_number(&values[i]);
            value->low = number < value->low ? number : value->low;
            value->high = number > value->high ? number : value->high;
        }
        return HN_OK;
    }
    value->words = calloc(count, sizeof *value->words);
    if (value->words == NULL)
        return hn_fail_memory(err);
    for (; value->word_count < count; value->word_count++) {
        char *word = strdup(values[value->word_count].word);
        if (word == NULL)
            return hn_fail_memory(err);
        value->words[value->word_count] = (struct hn_value){.type = HN_WORD, .word = word};
    }
    return HN_OK;
}

/* Whether an expression can be asked of any problem that the rule is for. */
static bool can_ask(const struct hn_rule *rule, const char *text)
{
    struct hn_error ignored;
    struct hn_rule_feature feature = {.text = (char *)text};
    struct hn_rule_node leaf = {.feature = -1};
    struct hn_bindings none;
    int fallback = 0;
    hn_bindings_init(&none);
    struct hn_rule alone = {
        .values = rule->values,
        .value_count = rule->value_count,
        .features = &feature,
        .feature_count = 1,
        .nodes = &leaf,
        .node_count = 1,
        .configurations = &none,
        .configuration_count = 1,
        .fallback = &fallback,
        .fallback_count = 1,
    };
    bool can = hn_rule_complete(&alone, &ignored) == HN_OK;
    hn_expression_destroy(feature.expression);
    return can;
}

static enum hn_status add(struct hn_rule *rule, char *text, struct hn_error *err)
{
    bool is_new = text != NULL && rule->feature_count < HN_RULE_FEATURES_MOST;
    for (size_t i = 0; is_new && i < rule->feature_count; i++)
        is_new = strcmp(rule->features[i].text, text) != 0;
    if (is_new && can_ask(rule, text)) {
        struct hn_rule_feature *more =
            realloc(rule->features, (rule->feature_count + 1) * sizeof *more);
        if (more == NULL) {
            free(text);
            return hn_fail_memory(err);
        }
        rule->features = more;
        more[rule->feature_count++] = (struct hn_rule_feature){.text = text};
        return HN_OK;
    }
    bool failed = text == NULL;
    free(text);
    return failed ? hn_fail_memory(err) : HN_OK;
}

__attribute__((format(printf, 3, 4))) static enum hn_status
add_text(struct hn_rule *rule, struct hn_error *err, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    return add(rule, text, err);
}

static enum hn_status add_pair(struct hn_rule *rule, const char *a, const char *b,
                               struct hn_error *err)
{
    enum hn_status status = add_text(rule, err, "%s * %s", a, b);
    if (status == HN_OK)
        status = add_text(rule, err, "%s // %s", a, b);
    return status == HN_OK ? add_text(rule, err, "%s // %s", b, a) : status;
}

static enum hn_status add_sizes(const struct hn_family *family, struct hn_rule *rule,
                                struct hn_error *err)
{
    struct hn_text all;
    enum hn_status status = HN_OK;
    size_t sizes = 0;
    hn_text_init(&all);
    for (size_t i = 0; i < family->value_count && status == HN_OK; i++) {
        const struct hn_family_value *value = &family->values[i];
        if (value->kind == HN_FAMILY_LIST) {
            for (size_t k = 0; k < value->count && value->count > 1 && status == HN_OK; k++) {
                struct hn_text text;
                hn_text_init(&text);
                hn_text_printf(&text, "%s == ", value->name);
                hn_value_append(&text, &value->values[k]);
                status = add(rule, hn_text_take(&text), err);
            }
            continue;
        }
        hn_text_printf(&all, "%s%s", sizes++ > 0 ? " * " : "", value->name);
        status = add_text(rule, err, "%s", value->name);
        for (int power = 2; power <= 4 && status == HN_OK; power *= 2)
            status = add_text(rule, err, "%s %% %d", value->name, power);
        for (size_t k = 0; k < i && status == HN_OK; k++)
            if (family->values[k].kind == HN_FAMILY_RANGE)
                status = add_pair(rule, family->values[k].name, value->name, err);
    }
    if (status == HN_OK && sizes > 2)
        status = add(rule, hn_text_take(&all), err);
    hn_text_finish(&all);
    return status;
}

/* The text of an expression with a point's values in the place of its parameters. */
static char *write_with(const char *expression, const struct hn_bindings *point)
{
    struct hn_text text;
    hn_text_init(&text);
    while (*expression != '\0') {
        char name[64];
        size_t length = 0;
        while (hn_is_word_char(expression[length]))
            length++;
        snprintf(name, sizeof name, "%.*s", (int)length, expression);
        const struct hn_value *value =
            length > 0 && length < sizeof name ? hn_bindings_get(point, name) : NULL;
        length += length == 0;
        if (value != NULL)
            hn_value_append(&text, value);
        else
            hn_text_printf(&text, "%.*s", (int)length, expression);
        expression += length;
    }
    return hn_text_take(&text);
}

/* How many blocks a configuration has along each side of its grid: where waves of blocks end, its
 * times jump. A side that has conditions is no question that somebody could read. */
static enum hn_status add_grids(const struct hn_plan *plan, struct hn_rule *rule,
                                struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t c = 0; c < rule->configuration_count && status == HN_OK; c++)
        for (size_t k = 0; k < 3 * plan->step_count && status == HN_OK; k++) {
            const struct hn_expression *side = plan->steps[k / 3].geometry.grid[k % 3];
            if (side != NULL && hn_expression_slots(side) > 0 &&
                strstr(hn_expression_text(side), " if ") == NULL)
                status =
                    add(rule, write_with(hn_expression_text(side), &rule->configurations[c]), err);
        }
    return status;
}

enum hn_status hn_splits_make(const struct hn_family *family, const struct hn_plan *plan,
                              const struct hn_bindings *example, struct hn_rule *rule,
                              struct hn_error *err)
{
    enum hn_status status = HN_OK;
    rule->values = calloc(example->count + 1, sizeof *rule->values);
    if (rule->values == NULL)
        return hn_fail_memory(err);
    for (; rule->value_count < example->count && status == HN_OK; rule->value_count++)
        status =
            set_value(family, example->names[rule->value_count],
                      &example->values[rule->value_count], &rule->values[rule->value_count], err);
    if (status == HN_OK)
        status = add_sizes(family, rule, err);
    if (status == HN_OK)
        status = add_grids(plan, rule, err);
    return status;
}
