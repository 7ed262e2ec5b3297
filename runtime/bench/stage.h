/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_STAGE_H
#define HONE_RUNTIME_BENCH_STAGE_H

#include "cache/record/record.h"
#include "runtime/bench/arena.h"
#include "runtime/plan/launch.h"

/* Neither the run nor the variant has failed so far. */
static inline bool hn_goes_on(const struct hn_error *err, const struct hn_record *record)
{
    return !hn_failed(err) && record->outcome == HN_OUTCOME_OK;
}

/* A result of the driver on a variant's behalf: what ends the context is a failure, the rest is the variant's
 * outcome. Sticky. */
void hn_refuse(struct hn_context *context, CUresult result, enum hn_outcome outcome, const char *what,
               struct hn_record *record, struct hn_error *err);

/* Buffers in host memory, each between two guard zones. Kinds of host memory that are allocated alike share a class:
 * what is pinned is mapped too. */
enum hn_host_class {
    HN_CLASS_PAGEABLE,
    HN_CLASS_REGISTERED,
    HN_CLASS_PINNED,
    HN_CLASS_WRITE_COMBINED,
    HN_CLASS_MANAGED,
    HN_CLASS_COUNT
};

struct hn_host_buffer {
    unsigned char *block; /* with the guard zones; NULL: there is none */
    size_t block_bytes;
    unsigned char *data;
    uint64_t bytes;
    CUdeviceptr device; /* data, as kernels address it; 0: they can not */
    double register_ms; /* what registering the block took */
    uint64_t contents;  /* which of the arena's contents it holds; 0: none */
};
/* False when something was written outside of the buffer: then *offset is where, from its first byte on, and the guard
 * zones are written again. */
bool hn_host_buffer_check(struct hn_host_buffer *buffer, int64_t *offset);

/* What pipelines need beside the arena: host buffers of all kinds that were asked for, streams and events. The
 * variants of a bench share it; it is filled once one with a pipeline is placed. */
struct hn_stage {
    struct hn_arena *arena;
    struct hn_host_buffer *buffers[HN_CLASS_COUNT]; /* one an argument */
    CUstream streams[HN_MAX_STREAMS];               /* the first is the context's */
    CUevent joins[HN_MAX_STREAMS];                  /* one a stream; the first is where they fork */
    size_t stream_count;
    CUevent *uploads; /* one a chunk: its upload is done */
    size_t upload_count;
};

void hn_stage_init(struct hn_stage *stage, struct hn_arena *arena);
void hn_stage_finish(struct hn_stage *stage);

/* Makes what a launch with this flow needs. What there is not enough memory for, or the device can not do, is the
 * variant's outcome in record. Buffers of other kinds are let go where they are in the way. */
void hn_stage_place(struct hn_stage *stage, const struct hn_flow *flow, struct hn_record *record, struct hn_error *err);

/* The host buffer of an argument that has one. */
struct hn_host_buffer *hn_stage_buffer(const struct hn_stage *stage, const struct hn_flow *flow, size_t argument);

#endif
