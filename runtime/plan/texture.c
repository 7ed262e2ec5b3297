/* SPDX-License-Identifier: MIT */
#include "runtime/plan/texture.h"

const char *const hn_texture_addresses[HN_TEXTURE_ADDRESS_COUNT] = {
    [HN_TEXTURE_WRAP] = "wrap",
    [HN_TEXTURE_CLAMP] = "clamp",
    [HN_TEXTURE_MIRROR] = "mirror",
    [HN_TEXTURE_BORDER] = "border",
};
const char *const hn_texture_filters[2] = {"point", "linear"};
const char *const hn_texture_reads[2] = {"element", "normalized_float"};
