/* SPDX-License-Identifier: MIT */
#ifndef HONE_BENCH_FAMILY_SIDES_H
#define HONE_BENCH_FAMILY_SIDES_H

#include "peer.h"

#include "runtime/libhone/hone.h"

/* Who does the same work for one problem: kernels that caches have for it, and the vendor's function. */

enum { MOST_SIDES = 4, MOST_ARGUMENTS = 64, MOST_VALUES = 32 };

/* What buffers are of. */
enum element { INT32, FLOAT32, BFLOAT16 };

/* Memory of the GPU, kept from one problem to the next. Inputs are random: from -1 to 1, or normally distributed ones of 16 bits. */
struct memory {
    CUdeviceptr inputs, outputs;
    uint64_t input_bytes, output_bytes;
    enum element element; /* of the inputs */
};

struct side {
    const char *name;
    struct hone_cache *cache; /* NULL: the vendor */
    int races; /* among points of its rule, before it is measured */
    struct hone_kernel *kernel;
    struct hone_argument arguments[MOST_ARGUMENTS];
    size_t count;
    CUdeviceptr output; /* the first */
    double get_us, again_ns, launch_us; /* of hone_get, the first and another of this problem, and its first launch */
    double next_us; /* of hone_get for other sizes, one after another: the median */
};

struct sides {
    const char *kernel;
    struct side items[MOST_SIDES];
    size_t count;
    struct peer peer;
    struct memory memory;
    struct hone_value problem[MOST_VALUES];
    size_t problem_count;
    uint64_t output_bytes; /* of the first output */
    enum element output_element;
    char failure[1200];
};

double now_us(void);
int compare_reals(const void *a, const void *b); /* for qsort */
/* 0: sides->failure says what the driver refused. */
int sides_check(struct sides *sides, CUresult result, const char *what);
/* Gets the kernels for a problem, binds all that they take, and launches each once. 0: sides->failure says why not. */
int sides_set(struct sides *sides, const json_t *problem);
/* 0: it is queued on the NULL stream. */
int side_launch(struct sides *sides, struct side *side);
/* Whether what a side has computed is what the last one has, as far as some thousands of elements tell, by their relative
 * difference in the root of the mean of squares; else sides->failure says it. */
int sides_agree(struct sides *sides, const struct side *side);

#endif
