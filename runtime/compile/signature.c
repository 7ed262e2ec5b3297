/* SPDX-License-Identifier: MIT */
#include "runtime/compile/signature.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/compile/cubin.h"

/* What is passed by address, and the handle of a texture object; a CUtensorMap. */
enum { ADDRESS_BYTES = 8, TENSOR_MAP_BYTES = 128 };
/* Of the arguments that a message lists. */
enum { LISTED_BYTES = 1500 };

/* Bytes that the driver takes from an argument, and what it is in words. */
static enum hn_status passed_bytes(const struct hn_plan *plan, size_t index,
                                   const struct hn_value *values, uint64_t *bytes, char what[96],
                                   struct hn_error *err)
{
    const struct hn_argument *argument = &plan->arguments[index];
    *bytes = ADDRESS_BYTES;
    if (argument->role == HN_ROLE_TEXTURE) {
        snprintf(what, 96, "a texture object");
    } else if (argument->role == HN_ROLE_TENSOR_MAP) {
        *bytes = TENSOR_MAP_BYTES;
        snprintf(what, 96, "a tensor map, passed by value");
    } else if (hn_argument_is_buffer(argument)) {
        snprintf(what, 96, "a buffer, passed as its address");
    } else if (argument->value != NULL) {
        *bytes = hn_element_size(argument->element);
        snprintf(what, 96, "%s", hn_element_name(argument->element));
    } else {
        snprintf(what, 96, "the contents of '%.60s'", argument->from);
        return hn_argument_buffer_bytes(&plan->arguments[hn_plan_source(plan, index)], values,
                                        bytes, err);
    }
    return HN_OK;
}

static enum hn_status fail_count(const struct hn_plan *plan, const struct hn_step *step,
                                 const struct hn_parameters *declared, struct hn_error *err)
{
    struct hn_text sizes, passed;
    hn_text_init(&sizes);
    hn_text_init(&passed);
    for (size_t i = 0; i < declared->count && sizes.length < LISTED_BYTES; i++)
        hn_text_printf(&sizes, "%s%u", i > 0 ? ", " : " of ", (unsigned)declared->bytes[i]);
    for (size_t i = 0; i < step->argument_count && passed.length < LISTED_BYTES; i++)
        hn_text_printf(&passed, "%s%s", i > 0 ? ", " : ": ",
                       plan->arguments[step->arguments[i]].name);
    enum hn_status status = hn_fail(
        err, HN_ECONFIG,
        "kernel '%.200s' takes %zu parameter%s%s%s, the plan passes %zu%s; give it one argument "
        "for each parameter, in the kernel's order",
        step->entry, declared->count, declared->count == 1 ? "" : "s",
        sizes.data != NULL ? sizes.data : "", sizes.data != NULL ? " bytes" : "",
        step->argument_count, passed.data != NULL ? passed.data : "");
    hn_text_finish(&sizes);
    hn_text_finish(&passed);
    return status;
}

static enum hn_status compare(const struct hn_plan *plan, const struct hn_value *values,
                              const struct hn_step *step, const struct hn_parameters *declared,
                              struct hn_error *err)
{
    if (declared->count != step->argument_count)
        return fail_count(plan, step, declared, err);
    for (size_t i = 0; i < declared->count; i++) {
        uint64_t bytes = 0;
        char what[96];
        size_t argument = step->arguments[i];
        enum hn_status status = passed_bytes(plan, argument, values, &bytes, what, err);
        if (status != HN_OK)
            return status;
        if (bytes != declared->bytes[i])
            return hn_fail(err, HN_ECONFIG,
                           "argument '%s' is %s (%llu byte%s); parameter %zu of kernel '%.200s' "
                           "has %u byte%s; expected arguments in the kernel's order, of the types "
                           "that it declares",
                           plan->arguments[argument].name, what, (unsigned long long)bytes,
                           bytes == 1 ? "" : "s", i + 1, step->entry, (unsigned)declared->bytes[i],
                           declared->bytes[i] == 1 ? "" : "s");
    }
    return HN_OK;
}

enum hn_status hn_signature_check(const struct hn_plan *plan, const struct hn_value *values,
                                  const struct hn_launch *launch, const struct hn_image *image,
                                  struct hn_error *err)
{
    if (image->entry_count != launch->step_count)
        return hn_fail(err, HN_EFORMAT, "the image has %zu kernels; the plan launches %zu",
                       image->entry_count, launch->step_count);
    for (size_t i = 0; i < launch->step_count; i++) {
        struct hn_parameters declared;
        enum hn_status status =
            hn_cubin_read_parameters(image->cubin, image->size, image->entries[i], &declared, err);
        if (status == HN_OK)
            status = compare(plan, values, launch->steps[i].step, &declared, err);
        hn_parameters_finish(&declared);
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}
