/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cache/record/record.h"
#include "runtime/bench/support.h"
#include "runtime/plan/contents.h"
#include "tuner/commands/command.h"
#include "tuner/config/config_files.h"

struct inputs {
    const struct hn_given *given;
    const struct hn_plan *plan; /* of the problem: types may be among its values */
    json_t *problems;
};

/* As many rows, elements of them and lanes as there are. */
static size_t shape_of(const struct hn_argument *argument, const struct hn_value *values,
                       uint64_t shape[3], struct hn_error *err)
{
    size_t dimensions = 0;
    uint64_t bytes = 0, row = 0, pitch = 0;
    int64_t count = 0;
    unsigned lanes = argument->lanes;
    hn_argument_buffer_bytes(argument, values, &bytes, err);
    hn_argument_evaluate_rows(argument, values, &row, &pitch, err);
    hn_expression_integer(argument->count, values, &count, err);
    if (row > 0)
        shape[dimensions++] = (uint64_t)count * lanes / row;
    shape[dimensions++] = row > 0 ? row / lanes : (uint64_t)count;
    if (lanes > 1)
        shape[dimensions++] = lanes;
    return dimensions;
}

static void make_folder(const char *path, struct hn_error *err)
{
    if (!hn_failed(err) && mkdir(path, 0777) != 0 && errno != EEXIST)
        hn_fail(err, HN_ERUN, "cannot make the folder '%s': %s", path, strerror(errno));
}

/* From its data file, or by its fill: as the bench does. */
static void write_elements(const struct inputs *inputs, const struct hn_recipe *recipe,
                           const struct hn_value *values, FILE *to, struct hn_error *err)
{
    enum { PIECE = 1 << 20 };
    const struct hn_plan *plan = inputs->plan;
    enum hn_element element = plan->arguments[recipe->argument].element;
    size_t size = hn_element_size(element);
    FILE *from = NULL;
    char *path HN_FREED = NULL;
    if (recipe->fill.kind == HN_FILL_FILE &&
        hn_plan_data_path(plan, recipe->fill.file, values, &path, err) == HN_OK)
        hn_data_file_open(path, element, recipe->count, &from, err);
    unsigned char *piece HN_FREED = hn_need(PIECE, size);
    for (uint64_t at = 0; !hn_failed(err) && at < recipe->count; at += PIECE) {
        uint64_t count = recipe->count - at < PIECE ? recipe->count - at : PIECE;
        if (from != NULL)
            hn_data_file_read(from, piece, count * size, err);
        else
            hn_host_fill(recipe, element, inputs->given->options->search.seed, at, count, piece);
        if (!hn_failed(err))
            fwrite(piece, size, count, to);
    }
    if (from != NULL)
        fclose(from);
}

/* file: NULL: none, of what a reference would have to give. */
static json_t *shape_to_json(const struct hn_argument *argument, const char *file,
                             const uint64_t *shape, size_t dimensions)
{
    json_t *lengths = json_array();
    for (size_t i = 0; i < dimensions; i++)
        json_array_append_new(lengths, json_integer((json_int_t)shape[i]));
    return hn_needed(json_pack("{ss ss* ss so}", "argument", argument->name, "file", file, "type",
                               hn_element_name(argument->element), "shape", lengths));
}

/* A NumPy array (its manual: numpy.lib.format), whose elements follow. bfloat16 is uint16. */
static FILE *create_array(const char *path, enum hn_element element, const uint64_t *shape,
                          size_t dimensions, struct hn_error *err)
{
    enum { START = 10, ALIGNMENT = 64 };
    struct hn_text text = {0};
    size_t size = hn_element_size(element);
    bool has_type = element != HN_BFLOAT16 && element != HN_FLOAT8_E4M3;
    char kind = has_type ? hn_element_name(element)[0] : 'u';
    hn_text_printf(&text, "{'descr': '%c%c%zu', 'fortran_order': False, 'shape': (",
                   size == 1 ? '|' : '<', kind, size);
    for (size_t i = 0; i < dimensions; i++)
        hn_text_printf(&text, "%s%" PRIu64, i == 0 ? "" : ", ", shape[i]);
    hn_text_append(&text, dimensions == 1 ? ",), }" : "), }");
    size_t length = (START + text.length + ALIGNMENT) / ALIGNMENT * ALIGNMENT - START;
    char *header HN_FREED = hn_needed(hn_text_take(&text));
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        hn_fail(err, HN_ERUN, "cannot write '%s': %s", path, strerror(errno));
    else
        fprintf(file, "\x93NUMPY\1%c%c%c%-*s\n", 0, (int)(length & 0xff), (int)(length >> 8),
                (int)length - 1, header);
    return file;
}

static void write_input(const struct inputs *inputs, size_t argument, const char *folder,
                        const struct hn_value *values, json_t *files, struct hn_error *err)
{
    const struct hn_argument *input = &inputs->plan->arguments[argument];
    struct hn_recipe recipe;
    struct hn_error reason;
    uint64_t shape[3];
    char *path HN_FREED = NULL;
    size_t dimensions = shape_of(input, values, shape, err);
    if (!hn_failed(err) &&
        hn_recipe_make(inputs->plan, argument, values, &recipe, &reason) != HN_OK)
        hn_fail(err, reason.status, "argument '%s': found '%s', %s", input->name,
                hn_fill_names[input->fill.kind], reason.message);
    if (hn_failed(err))
        return;
    if (asprintf(&path, "%s/%s.npy", folder, input->name) < 0)
        path = hn_needed(NULL);
    hn_spare_inputs(inputs->given->options, "-o", path, inputs->plan, err);
    FILE *to = hn_failed(err) ? NULL : create_array(path, input->element, shape, dimensions, err);
    if (to != NULL) {
        write_elements(inputs, &recipe, values, to, err);
        bool failed = ferror(to) != 0;
        failed = fclose(to) != 0 || failed;
        if (failed && !hn_failed(err))
            hn_fail(err, HN_ERUN, "cannot write '%s': %s", path, strerror(errno));
    }
    bool told = !hn_failed(err) && !inputs->given->options->json && !inputs->given->options->quiet;
    if (!hn_failed(err))
        json_array_append_new(files, shape_to_json(input, path, shape, dimensions));
    if (told)
        printf("%s: %s", path, hn_element_name(input->element));
    for (size_t i = 0; told && i < dimensions; i++)
        printf("%s%llu", i == 0 ? " " : " x ", (unsigned long long)shape[i]);
    fputs(told ? "\n" : "", stdout);
}

/* Several problems have a folder each, by their values. */
static void write_problem(struct inputs *inputs, const struct hn_bindings *problem,
                          struct hn_error *err)
{
    struct hn_plan *own = NULL;
    struct hn_value *values HN_FREED = NULL;
    struct hn_text name = {0};
    hn_text_append(&name, inputs->given->options->output);
    if (inputs->given->config->problem_count > 1) {
        hn_text_append(&name, "/");
        hn_bindings_append(&name, problem);
    }
    char *folder HN_FREED = hn_needed(hn_text_take(&name));
    json_t *files = json_array(), *results = json_array();
    json_t *object = json_pack("{s:o, s:o, s:o}", "problem", hn_bindings_to_json(problem), "files",
                               files, "results", results);
    json_array_append_new(inputs->problems, hn_needed(object));
    hn_config_make_plan(inputs->given->config, problem, &own, err);
    const struct hn_plan *plan = inputs->plan = own != NULL ? own : inputs->given->config->plan;
    make_folder(folder, err);
    if (!hn_failed(err))
        hn_plan_values(plan, problem, &plan->defaults, &values, err);
    for (size_t i = 0; !hn_failed(err) && i < plan->argument_count; i++)
        if (hn_argument_is_filled(&plan->arguments[i]))
            write_input(inputs, i, folder, values, files, err);
    for (size_t i = 0; !hn_failed(err) && i < plan->argument_count; i++) {
        const struct hn_argument *argument = &plan->arguments[i];
        uint64_t shape[3];
        size_t dimensions =
            hn_argument_is_compared(argument) ? shape_of(argument, values, shape, err) : 0;
        if (dimensions > 0 && !hn_failed(err))
            json_array_append_new(results, shape_to_json(argument, NULL, shape, dimensions));
    }
    hn_plan_destroy(own);
}

static void run(struct hn_given *given, struct hn_error *err)
{
    const struct hn_config *config = given->config;
    struct inputs inputs = {.given = given, .problems = json_array()};
    json_t *root = hn_needed(
        json_pack("{ss ss sI so}", "config", config->path, "kernel", config->plan->kernel, "seed",
                  (json_int_t)given->options->search.seed, "problems", inputs.problems));
    hn_config_check_files(config, err);
    make_folder(given->options->output, err);
    for (size_t i = 0; !hn_failed(err) && i < config->problem_count; i++)
        write_problem(&inputs, &config->problems[i], err);
    hn_show_alone(given, root, NULL, err);
}

const struct hn_command hn_command_inputs = {
    .name = "inputs",
    .of = HN_INPUTS,
    .arguments = "CONFIG",
    .summary = "write the inputs of a problem as NumPy arrays; needs no GPU",
    .details =
        "One NAME.npy for each input that the config fills, and where there are several "
        "problems a folder for each. Another program can compute from them what is expected, "
        "for `reference: {files: ...}`.",
    .examples = "hone inputs scale.yaml -p n=65536 -o inputs",
    HN_ONE_ARGUMENT("expected a CONFIG, and a folder to write to: -o DIR",
                    "found '%s' after '%s', expected one CONFIG"),
    .config = HN_CONFIG,
    .run = run,
};
