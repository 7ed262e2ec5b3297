/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PLAN_TENSOR_MAP_H
#define HONE_RUNTIME_PLAN_TENSOR_MAP_H

#include "base/expression/expression.h"
#include "base/text.h"
#include "runtime/plan/element.h"

/* How the tensor memory accelerator sees a buffer: what cuTensorMapEncodeTiled is told (CUDA Driver API, "Tensor Map
 * Object Management"), for kernels that are passed a CUtensorMap by value. */

#define HN_TENSOR_RANK 5

/* X(identifier, key): settings of one value, all of which can be left out: 0 is none of it. */
#define HN_TENSOR_SETTINGS(X)                                                                                          \
    X(HN_TENSOR_SWIZZLE, "swizzle")         /* bytes of a row of the pattern: 32, 64 or 128 */                         \
    X(HN_TENSOR_PROMOTION, "l2_promotion")  /* bytes that the L2 cache fetches at once: 64, 128 or 256 */              \
    X(HN_TENSOR_INTERLEAVE, "interleave")   /* bytes of a channel group: 16 or 32 */                                   \
    X(HN_TENSOR_FILL, "oob_fill")           /* what is read outside: hn_tensor_fills */

enum hn_tensor_setting {
#define X(identifier, key) identifier,
    HN_TENSOR_SETTINGS(X)
#undef X
        HN_TENSOR_SETTING_COUNT
};

enum hn_tensor_fill { HN_TENSOR_ZEROS, HN_TENSOR_NAN, HN_TENSOR_FILL_COUNT };
extern const char *const hn_tensor_fills[HN_TENSOR_FILL_COUNT]; /* words of expressions, in plans with such maps */

/* As a config says it, innermost dimension first. */
struct hn_tensor_map {
    struct hn_expression **dims; /* elements */
    size_t rank;
    struct hn_expression **strides; /* bytes from one to the next in each dimension but the first */
    size_t stride_count;
    struct hn_expression **box; /* elements that one copy spans */
    size_t box_count;
    struct hn_expression **element_strides; /* in the tensor, from one element of the box to the next */
    size_t element_stride_count;            /* 0: all are 1 */
    struct hn_expression *settings[HN_TENSOR_SETTING_COUNT]; /* NULL: 0, or zeros */
};

/* NULL when the lists fit one another, or what is to be otherwise. */
const char *hn_tensor_map_check(const struct hn_tensor_map *map);

/* For a point of a problem, with all expressions evaluated. */
struct hn_tensor {
    size_t argument;   /* of the plan */
    size_t buffer;     /* the argument that it lies over */
    const char *name;  /* of both, borrowed from the plan */
    const char *over;
    enum hn_element element;
    uint64_t bytes;    /* of the buffer */
    uint64_t align;    /* what its address is a multiple of */
    int rank;
    int64_t dims[HN_TENSOR_RANK];
    int64_t strides[HN_TENSOR_RANK]; /* [0] is of the second dimension */
    int64_t box[HN_TENSOR_RANK];
    int64_t element_strides[HN_TENSOR_RANK];
    int64_t settings[HN_TENSOR_SETTING_COUNT];
};

/* The lists and settings. HN_EVALUE: one is no whole number, or no word of a fill. */
enum hn_status hn_tensor_map_evaluate(const struct hn_tensor_map *map, const struct hn_value *values,
                                      struct hn_tensor *tensor, struct hn_error *err);

/* Whether the device takes it, by the rules of cuTensorMapEncodeTiled, and its elements lie in the buffer. Otherwise
 * `why` says which rule it breaks, as "tensor map 'A_map' over 'A': box[0] is 512; expected 1 to 256". */
#define HN_TENSOR_WHY 320
bool hn_tensor_check(const struct hn_tensor *tensor, char why[HN_TENSOR_WHY]);

/* What the addresses of buffers and strides are multiples of: 16 or 32. */
int64_t hn_tensor_grain(const struct hn_tensor *tensor);
/* All that a launch depends on, but the address, for keys. */
void hn_tensor_append(struct hn_text *text, const struct hn_tensor *tensor);

#endif
