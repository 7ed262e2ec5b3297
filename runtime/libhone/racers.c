/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "runtime/libhone/race.h"

/* Who may be raced: what is likeliest to be faster than what was chosen. */

static size_t add_configuration(int configuration, int own, int *configurations, size_t count)
{
    bool is_new = configuration >= 0 && configuration != own && count < HN_LIB_RACERS_LIKELY;
    for (size_t i = 0; i < count && is_new; i++)
        is_new = configurations[i] != configuration;
    if (is_new)
        configurations[count++] = configuration;
    return count;
}

/* What the rule says where one value of the problem is half as large, or twice. -1: nothing. */
static int choose_beside(const struct hn_rule *rule, const struct hn_bindings *problem,
                         const struct hn_rule_value *value, double factor)
{
    struct hn_bindings beside;
    const struct hn_value *own = hn_bindings_get(problem, value->name);
    bool sure = false;
    int configuration = -1;
    if (own == NULL || own->type == HN_WORD || value->word_count > 0)
        return -1;
    double number = factor * hn_value_number(own);
    number = number < value->low ? value->low : number > value->high ? value->high : number;
    const struct hn_value changed =
        hn_rule_value_is_whole(value) ? hn_integer((int64_t)number) : hn_real(number);
    if (hn_bindings_copy(&beside, problem, NULL) == HN_OK &&
        hn_bindings_set(&beside, value->name, &changed, NULL) == HN_OK)
        configuration = hn_rule_choose(rule, &beside, NULL, NULL, &sure);
    hn_bindings_finish(&beside);
    return configuration;
}

size_t hn_lib_racers_of_rule(const struct hn_rule *rule, const struct hn_bindings *problem, int own,
                             int configurations[HN_LIB_RACERS_LIKELY])
{
    size_t count = 0;
    for (size_t i = 0; i < rule->value_count; i++)
        for (double factor = 0.5; factor <= 2; factor *= 4)
            count = add_configuration(choose_beside(rule, problem, &rule->values[i], factor), own,
                                      configurations, count);
    for (size_t i = 0; i < rule->fallback_count; i++)
        count = add_configuration(rule->fallback[i], own, configurations, count);
    return count;
}

static bool may_be_raced(const struct hn_tuned *tuned, const struct hn_lookup_query *query,
                         const struct hn_tuned *own)
{
    enum hn_verification kind = tuned->best.verdict.kind;
    return tuned->best.outcome == HN_OUTCOME_OK && !tuned->simulated &&
           (kind == HN_VERIFIED || kind == HN_SELF_VERIFIED) &&
           hn_version_same_source(&tuned->version, &own->version) &&
           strcmp(tuned->identity.objective, own->identity.objective) == 0 &&
           hn_lookup_rank(query, &tuned->identity).grade >= HN_GRADE_PROBLEM;
}

static bool has_point(const struct hn_tuned *const *tuned, size_t count,
                      const struct hn_bindings *point)
{
    for (size_t i = 0; i < count; i++)
        if (hn_bindings_equal(&tuned[i]->best.point, point))
            return true;
    return false;
}

/* The nearest one that has another point than those that are there; NULL: there is none. */
static const struct hn_tuned *find_next(const struct hn_tuned_list *list,
                                        const struct hn_lookup_query *query,
                                        const struct hn_tuned *own,
                                        const struct hn_tuned *const *racers, size_t count)
{
    const struct hn_tuned *next = NULL;
    struct hn_lookup_rank best = {.grade = HN_GRADE_NONE};
    for (size_t i = 0; i < list->count; i++) {
        const struct hn_tuned *tuned = &list->items[i];
        if (!may_be_raced(tuned, query, own) ||
            hn_bindings_equal(&tuned->best.point, &own->best.point) ||
            has_point(racers, count, &tuned->best.point))
            continue;
        struct hn_lookup_rank rank = hn_lookup_rank(query, &tuned->identity);
        if (next != NULL && hn_lookup_rank_compare(&rank, &best) >= 0)
            continue;
        next = tuned;
        best = rank;
    }
    return next;
}

size_t hn_lib_racers_of_results(const struct hn_tuned_list *list,
                                const struct hn_lookup_query *query, const struct hn_tuned *own,
                                const struct hn_tuned *racers[HN_LIB_RACERS_LIKELY])
{
    size_t count = 0;
    while (count < HN_LIB_RACERS_LIKELY) {
        const struct hn_tuned *next = find_next(list, query, own, racers, count);
        if (next == NULL)
            break;
        racers[count++] = next;
    }
    return count;
}
