/* SPDX-License-Identifier: MIT */
#include "cache/family/rule.h"

#include <math.h>
#include <string.h>

bool hn_rule_value_is_whole(const struct hn_rule_value *value)
{
    return value->low == floor(value->low) && value->high == floor(value->high);
}

static bool has_word(const struct hn_rule_value *value, const char *word)
{
    for (size_t i = 0; i < value->word_count; i++)
        if (strcmp(value->words[i].word, word) == 0)
            return true;
    return false;
}

static int64_t as_integer(const struct hn_value *value)
{
    return value->type == HN_BOOLEAN ? value->boolean : value->integer;
}

static struct hn_value clamp_integer(const struct hn_rule_value *value, int64_t integer,
                                     bool *inside)
{
    const int64_t low = (int64_t)value->low;
    const int64_t high = (int64_t)value->high;
    *inside = *inside && integer >= low && integer <= high;
    return hn_integer(integer < low ? low : integer > high ? high : integer);
}

/* What is no number is brought to the low end. */
static struct hn_value clamp_real(const struct hn_rule_value *value, double real, bool *inside)
{
    bool above = real >= value->low;
    *inside = *inside && above && real <= value->high;
    return hn_real(!above ? value->low : real > value->high ? value->high : real);
}

static bool clamp_value(const struct hn_rule_value *value, const struct hn_value *given,
                        struct hn_value *clamped, bool *inside)
{
    if ((given->type == HN_WORD) != (value->word_count > 0))
        return false;
    if (given->type == HN_WORD) {
        *clamped = *given;
        *inside = *inside && has_word(value, given->word);
    } else if (given->type == HN_REAL || !hn_rule_value_is_whole(value)) {
        *clamped = clamp_real(value, hn_value_number(given), inside);
    } else {
        *clamped = clamp_integer(value, as_integer(given), inside);
    }
    return true;
}

static bool clamp_problem(const struct hn_rule *rule, const struct hn_bindings *problem,
                          struct hn_value *clamped, bool *inside)
{
    *inside = true;
    if (problem->count != rule->value_count)
        return false;
    for (size_t i = 0; i < problem->count; i++)
        if (strcmp(problem->names[i], rule->values[i].name) != 0 ||
            !clamp_value(&rule->values[i], &problem->values[i], &clamped[i], inside))
            return false;
    return true;
}

static int64_t evaluate_feature(const struct hn_rule_feature *feature,
                                const struct hn_value *clamped)
{
    int64_t result;
    return hn_expression_integer(feature->expression, clamped, &result, NULL) == HN_OK ? result : 0;
}

bool hn_rule_evaluate(const struct hn_rule *rule, const struct hn_bindings *problem,
                      int64_t *features, bool *inside)
{
    struct hn_value clamped[HN_RULE_VALUES_MOST];
    if (!clamp_problem(rule, problem, clamped, inside))
        return false;
    for (size_t i = 0; i < rule->feature_count; i++)
        features[i] = evaluate_feature(&rule->features[i], clamped);
    return true;
}

static const struct hn_rule_node *find_leaf(const struct hn_rule *rule,
                                            const struct hn_value *clamped)
{
    const struct hn_rule_node *node = rule->nodes;
    while (node->feature >= 0) {
        bool left = evaluate_feature(&rule->features[node->feature], clamped) <= node->threshold;
        node = &rule->nodes[left ? node->left : node->right];
    }
    return node;
}

int hn_rule_choose(const struct hn_rule *rule, const struct hn_bindings *problem,
                   bool (*usable)(int configuration, void *context), void *context, bool *sure)
{
    struct hn_value clamped[HN_RULE_VALUES_MOST];
    bool inside;
    *sure = false;
    if (!clamp_problem(rule, problem, clamped, &inside))
        return -1;
    const struct hn_rule_node *leaf = find_leaf(rule, clamped);
    if (usable == NULL || usable(leaf->configuration, context)) {
        *sure = inside && leaf->sure;
        return leaf->configuration;
    }
    for (size_t i = 0; i < rule->fallback_count; i++)
        if (rule->fallback[i] != leaf->configuration && usable(rule->fallback[i], context))
            return rule->fallback[i];
    return -1;
}

void hn_rule_append_values(struct hn_text *text, const struct hn_rule *rule)
{
    for (size_t i = 0; i < rule->value_count; i++) {
        const struct hn_rule_value *value = &rule->values[i];
        hn_text_printf(text, "%s%s", i > 0 ? ", " : "", value->name);
        if (value->word_count == 0)
            hn_text_printf(text, " %.15g", value->low);
        if (value->word_count == 0 && value->high > value->low)
            hn_text_printf(text, " to %.15g", value->high);
        for (size_t j = 0; j < value->word_count; j++)
            hn_text_printf(text, "%s%s", j == 0 ? " " : " or ", value->words[j].word);
    }
}

void hn_rule_append_loss(struct hn_text *text, const struct hn_rule *rule)
{
    bool is_measured = rule->measured.sizes > 0;
    const struct hn_rule_loss *loss = is_measured ? &rule->measured : &rule->predicted;
    if (loss->sizes == 0)
        return;
    hn_text_printf(text,
                   "%s %zu sizes that were not used: %.1f%% slower than tuned for each in the "
                   "mean, %.1f%% at worst",
                   is_measured ? "at" : "predicted for", loss->sizes, 100 * loss->mean,
                   100 * loss->worst);
}
