/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "runtime/libhone/kernel.h"

/* Counters are filled with zeros. */
static bool is_counter(const struct hn_argument *symbol)
{
    const struct hn_fill *fill = &symbol->fill;
    return symbol->changes && fill->kind == HN_FILL_CONSTANT && fill->expressions[0] == NULL &&
           !(fill->numbers[0] < 0 || fill->numbers[0] > 0);
}

static enum hone_status set_value(struct hone_kernel *kernel, const struct hn_argument *symbol,
                                  const struct hn_value *values, CUdeviceptr address,
                                  struct hone_error *err)
{
    uint64_t bits = 0;
    struct hn_error reason = {0};
    enum hone_status status =
        hn_lib_take(err, hn_argument_evaluate_scalar(symbol, values, &bits, &reason), &reason);
    if (status != HONE_OK)
        return status;
    return hn_lib_cuda(
        kernel->cache,
        kernel->cache->driver.p_cuMemcpyHtoD(address, &bits, hn_element_size(symbol->element)),
        "setting a symbol", err);
}

static enum hone_status add_symbol(struct hone_kernel *kernel, size_t index,
                                   const struct hn_value *values, CUdeviceptr address,
                                   uint64_t room, struct hone_error *err)
{
    struct hn_error reason = {0};
    const struct hn_plan *plan = kernel->plan->plan;
    const struct hn_argument *symbol = &plan->arguments[index];
    const struct hn_argument *source = &plan->arguments[hn_plan_source(plan, index)];
    struct hn_lib_symbol *made = &kernel->symbols[kernel->symbol_count];
    *made = (struct hn_lib_symbol){.name = symbol->name,
                                   .from = source->name,
                                   .address = address,
                                   .zeroed = is_counter(symbol)};
    enum hone_status status =
        hn_lib_take(err, hn_argument_buffer_bytes(source, values, &made->bytes, &reason), &reason);
    if (status != HONE_OK)
        return status;
    if (symbol->changes && !made->zeroed)
        return hn_lib_fail(err, HONE_UNSUPPORTED,
                           "symbol '%s' has role inout: it would have to be set before every "
                           "launch, which the library does for counters only",
                           symbol->name);
    if (made->bytes > room)
        return hn_lib_fail(err, HONE_BAD_FILE,
                           "symbol '%s' has %llu bytes in the module; the plan gives it %llu",
                           symbol->name, (unsigned long long)room, (unsigned long long)made->bytes);
    kernel->symbol_count++;
    kernel->symbols_to_set += !made->zeroed;
    return HONE_OK;
}

static enum hone_status find_symbol(struct hone_kernel *kernel, size_t index,
                                    const struct hn_value *values, struct hone_error *err)
{
    const struct hn_argument *symbol = &kernel->plan->plan->arguments[index];
    CUdeviceptr address = 0;
    size_t room = 0;
    enum hone_status status = hn_lib_cuda(
        kernel->cache,
        kernel->cache->driver.p_cuModuleGetGlobal(&address, &room, kernel->module, symbol->name),
        symbol->name, err);
    if (status != HONE_OK)
        return status;
    return symbol->value != NULL ? set_value(kernel, symbol, values, address, err)
                                 : add_symbol(kernel, index, values, address, room, err);
}

enum hone_status hn_lib_symbols_find(struct hone_kernel *kernel, const struct hn_value *values,
                                     struct hone_error *err)
{
    const struct hn_plan *plan = kernel->plan->plan;
    enum hone_status status = HONE_OK;
    if (!hn_plan_has_role(plan, HN_ROLE_SYMBOL))
        return HONE_OK;
    kernel->symbols = calloc(plan->argument_count + 1, sizeof *kernel->symbols);
    if (kernel->symbols == NULL)
        return hn_lib_fail(err, HONE_NO_MEMORY, "out of memory");
    for (size_t i = 0; status == HONE_OK && i < plan->argument_count; i++) {
        bool applies = false;
        struct hn_error reason = {0};
        if (plan->arguments[i].role != HN_ROLE_SYMBOL)
            continue;
        status = hn_lib_take(
            err, hn_argument_applies(&plan->arguments[i], values, &applies, &reason), &reason);
        if (status == HONE_OK && applies)
            status = find_symbol(kernel, i, values, err);
    }
    return status;
}

/* The index-th of those that are to be set, or NULL. */
static const struct hn_lib_symbol *symbol_to_set(const struct hone_kernel *kernel, size_t index)
{
    for (size_t i = 0; i < kernel->symbol_count; i++)
        if (!kernel->symbols[i].zeroed && index-- == 0)
            return &kernel->symbols[i];
    return NULL;
}

size_t hone_kernel_symbol_count(const struct hone_kernel *kernel)
{
    return kernel == NULL ? 0 : kernel->symbols_to_set;
}

enum hone_status hone_kernel_symbol(const struct hone_kernel *kernel, size_t index,
                                    const char **name, uint64_t *bytes)
{
    const struct hn_lib_symbol *symbol = kernel == NULL ? NULL : symbol_to_set(kernel, index);
    if (symbol == NULL)
        return HONE_INVALID;
    if (name != NULL)
        *name = symbol->name;
    if (bytes != NULL)
        *bytes = symbol->bytes;
    return HONE_OK;
}

static const struct hone_argument *find_contents(const struct hn_lib_symbol *symbol,
                                                 const struct hone_argument *arguments,
                                                 size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (arguments[i].name != NULL && (strcmp(arguments[i].name, symbol->name) == 0 ||
                                          strcmp(arguments[i].name, symbol->from) == 0))
            return &arguments[i];
    return NULL;
}

static enum hone_status set_symbol(struct hone_kernel *kernel, CUstream stream,
                                   const struct hn_lib_symbol *symbol,
                                   const struct hone_argument *contents, struct hone_error *err)
{
    const struct hn_driver *driver = &kernel->cache->driver;
    if (contents->kind == HONE_BUFFER)
        return hn_lib_cuda(kernel->cache,
                           driver->p_cuMemcpyDtoDAsync(symbol->address, contents->as.buffer,
                                                       symbol->bytes, stream),
                           symbol->name, err);
    if (contents->kind != HONE_BYTES || contents->as.host == NULL ||
        contents->bytes != symbol->bytes)
        return hn_lib_fail(err, HONE_INVALID,
                           "symbol '%s' takes a buffer, or %llu bytes of host memory", symbol->name,
                           (unsigned long long)symbol->bytes);
    return hn_lib_cuda(
        kernel->cache,
        driver->p_cuMemcpyHtoDAsync(symbol->address, contents->as.host, symbol->bytes, stream),
        symbol->name, err);
}

enum hone_status hone_set_symbols(struct hone_kernel *kernel, CUstream stream,
                                  const struct hone_argument *arguments, size_t count,
                                  struct hone_error *err)
{
    if (kernel == NULL || (arguments == NULL && count > 0))
        return hn_lib_fail(err, HONE_INVALID, "hone_set_symbols: '%s' is NULL",
                           kernel == NULL ? "kernel" : "arguments");
    enum hone_status status = HONE_OK;
    bool all = true;
    for (size_t i = 0; status == HONE_OK && i < kernel->symbols_to_set; i++) {
        const struct hn_lib_symbol *symbol = symbol_to_set(kernel, i);
        const struct hone_argument *contents = find_contents(symbol, arguments, count);
        all = all && contents != NULL;
        if (contents != NULL)
            status = set_symbol(kernel, stream, symbol, contents, err);
        else if (!atomic_load(&kernel->symbols_are_set))
            status = hn_lib_fail(err, HONE_INVALID,
                                 "symbol '%s' is not given and was never set: all %zu symbols have "
                                 "to be given the first time",
                                 symbol->name, kernel->symbols_to_set);
    }
    if (status == HONE_OK && all)
        atomic_store(&kernel->symbols_are_set, true);
    return status;
}
