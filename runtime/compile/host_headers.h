/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_HOST_HEADERS_H
#define HONE_RUNTIME_COMPILE_HOST_HEADERS_H

#include <stdbool.h>
#include <stddef.h>

/* The headers of C, C++ and CUDA that device code includes and NVRTC does not have: headers/, embedded. They hold
 * what of them is of use in device code. */
struct hn_host_header {
    const char *name; /* as it is included: "stdint.h" */
    const char *text;
    bool fallback; /* the toolkit's own serves better, where it is found */
};

enum { HN_HOST_HEADER_COUNT = 34 };
extern const struct hn_host_header hn_host_headers[HN_HOST_HEADER_COUNT];

/* The header of that name, which need not end at a zero; NULL: it is none of them. */
const struct hn_host_header *hn_host_header_find(const char *name, size_t length);
/* Marks a header and what it includes itself, which are others of its kind. */
void hn_host_header_use(const struct hn_host_header *header, bool uses[HN_HOST_HEADER_COUNT]);
/* Whether a header that NVRTC does not find is one of the host's C or C++, which nvcc's host compiler has. */
bool hn_is_header_of_host(const char *name, size_t length);

#endif
