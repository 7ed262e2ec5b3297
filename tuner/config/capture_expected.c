/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/config/capture.h"

/* The reference of a captured launch: a kernel that copies what was captured into the outputs. It
 * takes how many there are, and of each what it is to be, the output, and its bytes; these
 * arguments are added to the plan, for nobody else. */

static const char entry[] = "hone_expected";

static enum hn_status write_template(const char *path, size_t count, struct hn_error *err)
{
    struct hn_text text;
    hn_text_init(&text);
    hn_text_append(&text, "// What a program's launch gave, as the reference of its tuning.\n"
                          "typedef unsigned long long size;\n"
                          "static __device__ void copy(const char *from, char *to, size bytes)\n{\n"
                          "    for (size i = blockIdx.x * (size)blockDim.x + threadIdx.x; i < "
                          "bytes; i += (size)gridDim.x * blockDim.x)\n"
                          "        to[i] = from[i];\n}\n\n");
    hn_text_printf(&text, "extern \"C\" __global__ void %s(int count", entry);
    for (size_t i = 0; i < count; i++)
        hn_text_printf(&text, ", const char *from%zu, char *to%zu, size bytes%zu", i, i, i);
    hn_text_append(&text, ")\n{\n");
    for (size_t i = 0; i < count; i++)
        hn_text_printf(&text, "    copy(from%zu, to%zu, bytes%zu);\n", i, i, i);
    hn_text_append(&text, "}\n");
    enum hn_status status =
        text.failed ? hn_fail_memory(err) : hn_text_write_file(path, text.data, text.length, err);
    hn_text_finish(&text);
    return status;
}

/* The next argument of the plan, which has room for it. */
static struct hn_argument *add_argument(struct hn_plan *plan, const char *name)
{
    struct hn_argument *argument = &plan->arguments[plan->argument_count];
    *argument = (struct hn_argument){.lanes = 1};
    if (asprintf(&argument->name, "%s%s", HN_EXPECTED_PREFIX, name) < 0)
        return NULL;
    plan->argument_count++;
    return argument;
}

static enum hn_status parse_number(uint64_t number, struct hn_expression **expression,
                                   struct hn_error *err)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    return hn_expression_parse(text, expression, err);
}

static enum hn_status add_number(struct hn_plan *plan, const char *name, enum hn_element element,
                                 uint64_t number, struct hn_error *err)
{
    struct hn_argument *argument = add_argument(plan, name);
    if (argument == NULL)
        return hn_fail_memory(err);
    argument->role = HN_ROLE_VALUE;
    argument->element = element;
    return parse_number(number, &argument->value, err);
}

static enum hn_status add_buffer(struct hn_plan *plan, size_t output,
                                 const struct hn_expected *expected, struct hn_error *err)
{
    struct hn_argument *argument = add_argument(plan, expected->name);
    if (argument == NULL)
        return hn_fail_memory(err);
    argument->role = HN_ROLE_INPUT;
    argument->element = plan->arguments[output].element;
    argument->lanes = plan->arguments[output].lanes;
    argument->fill = (struct hn_fill){.kind = HN_FILL_FILE, .file = strdup(expected->file)};
    if (argument->fill.file == NULL)
        return hn_fail_memory(err);
    /* As many as the output has: a file of another size is refused when it is read. */
    return hn_expression_copy(plan->arguments[output].count, &argument->count, err);
}

static enum hn_status add_pair(struct hn_plan *plan, const struct hn_expected *expected,
                               struct hn_error *err)
{
    char name[256];
    struct hn_step *step = &plan->reference.step;
    size_t output = (size_t)(hn_plan_find_argument(plan, expected->name) - plan->arguments);
    enum hn_status status = add_buffer(plan, output, expected, err);
    if (status != HN_OK)
        return status;
    step->arguments[step->argument_count++] = plan->argument_count - 1;
    step->arguments[step->argument_count++] = output;
    snprintf(name, sizeof name, "bytes_%.200s", expected->name);
    status = add_number(plan, name, HN_UINT64, expected->bytes, err);
    if (status == HN_OK)
        step->arguments[step->argument_count++] = plan->argument_count - 1;
    return status;
}

/* In place of the config's own. */
static enum hn_status start_step(struct hn_plan *plan, size_t pairs, const char *template_path,
                                 struct hn_error *err)
{
    struct hn_reference *reference = &plan->reference;
    hn_reference_finish(reference);
    reference->kind = HN_REFERENCE_TEMPLATE;
    reference->template_path = strdup(template_path);
    reference->step.entry = strdup(entry);
    reference->step.arguments = calloc(3 * pairs + 1, sizeof *reference->step.arguments);
    if (reference->template_path == NULL || reference->step.entry == NULL ||
        reference->step.arguments == NULL)
        return hn_fail_memory(err);
    enum hn_status status = parse_number(256, &reference->step.geometry.block[0], err);
    return status == HN_OK ? parse_number(1024, &reference->step.geometry.grid[0], err) : status;
}

enum hn_status hn_capture_expect(struct hn_plan *plan, const struct hn_expected *expected,
                                 size_t count, const char *template_path, struct hn_error *err)
{
    struct hn_argument *grown =
        realloc(plan->arguments, (plan->argument_count + 2 * count + 1) * sizeof *grown);
    if (grown == NULL)
        return hn_fail_memory(err);
    plan->arguments = grown;
    enum hn_status status = start_step(plan, count, template_path, err);
    if (status == HN_OK)
        status = add_number(plan, "count", HN_INT32, count, err);
    if (status == HN_OK)
        plan->reference.step.arguments[plan->reference.step.argument_count++] =
            plan->argument_count - 1;
    for (size_t i = 0; status == HN_OK && i < count; i++)
        status = add_pair(plan, &expected[i], err);
    if (status == HN_OK)
        status = write_template(template_path, count, err);
    return status == HN_OK ? hn_plan_bind(plan, NULL, err) : status;
}
