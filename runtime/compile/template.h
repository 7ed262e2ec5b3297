/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_TEMPLATE_H
#define HONE_RUNTIME_COMPILE_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"

struct hn_plan;

/* A kernel template and the files that it includes with quotes, read once at the start of a session. Owns all. */
struct hn_template {
    /* The template itself, whose absolute path is also the program's name, so that compiler messages point into it; then its
     * includes, named as they are between the quotes. */
    struct hn_text_file *files;
    size_t file_count;
    /* What the compiler finds in folders of -I, by its path: several may go by one name, so it reads these itself. Control files,
     * too, those that are no text by their hashes. */
    struct hn_text_file *others;
    size_t other_count;
    struct hn_hash hash; /* of the texts and the includes' names, Hone's own headers of the host and the others among them */
};

/* HN_ECONFIG: no such file, or an include that is missing, with the file and line that asks for it. Quoted includes
 * resolve beside the file that names them, recursively. What the compiler finds in a folder of -I of the plan (NULL: there
 * are none) is no part of the files. Of a program that is measured, whose compiler may look elsewhere, those that are not found, or not told
 * apart, are left out. */
enum hn_status hn_template_load(const char *path, struct hn_template *template, const struct hn_plan *plan,
                                struct hn_error *err);
/* HN_ERUN: a file that the compiler reads itself, of a program any of them, is another one by now. Sticky. */
void hn_template_check(const struct hn_template *template, const struct hn_plan *plan, struct hn_error *err);
/* The number of the file that is included by this name, which need not end at a zero; 0: it was not read. */
size_t hn_template_find(const struct hn_template *template, const char *name, size_t length);
void hn_template_finish(struct hn_template *template);

/* The headers of C, C++ and CUDA that device code includes and NVRTC does not have: headers/, embedded. They hold
 * what of them is of use in device code. */
struct hn_host_header {
    const char *name; /* as it is included: "stdint.h" */
    const char *text;
    bool fallback; /* the toolkit's own serves better, where it is found */
};

/* X(file of headers/, name, fallback) */
#define HN_HOST_HEADERS(X)                                                                                            \
    X(assert_h, "assert.h", false) X(assert_h, "cassert", false) X(float_h, "float.h", false)                         \
    X(float_h, "cfloat", false) X(inttypes_h, "inttypes.h", false) X(inttypes_h, "cinttypes", false)                  \
    X(limits_h, "limits.h", false) X(limits_h, "climits", false) X(math_h, "math.h", false)                           \
    X(math_h, "cmath", false) X(stdbool_h, "stdbool.h", false) X(stdbool_h, "cstdbool", false)                        \
    X(stddef_h, "stddef.h", false) X(stddef_h, "cstddef", false) X(stdint_h, "stdint.h", false)                       \
    X(stdint_h, "cstdint", false) X(stdio_h, "stdio.h", false) X(stdio_h, "cstdio", false)                            \
    X(stdlib_h, "stdlib.h", false) X(stdlib_h, "cstdlib", false) X(string_h, "string.h", false)                       \
    X(string_h, "cstring", false) X(time_h, "time.h", false) X(time_h, "ctime", false)                                \
    X(algorithm, "algorithm", false) X(initializer_list, "initializer_list", false) X(iterator, "iterator", false)    \
    X(limits, "limits", false) X(type_traits, "type_traits", false) X(utility, "utility", false)                      \
    X(cuda_h, "cuda.h", false) X(cub_h, "cub/cub.cuh", false) X(cuda_runtime_h, "cuda_runtime.h", true)               \
    X(cuda_runtime_h, "cuda_runtime_api.h", true) X(cuda_runtime_h, "device_launch_parameters.h", true)               \
    X(cuda_runtime_h, "vector_types.h", true)

enum { HN_HOST_HEADER_COUNT = 36 };
extern const struct hn_host_header hn_host_headers[HN_HOST_HEADER_COUNT];

/* The header of that name, which need not end at a zero; NULL: it is none of them. */
const struct hn_host_header *hn_host_header_find(const char *name, size_t length);
/* Marks a header and others of its kind that it includes. False, and not marked: it includes what is none of them. */
bool hn_host_header_use(const struct hn_host_header *header, bool uses[HN_HOST_HEADER_COUNT]);
/* Whether a header that NVRTC does not find is one of the host's C or C++, which nvcc's host compiler has. */
bool hn_is_header_of_host(const char *name, size_t length);

#endif
