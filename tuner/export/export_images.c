/* SPDX-License-Identifier: MIT */
#include "tuner/export/export_images.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device/device.h"
#include "runtime/process/machine.h"
#include "tuner/export/export_parts.h"
#include "tuner/workers/compile_pool.h"

enum { MOST_ARCHITECTURES = 32 };

struct architectures {
    bool specific; /* the plan asks for what only they have */
    char names[MOST_ARCHITECTURES][HN_ARCHITECTURE_SIZE];
    int capabilities[MOST_ARCHITECTURES];
    size_t count;
};

static enum hn_status add_architecture(struct architectures *architectures, const char *given,
                                       struct hn_error *err)
{
    struct hn_device device;
    char name[HN_ARCHITECTURE_SIZE];
    enum hn_status status = hn_device_for_architecture(given, &device, err);
    if (status != HN_OK)
        return status;
    hn_architecture_name(device.identity.name, architectures->specific, name);
    for (size_t i = 0; i < architectures->count; i++)
        if (strcmp(architectures->names[i], name) == 0)
            return HN_OK;
    if (architectures->count == MOST_ARCHITECTURES)
        return hn_fail(err, HN_EUSAGE, "--arch: found more than %d architectures",
                       MOST_ARCHITECTURES);
    memcpy(architectures->names[architectures->count], name, sizeof name);
    architectures->capabilities[architectures->count++] = device.identity.capability;
    return HN_OK;
}

static enum hn_status parse_architectures(struct architectures *architectures, const char *list,
                                          struct hn_error *err)
{
    enum hn_status status = HN_OK;
    while (status == HN_OK && *list != '\0') {
        char name[32];
        size_t length = strcspn(list, ",");
        snprintf(name, sizeof name, "%.*s", (int)(length < 31 ? length : 31), list);
        status = add_architecture(architectures, name, err);
        list += length + (list[length] == ',');
    }
    return status;
}

static enum hn_status choose_architectures(const struct hn_export *export, const char *list,
                                           struct architectures *architectures,
                                           struct hn_error *err)
{
    enum hn_status status = HN_OK;
    if (list != NULL)
        return parse_architectures(architectures, list, err);
    for (size_t i = 0; i < export->result_count && status == HN_OK; i++) {
        char name[16];
        snprintf(name, sizeof name, "sm_%d", export->results[i]->identity.device.capability);
        status = add_architecture(architectures, name, err);
    }
    return status;
}

/* *found: the cache keeps the machine code of that configuration for that architecture. */
static enum hn_status read_image(struct hn_store *store, const struct hn_export *export,
                                 struct hn_export_image *item, bool *found, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    *found = false;
    for (size_t i = 0; store != NULL && i < export->result_count && !*found; i++) {
        const struct hn_tuned *tuned = export->results[i];
        char *entries = NULL;
        char capability[16], name[HN_ARCHITECTURE_SIZE];
        snprintf(capability, sizeof capability, "%d", tuned->identity.device.capability);
        hn_architecture_name(capability, export->plan->arch_specific, name);
        if (export->config_of[i] != item->config || strcmp(name, item->architecture) != 0 ||
            strcmp(tuned->version.template_hash, export->template_hash) != 0)
            continue;
        status = hn_store_get_image(store, &tuned->identity, &tuned->version, &tuned->best.point,
                                    &item->image.cubin, &item->image.size, &entries, err);
        if (status == HN_ENOTFOUND)
            continue;
        if (status != HN_OK)
            return status;
        *found = true;
        status = hn_image_set_entries(&item->image, entries, err);
        free(entries);
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}

/* Borrows the texts that the export holds. */
static enum hn_status make_template(const struct hn_export *export, struct hn_template *template,
                                    struct hn_error *err)
{
    const struct hn_stored_plan *stored = &export->stored;
    *template = (struct hn_template){.path = export->plan->template_path,
                                     .text = (char *)(uintptr_t)hn_export_template(export)};
    if (template->text == NULL)
        return hn_fail(err, HN_EFORMAT, "the cache keeps a plan of '%s', but not its template %s",
                       export->kernel, export->plan->template_path);
    template->includes = calloc(stored->file_count + 1, sizeof *template->includes);
    if (template->includes == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < stored->file_count; i++)
        if (stored->files[i].text != template->text)
            template->includes[template->include_count++] =
                (struct hn_template_include){stored->files[i].name, stored->files[i].text};
    return HN_OK;
}

static enum hn_status submit(struct hn_compile_pool *pool, const struct hn_export *export,
                             const struct hn_template *template,
                             const struct hn_export_images *images, size_t number,
                             struct hn_error *err)
{
    const struct hn_export_image *item = &images->items[number];
    const struct hn_tuned *tuned = export->configs[item->config];
    struct hn_source source;
    enum hn_status status = hn_source_make(export->plan, template, &tuned->identity.problem,
                                           &tuned->best.point, &source, err);
    if (status != HN_OK)
        return status;
    status = hn_compile_pool_submit(pool, number, &source, item->architecture, err);
    hn_source_finish(&source);
    return status;
}

static enum hn_status check_compiled(const struct hn_export *export,
                                     const struct hn_export_image *item, struct hn_error *err)
{
    if (item->image.outcome == HN_OUTCOME_OK)
        return HN_OK;
    struct hn_text point = {0};
    hn_bindings_append(&point, &export->configs[item->config]->best.point);
    hn_fail(err, HN_ERUN, "'%s' does not compile for %s at %s: %s", export->kernel,
            item->architecture, point.failed ? "" : point.data,
            item->image.message == NULL ? hn_outcome_name(item->image.outcome)
                                        : item->image.message);
    hn_text_finish(&point);
    return HN_ERUN;
}

static enum hn_status wait_for(struct hn_compile_pool *pool, const struct hn_export *export,
                               struct hn_export_images *images, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    while (status == HN_OK && hn_compile_pool_pending(pool) > 0) {
        uint64_t number;
        struct hn_image image;
        status = hn_compile_pool_process(pool, err);
        while (status == HN_OK && hn_compile_pool_take(pool, &number, &image)) {
            images->items[number].image = image;
            images->items[number].compiled = true;
            status = check_compiled(export, &images->items[number], err);
        }
        if (status == HN_OK && hn_compile_pool_pending(pool) > 0)
            status = hn_compile_pool_sleep(pool, err);
    }
    return status;
}

static enum hn_status compile(const struct hn_export *export, const bool *missing,
                              const struct hn_export_images_request *request,
                              struct hn_export_images *images, struct hn_error *err)
{
    struct hn_compile_pool *pool = NULL;
    struct hn_template template;
    enum hn_status status = make_template(export, &template, err);
    if (status == HN_OK)
        pool = hn_compile_pool_create(request->jobs > 0 ? request->jobs : hn_machine_jobs(),
                                      request->compile_timeout_s);
    for (size_t i = 0; i < images->count && status == HN_OK; i++)
        if (missing[i])
            status = submit(pool, export, &template, images, i, err);
    if (status == HN_OK)
        status = wait_for(pool, export, images, err);
    hn_compile_pool_destroy(pool);
    free(template.includes);
    return status;
}

static enum hn_status read_images(struct hn_store *store, const struct hn_export *export,
                                  const struct architectures *architectures,
                                  struct hn_export_images *images, bool *missing, size_t *compiles,
                                  struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < export->count * architectures->count && status == HN_OK; i++) {
        struct hn_export_image *item = &images->items[images->count++];
        size_t architecture = i % architectures->count;
        bool found = false;
        hn_image_init(&item->image);
        item->config = i / architectures->count;
        item->capability = architectures->capabilities[architecture];
        memcpy(item->architecture, architectures->names[architecture], sizeof item->architecture);
        status = read_image(store, export, item, &found, err);
        missing[i] = !found;
        *compiles += !found;
    }
    return status;
}

enum hn_status hn_export_gather_images(struct hn_store *store, const struct hn_export *export,
                                       const struct hn_export_images_request *request,
                                       struct hn_export_images *images, struct hn_error *err)
{
    struct architectures architectures = {.specific =
                                              export->plan != NULL && export->plan->arch_specific};
    size_t compiles = 0;
    *images = (struct hn_export_images){.items = NULL};
    enum hn_status status = hn_export_need_plan(export, err);
    if (status == HN_OK)
        status = choose_architectures(export, request->architectures, &architectures, err);
    if (status != HN_OK)
        return status;
    size_t most = export->count * architectures.count;
    bool *missing = calloc(most + 1, sizeof *missing);
    images->items = calloc(most + 1, sizeof *images->items);
    status = missing == NULL || images->items == NULL ? hn_fail_memory(err) : HN_OK;
    if (status == HN_OK)
        status = read_images(store, export, &architectures, images, missing, &compiles, err);
    if (status == HN_OK && compiles > 0 && !request->quiet)
        fprintf(stderr, "compiling %zu of %zu images\n", compiles, images->count);
    if (status == HN_OK && compiles > 0)
        status = compile(export, missing, request, images, err);
    free(missing);
    return status;
}

void hn_export_images_finish(struct hn_export_images *images)
{
    for (size_t i = 0; i < images->count; i++)
        hn_image_finish(&images->items[i].image);
    free(images->items);
    *images = (struct hn_export_images){.items = NULL};
}
