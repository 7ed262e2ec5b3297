/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PLAN_PIPELINE_H
#define HONE_RUNTIME_PLAN_PIPELINE_H

#include <stddef.h>

#include "base/expression/expression.h"

/* What a plan says of the way from host memory to host memory: which arguments are uploaded and downloaded, and how the
 * work is cut into chunks that go through several streams. docs/config.md says what it means. */

enum hn_order { HN_DEPTH_FIRST, HN_BREADTH_FIRST, HN_ORDER_COUNT };
enum hn_host_memory {
    HN_HOST_PAGEABLE,
    HN_HOST_REGISTERED,
    HN_HOST_PINNED,
    HN_HOST_WRITE_COMBINED,
    HN_HOST_MAPPED,
    HN_HOST_MANAGED,
    HN_HOST_MEMORY_COUNT
};
extern const char *const hn_order_names[HN_ORDER_COUNT];
extern const char *const hn_host_memory_names[HN_HOST_MEMORY_COUNT];

/* How an argument takes part. */
enum hn_part {
    HN_PART_UPLOAD = 1,
    HN_PART_DOWNLOAD = 2,
    HN_PART_CUT = 4,  /* a chunk sees its part; else the whole */
    HN_PART_COPY = 8, /* a step copies it to the host or back */
    HN_PART_PADDED = 16, /* of what is uploaded and cut: has `padding` units behind the extent, and a chunk reads so many
                          * behind its own */
};
#define HN_PARTS_ON_HOST (HN_PART_UPLOAD | HN_PART_DOWNLOAD | HN_PART_COPY)

/* A step of the launch that copies, in the stream of its chunk. */
struct hn_copy_step {
    size_t before; /* the plan's step before which it stands; their number: behind the last */
    bool to_host;
    struct hn_expression *condition; /* NULL: always */
    size_t *arguments;
    size_t argument_count;
};

/* X(identifier, key) */
#define HN_PIPELINE_FIELDS(X)                                                                                          \
    X(HN_PIPELINE_OVER, "over")                                                                                        \
    X(HN_PIPELINE_GRANULE, "granule")                                                                                  \
    X(HN_PIPELINE_HALO, "halo")                                                                                        \
    X(HN_PIPELINE_PADDING, "padding")                                                                                  \
    X(HN_PIPELINE_CHUNKS, "chunks")                                                                                    \
    X(HN_PIPELINE_STREAMS, "streams")                                                                                  \
    X(HN_PIPELINE_PIECES, "pieces")                                                                                    \
    X(HN_PIPELINE_ORDER, "order")                                                                                      \
    X(HN_PIPELINE_HOST_MEMORY, "host_memory")

enum hn_pipeline_field {
#define X(identifier, key) identifier,
    HN_PIPELINE_FIELDS(X)
#undef X
        HN_PIPELINE_FIELD_COUNT
};
extern const char *const hn_pipeline_keys[HN_PIPELINE_FIELD_COUNT];

struct hn_pipeline {
    unsigned char *parts; /* hn_part, one an argument of the plan */
    size_t argument_count;
    struct hn_expression *fields[HN_PIPELINE_FIELD_COUNT]; /* all but `over` may be NULL */
    struct hn_copy_step *copies;
    size_t copy_count;
};

/* What expressions know of a chunk, in their slots' order. */
enum { HN_CHUNK_BEGIN, HN_CHUNK_COUNT, HN_CHUNK_INDEX, HN_CHUNK_NAMES };
extern const char *const hn_chunk_names[HN_CHUNK_NAMES];

/* NULL when out of memory. */
struct hn_pipeline *hn_pipeline_create(size_t argument_count);
/* Adds a step that copies; it owns what is put into it. NULL when out of memory. */
struct hn_copy_step *hn_pipeline_add_copy(struct hn_pipeline *pipeline);

#endif
