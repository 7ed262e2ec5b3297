/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PLAN_ARGUMENT_H
#define HONE_RUNTIME_PLAN_ARGUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/expression/expression.h"
#include "base/text.h"

/* The place of the word that an expression gives among `names`. Sticky, and without an expression it does nothing.
 * HN_EVALUE: "'<expression>' is 7, expected <expected>". */
void hn_evaluate_word(const struct hn_value *values, const struct hn_expression *expression, const char *const *names,
                      int count, const char *expected, int *to, struct hn_error *err);

/* Elements, which buffers are made of. */

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
    HN_ELEMENTS(HN_IDENTIFIER)
    HN_ELEMENT_COUNT
};

size_t hn_element_size(enum hn_element element);
const char *hn_element_name(enum hn_element element);

/* A type is an element, or a vector of 2, 3, 4, 8 or 16 of them: "float32x4". */
bool hn_type_parse(const char *name, enum hn_element *element, unsigned *lanes);
/* "float4", "__half2"; "uint8_t[16]" where CUDA has no name for the vector. */
void hn_type_format_c(enum hn_element element, unsigned lanes, char *text, size_t size);

bool hn_element_is_real(enum hn_element element);
/* Whether C has no such type, but its bits: float16, bfloat16, float8_e4m3. */
bool hn_element_is_narrow(enum hn_element element);
/* The range of an integer type; uint64 ends at int64's maximum, since expressions know no more. */
void hn_element_range(enum hn_element element, int64_t *low, int64_t *high);
/* The number of a real type nearest to `real`, ties to even, as its bytes. */
void hn_element_encode(double real, enum hn_element element, void *bytes);
double hn_element_decode(const void *bytes, enum hn_element element);
/* The element whose bytes begin `bits`. */
struct hn_value hn_element_value(uint64_t bits, enum hn_element element);
/* The element of an integer type at `bytes` as a count: 0 for negative ones. */
uint64_t hn_element_count(const void *bytes, enum hn_element element);

/* The element at `bytes` as text; a real that holds the poison of outputs as "never written". */
void hn_element_format(const void *bytes, enum hn_element element, char *text, size_t size);

/* How the contents of a buffer come about: X(identifier, name, numbers). Element i depends on the seed, the argument's
 * index and i only.
 *   uniform(low, high)       reals in [low, high); integers with both ends
 *   normal(mean, deviation)
 *   iota(start, step)        start + step * i
 *   constant(value)
 *   permutation()            the numbers from 0 to count - 1, each once, in an order that the seed gives
 *   skewed(n, share)         0 with probability share + (1 - share) / n, each of 1 to n - 1 with (1 - share) / n
 *   zipf(n, exponent)        k with probability (k + 1)^-exponent / sum of j^-exponent for j from 1 to n, 0 <= k < n
 *   sorted(low, high)        as uniform, in ascending order: one of each of count equal parts
 *   csr_rows(n, spread)      the first entry of each row of a sparse matrix of count - 1 rows with n entries in the mean
 *   csr_columns(x, n)        a column under n for each entry of the rows in x, ascending in each row
 *   transposed(x, rows)      element j * rows + i is element i * (count / rows) + j of x */
#define HN_FILLS(X)                                                                                                    \
    X(HN_FILL_UNIFORM, "uniform", 2)                                                                                   \
    X(HN_FILL_NORMAL, "normal", 2)                                                                                     \
    X(HN_FILL_IOTA, "iota", 2)                                                                                         \
    X(HN_FILL_CONSTANT, "constant", 1)                                                                                 \
    X(HN_FILL_PERMUTATION, "permutation", 0)                                                                           \
    X(HN_FILL_SKEWED, "skewed", 2)                                                                                     \
    X(HN_FILL_ZIPF, "zipf", 2)                                                                                         \
    X(HN_FILL_SORTED, "sorted", 2)                                                                                     \
    X(HN_FILL_CSR_ROWS, "csr_rows", 2)                                                                                 \
    X(HN_FILL_CSR_COLUMNS, "csr_columns", 1)                                                                           \
    X(HN_FILL_TRANSPOSED, "transposed", 1)                                                                             \
    X(HN_FILL_FILE, "file", 0) /* as it stands in a file */

enum hn_fill_kind {
    HN_FILLS(HN_IDENTIFIER)
    HN_FILL_COUNT
};

struct hn_fill {
    enum hn_fill_kind kind;
    double numbers[2];
    struct hn_expression *expressions[2]; /* of the problem, for numbers that are not written out; else NULL */
    char *file;                           /* of HN_FILL_FILE: absolute */
    char *of;                             /* of what hn_fill_has_source: the name of another input */
};

extern const char *const hn_fill_names[HN_FILL_COUNT];
extern const int hn_fill_numbers[HN_FILL_COUNT]; /* how many the kind takes: 0 to 2 */
/* Whether it follows from another input, which it names before its numbers. */
bool hn_fill_has_source(enum hn_fill_kind kind);

/* Whether a fill with all its numbers makes sense for `count` such elements. Otherwise `why` goes on after "found
 * '<fill>', ". */
bool hn_fill_check(const struct hn_fill *fill, enum hn_element element, uint64_t count, char *why, size_t size);

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
    HN_TENSOR_SETTINGS(HN_IDENTIFIER)
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

/* Arguments of kernels, and what the buffers among them hold. */

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
    HN_ROLES(HN_IDENTIFIER)
    HN_ROLE_COUNT
};

extern const char *const hn_role_names[HN_ROLE_COUNT];

/* X(identifier, name): how a result is compared with the reference. */
#define HN_COMPARE_MODES(X)                                                                                            \
    X(HN_COMPARE_MAX_NORM, "max_norm") /* max|x - r| <= absolute + relative * max|r| */                                \
    X(HN_COMPARE_EXACT, "exact")       /* equal to the bit */                                                          \
    X(HN_COMPARE_MULTISET, "multiset") /* the same elements as often, in any order */

enum hn_compare_mode {
    HN_COMPARE_MODES(HN_IDENTIFIER)
    HN_COMPARE_MODE_COUNT
};

extern const char *const hn_compare_mode_names[HN_COMPARE_MODE_COUNT];

struct hn_compare {
    enum hn_compare_mode mode;
    struct hn_expression *relative; /* NULL: 0 */
    struct hn_expression *absolute; /* NULL: 0 */
    /* A multiset has none of these: */
    bool partial;                     /* what the reference leaves unwritten of an output is not compared */
    struct hn_expression *mismatches; /* so many elements of an argument may be beyond the tolerance; NULL: none, or */
    double mismatch_share;            /* this share of those that are compared, under 1 */
};

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

/* A field of a structure that is passed by value. */
struct hn_member {
    char *name; /* in C++: "n", "a.b", "w[2]" */
    struct hn_expression *value;
    size_t buffer; /* without a value: the argument whose address it holds */
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
    /* A symbol or a value has these, and one of count (only a symbol), value and from: */
    char *from; /* the input whose contents it takes; a value's are passed as one structure; of a texture or a
                   tensor map its buffer */
    struct hn_texture texture;
    struct hn_tensor_map tensor_map;
    /* A structure has these, and none of count, value and from: */
    char *structure; /* its type in C++; NULL: it is none */
    struct hn_member *members;
    size_t member_count;
    /* A symbol has these: */
    struct hn_expression *condition; /* it is set where this holds; NULL: everywhere */
    bool changes;                    /* kernels write to it: set again before every launch */
    enum hn_zeroing zero;            /* of a counter */
    bool held;                       /* a structure has the buffer's address */
    /* A result that hn_argument_is_compared has these: */
    struct hn_compare *compare; /* NULL: as the plan says for all */
    char *length;               /* the compared argument whose first element says how many of this one's are results,
                                   counted from the front; NULL: all */
};

/* Makes `count` of width and height. HN_ENOMEM. */
enum hn_status hn_argument_set_count(struct hn_argument *argument, struct hn_error *err);
/* Sticky, as all that evaluate below. Elements of a row, all lanes, and bytes from one to the next; 0 of a buffer without
 * rows. HN_EVALUE: a pitch that is shorter than a row or no multiple of an element. */
void hn_argument_evaluate_rows(const struct hn_argument *argument, const struct hn_value *values, uint64_t *row,
                               uint64_t *pitch, struct hn_error *err);
/* Leaves *align as it is where the config gives none. HN_EVALUE: no power of two from the size of an element on. */
void hn_argument_evaluate_align(const struct hn_argument *argument, const struct hn_value *values, uint64_t *align,
                                struct hn_error *err);
/* "float32x4" */
void hn_argument_format_type(const struct hn_argument *argument, char text[HN_TYPE_SIZE]);
/* The bytes of one of its count. */
size_t hn_argument_bytes(const struct hn_argument *argument);
/* The largest count that is possible. */
int64_t hn_argument_most(const struct hn_argument *argument);
/* The bytes of a buffer with its rows, few enough that no sum of sizes overflows. HN_EVALUE: a count that is not possible. */
void hn_argument_buffer_bytes(const struct hn_argument *argument, const struct hn_value *values, uint64_t *bytes,
                              struct hn_error *err);
/* The bytes of a scalar's value. HN_EVALUE: also a number that its type cannot hold. */
void hn_argument_evaluate_scalar(const struct hn_argument *argument, const struct hn_value *values, uint64_t *scalar,
                                 struct hn_error *err);
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

#endif
