/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tuner/export/export_parts.h"

/* The launch expressions as C functions of the problem: parameters are known and folded, so every
 * configuration has expressions of its own; where all are equal there is nothing to choose at run
 * time. */

/* What of a step becomes a function. */
enum part {
    PART_GRID,
    PART_BLOCK,
    PART_CLUSTER,
    PART_SHARED,
    PART_CARVEOUT,
    PART_COOPERATIVE,
    PART_WINDOW_BYTES,
    PART_WINDOW_HIT_RATIO,
    PART_WINDOW_HIT,
    PART_WINDOW_MISS,
    PART_SET_ASIDE,
    PART_RUNS,
    PARTS
};

struct part_info {
    const char *name; /* of the function */
    const char *type;
    const char *variable;
    const char *initial; /* what counts where the config says nothing */
};

static const struct part_info parts[PARTS] = {
    [PART_GRID] = {"grid", "struct hone_dim3", "size", "{1, 1, 1}"},
    [PART_BLOCK] = {"block", "struct hone_dim3", "size", "{1, 1, 1}"},
    [PART_CLUSTER] = {"cluster", "struct hone_dim3", "size", "{1, 1, 1}"},
    [PART_SHARED] = {"shared_bytes", "size_t", "bytes", "0"},
    [PART_CARVEOUT] = {"carveout", "int", "percent", "-1"},
    [PART_COOPERATIVE] = {"cooperative", "int", "cooperative", "0"},
    [PART_WINDOW_BYTES] = {"window_bytes", "size_t", "bytes", "0"},
    [PART_WINDOW_HIT_RATIO] = {"window_hit_ratio", "double", "ratio", "1"},
    [PART_WINDOW_HIT] = {"window_hit", "int", "access", "2 /* persisting */"},
    [PART_WINDOW_MISS] = {"window_miss", "int", "access", "1 /* streaming */"},
    [PART_SET_ASIDE] = {"set_aside_bytes", "size_t", "bytes", "0"},
    [PART_RUNS] = {"runs", "int", "runs", "1"},
};

/* The expressions of a part: three of a size, else one. */
static struct hn_expression *const *expressions_of(const struct hn_step *step, enum part part)
{
    const struct hn_geometry *geometry = &step->geometry;
    struct hn_expression *const *parts_of_window = geometry->window.parts;
    struct hn_expression *const *const lists[PARTS] = {
        geometry->grid,
        geometry->block,
        geometry->cluster,
        &geometry->shared_bytes,
        &geometry->carveout,
        &geometry->cooperative,
        &parts_of_window[HN_WINDOW_BYTES],
        &parts_of_window[HN_WINDOW_HIT_RATIO],
        &parts_of_window[HN_WINDOW_HIT],
        &parts_of_window[HN_WINDOW_MISS],
        &parts_of_window[HN_WINDOW_SET_ASIDE],
        &step->condition,
    };
    return lists[part];
}

static bool is_of_window(enum part part)
{
    return part >= PART_WINDOW_BYTES && part <= PART_SET_ASIDE;
}

/* Grid, block and shared memory are always there, the rest where the config has it, and a window
 * has all its parts. */
static bool has_part(const struct hn_step *step, enum part part)
{
    if (is_of_window(part))
        return step->geometry.window.parts[HN_WINDOW_BYTES] != NULL;
    return part == PART_GRID || part == PART_BLOCK || part == PART_SHARED ||
           expressions_of(step, part)[0] != NULL;
}

static bool is_truth(enum part part)
{
    return part == PART_COOPERATIVE || part == PART_RUNS;
}

static bool is_size(enum part part)
{
    return part == PART_GRID || part == PART_BLOCK || part == PART_CLUSTER;
}

/* "size.x = (unsigned int)(…);" */
static enum hn_status append_assignment(const struct hn_export *export,
                                        const struct hn_export_slots *slots,
                                        const struct hn_expression *expression,
                                        const char *variable, const char *type,
                                        struct hn_text *text, struct hn_error *err)
{
    if (expression == NULL)
        return HN_OK;
    bool real = strcmp(type, "double") == 0;
    hn_text_printf(text, "    %s = (%s)(", variable, type);
    enum hn_status status = hn_expression_append_c(expression, slots->items, export->lower,
                                                   real ? &real : NULL, text, err);
    hn_text_append(text, ");\n");
    return status;
}

/* "runs = (…) != 0;" */
static enum hn_status append_truth(const struct hn_export *export,
                                   const struct hn_export_slots *slots,
                                   const struct hn_expression *expression, const char *variable,
                                   struct hn_text *text, struct hn_error *err)
{
    bool real = false;
    if (expression == NULL)
        return HN_OK;
    hn_text_printf(text, "    %s = (", variable);
    enum hn_status status =
        hn_expression_append_c(expression, slots->items, export->lower, &real, text, err);
    hn_text_append(text, ") != 0;\n");
    return status;
}

/* "access = 2; // persisting": a property of the accesses is that of the tuned problem, since C has
 * no words. */
static enum hn_status append_access(const struct hn_export *export, size_t config,
                                    const struct hn_step *step, enum part part,
                                    struct hn_text *text, struct hn_error *err)
{
    const struct hn_tuned *tuned = export->configs[config];
    struct hn_value *values = NULL;
    struct hn_l2_window window;
    enum hn_status status =
        hn_plan_values(export->plan, &tuned->identity.problem, &tuned->best.point, &values, err);
    if (status == HN_OK)
        status = hn_l2_window_evaluate(&step->geometry.window, values, &window, err);
    if (status == HN_OK) {
        enum hn_access access = part == PART_WINDOW_HIT ? window.hit : window.miss;
        hn_text_printf(text, "    access = %d; /* %s */\n", (int)access, hn_access_names[access]);
    }
    free(values);
    return status;
}

/* What becomes a function of the configuration and the problem: a part of a step, or an argument's
 * pitch. */
struct function {
    struct part_info info;
    const char *step; /* "_step2", or "" */
    enum part part;
    const struct hn_step *of;
    const struct hn_argument *argument; /* with a pitch; else NULL */
};

/* The statements that compute one part of a step's geometry; what is not given stays as it was
 * initialised. */
static enum hn_status append_part(const struct hn_export *export,
                                  const struct hn_export_slots *slots,
                                  const struct function *function, struct hn_text *text,
                                  struct hn_error *err)
{
    static const char *const dimension_names[] = {"size.x", "size.y", "size.z"};
    const struct part_info *info = &function->info;
    struct hn_expression *const *expressions = expressions_of(function->of, function->part);
    enum hn_status status = HN_OK;
    if (is_truth(function->part))
        return append_truth(export, slots, expressions[0], info->variable, text, err);
    if (!is_size(function->part))
        return append_assignment(export, slots, expressions[0], info->variable, info->type, text,
                                 err);
    for (size_t i = 0; i < 3 && status == HN_OK; i++)
        status = append_assignment(export, slots, expressions[i], dimension_names[i],
                                   "unsigned int", text, err);
    return status;
}

static enum hn_status append_pitch(const struct hn_export *export,
                                   const struct hn_export_slots *slots,
                                   const struct hn_argument *argument, struct hn_text *text,
                                   struct hn_error *err)
{
    const struct hn_shape *shape = &argument->shape;
    if (shape->pitch != NULL)
        return append_assignment(export, slots, shape->pitch, "pitch", "int64_t", text, err);
    enum hn_status status =
        append_assignment(export, slots, shape->width, "pitch", "int64_t", text, err);
    hn_text_printf(text, "    pitch *= %zu;\n", hn_argument_bytes(argument));
    if (shape->device)
        hn_text_printf(text, "    pitch = (pitch + %d) / %d * %d;\n", HN_DEVICE_PITCH - 1,
                       HN_DEVICE_PITCH, HN_DEVICE_PITCH);
    return status;
}

static enum hn_status append_body(const struct hn_export *export, size_t config,
                                  const struct hn_export_slots *slots, const void *context,
                                  struct hn_text *text, struct hn_error *err)
{
    const struct function *function = context;
    if (function->argument != NULL)
        return append_pitch(export, slots, function->argument, text, err);
    if (function->part == PART_WINDOW_HIT || function->part == PART_WINDOW_MISS)
        return append_access(export, config, function->of, function->part, text, err);
    return append_part(export, slots, function, text, err);
}

static enum hn_status append_function(const struct hn_export *export,
                                      const struct function *function, struct hn_text *text,
                                      struct hn_error *err)
{
    const struct part_info *info = &function->info;
    char name[96];
    snprintf(name, sizeof name, "%s_%.60s", function->step, info->name);
    const struct hn_export_function of_header = {.name = name + (name[0] == '_'),
                                                 .type = info->type,
                                                 .variable = info->variable,
                                                 .initial = info->initial,
                                                 .append_body = append_body,
                                                 .context = function};
    return hn_export_append_function(export, &of_header, text, err);
}

/* The other functions call them. */
static enum hn_status append_pitches(const struct hn_export *export, struct hn_text *text,
                                     struct hn_error *err)
{
    size_t pitch = 0;
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < export->plan->argument_count && status == HN_OK; i++) {
        const struct hn_argument *argument = &export->plan->arguments[i];
        if (argument->shape.width == NULL)
            continue;
        const struct function function = {
            .info = {export->plan->pitches[pitch++], "int64_t", "pitch", "0"},
            .step = "",
            .argument = argument};
        status = append_function(export, &function, text, err);
    }
    return status;
}

static enum hn_status append_steps(const struct hn_export *export, struct hn_text *text,
                                   struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < export->plan->step_count; i++) {
        char name[32] = "";
        const struct hn_step *step = &export->plan->steps[i];
        if (export->plan->step_count > 1)
            snprintf(name, sizeof name, "_step%zu", i + 1);
        for (int part = 0; part < PARTS && status == HN_OK; part++) {
            const struct function function = {
                .info = parts[part], .step = name, .part = (enum part)part, .of = step};
            if (has_part(step, (enum part)part))
                status = append_function(export, &function, text, err);
        }
    }
    return status;
}

enum hn_status hn_export_append_geometry(const struct hn_export *export, struct hn_text *text,
                                         struct hn_error *err)
{
    struct hn_text functions = {0};
    enum hn_status status = append_pitches(export, &functions, err);
    if (status == HN_OK)
        status = append_steps(export, &functions, err);
    if (status == HN_OK)
        status = hn_export_append_usable(export, &functions, err);
    if (status == HN_OK)
        status = hn_export_append_arguments(export, &functions, err);
    char *code = hn_text_take(&functions);
    if (status == HN_OK && code == NULL)
        status = hn_fail_memory(err);
    if (status == HN_OK) {
        struct hn_text helpers = {0};
        bool needs_math = false;
        hn_expression_append_c_helpers(code, export->lower, &helpers, &needs_math);
        hn_text_append(text, needs_math ? "#include <math.h>\n\n" : "");
        hn_text_append(text, helpers.length > 0 ? helpers.data : "");
        hn_text_append(text, "/* The launch geometry for a problem. */\n");
        hn_text_append(text, code);
        text->failed = text->failed || helpers.failed;
        hn_text_finish(&helpers);
    }
    free(code);
    return status;
}
