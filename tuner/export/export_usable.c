/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "runtime/device/device.h"
#include "tuner/export/export_parts.h"

/* Whether a configuration can be used for a problem: the config's constraints hold, and every
 * launch respects the limits. As hn_plan_allows and hn_launch_check, in C. */

/* What one configuration's body is written with. */
struct writer {
    const struct hn_export *export;
    const struct hn_tuned *tuned;
    const struct hn_export_slots *slots;
    const struct hn_value *values; /* of its own problem and point */
    struct hn_text *text;
    struct hn_error *err;
};

bool hn_export_uses_problem(const struct hn_plan *plan, const struct hn_expression *expression)
{
    for (size_t slot = 0; slot < plan->name_count; slot++) {
        if (!hn_plan_uses(plan, expression, slot))
            continue;
        for (size_t i = 0; i < plan->problem_count; i++)
            if (strcmp(plan->names[slot], plan->problem[i]) == 0)
                return true;
    }
    return false;
}

/* A condition that can not be said in C (words of two lists compared) is known to hold for the
 * problem that was tuned: for that one alone it counts as true. */
static void append_own_problem(const struct writer *writer, const struct hn_expression *condition)
{
    const struct hn_plan *plan = writer->export->plan;
    const char *separator = "";
    for (size_t slot = 0; slot < plan->name_count; slot++) {
        const struct hn_value *value =
            hn_bindings_get(&writer->tuned->identity.problem, plan->names[slot]);
        if (value == NULL || !hn_plan_uses(plan, condition, slot))
            continue;
        hn_text_printf(writer->text, "%sproblem_%s == ", separator, plan->names[slot]);
        hn_export_append_value(writer->export, plan->names[slot], value, writer->text);
        separator = " && ";
    }
}

/* "((…) != 0)". What is known is folded by the evaluator: "1" or "0". */
static enum hn_status append_condition(const struct writer *writer,
                                       const struct hn_expression *condition)
{
    if (!hn_export_uses_problem(writer->export->plan, condition)) {
        struct hn_value value;
        bool holds = hn_expression_evaluate(condition, writer->values, &value, NULL) == HN_OK &&
                     hn_value_truth(&value);
        hn_text_append(writer->text, holds ? "1" : "0");
        return HN_OK;
    }
    bool real = false;
    struct hn_text code = {0};
    struct hn_error reason;
    enum hn_status status = hn_expression_append_c(condition, writer->slots->items,
                                                   writer->export->lower, &real, &code, &reason);
    hn_text_append(writer->text, "(");
    if (status == HN_OK && !code.failed)
        hn_text_printf(writer->text, "(%s) != 0", code.data);
    else if (status == HN_ENOMEM || code.failed)
        writer->text->failed = true;
    else
        append_own_problem(writer, condition);
    hn_text_append(writer->text, ")");
    hn_text_finish(&code);
    return writer->text->failed ? hn_fail_memory(writer->err) : HN_OK;
}

/* An argument of the launch's check: an int64_t. A real that is not whole makes no launch. */
static enum hn_status append_extent(const struct writer *writer,
                                    const struct hn_expression *expression, const char *missing)
{
    bool real = false;
    struct hn_text code = {0};
    hn_text_append(writer->text, ", ");
    if (expression == NULL) {
        hn_text_append(writer->text, missing);
        return HN_OK;
    }
    enum hn_status status = hn_expression_append_c(
        expression, writer->slots->items, writer->export->lower, &real, &code, writer->err);
    if (status == HN_OK && real)
        hn_text_printf(writer->text, "%s_whole(%s)", writer->export->lower, code.data);
    else if (status == HN_OK)
        hn_text_append(writer->text, code.data);
    writer->text->failed = writer->text->failed || code.failed;
    hn_text_finish(&code);
    return status;
}

/* The sizes of a step in the order of hone_…_launches. */
static enum hn_status append_sizes(const struct writer *writer, const struct hn_step *step)
{
    const struct hn_geometry *geometry = &step->geometry;
    struct hn_expression *const *const sizes[] = {geometry->grid, geometry->block,
                                                  geometry->cluster};
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < 9 && status == HN_OK; i++)
        status = append_extent(writer, sizes[i / 3][i % 3], "1");
    if (status == HN_OK)
        status = append_extent(writer, geometry->shared_bytes, "0");
    if (status == HN_OK)
        status = append_extent(writer, geometry->carveout, "-1");
    return status;
}

static enum hn_status append_step(const struct writer *writer, const struct hn_step *step)
{
    enum hn_status status = HN_OK;
    hn_text_append(writer->text, "    usable = usable && (");
    if (step->condition != NULL) {
        hn_text_append(writer->text, "!");
        status = append_condition(writer, step->condition);
        hn_text_append(writer->text, " || ");
    }
    hn_text_printf(writer->text, "%s_launches(compute_capability", writer->export->lower);
    if (status == HN_OK)
        status = append_sizes(writer, step);
    hn_text_append(writer->text, "));\n");
    return status;
}

/* A step without a condition is always launched; else it takes one whose condition holds. */
static enum hn_status append_any_step(const struct writer *writer)
{
    const struct hn_plan *plan = writer->export->plan;
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < plan->step_count; i++)
        if (plan->steps[i].condition == NULL)
            return HN_OK;
    hn_text_append(writer->text, "    usable = usable && (0");
    for (size_t i = 0; i < plan->step_count && status == HN_OK; i++) {
        hn_text_append(writer->text, " || ");
        status = append_condition(writer, plan->steps[i].condition);
    }
    hn_text_append(writer->text, ");\n");
    return status;
}

/* Whether it is known not to be launched, so that its sizes need not have values. */
static bool never_applies(const struct writer *writer, const struct hn_step *step)
{
    bool applies = true;
    if (step->condition == NULL || hn_export_uses_problem(writer->export->plan, step->condition))
        return false;
    return hn_step_applies(step, writer->values, &applies, NULL) == HN_OK && !applies;
}

/* One that the point alone decides held when it was tuned. */
static enum hn_status append_constraint(const struct writer *writer,
                                        const struct hn_expression *constraint)
{
    struct hn_text condition = {0};
    struct writer aside = *writer;
    aside.text = &condition;
    enum hn_status status = hn_export_uses_problem(writer->export->plan, constraint)
                                ? append_condition(&aside, constraint)
                                : HN_OK;
    if (status == HN_OK && condition.length > 0 && strcmp(condition.data, "((1) != 0)") != 0)
        hn_text_printf(writer->text, "    usable = usable && %s;\n", condition.data);
    hn_text_finish(&condition);
    return status;
}

static enum hn_status append_statements(const struct writer *writer)
{
    const struct hn_plan *plan = writer->export->plan;
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < plan->constraint_count && status == HN_OK; i++)
        status = append_constraint(writer, plan->constraints[i]);
    for (size_t i = 0; i < plan->step_count && status == HN_OK; i++)
        if (!never_applies(writer, &plan->steps[i]))
            status = append_step(writer, &plan->steps[i]);
    return status == HN_OK ? append_any_step(writer) : status;
}

static enum hn_status make_body(const struct hn_export *export, size_t config, char **body,
                                struct hn_error *err)
{
    const struct hn_tuned *tuned = export->configs[config];
    struct hn_export_slots slots = {0};
    struct hn_value *values = NULL;
    struct hn_text text = {0};
    enum hn_status status = hn_export_slots_make(export, config, &slots, err);
    if (status == HN_OK)
        status = hn_plan_values(export->plan, &tuned->identity.problem, &tuned->best.point, &values,
                                err);
    const struct writer writer = {export, tuned, &slots, values, &text, err};
    if (status == HN_OK)
        status = append_statements(&writer);
    *body = hn_text_take(&text);
    if (status == HN_OK && *body == NULL)
        status = hn_fail_memory(err);
    free(values);
    hn_export_slots_finish(&slots);
    return status;
}

static const char launches_head[] =
    "(int compute_capability, int64_t grid_x, int64_t grid_y,\n"
    "    int64_t grid_z, int64_t block_x, int64_t block_y, int64_t block_z, int64_t cluster_x,\n"
    "    int64_t cluster_y, int64_t cluster_z, int64_t shared_bytes, int64_t carveout)\n"
    "{\n";

static const char launches_body[] =
    "    int clusters = cluster_x != 1 || cluster_y != 1 || cluster_z != 1;\n"
    "    return block_x >= 1 && block_x <= 1024 && block_y >= 1 && block_y <= 1024 && block_z >= 1 "
    "&&\n"
    "           block_z <= 64 && block_x * block_y * block_z <= 1024 &&\n"
    "           grid_x >= 1 && grid_x <= 2147483647 && grid_y >= 1 && grid_y <= 65535 && grid_z >= "
    "1 &&\n"
    "           grid_z <= 65535 && carveout >= -1 && carveout <= 100 &&\n"
    "           shared_bytes >= 0 && shared_bytes <= shared_limit &&\n"
    "           (!clusters ||\n"
    "            ((compute_capability >= 90 || compute_capability == 0) && cluster_x >= 1 && "
    "cluster_x <= 16 &&\n"
    "             cluster_y >= 1 && cluster_y <= 16 && cluster_z >= 1 && cluster_z <= 16 &&\n"
    "             cluster_x * cluster_y * cluster_z <= 16 && grid_x % cluster_x == 0 &&\n"
    "             grid_y % cluster_y == 0 && grid_z % cluster_z == 0));\n"
    "}\n\n";

/* "    int64_t shared_limit = 232448;", less where the architecture has less. One that is not known
 * has the most. */
static void append_shared_limit(struct hn_text *text)
{
    int most = 0;
    struct hn_text cases = {0};
    for (int capability = 70; capability < 200; capability++) {
        char name[16];
        struct hn_device device;
        snprintf(name, sizeof name, "sm_%d", capability);
        if (hn_device_for_architecture(name, &device, NULL) != HN_OK)
            continue;
        hn_text_printf(&cases, "    case %d: shared_limit = %d; break;\n", capability,
                       device.shared_per_block_optin);
        if (device.shared_per_block_optin > most)
            most = device.shared_per_block_optin;
    }
    hn_text_printf(text,
                   "    int64_t shared_limit = %d;\n    switch (compute_capability) {\n%s"
                   "    default: break;\n    }\n",
                   most, cases.failed ? "" : cases.data);
    text->failed = text->failed || cases.failed;
    hn_text_finish(&cases);
}

static void append_launches(const struct hn_export *export, const char *code, struct hn_text *text)
{
    struct hn_text call = {0};
    hn_text_printf(&call, "%s_whole(", export->lower);
    if (!call.failed && strstr(code, call.data) != NULL)
        hn_text_printf(text,
                       "/* A size that is not whole is none. */\n"
                       "static inline int64_t %s_whole(double size)\n{\n"
                       "    if (!(size >= -9e18 && size <= 9e18))\n        return -1;\n"
                       "    return size > (double)(int64_t)size || size < (double)(int64_t)size ? "
                       "-1 : (int64_t)size;\n}\n\n",
                       export->lower);
    text->failed = text->failed || call.failed;
    hn_text_finish(&call);
    hn_text_printf(text,
                   "/* Whether a launch respects the limits of an architecture (0: one that is not "
                   "known). */\n"
                   "static inline int %s_launches%s",
                   export->lower, launches_head);
    append_shared_limit(text);
    hn_text_append(text, launches_body);
}

static void append_function(const struct hn_export *export, char *const *bodies,
                            struct hn_text *text)
{
    hn_text_printf(text,
                   "/* Whether a configuration, compiled for this problem, can be used for it: the "
                   "constraints of its\n"
                   " * space hold, and its launches respect the limits of the architecture. */\n"
                   "static inline int %s_usable(int config, int compute_capability",
                   export->lower);
    hn_export_append_problem_parameters(export, ", ", text);
    hn_text_printf(text, ")\n{\n    int usable = config >= 0 && config < %zu;\n",
                   export->body_count);
    for (size_t i = 0; i < export->plan->problem_count; i++)
        hn_text_printf(text, "    (void)problem_%s;\n", export->plan->problem[i]);
    hn_export_append_switch(bodies, export->body_count, text);
    hn_text_append(text, "    return usable;\n}\n\n");
}

enum hn_status hn_export_append_usable(const struct hn_export *export, struct hn_text *text,
                                       struct hn_error *err)
{
    enum hn_status status = HN_OK;
    struct hn_text function = {0};
    char **bodies = calloc(export->body_count, sizeof *bodies);
    if (bodies == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < export->body_count && status == HN_OK; i++)
        status = make_body(export, i, &bodies[i], err);
    if (status == HN_OK) {
        append_function(export, bodies, &function);
        if (function.failed)
            status = hn_fail_memory(err);
    }
    if (status == HN_OK) {
        append_launches(export, function.data, text);
        hn_text_append(text, function.data);
    }
    for (size_t i = 0; i < export->body_count; i++)
        free(bodies[i]);
    free(bodies);
    hn_text_finish(&function);
    return status;
}
