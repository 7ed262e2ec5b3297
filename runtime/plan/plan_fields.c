/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/expression/expression.h"
#include "base/memory.h"
#include "cache/record/gate.h"
#include "cache/record/record.h"
#include "runtime/plan/plan.h"

#define EXPRESSION(type, member) HN_OWN(type, member, hn_expression_field)
#define DIMENSIONS(type, member) HN_OWN(type, member, hn_dimensions_field)

static const struct hn_field word_fields[] = {{HN_NEEDED(""), .kind = HN_FIELD_WORD}};
static const struct hn_structure word_list = {sizeof(char *), word_fields, 1, NULL};
static const struct hn_field index_fields[] = {{HN_NEEDED(""), .kind = HN_FIELD_INDEX}};
static const struct hn_structure index_list = {sizeof(size_t), index_fields, 1, NULL};

#define BIT(choice) (1u << (choice))
#define SOURCED (BIT(HN_FILL_CSR_COLUMNS) | BIT(HN_FILL_TRANSPOSED))
#define FILLED_BY(kinds) HN_AMONG(hn_fill, kind, kinds)

/* A number that is written out, or an expression of the problem: tag says which of the two. */
static void read_number(struct hn_json_reader *reader, const struct hn_field *field,
                        const json_t *json, void *member)
{
    struct hn_fill *fill = member;
    if (json_is_string(json))
        hn_expression_field.read(reader, field, json, &fill->expressions[field->tag]);
    else
        hn_field_read(reader, &(struct hn_field){.key = field->key, .kind = HN_FIELD_FINITE}, json,
                      &fill->numbers[field->tag]);
}

static json_t *build_number(const struct hn_field *field, const void *member)
{
    const struct hn_fill *fill = member;
    const struct hn_expression *expression = fill->expressions[field->tag];
    return expression == NULL ? json_real(fill->numbers[field->tag])
                              : json_string(hn_expression_text(expression));
}

static const struct hn_field_own number = {read_number, build_number, NULL};

static const struct hn_field fill_fields[] = {
    {HN_NEEDED("kind"), HN_CHOICE(hn_fill, kind, hn_fill_names)},
    {HN_NEEDED("a"), .kind = HN_FIELD_OWN, .of = &number, .tag = 0},
    {HN_NEEDED("b"), .kind = HN_FIELD_OWN, .of = &number, .tag = 1},
    {EXPRESSION(hn_fill, expressions[0])},
    {EXPRESSION(hn_fill, expressions[1])},
    {HN_NEEDED("file"), .kind = HN_FIELD_TEXT, HN_AT(hn_fill, file), FILLED_BY(BIT(HN_FILL_FILE))},
    {HN_NEEDED("of"), .kind = HN_FIELD_WORD, HN_AT(hn_fill, of), FILLED_BY(SOURCED)},
};
const struct hn_structure hn_fill_structure = HN_STRUCTURE(hn_fill, fill_fields, NULL);

static void read_addresses(struct hn_json_reader *reader, const struct hn_field *field,
                           const json_t *json, void *member)
{
    const struct hn_field mode = {.key = field->key,
                                  .kind = HN_FIELD_CHOICE,
                                  .of = hn_texture_addresses,
                                  .choices = HN_TEXTURE_ADDRESS_COUNT};
    enum hn_texture_address *address = member;
    hn_json_expect(reader, json_array_size(json) == 2, field->key, "a list of two address modes");
    for (size_t i = 0; !hn_failed(reader->err) && i < 2; i++)
        hn_field_read(reader, &mode, json_array_get(json, i), &address[i]);
}

static json_t *build_addresses(const struct hn_field *field, const void *member)
{
    const enum hn_texture_address *address = member;
    (void)field;
    return json_pack("[s, s]", hn_texture_addresses[address[0]], hn_texture_addresses[address[1]]);
}

static const struct hn_field_own addresses = {read_addresses, build_addresses, NULL};

static const struct hn_field texture_fields[] = {
    {HN_NEEDED("dimensions"), .kind = HN_FIELD_COUNT, .least = 1, .most = 2,
     HN_AT(hn_texture, dimensions)},
    {HN_NEEDED("address"), HN_OWN(hn_texture, address, addresses)},
    {HN_NEEDED("filter"), HN_NAMED_FLAG(hn_texture, linear, hn_texture_filters)},
    {HN_NEEDED("normalized"), .kind = HN_FIELD_FLAG, HN_AT(hn_texture, normalized)},
    {HN_NEEDED("read"), HN_NAMED_FLAG(hn_texture, as_float, hn_texture_reads)},
};

const struct hn_structure hn_texture_structure = HN_STRUCTURE(hn_texture, texture_fields, NULL);

#define DIMENSIONAL(member, count)                                                                 \
    .most = HN_TENSOR_RANK, HN_LIST(hn_tensor_map, member, count, hn_expression_list)

static const struct hn_field tensor_map_fields[] = {
    {.key = "dims", DIMENSIONAL(dims, rank)},
    {.key = "strides", DIMENSIONAL(strides, stride_count)},
    {.key = "box", DIMENSIONAL(box, box_count)},
    {.key = "element_strides", DIMENSIONAL(element_strides, element_stride_count)},
#define X(identifier, name) {.key = name, EXPRESSION(hn_tensor_map, settings[identifier])},
    HN_TENSOR_SETTINGS(X)
#undef X
};

static void check_tensor_map(struct hn_json_reader *reader, void *owner)
{
    const char *why = hn_tensor_map_check(owner);
    hn_json_expect(reader, why == NULL, "tensor_map", why);
}

const struct hn_structure hn_tensor_map_structure =
    HN_STRUCTURE(hn_tensor_map, tensor_map_fields, check_tensor_map);

static const char *const zeroings[] = {"outside", "inside", "once"};

/* Neither a multiset nor what is exact has an error, and a multiset knows no places. */
#define BOUNDED HN_AMONG(hn_compare, mode, BIT(HN_COMPARE_MAX_NORM)), .why = "mode max_norm has it"
#define PLACED                                                                                     \
    HN_AMONG(hn_compare, mode, BIT(HN_COMPARE_MAX_NORM) | BIT(HN_COMPARE_EXACT)),                  \
        .why = "modes max_norm and exact have it"

static const struct hn_field compare_fields[] = {
    {HN_NEEDED("mode"), HN_CHOICE(hn_compare, mode, hn_compare_mode_names)},
    {.key = "relative", EXPRESSION(hn_compare, relative), BOUNDED},
    {.key = "absolute", EXPRESSION(hn_compare, absolute), BOUNDED},
    {.key = "partial", .kind = HN_FIELD_FLAG, HN_AT(hn_compare, partial), PLACED},
    {.key = "mismatches", EXPRESSION(hn_compare, mismatches), PLACED},
    {.key = "mismatch_share", .kind = HN_FIELD_AMOUNT, HN_AT(hn_compare, mismatch_share), PLACED},
};

static void check_compare(struct hn_json_reader *reader, void *owner)
{
    const struct hn_compare *compare = owner;
    hn_json_expect(reader, compare->mismatch_share < 1, "mismatch_share", "a share under 1");
}

const struct hn_structure hn_compare_structure =
    HN_STRUCTURE(hn_compare, compare_fields, check_compare);

static void read_type(struct hn_json_reader *reader, const struct hn_field *field,
                      const json_t *json, void *member)
{
    struct hn_argument *argument = member;
    const char *type = json_string_value(json);
    hn_json_expect(reader,
                   type != NULL && hn_type_parse(type, &argument->element, &argument->lanes),
                   field->key, "an element type");
}

static json_t *build_type(const struct hn_field *field, const void *member)
{
    char type[HN_TYPE_SIZE];
    (void)field;
    hn_argument_format_type(member, type);
    return json_string(type);
}

static const struct hn_field_own type = {read_type, build_type, NULL};

static bool has_rows(const void *owner)
{
    return ((const struct hn_argument *)owner)->shape.width != NULL;
}

static bool has_no_rows(const void *owner)
{
    return !has_rows(owner);
}

static bool is_filled(const void *owner)
{
    return hn_argument_is_filled(owner);
}

#define ROLE(name) BIT(HN_ROLE_##name)
#define RESULTS (ROLE(OUTPUT) | ROLE(INOUT))
#define AS(roles) HN_AMONG(hn_argument, role, roles)

/* It has one of the three: a buffer a count, a scalar a value, and what takes the contents of
 * another its name. */
static bool has_contents(const struct hn_argument *argument)
{
    int sources = (argument->count != NULL) + (argument->value != NULL) + (argument->from != NULL) +
                  (argument->structure != NULL);
    if (sources != 1 || (argument->value != NULL && argument->lanes > 1))
        return false;
    if (argument->role == HN_ROLE_TEXTURE || argument->role == HN_ROLE_TENSOR_MAP)
        return argument->from != NULL;
    return argument->role == HN_ROLE_SYMBOL ||
           (argument->count == NULL) == (argument->role == HN_ROLE_VALUE);
}

static void check_argument(struct hn_json_reader *reader, void *owner)
{
    struct hn_argument *argument = owner;
    if (has_rows(argument) && !hn_failed(reader->err))
        (void)hn_argument_set_count(argument, reader->err);
    hn_json_expect(reader, has_contents(argument), argument->name,
                   "an argument with either count or value");
}

static const struct hn_field member_fields[] = {
    {HN_NEEDED("name"), .kind = HN_FIELD_TEXT, HN_AT(hn_member, name)},
    {.key = "value", EXPRESSION(hn_member, value)},
    {.key = "buffer", .kind = HN_FIELD_INDEX, .always = true, HN_AT(hn_member, buffer)},
};
static const struct hn_structure member_structure = HN_STRUCTURE(hn_member, member_fields, NULL);

#define COMPARED AS(RESULTS), .why = "output and inout are compared"
#define WITH_ROWS .when = has_rows, .why = "a buffer with a 'width' has it"
#define IN_MEMORY (RESULTS | ROLE(INPUT) | ROLE(SCRATCH) | ROLE(COUNTER) | ROLE(METRIC))

static const struct hn_field argument_fields[] = {
    {HN_NEEDED("name"), .kind = HN_FIELD_WORD, HN_AT(hn_argument, name)},
    {HN_NEEDED("type"), .kind = HN_FIELD_OWN, .of = &type},
    {HN_NEEDED("role"), HN_CHOICE(hn_argument, role, hn_role_names)},
    {.key = "width",
     EXPRESSION(hn_argument, shape.width),
     .tag = HN_SEES_NAMES,
     AS(RESULTS | ROLE(INPUT) | ROLE(SCRATCH)),
     .why = "input, output, inout and scratch have rows"},
    {HN_NEEDED("height"), EXPRESSION(hn_argument, shape.height), .tag = HN_SEES_NAMES, WITH_ROWS},
    {.key = "pitch", EXPRESSION(hn_argument, shape.pitch), .tag = HN_SEES_NAMES, WITH_ROWS},
    {.key = "device_pitch", .kind = HN_FIELD_FLAG, HN_AT(hn_argument, shape.device), WITH_ROWS},
    {.key = "count",
     EXPRESSION(hn_argument, count),
     .when = has_no_rows,
     .why = "a buffer without a 'width' has it"},
    {.key = "align", EXPRESSION(hn_argument, align), .tag = HN_SEES_NAMES, AS(IN_MEMORY)},
    {.key = "value", EXPRESSION(hn_argument, value)},
    {HN_NEEDED("fill"), HN_STRUCT(hn_argument, fill, hn_fill_structure), .when = is_filled,
     .why = "input and inout are filled"},
    {.key = "from", .kind = HN_FIELD_WORD, HN_AT(hn_argument, from)},
    {HN_NEEDED("texture"), HN_STRUCT(hn_argument, texture, hn_texture_structure), AS(ROLE(TEXTURE)),
     .why = "a texture has it"},
    {HN_NEEDED("tensor_map"), HN_STRUCT(hn_argument, tensor_map, hn_tensor_map_structure),
     AS(ROLE(TENSOR_MAP)), .why = "a tensor map has it"},
    {.key = "structure", .kind = HN_FIELD_TEXT, HN_AT(hn_argument, structure), AS(ROLE(VALUE))},
    {.key = "fields",
     HN_LIST(hn_argument, members, member_count, member_structure),
     AS(ROLE(VALUE))},
    {.key = "if", EXPRESSION(hn_argument, condition), AS(ROLE(SYMBOL))},
    {.key = "changes", .kind = HN_FIELD_FLAG, HN_AT(hn_argument, changes), AS(ROLE(SYMBOL))},
    {.key = "zero",
     HN_CHOICE(hn_argument, zero, zeroings),
     AS(ROLE(COUNTER)),
     .why = "counter has it"},
    {.key = "held", .kind = HN_FIELD_FLAG, HN_AT(hn_argument, held), AS(IN_MEMORY)},
    {.key = "compare", HN_POINTER(hn_argument, compare, hn_compare_structure), COMPARED},
    {.key = "length", .kind = HN_FIELD_WORD, HN_AT(hn_argument, length), COMPARED},
};
const struct hn_structure hn_argument_structure =
    HN_STRUCTURE(hn_argument, argument_fields, check_argument);

/* Steps. The number of an argument is one of the plan's, which is being read. */

static const struct hn_argument *argument_at(const struct hn_json_reader *reader, size_t index)
{
    const struct hn_plan *plan = reader->root;
    return index < plan->argument_count ? &plan->arguments[index] : NULL;
}

static void check_window(struct hn_json_reader *reader, void *owner)
{
    const struct hn_window_plan *window = owner;
    const struct hn_argument *argument = argument_at(reader, window->argument);
    hn_json_expect(reader, argument != NULL && hn_argument_is_buffer(argument), "l2_window",
                   "a window over an argument's buffer");
}

static const struct hn_field window_fields[] = {
    {HN_NEEDED("bytes"), EXPRESSION(hn_window_plan, parts[HN_WINDOW_BYTES])},
    {HN_NEEDED("argument"), .kind = HN_FIELD_INDEX, HN_AT(hn_window_plan, argument)},
    {.key = "hit_ratio", EXPRESSION(hn_window_plan, parts[HN_WINDOW_HIT_RATIO])},
    {.key = "hit", EXPRESSION(hn_window_plan, parts[HN_WINDOW_HIT])},
    {.key = "miss", EXPRESSION(hn_window_plan, parts[HN_WINDOW_MISS])},
    {.key = "set_aside", EXPRESSION(hn_window_plan, parts[HN_WINDOW_SET_ASIDE])},
};
static const struct hn_structure window_structure =
    HN_STRUCTURE(hn_window_plan, window_fields, check_window);

static void check_step(struct hn_json_reader *reader, void *owner)
{
    const struct hn_step *step = owner;
    for (size_t i = 0; i < step->argument_count; i++) {
        const struct hn_argument *argument = argument_at(reader, step->arguments[i]);
        hn_json_expect(reader, argument != NULL && argument->role != HN_ROLE_SYMBOL, "arguments",
                       "a list of arguments' numbers");
    }
}

static bool has_window(const void *step)
{
    return ((const struct hn_step *)step)->geometry.window.parts[HN_WINDOW_BYTES] != NULL;
}

static const struct hn_field step_fields[] = {
    {HN_NEEDED("entry"), .kind = HN_FIELD_TEXT, HN_AT(hn_step, entry)},
    {.key = "if", EXPRESSION(hn_step, condition)},
    {HN_NEEDED("grid"), DIMENSIONS(hn_step, geometry.grid), .tag = HN_SEES_CLUSTERS},
    {HN_NEEDED("block"), DIMENSIONS(hn_step, geometry.block)},
    {.key = "shared_bytes", EXPRESSION(hn_step, geometry.shared_bytes)},
    {.key = "cluster", DIMENSIONS(hn_step, geometry.cluster)},
    {.key = "carveout", EXPRESSION(hn_step, geometry.carveout)},
    {.key = "cooperative", EXPRESSION(hn_step, geometry.cooperative)},
    {.key = "programmatic", EXPRESSION(hn_step, geometry.programmatic)},
    {.key = "l2_window", HN_STRUCT(hn_step, geometry.window, window_structure), .told = has_window},
    {HN_NEEDED("arguments"), HN_LIST(hn_step, arguments, argument_count, index_list)},
};
const struct hn_structure hn_step_structure = HN_STRUCTURE(hn_step, step_fields, check_step);

/* Pipelines: the lists of arguments by what they take part in, which the tag says. */

static unsigned char *parts_of(struct hn_json_reader *reader, struct hn_pipeline *pipeline)
{
    const struct hn_plan *plan = reader->root;
    if (pipeline->parts == NULL)
        pipeline->parts = hn_allocate(plan->argument_count, 1, reader->err);
    pipeline->argument_count = pipeline->parts == NULL ? 0 : plan->argument_count;
    return pipeline->parts;
}

static void take_part(struct hn_json_reader *reader, struct hn_pipeline *pipeline, size_t index,
                      enum hn_part part, const char *key)
{
    const struct hn_argument *argument = argument_at(reader, index);
    unsigned char *parts = parts_of(reader, pipeline);
    if (parts != NULL && hn_json_expect(reader, argument != NULL && argument->count != NULL, key,
                                        "a list of buffers' numbers"))
        parts[index] |= (unsigned char)part;
}

static void read_part(struct hn_json_reader *reader, const struct hn_field *field,
                      const json_t *json, void *member)
{
    const struct hn_field buffer = {.key = field->key, .kind = HN_FIELD_INDEX};
    hn_json_expect(reader, json_is_array(json), field->key, "a list of buffers' numbers");
    parts_of(reader, member);
    for (size_t i = 0; !hn_failed(reader->err) && i < json_array_size(json); i++) {
        size_t index = SIZE_MAX;
        hn_field_read(reader, &buffer, json_array_get(json, i), &index);
        take_part(reader, member, index, (enum hn_part)field->tag, field->key);
    }
}

static json_t *build_part(const struct hn_field *field, const void *member)
{
    const struct hn_pipeline *pipeline = member;
    json_auto_t *array = json_array();
    for (size_t i = 0; i < pipeline->argument_count; i++)
        if ((pipeline->parts[i] & field->tag) != 0)
            hn_build_append(&array, json_integer((json_int_t)i));
    return field->needed || json_array_size(array) > 0 ? json_incref(array) : json_null();
}

static void free_parts(void *member)
{
    free(((struct hn_pipeline *)member)->parts);
}

static const struct hn_field_own part = {read_part, build_part, NULL};
static const struct hn_field_own last_part = {read_part, build_part, free_parts};
static const char *const directions[] = {"to_device", "to_host"};

static const struct hn_field copy_fields[] = {
    {HN_NEEDED("before"), .kind = HN_FIELD_INDEX, HN_AT(hn_copy_step, before)},
    {HN_NEEDED("copy"), HN_NAMED_FLAG(hn_copy_step, to_host, directions)},
    {.key = "if", EXPRESSION(hn_copy_step, condition), .tag = HN_SEES_PITCHES},
    {HN_NEEDED("arguments"), HN_LIST(hn_copy_step, arguments, argument_count, index_list)},
};
const struct hn_structure hn_copy_structure = HN_STRUCTURE(hn_copy_step, copy_fields, NULL);

static void check_pipeline(struct hn_json_reader *reader, void *owner)
{
    const struct hn_plan *plan = reader->root;
    struct hn_pipeline *pipeline = owner;
    for (size_t c = 0; !hn_failed(reader->err) && c < pipeline->copy_count; c++) {
        const struct hn_copy_step *copy = &pipeline->copies[c];
        hn_json_expect(reader, copy->before <= plan->step_count, "before", "the number of a step");
        for (size_t i = 0; i < copy->argument_count; i++)
            take_part(reader, pipeline, copy->arguments[i], HN_PART_COPY, "arguments");
    }
}

static const struct hn_field pipeline_fields[] = {
    {HN_NEEDED("upload"), .kind = HN_FIELD_OWN, .of = &part, .tag = HN_PART_UPLOAD},
    {HN_NEEDED("download"), .kind = HN_FIELD_OWN, .of = &part, .tag = HN_PART_DOWNLOAD},
    {HN_NEEDED("cut"), .kind = HN_FIELD_OWN, .of = &last_part, .tag = HN_PART_CUT},
    {.key = "padded", .kind = HN_FIELD_OWN, .of = &part, .tag = HN_PART_PADDED},
#define X(identifier, name)                                                                        \
    {.key = name,                                                                                  \
     .needed = (identifier) == HN_PIPELINE_OVER,                                                   \
     EXPRESSION(hn_pipeline, fields[identifier]),                                                  \
     .tag = HN_SEES_PITCHES},
    HN_PIPELINE_FIELDS(X)
#undef X
        {HN_NEEDED("copies"), HN_LIST(hn_pipeline, copies, copy_count, hn_copy_structure)},
};
const struct hn_structure hn_pipeline_structure =
    HN_STRUCTURE(hn_pipeline, pipeline_fields, check_pipeline);

/* Options, whose text has expressions. */

static void read_holes(struct hn_json_reader *reader, void *option)
{
    hn_option_read_holes(option, reader->err);
}

static const struct hn_field option_fields[] = {
    {.key = "if", EXPRESSION(hn_option, condition)},
    {HN_NEEDED("option"), .kind = HN_FIELD_TEXT, HN_AT(hn_option, text)},
    {HN_LIST(hn_option, holes, hole_count, hn_expression_list)},
};
static const struct hn_structure option_structure =
    HN_STRUCTURE(hn_option, option_fields, read_holes);

const char *const hn_compiler_names[2] = {
    [HN_COMPILER_NVRTC] = "nvrtc",
    [HN_COMPILER_NVCC] = "nvcc",
};

static const char *const reference_kinds[] = {
    [HN_REFERENCE_SELF] = "self",
    [HN_REFERENCE_NONE] = "none",
    [HN_REFERENCE_TEMPLATE] = "template",
    [HN_REFERENCE_FILES] = "files",
};

static void check_expected(struct hn_json_reader *reader, void *owner)
{
    const struct hn_expected_file *expected = owner;
    const struct hn_argument *argument = argument_at(reader, expected->argument);
    hn_json_expect(reader, argument != NULL && hn_argument_is_compared(argument), "argument",
                   "an argument that is compared");
}

static const struct hn_field expected_fields[] = {
    {HN_NEEDED("argument"), .kind = HN_FIELD_INDEX, HN_AT(hn_expected_file, argument)},
    {HN_NEEDED("file"), .kind = HN_FIELD_TEXT, HN_AT(hn_expected_file, file)},
};
static const struct hn_structure expected_structure =
    HN_STRUCTURE(hn_expected_file, expected_fields, check_expected);

#define BY(of_kind) HN_AMONG(hn_reference, kind, BIT(HN_REFERENCE_##of_kind))

static const struct hn_field reference_fields[] = {
    {HN_NEEDED("kind"), HN_CHOICE(hn_reference, kind, reference_kinds)},
    {HN_NEEDED("template"), .kind = HN_FIELD_TEXT, HN_AT(hn_reference, template_path),
     BY(TEMPLATE)},
    {HN_NEEDED("step"), HN_STRUCT(hn_reference, step, hn_step_structure), BY(TEMPLATE)},
    {HN_NEEDED("depends"), HN_LIST(hn_reference, depends, depends_count, word_list), BY(TEMPLATE)},
    {HN_NEEDED("files"), HN_LIST(hn_reference, files, file_count, expected_structure), BY(FILES)},
};
const struct hn_structure hn_reference_structure =
    HN_STRUCTURE(hn_reference, reference_fields, NULL);

static const struct hn_field metric_fields[] = {
    {HN_NEEDED("name"), .kind = HN_FIELD_WORD, HN_AT(hn_metric, name)},
    {HN_NEEDED("expression"), EXPRESSION(hn_metric, expression), .tag = HN_SEES_METRICS},
};
static const struct hn_structure metric_structure = HN_STRUCTURE(hn_metric, metric_fields, NULL);

static const struct hn_field word_list_fields[] = {
    {HN_NEEDED("name"), .kind = HN_FIELD_WORD, HN_AT(hn_word_list, name)},
    {HN_NEEDED("words"), HN_LIST(hn_word_list, words, count, word_list)},
    {.key = "types", .kind = HN_FIELD_FLAG, HN_AT(hn_word_list, types)},
};
static const struct hn_structure word_list_structure =
    HN_STRUCTURE(hn_word_list, word_list_fields, NULL);

static const struct hn_field default_fields[] = {
    {HN_NEEDED("if"), EXPRESSION(hn_default, condition), .tag = HN_SEES_NAMES},
    {HN_NEEDED("point"), HN_OWN(hn_default, point, hn_bindings_field)},
};
static const struct hn_structure default_structure = HN_STRUCTURE(hn_default, default_fields, NULL);

const char *const hn_override_names[2] = {
    [HN_OVERRIDE_CONSTEXPR] = "constexpr",
    [HN_OVERRIDE_DEFINE] = "define",
};

static const struct hn_field override_fields[] = {
    {HN_NEEDED("name"), .kind = HN_FIELD_WORD, HN_AT(hn_override, name)},
    {HN_NEEDED("of"), HN_CHOICE(hn_override, of, hn_override_names)},
};
static const struct hn_structure override_structure =
    HN_STRUCTURE(hn_override, override_fields, NULL);

/* Whatever others refer to comes before them. */
static const struct hn_field plan_fields[] = {
    {HN_NEEDED("kernel"), .kind = HN_FIELD_WORD, HN_AT(hn_plan, kernel)},
    {HN_NEEDED("template"), .kind = HN_FIELD_TEXT, HN_AT(hn_plan, template_path)},
    {HN_NEEDED("parameters"), HN_LIST(hn_plan, parameters, parameter_count, word_list)},
    {HN_NEEDED("problem"), HN_LIST(hn_plan, problem, problem_count, word_list)},
    {HN_NEEDED("freeze"), HN_LIST(hn_plan, freeze, freeze_count, word_list)},
    {.key = "freeze_if", EXPRESSION(hn_plan, freeze_if), .tag = HN_SEES_NAMES},
    {.key = "template_parameters",
     HN_LIST(hn_plan, template_parameters, template_parameter_count, word_list)},
    {.key = "override", HN_LIST(hn_plan, overrides, override_count, override_structure)},
    {HN_NEEDED("words"), HN_LIST(hn_plan, word_lists, word_list_count, word_list_structure)},
    {HN_NEEDED("arguments"), HN_LIST(hn_plan, arguments, argument_count, hn_argument_structure)},
    {HN_NEEDED("steps"), HN_LIST(hn_plan, steps, step_count, hn_step_structure)},
    {.key = "pipeline", HN_POINTER(hn_plan, pipeline, hn_pipeline_structure)},
    {.key = "compiler", HN_CHOICE(hn_plan, compiler, hn_compiler_names)},
    {.key = "arch_specific", .kind = HN_FIELD_FLAG, HN_AT(hn_plan, arch_specific)},
    {.key = "refuse", HN_OWN(hn_plan, refused, hn_warnings_field)},
    {HN_NEEDED("options"), HN_LIST(hn_plan, options, option_count, option_structure)},
    {HN_NEEDED("reference"), HN_STRUCT(hn_plan, reference, hn_reference_structure)},
    {HN_NEEDED("compare"), HN_STRUCT(hn_plan, compare, hn_compare_structure)},
    {HN_NEEDED("metrics"), HN_LIST(hn_plan, metrics, metric_count, metric_structure)},
    {HN_NEEDED("objective"), .kind = HN_FIELD_WORD, HN_AT(hn_plan, objective)},
    {HN_NEEDED("maximize"), .kind = HN_FIELD_FLAG, HN_AT(hn_plan, maximize)},
    {HN_NEEDED("defaults"), HN_OWN(hn_plan, defaults, hn_bindings_field)},
    {.key = "other_defaults",
     HN_LIST(hn_plan, other_defaults, other_default_count, default_structure)},
    {.key = "constraints", HN_LIST(hn_plan, constraints, constraint_count, hn_expression_list)},
    {.key = "program", .kind = HN_FIELD_TEXT, HN_AT(hn_plan, program)},
    {.key = "given", .kind = HN_FIELD_FLAG, HN_AT(hn_plan, given)},
    {.key = "config", .kind = HN_FIELD_TEXT, HN_AT(hn_plan, config)},
    {HN_LIST(hn_plan, names, name_count, word_list)},
    {HN_LIST(hn_plan, pitches, pitch_count, word_list)},
};
const struct hn_structure hn_plan_structure = HN_STRUCTURE(hn_plan, plan_fields, NULL);

enum { FORMAT = 3 };

json_t *hn_plan_to_json(const struct hn_plan *plan)
{
    json_auto_t *json = hn_fields_to_json(&hn_plan_structure, plan);
    bool made = json_object_set_new(json, "format", json_integer(FORMAT)) == 0;
    return made ? json_incref(json) : NULL;
}

enum hn_status hn_plan_collect_names(struct hn_plan *plan, struct hn_error *err)
{
    size_t total = plan->parameter_count + plan->problem_count;
    hn_error_init(err);
    plan->names = hn_allocate(total, sizeof *plan->names, err);
    for (size_t i = 0; i < total && !hn_failed(err); i++)
        plan->names[plan->name_count++] =
            hn_copy_string(i < plan->parameter_count ? plan->parameters[i]
                                                     : plan->problem[i - plan->parameter_count],
                           err);
    if (hn_failed(err))
        return err->status;
    qsort(plan->names, total, sizeof *plan->names, hn_compare_strings);
    for (size_t i = 1; i < total; i++)
        if (strcmp(plan->names[i - 1], plan->names[i]) == 0)
            return hn_fail(err, HN_EFORMAT, "plan: '%s' is there twice", plan->names[i]);
    return HN_OK;
}

static bool contains(char *const *words, size_t count, const char *word)
{
    return hn_text_is_among(word, (const char *const *)words, count);
}

static void check_names(struct hn_json_reader *reader, const struct hn_plan *plan)
{
    const struct hn_reference *reference = &plan->reference;
    for (size_t i = 0; i < plan->freeze_count; i++)
        hn_json_expect(reader, contains(plan->problem, plan->problem_count, plan->freeze[i]),
                       "freeze", "a list of problem values");
    for (size_t i = 0; i < plan->override_count; i++)
        hn_json_expect(reader,
                       contains(plan->parameters, plan->parameter_count, plan->overrides[i].name),
                       "override", "a list of parameters");
    for (size_t i = 0; i < plan->word_list_count; i++)
        hn_json_expect(reader, hn_plan_has_name(plan, plan->word_lists[i].name),
                       plan->word_lists[i].name, "a parameter or problem value");
    for (size_t i = 0; i < reference->depends_count; i++)
        hn_json_expect(reader,
                       contains(plan->parameters, plan->parameter_count, reference->depends[i]),
                       "depends", "a list of parameters");
    bool known = strcmp(plan->objective, "time") == 0 || hn_front_parse(plan->objective);
    for (size_t i = 0; i < plan->metric_count; i++)
        known = known || strcmp(plan->metrics[i].name, plan->objective) == 0;
    hn_json_expect(reader, known, "objective", "time, energy, energy_delay or a metric");
}

bool hn_plan_is_length(const struct hn_plan *plan, const struct hn_argument *argument)
{
    const struct hn_argument *length = hn_plan_find_argument(plan, argument->length);
    return hn_argument_is_compared(argument) && length != NULL && length != argument &&
           hn_argument_is_compared(length) && length->length == NULL &&
           !hn_element_is_real(length->element);
}

const char *hn_plan_wrong_source(const struct hn_plan *plan, const struct hn_argument *argument)
{
    const struct hn_argument *source = hn_plan_find_argument(plan, argument->from);
    bool texture = argument->role == HN_ROLE_TEXTURE, map = argument->role == HN_ROLE_TENSOR_MAP;
    if (source != NULL && (texture ? source->count != NULL
                           : map   ? hn_argument_is_buffer(source)
                                   : source->role == HN_ROLE_INPUT))
        return NULL;
    return texture || map ? "the name of an argument that is a buffer"
                          : "the name of an argument with role input";
}

/* That what arguments name is there: symbols and values take the contents of inputs. */
static void check_sources(struct hn_json_reader *reader, const struct hn_plan *plan,
                          const struct hn_argument *argument)
{
    const char *from = argument->from;
    const char *wrong = from == NULL ? NULL : hn_plan_wrong_source(plan, argument);
    if (hn_json_expect(reader, wrong == NULL, from, wrong) && argument->role == HN_ROLE_TEXTURE)
        hn_json_expect(
            reader, hn_texture_check(&argument->texture, hn_plan_find_argument(plan, from)) == NULL,
            from, "a buffer that the texture can read");
    HN_EACH_OF(member, argument->members, argument->member_count) {
        const struct hn_argument *buffer = argument_at(reader, member->buffer);
        hn_json_expect(reader,
                       member->value != NULL || (buffer != NULL && hn_argument_is_buffer(buffer)),
                       member->name, "a field with a value or a buffer's number");
    }
    if (argument->length != NULL)
        hn_json_expect(reader, hn_plan_is_length(plan, argument), argument->length,
                       "an output of integers");
}

enum hn_status hn_plan_from_json(const json_t *json, struct hn_plan **plan, struct hn_error *err)
{
    struct hn_error own;
    err = hn_error_begin(err, &own);
    struct hn_plan *made = hn_allocate(1, sizeof *made, err);
    if (made == NULL)
        return err->status;
    struct hn_json_reader reader = {.what = "plan", .err = err, .root = made};
    const json_t *format = json_object_get(json, "format");
    json_int_t version = json_integer_value(format);
    if (hn_json_expect(&reader, json_is_integer(format) && version >= 1, "format", "a version") &&
        version > FORMAT)
        hn_fail(err, HN_EFORMAT,
                "plan: format %lld is newer than this Hone, which knows %d: use the newer Hone",
                (long long)version, FORMAT);
    hn_fields_read("plan", &hn_plan_structure, json, made, err);
    /* Exports name it in comments and in #line. */
    hn_gate_line("the name of a template", made->template_path, HN_NAME_MOST, err);
    if (!hn_failed(err) && hn_plan_collect_names(made, err) == HN_OK)
        check_names(&reader, made);
    for (size_t i = 0; !hn_failed(err) && i < made->argument_count; i++)
        check_sources(&reader, made, &made->arguments[i]);
    if (!hn_failed(err) && hn_plan_name_pitches(made, err) == HN_OK &&
        hn_plan_bind(made, NULL, err) == HN_OK)
        hn_json_expect(&reader, hn_plan_problem_used(made, made->freeze_if) == NULL, "freeze_if",
                       "an expression of parameters");
    if (err->status == HN_ECONFIG)
        err->status = HN_EFORMAT;
    if (hn_failed(err))
        hn_plan_destroy(made);
    else
        *plan = made;
    return err->status;
}

/* Takes json. Out of memory gives the hash of nothing, which equals no plan's. */
static struct hn_hash hash_json(json_t *json)
{
    char *text HN_FREED = hn_json_text(json, JSON_SORT_KEYS | JSON_COMPACT);
    return hn_hash_string(text == NULL ? "" : text);
}

struct hn_hash hn_plan_hash(const struct hn_plan *plan)
{
    static const char *const parts[] = {"arguments", "steps",   "pipeline",  "freeze",
                                        "freeze_if", "compare", "reference", "program"};
    json_t *all = hn_plan_to_json(plan), *json = json_object();
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (json_object_get(all, parts[i]) != NULL)
            json_object_set(json, parts[i], json_object_get(all, parts[i]));
    if (plan->reference.kind == HN_REFERENCE_SELF)
        json_object_set(json, "defaults", json_object_get(all, "defaults"));
    hn_json_drop_folder(json_object_get(json, "reference"), "template");
    size_t index;
    json_t *argument;
    /* Data is known by its contents (tuner/config/config_files.c). */
    json_array_foreach(json_object_get(json, "arguments"), index, argument)
        hn_json_drop_folder(json_object_get(argument, "fill"), "file");
    json_array_foreach(json_object_get(json_object_get(json, "reference"), "files"), index,
                       argument) hn_json_drop_folder(argument, "file");
    json_decref(all);
    return hash_json(json);
}

/* A setting that is not there is no part of the hash. */
static struct hn_hash join_if(bool there, const struct hn_hash *hash, const char *word)
{
    struct hn_hash own = hn_hash_string(word);
    return there ? hn_hash_join(hash, &own) : *hash;
}

/* A point that is refused has no time, and one that was measured before it was refused is to have
 * none. */
struct hn_hash hn_plan_options_hash(const struct hn_plan *plan)
{
    json_auto_t *all = hn_plan_to_json(plan);
    json_t *options = json_incref(json_object_get(all, "options"));
    struct hn_hash hash = hash_json(options);
    hash = join_if(plan->compiler != HN_COMPILER_NVRTC, &hash, hn_compiler_names[plan->compiler]);
    hash = join_if(plan->arch_specific, &hash, "arch_specific");
    for (size_t i = 0; i < plan->override_count; i++) {
        hash = join_if(true, &hash, plan->overrides[i].name);
        hash = join_if(true, &hash, hn_override_names[plan->overrides[i].of]);
    }
    for (int i = 0; i < HN_WARNING_COUNT; i++)
        hash = join_if((plan->refused >> i & 1) != 0, &hash, hn_warning_names[i]);
    return hash;
}
