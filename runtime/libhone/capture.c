/* SPDX-License-Identifier: MIT */
#include "runtime/libhone/library.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"
#include "cache/record/record.h"
#include "runtime/plan/capture_file.h"

/* Files hold rows without what lies between them. argument: NULL of what has none. */
static void add(struct hn_capture_writer *writer, json_t *list, const char *name,
                const struct hn_argument *argument, const struct hn_driver *driver,
                uint64_t address, uint64_t bytes, struct hn_error *err)
{
    if (argument != NULL && argument->shape.width != NULL && !hn_failed(err) &&
        (argument->shape.pitch != NULL || argument->shape.device))
        hn_fail(err, HN_ECONFIG, "argument '%s' has a pitch, which captures do not hold", name);
    hn_capture_add(writer, list, name, driver, address, bytes, err);
}

static void add_scalar(struct hn_capture_writer *writer, const struct hone_kernel *kernel,
                       size_t index, uint64_t bits, struct hn_error *err)
{
    const struct hn_lib_slot *slot = &kernel->slots[index];
    const struct hn_argument *argument = &kernel->plan->plan->arguments[index];
    const struct hn_value value = hn_element_value(bits, argument->element);
    if (slot->need == HONE_FIXED || !slot->taken)
        return;
    if (value.type == HN_REAL && !isfinite(value.real))
        hn_fail(err, HN_EVALUE, "argument '%s' is no finite number, which captures cannot hold",
                slot->name);
    else if (json_object_set_new(writer->scalars, slot->name, hn_value_to_json(&value)) != 0)
        hn_fail_memory(err);
}

/* What a slot holds before the launch. A structure is the contents of its input. */
static void add_slot(struct hn_capture_writer *writer, const struct hone_kernel *kernel,
                     size_t index, const uint64_t *values, struct hn_error *err)
{
    const struct hn_plan *plan = kernel->plan->plan;
    const struct hn_lib_slot *slot = &kernel->slots[index];
    const struct hn_argument *argument = &plan->arguments[index];
    const size_t source = hn_plan_source(plan, index);
    const uint64_t value = values[index];
    bool is_input = argument->role == HN_ROLE_INPUT || argument->role == HN_ROLE_INOUT;
    if (argument->value != NULL)
        add_scalar(writer, kernel, index, value, err);
    else if (argument->structure != NULL && slot->taken)
        hn_fail(err, HN_ECONFIG,
                "argument '%s' has fields, and captures do not hold the buffers that they point to",
                argument->name);
    else if (slot->kind == HONE_BYTES && !slot->mapped && value != 0)
        add(writer, writer->inputs, plan->arguments[source].name, NULL, NULL, value,
            slot->value_bytes, err);
    else if (slot->kind == HONE_TEXTURE && slot->taken && values[source] == 0)
        hn_fail(err, HN_ECONFIG,
                "a capture needs the buffer '%s' behind texture '%s' among the arguments",
                argument->from, argument->name);
    else if (slot->kind == HONE_BUFFER && is_input && value != 0)
        add(writer, writer->inputs, argument->name, argument, &kernel->cache->driver, value,
            slot->bytes, err);
}

/* What symbols take from inputs is there with these, where the launch is given them. */
static void add_symbol(struct hn_capture_writer *writer, const struct hone_kernel *kernel,
                       const struct hn_lib_symbol *symbol, struct hn_error *err)
{
    bool has = symbol->zeroed;
    size_t i;
    const json_t *item;
    json_array_foreach(writer->inputs, i, item)
    {
        has = has || strcmp(json_string_value(json_object_get(item, "name")), symbol->from) == 0;
    }
    if (!has)
        add(writer, writer->inputs, symbol->from, NULL, &kernel->cache->driver, symbol->address,
            symbol->bytes, err);
}

/* Into "DIR/scale-0.honecap", with the first number that no process has taken. */
static void begin(struct hn_capture_writer *writer, const struct hone_kernel *kernel,
                  struct hn_error *err)
{
    struct hone_cache *cache = kernel->cache;
    char *path = NULL;
    int taken;
    (void)mkdir(cache->capture_folder, 0777);
    do {
        free(path);
        if (asprintf(&path, "%s/%s-%ld.honecap", cache->capture_folder, kernel->name,
                     atomic_fetch_add(&cache->captures, 1)) < 0) {
            hn_fail_memory(err);
            return;
        }
        taken = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (taken < 0 && errno == EEXIST);
    writer->reserved = taken >= 0;
    hn_close(&taken);
    hn_capture_begin(writer, path, err);
}

static void wait_for(const struct hone_kernel *kernel, CUstream stream, struct hn_error *err)
{
    const struct hn_driver *driver = &kernel->cache->driver;
    if (!hn_failed(err))
        hn_driver_check(driver, driver->p_cuStreamSynchronize(stream), "waiting for the stream",
                        err);
}

/* What the launch wrote of all that is compared. Returns the rest of what the capture says. */
static json_t *add_results(struct hn_capture_writer *writer, const struct hone_kernel *kernel,
                           const uint64_t *values, struct hn_error *err)
{
    for (size_t i = 0; i < kernel->slot_count; i++) {
        const struct hn_argument *argument = &kernel->plan->plan->arguments[i];
        if (hn_argument_is_compared(argument) && kernel->slots[i].taken && values[i] != 0)
            add(writer, writer->expected, argument->name, argument, &kernel->cache->driver,
                values[i], kernel->slots[i].bytes, err);
    }
    const char *config = kernel->plan->plan->config;
    return json_pack("{s:s, s:s, s:o, s:o, s:s}", "kernel", kernel->name, "config",
                     config == NULL ? "" : config, "plan", json_deep_copy(kernel->plan->json),
                     "problem", hn_bindings_to_json(&kernel->problem), "point",
                     hone_kernel_info(kernel)->point);
}

void hn_lib_capture(struct hone_kernel *kernel, CUstream stream, uint64_t *values,
                    struct hn_error *err)
{
    struct hn_c_locale locale;
    struct hn_capture_writer writer = {.stream = NULL};
    json_t *head = NULL;
    struct hn_error why = {.status = HN_OK};
    bool wanted = atomic_fetch_add(&kernel->captured, 1) < kernel->cache->capture_launches;
    hn_c_locale_enter(&locale);
    if (wanted) {
        begin(&writer, kernel, &why);
        wait_for(kernel, stream, &why);
    }
    for (size_t i = 0; wanted && i < kernel->slot_count && !hn_failed(&why); i++)
        add_slot(&writer, kernel, i, values, &why);
    for (size_t i = 0; wanted && i < kernel->symbol_count && !hn_failed(&why); i++)
        add_symbol(&writer, kernel, &kernel->symbols[i], &why);
    hn_lib_launch_steps(kernel, stream, values, err);
    if (wanted && !hn_failed(err)) {
        wait_for(kernel, stream, &why);
        head = add_results(&writer, kernel, values, &why);
    }
    hn_capture_finish(&writer, head, &why);
    hn_c_locale_leave(&locale);
    if (hn_failed(&why) && !hn_failed(err))
        hn_lib_fail(err, HONE_CAPTURE_FAILED, "%s was launched, but not captured: %.900s",
                    kernel->name, why.message);
}
