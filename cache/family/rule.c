/* SPDX-License-Identifier: MIT */
#include "cache/family/rule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/expression/expression_terms.h"

bool hn_rule_value_is_whole(const struct hn_rule_value *value)
{
    return value->low == floor(value->low) && value->high == floor(value->high);
}

struct hn_value hn_rule_value_end(const struct hn_rule_value *value, bool high)
{
    double end = high ? value->high : value->low;
    return value->word_count > 0           ? value->words[0]
           : hn_rule_value_is_whole(value) ? hn_integer((int64_t)end)
                                           : hn_real(end);
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

struct hn_rule_program {
    const struct hn_rule *rule;
    struct hn_program program;
    int features[HN_RULE_FEATURES_MOST]; /* terms */
};

/* A number with a fraction is compiled where there is only one. */
static bool fill_domains(const struct hn_rule *rule, struct hn_value (*ends)[2],
                         struct hn_domain *domains)
{
    bool known = true;
    for (size_t i = 0; known && i < rule->value_count; i++) {
        const struct hn_rule_value *value = &rule->values[i];
        bool whole = hn_rule_value_is_whole(value);
        ends[i][0] = hn_rule_value_end(value, false);
        ends[i][1] = hn_rule_value_end(value, true);
        domains[i] = value->word_count > 0 ? (struct hn_domain){value->words, value->word_count}
                                           : (struct hn_domain){ends[i], whole ? 0 : 1};
        known = value->word_count > 0 || whole || value->low == value->high;
    }
    return known;
}

struct hn_rule_program *hn_rule_program_make(const struct hn_rule *rule)
{
    struct hn_value ends[HN_RULE_VALUES_MOST][2];
    struct hn_domain domains[HN_RULE_VALUES_MOST];
    struct hn_rule_program *made =
        fill_domains(rule, ends, domains) ? calloc(1, sizeof *made) : NULL;
    if (made == NULL)
        return NULL;
    made->rule = rule;
    hn_program_init(&made->program, domains, rule->value_count);
    for (size_t i = 0; i < rule->feature_count; i++)
        made->features[i] = hn_program_number_or_0(&made->program, rule->features[i].expression);
    if (hn_program_compile(&made->program, made->features, rule->feature_count))
        return made;
    hn_rule_program_destroy(made);
    return NULL;
}

void hn_rule_program_destroy(struct hn_rule_program *program)
{
    if (program != NULL)
        hn_program_finish(&program->program);
    free(program);
}

/* Whether it is one of those that the rule was learnt for; it is set then. */
static bool set_value(struct hn_rule_program *made, size_t place, const struct hn_value *given)
{
    const struct hn_rule_value *value = &made->rule->values[place];
    if (value->word_count == 0 && !hn_rule_value_is_whole(value))
        return given->type == HN_REAL && given->real == value->low;
    if (value->word_count == 0) {
        if (given->type != HN_INTEGER || given->integer < (int64_t)value->low ||
            given->integer > (int64_t)value->high)
            return false;
        hn_program_set(&made->program, place, given->integer);
        return true;
    }
    uint16_t *position = &made->program.positions[place];
    for (*position = 0; given->type == HN_WORD && *position < value->word_count; ++*position)
        if (strcmp(value->words[*position].word, given->word) == 0)
            return true;
    return false;
}

const struct hn_rule_node *hn_rule_program_find(struct hn_rule_program *made,
                                                const struct hn_bindings *problem)
{
    const struct hn_rule *rule = made->rule;
    bool inside = problem->count == rule->value_count;
    for (size_t i = 0; inside && i < problem->count; i++)
        inside = strcmp(problem->names[i], rule->values[i].name) == 0 &&
                 set_value(made, i, &problem->values[i]);
    if (!inside)
        return NULL;
    hn_program_run(&made->program);
    const struct hn_rule_node *node = rule->nodes;
    while (node->feature >= 0) {
        int64_t feature = hn_program_result(&made->program, made->features[node->feature]);
        node = &rule->nodes[feature <= node->threshold ? node->left : node->right];
    }
    return node;
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
