/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PLAN_LAUNCH_H
#define HONE_RUNTIME_PLAN_LAUNCH_H

#include "base/expression/expression_terms.h"
#include "base/memory.h"
#include "cache/record/record.h"
#include "runtime/device/device.h"
#include "runtime/plan/plan.h"

/* A window with all expressions evaluated. */
struct hn_l2_window {
    int64_t bytes;         /* from the buffer's beginning; 0: no window */
    double hit_ratio;      /* 1 */
    enum hn_access hit;    /* persisting */
    enum hn_access miss;   /* streaming; never persisting */
    int64_t set_aside;     /* bytes of the L2 cache for persisting accesses; 0: none */
};

/* HN_EVALUE for a part without a value, or with one that is no number or no property. */
void hn_l2_window_evaluate(const struct hn_window_plan *plan, const struct hn_value *values, struct hn_l2_window *window,
                           struct hn_error *err);

/* " window 20971520 0.6 persisting streaming 31457280"; nothing where it makes no difference. */
void hn_l2_window_append(struct hn_text *text, const struct hn_l2_window *window);

/* One kernel launch, with all expressions evaluated. */
struct hn_launch_step {
    const struct hn_step *step; /* borrowed from the plan */
    int64_t grid[3];
    int64_t block[3];
    int64_t cluster[3];
    int64_t shared_bytes; /* dynamic */
    int64_t carveout;     /* percent; HN_NO_CARVEOUT: as the driver likes */
    bool cooperative;
    bool programmatic; /* it may begin before the step before it has ended */
    struct hn_l2_window window;
};

#define HN_NO_CARVEOUT (-1)
/* Blocks of the largest cluster; from HN_PORTABLE_CLUSTER on a kernel has to be allowed it. */
#define HN_MAX_CLUSTER 16
#define HN_PORTABLE_CLUSTER 8

/* Whether its blocks are launched in clusters of more than one. */
bool hn_launch_step_has_clusters(const struct hn_launch_step *step);

/* A tensor map with all expressions evaluated. */
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

/* Whether the device takes it, by the rules of cuTensorMapEncodeTiled, and its elements lie in the buffer. Otherwise
 * `why` says which rule it breaks, as "tensor map 'A_map' over 'A': box[0] is 512; expected 1 to 256". */
#define HN_TENSOR_WHY 320
bool hn_tensor_check(const struct hn_tensor *tensor, char why[HN_TENSOR_WHY]);

/* Addresses of buffers and strides are multiples of this: 16 or 32. */
int64_t hn_tensor_grain(const struct hn_tensor *tensor);

/* Evaluates a tensor map for these values of the plan's names: `over` is its buffer. HN_EVALUE. */
void hn_argument_evaluate_tensor(const struct hn_argument *argument, const struct hn_argument *over,
                                 const struct hn_value *values, struct hn_tensor *tensor, struct hn_error *err);

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
    char why[256]; /* why it cannot be: then there are no chunks; "" */
};

/* Units of an argument that is cut: `over`, and the padding where it has one. */
int64_t hn_flow_units(const struct hn_flow *flow, size_t argument);
/* The units of an argument that a chunk uploads, from..to - 1: each is in the upload of one chunk. */
void hn_flow_upload_range(const struct hn_flow *flow, size_t argument, size_t chunk, int64_t *from, int64_t *to);
/* Whether a chunk's kernels may read what an earlier chunk uploads; then so they may of all between the two. */
bool hn_flow_needs_upload(const struct hn_flow *flow, size_t chunk, size_t earlier);

/* "4 chunks in 2 streams, depth_first, pinned" */
void hn_flow_describe(const struct hn_flow *flow, char *text, size_t size);

/* A plan's launches for one point of one problem, with all expressions evaluated: those steps whose condition holds.
 * Owns steps, flow and tensors. With a pipeline the steps are those of the whole extent, and its chunks have their own. */
struct hn_launch {
    struct hn_launch_step *steps;
    size_t step_count;
    struct hn_flow *flow; /* NULL: no pipeline */
    struct hn_tensor *tensors; /* the tensor maps that steps take */
    size_t tensor_count;
};

/* Whether one of the steps takes that argument, or a tensor map over it. */
bool hn_launch_takes(const struct hn_launch *launch, size_t argument);

/* HN_EVALUE or HN_ECONFIG when an expression has no integral value. */
enum hn_status hn_launch_make(const struct hn_plan *plan, const struct hn_bindings *problem,
                              const struct hn_bindings *point, struct hn_launch *launch, struct hn_error *err);
/* The same with so many clusters that run at once (0: as if any number did), or in one chunk and one stream. */
enum hn_status hn_launch_make_as(const struct hn_plan *plan, const struct hn_bindings *problem,
                                 const struct hn_bindings *point, int64_t clusters, bool sequential,
                                 struct hn_launch *launch, struct hn_error *err);
void hn_launch_finish(struct hn_launch *launch);
/* One step of the reference, the same way. */
enum hn_status hn_launch_make_step(const struct hn_plan *plan, const struct hn_step *step,
                                   const struct hn_bindings *problem, const struct hn_bindings *point,
                                   struct hn_launch_step *launch, struct hn_error *err);

/* True when there is a step, and every one respects the device's limits (threads of a block, each dimension of block and grid at least 1
 * and within its limit, clusters, dynamic shared memory, carve-out, tensor maps). Otherwise sets outcome invalid_launch and the message, as
 * "block 64x32 has 2048 threads; NVIDIA H200 takes 1024". */
bool hn_launch_check(const struct hn_launch *launch, const struct hn_device *device, struct hn_record *record);

/* Makes and checks the launch of a point that need not have one: where an expression that the launch, its arguments or the
 * compile options need has no value the record is an invalid launch too, and the launch has no steps. It is the caller's in any case. */
enum hn_status hn_launch_make_checked(const struct hn_plan *plan, const struct hn_device *device,
                                      const struct hn_bindings *problem, const struct hn_bindings *point,
                                      struct hn_launch *launch, struct hn_record *record, struct hn_error *err);

/* Evaluates the grid of a step again, for so many clusters that run at once. Where the device cannot hold it, or it has no
 * value, the record is an invalid launch. */
void hn_launch_fit_clusters(const struct hn_plan *plan, const struct hn_device *device, struct hn_value *values, int64_t clusters,
                            struct hn_launch_step *step, struct hn_record *record);
/* Whether a point can be launched for a problem: constraints and the device's limits, where there is one, allow it. Then the launch is the caller's, and so
 * are the values that it was made with, where these are not NULL. */
bool hn_launch_try(const struct hn_plan *plan, const struct hn_device *device, const struct hn_bindings *problem,
                   const struct hn_bindings *point, struct hn_launch *launch, struct hn_value **values);

/* Sets dynamic_shared_bytes: the most that one of the launches asks for. */
void hn_launch_note_shared(const struct hn_launch *launch, struct hn_resources *resources);
/* The same for a record of this plan and problem that does not say it, as older versions wrote none. A launch that cannot
 * be evaluated leaves it as it is. */
void hn_launch_recall_shared(const struct hn_plan *plan, const struct hn_bindings *problem, struct hn_record *record);

/* Whether the objective is the energy of a launch, or energy_delay; a metric of that name is the metric. Else HN_FRONT_TIME, 0. */
enum hn_front_by hn_plan_weighs(const struct hn_plan *plan);

/* Evaluates metrics and objective of a measured record into record->metrics and record->objective (lower is better:
 * a maximised metric is negated). The means of metric arguments stand among the metrics already, where the bench has put
 * them under their names; NaN where one does not. */
enum hn_status hn_metrics_evaluate(const struct hn_plan *plan, const struct hn_bindings *problem,
                                   struct hn_record *record, struct hn_error *err);

/* A plan's launches at one point, for problems that come as they come: what differs from one to another, and whether the launch is
 * valid, as hn_launch_try tells it, which the program's `valid` says. */
struct hn_launch_program {
    struct hn_program program;
    struct hn_program_part part; /* computes all of them */
    struct hn_blocks blocks; /* of the lists; all are terms of the program */
    int steps;       /* which steps are launched, a bit each */
    int (*grids)[3]; /* of each step that some problems launch */
    int *arguments;  /* of each argument: of its value, or of its count; -1: the same for all */
    int *aligns;     /* of each buffer: of its align; -1: the same for all */
    struct hn_tensor_terms {
        size_t rank; /* 0: no step takes it */
        int dims[HN_TENSOR_RANK], strides[HN_TENSOR_RANK];
    } *tensors; /* of each argument */
};

/* For all problems from `low` to `high`, which differ in integers only. False: something else than steps, grids, extents of tensor maps,
 * integers, counts and aligns differs, or expressions cannot be compiled. To be finished, whatever comes back. */
bool hn_launch_program_make(struct hn_launch_program *made, const struct hn_plan *plan, const struct hn_device *device,
                            const struct hn_bindings *point, const struct hn_bindings *low,
                            const struct hn_bindings *high);
void hn_launch_program_finish(struct hn_launch_program *made);

#endif
