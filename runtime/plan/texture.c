/* SPDX-License-Identifier: MIT */
#include "runtime/plan/texture.h"

#include "runtime/plan/argument.h"

const char *const hn_texture_addresses[HN_TEXTURE_ADDRESS_COUNT] = {
    [HN_TEXTURE_WRAP] = "wrap",
    [HN_TEXTURE_CLAMP] = "clamp",
    [HN_TEXTURE_MIRROR] = "mirror",
    [HN_TEXTURE_BORDER] = "border",
};
const char *const hn_texture_filters[2] = {"point", "linear"};
const char *const hn_texture_reads[2] = {"element", "normalized_float"};

/* What a channel of a texture can be: no 64 bits, and no bfloat16. */
static bool is_channel(enum hn_element element)
{
    return hn_element_size(element) <= 4 && element != HN_BFLOAT16;
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
