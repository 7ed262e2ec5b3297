/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/device/device.h"
#include "runtime/plan/launch.h"
#include "tuner/export/export_parts.h"

/* Expressions of the plan as C: parameters are known and folded, so that each configuration has its
 * own; problem values and pitches are members of structs. And the functions in which configurations
 * differ. */

static void append_expression(const struct hn_export_code *code,
                              const struct hn_expression *expression, bool *real,
                              struct hn_text *text)
{
    if (!hn_failed(code->writer->err))
        hn_expression_append_c(expression, code->slots, code->writer->export->lower,
                               real != NULL ? HN_C_NUMBER : HN_C_INTEGER, real, text,
                               code->writer->err);
}

static void append_number(const struct hn_export_code *code, const struct hn_expression *expression,
                          const char *missing, struct hn_text *text)
{
    bool real = false;
    struct hn_text number = {0};
    if (expression == NULL)
        hn_text_append(&number, missing);
    else
        append_expression(code, expression, &real, &number);
    const char *taken = hn_need_kept(&code->writer->memory, hn_text_take(&number));
    if (real)
        hn_text_printf(text, "%s_whole(%s)", code->writer->export->lower, taken);
    else
        hn_text_append(text, taken);
}

/* "(problem.K == 32 && …)" */
static void append_own_problem(const struct hn_export_code *code,
                               const struct hn_expression *condition, struct hn_text *text)
{
    const struct hn_export *export = code->writer->export;
    const struct hn_bindings *problem = &export->configs[code->config]->identity.problem;
    const char *separator = "(";
    for (size_t slot = 0; slot < export->plan->name_count; slot++) {
        const char *name = export->plan->names[slot];
        const struct hn_value *value = hn_bindings_get(problem, name);
        if (value == NULL || !hn_plan_uses(export->plan, condition, slot))
            continue;
        hn_text_printf(text, "%sproblem.%s == ", separator, name);
        hn_export_append_value(export, name, value, text);
        separator = " && ";
    }
    hn_text_append(text, ")");
}

const char *hn_export_condition(const struct hn_export_code *code,
                                const struct hn_expression *condition)
{
    const struct hn_export *export = code->writer->export;
    struct hn_text text = {0};
    struct hn_error reason;
    if (hn_failed(code->writer->err) || condition == NULL)
        return "1";
    if (hn_plan_problem_used(export->plan, condition) == NULL)
        return hn_expression_truth(condition, code->values) == HN_TRUE ? "1" : "0";
    if (hn_expression_append_c(condition, code->slots, export->lower, HN_C_CONDITION, NULL, &text,
                               &reason) != HN_OK ||
        text.length == 0) {
        hn_text_finish(&text);
        append_own_problem(code, condition, &text);
    }
    return hn_need_kept(&code->writer->memory, hn_text_take(&text));
}

enum { LINE_MOST = 110 };

/* A statement depends on the configuration, on the step, on both or neither. */
enum dependence { ON_NOTHING, ON_CONFIG, ON_STEP, ON_BOTH };

/* Statements of a function that depend on `config`, and may depend on `step`. */
struct cases {
    struct hn_blocks *memory; /* of the writer */
    size_t configs, steps;
    size_t count;      /* statements of a case, at most */
    char **statements; /* [config][step][statement]; NULL: it has none there */
    unsigned *on;      /* [statement]: enum dependence */
};

/* Appends the statements of a case, a line each, which is empty where there is none. */
typedef void list_case(const struct hn_export_code *code, size_t step, struct hn_text *lines);

static const char *get(const struct cases *cases, size_t config, size_t step, size_t statement)
{
    const char *text = cases->statements[(config * cases->steps + step) * cases->count + statement];
    return text == NULL ? "" : text;
}

static struct cases list_cases(struct hn_export_writer *writer, size_t steps, list_case *list)
{
    struct cases cases = {
        .memory = &writer->memory, .configs = writer->export->body_count, .steps = steps};
    size_t all = cases.configs * steps;
    char **texts = hn_need_block(cases.memory, all, sizeof *texts);
    for (size_t i = 0; i < all; i++) {
        struct hn_text lines = {0};
        size_t count = 0;
        list(&writer->codes[i / steps], i % steps, &lines);
        texts[i] = hn_need_kept(cases.memory, hn_text_take(&lines));
        for (const char *c = texts[i]; *c != '\0'; c++)
            count += *c == '\n';
        cases.count = count > cases.count ? count : cases.count;
    }
    cases.statements = hn_need_block(cases.memory, all * cases.count, sizeof *cases.statements);
    for (size_t i = 0; i < all; i++)
        for (char **at = &cases.statements[i * cases.count]; texts[i] != NULL && *texts[i] != '\0';
             at++)
            *at = strsep(&texts[i], "\n");
    cases.on = hn_need_block(cases.memory, cases.count, sizeof *cases.on);
    for (size_t i = 0; i < cases.count; i++)
        for (size_t c = 0; c < cases.configs; c++)
            for (size_t s = 0; s < steps; s++) {
                const char *own = get(&cases, c, s, i);
                cases.on[i] |= strcmp(own, get(&cases, 0, s, i)) != 0 ? ON_CONFIG : ON_NOTHING;
                cases.on[i] |= strcmp(own, get(&cases, c, 0, i)) != 0 ? ON_STEP : ON_NOTHING;
            }
    return cases;
}

/* The statements of a case that depend on the same, a line each. */
static const char *make_body(const struct cases *cases, unsigned on, size_t number)
{
    struct hn_text body = {0};
    size_t config = on == ON_BOTH ? number / cases->steps : on == ON_CONFIG ? number : 0;
    size_t step = on == ON_BOTH ? number % cases->steps : on == ON_STEP ? number : 0;
    for (size_t i = 0; i < cases->count; i++) {
        const char *statement = get(cases, config, step, i);
        if (statement[0] != '\0' && cases->on[i] == on)
            hn_text_printf(&body, on == ON_NOTHING ? "    %s\n" : "        %s\n", statement);
    }
    return hn_need_kept(cases->memory, hn_text_take(&body));
}

void hn_export_append_wrapped(struct hn_text *text, const char *line_break, const char *format, ...)
{
    struct hn_text piece HN_ENDED_BY(hn_text_finish) = {0};
    size_t column = 0;
    va_list arguments;
    va_start(arguments, format);
    hn_text_vprintf(&piece, format, arguments);
    va_end(arguments);
    while (column < text->length && text->data[text->length - column - 1] != '\n')
        column++;
    if (column + piece.length > LINE_MOST) {
        while (line_break[0] == '\n' && text->length > 0 && text->data[text->length - 1] == ' ')
            text->data[--text->length] = '\0';
        hn_text_append(text, line_break);
    }
    hn_text_append(text, piece.data == NULL ? "" : piece.data);
}

/* "    case 0: case 3:", then the body, on the same line where it is short. */
static void append_case(const char **bodies, size_t count, size_t first, struct hn_text *text)
{
    struct hn_text labels HN_ENDED_BY(hn_text_finish) = {0};
    const char *body = bodies[first];
    for (size_t i = first; i < count; i++)
        if (strcmp(bodies[i], body) == 0)
            hn_export_append_wrapped(&labels, "\n   ", "%scase %zu:", i == first ? "    " : " ", i);
    const char *start = body + strspn(body, " ");
    size_t length = strcspn(start, "\n");
    bool one_line = start[length + 1] == '\0' && labels.length + length + 9 <= LINE_MOST;
    hn_text_append(text, labels.data);
    if (one_line)
        hn_text_printf(text, " %.*s break;\n", (int)length, start);
    else
        hn_text_printf(text, "\n%s        break;\n", body);
}

void hn_export_append_switch(const char *over, const char **bodies, size_t count,
                             struct hn_text *text)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        bool said = bodies[i] == NULL || bodies[i][0] == '\0';
        for (size_t before = 0; before < i && !said; before++)
            said = bodies[before] != NULL && strcmp(bodies[before], bodies[i]) == 0;
        if (said)
            continue;
        if (!any)
            hn_text_printf(text, "    switch (%s) {\n", over);
        append_case(bodies, count, i, text);
        any = true;
    }
    hn_text_append(text, any ? "    default: break;\n    }\n" : "");
}

/* The switch over what depends on the same. */
static void append_switch(const struct cases *cases, unsigned on, struct hn_text *text)
{
    size_t count = (on == ON_STEP ? 1 : cases->configs) * (on == ON_CONFIG ? 1 : cases->steps);
    const char **bodies = hn_need_block(cases->memory, count, sizeof *bodies);
    for (size_t i = 0; i < count; i++)
        bodies[i] = make_body(cases, on, i);
    hn_export_append_switch(
        on == ON_STEP     ? "step"
        : on == ON_CONFIG ? "config"
                          : hn_need_format(cases->memory, "config * %zu + step", cases->steps),
        bodies, count, text);
}

/* Statements that are the same in all cases stand once; the others in a switch by config, by step,
 * or by both. Behind the sizes where they use them, outside of the function that makes these. */
static void write_cases(struct hn_export_writer *writer, size_t steps, list_case *list,
                        bool in_sizes)
{
    const char *lower = writer->export->lower;
    struct cases cases = list_cases(writer, steps, list);
    struct hn_text body HN_ENDED_BY(hn_text_finish) = {0};
    if (!hn_failed(writer->err)) {
        hn_text_append(&body, make_body(&cases, ON_NOTHING, 0));
        for (unsigned on = ON_CONFIG; on <= ON_BOTH; on++)
            append_switch(&cases, on, &body);
    }
    if (!in_sizes && body.length > 0 && strstr(body.data, "size.") != NULL)
        hn_text_printf(writer->text, "    struct %s_sizes size = %s_size(config, problem);\n",
                       lower, lower);
    hn_text_append(writer->text, body.length > 0 ? body.data : "");
}

/* The functions of a problem: sizes of arguments, launches of steps, and whether a configuration
 * can be used. As hn_plan_allows and hn_launch_check, in C. */

/* "s.grid = hone_size(…);"; what is not given stays as it was initialised. */
static void set_extents(const struct hn_export_code *code, const char *member,
                        struct hn_expression *const *expressions, struct hn_text *lines)
{
    for (size_t i = 0; i < 3 && expressions[0] != NULL; i++) {
        if (i == 0)
            hn_text_printf(lines, "s.%s = hone_size(", member);
        hn_text_append(lines, i > 0 ? ", " : "");
        append_number(code, expressions[i], "1", lines);
    }
    hn_text_append(lines, expressions[0] != NULL ? ");\n" : "\n");
}

static void set_number(const struct hn_export_code *code, const char *start,
                       const struct hn_expression *expression, struct hn_text *lines)
{
    hn_text_append(lines, expression != NULL ? start : "");
    append_number(code, expression, "", lines);
    hn_text_append(lines, expression != NULL ? ";\n" : "\n");
}

static void set_truth(const struct hn_export_code *code, const char *member,
                      const struct hn_expression *expression, struct hn_text *lines)
{
    if (expression != NULL)
        hn_text_printf(lines, "s.%s = %s;", member, hn_export_condition(code, expression));
    hn_text_append(lines, "\n");
}

/* A property of the accesses is that of the tuned problem, since C has no words. */
static void set_window(const struct hn_export_code *code, const struct hn_window_plan *plan,
                       struct hn_text *lines)
{
    struct hn_l2_window window = {0};
    bool real = false;
    set_number(code, "s.window_bytes = (size_t)", plan->parts[HN_WINDOW_BYTES], lines);
    set_number(code, "s.set_aside_bytes = (size_t)", plan->parts[HN_WINDOW_SET_ASIDE], lines);
    if (plan->parts[HN_WINDOW_HIT_RATIO] != NULL) {
        hn_text_append(lines, "s.window_hit_ratio = (double)");
        append_expression(code, plan->parts[HN_WINDOW_HIT_RATIO], &real, lines);
        hn_text_append(lines, ";");
    }
    hn_text_append(lines, "\n");
    if (plan->parts[HN_WINDOW_BYTES] == NULL || hn_failed(code->writer->err))
        return;
    hn_l2_window_evaluate(plan, code->values, &window, code->writer->err);
    hn_text_printf(lines, "s.window_hit = %d;\ns.window_miss = %d;\n", (int)window.hit,
                   (int)window.miss);
}

static void list_step(const struct hn_export_code *code, size_t number, struct hn_text *lines)
{
    const struct hn_geometry *geometry = &code->writer->plan->steps[number].geometry;
    const char *runs = hn_export_condition(code, code->writer->plan->steps[number].condition);
    if (strcmp(runs, "0") == 0) /* its sizes need not have values */
        return;
    hn_text_printf(lines, "s.runs = %s;\n", runs);
    set_extents(code, "grid", geometry->grid, lines);
    set_extents(code, "block", geometry->block, lines);
    set_extents(code, "cluster", geometry->cluster, lines);
    set_number(code, "s.shared_bytes = (size_t)", geometry->shared_bytes, lines);
    set_number(code, "s.carveout = ", geometry->carveout, lines);
    set_truth(code, "cooperative", geometry->cooperative, lines);
    set_truth(code, "programmatic", geometry->programmatic, lines);
    set_window(code, &code->plan->steps[number].geometry.window, lines);
}

static void write_steps(struct hn_export_writer *writer)
{
    write_cases(writer, writer->plan->step_count, list_step, false);
}

static bool is_passed(const struct hn_plan *plan, size_t argument)
{
    for (size_t s = 0; s < plan->step_count; s++)
        for (size_t i = 0; i < plan->steps[s].argument_count; i++)
            if (plan->steps[s].arguments[i] == argument)
                return plan->arguments[argument].role != HN_ROLE_SYMBOL;
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
    return argument->value == NULL || hn_element_is_narrow(argument->element) ||
           argument->lanes > 1 || hn_expression_slots(argument->value) == 0;
}

static bool has_size(const struct hn_plan *plan, size_t i)
{
    return hn_export_is_taken(plan, i) &&
           (plan->arguments[i].count != NULL || !hn_export_is_given(&plan->arguments[i]));
}

size_t hn_export_count_sizes(const struct hn_plan *plan)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->argument_count; i++)
        count += (size_t)has_size(plan, i) + (plan->arguments[i].shape.width != NULL);
    return count;
}

/* From row to row, in bytes; what the others use. */
static void list_pitches(const struct hn_export_code *code, size_t step, struct hn_text *lines)
{
    (void)step;
    HN_EACH_OF(argument, code->plan->arguments, code->plan->argument_count) {
        const struct hn_shape *shape = &argument->shape;
        if (shape->width == NULL)
            continue;
        hn_text_printf(lines, "size.%s_pitch = ", argument->name);
        if (shape->pitch != NULL) {
            append_expression(code, shape->pitch, NULL, lines);
        } else {
            hn_text_append(lines, shape->device ? "(" : "");
            append_expression(code, shape->width, NULL, lines);
            hn_text_printf(lines, " * INT64_C(%zu)", hn_argument_bytes(argument));
            if (shape->device)
                hn_text_printf(lines, " + %d) / %d * %d", HN_DEVICE_PITCH - 1, HN_DEVICE_PITCH,
                               HN_DEVICE_PITCH);
        }
        hn_text_append(lines, ";\n");
    }
}

/* Bytes of buffers, and scalars. */
static void list_others(const struct hn_export_code *code, size_t step, struct hn_text *lines)
{
    (void)step;
    for (size_t i = 0; i < code->plan->argument_count; i++) {
        const struct hn_argument *argument = &code->plan->arguments[i];
        bool rows = argument->shape.width != NULL, real = false;
        char type[32];
        if (!has_size(code->writer->plan, i))
            continue;
        if (argument->count == NULL) {
            hn_type_format_c(argument->element, 1, type, sizeof type);
            hn_text_printf(lines, "size.%s_value = (%s)", argument->name, type);
            append_expression(code, argument->value,
                              hn_element_is_real(argument->element) ? &real : NULL, lines);
        } else {
            hn_text_printf(lines, "size.%s_size = (size_t)(", argument->name);
            if (rows)
                hn_text_printf(lines, "size.%s_pitch * ", argument->name);
            append_expression(code, rows ? argument->shape.height : argument->count, NULL, lines);
            if (!rows)
                hn_text_printf(lines, " * INT64_C(%zu)", hn_argument_bytes(argument));
            hn_text_append(lines, ")");
        }
        hn_text_append(lines, ";\n");
    }
}

static void write_sizes(struct hn_export_writer *writer)
{
    write_cases(writer, 1, list_pitches, true);
    write_cases(writer, 1, list_others, true);
}

static void write_sizes_members(struct hn_export_writer *writer)
{
    char type[32];
    const struct hn_plan *plan = writer->plan;
    for (size_t i = 0; i < plan->argument_count; i++)
        if (plan->arguments[i].shape.width != NULL)
            hn_text_printf(writer->text, "    int64_t %s_pitch;\n", plan->arguments[i].name);
    for (size_t i = 0; i < plan->argument_count; i++) {
        const struct hn_argument *argument = &plan->arguments[i];
        bool is_scalar = argument->count == NULL;
        if (!has_size(plan, i))
            continue;
        if (is_scalar)
            hn_export_need_one_type(writer->export, argument, writer->err);
        hn_type_format_c(argument->element, 1, type, sizeof type);
        hn_text_printf(writer->text, "    %s %s_%s;\n", is_scalar ? type : "size_t", argument->name,
                       is_scalar ? "value" : "size");
    }
}

/* Takes the line: two can come down to the same once the point is known. */
static void append_once(struct hn_text *lines, struct hn_text *line)
{
    if (line->length > 0 && (lines->data == NULL || strstr(lines->data, line->data) == NULL))
        hn_text_append(lines, line->data);
    hn_text_append(lines, "\n");
    hn_text_finish(line);
}

/* "if (!(…)) return 0;" A scalar has to be what its type holds, and a count a whole number. */
static void list_constraints(const struct hn_export_code *code, size_t step, struct hn_text *lines)
{
    const struct hn_plan *plan = code->writer->plan;
    struct hn_text line = {0};
    (void)step;
    for (size_t i = 0; i < plan->constraint_count; i++) {
        const char *holds = hn_export_condition(code, plan->constraints[i]);
        if (strcmp(holds, "1") != 0)
            hn_text_printf(&line, "if (!%s) return 0;", holds);
        append_once(lines, &line);
    }
    for (size_t i = 0; i < plan->argument_count; i++) {
        const struct hn_argument *argument = &code->plan->arguments[i];
        bool counts = argument->count != NULL;
        bool differs = counts ? hn_plan_problem_used(plan, argument->count) != NULL
                              : !hn_element_is_real(argument->element);
        if (!has_size(plan, i) || !differs || (!counts && argument->element == HN_UINT64))
            continue;
        if (counts)
            hn_text_append(&line, "if (");
        else
            hn_text_printf(&line, "if (size.%s_value != ", argument->name);
        append_number(code, counts ? argument->count : argument->value, "", &line);
        hn_text_append(&line, counts ? " < 1) return 0;" : ") return 0;");
        append_once(lines, &line);
    }
}

static void write_constraints(struct hn_export_writer *writer)
{
    write_cases(writer, 1, list_constraints, false);
}

/* Dynamic shared memory that a block may have: "    case 80: most_shared = 166912; break;". An
 * architecture that is not known has the most. */
static void write_shared_limits(struct hn_export_writer *writer)
{
    enum { FIRST = 70, END = 200 };
    int most = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = FIRST; i < END; i++) {
            char name[16];
            struct hn_device device;
            snprintf(name, sizeof name, "sm_%d", i);
            if (hn_device_for_architecture(name, &device, NULL) != HN_OK)
                continue;
            const int own = device.shared_per_block_optin;
            if (pass == 1 && own < most)
                hn_text_printf(writer->text, "    case %d: most_shared = %d; break;\n", i, own);
            most = own > most ? own : most;
        }
    hn_text_printf(writer->text, "    default: most_shared = %d; break;\n", most);
}

/* Tensor maps in C: what each says for a configuration and problem, and how it is encoded. */

size_t hn_export_map_number(const struct hn_plan *plan, size_t argument)
{
    size_t number = 0;
    for (size_t i = 0; i < argument; i++)
        number += plan->arguments[i].role == HN_ROLE_TENSOR_MAP;
    return number;
}

static const char *const map_types[HN_ELEMENT_COUNT] = {
    [HN_INT8] = "UINT8",        [HN_INT16] = "UINT16",    [HN_INT32] = "INT32",
    [HN_INT64] = "INT64",       [HN_UINT8] = "UINT8",     [HN_UINT16] = "UINT16",
    [HN_UINT32] = "UINT32",     [HN_UINT64] = "UINT64",   [HN_FLOAT32] = "FLOAT32",
    [HN_FLOAT64] = "FLOAT64",   [HN_FLOAT16] = "FLOAT16", [HN_BFLOAT16] = "BFLOAT16",
    [HN_FLOAT8_E4M3] = "UINT8",
};

/* "s.taken = (problem.M > 64 || …);": one of the steps that take it runs. False where none ever
 * does. */
static bool append_taken(const struct hn_export_code *code, size_t map, struct hn_text *text)
{
    const struct hn_plan *plan = code->writer->plan;
    const char *separator = "s.taken = (";
    for (size_t s = 0; s < plan->step_count; s++) {
        const struct hn_step *step = &plan->steps[s];
        bool takes = false;
        for (size_t i = 0; i < step->argument_count; i++)
            takes = takes || step->arguments[i] == map;
        if (!takes)
            continue;
        const char *condition = hn_export_condition(code, step->condition);
        if (strcmp(condition, "0") != 0) {
            hn_text_printf(text, "%s%s", separator, condition);
            separator = " || ";
        }
    }
    hn_text_append(text, text->length > 0 ? ");\n" : "");
    return text->length > 0;
}

static void set_list(const struct hn_export_code *code, const char *member,
                     struct hn_expression *const *list, size_t count, struct hn_text *lines)
{
    for (size_t i = 0; i < HN_TENSOR_RANK; i++) {
        char start[64];
        snprintf(start, sizeof start, "s.%s[%zu] = ", member, i);
        set_number(code, start, i < count ? list[i] : NULL, lines);
    }
}

/* The value that is read outside is that of the tuned problem, since C has no words. */
static void set_settings(const struct hn_export_code *code, const struct hn_tensor_map *map,
                         const struct hn_tensor *tensor, struct hn_text *lines)
{
    static const char *const members[HN_TENSOR_SETTING_COUNT] = {
        [HN_TENSOR_SWIZZLE] = "swizzle",
        [HN_TENSOR_PROMOTION] = "l2_promotion",
        [HN_TENSOR_INTERLEAVE] = "interleave",
        [HN_TENSOR_FILL] = "nan",
    };
    for (size_t i = 0; i < HN_TENSOR_SETTING_COUNT; i++) {
        hn_text_printf(lines, "s.%s = ", members[i]);
        if (i == HN_TENSOR_FILL)
            hn_text_printf(lines, "%d", (int)tensor->settings[i]);
        else
            append_number(code, map->settings[i], "0", lines);
        hn_text_append(lines, ";\n");
    }
}

static void list_map(const struct hn_export_code *code, size_t number, struct hn_text *lines)
{
    const struct hn_plan *plan = code->plan;
    size_t argument = 0;
    while (plan->arguments[argument].role != HN_ROLE_TENSOR_MAP ||
           hn_export_map_number(plan, argument) != number)
        argument++;
    const struct hn_argument *over = &plan->arguments[hn_plan_source(plan, argument)];
    const struct hn_tensor_map *map = &plan->arguments[argument].tensor_map;
    struct hn_tensor tensor;
    /* Where none takes it its fields need not have values. */
    if (!append_taken(code, argument, lines))
        return;
    hn_argument_evaluate_tensor(&plan->arguments[argument], over, code->values, &tensor,
                                code->writer->err);
    if (hn_failed(code->writer->err))
        return;
    hn_text_printf(lines,
                   "s.type = CU_TENSOR_MAP_DATA_TYPE_%s, s.element_bytes = %zu, s.rank = %zu, "
                   "s.bytes = size.%s_size;\n",
                   map_types[over->element], hn_element_size(over->element), map->rank, over->name);
    set_list(code, "dims", map->dims, map->rank, lines);
    set_list(code, "strides", map->strides, map->stride_count, lines);
    set_list(code, "box", map->box, map->box_count, lines);
    set_list(code, "element_strides", map->element_strides, map->element_stride_count, lines);
    set_settings(code, map, &tensor, lines);
}

static void write_tensors(struct hn_export_writer *writer)
{
    write_cases(writer, hn_export_map_number(writer->plan, writer->plan->argument_count), list_map,
                false);
}

const struct hn_export_part hn_export_function_parts[] = {
    {"shared_limits", write_shared_limits},
    {"sizes_members", write_sizes_members},
    {"sizes_body", write_sizes},
    {"step_body", write_steps},
    {"constraints", write_constraints},
    {"tensor_body", write_tensors},
    {0},
};
