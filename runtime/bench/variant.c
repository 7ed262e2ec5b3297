/* SPDX-License-Identifier: MIT */
#include "runtime/bench/variant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/bench/pipeline_run.h"

#include "runtime/device/driver.h"
#include "runtime/module/module.h"

static enum hn_status evaluate_scalars(const struct hn_variant *variant, uint64_t *scalars,
                                       struct hn_error *err)
{
    const struct hn_plan *plan = variant->arena->plan;
    for (size_t i = 0; i < plan->argument_count; i++) {
        bool applies = false;
        if (plan->arguments[i].value == NULL)
            continue;
        enum hn_status status =
            hn_argument_applies(&plan->arguments[i], variant->values, &applies, err);
        if (status == HN_OK && applies)
            status =
                hn_argument_evaluate_scalar(&plan->arguments[i], variant->values, &scalars[i], err);
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}

/* Of the whole extent, and behind that of each chunk. */
static enum hn_status evaluate_all_scalars(struct hn_variant *variant, struct hn_error *err)
{
    const struct hn_plan *plan = variant->arena->plan;
    const struct hn_flow *flow = variant->launch.flow;
    enum hn_status status = evaluate_scalars(variant, variant->scalars, err);
    for (size_t c = 0; flow != NULL && c < flow->chunk_count && status == HN_OK; c++) {
        const struct hn_chunk *chunk = &flow->chunks[c];
        hn_plan_set_chunk(plan, variant->values, chunk->begin, chunk->count, (int64_t)c);
        status = evaluate_scalars(variant, variant->scalars + (c + 1) * plan->argument_count, err);
    }
    if (flow != NULL)
        hn_plan_set_chunk(plan, variant->values, 0, flow->over, 0);
    return status;
}

/* A result of the driver on a variant's behalf: what ends the context is a status, the rest is the
 * variant's outcome. */
static enum hn_status reject(struct hn_variant *variant, CUresult result, enum hn_outcome outcome,
                             const char *what, struct hn_record *record, struct hn_error *err)
{
    struct hn_error reason;
    enum hn_status status = hn_context_check(variant->arena->context, result, what, &reason);
    if (status == HN_OK)
        return HN_OK;
    if (hn_driver_result_is_fatal(result))
        return hn_fail(err, status, "%s", reason.message);
    hn_record_fail(record, outcome, "%s", reason.message);
    return HN_OK;
}

static enum hn_status load_module(struct hn_variant *variant, const struct hn_image *image,
                                  struct hn_record *record, struct hn_error *err)
{
    const struct hn_driver *driver = variant->arena->context->driver;
    CUresult result = driver->p_cuModuleLoadDataEx(&variant->module, image->cubin, 0, NULL, NULL);
    if (result == CUDA_SUCCESS)
        return HN_OK;
    variant->module = NULL;
    enum hn_outcome outcome =
        result == CUDA_ERROR_OUT_OF_MEMORY ? HN_OUTCOME_OUT_OF_MEMORY : HN_OUTCOME_LAUNCH_ERROR;
    return reject(variant, result, outcome, "loading the module", record, err);
}

/* The grid of a step that asks for it, by what the device has room for. */
static enum hn_status fit_clusters(struct hn_variant *variant, size_t step,
                                   struct hn_record *record, struct hn_error *err)
{
    const struct hn_context *context = variant->arena->context;
    struct hn_launch_step *launch = &variant->launch.steps[step];
    int clusters = 0;
    if (!hn_plan_asks_clusters(variant->arena->plan, launch->step))
        return HN_OK;
    CUresult result =
        hn_module_active_clusters(context->driver, launch, variant->functions[step], &clusters);
    enum hn_status status = reject(variant, result, HN_OUTCOME_LAUNCH_ERROR,
                                   "asking for clusters that run at once", record, err);
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK)
        hn_launch_fit_clusters(variant->arena->plan, context->device, variant->values, clusters,
                               launch, record);
    variant->shapes[step] = hn_module_step_of(launch);
    return status;
}

static enum hn_status find_functions(struct hn_variant *variant, const struct hn_image *image,
                                     struct hn_record *record, struct hn_error *err)
{
    if (image->entry_count != variant->launch.step_count)
        return hn_fail(err, HN_ERUN, "the image has %zu kernels; the plan launches %zu",
                       image->entry_count, variant->launch.step_count);
    enum hn_status status = HN_OK;
    for (size_t i = 0;
         i < image->entry_count && status == HN_OK && record->outcome == HN_OUTCOME_OK; i++) {
        char what[96];
        CUresult result = hn_module_find(variant->arena->context->driver, variant->module, image,
                                         &variant->launch, i, &variant->functions[i], what);
        status = reject(variant, result, HN_OUTCOME_LAUNCH_ERROR, what, record, err);
        if (status == HN_OK && record->outcome == HN_OUTCOME_OK)
            status = fit_clusters(variant, i, record, err);
    }
    return status;
}

static enum hn_status allocate(struct hn_variant *variant, struct hn_error *err)
{
    size_t arguments = variant->arena->plan->argument_count;
    size_t chunks = variant->launch.flow == NULL ? 0 : variant->launch.flow->chunk_count;
    size_t longest = 0;
    for (size_t i = 0; i < variant->launch.step_count; i++)
        if (variant->launch.steps[i].step->argument_count > longest)
            longest = variant->launch.steps[i].step->argument_count;
    variant->functions = calloc(variant->launch.step_count + 1, sizeof *variant->functions);
    variant->shapes = calloc(variant->launch.step_count + 1, sizeof *variant->shapes);
    variant->scalars = calloc((chunks + 1) * arguments + 1, sizeof *variant->scalars);
    variant->staged = calloc(arguments + 1, sizeof *variant->staged);
    variant->addresses = calloc(arguments + 1, sizeof *variant->addresses);
    variant->map_places = calloc(arguments + 1, sizeof *variant->map_places);
    variant->parameters = calloc(longest + 1, sizeof *variant->parameters);
    variant->symbols = calloc(arguments + 1, sizeof *variant->symbols);
    variant->zeroed = calloc(arguments + 1, sizeof *variant->zeroed);
    variant->metric_values = calloc(arguments + 1, sizeof *variant->metric_values);
    if (variant->functions == NULL || variant->shapes == NULL || variant->scalars == NULL ||
        variant->addresses == NULL || variant->parameters == NULL || variant->symbols == NULL ||
        variant->zeroed == NULL || variant->metric_values == NULL || variant->staged == NULL ||
        variant->map_places == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < variant->launch.step_count; i++)
        variant->shapes[i] = hn_module_step_of(&variant->launch.steps[i]);
    return HN_OK;
}

static void find_zeroed(struct hn_variant *variant)
{
    const struct hn_plan *plan = variant->arena->plan;
    for (size_t i = 0; i < plan->argument_count; i++)
        if (plan->arguments[i].zero == HN_ZERO_INSIDE && hn_launch_takes(&variant->launch, i))
            variant->zeroed[variant->zeroed_count++] = i;
}

bool hn_variant_is_repeatable(const struct hn_variant *variant)
{
    const struct hn_plan *plan = variant->arena->plan;
    if (variant->launch.flow != NULL)
        return false;
    for (size_t i = 0; i < plan->argument_count; i++) {
        if (!hn_argument_is_repeatable(&plan->arguments[i]))
            return false;
    }
    return true;
}

enum hn_status hn_variant_init(struct hn_variant *variant, struct hn_arena *arena,
                               const struct hn_bindings *problem, const struct hn_bindings *point,
                               const struct hn_image *image, struct hn_launch *launch,
                               struct hn_record *record, struct hn_error *err)
{
    *variant = (struct hn_variant){.arena = arena, .launch = *launch};
    *launch = (struct hn_launch){0};
    enum hn_status status = allocate(variant, err);
    if (status == HN_OK)
        status = hn_plan_values(arena->plan, problem, point, &variant->values, err);
    if (status == HN_OK)
        status = evaluate_all_scalars(variant, err);
    if (status == HN_OK)
        status = load_module(variant, image, record, err);
    if (status == HN_OK)
        find_zeroed(variant);
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK)
        status = find_functions(variant, image, record, err);
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK)
        status = hn_variant_find_symbols(variant, record, err);
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK)
        status = hn_variant_place(variant, record, err);
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK)
        status = hn_variant_open_windows(variant, record, err);
    if (status != HN_OK)
        hn_variant_finish(variant);
    return status;
}

void hn_variant_finish(struct hn_variant *variant)
{
    if (variant->arena != NULL)
        hn_l2_leave(variant->arena->context, variant);
    hn_variant_drop_graphs(variant);
    if (variant->module != NULL)
        variant->arena->context->driver->p_cuModuleUnload(variant->module);
    hn_launch_finish(&variant->launch);
    free(variant->staged);
    free(variant->metric_values);
    free(variant->zeroed);
    free(variant->symbols);
    free(variant->parameters);
    free(variant->maps);
    free(variant->map_places);
    free(variant->addresses);
    free(variant->scalars);
    free(variant->shapes);
    free(variant->functions);
    free(variant->values);
    variant->module = NULL;
    variant->staged = NULL;
    variant->metric_values = NULL;
    variant->zeroed = NULL;
    variant->symbols = NULL;
    variant->parameters = NULL;
    variant->maps = NULL;
    variant->map_places = NULL;
    variant->addresses = NULL;
    variant->scalars = NULL;
    variant->shapes = NULL;
    variant->functions = NULL;
    variant->values = NULL;
}

/* A texture or a tensor map that the device refuses is told by its name. */
static enum hn_status make_views(struct hn_variant *variant, struct hn_record *record,
                                 struct hn_error *err)
{
    const struct hn_plan *plan = variant->arena->plan;
    for (size_t i = 0; i < plan->argument_count; i++) {
        char what[160];
        CUtexObject texture;
        void *map;
        enum hn_role role = plan->arguments[i].role;
        if ((role != HN_ROLE_TEXTURE && role != HN_ROLE_TENSOR_MAP) ||
            !hn_launch_takes(&variant->launch, i))
            continue;
        snprintf(what, sizeof what, "%s '%.60s' over '%.60s'",
                 role == HN_ROLE_TEXTURE ? "texture" : "tensor map", plan->arguments[i].name,
                 plan->arguments[i].from);
        CUresult result = role == HN_ROLE_TEXTURE ? hn_arena_texture(variant->arena, 0, i, &texture)
                                                  : hn_variant_map(variant, 0, i, &map);
        enum hn_status status = reject(variant, result, HN_OUTCOME_LAUNCH_ERROR, what, record, err);
        if (status != HN_OK || record->outcome != HN_OUTCOME_OK)
            return status;
    }
    return HN_OK;
}

enum hn_status hn_variant_place(struct hn_variant *variant, struct hn_record *record,
                                struct hn_error *err)
{
    bool fits = true;
    uint64_t needed = 0;
    enum hn_status status = hn_arena_place(variant->arena, variant->values, &fits, &needed, err);
    if (status == HN_OK && !fits)
        hn_record_fail(record, HN_OUTCOME_OUT_OF_MEMORY,
                       "its scratch needs %.3f GiB, more than is free on the device",
                       (double)needed / 0x1p30);
    if (status == HN_OK && fits)
        status = make_views(variant, record, err);
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK && variant->launch.flow != NULL)
        status = hn_pipeline_place(variant, record, err);
    return status;
}
