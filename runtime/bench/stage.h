/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_STAGE_H
#define HONE_RUNTIME_BENCH_STAGE_H

#include "runtime/bench/arena.h"
#include "runtime/plan/flow.h"
#include "runtime/bench/host_memory.h"

/* What pipelines need beside the arena: host buffers of all kinds that were asked for, streams and events. Belongs to
 * the arena, and is there once a variant with a pipeline was placed. */
struct hn_stage {
    struct hn_arena *arena;
    struct hn_host_buffer *buffers[HN_CLASS_COUNT]; /* one an argument */
    CUstream streams[HN_MAX_STREAMS];               /* the first is the context's */
    CUevent joins[HN_MAX_STREAMS];                  /* one a stream; the first is where they fork */
    size_t stream_count;
    CUevent *uploads; /* one a chunk: its upload is done */
    size_t upload_count;
};

/* Makes what a launch with this flow needs. HN_OK with a reason in `why` when there is not enough memory for it, or the
 * device can not do it: *outcome. Buffers of other kinds are let go where they are in the way. */
enum hn_status hn_stage_place(struct hn_arena *arena, const struct hn_flow *flow, enum hn_outcome *outcome,
                              char why[256], struct hn_error *err);
void hn_stage_destroy(struct hn_stage *stage);

/* The host buffer of an argument that has one. */
struct hn_host_buffer *hn_stage_buffer(const struct hn_stage *stage, const struct hn_flow *flow, size_t argument);

#endif
