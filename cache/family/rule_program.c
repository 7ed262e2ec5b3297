/* SPDX-License-Identifier: MIT */
#include "cache/family/rule_program.h"

#include <stdlib.h>
#include <string.h>

/* A number with a fraction is compiled where there is only one. */
static bool fill_domains(const struct hn_rule *rule, struct hn_value (*ends)[2],
                         struct hn_domain *domains)
{
    bool known = true;
    for (size_t i = 0; known && i < rule->value_count; i++) {
        const struct hn_rule_value *value = &rule->values[i];
        bool whole = hn_rule_value_is_whole(value);
        ends[i][0] = whole ? hn_integer((int64_t)value->low) : hn_real(value->low);
        ends[i][1] = whole ? hn_integer((int64_t)value->high) : hn_real(value->high);
        domains[i] = value->word_count > 0 ? (struct hn_domain){value->words, value->word_count}
                                           : (struct hn_domain){ends[i], whole ? 0 : 1};
        known = value->word_count > 0 || whole || value->low == value->high;
    }
    return known;
}

bool hn_rule_program_make(struct hn_rule_program *made, const struct hn_rule *rule)
{
    struct hn_value ends[HN_RULE_VALUES_MOST][2];
    struct hn_domain domains[HN_RULE_VALUES_MOST];
    *made = (struct hn_rule_program){.rule = rule};
    made->features = calloc(rule->feature_count + 1, sizeof *made->features);
    if (made->features == NULL || !fill_domains(rule, ends, domains))
        return false;
    hn_program_init(&made->program, domains, rule->value_count);
    for (size_t i = 0; i < rule->feature_count; i++)
        made->features[i] = hn_program_number_or_0(&made->program, rule->features[i].expression);
    return hn_program_compile(&made->program, made->features, rule->feature_count);
}

void hn_rule_program_finish(struct hn_rule_program *made)
{
    hn_program_finish(&made->program);
    free(made->features);
    *made = (struct hn_rule_program){.rule = NULL};
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
