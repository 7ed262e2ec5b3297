/* SPDX-License-Identifier: MIT */
#include "runtime/libhone/library.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cache/record/record_json.h"
#include "runtime/plan/capture_file.h"

/* What the default point makes of a launch's arguments, in memory of its own. */
struct default_run {
    struct hone_kernel *kernel;
    CUdeviceptr outputs[HN_LIB_MAX_ARGUMENTS]; /* of the slots that are compared; 0: of none */
};

/* The statuses of the parts that callers see, as those of the rest. */
static enum hn_status take(enum hone_status status, const struct hone_error *reason,
                           struct hn_error *err)
{
    return status == HONE_OK ? HN_OK : hn_fail(err, HN_ERUN, "%s", reason->message);
}

static enum hn_status make_kernel(struct hone_kernel *kernel, struct hone_kernel **made,
                                  struct hn_error *err)
{
    struct hone_error reason = {.message = ""};
    struct hn_image image;
    bool allowed = false;
    bool compiled = false;
    static const struct hone_options options = {.on_miss = HONE_MISS_DEFAULT};
    const struct hn_lib_choice choice = {.kernel = kernel->name,
                                         .plan = kernel->plan,
                                         .problem = &kernel->problem,
                                         .point = &kernel->plan->plan->defaults,
                                         .device = kernel->device,
                                         .context = kernel->context,
                                         .options = &options};
    enum hn_status allows =
        hn_plan_allows(kernel->plan->plan, &kernel->problem, choice.point, &allowed, err);
    if (allows != HN_OK)
        return allows;
    if (!allowed)
        return hn_fail(err, HN_ECONFIG, "the default point is not valid for this problem");
    hn_image_init(&image);
    pthread_mutex_lock(&kernel->cache->lock);
    enum hone_status status = hn_lib_image_get(kernel->cache, &choice, &image, &compiled, &reason);
    if (status == HONE_OK)
        status = hn_lib_kernel_make(kernel->cache, &choice, &image, NULL, made, &reason);
    if (status == HONE_OK)
        status = hn_lib_info_make(*made, &choice, compiled, &reason);
    pthread_mutex_unlock(&kernel->cache->lock);
    hn_image_finish(&image);
    return take(status, &reason, err);
}

/* From the variables of the launched kernel, or the buffers that they take their contents from. */
static enum hn_status copy_symbols(const struct hone_kernel *kernel, const struct hone_kernel *to,
                                   CUstream stream, const uint64_t *values, struct hn_error *err)
{
    const struct hn_driver *driver = &kernel->cache->driver;
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < to->symbol_count; i++) {
        const struct hn_lib_symbol *symbol = &to->symbols[i];
        CUdeviceptr from = 0;
        for (size_t s = 0; s < kernel->symbol_count; s++)
            if (strcmp(kernel->symbols[s].name, symbol->name) == 0)
                from = kernel->symbols[s].address;
        for (size_t s = 0; from == 0 && s < kernel->slot_count; s++)
            if (kernel->slots[s].kind == HONE_BUFFER &&
                strcmp(kernel->slots[s].name, symbol->from) == 0)
                from = values[s];
        if (symbol->zeroed)
            continue;
        if (from == 0)
            return hn_fail(err, HN_ECONFIG, "the default point needs symbol '%s', which is not set",
                           symbol->name);
        status = hn_driver_check(
            driver, driver->p_cuMemcpyDtoDAsync(symbol->address, from, symbol->bytes, stream),
            symbol->name, err);
    }
    return status;
}

/* A buffer of the default run's own for what kernels write and is compared. */
static enum hn_status make_output(const struct hone_kernel *kernel, size_t slot, CUstream stream,
                                  const uint64_t *values, CUdeviceptr *output, struct hn_error *err)
{
    const struct hn_driver *driver = &kernel->cache->driver;
    uint64_t bytes = kernel->slots[slot].bytes;
    enum hn_status status = hn_driver_check(driver, driver->p_cuMemAlloc(output, bytes),
                                            "memory for the default point's output", err);
    if (status != HN_OK) {
        *output = 0;
        return status;
    }
    bool is_inout = kernel->plan->plan->arguments[slot].role == HN_ROLE_INOUT;
    CUresult result = is_inout ? driver->p_cuMemcpyDtoDAsync(*output, values[slot], bytes, stream)
                               : driver->p_cuMemsetD8Async(*output, 0, bytes, stream);
    return hn_driver_check(driver, result, "the default point's output", err);
}

static enum hn_status choose_values(const struct hone_kernel *kernel, CUstream stream,
                                    const uint64_t *values, struct default_run *run, uint64_t *own,
                                    struct hn_error *err)
{
    CUdeviceptr base = 0;
    struct hone_error reason = {.message = ""};
    const struct hone_kernel *to = run->kernel;
    enum hn_status status = HN_OK;
    if (to->workspace_bytes > 0)
        status = take(hn_lib_workspace_get(run->kernel, stream, &base, &reason), &reason, err);
    for (size_t i = 0; status == HN_OK && i < to->slot_count; i++) {
        const struct hn_lib_slot *slot = &to->slots[i];
        const struct hn_argument *argument = &kernel->plan->plan->arguments[i];
        own[i] = values[i];
        if (slot->need == HONE_FIXED || (argument->value != NULL && !kernel->slots[i].taken))
            own[i] = slot->preset;
        else if (slot->mapped)
            own[i] = 0;
        else if (slot->need == HONE_OWNED)
            own[i] = base + slot->preset;
        else if (hn_argument_is_compared(argument) && slot->taken) {
            status = make_output(kernel, i, stream, values, &run->outputs[i], err);
            own[i] = run->outputs[i];
        } else if (slot->taken && values[i] == 0 && argument->value == NULL)
            status = hn_fail(err, HN_ECONFIG, "the default point takes '%s', which is not given",
                             slot->name);
    }
    return status;
}

static enum hn_status run_default(struct hone_kernel *kernel, CUstream stream,
                                  const uint64_t *values, struct default_run *run,
                                  struct hn_error *err)
{
    uint64_t own[HN_LIB_MAX_ARGUMENTS];
    struct hone_error reason = {.message = ""};
    const struct hn_driver *driver = &kernel->cache->driver;
    *run = (struct default_run){.kernel = NULL};
    enum hn_status status = make_kernel(kernel, &run->kernel, err);
    if (status == HN_OK)
        status = copy_symbols(kernel, run->kernel, stream, values, err);
    if (status == HN_OK)
        status = choose_values(kernel, stream, values, run, own, err);
    if (status == HN_OK)
        status = take(hn_lib_launch_steps(run->kernel, stream, own, &reason), &reason, err);
    if (status == HN_OK)
        status = hn_driver_check(driver, driver->p_cuStreamSynchronize(stream),
                                 "running the default point", err);
    return status;
}

static void finish_default_run(const struct hone_kernel *kernel, struct default_run *run)
{
    for (size_t i = 0; i < HN_LIB_MAX_ARGUMENTS; i++)
        if (run->outputs[i] != 0)
            kernel->cache->driver.p_cuMemFree(run->outputs[i]);
    hn_lib_kernel_destroy(run->kernel);
}

/* One capture on its way. */
struct capture {
    struct hone_kernel *kernel;
    const uint64_t *values;
    struct hn_capture_file file;
    json_t *inputs;
    json_t *expected;
    json_t *scalars;
};

/* Contents that are packed: on the device or, for structures, on the host. */
struct contents {
    const struct hone_cache *cache;
    CUdeviceptr device;
    const unsigned char *host; /* NULL: on the device */
};

static enum hn_status read_contents(void *from, uint64_t offset, void *to, size_t bytes,
                                    struct hn_error *err)
{
    const struct contents *contents = from;
    if (contents->host != NULL) {
        memcpy(to, contents->host + offset, bytes);
        return HN_OK;
    }
    const struct hn_driver *driver = &contents->cache->driver;
    return hn_driver_check(driver, driver->p_cuMemcpyDtoH(to, contents->device + offset, bytes),
                           "cuMemcpyDtoH", err);
}

static enum hn_status add(struct capture *capture, json_t *list, const char *name,
                          const struct contents *contents, uint64_t bytes, struct hn_error *err)
{
    uint64_t packed = 0;
    struct contents own = *contents;
    uint64_t offset = capture->file.written;
    enum hn_status status =
        hn_capture_pack(&capture->file, bytes, read_contents, &own, &packed, err);
    if (status != HN_OK)
        return status;
    json_t *item = json_pack("{s:s, s:I, s:I, s:I}", "name", name, "bytes", (json_int_t)bytes,
                             "offset", (json_int_t)offset, "packed", (json_int_t)packed);
    return item != NULL && json_array_append_new(list, item) == 0 ? HN_OK : hn_fail_memory(err);
}

/* Files hold rows without what lies between them. */
static enum hn_status check_rows(const struct hn_argument *argument, struct hn_error *err)
{
    if (argument->shape.width == NULL || (argument->shape.pitch == NULL && !argument->shape.device))
        return HN_OK;
    return hn_fail(err, HN_ECONFIG, "argument '%s' has a pitch, which captures do not hold",
                   argument->name);
}

static enum hn_status add_scalar(struct capture *capture, size_t index, struct hn_error *err)
{
    const struct hn_lib_slot *slot = &capture->kernel->slots[index];
    const struct hn_argument *argument = &capture->kernel->plan->plan->arguments[index];
    struct hn_value value = hn_integer((int64_t)capture->values[index]);
    if (slot->need == HONE_FIXED)
        return HN_OK;
    if (hn_element_is_real(argument->element))
        value = hn_real(hn_element_decode(&capture->values[index], argument->element));
    else if (argument->element <= HN_INT32) /* the sign */
        value = hn_integer((int64_t)(capture->values[index] << (64 - 8 * slot->value_bytes)) >>
                           (64 - 8 * slot->value_bytes));
    if (value.type == HN_REAL && !isfinite(value.real))
        return hn_fail(err, HN_EVALUE,
                       "argument '%s' is no finite number, which captures can not "
                       "hold",
                       slot->name);
    return json_object_set_new(capture->scalars, slot->name, hn_value_to_json(&value)) == 0
               ? HN_OK
               : hn_fail_memory(err);
}

/* What a slot holds before the launch. A structure is the contents of its input. */
static enum hn_status add_slot(struct capture *capture, size_t index, struct hn_error *err)
{
    const struct hone_kernel *kernel = capture->kernel;
    const struct hn_plan *plan = kernel->plan->plan;
    const struct hn_lib_slot *slot = &kernel->slots[index];
    const struct hn_argument *argument = &plan->arguments[index];
    struct contents contents = {.cache = kernel->cache, .device = capture->values[index]};
    if (argument->value != NULL)
        return slot->taken ? add_scalar(capture, index, err) : HN_OK;
    if (slot->mapped || (slot->kind == HONE_BYTES && capture->values[index] == 0))
        return HN_OK;
    if (slot->kind == HONE_BYTES) {
        contents.host = (const unsigned char *)(uintptr_t)capture->values[index];
        return add(capture, capture->inputs, plan->arguments[hn_plan_source(plan, index)].name,
                   &contents, slot->value_bytes, err);
    }
    if (slot->kind == HONE_TEXTURE && slot->taken &&
        capture->values[hn_plan_source(plan, index)] == 0)
        return hn_fail(err, HN_ECONFIG,
                       "a capture needs the buffer '%s' behind texture '%s' among the arguments",
                       argument->from, argument->name);
    bool is_input = argument->role == HN_ROLE_INPUT || argument->role == HN_ROLE_INOUT;
    if (!is_input || slot->kind != HONE_BUFFER || capture->values[index] == 0)
        return HN_OK;
    enum hn_status status = check_rows(argument, err);
    return status == HN_OK ? add(capture, capture->inputs, slot->name, &contents, slot->bytes, err)
                           : status;
}

static bool has_input(const struct capture *capture, const char *name)
{
    size_t i;
    const json_t *item;
    json_array_foreach(capture->inputs, i,
                       item) if (strcmp(json_string_value(json_object_get(item, "name")), name) ==
                                 0) return true;
    return false;
}

/* What symbols take from inputs is there with these, where the launch is given them. */
static enum hn_status add_inputs(struct capture *capture, struct hn_error *err)
{
    const struct hone_kernel *kernel = capture->kernel;
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < kernel->slot_count; i++)
        status = add_slot(capture, i, err);
    for (size_t i = 0; status == HN_OK && i < kernel->symbol_count; i++) {
        const struct hn_lib_symbol *symbol = &kernel->symbols[i];
        const struct contents contents = {.cache = kernel->cache, .device = symbol->address};
        if (!symbol->zeroed && !has_input(capture, symbol->from))
            status = add(capture, capture->inputs, symbol->from, &contents, symbol->bytes, err);
    }
    return status;
}

static enum hn_status add_expected(struct capture *capture, CUstream stream, struct hn_error *err)
{
    struct default_run run;
    const struct hone_kernel *kernel = capture->kernel;
    enum hn_status status = run_default(capture->kernel, stream, capture->values, &run, err);
    for (size_t i = 0; status == HN_OK && i < kernel->slot_count; i++) {
        const struct hn_argument *argument = &kernel->plan->plan->arguments[i];
        const struct contents contents = {.cache = kernel->cache, .device = run.outputs[i]};
        if (run.outputs[i] == 0)
            continue;
        status = check_rows(argument, err);
        if (status == HN_OK)
            status = add(capture, capture->expected, argument->name, &contents,
                         kernel->slots[i].bytes, err);
    }
    finish_default_run(kernel, &run);
    return status;
}

static json_t *make_head(const struct capture *capture)
{
    const struct hone_kernel *kernel = capture->kernel;
    json_t *plan = json_loads(kernel->plan->json, 0, NULL);
    const char *config = kernel->plan->plan->config;
    return json_pack("{s:i, s:s, s:s, s:o, s:o, s:s, s:O, s:O, s:O}", "format", HN_CAPTURE_FORMAT,
                     "kernel", kernel->name, "config", config == NULL ? "" : config, "plan", plan,
                     "problem", hn_bindings_to_json(&kernel->problem), "point",
                     hone_kernel_info(kernel)->point, "scalars", capture->scalars, "inputs",
                     capture->inputs, "expected", capture->expected);
}

/* "DIR/scale-0.honecap", with the first number that is free. */
static char *choose_path(struct hone_cache *cache, const char *kernel)
{
    char *path = NULL;
    (void)mkdir(cache->capture_folder, 0777);
    do {
        free(path);
        if (asprintf(&path, "%s/%s-%ld.honecap", cache->capture_folder, kernel,
                     atomic_fetch_add(&cache->captures, 1)) < 0)
            return NULL;
    } while (access(path, F_OK) == 0);
    return path;
}

static enum hn_status write_capture(struct capture *capture, CUstream stream, const char *path,
                                    struct hn_error *err)
{
    const struct hn_driver *driver = &capture->kernel->cache->driver;
    enum hn_status status = hn_capture_create(path, &capture->file, err);
    if (status == HN_OK)
        status = hn_driver_check(driver, driver->p_cuStreamSynchronize(stream),
                                 "waiting for the stream", err);
    if (status == HN_OK)
        status = add_inputs(capture, err);
    if (status == HN_OK)
        status = add_expected(capture, stream, err);
    if (status == HN_OK) {
        json_t *head = make_head(capture);
        status = hn_capture_commit(&capture->file, head, err);
        json_decref(head);
    }
    hn_capture_abandon(&capture->file);
    return status;
}

enum hone_status hn_lib_capture(struct hone_kernel *kernel, CUstream stream, const uint64_t *values,
                                struct hone_error *err)
{
    struct hn_error reason = {0};
    if (atomic_fetch_add(&kernel->captured, 1) >= kernel->cache->capture_launches)
        return HONE_OK;
    struct capture capture = {.kernel = kernel,
                              .values = values,
                              .inputs = json_array(),
                              .expected = json_array(),
                              .scalars = json_object()};
    char *path = choose_path(kernel->cache, kernel->name);
    struct hn_c_locale locale;
    hn_c_locale_enter(&locale);
    enum hn_status status =
        path == NULL ? hn_fail_memory(&reason) : write_capture(&capture, stream, path, &reason);
    hn_c_locale_leave(&locale);
    free(path);
    json_decref(capture.inputs);
    json_decref(capture.expected);
    json_decref(capture.scalars);
    if (status == HN_OK)
        return HONE_OK;
    return hn_lib_fail(err, HONE_CAPTURE_FAILED, "%s was launched, but not captured: %.900s",
                       kernel->name, reason.message);
}
