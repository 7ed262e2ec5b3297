/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/export/export_parts.h"

/* The header with machine code: a program that includes it needs the driver and nothing else. And
 * the part of it that launches the whole plan with the driver. */

/* The contents of an argument are where the caller has them. */
static bool is_by_value(const struct hn_argument *argument)
{
    return argument->role != HN_ROLE_TEXTURE && argument->count == NULL &&
           (argument->value == NULL || argument->lanes > 1);
}

/* Whether the caller gives it. */
static bool is_parameter(const struct hn_plan *plan, size_t i)
{
    const struct hn_argument *argument = &plan->arguments[i];
    return hn_export_is_taken(plan, i) && hn_export_is_given(argument) &&
           argument->role != HN_ROLE_TENSOR_MAP;
}

/* ", CUdeviceptr argument_A" of each argument that the caller gives. */
static void write_parameters(struct hn_export_writer *writer)
{
    for (size_t i = 0; i < writer->plan->argument_count; i++) {
        const struct hn_argument *argument = &writer->plan->arguments[i];
        char type[32];
        if (!is_parameter(writer->plan, i))
            continue;
        if (argument->value != NULL)
            hn_export_need_one_type(writer->export, argument, writer->err);
        hn_type_format_c(argument->element, 1, type, sizeof type);
        hn_text_append(writer->text, ", ");
        hn_export_append_wrapped(writer->text, "\n    ", "%s%sargument_%s",
                                 argument->role == HN_ROLE_TEXTURE         ? "CUtexObject"
                                 : argument->count != NULL                 ? "CUdeviceptr"
                                 : is_by_value(argument)                   ? "const void"
                                 : argument->element == HN_FLOAT8_E4M3     ? "uint8_t"
                                 : hn_element_is_narrow(argument->element) ? "uint16_t"
                                                                           : type,
                                 is_by_value(argument) ? " *" : " ", argument->name);
    }
}

/* ", argument_A" of each. */
static void write_arguments(struct hn_export_writer *writer)
{
    for (size_t i = 0; i < writer->plan->argument_count; i++) {
        if (!is_parameter(writer->plan, i))
            continue;
        hn_text_append(writer->text, ", ");
        hn_export_append_wrapped(writer->text, "\n            ", "argument_%s",
                                 writer->plan->arguments[i].name);
    }
}

static size_t count_most_arguments(const struct hn_export *export)
{
    size_t most = 1;
    for (size_t i = 0; i < export->plan->step_count; i++)
        if (export->plan->steps[i].argument_count > most)
            most = export->plan->steps[i].argument_count;
    return most;
}

/* The addresses of a step's arguments. */
static void write_addresses(struct hn_export_writer *writer)
{
    static const char line_break[] = "\n         ";
    const struct hn_plan *plan = writer->plan;
    for (size_t s = 0; s < plan->step_count; s++) {
        const struct hn_step *step = &plan->steps[s];
        hn_text_append(writer->text, "        {");
        for (size_t i = 0; i < step->argument_count; i++) {
            const struct hn_argument *argument = &plan->arguments[step->arguments[i]];
            const char *separator = i + 1 < step->argument_count ? ", " : "";
            if (argument->role == HN_ROLE_TENSOR_MAP)
                hn_export_append_wrapped(writer->text, line_break, "&maps[%zu]%s",
                                         hn_export_map_number(plan, step->arguments[i]), separator);
            else if (!hn_export_is_given(argument))
                hn_export_append_wrapped(writer->text, line_break, "&size.%s_value%s",
                                         argument->name, separator);
            else
                hn_export_append_wrapped(writer->text, line_break, "%sargument_%s%s",
                                         is_by_value(argument) ? "(void *)(uintptr_t)" : "&",
                                         argument->name, separator);
        }
        hn_text_append(writer->text, step->argument_count > 0 ? "},\n" : "NULL},\n");
    }
}

static void write_zeroing(struct hn_export_writer *writer)
{
    for (size_t i = 0; i < writer->plan->argument_count; i++) {
        const struct hn_argument *argument = &writer->plan->arguments[i];
        if (argument->role == HN_ROLE_COUNTER && argument->zero != HN_ZERO_ONCE &&
            hn_export_is_taken(writer->plan, i))
            hn_text_printf(
                writer->text,
                "    if (result == CUDA_SUCCESS && argument_%s != 0)\n"
                "        result = cuMemsetD8Async(argument_%s, 0, size.%s_size, stream);\n",
                argument->name, argument->name, argument->name);
    }
}

/* How many steps have an expression at that place of their geometry. */
static size_t count_steps_with(const struct hn_export *export, size_t offset)
{
    size_t count = 0;
    for (size_t i = 0; i < export->plan->step_count; i++) {
        const char *geometry = (const char *)&export->plan->steps[i].geometry;
        count += *(struct hn_expression *const *)(const void *)(geometry + offset) != NULL;
    }
    return count;
}

#define WITH(member) count_steps_with(export, offsetof(struct hn_geometry, member))
HN_EXPORT_COUNT(dynamic, WITH(shared_bytes))
HN_EXPORT_COUNT(clusters, WITH(cluster))
HN_EXPORT_COUNT(carveout, WITH(carveout))
HN_EXPORT_COUNT(cooperative, WITH(cooperative))
HN_EXPORT_COUNT(programmatic, WITH(programmatic))
HN_EXPORT_COUNT(windows, WITH(window.parts[HN_WINDOW_BYTES]))
HN_EXPORT_COUNT(attributes, count_clusters(export) + count_cooperative(export) +
                                count_programmatic(export) + count_windows(export))

static void write_dynamic(struct hn_export_writer *writer)
{
    for (size_t i = 0; i < writer->plan->step_count; i++)
        hn_text_printf(writer->text, "%s%d", i > 0 ? ", " : "",
                       writer->plan->steps[i].geometry.shared_bytes != NULL);
}

/* "x or y": what is under the windows. */
static void write_window(struct hn_export_writer *writer)
{
    const char *separator = "";
    for (size_t i = 0; i < writer->plan->step_count; i++) {
        const struct hn_window_plan *window = &writer->plan->steps[i].geometry.window;
        if (window->parts[HN_WINDOW_BYTES] == NULL)
            continue;
        hn_text_printf(writer->text, "%s%s", separator,
                       writer->plan->arguments[window->argument].name);
        separator = " or ";
    }
}

/* The buffer under each step's window. */
static void write_windows(struct hn_export_writer *writer)
{
    for (size_t i = 0; i < writer->plan->step_count; i++) {
        const struct hn_window_plan *window = &writer->plan->steps[i].geometry.window;
        hn_text_append(writer->text, i > 0 ? ", " : "");
        if (window->parts[HN_WINDOW_BYTES] != NULL)
            hn_text_printf(writer->text, "argument_%s",
                           writer->plan->arguments[window->argument].name);
        else
            hn_text_append(writer->text, "0");
    }
}

static void write_driver(struct hn_export_writer *writer)
{
    if (writer->export->images != NULL)
        hn_export_fill(writer, hn_export_driver_skeleton);
}

static void write_architectures(struct hn_export_writer *writer)
{
    const struct hn_export_images *images = writer->export->images;
    for (size_t i = 0; i < images->count && images->items[i].config == 0; i++)
        hn_text_printf(writer->text, "%s%s", i > 0 ? ", " : "", images->items[i].architecture);
}

/* Words of 8 bytes: shorter than bytes, and quicker to compile. */
static void append_words(const struct hn_image *image, struct hn_text *text)
{
    const unsigned char *bytes = image->cubin;
    for (size_t at = 0; at < image->size; at += 8) {
        uint64_t word = 0;
        for (size_t i = 0; i < 8 && at + i < image->size; i++)
            word |= (uint64_t)bytes[at + i] << (8 * i);
        hn_text_printf(text, "%s0x%llxu,", at % 48 == 0 ? "\n    " : " ", (unsigned long long)word);
    }
}

static void write_images(struct hn_export_writer *writer)
{
    const struct hn_export_images *images = writer->export->images;
    for (size_t i = 0; i < images->count; i++) {
        hn_text_printf(
            writer->text, "static const uint64_t %s_image_%zu[] = { /* configuration %zu, %s */",
            writer->export->lower, i, images->items[i].config, images->items[i].architecture);
        append_words(&images->items[i].image, writer->text);
        hn_text_append(writer->text, "\n};\n");
    }
}

/* The kernel of each step of an image's configuration, of those launched for its problem; NULL
 * where it has no such step. */
static void append_entries(const struct hn_export_writer *writer,
                           const struct hn_export_image *item)
{
    const struct hn_plan *plan = writer->plan;
    char *const *launched = item->image.entries;
    for (size_t i = 0; i < plan->step_count; i++) {
        bool applies = false;
        const struct hn_step *step = &plan->steps[i];
        if (hn_expression_holds(step->condition, writer->codes[item->config].values, &applies,
                                writer->err) != HN_OK)
            return;
        bool may_apply = !applies && hn_plan_problem_used(plan, step->condition) != NULL &&
                         hn_text_is_word(step->entry);
        hn_text_append(writer->text, i > 0 ? ", " : "");
        hn_export_append_literal(writer->text, applies     ? *launched++
                                               : may_apply ? step->entry
                                                           : NULL);
    }
}

static void write_rows(struct hn_export_writer *writer)
{
    const struct hn_export_images *images = writer->export->images;
    for (size_t i = 0; i < images->count && !hn_failed(writer->err); i++) {
        const struct hn_export_image *item = &images->items[i];
        bool exact = strpbrk(item->architecture + 3, "af") != NULL;
        hn_text_printf(writer->text, "    {%zu, %d, %d, %s_image_%zu, {", item->config,
                       item->capability, exact, writer->export->lower, i);
        append_entries(writer, item);
        hn_text_append(writer->text, "}},\n");
    }
}

static void write_header(struct hn_export_writer *writer)
{
    hn_export_header(writer->export, writer->text, writer->err);
}

const struct hn_export_part hn_export_driver_parts[] = {
    {"architectures", .write = write_architectures},
    {"header", .write = write_header},
    {"images", .write = write_images},
    {"image_rows", .write = write_rows},
    {"driver_part", .write = write_driver},
    {"launch_parameters", .write = write_parameters},
    {"launch_arguments", .write = write_arguments},
    {"most_arguments", .count = count_most_arguments},
    {"address_rows", .write = write_addresses},
    {"zeroing", .write = write_zeroing},
    {"dynamic", .count = count_dynamic},
    {"dynamic_steps", .write = write_dynamic},
    {"clusters", .count = count_clusters},
    {"carveout", .count = count_carveout},
    {"cooperative", .count = count_cooperative},
    {"programmatic", .count = count_programmatic},
    {"window", .write = write_window},
    {"windows", .count = count_windows},
    {"window_buffers", .write = write_windows},
    {"attributes", .count = count_attributes},
    {0},
};
