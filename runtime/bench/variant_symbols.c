/* SPDX-License-Identifier: MIT */
#include "runtime/bench/pipeline_run.h"
#include "runtime/bench/variant.h"

/* The reference's template is not the variants': it may do without the variables. */
static bool is_reference_template(const struct hn_variant *variant)
{
    return variant->launch.step_count == 1 &&
           variant->launch.steps[0].step == &variant->arena->plan->reference.step;
}

static uint64_t content_bytes(const struct hn_variant *variant, size_t symbol)
{
    const struct hn_plan *plan = variant->arena->plan;
    if (plan->arguments[symbol].value != NULL)
        return hn_element_size(plan->arguments[symbol].element);
    return variant->arena->buffers[hn_plan_source(plan, symbol)].bytes;
}

static void reject_missing(const struct hn_variant *variant, const char *name,
                           struct hn_record *record)
{
    if (!is_reference_template(variant))
        hn_record_fail(record, HN_OUTCOME_LAUNCH_ERROR,
                       "symbol '%s' is not in the module: the template has no global variable of "
                       "this name, outside of namespaces; where only some variants have it, give "
                       "it an 'if' in the config",
                       name);
}

static enum hn_status set_symbol(struct hn_variant *variant, size_t symbol, CUdeviceptr address,
                                 struct hn_error *err)
{
    struct hn_context *context = variant->arena->context;
    const struct hn_plan *plan = variant->arena->plan;
    if (plan->arguments[symbol].value != NULL) {
        CUresult result = context->driver->p_cuMemcpyHtoD(address, &variant->scalars[symbol],
                                                          content_bytes(variant, symbol));
        return hn_context_check(context, result, "setting a symbol", err);
    }
    variant->symbols[variant->symbol_count++] =
        (struct hn_variant_symbol){address, hn_plan_source(plan, symbol)};
    return HN_OK;
}

static enum hn_status find_symbol(struct hn_variant *variant, size_t symbol,
                                  struct hn_record *record, struct hn_error *err)
{
    struct hn_context *context = variant->arena->context;
    const char *name = variant->arena->plan->arguments[symbol].name;
    uint64_t content = content_bytes(variant, symbol);
    CUdeviceptr address = 0;
    size_t bytes = 0;
    CUresult result = context->driver->p_cuModuleGetGlobal(&address, &bytes, variant->module, name);
    if (result == CUDA_ERROR_NOT_FOUND) {
        reject_missing(variant, name, record);
        return HN_OK;
    }
    enum hn_status status = hn_context_check(context, result, name, err);
    if (status != HN_OK)
        return status;
    if (content > bytes) {
        hn_record_fail(record, HN_OUTCOME_LAUNCH_ERROR,
                       "symbol '%s' has %zu bytes in the module; the config gives it %llu", name,
                       bytes, (unsigned long long)content);
        return HN_OK;
    }
    return set_symbol(variant, symbol, address, err);
}

enum hn_status hn_variant_find_symbols(struct hn_variant *variant, struct hn_record *record,
                                       struct hn_error *err)
{
    const struct hn_plan *plan = variant->arena->plan;
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < plan->argument_count && record->outcome == HN_OUTCOME_OK; i++) {
        bool applies = false;
        if (plan->arguments[i].role != HN_ROLE_SYMBOL)
            continue;
        status = hn_argument_applies(&plan->arguments[i], variant->values, &applies, err);
        if (status == HN_OK && applies)
            status = find_symbol(variant, i, record, err);
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}

enum hn_status hn_variant_restore(const struct hn_variant *variant, struct hn_error *err)
{
    struct hn_arena *arena = variant->arena;
    struct hn_context *context = arena->context;
    enum hn_status status =
        hn_context_check(context, hn_variant_use_cache(variant), "setting L2 cache aside", err);
    if (status == HN_OK && arena->spoiled)
        status = hn_arena_fill(arena, arena->seed, err);
    if (status == HN_OK)
        status = hn_arena_restore(arena, err);
    if (status == HN_OK && variant->launch.flow != NULL)
        status = hn_pipeline_restore(variant, err);
    for (size_t i = 0; i < variant->symbol_count && status == HN_OK; i++) {
        const struct hn_variant_symbol *symbol = &variant->symbols[i];
        const struct hn_buffer *buffer = &arena->buffers[symbol->source];
        CUresult result = context->driver->p_cuMemcpyDtoDAsync(symbol->address, buffer->address,
                                                               buffer->bytes, context->stream);
        status = hn_context_check(context, result, "setting a symbol", err);
    }
    return status;
}

enum hn_status hn_variant_poison(struct hn_variant *variant, size_t sets, uint64_t seed,
                                 struct hn_error *err)
{
    struct hn_arena *arena = variant->arena;
    variant->compared_set = hn_random_below(&arena->secret, sets);
    enum hn_status status = hn_arena_lend_inputs(arena, variant->compared_set, err);
    if (status == HN_OK)
        status = hn_arena_poison(arena, sets, seed, err);
    if (status == HN_OK && variant->launch.flow != NULL)
        status = hn_pipeline_poison(variant, seed, err);
    return status;
}
