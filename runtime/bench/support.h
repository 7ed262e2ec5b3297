/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_SUPPORT_H
#define HONE_RUNTIME_BENCH_SUPPORT_H

#include "runtime/device/driver.h"
#include "runtime/compile/image.h"
#include "runtime/compile/source.h"
#include "runtime/plan/contents.h"

/* The kernels of support.cu, loaded. All calls only queue work on the context's stream; addresses are the device's. */

#define HN_SUPPORT_KERNELS(X)                                                                                          \
    X(HN_SUPPORT_FILL, "hone_fill")                                                                                    \
    X(HN_SUPPORT_POISON, "hone_poison")                                                                                \
    X(HN_SUPPORT_WRITE_ZONES, "hone_write_zones")                                                                      \
    X(HN_SUPPORT_CHECK_ZONES, "hone_check_zones")                                                                      \
    X(HN_SUPPORT_CHECKSUM, "hone_checksum")                                                                            \
    X(HN_SUPPORT_VEIL, "hone_veil")                                                                                    \
    X(HN_SUPPORT_COMPARE, "hone_compare")                                                                              \
    X(HN_SUPPORT_MULTISET, "hone_multiset")                                                                            \
    X(HN_SUPPORT_WRITTEN, "hone_written")                                                                              \
    X(HN_SUPPORT_SUM, "hone_sum")                                                                                      \
    X(HN_SUPPORT_FLUSH, "hone_flush")                                                                                  \
    X(HN_SUPPORT_SPIN, "hone_spin")

enum hn_support_kernel {
    HN_SUPPORT_KERNELS(HN_IDENTIFIER)
    HN_SUPPORT_KERNEL_COUNT
};

struct hn_support {
    struct hn_context *context;
    CUmodule module;
    CUfunction kernels[HN_SUPPORT_KERNEL_COUNT];
    unsigned int blocks; /* of a grid over a whole buffer: as many entries has each result of one */
};

/* The structs of support.cu, as its kernels write them. */
struct hn_zone {
    uint64_t start, bytes;
};
struct hn_damage {
    uint64_t first; /* UINT64_MAX: none */
    uint64_t last;
};
struct hn_difference {
    double max_error; /* of elements within the tolerance */
    double max_reference;
    uint64_t worst;
    uint64_t misplaced; /* UINT64_MAX: none */
    uint64_t differing; /* elements beyond the tolerance */
    uint64_t unwritten; /* of these, as they were poisoned */
    uint64_t strayed;   /* a place between rows that was written; UINT64_MAX: none */
    uint64_t telling;   /* elements of which zeros would be beyond the tolerance */
    uint64_t nans;      /* elements that are expected to be NaN */
};
struct hn_bags {
    uint64_t found[2], expected[2];
};
struct hn_stamp {
    uint64_t cycles, nanoseconds;
};

/* Loads an image and finds so many kernels of it. `what` it is, for messages: "support kernels". NULL after a failure; all
 * of these are sticky. */
CUmodule hn_kernels_load(struct hn_context *context, const struct hn_image *image, const char *what,
                         const char *const *entries, size_t count, CUfunction *kernels, struct hn_error *err);

void hn_support_init(struct hn_support *support, struct hn_context *context, const struct hn_image *image,
                     struct hn_error *err);
void hn_support_finish(struct hn_support *support);

/* Queues a kernel, over a whole buffer where `blocks` is 0. Each takes its parameters in the order of its definition. */
void hn_support_launch(struct hn_support *support, enum hn_support_kernel kernel, unsigned int blocks, void **parameters,
                       struct hn_error *err);

/* Elements in device memory, in rows or one after the other. */
struct hn_elements {
    CUdeviceptr data;
    uint64_t count; /* of vectors all lanes */
    enum hn_element type;
    uint64_t row;   /* elements of a row; 0: there are none */
    uint64_t pitch; /* elements from one row to the next */
};

/* Element i depends on recipe, seed and i only. The recipe is not one of a file. */
void hn_support_fill(struct hn_support *support, struct hn_elements elements, const struct hn_recipe *recipe,
                     uint64_t seed, struct hn_error *err);
/* The same on the host, by the same text: `count` elements from the one with number `first` on, one after the other. */
void hn_host_fill(const struct hn_recipe *recipe, enum hn_element element, uint64_t seed, uint64_t first,
                  uint64_t count, void *data);
void hn_support_poison(struct hn_support *support, struct hn_elements elements, uint64_t seed, struct hn_error *err);
/* `blocks` uint64_t, whose sum is the checksum; and what it is of zeros. */
uint64_t hn_support_checksum_of_zeros(CUdeviceptr data, uint64_t bytes);
void hn_support_checksum(struct hn_support *support, CUdeviceptr data, uint64_t bytes, CUdeviceptr sums,
                         struct hn_error *err);
/* Copies elements, without regard to rows, and lays a veil on them or takes it off (support_veil.cuh). Key 0: there
 * is none. */
void hn_support_veil(struct hn_support *support, CUdeviceptr from, CUdeviceptr to, uint64_t count, size_t element_size,
                     uint64_t key, struct hn_error *err);

extern const char hn_support_source[];
enum { HN_SUPPORT_OPTIONS = 4 };
struct hn_support_options {
    char texts[HN_SUPPORT_OPTIONS][24];
    char *list[HN_SUPPORT_OPTIONS];
};
/* The support kernels (fill, compare, checksum, guard check, flush, spin) as they are compiled, without what this plan does not use: that
 * takes a fraction of the time. The options are the caller's room for the source's, which is not to be finished. plan NULL: all of it. */
struct hn_source hn_support_program(const struct hn_plan *plan, struct hn_support_options *options);

#endif
