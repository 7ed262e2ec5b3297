/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/export/export_parts.h"
#include "tuner/export/export_skeleton_parts.h"

/* Expressions of the plan as C: parameters are known and folded, so that each configuration has its
 * own; problem values and pitches are members of structs. */

void hn_export_code_finish(struct hn_export_code *code)
{
    const struct hn_plan *plan = code->export->plan;
    for (size_t i = 0; code->names != NULL && i < plan->name_count + plan->pitch_count; i++)
        free(code->names[i]);
    free(code->names);
    free(code->slots);
    free(code->values);
}

/* "problem.M" and the like. */
static const char *make_name(struct hn_export_code *code, size_t slot, const char *of,
                             const char *name)
{
    struct hn_text text = {0};
    hn_text_printf(&text, "%s.%s", of, name);
    return code->names[slot] = hn_text_take(&text);
}

static bool fill_slot(struct hn_export_code *code, size_t slot)
{
    const struct hn_export *export = code->export;
    const struct hn_plan *plan = export->plan;
    struct hn_c_slot *own = &code->slots[slot];
    if (slot >= plan->name_count) {
        own->name = make_name(code, slot, "size", plan->pitches[slot - plan->name_count]);
        return own->name != NULL;
    }
    const char *name = plan->names[slot];
    const struct hn_word_list *list = hn_export_words(export, name);
    own->constant = hn_bindings_get(&export->configs[code->config]->best.point, name);
    if (own->constant != NULL)
        return true;
    own->name = make_name(code, slot, "problem", name);
    own->real = hn_export_problem_is_real(export, name);
    own->words = list == NULL ? NULL : (const char *const *)list->words;
    own->word_count = list == NULL ? 0 : list->count;
    return own->name != NULL;
}

/* A grid that asks for the clusters that run at once has what was found where it was tuned. */
static enum hn_status check_clusters(const struct hn_export_code *code, struct hn_error *err)
{
    const struct hn_plan *plan = code->export->plan;
    bool asks = false;
    for (size_t i = 0; i < plan->step_count; i++)
        asks = asks || hn_plan_asks_clusters(plan, &plan->steps[i]);
    if (!asks || code->clusters.integer > 0)
        return HN_OK;
    return hn_fail(err, HN_ECONFIG,
                   "a 'grid' of %s asks for '%s', and the cache does not say how many there are at "
                   "this point; measure it with `hone tune` and export again",
                   plan->kernel, hn_clusters_name);
}

void hn_export_code_make(struct hn_export_writer *writer, size_t config,
                         struct hn_export_code *code)
{
    const struct hn_export *export = writer->export;
    const struct hn_tuned *tuned = export->configs[config];
    size_t count = export->plan->name_count + export->plan->pitch_count;
    *code = (struct hn_export_code){.writer = writer,
                                    .export = export,
                                    .config = config,
                                    .plan = hn_export_plan_of(export, config)};
    code->slots = calloc(count + 1, sizeof *code->slots);
    if (code->slots != NULL)
        code->slots[count].constant = &code->clusters;
    code->names = calloc(count + 1, sizeof *code->names);
    code->clusters = hn_integer(tuned->best.active_clusters);
    bool made = code->slots != NULL && code->names != NULL;
    for (size_t i = 0; i < count && made; i++)
        made = fill_slot(code, i);
    hn_export_note(writer, check_clusters(code, writer->err));
    hn_export_note(writer, made ? hn_plan_values(code->plan, &tuned->identity.problem,
                                                 &tuned->best.point, &code->values, writer->err)
                                : hn_fail_memory(writer->err));
}

void hn_export_append_expression(const struct hn_export_code *code,
                                 const struct hn_expression *expression, bool *real,
                                 struct hn_text *text)
{
    hn_export_note(code->writer,
                   hn_expression_append_c(expression, code->slots, code->export->lower, real, text,
                                          code->writer->err));
}

void hn_export_append_number(const struct hn_export_code *code,
                             const struct hn_expression *expression, const char *missing,
                             struct hn_text *text)
{
    bool real = false;
    struct hn_text number = {0};
    if (expression == NULL)
        hn_text_append(&number, missing);
    else
        hn_export_append_expression(code, expression, &real, &number);
    if (number.length > 0 && real)
        hn_text_printf(text, "%s_whole(%s)", code->export->lower, number.data);
    else
        hn_text_append(text, number.length > 0 ? number.data : "");
    text->failed = text->failed || number.failed;
    hn_text_finish(&number);
}

/* "(problem.K == 32 && …)" */
static void append_own_problem(const struct hn_export_code *code,
                               const struct hn_expression *condition, struct hn_text *text)
{
    const struct hn_plan *plan = code->export->plan;
    const struct hn_bindings *problem = &code->export->configs[code->config]->identity.problem;
    const char *separator = "(";
    for (size_t slot = 0; slot < plan->name_count; slot++) {
        const struct hn_value *value = hn_bindings_get(problem, plan->names[slot]);
        if (value == NULL || !hn_plan_uses(plan, condition, slot))
            continue;
        hn_text_printf(text, "%sproblem.%s == ", separator, plan->names[slot]);
        hn_export_append_value(code->export, plan->names[slot], value, text);
        separator = " && ";
    }
    hn_text_append(text, ")");
}

void hn_export_append_condition(const struct hn_export_code *code,
                                const struct hn_expression *condition, struct hn_text *text)
{
    struct hn_text own = {0};
    struct hn_error reason;
    struct hn_value value;
    if (condition == NULL || hn_plan_problem_used(code->export->plan, condition) == NULL) {
        bool holds = condition == NULL ||
                     (hn_expression_evaluate(condition, code->values, &value, NULL) == HN_OK &&
                      hn_value_truth(&value));
        hn_text_append(text, holds ? "1" : "0");
        return;
    }
    enum hn_status status = hn_expression_append_c_condition(condition, code->slots,
                                                             code->export->lower, &own, &reason);
    if (status == HN_OK && own.length > 0)
        hn_text_append(text, own.data);
    else
        append_own_problem(code, condition, text);
    text->failed = text->failed || own.failed || status == HN_ENOMEM;
    hn_text_finish(&own);
}
