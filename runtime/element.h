/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_ELEMENT_H
#define HONE_RUNTIME_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What buffers are made of. */

/* Element types: X(identifier, YAML name, bytes, C name). */
#define HN_ELEMENTS(X)                                                                                                 \
    X(HN_INT8, "int8", 1, "int8_t")                                                                                    \
    X(HN_INT16, "int16", 2, "int16_t")                                                                                 \
    X(HN_INT32, "int32", 4, "int32_t")                                                                                 \
    X(HN_INT64, "int64", 8, "int64_t")                                                                                 \
    X(HN_UINT8, "uint8", 1, "uint8_t")                                                                                 \
    X(HN_UINT16, "uint16", 2, "uint16_t")                                                                              \
    X(HN_UINT32, "uint32", 4, "uint32_t")                                                                              \
    X(HN_UINT64, "uint64", 8, "uint64_t")                                                                              \
    X(HN_FLOAT32, "float32", 4, "float")                                                                               \
    X(HN_FLOAT64, "float64", 8, "double")

enum hn_element {
#define X(identifier, name, bytes, c_name) identifier,
    HN_ELEMENTS(X)
#undef X
        HN_ELEMENT_COUNT
};

size_t hn_element_size(enum hn_element element);
const char *hn_element_name(enum hn_element element);
const char *hn_element_c_name(enum hn_element element);
bool hn_element_parse(const char *name, enum hn_element *element);
bool hn_element_is_real(enum hn_element element);
/* The element of an integer type at `bytes` as a count: 0 for negative ones. */
uint64_t hn_element_count(const void *bytes, enum hn_element element);

/* The element at `bytes` as text; a real that holds the poison of outputs as "never written". */
void hn_element_format(const void *bytes, enum hn_element element, char *text, size_t size);

#endif
