/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/run.h"
#include "runtime/device/device.h"
#include "runtime/process/process.h"
#include "tuner/export/export_parts.h"
#include "tuner/workers/compile_pool.h"

enum { MOST_ARCHITECTURES = 32 };

struct architectures {
    bool specific; /* the plan asks for what only they have */
    char names[MOST_ARCHITECTURES][HN_ARCHITECTURE_SIZE];
    int capabilities[MOST_ARCHITECTURES];
    size_t count;
};

static void add_architecture(struct architectures *architectures, const char *given,
                             struct hn_error *err)
{
    struct hn_device device;
    char name[HN_ARCHITECTURE_SIZE];
    if (hn_failed(err) || hn_device_for_architecture(given, &device, err) != HN_OK)
        return;
    hn_architecture_name(device.identity.name, architectures->specific, name);
    for (size_t i = 0; i < architectures->count; i++)
        if (strcmp(architectures->names[i], name) == 0)
            return;
    if (architectures->count == MOST_ARCHITECTURES) {
        hn_fail(err, HN_EUSAGE, "--arch: found more than %d architectures", MOST_ARCHITECTURES);
        return;
    }
    memcpy(architectures->names[architectures->count], name, sizeof name);
    architectures->capabilities[architectures->count++] = device.identity.capability;
}

/* Those of a list, or where there is none those that were tuned. */
static void choose_architectures(const struct hn_export *export, const char *list,
                                 struct architectures *architectures, struct hn_error *err)
{
    char name[32];
    for (size_t i = 0; list == NULL && i < export->result_count; i++) {
        snprintf(name, sizeof name, "sm_%d", export->results[i]->identity.device.capability);
        add_architecture(architectures, name, err);
    }
    while (list != NULL && *list != '\0') {
        size_t length = strcspn(list, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, list);
        add_architecture(architectures, name, err);
        list += length + (list[length] == ',');
    }
}

/* Whether the cache keeps the machine code of that configuration for that architecture. */
static bool read_image(const struct hn_export *export, struct hn_export_image *item,
                       struct hn_error *err)
{
    struct hn_store *store = export->store;
    for (size_t i = 0; store != NULL && i < export->result_count && !hn_failed(err); i++) {
        const struct hn_tuned *tuned = export->results[i];
        char *entries HN_FREED = NULL;
        char capability[16], name[HN_ARCHITECTURE_SIZE];
        struct hn_error reason;
        snprintf(capability, sizeof capability, "%d", tuned->identity.device.capability);
        hn_architecture_name(capability, export->plan->arch_specific, name);
        if (export->config_of[i] != item->config || strcmp(name, item->architecture) != 0 ||
            strcmp(tuned->version.template_hash, export->template_hash) != 0)
            continue;
        enum hn_status status =
            hn_store_get_image(store, &tuned->identity, &tuned->version, &tuned->best.point,
                               &item->image.cubin, &item->image.size, &entries, &reason);
        if (status == HN_OK)
            hn_image_set_entries(&item->image, entries, err);
        else if (status != HN_ENOTFOUND)
            *err = reason;
        if (status == HN_OK)
            return true;
    }
    return false;
}

/* Borrows the texts that the export holds. */
static struct hn_template make_template(const struct hn_export *export, struct hn_error *err)
{
    const struct hn_stored_plan *stored = &export->stored;
    struct hn_template template = {.files = hn_need(stored->file_count + 1, sizeof *template.files),
                                   .file_count = 1};
    *template.files = (struct hn_text_file){export->plan->template_path,
                                            (char *)(uintptr_t)hn_export_template(export, err)};
    for (size_t i = 0; i < stored->file_count; i++)
        if (stored->files[i].text != template.files->text)
            template.files[template.file_count++] = stored->files[i];
    return template;
}

static void wait_for(struct hn_compile_pool *pool, const struct hn_export *export,
                     struct hn_export_images *images, struct hn_error *err)
{
    uint64_t number;
    struct hn_image image;
    while (hn_compile_pool_wait(pool, NULL, &number, &image, err)) {
        struct hn_export_image *item = &images->items[number];
        item->image = image;
        if (image.outcome == HN_OUTCOME_OK)
            continue;
        char *point HN_FREED =
            hn_needed(hn_bindings_text(&export->configs[item->config]->best.point));
        hn_fail(err, HN_ERUN, "'%s' does not compile for %s at %s: %s", export->kernel,
                item->architecture, point,
                image.message == NULL ? hn_outcome_names[image.outcome] : image.message);
    }
}

static void compile(const struct hn_export *export, struct hn_export_images *images,
                    struct hn_error *err)
{
    const struct hn_export_compiling *how = &export->compiling;
    size_t missing = 0;
    for (size_t i = 0; i < images->count; i++)
        missing += images->items[i].missing;
    if (hn_failed(err) || missing == 0)
        return;
    if (!how->quiet)
        fprintf(stderr, "compiling %zu of %zu images\n", missing, images->count);
    struct hn_template template = make_template(export, err);
    struct hn_compile_pool *pool = hn_compile_pool_create(
        how->jobs > 0 ? how->jobs : hn_machine_jobs(), how->timeout_s, HN_COMPILE_START_S);
    for (size_t i = 0; i < images->count; i++) {
        const struct hn_export_image *item = &images->items[i];
        const struct hn_tuned *tuned = export->configs[item->config];
        struct hn_source source HN_ENDED_BY(hn_source_finish) = {0};
        if (!item->missing || hn_failed(err) ||
            hn_source_make(export->plan, &template, &tuned->identity.problem, &tuned->best.point,
                           &source, err) != HN_OK)
            continue;
        hn_compile_pool_submit(pool, i, &source, item->architecture, err);
    }
    wait_for(pool, export, images, err);
    hn_compile_pool_destroy(pool);
    free(template.files);
}

/* Takes what the cache keeps, and compiles the rest in worker processes. HN_EUSAGE: an architecture
 * that is not known; HN_ERUN: something does not compile. */
static void gather(const struct hn_export *export, struct hn_export_images *images,
                   struct hn_error *err)
{
    struct architectures architectures = {.specific = export->plan->arch_specific};
    choose_architectures(export, export->compiling.architectures, &architectures, err);
    size_t most = export->count * architectures.count;
    images->items = hn_need(most, sizeof *images->items);
    for (size_t i = 0; i < most && !hn_failed(err); i++) {
        struct hn_export_image *item = &images->items[images->count++];
        size_t architecture = i % architectures.count;
        item->image = HN_NO_IMAGE;
        item->config = i / architectures.count;
        item->capability = architectures.capabilities[architecture];
        memcpy(item->architecture, architectures.names[architecture], sizeof item->architecture);
        item->missing = !read_image(export, item, err);
    }
    compile(export, images, err);
}

static enum hn_status write_cubin_header(const struct hn_export *export, struct hn_text *text,
                                         struct hn_error *err)
{
    struct hn_export_images images = {.count = 0};
    struct hn_export with_images = *export;
    if (export->untuned && export->rule == NULL && export->compiling.architectures == NULL)
        return hn_fail(
            err, HN_EUSAGE,
            "--defaults: nothing was tuned, so no architecture is known; name it with --arch");
    if (hn_export_need_plan(export, err) != HN_OK)
        return err->status;
    if (export->plan->pipeline != NULL)
        return hn_fail(
            err, HN_ECONFIG,
            "the pipeline of '%s' spans host and device, which a header does not launch; "
            "export the header alone, source or cubin",
            export->kernel);
    hn_interrupt_install();
    gather(export, &images, err);
    with_images.images = &images;
    hn_export_write(&with_images, hn_export_embedded_skeleton, text, err);
    HN_FREE_EACH(cell, images.items, images.count, hn_image_finish(&cell->image));
    return err->status;
}

const struct hn_export_format hn_export_cubin_header = {
    .name = "cubin-header", .write = write_cubin_header, .takes_defaults = true, .has_all = true};

/* The header with machine code: a program that includes it needs the driver and nothing else. And
 * the part of it that launches the whole plan with the driver. */

/* The contents of an argument are where the caller has them. */
static bool is_by_value(const struct hn_argument *argument)
{
    return argument->role != HN_ROLE_TEXTURE && argument->count == NULL &&
           (argument->value == NULL || argument->lanes > 1);
}

json_t *hn_export_parameters_to_json(const struct hn_export_writer *writer)
{
    json_t *parameters = json_array();
    for (size_t i = 0; i < writer->plan->argument_count; i++) {
        const struct hn_argument *argument = &writer->plan->arguments[i];
        char type[32];
        if (!hn_export_is_taken(writer->plan, i) || !hn_export_is_given(argument) ||
            argument->role == HN_ROLE_TENSOR_MAP)
            continue;
        if (argument->value != NULL)
            hn_export_need_one_type(writer->export, argument, writer->err);
        hn_type_format_c(argument->element, 1, type, sizeof type);
        const char *own = argument->role == HN_ROLE_TEXTURE         ? "CUtexObject"
                          : argument->count != NULL                 ? "CUdeviceptr"
                          : is_by_value(argument)                   ? "const void"
                          : argument->element == HN_FLOAT8_E4M3     ? "uint8_t"
                          : hn_element_is_narrow(argument->element) ? "uint16_t"
                                                                    : type;
        json_array_append_new(parameters, json_pack("{ss so}", "name", argument->name, "declared",
                                                    json_sprintf("%s%sargument_%s", own,
                                                                 is_by_value(argument) ? " *" : " ",
                                                                 argument->name)));
    }
    return parameters;
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

/* The first image with the same machine code: configurations may differ in their launch alone. */
static size_t first_of(const struct hn_export_images *images, size_t number)
{
    const struct hn_image *own = &images->items[number].image;
    size_t first = 0;
    for (; first < number; first++) {
        const struct hn_image *other = &images->items[first].image;
        if (other->size == own->size && memcmp(other->cubin, own->cubin, own->size) == 0)
            break;
    }
    return first;
}

/* Words of 8 bytes: shorter than bytes, and quicker to compile. */
static void write_images(struct hn_export_writer *writer)
{
    const struct hn_export_images *images = writer->export->images;
    for (size_t i = 0; i < images->count; i++) {
        const struct hn_image *image = &images->items[i].image;
        const unsigned char *bytes = image->cubin;
        if (first_of(images, i) < i)
            continue;
        hn_text_printf(
            writer->text, "static const uint64_t %s_image_%zu[] = { /* configuration %zu, %s */",
            writer->export->lower, i, images->items[i].config, images->items[i].architecture);
        for (size_t at = 0; at < image->size; at += 8) {
            uint64_t word = 0;
            for (size_t k = 0; k < 8 && at + k < image->size; k++)
                word |= (uint64_t)bytes[at + k] << (8 * k);
            hn_text_printf(writer->text, "%s0x%llxu,", at % 48 == 0 ? "\n    " : " ",
                           (unsigned long long)word);
        }
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
        const struct hn_step *step = &plan->steps[i];
        bool applies =
            hn_expression_holds(step->condition, writer->codes[item->config].values, writer->err);
        if (hn_failed(writer->err))
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
                       item->capability, exact, writer->export->lower, first_of(images, i));
        append_entries(writer, item);
        hn_text_append(writer->text, "}},\n");
    }
}

static void write_header(struct hn_export_writer *writer)
{
    hn_export_header.write(writer->export, writer->text, writer->err);
}

const struct hn_export_part hn_export_driver_parts[] = {
    {"header", write_header},
    {"images", write_images},
    {"image_rows", write_rows},
    {"address_rows", write_addresses},
    {0},
};
