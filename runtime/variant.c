/* SPDX-License-Identifier: MIT */
#include "runtime/variant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct integer_range {
    int64_t low;
    int64_t high;
};

/* uint64 scalars end at int64's maximum: expressions know no more. */
static const struct integer_range integer_ranges[] = {
    [HN_INT8] = {INT8_MIN, INT8_MAX},    [HN_INT16] = {INT16_MIN, INT16_MAX},
    [HN_INT32] = {INT32_MIN, INT32_MAX}, [HN_INT64] = {INT64_MIN, INT64_MAX},
    [HN_UINT8] = {0, UINT8_MAX},         [HN_UINT16] = {0, UINT16_MAX},
    [HN_UINT32] = {0, UINT32_MAX},       [HN_UINT64] = {0, INT64_MAX},
};

static enum hn_status evaluate_scalar(const struct hn_argument *argument,
                                      const struct hn_value *values, uint64_t *scalar,
                                      struct hn_error *err)
{
    if (argument->element == HN_FLOAT32 || argument->element == HN_FLOAT64) {
        double real = 0.0;
        enum hn_status status = hn_expression_number(argument->value, values, &real, err);
        float narrow = (float)real;
        if (argument->element == HN_FLOAT64)
            memcpy(scalar, &real, sizeof real);
        else
            memcpy(scalar, &narrow, sizeof narrow);
        return status;
    }
    int64_t integer = 0;
    enum hn_status status = hn_expression_integer(argument->value, values, &integer, err);
    if (status != HN_OK)
        return status;
    struct integer_range range = integer_ranges[argument->element];
    if (integer < range.low || integer > range.high)
        return hn_fail(err, HN_EVALUE, "argument '%s' is %lld, which %s can not hold",
                       argument->name, (long long)integer, hn_element_name(argument->element));
    memcpy(scalar, &integer, sizeof integer); /* little endian: the low bytes come first */
    return HN_OK;
}

static enum hn_status evaluate_scalars(struct hn_variant *variant, struct hn_error *err)
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
                evaluate_scalar(&plan->arguments[i], variant->values, &variant->scalars[i], err);
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
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

static enum hn_status find_function(struct hn_variant *variant, size_t step, const char *entry,
                                    struct hn_record *record, struct hn_error *err)
{
    const struct hn_driver *driver = variant->arena->context->driver;
    CUfunction *function = &variant->functions[step];
    int64_t shared_bytes = variant->launch.steps[step].shared_bytes;
    CUresult result = driver->p_cuModuleGetFunction(function, variant->module, entry);
    enum hn_status status = reject(variant, result, HN_OUTCOME_LAUNCH_ERROR, entry, record, err);
    /* Has to be asked for where static and dynamic together go beyond 48 KiB, and never harms. */
    if (status != HN_OK || record->outcome != HN_OUTCOME_OK || shared_bytes == 0)
        return status;
    char what[96];
    snprintf(what, sizeof what, "asking for %lld bytes of dynamic shared memory",
             (long long)shared_bytes);
    result = driver->p_cuFuncSetAttribute(
        *function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)shared_bytes);
    return reject(variant, result, HN_OUTCOME_LAUNCH_ERROR, what, record, err);
}

static enum hn_status find_functions(struct hn_variant *variant, const struct hn_image *image,
                                     struct hn_record *record, struct hn_error *err)
{
    if (image->entry_count != variant->launch.step_count)
        return hn_fail(err, HN_ERUN, "the image has %zu kernels; the plan launches %zu",
                       image->entry_count, variant->launch.step_count);
    for (size_t i = 0; i < image->entry_count && record->outcome == HN_OUTCOME_OK; i++) {
        enum hn_status status = find_function(variant, i, image->entries[i], record, err);
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}

static enum hn_status allocate(struct hn_variant *variant, struct hn_error *err)
{
    size_t arguments = variant->arena->plan->argument_count;
    size_t longest = 0;
    for (size_t i = 0; i < variant->launch.step_count; i++)
        if (variant->launch.steps[i].step->argument_count > longest)
            longest = variant->launch.steps[i].step->argument_count;
    variant->functions = calloc(variant->launch.step_count + 1, sizeof *variant->functions);
    variant->scalars = calloc(arguments + 1, sizeof *variant->scalars);
    variant->addresses = calloc(arguments + 1, sizeof *variant->addresses);
    variant->parameters = calloc(longest + 1, sizeof *variant->parameters);
    variant->symbols = calloc(arguments + 1, sizeof *variant->symbols);
    variant->metric_values = calloc(arguments + 1, sizeof *variant->metric_values);
    if (variant->functions == NULL || variant->scalars == NULL || variant->addresses == NULL ||
        variant->parameters == NULL || variant->symbols == NULL || variant->metric_values == NULL)
        return hn_fail_memory(err);
    return HN_OK;
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
        status = evaluate_scalars(variant, err);
    if (status == HN_OK)
        status = load_module(variant, image, record, err);
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK)
        status = find_functions(variant, image, record, err);
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK)
        status = hn_variant_find_symbols(variant, record, err);
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK)
        status = hn_variant_place(variant, record, err);
    if (status != HN_OK)
        hn_variant_finish(variant);
    return status;
}

void hn_variant_finish(struct hn_variant *variant)
{
    if (variant->module != NULL)
        variant->arena->context->driver->p_cuModuleUnload(variant->module);
    hn_launch_finish(&variant->launch);
    free(variant->metric_values);
    free(variant->symbols);
    free(variant->parameters);
    free(variant->addresses);
    free(variant->scalars);
    free(variant->functions);
    free(variant->values);
    variant->module = NULL;
    variant->metric_values = NULL;
    variant->symbols = NULL;
    variant->parameters = NULL;
    variant->addresses = NULL;
    variant->scalars = NULL;
    variant->functions = NULL;
    variant->values = NULL;
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
    return status;
}

CUresult hn_variant_launch(struct hn_variant *variant, size_t set)
{
    const struct hn_arena *arena = variant->arena;
    const struct hn_plan *plan = arena->plan;
    for (size_t i = 0; i < plan->argument_count; i++)
        variant->addresses[i] = hn_arena_address(arena, set, i);
    for (size_t s = 0; s < variant->launch.step_count; s++) {
        const struct hn_launch_step *step = &variant->launch.steps[s];
        for (size_t i = 0; i < step->step->argument_count; i++) {
            size_t argument = step->step->arguments[i];
            bool scalar = plan->arguments[argument].value != NULL;
            variant->parameters[i] = scalar ? (void *)&variant->scalars[argument]
                                            : (void *)&variant->addresses[argument];
        }
        variant->launched = true;
        CUresult result = arena->context->driver->p_cuLaunchKernel(
            variant->functions[s], (unsigned int)step->grid[0], (unsigned int)step->grid[1],
            (unsigned int)step->grid[2], (unsigned int)step->block[0], (unsigned int)step->block[1],
            (unsigned int)step->block[2], (unsigned int)step->shared_bytes, arena->context->stream,
            variant->parameters, NULL);
        if (result != CUDA_SUCCESS)
            return result;
    }
    return CUDA_SUCCESS;
}

void hn_variant_describe(const struct hn_variant *variant, char *text, size_t size)
{
    const struct hn_launch_step *step = &variant->launch.steps[0];
    snprintf(text, size, "%s <<<(%lld, %lld, %lld), (%lld, %lld, %lld), %lld B>>>",
             step->step->entry, (long long)step->grid[0], (long long)step->grid[1],
             (long long)step->grid[2], (long long)step->block[0], (long long)step->block[1],
             (long long)step->block[2], (long long)step->shared_bytes);
}
