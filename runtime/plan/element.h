/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PLAN_ELEMENT_H
#define HONE_RUNTIME_PLAN_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What buffers are made of. */

/* Element types: X(identifier, YAML name, bytes, C name, CUDA's name of vectors without their size). */
#define HN_ELEMENTS(X)                                                                                                 \
    X(HN_INT8, "int8", 1, "int8_t", "char")                                                                            \
    X(HN_INT16, "int16", 2, "int16_t", "short")                                                                        \
    X(HN_INT32, "int32", 4, "int32_t", "int")                                                                          \
    X(HN_INT64, "int64", 8, "int64_t", "longlong")                                                                     \
    X(HN_UINT8, "uint8", 1, "uint8_t", "uchar")                                                                        \
    X(HN_UINT16, "uint16", 2, "uint16_t", "ushort")                                                                    \
    X(HN_UINT32, "uint32", 4, "uint32_t", "uint")                                                                      \
    X(HN_UINT64, "uint64", 8, "uint64_t", "ulonglong")                                                                 \
    X(HN_FLOAT32, "float32", 4, "float", "float")                                                                      \
    X(HN_FLOAT64, "float64", 8, "double", "double")                                                                    \
    X(HN_FLOAT16, "float16", 2, "__half", "__half")                                                                    \
    X(HN_BFLOAT16, "bfloat16", 2, "__nv_bfloat16", "__nv_bfloat16")                                                    \
    X(HN_FLOAT8_E4M3, "float8_e4m3", 1, "__nv_fp8_e4m3", "__nv_fp8_e4m3")

enum hn_element {
#define X(identifier, name, bytes, c_name, vector) identifier,
    HN_ELEMENTS(X)
#undef X
        HN_ELEMENT_COUNT
};

size_t hn_element_size(enum hn_element element);
const char *hn_element_name(enum hn_element element);

/* A type is an element, or a vector of 2, 3, 4, 8 or 16 of them: "float32x4". */
#define HN_TYPE_SIZE 16
void hn_type_format(enum hn_element element, unsigned lanes, char text[HN_TYPE_SIZE]);
/* What a type of C or CUDA is called here: "int32" of "int"; NULL where it is none that is known. */
const char *hn_type_of_c(const char *name);
bool hn_type_parse(const char *name, enum hn_element *element, unsigned *lanes);
/* "float4", "__half2"; "uint8_t[16]" where CUDA has no name for the vector. */
void hn_type_format_c(enum hn_element element, unsigned lanes, char *text, size_t size);

bool hn_element_is_real(enum hn_element element);
/* Whether C has no such type, but its bits: float16, bfloat16, float8_e4m3. */
bool hn_element_is_narrow(enum hn_element element);
/* Of an integer type; uint64 ends at int64's maximum, since expressions know no more. */
void hn_element_range(enum hn_element element, int64_t *low, int64_t *high);
/* The number of a real type nearest to `real`, ties to even, as its bytes. */
void hn_element_encode(double real, enum hn_element element, void *bytes);
double hn_element_decode(const void *bytes, enum hn_element element);
/* The element of an integer type at `bytes` as a count: 0 for negative ones. */
uint64_t hn_element_count(const void *bytes, enum hn_element element);

/* The element at `bytes` as text; a real that holds the poison of outputs as "never written". */
void hn_element_format(const void *bytes, enum hn_element element, char *text, size_t size);

#endif
