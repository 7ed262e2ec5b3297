/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "tuner/export/export_parts.h"

/* What the arguments of a launch follow from: the bytes of buffers and the values of scalars. */

bool hn_export_is_given(const struct hn_argument *argument)
{
    if (argument->value == NULL)
        return true;
    bool half = argument->element == HN_FLOAT16 || argument->element == HN_BFLOAT16;
    return half || argument->lanes > 1 || hn_expression_slots(argument->value) == 0;
}

static enum hn_status append_bytes(const struct hn_export *export, size_t config,
                                   const struct hn_export_slots *slots, const void *context,
                                   struct hn_text *text, struct hn_error *err)
{
    const struct hn_argument *argument = context;
    (void)config;
    hn_text_append(text, "    bytes = (size_t)(");
    if (argument->shape.width != NULL) {
        /* rows may be further apart than they are long */
        hn_text_printf(text, "%s_config_%s_pitch(config", export->lower, argument->name);
        hn_export_append_problem_arguments(export, ", ", text);
        hn_text_append(text, ") * ");
    }
    enum hn_status status = hn_expression_append_c(
        argument->shape.width != NULL ? argument->shape.height : argument->count, slots->items,
        export->lower, NULL, text, err);
    if (argument->shape.width == NULL)
        hn_text_printf(text, " * %zu", hn_argument_bytes(argument));
    hn_text_append(text, ");\n");
    return status;
}

static enum hn_status append_value(const struct hn_export *export, size_t config,
                                   const struct hn_export_slots *slots, const void *context,
                                   struct hn_text *text, struct hn_error *err)
{
    const struct hn_argument *argument = context;
    bool real = false;
    char type[32];
    (void)config;
    hn_type_format_c(argument->element, 1, type, sizeof type);
    hn_text_printf(text, "    value = (%s)(", type);
    enum hn_status status =
        hn_expression_append_c(argument->value, slots->items, export->lower,
                               hn_element_is_real(argument->element) ? &real : NULL, text, err);
    hn_text_append(text, ");\n");
    return status;
}

bool hn_export_is_taken(const struct hn_plan *plan, size_t argument)
{
    for (size_t s = 0; s < plan->step_count; s++)
        for (size_t i = 0; i < plan->steps[s].argument_count; i++)
            if (plan->steps[s].arguments[i] == argument)
                return true;
    return false;
}

static enum hn_status append_one(const struct hn_export *export, const struct hn_argument *argument,
                                 struct hn_text *text, struct hn_error *err)
{
    struct hn_text name = {0};
    char type[32];
    bool buffer = argument->count != NULL;
    if (!buffer && hn_export_is_given(argument))
        return HN_OK;
    hn_type_format_c(argument->element, 1, type, sizeof type);
    hn_text_printf(&name, "%s_%s", argument->name, buffer ? "size" : "value");
    const struct hn_export_function function = {.name = name.failed ? "" : name.data,
                                                .type = buffer ? "size_t" : type,
                                                .variable = buffer ? "bytes" : "value",
                                                .initial = "0",
                                                .append_body = buffer ? append_bytes : append_value,
                                                .context = argument};
    enum hn_status status = hn_export_append_function(export, &function, text, err);
    hn_text_finish(&name);
    return status;
}

enum hn_status hn_export_append_arguments(const struct hn_export *export, struct hn_text *text,
                                          struct hn_error *err)
{
    const struct hn_plan *plan = export->plan;
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < plan->argument_count && status == HN_OK; i++)
        if (hn_argument_is_passed(&plan->arguments[i]) && hn_export_is_taken(plan, i))
            status = append_one(export, &plan->arguments[i], text, err);
    return status;
}
