/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PLAN_FLOW_H
#define HONE_RUNTIME_PLAN_FLOW_H

#include "runtime/plan/launch_step.h"

/* A plan's pipeline for one point of one problem: its chunks, with the launches of each. */

#define HN_MAX_STREAMS 32
#define HN_MAX_CHUNKS 4096

/* The units begin to begin + count - 1 of the extent. */
struct hn_chunk {
    int64_t begin;
    int64_t count;
    struct hn_launch_step *steps; /* as many as the launch has */
};

struct hn_flow {
    const struct hn_pipeline *pipeline; /* borrowed from the plan */
    int64_t over;
    int64_t halo;
    int64_t padding;
    int64_t pieces;
    size_t streams;
    enum hn_order order;
    enum hn_host_memory host_memory;
    struct hn_chunk *chunks;
    size_t chunk_count;
    bool *copies; /* one a step that copies: whether it does */
    char why[256]; /* why it can not be: then there are no chunks; "" */
};

/* values: of the plan's names for the point, whose chunk names it changes and sets back. sequential: one chunk in one
 * stream. steps: of the whole extent. *flow is the caller's also after a failure. HN_ECONFIG: an order or kind of host memory that does not exist; HN_EVALUE. */
enum hn_status hn_flow_make(const struct hn_plan *plan, struct hn_value *values, bool sequential,
                            const struct hn_launch_step *steps, size_t step_count, struct hn_flow **flow,
                            struct hn_error *err);
void hn_flow_destroy(struct hn_flow *flow);

/* Units of an argument that is cut: `over`, and the padding where it has one. */
int64_t hn_flow_units(const struct hn_flow *flow, size_t argument);
/* The units of an argument that a chunk uploads, from..to - 1: each is in the upload of one chunk. */
void hn_flow_upload_range(const struct hn_flow *flow, size_t argument, size_t chunk, int64_t *from, int64_t *to);
/* Whether chunks read what others upload, in other streams. */
bool hn_flow_shares_uploads(const struct hn_flow *flow);
/* Whether a chunk's kernels may read what an earlier chunk uploads; then so they may of all between the two. */
bool hn_flow_needs_upload(const struct hn_flow *flow, size_t chunk, size_t earlier);

/* "4 chunks in 2 streams, depth_first, pinned" */
void hn_flow_describe(const struct hn_flow *flow, char *text, size_t size);

#endif
