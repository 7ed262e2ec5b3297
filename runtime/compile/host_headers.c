/* SPDX-License-Identifier: MIT */
#include "runtime/compile/host_headers.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/compile/code_scan.h"

/* X(file of headers/, name, its name in C++) */
#define OF_C(X)                                                                                    \
    X(assert_h, "assert.h", "cassert")                                                             \
    X(float_h, "float.h", "cfloat")                                                                \
    X(inttypes_h, "inttypes.h", "cinttypes")                                                       \
    X(limits_h, "limits.h", "climits")                                                             \
    X(math_h, "math.h", "cmath")                                                                   \
    X(stdbool_h, "stdbool.h", "cstdbool")                                                          \
    X(stddef_h, "stddef.h", "cstddef")                                                             \
    X(stdint_h, "stdint.h", "cstdint")                                                             \
    X(stdio_h, "stdio.h", "cstdio")                                                                \
    X(stdlib_h, "stdlib.h", "cstdlib")                                                             \
    X(string_h, "string.h", "cstring")                                                             \
    X(time_h, "time.h", "ctime")

/* X(file of headers/, name, fallback) */
#define OTHERS(X)                                                                                  \
    X(algorithm, "algorithm", false)                                                               \
    X(initializer_list, "initializer_list", false)                                                 \
    X(limits, "limits", false)                                                                     \
    X(type_traits, "type_traits", false)                                                           \
    X(utility, "utility", false)                                                                   \
    X(cuda_h, "cuda.h", false)                                                                     \
    X(cuda_runtime_h, "cuda_runtime.h", true)                                                      \
    X(cuda_runtime_h, "cuda_runtime_api.h", true)                                                  \
    X(cuda_runtime_h, "device_launch_parameters.h", true)                                          \
    X(cuda_runtime_h, "vector_types.h", true)

#define X(file, name, last) extern const char hn_header_##file[];
OF_C(X)
OTHERS(X)
#undef X

const struct hn_host_header hn_host_headers[HN_HOST_HEADER_COUNT] = {
#define X(file, name, cpp_name)                                                                    \
    {name, hn_header_##file, false}, {cpp_name, hn_header_##file, false},
    OF_C(X)
#undef X
#define X(file, name, fallback) {name, hn_header_##file, fallback},
        OTHERS(X)
#undef X
};

const struct hn_host_header *hn_host_header_find(const char *name, size_t length)
{
    for (size_t i = 0; i < HN_HOST_HEADER_COUNT; i++) {
        const struct hn_host_header *header = &hn_host_headers[i];
        if (strlen(header->name) == length && strncmp(header->name, name, length) == 0)
            return header;
    }
    return NULL;
}

void hn_host_header_use(const struct hn_host_header *header, bool uses[HN_HOST_HEADER_COUNT])
{
    struct hn_include_scan lines = {.next = header->text};
    struct hn_include include;
    bool known = uses[header - hn_host_headers];
    uses[header - hn_host_headers] = true;
    while (!known && hn_include_next(&lines, &include)) {
        const struct hn_host_header *next = hn_host_header_find(include.name, include.length);
        if (next != NULL)
            hn_host_header_use(next, uses);
    }
}

/* Names of C++'s headers have no dot; C's lie where the host's compiler looks. */
bool hn_is_header_of_host(const char *name, size_t length)
{
    char path[512];
    if (memchr(name, '.', length) == NULL)
        return true;
    snprintf(path, sizeof path, "/usr/include/%.*s", (int)length, name);
    return access(path, F_OK) == 0;
}
