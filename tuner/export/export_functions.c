/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device/device.h"
#include "runtime/plan/launch.h"
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
enum { STEP_STATEMENTS = 13 };

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
        {"programmatic", "", TRUTH, NULL, &geometry->programmatic},
        {"window_bytes", "", WHOLE, NULL, &window[HN_WINDOW_BYTES]},
        {"set_aside_bytes", "", WHOLE, NULL, &window[HN_WINDOW_SET_ASIDE]},
        {"window_hit_ratio", "", RATIO, NULL, &window[HN_WINDOW_HIT_RATIO]},
        {"window_hit", "", HIT, NULL, &window[HN_WINDOW_BYTES]},
        {"window_miss", "", MISS, NULL, &window[HN_WINDOW_BYTES]},
    };
    memcpy(statements, all, sizeof all);
}

static void append_extents(const struct hn_export_code *code,
                           struct hn_expression *const *expressions, struct hn_text *text)
{
    for (size_t i = 0; i < 3; i++) {
        hn_text_append(text, i == 0 ? "hone_size(" : ", ");
        hn_export_append_number(code, expressions[i], "1", text);
    }
    hn_text_append(text, ")");
}

/* A property of the accesses is that of the tuned problem, since C has no words. */
static void append_access(const struct hn_export_code *code, const struct hn_step *step, bool hit,
                          struct hn_text *text)
{
    struct hn_l2_window window = {0};
    hn_export_note(code->writer, hn_l2_window_evaluate(&step->geometry.window, code->values,
                                                       &window, code->writer->err));
    hn_text_printf(text, "%d", (int)(hit ? window.hit : window.miss));
}

static void append_pitch(const struct hn_export_code *code, const struct hn_argument *argument,
                         struct hn_text *text)
{
    const struct hn_shape *shape = &argument->shape;
    if (shape->pitch != NULL) {
        hn_export_append_expression(code, shape->pitch, NULL, text);
        return;
    }
    hn_text_append(text, shape->device ? "(" : "");
    hn_export_append_expression(code, shape->width, NULL, text);
    hn_text_printf(text, " * %zu", hn_argument_bytes(argument));
    if (shape->device)
        hn_text_printf(text, " + %d) / %d * %d", HN_DEVICE_PITCH - 1, HN_DEVICE_PITCH,
                       HN_DEVICE_PITCH);
}

static void append_bytes(const struct hn_export_code *code, const struct hn_argument *argument,
                         struct hn_text *text)
{
    bool rows = argument->shape.width != NULL;
    hn_text_append(text, "(size_t)(");
    if (rows)
        hn_text_printf(text, "size.%s_pitch * ", argument->name);
    hn_export_append_expression(code, rows ? argument->shape.height : argument->count, NULL, text);
    if (!rows)
        hn_text_printf(text, " * %zu", hn_argument_bytes(argument));
    hn_text_append(text, ")");
}

static void append_scalar(const struct hn_export_code *code, const struct hn_argument *argument,
                          struct hn_text *text)
{
    char type[32];
    bool real = false;
    hn_type_format_c(argument->element, 1, type, sizeof type);
    hn_text_printf(text, "(%s)", type);
    hn_export_append_expression(code, argument->value,
                                hn_element_is_real(argument->element) ? &real : NULL, text);
}

static void append_value(const struct hn_export_code *code, const struct statement *statement,
                         const struct hn_step *step, struct hn_text *text)
{
    bool real = false;
    const struct hn_argument *own =
        statement->argument == NULL
            ? NULL
            : hn_export_argument_of(code->export, code->config, statement->argument);
    switch (statement->kind) {
    case PITCH:
        append_pitch(code, own, text);
        break;
    case BYTES:
        append_bytes(code, own, text);
        break;
    case SCALAR:
        append_scalar(code, own, text);
        break;
    case EXTENTS:
        append_extents(code, statement->expressions, text);
        break;
    case RUNS:
    case TRUTH:
        hn_export_append_condition(code, *statement->expressions, text);
        break;
    case RATIO:
        hn_text_append(text, "(double)");
        hn_export_append_expression(code, *statement->expressions, &real, text);
        break;
    case HIT:
    case MISS:
        append_access(code, step, statement->kind == HIT, text);
        break;
    default:
        hn_text_append(text, statement->kind == WHOLE ? "(size_t)" : "");
        hn_export_append_number(code, *statement->expressions, "", text);
    }
}

/* Statements of one case; what is not given stays as it was initialised. */
static void set_case(struct hn_export_cases *cases, const struct hn_export_code *code,
                     const struct statement *statements, size_t step_number,
                     const struct hn_step *step)
{
    for (size_t i = 0; i < cases->count && code->writer->status == HN_OK; i++) {
        struct hn_text text = {0};
        const struct statement *statement = &statements[i];
        if (step != NULL && statement->kind != RUNS && statement->expressions[0] == NULL)
            continue;
        hn_text_printf(&text, "%s.%s%s = ", step == NULL ? "size" : "s", statement->member,
                       statement->suffix);
        append_value(code, statement, step, &text);
        hn_text_append(&text, ";");
        bool never = !text.failed && strcmp(text.data, "s.runs = 0;") == 0;
        if (!never)
            hn_export_cases_set(cases, code->config, step_number, i, &text);
        hn_text_finish(&text);
        if (never) /* its sizes need not have values */
            return;
    }
}

static void set_steps(struct hn_export_cases *cases, const struct hn_export_code *code,
                      const void *context)
{
    const struct hn_step *steps = context;
    for (size_t i = 0; i < cases->steps; i++) {
        struct statement statements[STEP_STATEMENTS];
        list_step(&steps[i], statements);
        set_case(cases, code, statements, i, &steps[i]);
    }
}

static void set_sizes(struct hn_export_cases *cases, const struct hn_export_code *code,
                      const void *context)
{
    set_case(cases, code, context, 0, NULL);
}

void hn_export_write_cases(struct hn_export_writer *writer, size_t steps, size_t count,
                           hn_export_set_cases *set, const void *context)
{
    const struct hn_export *export = writer->export;
    struct hn_export_cases cases;
    struct hn_text body = {0};
    hn_export_note(writer,
                   hn_export_cases_make(&cases, export->body_count, steps, count, writer->err));
    for (size_t c = 0; c < export->body_count && writer->status == HN_OK; c++) {
        struct hn_export_code code;
        hn_export_code_make(writer, c, &code);
        if (writer->status == HN_OK)
            set(&cases, &code, context);
        hn_export_code_finish(&code);
    }
    if (writer->status == HN_OK)
        hn_export_cases_append(&cases, &body);
    if (set != set_sizes && body.length > 0 && strstr(body.data, "size.") != NULL)
        hn_text_printf(writer->text, "    struct %s_sizes size = %s_size(config, problem);\n",
                       export->lower, export->lower);
    hn_text_append(writer->text, body.length > 0 ? body.data : "");
    writer->text->failed = writer->text->failed || body.failed || cases.failed;
    hn_text_finish(&body);
    hn_export_cases_finish(&cases);
}

static void write_steps(struct hn_export_writer *writer)
{
    const struct hn_plan *plan = writer->export->plan;
    hn_export_write_cases(writer, plan->step_count, STEP_STATEMENTS, set_steps, plan->steps);
}

static bool is_passed(const struct hn_plan *plan, size_t argument)
{
    for (size_t s = 0; s < plan->step_count; s++)
        for (size_t i = 0; i < plan->steps[s].argument_count; i++)
            if (plan->steps[s].arguments[i] == argument)
                return hn_argument_is_passed(&plan->arguments[argument]);
    return false;
}

bool hn_export_is_taken(const struct hn_plan *plan, size_t argument)
{
    bool taken = is_passed(plan, argument);
    for (size_t i = 0; i < plan->argument_count && !taken; i++)
        taken = plan->arguments[i].role == HN_ROLE_TENSOR_MAP &&
                hn_plan_source(plan, i) == argument && is_passed(plan, i);
    return taken;
}

bool hn_export_is_given(const struct hn_argument *argument)
{
    if (argument->value == NULL)
        return true;
    return hn_element_is_narrow(argument->element) || argument->lanes > 1 ||
           hn_expression_slots(argument->value) == 0;
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

HN_EXPORT_COUNT(sizes, list_sizes(export, true, NULL) + list_sizes(export, false, NULL))

/* Pitches first, then bytes and scalars. Free it. */
static struct statement *make_sizes(struct hn_export_writer *writer)
{
    const struct hn_export *export = writer->export;
    struct statement *list = calloc(count_sizes(export) + 1, sizeof *list);
    if (list == NULL)
        hn_export_note(writer, hn_fail_memory(writer->err));
    else
        list_sizes(export, false, list + list_sizes(export, true, list));
    return list;
}

static void write_sizes(struct hn_export_writer *writer)
{
    size_t pitches = list_sizes(writer->export, true, NULL);
    struct statement *list = make_sizes(writer);
    if (list != NULL) {
        hn_export_write_cases(writer, 1, pitches, set_sizes, list);
        hn_export_write_cases(writer, 1, count_sizes(writer->export) - pitches, set_sizes,
                              list + pitches);
    }
    free(list);
}

/* "    int64_t M, N;": members of one type share a line. */
static void append_member(const char *type, const char *name, const char *suffix, char *last,
                          size_t last_size, struct hn_text *text)
{
    bool again = strcmp(last, type) == 0;
    if (again)
        hn_text_append(text, ",");
    else
        hn_text_printf(text, "%s    %s ", last[0] == '\0' ? "" : ";\n", type);
    hn_export_append_wrapped(text, "\n       ", "%s%s%s", again ? " " : "", name, suffix);
    snprintf(last, last_size, "%s", type);
}

static void write_sizes_members(struct hn_export_writer *writer)
{
    char last[32] = "", type[32];
    struct statement *list = make_sizes(writer);
    for (size_t i = 0; list != NULL && i < count_sizes(writer->export); i++) {
        snprintf(type, sizeof type, "%s", list[i].kind == PITCH ? "int64_t" : "size_t");
        if (list[i].kind == SCALAR) {
            hn_export_note(writer,
                           hn_export_need_one_type(writer->export, list[i].argument, writer->err));
            hn_type_format_c(list[i].argument->element, 1, type, sizeof type);
        }
        append_member(type, list[i].member, list[i].suffix, last, sizeof last, writer->text);
    }
    hn_text_append(writer->text, ";\n");
    free(list);
}

HN_EXPORT_COUNT(problem, export->plan->problem_count)

static void write_problem_members(struct hn_export_writer *writer)
{
    const struct hn_plan *plan = writer->export->plan;
    char last[32] = "";
    for (size_t i = 0; i < plan->problem_count; i++)
        append_member(hn_export_problem_is_real(writer->export, plan->problem[i]) ? "double"
                                                                                  : "int64_t",
                      plan->problem[i], "", last, sizeof last, writer->text);
    hn_text_append(writer->text, plan->problem_count > 0 ? ";\n" : "    int none;\n");
}

static void write_problem_defined(struct hn_export_writer *writer)
{
    const struct hn_plan *plan = writer->export->plan;
    for (size_t i = 0; i < plan->problem_count; i++)
        hn_text_printf(writer->text, "%sdefined %s", i > 0 ? " || " : "", plan->problem[i]);
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

/* "if (!(…)) return 0;" A condition that the point alone decides held when it was tuned. */
static void set_constraints(struct hn_export_cases *cases, const struct hn_export_code *code,
                            const void *context)
{
    const struct hn_plan *plan = context;
    for (size_t i = 0; i < plan->constraint_count; i++) {
        struct hn_text condition = {0}, text = {0};
        if (hn_plan_problem_used(plan, plan->constraints[i]) == NULL)
            continue;
        hn_export_append_condition(code, plan->constraints[i], &condition);
        if (!condition.failed && strcmp(condition.data, "1") != 0)
            hn_text_printf(&text, "if (!%s) return 0;", condition.data);
        text.failed = text.failed || condition.failed;
        if (!is_said(cases, code->config, i, text.data))
            hn_export_cases_set(cases, code->config, 0, i, &text);
        hn_text_finish(&condition);
        hn_text_finish(&text);
    }
}

static void write_constraints(struct hn_export_writer *writer)
{
    const struct hn_plan *plan = writer->export->plan;
    hn_export_write_cases(writer, 1, plan->constraint_count, set_constraints, plan);
}

/* Dynamic shared memory that a block may have: "    case 80: case 87: most_shared = 166912;
 * break;". An architecture that is not known has the most. */
static void write_shared_limits(struct hn_export_writer *writer)
{
    enum { FIRST = 70, END = 200 };
    int limits[END] = {0}, most = 0;
    struct hn_text *text = writer->text;
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
}

HN_EXPORT_COUNT(steps, export->plan->step_count)

const struct hn_export_part hn_export_function_parts[] = {
    {"problem", .count = count_problem},
    {"problem_defined", .write = write_problem_defined},
    {"problem_members", .write = write_problem_members},
    {"shared_limits", .write = write_shared_limits},
    {"sizes", .count = count_sizes},
    {"sizes_members", .write = write_sizes_members},
    {"sizes_body", .write = write_sizes},
    {"step_count", .count = count_steps},
    {"step_body", .write = write_steps},
    {"constraints", .write = write_constraints},
    {0},
};
