/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_VARIANT_H
#define HONE_RUNTIME_BENCH_VARIANT_H

#include "base/memory.h"
#include "runtime/bench/arena.h"
#include "runtime/compile/cubin.h"
#include "runtime/module/module.h"
#include "runtime/plan/launch.h"

/* A buffer in host memory between two guard zones. */
struct hn_host_buffer {
    enum hn_host_memory kind;
    unsigned char *block; /* with the guard zones; NULL: there is none */
    size_t block_bytes;
    unsigned char *data;
    uint64_t bytes;
    CUdeviceptr device; /* data, as kernels address it; 0: they cannot */
    double register_ms; /* what registering the block took */
    uint64_t contents;  /* which of the arena's contents it holds; 0: none */
};

/* What pipelines need beside the arena: host buffers of all kinds that were asked for, streams and events. The
 * variants of a bench share it; it is filled once one with a pipeline is placed. */
struct hn_stage {
    struct hn_arena *arena;
    struct hn_host_buffer *buffers;                 /* HN_HOST_MEMORY_COUNT of each argument */
    size_t buffer_count;
    CUstream streams[HN_MAX_STREAMS];               /* the first is the context's */
    CUevent joins[HN_MAX_STREAMS];                  /* one a stream; the first is where they fork */
    size_t stream_count;
    CUevent *uploads; /* one a chunk: its upload is done */
    size_t upload_count;
};

/* A variable of the module that takes the contents of a buffer. */
struct hn_variant_symbol {
    CUdeviceptr address;
    size_t source; /* the argument with the buffer */
};

/* What is passed by value. */
union hn_scalar {
    uint64_t bits; /* the value's bytes at the front */
    struct hn_passed *structure;
};

/* An argument in a pipeline. */
struct hn_staged {
    struct hn_host_buffer *buffer; /* of the stage; NULL: it is not in host memory */
    CUdeviceptr base;              /* what kernels address */
    uint64_t unit;                 /* bytes of a unit of the extent; 0: it is not cut */
};

/* Launches on the first set as a graph. */
struct hn_variant_graph {
    CUgraphExec exec;       /* NULL: not made yet */
    CUdeviceptr *addresses; /* of the arguments, as they were captured */
    uint64_t contents;      /* of the arena then, which it passes by value */
};
enum { HN_VARIANT_GRAPHS = 2 }; /* of one launch, and of a chain */

/* What a pipeline may leave out, to time the rest. */
enum hn_skip { HN_SKIP_UPLOADS = 1, HN_SKIP_KERNELS = 2, HN_SKIP_DOWNLOADS = 4 };

/* A variant (or a reference) ready to be launched: module loaded, functions found, geometry and scalars evaluated. */
struct hn_variant {
    struct hn_arena *arena;
    struct hn_stage *stage;
    struct hn_record *record; /* what the variant does wrong is its outcome there */
    struct hn_value *values;  /* of the plan's names */
    struct hn_launch launch;
    const struct hn_image *image; /* borrowed, as long as the variant lives */
    CUmodule module;
    struct hn_blocks memory; /* of all that follows, but for the maps */
    CUfunction *functions; /* one a step */
    struct hn_module_step *shapes; /* one a step, of a launch without chunks */
    union hn_scalar *scalars; /* one an argument; behind them those of each chunk */
    struct hn_staged *staged; /* one an argument, of a launch with a flow */
    unsigned char skip;       /* hn_skip: what a pipeline leaves out */
    struct hn_variant_symbol *symbols;
    size_t symbol_count;
    size_t *zeroed;          /* counters that are zeroed as part of a launch, as one of its steps takes them */
    size_t zeroed_count;
    CUdeviceptr *addresses; /* one an argument: of the set being launched */
    void **map_places;      /* one an argument: where the tensor map of that set lies */
    struct hn_variant_map *maps; /* HN_MAX_SETS of each tensor map; NULL: none was asked for */
    struct hn_variant_graph graphs[HN_VARIANT_GRAPHS];
    void **parameters;     /* room for the arguments of the longest step */
    size_t compared_set;   /* whose outputs the next check compares */
    double *metric_values; /* one a metric argument: the mean of its elements, as last checked */
    char what[512];        /* the launch, for messages; hn_variant_describe */
    bool rejected;         /* the driver refused a launch, which harmed nothing */
    bool launched;         /* what the device reports from now on may be this variant's doing */
};

/* Neither the run nor the variant has failed so far. */
static inline bool hn_goes_on(const struct hn_variant *variant, const struct hn_error *err)
{
    return !hn_failed(err) && variant->record->outcome == HN_OUTCOME_OK;
}

/* All that follows is sticky: it does nothing where err has failed. */

/* A result of the driver on a variant's behalf: what ends the context is a failure, the rest is the variant's outcome. */
void hn_refuse(struct hn_variant *variant, CUresult result, enum hn_outcome outcome, const char *what,
               struct hn_error *err);

/* Takes over `launch`, also on failure; where it already failed it does nothing else. Borrows image and record for its life, problem and point for the call. A module
 * that does not load, a kernel or a symbol that is not there, shared memory that is not granted and scratch that
 * does not fit are the variant's outcome; err is for what is not its fault. */
void hn_variant_init(struct hn_variant *variant, struct hn_arena *arena, struct hn_stage *stage,
                     const struct hn_bindings *problem, const struct hn_bindings *point, const struct hn_image *image,
                     struct hn_launch *launch, struct hn_record *record, struct hn_error *err);
/* Its record stays. */
void hn_variant_finish(struct hn_variant *variant);

/* Places the buffers that depend on parameters for this variant; again when another one had them since. */
void hn_variant_place(struct hn_variant *variant, struct hn_error *err);

/* Puts arguments (the first set) and symbols into the state that a launch expects. */
void hn_variant_restore(const struct hn_variant *variant, struct hn_error *err);

/* Poisons what launches on the first `sets` sets have to write, from that seed; behind hn_variant_restore. Which of
 * them is compared is drawn, and it gets the first one's inputs. */
void hn_variant_poison(struct hn_variant *variant, size_t sets, uint64_t seed, struct hn_error *err);

/* Queues step `number` of the launch in a shape, of which each chunk has its own, with these scalars, and the addresses
 * and maps as they are. */
CUresult hn_variant_launch_step(struct hn_variant *variant, size_t number, const struct hn_module_step *shape,
                                union hn_scalar *scalars, CUstream stream);

/* Queues so many launches on the first set as a deployed program does: in a stream nothing but calls of the driver comes
 * between them; else they are replayed as graphs, which are made the first time, of HN_GRAPH_CHAIN launches where the
 * regime has these and there are whole ones. Not of a pipeline. */
CUresult hn_variant_deploy(struct hn_variant *variant, enum hn_regime regime, size_t count);

/* Queues all steps on a set of the arguments; of a pipeline everything, and it waits for what is pageable. */
CUresult hn_variant_launch(struct hn_variant *variant, size_t set);

/* Makes variant->what the launch as text for messages: "matmul <<<(128, 128, 1), (32, 32, 1), 0 B>>>". Names the first
 * step. */
void hn_variant_describe(struct hn_variant *variant);

/* The parts of a variant whose launch has a flow (pipeline.c); for others nothing is done. */

void hn_stage_finish(struct hn_stage *stage);

/* Host buffers, streams and events; again when another variant had them since. How it is cut is observed in the record. */
void hn_pipeline_place(struct hn_variant *variant, struct hn_error *err);

/* Queues copies and kernels of all chunks. The context's stream waits for all. */
CUresult hn_pipeline_launch(struct hn_variant *variant);

/* Host buffers as a launch expects them; the arena is restored. */
void hn_pipeline_restore(const struct hn_variant *variant, struct hn_error *err);
/* Outputs in host memory become what the arena's are; what is uploaded is poisoned on the device. The arena is spoiled
 * until a check has found all as it was. */
void hn_pipeline_poison(const struct hn_variant *variant, uint64_t seed, struct hn_error *err);
/* Brings what is in host memory to the arena, where it is checked: what was downloaded, and where nothing is copied
 * all. A changed guard zone of a host buffer is the variant's outcome. */
void hn_pipeline_collect(const struct hn_variant *variant, const char *when, struct hn_error *err);

/* Of an argument. */
struct hn_output {
    bool is_compared;
    bool is_partial;     /* not all of its elements are */
    CUdeviceptr copy;
    CUdeviceptr written; /* the bits of the elements that are compared; 0: all are */
    uint64_t kept;       /* bytes of the copy, and of the bits behind it */
    uint64_t checksum;   /* of all that is kept of it */
    uint64_t count;    /* the elements that are results, by its length argument; of vectors all lanes */
    uint64_t compared; /* how many of these are compared */
    double largest;    /* max|r| of all inputs so far: those of one may cancel in a single sum */
    bool seen;         /* of a multiset: some were compared, of these or earlier inputs */
    bool changed;      /* by the reference, from what an inout held before, of these or earlier inputs */
};

/* A copy of what the output and inout arguments hold after a launch: what later launches are compared with. It is
 * veiled (support_veil.cuh), so that no variant can read there what it should compute. */
struct hn_outputs {
    struct hn_arena *arena;
    CUdeviceptr block;
    struct hn_output *of; /* one an argument */
    bool partial;         /* of some argument not all elements are compared */
    bool damaged;         /* a variant wrote into it: capture it again */
    size_t silent;        /* an argument that was NaN and infinities alone when it was compared last; SIZE_MAX: none */
};

void hn_outputs_init(struct hn_outputs *outputs, struct hn_arena *arena, struct hn_error *err);

/* Copies the arguments of the first set and notes checksums. */
void hn_outputs_capture(struct hn_outputs *outputs, struct hn_error *err);
/* Notes which elements of arguments that are compared in part were written, by what is in the first set after a further
 * launch. poisons: the seeds before the launch that was captured and before this one; NULL: there was no launch, and
 * what was captured as NaN was not written. Returns an argument of which none was, or SIZE_MAX. */
size_t hn_outputs_find_written(struct hn_outputs *outputs, const uint64_t poisons[2], struct hn_error *err);

/* Whether a launch did what it had to and nothing else. What is found goes into the variant's record: outcome, message,
 * verdict; err is for what is not the variant's fault, and for a dead context. Both are sticky. */

/* Restores and poisons the first set (outputs and scratch from `poison`, see hn_arena_poison); and launches once behind
 * that, and waits. */
void hn_verify_prepare(struct hn_variant *variant, uint64_t poison, struct hn_error *err);
void hn_verify_launch(struct hn_variant *variant, uint64_t poison, struct hn_error *err);

/* Checks after a launch: guard zones, inputs, pristine copies, and the outputs of the variant's compared_set against
 * `outputs`. `when` begins the message of a failure ("" or "in a timed launch: "). Repairs what was damaged in the
 * arena; damaged outputs are marked. Notes the variant's metric values, and in the verdict that one more launch was
 * right. */
void hn_verify_check(struct hn_variant *variant, struct hn_outputs *outputs, const char *when, struct hn_error *err);

#endif
