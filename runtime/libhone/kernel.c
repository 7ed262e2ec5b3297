/* SPDX-License-Identifier: MIT */
#include "runtime/libhone/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/compile/signature.h"
#include "runtime/libhone/choice.h"
#include "runtime/libhone/family.h"

static void free_workspaces(struct hone_kernel *kernel, bool on_device)
{
    struct hn_lib_workspace *workspace = atomic_load(&kernel->workspaces);
    while (workspace != NULL) {
        struct hn_lib_workspace *next = workspace->next;
        if (on_device && !workspace->is_piece)
            kernel->cache->driver.p_cuMemFree(workspace->address);
        free(workspace);
        workspace = next;
    }
}

bool hn_lib_enter(const struct hone_cache *cache, CUcontext context, CUcontext *outside)
{
    const struct hn_driver *driver = &cache->driver;
    *outside = NULL;
    return driver->p_cuCtxGetCurrent(outside) == CUDA_SUCCESS &&
           driver->p_cuCtxSetCurrent(context) == CUDA_SUCCESS;
}

void hn_lib_leave(const struct hone_cache *cache, CUcontext outside)
{
    cache->driver.p_cuCtxSetCurrent(outside);
}

/* In its own context, and leaves the one that is current as it was. A context that is gone has
 * freed all that was in it. */
static void unload(struct hone_kernel *kernel)
{
    CUcontext outside;
    if (kernel->module == NULL)
        return;
    bool is_there = hn_lib_enter(kernel->cache, kernel->context, &outside);
    free_workspaces(kernel, is_there);
    hn_lib_graphs_free(kernel, is_there);
    if (!is_there)
        return;
    if (kernel->shared == NULL)
        kernel->cache->driver.p_cuModuleUnload(kernel->module);
    hn_lib_leave(kernel->cache, outside);
}

void hn_lib_kernel_destroy(struct hone_kernel *kernel)
{
    if (kernel == NULL)
        return;
    hn_lib_race_destroy(kernel->race);
    unload(kernel);
    hn_lib_maps_free(kernel);
    hn_lib_info_free(kernel);
    if (kernel->is_piece) {
        free(kernel);
        return;
    }
    hn_launch_finish(&kernel->launch);
    hn_bindings_finish(&kernel->problem);
    if (kernel->configuration == NULL)
        hn_bindings_finish(&kernel->point);
    free(kernel->symbols);
    free(kernel->steps);
    free(kernel->grids);
    free(kernel->slots);
    free(kernel);
}

/* Plans come from files: slots are the arguments before the first that is not passed, which those
 * of a step and of its window may lie behind. */
static enum hone_status take_arguments(const struct hone_kernel *kernel,
                                       const struct hn_launch_step *launch,
                                       struct hn_lib_step *step, struct hone_error *err)
{
    size_t count = launch->step->argument_count;
    if (count > HN_LIB_MAX_ARGUMENTS)
        return hn_lib_fail(err, HONE_UNSUPPORTED,
                           "step '%s' has %zu arguments; the library takes %d", launch->step->entry,
                           count, (int)HN_LIB_MAX_ARGUMENTS);
    bool valid = step->shape.window == SIZE_MAX || step->window_argument < kernel->slot_count;
    for (size_t i = 0; i < count; i++) {
        valid = valid && launch->step->arguments[i] < kernel->slot_count;
        step->arguments[i] = (unsigned short)launch->step->arguments[i];
    }
    step->argument_count = count;
    return valid ? HONE_OK
                 : hn_lib_fail(err, HONE_BAD_FILE,
                               "the plan's step '%s' takes an argument that stands behind a symbol",
                               launch->step->entry);
}

static void set_shape(struct hone_kernel *kernel, size_t index)
{
    struct hn_module_step *shape = &kernel->steps[index].shape;
    *shape = hn_module_step_of(&kernel->launch.steps[index]);
    kernel->grids[index][0] = shape->config.gridDimX;
    kernel->grids[index][1] = shape->config.gridDimY;
    kernel->grids[index][2] = shape->config.gridDimZ;
}

static enum hone_status make_step(struct hone_kernel *kernel, const struct hn_image *image,
                                  size_t index, struct hone_error *err)
{
    const struct hn_launch_step *launch = &kernel->launch.steps[index];
    struct hn_lib_step *step = &kernel->steps[index];
    set_shape(kernel, index);
    step->window_argument = launch->step->geometry.window.argument;
    enum hone_status status = take_arguments(kernel, launch, step, err);
    if (status != HONE_OK)
        return status;
    char what[96];
    CUresult result = kernel->shared != NULL
                          ? hn_lib_module_find_function(kernel->shared, &kernel->launch, index,
                                                        &step->function, what)
                          : hn_module_find(&kernel->cache->driver, kernel->module, image,
                                           &kernel->launch, index, &step->function, what);
    return hn_lib_cuda(kernel->cache, result, what, err);
}

/* The grid of a step that asks for it, by what this device has room for. */
static enum hone_status fit_clusters(struct hone_kernel *kernel, size_t index,
                                     struct hone_error *err)
{
    const struct hn_plan *plan = kernel->plan->plan;
    struct hn_launch_step *launch = &kernel->launch.steps[index];
    struct hn_value *values = NULL;
    struct hn_record record;
    struct hn_error reason = {0};
    int clusters = 0;
    if (!hn_plan_asks_clusters(plan, launch->step))
        return HONE_OK;
    enum hone_status status =
        hn_lib_cuda(kernel->cache,
                    hn_module_active_clusters(&kernel->cache->driver, launch,
                                              kernel->steps[index].function, &clusters),
                    "asking for clusters that run at once", err);
    if (status == HONE_OK)
        status = hn_lib_take(
            err, hn_plan_values(plan, &kernel->problem, &kernel->point, &values, &reason), &reason);
    if (status != HONE_OK)
        return status;
    hn_record_init(&record);
    hn_launch_fit_clusters(plan, kernel->device, values, clusters, launch, &record);
    if (record.outcome != HN_OUTCOME_OK)
        status = hn_lib_fail(err, HONE_UNSUPPORTED, "%.1000s",
                             record.message != NULL ? record.message : "out of memory");
    set_shape(kernel, index);
    hn_record_finish(&record);
    free(values);
    return status;
}

static enum hone_status load_module(struct hone_kernel *kernel, const struct hn_image *image,
                                    struct hone_error *err)
{
    CUresult result =
        kernel->cache->driver.p_cuModuleLoadDataEx(&kernel->module, image->cubin, 0, NULL, NULL);
    if (result != CUDA_SUCCESS)
        kernel->module = NULL;
    return hn_lib_cuda(kernel->cache, result, "loading the module", err);
}

static enum hone_status make_steps(struct hone_kernel *kernel, const struct hn_image *image,
                                   struct hone_error *err)
{
    enum hone_status status = HONE_OK;
    kernel->steps = calloc(kernel->launch.step_count + 1, sizeof *kernel->steps);
    kernel->grids = calloc(kernel->launch.step_count + 1, sizeof *kernel->grids);
    if (kernel->steps == NULL || kernel->grids == NULL)
        return hn_lib_fail(err, HONE_NO_MEMORY, "out of memory");
    kernel->step_count = kernel->launch.step_count;
    if (kernel->shared != NULL)
        kernel->module = kernel->shared->module;
    else
        status = load_module(kernel, image, err);
    for (size_t i = 0; status == HONE_OK && i < kernel->step_count; i++) {
        status = make_step(kernel, image, i, err);
        if (status == HONE_OK)
            status = fit_clusters(kernel, i, err);
    }
    return status;
}

static enum hone_status check_arguments(const struct hone_kernel *kernel,
                                        const struct hn_image *image, const struct hn_value *values,
                                        struct hone_error *err)
{
    struct hn_error reason = {0};
    enum hn_status status =
        hn_signature_check(kernel->plan->plan, values, &kernel->launch, image, &reason);
    if (status == HN_ECONFIG || status == HN_EFORMAT)
        return hn_lib_fail(err, HONE_BAD_FILE, "%.1000s", reason.message);
    return hn_lib_take(err, status, &reason);
}

/* Takes the launch that the choice was found with. */
static enum hn_status take_launch(struct hone_kernel *kernel, const struct hn_lib_choice *choice,
                                  struct hn_value **values, struct hn_error *err)
{
    const struct hn_plan *plan = choice->plan->plan;
    if (choice->launch != NULL) {
        kernel->launch = *choice->launch;
        *choice->launch = (struct hn_launch){.steps = NULL};
        return HN_OK;
    }
    enum hn_status status =
        hn_launch_make(plan, choice->problem, choice->point, &kernel->launch, err);
    return status == HN_OK ? hn_plan_values(plan, &kernel->problem, &kernel->point, values, err)
                           : status;
}

/* The point of a rule's configuration lives as long as the cache. */
static enum hone_status evaluate(struct hone_kernel *kernel, const struct hn_lib_choice *choice,
                                 struct hn_value **values, struct hone_error *err)
{
    struct hn_error reason;
    hn_error_init(&reason);
    enum hn_status status = hn_bindings_copy(&kernel->problem, choice->problem, &reason);
    if (choice->configuration != NULL)
        kernel->point = *choice->point;
    else if (status == HN_OK)
        status = hn_bindings_copy(&kernel->point, choice->point, &reason);
    if (status == HN_OK)
        status = take_launch(kernel, choice, values, &reason);
    return hn_lib_take(err, status, &reason);
}

enum hone_status hn_lib_kernel_make(struct hone_cache *cache, const struct hn_lib_choice *choice,
                                    const struct hn_image *image, struct hn_lib_module *shared,
                                    struct hone_kernel **kernel, struct hone_error *err)
{
    struct hn_value *own = NULL;
    struct hone_kernel *made = calloc(1, sizeof *made);
    if (made == NULL)
        return hn_lib_fail(err, HONE_NO_MEMORY, "out of memory");
    made->cache = cache;
    made->context = choice->context;
    made->plan = choice->plan;
    made->device = choice->device;
    made->configuration = choice->configuration;
    made->is_watched = cache->capture_folder != NULL;
    hn_bindings_init(&made->problem);
    hn_bindings_init(&made->point);
    enum hone_status status = evaluate(made, choice, &own, err);
    const struct hn_value *values = own != NULL ? own : choice->values;
    if (status == HONE_OK && shared != NULL && hn_lib_module_serves(shared, &made->launch))
        made->shared = shared;
    bool is_checked = made->shared != NULL && shared->is_checked;
    if (status == HONE_OK && !is_checked)
        status = check_arguments(made, image, values, err);
    if (status == HONE_OK && made->shared != NULL)
        shared->is_checked = true;
    if (status == HONE_OK)
        status = hn_lib_slots_make(made, values, err);
    if (status == HONE_OK)
        status = make_steps(made, image, err);
    if (status == HONE_OK)
        status = hn_lib_symbols_find(made, values, err);
    free(own);
    for (size_t i = 0; i < made->slot_count; i++)
        made->has_zeroed = made->has_zeroed || made->slots[i].zeroed;
    made->has_zeroed = made->has_zeroed || made->symbol_count > made->symbols_to_set;
    if (status == HONE_OK && made->launch.tensor_count > 0) {
        made->maps = calloc(HN_LIB_PLACES, sizeof *made->maps);
        if (made->maps == NULL)
            status = hn_lib_fail(err, HONE_NO_MEMORY, "out of memory");
    }
    made->as_graph = status == HONE_OK && choice->options->graph != 0 && hn_lib_graph_suits(made);
    if (status == HONE_OK)
        *kernel = made;
    else
        hn_lib_kernel_destroy(made);
    return status;
}
