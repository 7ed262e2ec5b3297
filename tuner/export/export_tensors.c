/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/launch.h"
#include "tuner/export/export_parts.h"

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
        char *condition = hn_export_condition(code, step->condition);
        if (strcmp(condition, "0") != 0) {
            hn_text_printf(text, "%s%s", separator, condition);
            separator = " || ";
        }
        free(condition);
    }
    hn_text_append(text, text->length > 0 ? ");" : "");
    return text->length > 0;
}

/* The statements of one map, in the order in which they stand. */
struct map_case {
    const struct hn_export_cases *cases;
    const struct hn_export_code *code;
    size_t number, count;
};

enum { STATEMENTS_MOST = 2 + 4 * HN_TENSOR_RANK + HN_TENSOR_SETTING_COUNT };

static void set_text(struct map_case *own, struct hn_text *text)
{
    *hn_export_cases_at(own->cases, own->code->config, own->number, own->count++) =
        hn_needed(hn_text_take(text));
}

static void set_list(struct map_case *own, const char *member, struct hn_expression *const *list,
                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct hn_text text = {0};
        hn_text_printf(&text, "s.%s[%zu] = ", member, i);
        hn_export_append_number(own->code, list[i], "", &text);
        hn_text_append(&text, ";");
        set_text(own, &text);
    }
    own->count += HN_TENSOR_RANK - count;
}

/* The value that is read outside is that of the tuned problem, since C has no words. */
static void set_settings(struct map_case *own, const struct hn_tensor_map *map,
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
            hn_export_append_number(own->code, map->settings[i], "0", &text);
        hn_text_append(&text, ";");
        set_text(own, &text);
    }
}

static void set_map(const struct hn_export_cases *cases, const struct hn_export_code *code,
                    size_t argument)
{
    const struct hn_plan *plan = code->plan;
    const struct hn_argument *over = &plan->arguments[hn_plan_source(plan, argument)];
    const struct hn_tensor_map *map = &plan->arguments[argument].tensor_map;
    struct map_case own = {cases, code, hn_export_map_number(plan, argument), 0};
    struct hn_text text = {0};
    struct hn_tensor tensor;
    if (!append_taken(code, argument, &text) || hn_failed(code->writer->err)) {
        hn_text_finish(&text);
        return; /* its fields need not have values */
    }
    set_text(&own, &text);
    if (hn_argument_evaluate_tensor(&plan->arguments[argument], over, code->values, &tensor,
                                    code->writer->err) != HN_OK)
        return;
    hn_text_printf(&text,
                   "s.type = CU_TENSOR_MAP_DATA_TYPE_%s, s.element_bytes = %zu, s.rank = %zu, "
                   "s.bytes = size.%s_size;",
                   type_name(over->element), hn_element_size(over->element), map->rank, over->name);
    set_text(&own, &text);
    set_list(&own, "dims", map->dims, map->rank);
    set_list(&own, "strides", map->strides, map->stride_count);
    set_list(&own, "box", map->box, map->box_count);
    set_list(&own, "element_strides", map->element_strides, map->element_stride_count);
    set_settings(&own, map, &tensor);
}

static void write_body(struct hn_export_writer *writer)
{
    struct hn_export_cases cases =
        hn_export_cases_begin(writer, count_tensor_maps(writer->export), STATEMENTS_MOST);
    for (size_t c = 0; c < cases.configs; c++)
        for (size_t i = 0; i < writer->plan->argument_count; i++)
            if (is_map(writer->plan, i))
                set_map(&cases, &writer->codes[c], i);
    hn_export_cases_write(&cases, false);
}

/* "A_map over A, B_map over B" */
static void write_names(struct hn_export_writer *writer)
{
    const char *separator = "";
    for (size_t i = 0; i < writer->plan->argument_count; i++) {
        const struct hn_argument *map = &writer->plan->arguments[i];
        if (!is_map(writer->plan, i))
            continue;
        hn_text_printf(writer->text, "%s%s over %s", separator, map->name, map->from);
        separator = ", ";
    }
}

static void write_functions(struct hn_export_writer *writer)
{
    const char *lower = writer->export->lower;
    for (size_t i = 0; i < writer->plan->argument_count; i++) {
        const struct hn_argument *map = &writer->plan->arguments[i];
        if (is_map(writer->plan, i))
            hn_text_printf(
                writer->text,
                "static inline CUresult %s_%s(int config, struct %s_problem problem, const void "
                "*buffer_%s,\n    hone_encoder *encode, CUtensorMap *map)\n{\n    return "
                "hone_encode(%s_tensor(config, %zu, problem), buffer_%s, encode, map);\n}\n",
                lower, map->name, lower, map->from, lower, hn_export_map_number(writer->plan, i),
                map->from);
    }
}

/* A launch encodes maps over the buffers that it is given. */
static void write_encoding(struct hn_export_writer *writer)
{
    const char *lower = writer->export->lower;
    for (size_t i = 0; i < writer->plan->argument_count; i++) {
        const struct hn_argument *map = &writer->plan->arguments[i];
        size_t number = hn_export_map_number(writer->plan, i);
        if (is_map(writer->plan, i))
            hn_text_printf(
                writer->text,
                "    if (result == CUDA_SUCCESS && %s_tensor(config, %zu, problem).taken)\n"
                "        result = %s_%s(config, problem, (const void *)(uintptr_t)argument_%s,\n"
                "                       cuTensorMapEncodeTiled, &maps[%zu]);\n",
                lower, number, lower, map->name, map->from, number);
    }
}

const struct hn_export_part hn_export_tensor_parts[] = {
    {"tensor_maps", .count = count_tensor_maps},  {"tensor_names", .write = write_names},
    {"tensor_body", .write = write_body},         {"tensor_functions", .write = write_functions},
    {"tensor_encoding", .write = write_encoding}, {0},
};
