/* SPDX-License-Identifier: MIT */
#include "runtime/plan/argument.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const char *const roles[HN_ROLE_COUNT] = {
#define X(identifier, name) [identifier] = name,
    HN_ROLES(X)
#undef X
};

const char *const hn_compare_mode_names[HN_COMPARE_MODE_COUNT] = {
#define X(identifier, name) [identifier] = name,
    HN_COMPARE_MODES(X)
#undef X
};

const char *hn_role_name(enum hn_role role)
{
    return roles[role];
}

bool hn_role_parse(const char *name, enum hn_role *role)
{
    for (int i = 0; i < HN_ROLE_COUNT; i++) {
        if (strcmp(roles[i], name) == 0) {
            *role = (enum hn_role)i;
            return true;
        }
    }
    return false;
}

enum hn_status hn_argument_set_count(struct hn_argument *argument, struct hn_error *err)
{
    struct hn_text text;
    hn_text_init(&text);
    hn_text_printf(&text, "(%s) * (%s)", hn_expression_text(argument->shape.width),
                   hn_expression_text(argument->shape.height));
    enum hn_status status =
        text.failed ? hn_fail_memory(err) : hn_expression_parse(text.data, &argument->count, err);
    hn_text_finish(&text);
    return status;
}

enum hn_status hn_argument_evaluate_rows(const struct hn_argument *argument,
                                         const struct hn_value *values, uint64_t *row,
                                         uint64_t *pitch, struct hn_error *err)
{
    static const int64_t MOST = INT64_C(1) << 40;
    const struct hn_shape *shape = &argument->shape;
    int64_t width = 0;
    int64_t bytes = 0;
    *row = *pitch = 0;
    if (shape->width == NULL)
        return HN_OK;
    enum hn_status status = hn_expression_integer(shape->width, values, &width, err);
    if (status != HN_OK)
        return status;
    if (width < 1 || width > MOST)
        return hn_fail(err, HN_EVALUE, "argument '%s' has a width of %lld; expected 1 to %lld",
                       argument->name, (long long)width, (long long)MOST);
    int64_t row_bytes = width * (int64_t)hn_argument_bytes(argument);
    bytes = row_bytes;
    if (shape->device)
        bytes = (row_bytes + HN_DEVICE_PITCH - 1) / HN_DEVICE_PITCH * HN_DEVICE_PITCH;
    if (shape->pitch != NULL)
        status = hn_expression_integer(shape->pitch, values, &bytes, err);
    if (status != HN_OK)
        return status;
    if (bytes < row_bytes || bytes > 8 * MOST ||
        bytes % (int64_t)hn_element_size(argument->element) != 0)
        return hn_fail(err, HN_EVALUE,
                       "argument '%s' has a pitch of %lld bytes; expected a multiple of %zu, at "
                       "least the %lld of a row",
                       argument->name, (long long)bytes, hn_element_size(argument->element),
                       (long long)row_bytes);
    *row = (uint64_t)width * argument->lanes;
    *pitch = (uint64_t)bytes;
    return HN_OK;
}

enum hn_status hn_argument_evaluate_align(const struct hn_argument *argument,
                                          const struct hn_value *values, uint64_t *align,
                                          struct hn_error *err)
{
    int64_t bytes = 0;
    int64_t least = (int64_t)hn_element_size(argument->element);
    if (argument->align == NULL)
        return HN_OK;
    enum hn_status status = hn_expression_integer(argument->align, values, &bytes, err);
    if (status != HN_OK)
        return status;
    if (bytes < least || bytes > HN_MOST_ALIGN || (bytes & (bytes - 1)) != 0)
        return hn_fail(
            err, HN_EVALUE,
            "argument '%s' has an align of %lld; expected a power of two from %lld to %d",
            argument->name, (long long)bytes, (long long)least, HN_MOST_ALIGN);
    *align = (uint64_t)bytes;
    return HN_OK;
}

void hn_argument_format_type(const struct hn_argument *argument, char text[HN_TYPE_SIZE])
{
    hn_type_format(argument->element, argument->lanes, text);
}

size_t hn_argument_bytes(const struct hn_argument *argument)
{
    return hn_element_size(argument->element) * (argument->lanes > 1 ? argument->lanes : 1);
}

int64_t hn_argument_most(const struct hn_argument *argument)
{
    return ((int64_t)1 << 50) / (int64_t)hn_argument_bytes(argument);
}

enum hn_status hn_argument_buffer_bytes(const struct hn_argument *argument,
                                        const struct hn_value *values, uint64_t *bytes,
                                        struct hn_error *err)
{
    const int64_t most = hn_argument_most(argument);
    int64_t count = 0;
    uint64_t row = 0;
    uint64_t pitch = 0;
    int64_t element_bytes = (int64_t)hn_argument_bytes(argument);
    enum hn_status status = hn_expression_integer(argument->count, values, &count, err);
    if (status == HN_OK && (count < 1 || count > most))
        return hn_fail(err, HN_EVALUE, "argument '%s' has a count of %lld; expected 1 to %lld",
                       argument->name, (long long)count, (long long)most);
    if (status == HN_OK)
        status = hn_argument_evaluate_rows(argument, values, &row, &pitch, err);
    *bytes = row == 0 ? (uint64_t)(count * element_bytes)
                      : (uint64_t)count * argument->lanes / row * pitch;
    return status;
}

enum hn_status hn_argument_evaluate_scalar(const struct hn_argument *argument,
                                           const struct hn_value *values, uint64_t *scalar,
                                           struct hn_error *err)
{
    *scalar = 0;
    if (hn_element_is_real(argument->element)) {
        double real = 0.0;
        enum hn_status status = hn_expression_number(argument->value, values, &real, err);
        hn_element_encode(real, argument->element, scalar);
        return status;
    }
    int64_t integer = 0;
    int64_t low = 0;
    int64_t high = 0;
    enum hn_status status = hn_expression_integer(argument->value, values, &integer, err);
    if (status != HN_OK)
        return status;
    hn_element_range(argument->element, &low, &high);
    if (integer < low || integer > high)
        return hn_fail(err, HN_EVALUE, "argument '%s' is %lld, which %s can not hold",
                       argument->name, (long long)integer, hn_element_name(argument->element));
    memcpy(scalar, &integer, hn_element_size(argument->element)); /* little endian */
    return HN_OK;
}

bool hn_argument_is_passed(const struct hn_argument *argument)
{
    return argument->role != HN_ROLE_SYMBOL;
}

bool hn_argument_is_buffer(const struct hn_argument *argument)
{
    return argument->count != NULL && argument->role != HN_ROLE_SYMBOL;
}

bool hn_compare_is_loose(const struct hn_compare *compare)
{
    return compare->partial || compare->mismatches != NULL || compare->mismatch_share > 0;
}

bool hn_argument_is_compared(const struct hn_argument *argument)
{
    return argument->role == HN_ROLE_OUTPUT || argument->role == HN_ROLE_INOUT;
}

bool hn_argument_is_repeatable(const struct hn_argument *argument)
{
    bool counter = argument->role == HN_ROLE_COUNTER && argument->zero == HN_ZERO_OUTSIDE;
    return argument->role != HN_ROLE_INOUT && argument->role != HN_ROLE_METRIC && !counter &&
           !argument->changes;
}

bool hn_argument_is_filled(const struct hn_argument *argument)
{
    return argument->role == HN_ROLE_INPUT || argument->role == HN_ROLE_INOUT ||
           (argument->role == HN_ROLE_SYMBOL && argument->count != NULL);
}

enum hn_status hn_argument_applies(const struct hn_argument *argument,
                                   const struct hn_value *values, bool *applies,
                                   struct hn_error *err)
{
    struct hn_value holds = hn_boolean(true);
    enum hn_status status = HN_OK;
    if (argument->condition != NULL)
        status = hn_expression_evaluate(argument->condition, values, &holds, err);
    *applies = status == HN_OK && hn_value_truth(&holds);
    return status;
}

/* What a channel of a texture can be: no 64 bits, no bfloat16 and no float8. */
static bool is_channel(enum hn_element element)
{
    return hn_element_size(element) <= 4 && element != HN_BFLOAT16 && element != HN_FLOAT8_E4M3;
}

/* Linear memory is fetched by whole numbers, and reads 0 outside: CUDA C++ Programming Guide,
 * "Texture Fetching". */
static const char *check_linear_memory(const struct hn_texture *texture)
{
    if (texture->linear)
        return "a texture of one dimension has no linear filter";
    if (texture->normalized)
        return "a texture of one dimension has no normalized coordinates";
    return NULL;
}

const char *hn_texture_check(const struct hn_texture *texture, const struct hn_argument *buffer)
{
    bool small = !hn_element_is_real(buffer->element) && hn_element_size(buffer->element) <= 2;
    bool mirrors =
        texture->address[0] == HN_TEXTURE_WRAP || texture->address[0] == HN_TEXTURE_MIRROR ||
        texture->address[1] == HN_TEXTURE_WRAP || texture->address[1] == HN_TEXTURE_MIRROR;
    if (!is_channel(buffer->element) ||
        (buffer->lanes != 1 && buffer->lanes != 2 && buffer->lanes != 4))
        return "a texture reads elements of 8, 16 or 32 bits, or vectors of 2 or 4 of them, and no "
               "bfloat16";
    if (texture->dimensions == 2 && buffer->shape.width == NULL)
        return "a texture of two dimensions needs a buffer with width and height";
    if (texture->as_float && !small)
        return "only integers of 8 and 16 bits are read as normalized_float";
    if (texture->linear && !hn_element_is_real(buffer->element) && !texture->as_float)
        return "the linear filter needs float16, float32 or 'read: normalized_float'";
    if (texture->dimensions == 1)
        return check_linear_memory(texture);
    if (mirrors && !texture->normalized)
        return "address modes wrap and mirror need 'normalized: true'";
    return NULL;
}

enum hn_status hn_argument_evaluate_tensor(const struct hn_argument *argument,
                                           const struct hn_argument *over,
                                           const struct hn_value *values, struct hn_tensor *tensor,
                                           struct hn_error *err)
{
    *tensor = (struct hn_tensor){.name = argument->name,
                                 .over = over->name,
                                 .element = over->element,
                                 .align = HN_PROMISED_ALIGN};
    enum hn_status status = hn_argument_buffer_bytes(over, values, &tensor->bytes, err);
    if (status == HN_OK)
        status = hn_argument_evaluate_align(over, values, &tensor->align, err);
    if (status == HN_OK)
        status = hn_tensor_map_evaluate(&argument->tensor_map, values, tensor, err);
    return status;
}
