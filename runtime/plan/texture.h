/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PLAN_TEXTURE_H
#define HONE_RUNTIME_PLAN_TEXTURE_H

#include <stdbool.h>

/* How a texture object reads a buffer. */

enum hn_texture_address {
    HN_TEXTURE_WRAP,
    HN_TEXTURE_CLAMP,
    HN_TEXTURE_MIRROR,
    HN_TEXTURE_BORDER,
    HN_TEXTURE_ADDRESS_COUNT
};

struct hn_texture {
    int dimensions;                    /* 1: the buffer as it lies; 2: its rows */
    enum hn_texture_address address[2]; /* in x and y, outside of the buffer */
    bool linear;                       /* filter: between elements; else the one at the point */
    bool normalized;                   /* coordinates from 0 to 1 */
    bool as_float;                     /* integers of 8 and 16 bits as numbers from 0 (or -1) to 1 */
};

/* The words of a config: addresses in the order above, filters and ways to read with the plain one first. */
extern const char *const hn_texture_addresses[HN_TEXTURE_ADDRESS_COUNT];
extern const char *const hn_texture_filters[2];
extern const char *const hn_texture_reads[2];

#endif
