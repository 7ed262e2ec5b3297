/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PLAN_ARGUMENT_H
#define HONE_RUNTIME_PLAN_ARGUMENT_H

#include "base/expression/expression.h"
#include "runtime/plan/element.h"
#include "runtime/plan/fill.h"
#include "runtime/plan/tensor_map.h"
#include "runtime/plan/texture.h"

/* What a kernel is given, and what the buffers among it hold. */

/* X(identifier, name): what a kernel does with a buffer. */
#define HN_ROLES(X)                                                                                                    \
    X(HN_ROLE_VALUE, "value")     /* a scalar, passed by value */                                                      \
    X(HN_ROLE_INPUT, "input")     /* must not change */                                                                \
    X(HN_ROLE_OUTPUT, "output")   /* poisoned before, compared after */                                                \
    X(HN_ROLE_INOUT, "inout")     /* restored before every launch, compared after */                                   \
    X(HN_ROLE_SCRATCH, "scratch") /* contents do not matter; may depend on parameters */                               \
    X(HN_ROLE_COUNTER, "counter") /* zero when a launch begins: hn_zeroing */                                           \
    X(HN_ROLE_METRIC, "metric")   /* zeroed before; read by metric expressions as the mean of its elements */          \
    X(HN_ROLE_TEXTURE, "texture") /* a texture object over a buffer */                                                \
    X(HN_ROLE_TENSOR_MAP, "tensor_map") /* a CUtensorMap over a buffer, passed by value */                            \
    X(HN_ROLE_SYMBOL, "symbol")   /* no argument: what a __constant__ or __device__ variable of its name holds */

enum hn_role {
#define X(identifier, name) identifier,
    HN_ROLES(X)
#undef X
        HN_ROLE_COUNT
};

const char *hn_role_name(enum hn_role role);
bool hn_role_parse(const char *name, enum hn_role *role);

/* X(identifier, name): how a result is compared with the reference. */
#define HN_COMPARE_MODES(X)                                                                                            \
    X(HN_COMPARE_MAX_NORM, "max_norm") /* max|x - r| <= absolute + relative * max|r| */                                \
    X(HN_COMPARE_EXACT, "exact")       /* equal to the bit */                                                          \
    X(HN_COMPARE_MULTISET, "multiset") /* the same elements as often, in any order */

enum hn_compare_mode {
#define X(identifier, name) identifier,
    HN_COMPARE_MODES(X)
#undef X
        HN_COMPARE_MODE_COUNT
};

extern const char *const hn_compare_mode_names[HN_COMPARE_MODE_COUNT];

struct hn_compare {
    enum hn_compare_mode mode;
    struct hn_expression *relative; /* NULL: 0 */
    struct hn_expression *absolute; /* NULL: 0 */
    /* Of no multiset: */
    bool partial;                     /* what the reference leaves unwritten of an output is not compared */
    struct hn_expression *mismatches; /* so many elements of an argument may be beyond the tolerance; NULL: none, or */
    double mismatch_share;            /* this share of those that are compared, under 1 */
};

/* Whether elements are left out, or some may differ. */
bool hn_compare_is_loose(const struct hn_compare *compare);

/* The rows of a buffer, which begin `pitch` bytes apart. */
struct hn_shape {
    struct hn_expression *width;  /* elements of a row (vectors of a vector type); NULL: the buffer has no rows */
    struct hn_expression *height; /* rows */
    struct hn_expression *pitch;  /* bytes; NULL: as long as a row, or with `device` as the device likes it */
    bool device;
};

/* Rows that begin at multiples of this are what cuMemAllocPitch gives on today's devices. */
#define HN_DEVICE_PITCH 512

/* The address of a buffer's first element is a multiple of its alignment, and below the most not of twice as much, so
 * that a kernel that counts on more is found out. Without `align` it is what cudaMalloc promises. */
#define HN_PROMISED_ALIGN 256
#define HN_MOST_ALIGN 512

/* When a counter is zeroed. */
enum hn_zeroing {
    HN_ZERO_OUTSIDE, /* before every launch, outside the time */
    HN_ZERO_INSIDE,  /* as part of the launch, and of its time */
    HN_ZERO_ONCE,    /* before the first launch: each leaves it at zero */
};

struct hn_argument {
    char *name;
    enum hn_role role;
    enum hn_element element;
    unsigned lanes;              /* elements of a vector, which `count` counts; 1: none */
    struct hn_expression *count; /* of a buffer, of one with a shape width * height; NULL for a scalar */
    struct hn_shape shape;
    struct hn_expression *align; /* of a buffer: bytes; NULL: see above */
    struct hn_expression *value; /* of a scalar; NULL for a buffer */
    struct hn_fill fill;         /* of what hn_argument_is_filled */
    /* Of a symbol or a value, which has one of count (only a symbol), value and from: */
    char *from; /* the input whose contents it takes; a value's are passed as one structure; of a texture or a
                   tensor map its buffer */
    struct hn_texture texture;
    struct hn_tensor_map tensor_map;
    /* Of a symbol: */
    struct hn_expression *condition; /* it is set where this holds; NULL: everywhere */
    bool changes;                    /* kernels write to it: set again before every launch */
    enum hn_zeroing zero;            /* of a counter */
    /* Of what hn_argument_is_compared: */
    struct hn_compare *compare; /* NULL: as the plan says for all */
    char *length;               /* the compared argument whose first element says how many of this one's are results,
                                   counted from the front; NULL: all */
};

/* Makes `count` of width and height. HN_ENOMEM. */
enum hn_status hn_argument_set_count(struct hn_argument *argument, struct hn_error *err);
/* Elements of a row, all lanes, and bytes from one to the next; 0 of a buffer without rows. HN_EVALUE: a pitch that is
 * shorter than a row or no multiple of an element. */
enum hn_status hn_argument_evaluate_rows(const struct hn_argument *argument, const struct hn_value *values,
                                         uint64_t *row, uint64_t *pitch, struct hn_error *err);
/* Leaves *align as it is where the config gives none. HN_EVALUE: no power of two from the size of an element on. */
enum hn_status hn_argument_evaluate_align(const struct hn_argument *argument, const struct hn_value *values,
                                          uint64_t *align, struct hn_error *err);
/* "float32x4" */
void hn_argument_format_type(const struct hn_argument *argument, char text[HN_TYPE_SIZE]);
/* What one of its count takes. */
size_t hn_argument_bytes(const struct hn_argument *argument);
/* The largest count that is possible. */
int64_t hn_argument_most(const struct hn_argument *argument);
/* What a buffer takes, with its rows. HN_EVALUE: a count that is not possible. */
enum hn_status hn_argument_buffer_bytes(const struct hn_argument *argument, const struct hn_value *values,
                                        uint64_t *bytes, struct hn_error *err);
/* The bytes of a scalar's value. HN_EVALUE: also a number that its type can not hold. */
enum hn_status hn_argument_evaluate_scalar(const struct hn_argument *argument, const struct hn_value *values,
                                           uint64_t *scalar, struct hn_error *err);
/* Whether it is an argument of kernels. */
bool hn_argument_is_passed(const struct hn_argument *argument);
/* Whether it is an argument of kernels that points to a buffer. */
bool hn_argument_is_buffer(const struct hn_argument *argument);
/* Whether kernels write it and it is compared. */
bool hn_argument_is_compared(const struct hn_argument *argument);
/* Whether launches can follow one another on what it was before the first. */
bool hn_argument_is_repeatable(const struct hn_argument *argument);
/* Whether it is a buffer whose contents the config gives. */
bool hn_argument_is_filled(const struct hn_argument *argument);
/* NULL when a texture can read that buffer, or what is to be otherwise. */
const char *hn_texture_check(const struct hn_texture *texture, const struct hn_argument *buffer);
/* What a tensor map is for these values of the plan's names: `over` is its buffer. HN_EVALUE. */
enum hn_status hn_argument_evaluate_tensor(const struct hn_argument *argument, const struct hn_argument *over,
                                           const struct hn_value *values, struct hn_tensor *tensor,
                                           struct hn_error *err);
/* Whether a symbol is set for these values of the plan's names; true for all others. */
enum hn_status hn_argument_applies(const struct hn_argument *argument, const struct hn_value *values, bool *applies,
                                   struct hn_error *err);

#endif
