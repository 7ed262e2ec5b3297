/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "runtime/libhone/kernel.h"

/* The way of every launch: no lock, no allocation, and formatting only of what goes wrong. */

static const char *name_of(const struct hone_argument *argument)
{
    return argument->name == NULL ? "(NULL)" : argument->name;
}

static const char *kind_name(enum hone_argument_kind kind)
{
    static const char *const names[] = {
        [HONE_BUFFER] = "hone_buffer",     [HONE_TEXTURE] = "hone_texture",
        [HONE_BYTES] = "hone_bytes",       [HONE_INT8] = "hone_int8",
        [HONE_INT16] = "hone_int16",       [HONE_INT32] = "hone_int32",
        [HONE_INT64] = "hone_int64",       [HONE_UINT8] = "hone_uint8",
        [HONE_UINT16] = "hone_uint16",     [HONE_UINT32] = "hone_uint32",
        [HONE_UINT64] = "hone_uint64",     [HONE_FLOAT32] = "hone_float32",
        [HONE_FLOAT64] = "hone_float64",   [HONE_FLOAT16] = "hone_float16",
        [HONE_BFLOAT16] = "hone_bfloat16", [HONE_FLOAT8_E4M3] = "hone_float8_e4m3",
    };
    size_t index = (size_t)kind;
    return index < sizeof names / sizeof *names && names[index] != NULL ? names[index]
                                                                        : "no such kind";
}

static bool is_known(const struct hone_kernel *kernel, const char *name)
{
    for (size_t i = 0; name != NULL && i < kernel->slot_count; i++)
        if (strcmp(kernel->slots[i].name, name) == 0)
            return true;
    return false;
}

__attribute__((cold, noinline)) static enum hone_status refuse(const struct hone_kernel *kernel,
                                                               const struct hn_lib_slot *slot,
                                                               const struct hone_argument *argument,
                                                               struct hone_error *err)
{
    const char *kind = kind_name(slot->kind);
    if (argument->kind != slot->kind)
        return hn_lib_fail(err, HONE_INVALID, "argument '%s' of %s is given by %s, expected %s",
                           slot->name, kernel->name, kind_name(argument->kind), kind);
    if (slot->kind == HONE_BYTES)
        return hn_lib_fail(err, HONE_INVALID, "argument '%s' of %s has %u bytes, expected %u",
                           slot->name, kernel->name, argument->bytes, slot->value_bytes);
    if (slot->kind == HONE_BUFFER)
        return hn_lib_fail(err, HONE_INVALID,
                           "argument '%s' of %s lies at 0x%llx, expected a multiple of %llu bytes, "
                           "as its 'align' or a tensor map over it wants",
                           slot->name, kernel->name, (unsigned long long)argument->as.bits,
                           (unsigned long long)slot->below_align + 1);
    return hn_lib_fail(
        err, HONE_INVALID,
        "argument '%s' of %s is not what it is for the problem %.300s: leave it out, "
        "or get the kernel for the problem that you have",
        slot->name, kernel->name, hone_kernel_info(kernel)->problem);
}

__attribute__((cold, noinline)) static enum hone_status
refuse_missing(const struct hone_kernel *kernel, const struct hn_lib_slot *slot,
               const struct hone_argument *found, struct hone_error *err)
{
    if (found == NULL)
        return hn_lib_fail(err, HONE_INVALID, "argument '%s' of %s is missing", slot->name,
                           kernel->name);
    return hn_lib_fail(err, HONE_INVALID, "found argument '%s' where %s takes '%s'%s",
                       name_of(found), kernel->name, slot->name,
                       is_known(kernel, found->name) ? ": arguments stand in the config's order"
                                                     : ", and nothing of that name");
}

__attribute__((cold, noinline)) static enum hone_status
refuse_rest(const struct hone_kernel *kernel, const struct hone_argument *found,
            struct hone_error *err)
{
    return hn_lib_fail(err, HONE_INVALID, "argument '%s': %s", name_of(found),
                       is_known(kernel, found->name)
                           ? "it is given twice, or out of the config's order"
                           : "the kernel has none of that name");
}

/* Whether an argument can be slot's; NULL names match no slot. */
static inline bool is_right(const struct hn_lib_slot *slot, const struct hone_argument *argument)
{
    if (argument->kind != slot->kind)
        return false;
    if (slot->kind == HONE_BYTES)
        return argument->bytes == slot->value_bytes && argument->as.host != NULL;
    if (slot->kind == HONE_BUFFER)
        return (argument->as.bits & slot->below_align) == 0;
    return slot->need != HONE_FIXED || argument->as.bits == slot->preset;
}

/* Gives each slot its value. *owned has a bit for each that is an offset in the workspace. */
static enum hone_status resolve(const struct hone_kernel *kernel,
                                const struct hone_argument *arguments, size_t count,
                                uint64_t *values, uint64_t *owned, struct hone_error *err)
{
    size_t next = 0;
    for (size_t i = 0; i < kernel->slot_count; i++) {
        const struct hn_lib_slot *slot = &kernel->slots[i];
        const struct hone_argument *argument = next < count ? &arguments[next] : NULL;
        if (argument != NULL && argument->name != NULL && strcmp(argument->name, slot->name) == 0) {
            if (!is_right(slot, argument))
                return refuse(kernel, slot, argument, err);
            values[i] = argument->as.bits;
            next++;
            continue;
        }
        if (slot->need == HONE_REQUIRED)
            return refuse_missing(kernel, slot, argument, err);
        values[i] = slot->preset;
        if (slot->need == HONE_OWNED && slot->taken && !slot->mapped)
            *owned |= (uint64_t)1 << i;
    }
    return next == count ? HONE_OK : refuse_rest(kernel, &arguments[next], err);
}

static enum hone_status place_owned(struct hone_kernel *kernel, CUstream stream, uint64_t owned,
                                    uint64_t *values, struct hone_error *err)
{
    CUdeviceptr base = 0;
    enum hone_status status = hn_lib_workspace_get(kernel, stream, &base, err);
    for (size_t i = 0; status == HONE_OK && i < kernel->slot_count; i++)
        if ((owned >> i & 1) != 0)
            values[i] += base;
    return status;
}

static CUresult zero(const struct hone_kernel *kernel, CUstream stream, const uint64_t *values)
{
    const struct hn_driver *driver = &kernel->cache->driver;
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < kernel->slot_count && result == CUDA_SUCCESS; i++)
        if (kernel->slots[i].zeroed)
            result = driver->p_cuMemsetD8Async(values[i], 0, kernel->slots[i].bytes, stream);
    for (size_t i = 0; i < kernel->symbol_count && result == CUDA_SUCCESS; i++)
        if (kernel->symbols[i].zeroed)
            result = driver->p_cuMemsetD8Async(kernel->symbols[i].address, 0,
                                               kernel->symbols[i].bytes, stream);
    return result;
}

enum hone_status hn_lib_launch_steps(struct hone_kernel *kernel, CUstream stream, uint64_t *values,
                                     struct hone_error *err)
{
    const struct hn_driver *driver = &kernel->cache->driver;
    void *parameters[HN_LIB_MAX_ARGUMENTS];
    CUtensorMap spare[HN_LIB_MAX_MAPS];
    if (kernel->launch.tensor_count > 0) {
        CUresult placed = hn_lib_maps_place(kernel, values, spare);
        if (placed != CUDA_SUCCESS)
            return hn_lib_cuda(kernel->cache, placed, "encoding a tensor map", err);
    }
    CUresult result = kernel->has_zeroed ? zero(kernel, stream, values) : CUDA_SUCCESS;
    for (size_t s = 0; s < kernel->step_count && result == CUDA_SUCCESS; s++) {
        const struct hn_lib_step *step = &kernel->steps[s];
        for (size_t i = 0; i < step->argument_count; i++) {
            size_t argument = step->arguments[i];
            parameters[i] = kernel->slots[argument].kind == HONE_BYTES
                                ? (void *)(uintptr_t)values[argument]
                                : &values[argument];
        }
        CUdeviceptr window = step->shape.window == SIZE_MAX ? 0 : values[step->window_argument];
        result = hn_module_launch_grid(&step->shape, kernel->grids[s], driver, step->function,
                                       stream, window, parameters);
    }
    return result == CUDA_SUCCESS ? HONE_OK : hn_lib_cuda(kernel->cache, result, "launching", err);
}

enum hone_status hone_launch(struct hone_kernel *kernel, CUstream stream,
                             const struct hone_argument *arguments, size_t count,
                             struct hone_error *err)
{
    uint64_t values[HN_LIB_MAX_ARGUMENTS];
    uint64_t owned = 0;
    if (kernel == NULL || (arguments == NULL && count > 0))
        return hn_lib_fail(err, HONE_INVALID, "hone_launch: '%s' is NULL",
                           kernel == NULL ? "kernel" : "arguments");
    enum hone_status status = resolve(kernel, arguments, count, values, &owned, err);
    if (status != HONE_OK)
        return status;
    if (kernel->symbols_to_set > 0 &&
        !atomic_load_explicit(&kernel->symbols_are_set, memory_order_acquire))
        return hn_lib_fail(err, HONE_INVALID,
                           "%s has %zu symbols that were never set: call hone_set_symbols first",
                           kernel->name, kernel->symbols_to_set);
    if (owned != 0)
        status = place_owned(kernel, stream, owned, values, err);
    if (status != HONE_OK)
        return status;
    if (!kernel->is_watched)
        return kernel->as_graph ? hn_lib_graph_launch(kernel, stream, values, err)
                                : hn_lib_launch_steps(kernel, stream, values, err);
    if (kernel->race != NULL)
        return hn_lib_race_launch(kernel, stream, arguments, count, values, err);
    enum hone_status captured = hn_lib_capture(kernel, stream, values, err);
    status = hn_lib_launch_steps(kernel, stream, values, err);
    return status == HONE_OK ? captured : status;
}
