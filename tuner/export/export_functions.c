/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device/device.h"
#include "runtime/plan/launch.h"
#include "tuner/export/export_parts.h"

/* The functions of a problem: sizes of arguments, launches of steps, and whether a configuration
 * can be used. As hn_plan_allows and hn_launch_check, in C. */

/* A statement of a case: "s.grid = …;", "size.A_size = …;". */
struct statement {
    const char *member, *suffix;
    enum { PITCH, BYTES, SCALAR, RUNS, EXTENTS, NUMBER, WHOLE, TRUTH, RATIO, HIT, MISS } kind;
    size_t argument; /* of pitch, bytes and scalars */
    struct hn_expression *const *expressions;
};

static void append_extents(const struct hn_export_code *code,
                           struct hn_expression *const *expressions, struct hn_text *text)
{
    for (size_t i = 0; i < 3; i++) {
        hn_text_append(text, i == 0 ? "hone_size(" : ", ");
        hn_export_append_number(code, expressions[i], "1", text);
    }
    hn_text_append(text, ")");
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

/* A property of the accesses is that of the tuned problem, since C has no words. */
static void append_access(const struct hn_export_code *code, const struct hn_step *step, bool hit,
                          struct hn_text *text)
{
    struct hn_l2_window window = {0};
    hn_l2_window_evaluate(&step->geometry.window, code->values, &window, code->writer->err);
    hn_text_printf(text, "%d", (int)(hit ? window.hit : window.miss));
}

static void append_value(const struct hn_export_code *code, const struct statement *statement,
                         const struct hn_step *step, struct hn_text *text)
{
    bool real = false;
    const struct hn_argument *argument = &code->plan->arguments[statement->argument];
    switch (statement->kind) {
    case PITCH:
        append_pitch(code, argument, text);
        break;
    case BYTES:
        append_bytes(code, argument, text);
        break;
    case SCALAR:
        append_scalar(code, argument, text);
        break;
    case EXTENTS:
        append_extents(code, statement->expressions, text);
        break;
    case RUNS:
    case TRUTH: {
        char *condition = hn_export_condition(code, *statement->expressions);
        hn_text_append(text, condition);
        free(condition);
        break;
    }
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
static void set_case(const struct hn_export_cases *cases, const struct hn_export_code *code,
                     const struct statement *statements, size_t step_number)
{
    const struct hn_step *step = &code->plan->steps[step_number];
    for (size_t i = 0; i < cases->count && !hn_failed(code->writer->err); i++) {
        struct hn_text text = {0};
        const struct statement *own = &statements[i];
        bool of_step = own->kind >= RUNS;
        if (own->kind > RUNS && own->expressions[0] == NULL)
            continue;
        hn_text_printf(&text, "%s.%s%s = ", of_step ? "s" : "size", own->member, own->suffix);
        append_value(code, own, step, &text);
        hn_text_append(&text, ";");
        char *statement = hn_needed(hn_text_take(&text));
        if (strcmp(statement, "s.runs = 0;") == 0) { /* its sizes need not have values */
            free(statement);
            return;
        }
        *hn_export_cases_at(cases, code->config, step_number, i) = statement;
    }
}

/* The members of hone_step that a step sets: condition, grid, block, cluster, the rest. */
enum { STEP_STATEMENTS = 13 };

static void set_step(const struct hn_export_cases *cases, const struct hn_export_code *code,
                     size_t number)
{
    const struct hn_step *step = &code->writer->plan->steps[number];
    const struct hn_geometry *geometry = &step->geometry;
    struct hn_expression *const *window = geometry->window.parts;
    const struct statement statements[STEP_STATEMENTS] = {
        {"runs", "", RUNS, 0, &step->condition},
        {"grid", "", EXTENTS, 0, geometry->grid},
        {"block", "", EXTENTS, 0, geometry->block},
        {"cluster", "", EXTENTS, 0, geometry->cluster},
        {"shared_bytes", "", WHOLE, 0, &geometry->shared_bytes},
        {"carveout", "", NUMBER, 0, &geometry->carveout},
        {"cooperative", "", TRUTH, 0, &geometry->cooperative},
        {"programmatic", "", TRUTH, 0, &geometry->programmatic},
        {"window_bytes", "", WHOLE, 0, &window[HN_WINDOW_BYTES]},
        {"set_aside_bytes", "", WHOLE, 0, &window[HN_WINDOW_SET_ASIDE]},
        {"window_hit_ratio", "", RATIO, 0, &window[HN_WINDOW_HIT_RATIO]},
        {"window_hit", "", HIT, 0, &window[HN_WINDOW_BYTES]},
        {"window_miss", "", MISS, 0, &window[HN_WINDOW_BYTES]},
    };
    set_case(cases, code, statements, number);
}

static void write_steps(struct hn_export_writer *writer)
{
    struct hn_export_cases cases =
        hn_export_cases_begin(writer, writer->plan->step_count, STEP_STATEMENTS);
    for (size_t c = 0; c < cases.configs; c++)
        for (size_t s = 0; s < cases.steps; s++)
            set_step(&cases, &writer->codes[c], s);
    hn_export_cases_write(&cases, false);
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

/* The members of hone_…_sizes: pitches, which the others use, then bytes and scalars. */
struct sizes {
    struct statement *items;
    size_t pitches, count;
};

static struct sizes list_sizes(const struct hn_plan *plan)
{
    struct sizes sizes = {hn_need(2 * plan->argument_count, sizeof *sizes.items), 0, 0};
    for (size_t i = 0; i < plan->argument_count; i++)
        if (plan->arguments[i].shape.width != NULL)
            sizes.items[sizes.count++] =
                (struct statement){plan->arguments[i].name, "_pitch", PITCH, i, NULL};
    sizes.pitches = sizes.count;
    for (size_t i = 0; i < plan->argument_count; i++) {
        const struct hn_argument *argument = &plan->arguments[i];
        if (!hn_export_is_taken(plan, i))
            continue;
        if (argument->count != NULL)
            sizes.items[sizes.count++] =
                (struct statement){argument->name, "_size", BYTES, i, NULL};
        else if (!hn_export_is_given(argument))
            sizes.items[sizes.count++] =
                (struct statement){argument->name, "_value", SCALAR, i, NULL};
    }
    return sizes;
}

static size_t count_sizes(const struct hn_export *export)
{
    struct sizes sizes = list_sizes(export->plan);
    free(sizes.items);
    return sizes.count;
}

static void write_size_cases(struct hn_export_writer *writer, const struct statement *list,
                             size_t count)
{
    struct hn_export_cases cases = hn_export_cases_begin(writer, 1, count);
    for (size_t c = 0; c < cases.configs; c++)
        set_case(&cases, &writer->codes[c], list, 0);
    hn_export_cases_write(&cases, true);
}

static void write_sizes(struct hn_export_writer *writer)
{
    struct sizes sizes = list_sizes(writer->plan);
    write_size_cases(writer, sizes.items, sizes.pitches);
    write_size_cases(writer, sizes.items + sizes.pitches, sizes.count - sizes.pitches);
    free(sizes.items);
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
    struct sizes sizes = list_sizes(writer->plan);
    for (size_t i = 0; i < sizes.count; i++) {
        const struct statement *own = &sizes.items[i];
        const struct hn_argument *argument = &writer->plan->arguments[own->argument];
        snprintf(type, sizeof type, "%s", own->kind == PITCH ? "int64_t" : "size_t");
        if (own->kind == SCALAR) {
            hn_export_need_one_type(writer->export, argument, writer->err);
            hn_type_format_c(argument->element, 1, type, sizeof type);
        }
        append_member(type, own->member, own->suffix, last, sizeof last, writer->text);
    }
    hn_text_append(writer->text, ";\n");
    free(sizes.items);
}

HN_EXPORT_COUNT(problem, export->plan->problem_count)

static void write_problem_members(struct hn_export_writer *writer)
{
    const struct hn_plan *plan = writer->plan;
    char last[32] = "";
    for (size_t i = 0; i < plan->problem_count; i++)
        append_member(hn_export_problem_is_real(writer->export, plan->problem[i]) ? "double"
                                                                                  : "int64_t",
                      plan->problem[i], "", last, sizeof last, writer->text);
    hn_text_append(writer->text, plan->problem_count > 0 ? ";\n" : "    int none;\n");
}

static void write_problem_defined(struct hn_export_writer *writer)
{
    for (size_t i = 0; i < writer->plan->problem_count; i++)
        hn_text_printf(writer->text, "%sdefined %s", i > 0 ? " || " : "", writer->plan->problem[i]);
}

/* Two constraints can come down to the same once the point is known. */
static bool is_said(const struct hn_export_cases *cases, size_t config, size_t number,
                    const char *statement)
{
    for (size_t i = 0; i < number; i++) {
        const char *other = *hn_export_cases_at(cases, config, 0, i);
        if (other != NULL && strcmp(other, statement) == 0)
            return true;
    }
    return false;
}

/* "if (!(…)) return 0;" A condition that the point alone decides held when it was tuned. */
static void set_constraint(const struct hn_export_cases *cases, const struct hn_export_code *code,
                           size_t number)
{
    const struct hn_plan *plan = code->writer->plan;
    struct hn_text text = {0};
    if (hn_plan_problem_used(plan, plan->constraints[number]) == NULL)
        return;
    char *condition = hn_export_condition(code, plan->constraints[number]);
    hn_text_printf(&text, "if (!%s) return 0;", condition);
    if (strcmp(condition, "1") != 0 && !is_said(cases, code->config, number, text.data))
        *hn_export_cases_at(cases, code->config, 0, number) = hn_needed(hn_text_take(&text));
    hn_text_finish(&text);
    free(condition);
}

static void write_constraints(struct hn_export_writer *writer)
{
    struct hn_export_cases cases = hn_export_cases_begin(writer, 1, writer->plan->constraint_count);
    for (size_t c = 0; c < cases.configs; c++)
        for (size_t i = 0; i < cases.count; i++)
            set_constraint(&cases, &writer->codes[c], i);
    hn_export_cases_write(&cases, false);
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
