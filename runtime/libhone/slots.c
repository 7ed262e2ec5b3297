/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "runtime/libhone/kernel.h"

_Static_assert(HONE_FLOAT8_E4M3 - HONE_INT8 == HN_FLOAT8_E4M3 - HN_INT8,
               "kinds follow the elements");

enum { ALIGNMENT = 512 };

static enum hn_status make_scalar(const struct hn_argument *argument, const struct hn_value *values,
                                  struct hn_lib_slot *slot, struct hn_error *err)
{
    slot->kind = (enum hone_argument_kind)((int)HONE_INT8 + (int)argument->element);
    slot->value_bytes = (uint32_t)hn_element_size(argument->element);
    bool constant = hn_expression_slots(argument->value) == 0;
    slot->need = constant || !slot->taken ? HONE_OPTIONAL : HONE_FIXED;
    return hn_argument_evaluate_scalar(argument, values, &slot->preset, err);
}

/* The contents of an input as one structure. */
static enum hn_status make_structure(const struct hn_plan *plan, size_t index,
                                     const struct hn_value *values, struct hn_lib_slot *slot,
                                     struct hn_error *err)
{
    uint64_t bytes = 0;
    const struct hn_argument *source = &plan->arguments[hn_plan_source(plan, index)];
    slot->kind = HONE_BYTES;
    enum hn_status status = hn_argument_buffer_bytes(source, values, &bytes, err);
    slot->value_bytes = (uint32_t)bytes;
    return status;
}

/* Bits that the address of a buffer under tensor maps has not got. */
static uint64_t below_maps(const struct hn_launch *launch, size_t index)
{
    uint64_t below = 0;
    for (size_t i = 0; i < launch->tensor_count; i++)
        if (launch->tensors[i].buffer == index)
            below |= (uint64_t)hn_tensor_grain(&launch->tensors[i]) - 1;
    return below;
}

static enum hn_status make_buffer(const struct hn_launch *launch, size_t index,
                                  const struct hn_argument *argument, const struct hn_value *values,
                                  struct hn_lib_slot *slot, struct hn_error *err)
{
    bool owned = argument->role == HN_ROLE_SCRATCH || argument->role == HN_ROLE_COUNTER ||
                 argument->role == HN_ROLE_METRIC;
    slot->kind = HONE_BUFFER;
    slot->zeroed =
        slot->taken && argument->role == HN_ROLE_COUNTER && argument->zero != HN_ZERO_ONCE;
    slot->starts_zero = argument->zero == HN_ZERO_ONCE;
    uint64_t align = 1;
    if (owned)
        slot->need = HONE_OWNED;
    enum hn_status status = hn_argument_evaluate_align(argument, values, &align, err);
    slot->below_align = (align - 1) | below_maps(launch, index);
    return status == HN_OK ? hn_argument_buffer_bytes(argument, values, &slot->bytes, err) : status;
}

static enum hn_status make_slot(struct hone_kernel *kernel, size_t index,
                                const struct hn_value *values, struct hn_error *err)
{
    const struct hn_plan *plan = kernel->plan->plan;
    const struct hn_argument *argument = &plan->arguments[index];
    struct hn_lib_slot *slot = &kernel->slots[index];
    slot->name = argument->name;
    slot->taken = hn_launch_takes(&kernel->launch, index);
    slot->need = slot->taken ? HONE_REQUIRED : HONE_OPTIONAL;
    if (argument->role == HN_ROLE_TEXTURE) {
        slot->kind = HONE_TEXTURE;
        slot->value_bytes = sizeof(CUtexObject);
        return HN_OK;
    }
    if (argument->role == HN_ROLE_TENSOR_MAP) {
        slot->kind = HONE_BYTES;
        slot->need = HONE_OWNED;
        slot->mapped = true;
        slot->value_bytes = sizeof(CUtensorMap);
        return HN_OK;
    }
    if (argument->value != NULL)
        return make_scalar(argument, values, slot, err);
    if (argument->role == HN_ROLE_VALUE)
        return make_structure(plan, index, values, slot, err);
    return make_buffer(&kernel->launch, index, argument, values, slot, err);
}

enum hone_status hn_lib_slots_make(struct hone_kernel *kernel, const struct hn_value *values,
                                   struct hone_error *err)
{
    struct hn_error reason;
    hn_error_init(&reason);
    enum hn_status status = HN_OK;
    const struct hn_plan *plan = kernel->plan->plan;
    /* Symbols stand behind the arguments. */
    size_t count = 0;
    while (count < plan->argument_count && hn_argument_is_passed(&plan->arguments[count]))
        count++;
    if (count > HN_LIB_MAX_ARGUMENTS)
        return hn_lib_fail(err, HONE_UNSUPPORTED, "%s has %zu arguments; the library takes %d",
                           plan->kernel, count, (int)HN_LIB_MAX_ARGUMENTS);
    if (kernel->launch.tensor_count > HN_LIB_MAX_MAPS)
        return hn_lib_fail(err, HONE_UNSUPPORTED, "%s has %zu tensor maps; the library takes %d",
                           plan->kernel, kernel->launch.tensor_count, (int)HN_LIB_MAX_MAPS);
    kernel->slots = calloc(count + 1, sizeof *kernel->slots);
    if (kernel->slots == NULL)
        return hn_lib_fail(err, HONE_NO_MEMORY, "out of memory");
    kernel->slot_count = count;
    for (size_t i = 0; status == HN_OK && i < count; i++)
        status = make_slot(kernel, i, values, &reason);
    hn_lib_slots_place(kernel);
    return hn_lib_take(err, status, &reason);
}

void hn_lib_slots_place(struct hone_kernel *kernel)
{
    kernel->workspace_bytes = 0;
    for (size_t i = 0; i < kernel->slot_count; i++) {
        struct hn_lib_slot *slot = &kernel->slots[i];
        if (slot->need != HONE_OWNED || !slot->taken || slot->mapped)
            continue;
        slot->preset = kernel->workspace_bytes;
        kernel->workspace_bytes += (slot->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
}

size_t hone_kernel_argument_count(const struct hone_kernel *kernel)
{
    return kernel == NULL ? 0 : kernel->slot_count;
}

enum hone_status hone_kernel_argument(const struct hone_kernel *kernel, size_t index,
                                      struct hone_argument_info *info)
{
    if (kernel == NULL || info == NULL || index >= kernel->slot_count)
        return HONE_INVALID;
    const struct hn_lib_slot *slot = &kernel->slots[index];
    *info = (struct hone_argument_info){
        .name = slot->name,
        .kind = slot->kind,
        .type = kernel->plan->types + index * HN_TYPE_SIZE,
        .role = hn_role_name(kernel->plan->plan->arguments[index].role),
        .need = slot->need,
        .bytes = slot->kind == HONE_BUFFER ? slot->bytes : slot->value_bytes,
    };
    return HONE_OK;
}
