/* SPDX-License-Identifier: MIT */
#include "runtime/libhone/default_run.h"

#include <string.h>

#include "runtime/libhone/choice.h"
#include "runtime/libhone/kernel.h"

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
                                    const uint64_t *values, struct hn_lib_default_run *run,
                                    uint64_t *own, struct hn_error *err)
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

enum hn_status hn_lib_default_run(struct hone_kernel *kernel, CUstream stream,
                                  const uint64_t *values, struct hn_lib_default_run *run,
                                  struct hn_error *err)
{
    uint64_t own[HN_LIB_MAX_ARGUMENTS];
    struct hone_error reason = {.message = ""};
    const struct hn_driver *driver = &kernel->cache->driver;
    *run = (struct hn_lib_default_run){.kernel = NULL};
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

void hn_lib_default_run_finish(const struct hone_kernel *kernel, struct hn_lib_default_run *run)
{
    for (size_t i = 0; i < HN_LIB_MAX_ARGUMENTS; i++)
        if (run->outputs[i] != 0)
            kernel->cache->driver.p_cuMemFree(run->outputs[i]);
    hn_lib_kernel_destroy(run->kernel);
}
