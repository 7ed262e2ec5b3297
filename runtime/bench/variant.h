/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_VARIANT_H
#define HONE_RUNTIME_BENCH_VARIANT_H

#include "runtime/bench/arena.h"
#include "runtime/module/module.h"
#include "runtime/plan/flow.h"
#include "runtime/plan/launch.h"

/* A variable of the module that takes the contents of a buffer. */
struct hn_variant_symbol {
    CUdeviceptr address;
    size_t source; /* the argument with the buffer */
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
};
enum { HN_VARIANT_GRAPHS = 2 }; /* of one launch, and of a chain */

/* A variant (or a reference) ready to be launched: module loaded, functions found, geometry and scalars evaluated. */
struct hn_variant {
    struct hn_arena *arena;
    struct hn_value *values; /* of the plan's names */
    struct hn_launch launch;
    CUmodule module;
    CUfunction *functions; /* one a step */
    struct hn_module_step *shapes; /* one a step, of a launch without chunks */
    uint64_t *scalars;     /* one an argument: the value's bytes, at the front; behind them those of each chunk */
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
    char what[512];        /* the launch, for messages; filled in by hn_bench_work */
    bool rejected;         /* the driver refused a launch, which harmed nothing */
    bool launched;         /* what the device reports from now on may be this variant's doing */
};

/* Takes over `launch`, also on failure. Borrows problem, point and image for the call. A module that does not load, a
 * kernel or a symbol that is not there, shared memory that is not granted and scratch that does not fit are the variant's outcome
 * in `record`; the status is for what is not its fault. */
enum hn_status hn_variant_init(struct hn_variant *variant, struct hn_arena *arena, const struct hn_bindings *problem,
                               const struct hn_bindings *point, const struct hn_image *image,
                               struct hn_launch *launch, struct hn_record *record, struct hn_error *err);
void hn_variant_finish(struct hn_variant *variant);

/* Places the buffers that depend on parameters for this variant; again when another one had them since. */
enum hn_status hn_variant_place(struct hn_variant *variant, struct hn_record *record, struct hn_error *err);

/* Puts arguments (the first set) and symbols into the state that a launch expects. */
enum hn_status hn_variant_restore(const struct hn_variant *variant, struct hn_error *err);

/* Poisons what launches on the first `sets` sets have to write, from that seed; behind hn_variant_restore. Which of them
 * is compared is drawn, and it gets the first one's inputs. */
enum hn_status hn_variant_poison(struct hn_variant *variant, size_t sets, uint64_t seed, struct hn_error *err);

/* The part of hn_variant_init that checks windows of the L2 cache against their buffers, and whether the driver sets
 * aside what they want; what is refused is an invalid launch. */
enum hn_status hn_variant_open_windows(const struct hn_variant *variant, struct hn_record *record,
                                       struct hn_error *err);
/* Makes the L2 cache as this variant wants it: runtime/device/driver.h. */
CUresult hn_variant_use_cache(const struct hn_variant *variant);

/* The part of hn_variant_init that finds the symbols and sets those that have a value. Those that take a buffer's
 * contents are set by hn_variant_restore. A reference need not have the plan's symbols. */
enum hn_status hn_variant_find_symbols(struct hn_variant *variant, struct hn_record *record, struct hn_error *err);

/* Whether it can be launched several times on what one hn_variant_restore made. */
bool hn_variant_is_repeatable(const struct hn_variant *variant);

/* The tensor map of an argument of that role, over a set's buffer; NULL where no step takes it. */
CUresult hn_variant_map(struct hn_variant *variant, size_t set, size_t argument, void **map);
/* Queues step `number` of the launch, of whose chunks each has its own, with these scalars, and the addresses and maps
 * as they are. */
CUresult hn_variant_launch_step(struct hn_variant *variant, size_t number, const struct hn_launch_step *step,
                                uint64_t *scalars, CUstream stream);

/* Finds out where the arguments of a set are: the addresses and maps. */
CUresult hn_variant_locate(struct hn_variant *variant, size_t set);
/* Queues so many launches on the first set as a graph, 1 or HN_GRAPH_CHAIN, which is made the first time. Not of a
 * pipeline. */
CUresult hn_variant_replay(struct hn_variant *variant, size_t launches);
void hn_variant_drop_graphs(struct hn_variant *variant);

/* Queues so many launches on the first set, as a program does that knows its arguments: nothing but calls of the driver comes
 * between them. */
CUresult hn_variant_launch_row(struct hn_variant *variant, size_t launches);

/* Queues all steps on a set of the arguments; of a pipeline everything, and it waits for what is pageable. */
CUresult hn_variant_launch(struct hn_variant *variant, size_t set);

/* The launch as text for messages: "matmul <<<(128, 128, 1), (32, 32, 1), 0 B>>>". Names the first step. */
void hn_variant_describe(const struct hn_variant *variant, char *text, size_t size);

#endif
