/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device/device.h"
#include "tuner/export/export_cases_part.h"
#include "tuner/export/export_parts.h"
#include "tuner/export/export_skeleton_parts.h"

/* The functions of a problem: sizes of arguments, launches of steps, and whether a configuration
 * can be used. As hn_plan_allows and hn_launch_check, in C. */

/* A statement of a case: "s.grid = …;", "size.A_size = …;". */
struct statement {
    const char *member, *suffix;
    enum { PITCH, BYTES, SCALAR, RUNS, EXTENTS, NUMBER, WHOLE, TRUTH, RATIO, HIT, MISS } kind;
    const struct hn_argument *argument; /* of pitch, bytes and scalars */
    struct hn_expression *const *expressions;
};

/* What of a step is a member of hone_step: condition, grid, block, cluster, the rest. */
enum { STEP_STATEMENTS = 12 };

static void list_step(const struct hn_step *step, struct statement *statements)
{
    const struct hn_geometry *geometry = &step->geometry;
    struct hn_expression *const *window = geometry->window.parts;
    const struct statement all[STEP_STATEMENTS] = {
        {"runs", "", RUNS, NULL, &step->condition},
        {"grid", "", EXTENTS, NULL, geometry->grid},
        {"block", "", EXTENTS, NULL, geometry->block},
        {"cluster", "", EXTENTS, NULL, geometry->cluster},
        {"shared_bytes", "", WHOLE, NULL, &geometry->shared_bytes},
        {"carveout", "", NUMBER, NULL, &geometry->carveout},
        {"cooperative", "", TRUTH, NULL, &geometry->cooperative},
        {"window_bytes", "", WHOLE, NULL, &window[HN_WINDOW_BYTES]},
        {"set_aside_bytes", "", WHOLE, NULL, &window[HN_WINDOW_SET_ASIDE]},
        {"window_hit_ratio", "", RATIO, NULL, &window[HN_WINDOW_HIT_RATIO]},
        {"window_hit", "", HIT, NULL, &window[HN_WINDOW_BYTES]},
        {"window_miss", "", MISS, NULL, &window[HN_WINDOW_BYTES]},
    };
    memcpy(statements, all, sizeof all);
}

static enum hn_status append_extents(const struct hn_export_code *code,
                                     struct hn_expression *const *expressions, struct hn_text *text,
                                     struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < 3 && status == HN_OK; i++) {
        hn_text_append(text, i == 0 ? "hone_size(" : ", ");
        status = hn_export_append_number(code, expressions[i], "1", text, err);
    }
    hn_text_append(text, ")");
    return status;
}

/* A property of the accesses is that of the tuned problem, since C has no words. */
static enum hn_status append_access(const struct hn_export_code *code, const struct hn_step *step,
                                    bool hit, struct hn_text *text, struct hn_error *err)
{
    struct hn_l2_window window;
    enum hn_status status =
        hn_l2_window_evaluate(&step->geometry.window, code->values, &window, err);
    if (status == HN_OK)
        hn_text_printf(text, "%d", (int)(hit ? window.hit : window.miss));
    return status;
}

static enum hn_status append_pitch(const struct hn_export_code *code, const struct hn_shape *shape,
                                   size_t bytes, struct hn_text *text, struct hn_error *err)
{
    if (shape->pitch != NULL)
        return hn_expression_append_c(shape->pitch, code->slots, code->export->lower, NULL, text,
                                      err);
    hn_text_append(text, shape->device ? "(" : "");
    enum hn_status status =
        hn_expression_append_c(shape->width, code->slots, code->export->lower, NULL, text, err);
    hn_text_printf(text, " * %zu", bytes);
    if (shape->device)
        hn_text_printf(text, " + %d) / %d * %d", HN_DEVICE_PITCH - 1, HN_DEVICE_PITCH,
                       HN_DEVICE_PITCH);
    return status;
}

static enum hn_status append_bytes(const struct hn_export_code *code,
                                   const struct hn_argument *argument, struct hn_text *text,
                                   struct hn_error *err)
{
    const struct hn_shape *shape = &argument->shape;
    hn_text_append(text, "(size_t)(");
    if (shape->width != NULL)
        hn_text_printf(text, "size.%s_pitch * ", argument->name);
    enum hn_status status =
        hn_expression_append_c(shape->width != NULL ? shape->height : argument->count, code->slots,
                               code->export->lower, NULL, text, err);
    if (shape->width == NULL)
        hn_text_printf(text, " * %zu", hn_argument_bytes(argument));
    hn_text_append(text, ")");
    return status;
}

static enum hn_status append_scalar(const struct hn_export_code *code,
                                    const struct hn_argument *argument, struct hn_text *text,
                                    struct hn_error *err)
{
    char type[32];
    bool real = false;
    hn_type_format_c(argument->element, 1, type, sizeof type);
    hn_text_printf(text, "(%s)", type);
    return hn_expression_append_c(argument->value, code->slots, code->export->lower,
                                  hn_element_is_real(argument->element) ? &real : NULL, text, err);
}

static enum hn_status append_expression(const struct hn_export_code *code,
                                        const struct statement *statement,
                                        const struct hn_step *step, struct hn_text *text,
                                        struct hn_error *err)
{
    bool real = false;
    const struct hn_argument *argument = statement->argument;
    switch (statement->kind) {
    case PITCH:
        return append_pitch(code, &argument->shape, hn_argument_bytes(argument), text, err);
    case BYTES:
        return append_bytes(code, argument, text, err);
    case SCALAR:
        return append_scalar(code, argument, text, err);
    case EXTENTS:
        return append_extents(code, statement->expressions, text, err);
    case RUNS:
    case TRUTH:
        return hn_export_append_condition(code, *statement->expressions, text, err);
    case RATIO:
        hn_text_append(text, "(double)");
        return hn_expression_append_c(*statement->expressions, code->slots, code->export->lower,
                                      &real, text, err);
    case HIT:
    case MISS:
        return append_access(code, step, statement->kind == HIT, text, err);
    default:
        hn_text_append(text, statement->kind == WHOLE ? "(size_t)" : "");
        return hn_export_append_number(code, *statement->expressions, "", text, err);
    }
}

/* Statements of one case; what is not given stays as it was initialised. */
static enum hn_status set_case(struct hn_export_cases *cases, const struct hn_export_code *code,
                               const struct statement *statements, size_t step_number,
                               const struct hn_step *step, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < cases->count && status == HN_OK; i++) {
        struct hn_text text = {0};
        const struct statement *statement = &statements[i];
        if (step != NULL && statement->kind != RUNS && statement->expressions[0] == NULL)
            continue;
        hn_text_printf(&text, "%s.%s%s = ", step == NULL ? "size" : "s", statement->member,
                       statement->suffix);
        status = append_expression(code, statement, step, &text, err);
        hn_text_append(&text, ";");
        if (status == HN_OK && !text.failed && strcmp(text.data, "s.runs = 0;") == 0) {
            hn_text_finish(&text);
            return HN_OK; /* its sizes need not have values */
        }
        if (status == HN_OK)
            status = hn_export_cases_set(cases, code->config, step_number, i, &text, err);
        hn_text_finish(&text);
    }
    return status;
}

/* The statements, behind what they use. */
static void append_body(const struct hn_export *export, const struct hn_export_cases *cases,
                        struct hn_text *text)
{
    struct hn_text body = {0};
    hn_export_cases_append(cases, &body);
    if (body.length > 0 && strstr(body.data, "size.") != NULL)
        hn_text_printf(text, "    struct %s_sizes size = %s_size(config, problem);\n",
                       export->lower, export->lower);
    hn_text_append_bytes(text, body.length > 0 ? body.data : "", body.length);
    text->failed = text->failed || body.failed;
    hn_text_finish(&body);
}

static enum hn_status append_steps(const struct hn_export *export, struct hn_text *text,
                                   struct hn_error *err)
{
    const struct hn_plan *plan = export->plan;
    struct hn_export_cases cases;
    enum hn_status status =
        hn_export_cases_make(&cases, export->body_count, plan->step_count, STEP_STATEMENTS, err);
    for (size_t c = 0; c < export->body_count && status == HN_OK; c++) {
        struct hn_export_code code;
        status = hn_export_code_make(export, c, &code, err);
        for (size_t s = 0; s < plan->step_count && status == HN_OK; s++) {
            struct statement statements[STEP_STATEMENTS];
            list_step(&plan->steps[s], statements);
            status = set_case(&cases, &code, statements, s, &plan->steps[s], err);
        }
        hn_export_code_finish(&code);
    }
    if (status == HN_OK)
        append_body(export, &cases, text);
    hn_export_cases_finish(&cases);
    return status;
}

bool hn_export_is_taken(const struct hn_plan *plan, size_t argument)
{
    for (size_t s = 0; s < plan->step_count; s++)
        for (size_t i = 0; i < plan->steps[s].argument_count; i++)
            if (plan->steps[s].arguments[i] == argument)
                return hn_argument_is_passed(&plan->arguments[argument]);
    return false;
}

bool hn_export_is_given(const struct hn_argument *argument)
{
    if (argument->value == NULL)
        return true;
    bool half = argument->element == HN_FLOAT16 || argument->element == HN_BFLOAT16;
    return half || argument->lanes > 1 || hn_expression_slots(argument->value) == 0;
}

/* The members of hone_…_sizes: pitches, which the others use, or bytes and scalars. NULL: only how
 * many there are. */
static size_t list_sizes(const struct hn_export *export, bool pitches, struct statement *list)
{
    const struct hn_plan *plan = export->plan;
    size_t count = 0;
    for (size_t i = 0; i < plan->argument_count; i++) {
        const struct hn_argument *argument = &plan->arguments[i];
        const struct statement statement =
            pitches ? (struct statement){argument->name, "_pitch", PITCH, argument, NULL}
            : argument->count != NULL
                ? (struct statement){argument->name, "_size", BYTES, argument, NULL}
                : (struct statement){argument->name, "_value", SCALAR, argument, NULL};
        if (pitches ? argument->shape.width == NULL
                    : !hn_export_is_taken(plan, i) ||
                          (statement.kind == SCALAR && hn_export_is_given(argument)))
            continue;
        if (list != NULL)
            list[count] = statement;
        count++;
    }
    return count;
}

static size_t count_sizes(const struct hn_export *export)
{
    return list_sizes(export, true, NULL) + list_sizes(export, false, NULL);
}

static enum hn_status append_sizes(const struct hn_export *export, bool pitches,
                                   struct hn_text *text, struct hn_error *err)
{
    struct hn_export_cases cases;
    size_t count = list_sizes(export, pitches, NULL);
    struct statement *statements = calloc(count + 1, sizeof *statements);
    enum hn_status status = hn_export_cases_make(&cases, export->body_count, 1, count, err);
    if (statements == NULL)
        status = hn_fail_memory(err);
    else
        list_sizes(export, pitches, statements);
    for (size_t c = 0; c < export->body_count && status == HN_OK; c++) {
        struct hn_export_code code;
        status = hn_export_code_make(export, c, &code, err);
        if (status == HN_OK)
            status = set_case(&cases, &code, statements, 0, NULL, err);
        hn_export_code_finish(&code);
    }
    if (status == HN_OK)
        hn_export_cases_append(&cases, text);
    hn_export_cases_finish(&cases);
    free(statements);
    return status;
}

static enum hn_status append_sizes_body(const struct hn_export *export, struct hn_text *text,
                                        struct hn_error *err)
{
    enum hn_status status = append_sizes(export, true, text, err);
    return status == HN_OK ? append_sizes(export, false, text, err) : status;
}

/* "    int64_t M, N;": members of one type share a line. */
static void append_member(const char *type, const char *name, const char *suffix, char *last,
                          size_t last_size, struct hn_text *text)
{
    struct hn_text piece = {0};
    bool again = strcmp(last, type) == 0;
    hn_text_printf(&piece, "%s%s%s", again ? " " : "", name, suffix);
    if (again)
        hn_text_append(text, ",");
    else
        hn_text_printf(text, "%s    %s ", last[0] == '\0' ? "" : ";\n", type);
    if (!piece.failed)
        hn_export_append_wrapped(text, "\n       ", piece.data);
    snprintf(last, last_size, "%s", type);
    hn_text_finish(&piece);
}

static enum hn_status append_sizes_members(const struct hn_export *export, struct hn_text *text,
                                           struct hn_error *err)
{
    char last[32] = "", type[32];
    size_t count = count_sizes(export);
    struct statement *list = calloc(count + 1, sizeof *list);
    if (list == NULL)
        return hn_fail_memory(err);
    size_t pitches = list_sizes(export, true, list);
    list_sizes(export, false, list + pitches);
    for (size_t i = 0; i < count; i++) {
        snprintf(type, sizeof type, "%s", list[i].kind == PITCH ? "int64_t" : "size_t");
        if (list[i].kind == SCALAR)
            hn_type_format_c(list[i].argument->element, 1, type, sizeof type);
        append_member(type, list[i].member, list[i].suffix, last, sizeof last, text);
    }
    hn_text_append(text, ";\n");
    free(list);
    return HN_OK;
}

static size_t count_problem(const struct hn_export *export)
{
    return export->plan->problem_count;
}

static enum hn_status append_problem_members(const struct hn_export *export, struct hn_text *text,
                                             struct hn_error *err)
{
    char last[32] = "";
    (void)err;
    for (size_t i = 0; i < export->plan->problem_count; i++) {
        const char *name = export->plan->problem[i];
        append_member(hn_export_problem_is_real(export, name) ? "double" : "int64_t", name, "",
                      last, sizeof last, text);
    }
    hn_text_append(text, count_problem(export) > 0 ? ";\n" : "    int none;\n");
    return HN_OK;
}

static enum hn_status append_problem_defined(const struct hn_export *export, struct hn_text *text,
                                             struct hn_error *err)
{
    (void)err;
    for (size_t i = 0; i < export->plan->problem_count; i++)
        hn_text_printf(text, "%sdefined %s", i > 0 ? " || " : "", export->plan->problem[i]);
    return HN_OK;
}

/* Two constraints can come down to the same once the point is known. */
static bool is_said(const struct hn_export_cases *cases, size_t config, size_t number,
                    const char *statement)
{
    char *const *own = &cases->statements[config * cases->count];
    for (size_t i = 0; i < number; i++)
        if (own[i] != NULL && statement != NULL && strcmp(own[i], statement) == 0)
            return true;
    return false;
}

/* "    if (!(…)) return 0;" A condition that the point alone decides held when it was tuned. */
static enum hn_status set_constraint(struct hn_export_cases *cases,
                                     const struct hn_export_code *code, size_t number,
                                     struct hn_error *err)
{
    const struct hn_expression *constraint = code->export->plan->constraints[number];
    struct hn_text condition = {0}, text = {0};
    if (!hn_export_uses_problem(code->export->plan, constraint))
        return HN_OK;
    enum hn_status status = hn_export_append_condition(code, constraint, &condition, err);
    if (status == HN_OK && !condition.failed && strcmp(condition.data, "1") != 0)
        hn_text_printf(&text, "if (!%s) return 0;", condition.data);
    text.failed = text.failed || condition.failed;
    if (!text.failed && is_said(cases, code->config, number, text.data))
        hn_text_finish(&text);
    else if (status == HN_OK)
        status = hn_export_cases_set(cases, code->config, 0, number, &text, err);
    hn_text_finish(&condition);
    hn_text_finish(&text);
    return status;
}

static enum hn_status append_constraints(const struct hn_export *export, struct hn_text *text,
                                         struct hn_error *err)
{
    struct hn_export_cases cases;
    size_t count = export->plan->constraint_count;
    enum hn_status status = hn_export_cases_make(&cases, export->body_count, 1, count, err);
    for (size_t c = 0; c < export->body_count && status == HN_OK; c++) {
        struct hn_export_code code;
        status = hn_export_code_make(export, c, &code, err);
        for (size_t i = 0; i < count && status == HN_OK; i++)
            status = set_constraint(&cases, &code, i, err);
        hn_export_code_finish(&code);
    }
    if (status == HN_OK)
        append_body(export, &cases, text);
    hn_export_cases_finish(&cases);
    return status;
}

/* Dynamic shared memory that a block may have: "    case 80: case 87: most_shared = 166912;
 * break;". An architecture that is not known has the most. */
static enum hn_status append_shared_limits(const struct hn_export *export, struct hn_text *text,
                                           struct hn_error *err)
{
    enum { FIRST = 70, END = 200 };
    int limits[END] = {0}, most = 0;
    (void)export;
    (void)err;
    for (int i = FIRST; i < END; i++) {
        char name[16];
        struct hn_device device;
        snprintf(name, sizeof name, "sm_%d", i);
        if (hn_device_for_architecture(name, &device, NULL) == HN_OK)
            limits[i] = device.shared_per_block_optin;
        most = limits[i] > most ? limits[i] : most;
    }
    for (int i = FIRST; i < END; i++) {
        int limit = limits[i];
        if (limit == 0 || limit == most)
            continue;
        hn_text_append(text, "   ");
        for (int same = i; same < END; same++)
            if (limits[same] == limit) {
                hn_text_printf(text, " case %d:", same);
                limits[same] = 0;
            }
        hn_text_printf(text, " most_shared = %d; break;\n", limit);
    }
    hn_text_printf(text, "    default: most_shared = %d; break;\n", most);
    return HN_OK;
}

static size_t count_steps(const struct hn_export *export)
{
    return export->plan->step_count;
}

const struct hn_export_part hn_export_function_parts[] = {
    {"problem", count_problem, NULL},
    {"problem_defined", NULL, append_problem_defined},
    {"problem_members", NULL, append_problem_members},
    {"shared_limits", NULL, append_shared_limits},
    {"sizes", count_sizes, NULL},
    {"sizes_members", NULL, append_sizes_members},
    {"sizes_body", NULL, append_sizes_body},
    {"step_count", count_steps, NULL},
    {"step_body", NULL, append_steps},
    {"constraints", NULL, append_constraints},
    {NULL, NULL, NULL},
};
