/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache/recording/recording.h"
#include "tuner/export/export_parts.h"

/* A header is compiled: more than this is no family but a mistake. */
enum { ROWS_MOST = 1024 };

void hn_export_family_destroy(struct hn_export_family *family)
{
    if (family == NULL)
        return;
    for (size_t i = 0; family->problems != NULL && i < family->variants; i++)
        hn_bindings_finish(&family->problems[i]);
    free(family->problems);
    free(family->rows);
    free(family->config_of);
    hn_stored_rules_free(&family->rules);
    free(family);
}

void hn_export_append_loss(const struct hn_export *export, struct hn_text *text)
{
    if (export->family != NULL)
        hn_rule_append_loss(text, &export->family->stored->rule);
}

/* How well a rule of the same kernel fits, at the same regime and objective: 2 on that device, 1 on
 * one of its compute capability, 0: none of this. */
static int rank_rule(const struct hn_stored_rule *stored, const struct hn_identity *chosen)
{
    const struct hn_identity *own = &stored->identity;
    if (strcmp(own->signature, chosen->signature) != 0 ||
        strcmp(own->regime, chosen->regime) != 0 || strcmp(own->objective, chosen->objective) != 0)
        return 0;
    return hn_device_identity_equal(&own->device, &chosen->device)
               ? 2
               : own->device.capability == chosen->device.capability;
}

static void find_rule(struct hn_export_family *family, const struct hn_identity *chosen)
{
    int best = 0;
    for (size_t i = 0; i < family->rules.count; i++) {
        int rank = rank_rule(&family->rules.items[i], chosen);
        if (rank > best)
            family->stored = &family->rules.items[i];
        best = rank > best ? rank : best;
    }
}

static bool has_values(const struct hn_rule *rule, const struct hn_bindings *problem)
{
    bool same = rule->value_count == problem->count;
    for (size_t i = 0; same && i < problem->count; i++)
        same = strcmp(rule->values[i].name, problem->names[i]) == 0 &&
               (rule->values[i].word_count > 0) == (problem->values[i].type == HN_WORD);
    return same;
}

/* Whether some configuration has this number as a constant. Then it is one of two: its ends. */
static bool is_frozen(const struct hn_plan *plan, const struct hn_rule *rule,
                      const struct hn_rule_value *value)
{
    const struct hn_value low = hn_real(value->low);
    for (size_t i = 0; i < rule->configuration_count; i++)
        if (hn_plan_is_frozen(plan, &rule->configurations[i], value->name, &low))
            return true;
    return false;
}

/* In how many ways a value can be part of a program. */
static size_t count_ways(const struct hn_plan *plan, const struct hn_rule *rule,
                         const struct hn_rule_value *value)
{
    if (value->word_count > 0)
        return value->word_count;
    return value->high > value->low && is_frozen(plan, rule, value) ? 2 : 1;
}

static struct hn_value way_of(const struct hn_rule_value *value, size_t way)
{
    return value->word_count > 0 ? value->words[way] : hn_rule_value_end(value, way > 0);
}

/* The problem of a variant: that of a result with the variant's words and frozen numbers, the
 * digits of its number, and with what all have alike. */
static void make_problem(const struct hn_plan *plan, const struct hn_rule *rule, size_t variant,
                         const struct hn_tuned *first, struct hn_bindings *problem,
                         struct hn_error *err)
{
    hn_bindings_copy(problem, &first->identity.problem, err);
    for (size_t i = 0; i < rule->value_count && !hn_failed(err); i++) {
        const struct hn_rule_value *value = &rule->values[i];
        size_t ways = count_ways(plan, rule, value);
        const struct hn_value own = way_of(value, variant % ways);
        if (ways > 1 || value->word_count > 0 || value->low == value->high)
            hn_bindings_set(problem, value->name, &own, err);
        variant /= ways;
    }
}

static bool is_configuration(const struct hn_rule *rule, const struct hn_bindings *point)
{
    for (size_t i = 0; i < rule->configuration_count; i++)
        if (hn_bindings_equal(&rule->configurations[i], point))
            return true;
    return false;
}

/* The first of the chosen result's device that is a configuration of the rule; else the chosen one,
 * which stays though it is none. */
static const struct hn_tuned *find_first(const struct hn_export *export, const struct hn_rule *rule)
{
    const struct hn_tuned *chosen = export->results[0];
    for (size_t i = 0; i < export->result_count; i++)
        if (hn_device_identity_equal(&export->results[i]->identity.device,
                                     &chosen->identity.device) &&
            is_configuration(rule, &export->results[i]->best.point))
            return export->results[i];
    return chosen;
}

static void leave_others_out(struct hn_export *export, const struct hn_rule *rule,
                             const struct hn_tuned *first)
{
    size_t kept = 0;
    for (size_t i = 0; i < export->result_count; i++)
        if (export->results[i] == first || is_configuration(rule, &export->results[i]->best.point))
            export->results[kept++] = export->results[i];
    export->outside_family = export->result_count - kept;
    export->result_count = kept;
}

/* Whether a number of the problem occurs in the expression. */
static bool asks_size(const struct hn_plan *plan, const struct hn_expression *expression,
                      const struct hn_bindings *problem)
{
    for (size_t slot = 0; slot < plan->name_count; slot++) {
        const struct hn_value *value = hn_bindings_get(problem, plan->names[slot]);
        if (value != NULL && value->type != HN_WORD && hn_plan_uses(plan, expression, slot))
            return true;
    }
    return false;
}

/* Whether constraints let the configuration serve problems with these words at all. */
static bool can_serve(const struct hn_plan *plan, const struct hn_bindings *point,
                      const struct hn_bindings *problem)
{
    struct hn_value *values = NULL;
    bool can = hn_plan_values(plan, problem, point, &values, NULL) == HN_OK;
    for (size_t i = 0; i < plan->constraint_count && can; i++)
        can = asks_size(plan, plan->constraints[i], problem) ||
              hn_expression_truth(plan->constraints[i], values) == HN_TRUE;
    free(values);
    return can;
}

/* The variant itself, or where the configuration can not serve it, one that it can: its row stands
 * twice, and nothing is compiled for what never is launched. */
static size_t served_variant(const struct hn_plan *plan, const struct hn_export_family *family,
                             const struct hn_bindings *point, size_t variant)
{
    if (can_serve(plan, point, &family->problems[variant]))
        return variant;
    for (size_t other = 0; other < family->variants; other++)
        if (can_serve(plan, point, &family->problems[other]))
            return other;
    return variant;
}

static void make_rows(const struct hn_plan *plan, const struct hn_tuned *first,
                      struct hn_export_family *family, struct hn_error *err)
{
    const struct hn_stored_rule *stored = family->stored;
    family->row_count = stored->rule.configuration_count * family->variants;
    family->rows = hn_need(family->row_count, sizeof *family->rows);
    family->config_of = hn_need(family->row_count, sizeof *family->config_of);
    family->problems = hn_need(family->variants, sizeof *family->problems);
    for (size_t i = 0; i < family->variants; i++)
        make_problem(plan, &stored->rule, i, first, &family->problems[i], err);
    for (size_t i = 0; i < family->row_count; i++) {
        struct hn_tuned *row = &family->rows[i];
        row->identity = first->identity;
        row->identity.device = stored->identity.device;
        row->best.point = stored->rule.configurations[i / family->variants];
        row->identity.problem =
            family->problems[served_variant(plan, family, &row->best.point, i % family->variants)];
        row->version = stored->version;
        row->origin = stored->origin;
        row->simulated = stored->simulated;
        row->best.time = stored->learnt;
    }
}

/* Whether the rule goes with the plan. */
static bool take(struct hn_export *export, struct hn_export_family *family, struct hn_error *err)
{
    const struct hn_rule *rule = &family->stored->rule;
    const struct hn_tuned *first = find_first(export, rule);
    bool fits = has_values(rule, &first->identity.problem);
    family->variants = 1;
    for (size_t i = 0; fits && i < rule->value_count; i++) {
        family->variants *= count_ways(export->plan, rule, &rule->values[i]);
        fits = family->variants * rule->configuration_count <= ROWS_MOST;
    }
    if (!fits)
        return false;
    make_rows(export->plan, first, family, err);
    for (size_t i = 0; fits && i < family->row_count; i++)
        fits = hn_export_is_compatible(export, &family->rows[i], err);
    if (fits && !hn_failed(err))
        leave_others_out(export, rule, first);
    return fits && !hn_failed(err);
}

void hn_export_take_family(struct hn_export *export, struct hn_store *store,
                           const struct hn_export_request *request, struct hn_error *err)
{
    if (hn_failed(err))
        return;
    struct hn_export_family *family = hn_need(1, sizeof *family);
    if (store != NULL)
        hn_store_get_rules(store, request->kernel, &family->rules, err);
    for (size_t i = 0; store == NULL && i < request->recorded_count && !hn_failed(err); i++)
        if (access(request->recorded[i], F_OK) == 0)
            hn_recording_add_rules(request->recorded[i], request->kernel, &family->rules, err);
    find_rule(family, &export->results[0]->identity);
    if (!hn_failed(err) && family->stored != NULL && take(export, family, err))
        export->family = family;
    else
        hn_export_family_destroy(family);
}
