/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "runtime/plan/launch.h"
#include "tuner/export/export_cases_part.h"
#include "tuner/export/export_parts.h"
#include "tuner/export/export_skeleton_parts.h"

/* Tensor maps in C: what each says for a configuration and problem, and a function that encodes it.
 */

static bool is_map(const struct hn_plan *plan, size_t argument)
{
    return plan->arguments[argument].role == HN_ROLE_TENSOR_MAP;
}

size_t hn_export_map_number(const struct hn_plan *plan, size_t argument)
{
    size_t number = 0;
    for (size_t i = 0; i < argument; i++)
        number += is_map(plan, i);
    return number;
}

HN_EXPORT_COUNT(tensor_maps, hn_export_map_number(export->plan, export->plan->argument_count))

static const char *type_name(enum hn_element element)
{
    static const char *const names[HN_ELEMENT_COUNT] = {
        [HN_INT8] = "UINT8",        [HN_INT16] = "UINT16",    [HN_INT32] = "INT32",
        [HN_INT64] = "INT64",       [HN_UINT8] = "UINT8",     [HN_UINT16] = "UINT16",
        [HN_UINT32] = "UINT32",     [HN_UINT64] = "UINT64",   [HN_FLOAT32] = "FLOAT32",
        [HN_FLOAT64] = "FLOAT64",   [HN_FLOAT16] = "FLOAT16", [HN_BFLOAT16] = "BFLOAT16",
        [HN_FLOAT8_E4M3] = "UINT8",
    };
    return names[element];
}

/* "(problem.M > 64 || …)": one of the steps that take it runs; "0" where none ever does. */
static void append_taken(const struct hn_export_code *code, size_t map, struct hn_text *text)
{
    const struct hn_plan *plan = code->export->plan;
    const char *separator = "(";
    for (size_t s = 0; s < plan->step_count; s++) {
        const struct hn_step *step = &plan->steps[s];
        struct hn_text condition = {0};
        bool takes = false;
        for (size_t i = 0; i < step->argument_count; i++)
            takes = takes || step->arguments[i] == map;
        if (takes)
            hn_export_append_condition(code, step->condition, &condition);
        if (condition.length > 0 && strcmp(condition.data, "0") != 0) {
            hn_text_printf(text, "%s%s", separator, condition.data);
            separator = " || ";
        }
        text->failed = text->failed || condition.failed;
        hn_text_finish(&condition);
    }
    hn_text_append(text, separator[0] == '(' ? "0" : ")");
}

/* The statements of one map, in the order in which they stand. */
struct statements {
    struct hn_export_cases *cases;
    const struct hn_export_code *code;
    size_t step, count;
};

enum { STATEMENTS_MOST = 2 + 4 * HN_TENSOR_RANK + HN_TENSOR_SETTING_COUNT };

static void set_text(struct statements *statements, struct hn_text *text)
{
    hn_export_cases_set(statements->cases, statements->code->config, statements->step,
                        statements->count++, text);
    hn_text_finish(text);
}

static void set_list(struct statements *statements, const char *member,
                     struct hn_expression *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct hn_text text = {0};
        hn_text_printf(&text, "s.%s[%zu] = ", member, i);
        hn_export_append_number(statements->code, list[i], "", &text);
        hn_text_append(&text, ";");
        set_text(statements, &text);
    }
    statements->count += HN_TENSOR_RANK - count;
}

/* What is read outside is that of the tuned problem, since C has no words. */
static void set_settings(struct statements *statements, const struct hn_tensor_map *map,
                         const struct hn_tensor *tensor)
{
    static const char *const members[HN_TENSOR_SETTING_COUNT] = {
        [HN_TENSOR_SWIZZLE] = "swizzle",
        [HN_TENSOR_PROMOTION] = "l2_promotion",
        [HN_TENSOR_INTERLEAVE] = "interleave",
        [HN_TENSOR_FILL] = "nan",
    };
    for (size_t i = 0; i < HN_TENSOR_SETTING_COUNT; i++) {
        struct hn_text text = {0};
        hn_text_printf(&text, "s.%s = ", members[i]);
        if (i == HN_TENSOR_FILL)
            hn_text_printf(&text, "%d", (int)tensor->settings[i]);
        else
            hn_export_append_number(statements->code, map->settings[i], "0", &text);
        hn_text_append(&text, ";");
        set_text(statements, &text);
    }
}

static void set_map(struct hn_export_cases *cases, const struct hn_export_code *code, size_t i)
{
    const struct hn_plan *plan = code->plan;
    const struct hn_argument *argument = &plan->arguments[i];
    const struct hn_argument *over = &plan->arguments[hn_plan_source(plan, i)];
    const struct hn_tensor_map *map = &argument->tensor_map;
    struct statements statements = {cases, code, hn_export_map_number(plan, i), 0};
    struct hn_text taken = {0}, rest = {0};
    struct hn_tensor tensor;
    append_taken(code, i, &rest);
    bool never = rest.data != NULL && strcmp(rest.data, "0") == 0;
    hn_text_printf(&taken, "s.taken = %s;", rest.data == NULL ? "0" : rest.data);
    hn_text_finish(&rest);
    if (never) { /* its fields need not have values */
        hn_text_finish(&taken);
        return;
    }
    set_text(&statements, &taken);
    hn_export_note(code->writer, hn_argument_evaluate_tensor(argument, over, code->values, &tensor,
                                                             code->writer->err));
    if (code->writer->status != HN_OK)
        return;
    hn_text_printf(&rest,
                   "s.type = CU_TENSOR_MAP_DATA_TYPE_%s, s.element_bytes = %zu, s.rank = %zu, "
                   "s.bytes = size.%s_size;",
                   type_name(over->element), hn_element_size(over->element), map->rank, over->name);
    set_text(&statements, &rest);
    set_list(&statements, "dims", map->dims, map->rank);
    set_list(&statements, "strides", map->strides, map->stride_count);
    set_list(&statements, "box", map->box, map->box_count);
    set_list(&statements, "element_strides", map->element_strides, map->element_stride_count);
    set_settings(&statements, map, &tensor);
}

static void set_maps(struct hn_export_cases *cases, const struct hn_export_code *code,
                     const void *context)
{
    const struct hn_plan *plan = context;
    for (size_t i = 0; i < plan->argument_count && code->writer->status == HN_OK; i++)
        if (is_map(plan, i))
            set_map(cases, code, i);
}

static void write_body(struct hn_export_writer *writer)
{
    hn_export_write_cases(writer, count_tensor_maps(writer->export), STATEMENTS_MOST, set_maps,
                          writer->export->plan);
}

/* "A_map over A, B_map over B" */
static void write_names(struct hn_export_writer *writer)
{
    const struct hn_plan *plan = writer->export->plan;
    const char *separator = "";
    for (size_t i = 0; i < plan->argument_count; i++) {
        if (!is_map(plan, i))
            continue;
        hn_text_printf(writer->text, "%s%s over %s", separator, plan->arguments[i].name,
                       plan->arguments[i].from);
        separator = ", ";
    }
}

static void write_functions(struct hn_export_writer *writer)
{
    const struct hn_export *export = writer->export;
    const struct hn_plan *plan = export->plan;
    for (size_t i = 0; i < plan->argument_count; i++)
        if (is_map(plan, i))
            hn_text_printf(
                writer->text,
                "static inline CUresult %s_%s(int config, struct %s_problem problem, const void "
                "*buffer_%s,\n    hone_encoder *encode, CUtensorMap *map)\n{\n    return "
                "hone_encode(%s_tensor(config, %zu, problem), buffer_%s, encode, map);\n}\n",
                export->lower, plan->arguments[i].name, export->lower, plan->arguments[i].from,
                export->lower, hn_export_map_number(plan, i), plan->arguments[i].from);
}

/* What a launch makes of the buffers that it is given. */
static void write_encoding(struct hn_export_writer *writer)
{
    const struct hn_export *export = writer->export;
    const struct hn_plan *plan = export->plan;
    for (size_t i = 0; i < plan->argument_count; i++)
        if (is_map(plan, i))
            hn_text_printf(
                writer->text,
                "    if (result == CUDA_SUCCESS && %s_tensor(config, %zu, problem).taken)\n"
                "        result = %s_%s(config, problem, (const void *)(uintptr_t)argument_%s,\n"
                "                       cuTensorMapEncodeTiled, &maps[%zu]);\n",
                export->lower, hn_export_map_number(plan, i), export->lower,
                plan->arguments[i].name, plan->arguments[i].from, hn_export_map_number(plan, i));
}

const struct hn_export_part hn_export_tensor_parts[] = {
    {"tensor_maps", .count = count_tensor_maps},  {"tensor_names", .write = write_names},
    {"tensor_body", .write = write_body},         {"tensor_functions", .write = write_functions},
    {"tensor_encoding", .write = write_encoding}, {0},
};
