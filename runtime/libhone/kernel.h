/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_LIBHONE_KERNEL_H
#define HONE_RUNTIME_LIBHONE_KERNEL_H

#include "runtime/module/module.h"
#include "runtime/libhone/library.h"

struct hn_lib_configuration;
struct hn_lib_graphs;
struct hn_lib_map;
struct hn_lib_race;
struct hn_lib_rule;

/* A kernel that can be launched. Nothing of it changes after it was made, but what is atomic. */

/* More arguments than this do not fit on the stack of a launch. */
enum { HN_LIB_MAX_ARGUMENTS = 64 };
/* Nor more tensor maps than this. */
enum { HN_LIB_MAX_MAPS = 8 };
/* Addresses of tensor maps that are remembered. */
enum { HN_LIB_PLACES = 128 };

/* An argument of hone_launch; its index is its place in the plan. */
struct hn_lib_slot {
    const char *name;
    enum hone_argument_kind kind;
    enum hone_need need;
    uint32_t value_bytes; /* of a scalar or HONE_BYTES */
    uint64_t bytes;       /* of a buffer */
    uint64_t below_align; /* of a buffer: bits that its address has not got */
    uint64_t preset;      /* of a scalar: what it is when left out; of an owned buffer its offset in the workspace */
    bool taken;           /* by a step, or its tensor map is */
    bool mapped;          /* a tensor map, which is made of its buffer when it is left out */
    bool zeroed;          /* before every launch */
    bool starts_zero;     /* and is left so by launches */
};

struct hn_lib_step {
    CUfunction function;
    struct hn_module_step shape;
    size_t window_argument; /* the base of its L2 window, where it has one */
    unsigned short arguments[HN_LIB_MAX_ARGUMENTS];
    size_t argument_count;
};

/* A variable of the module. */
struct hn_lib_symbol {
    const char *name;
    const char *from; /* the input whose contents it takes, else its own name */
    CUdeviceptr address;
    uint64_t bytes;
    bool zeroed; /* before every launch; else hone_set_symbols sets it */
};

/* The scratch memory of a stream. */
struct hn_lib_workspace {
    struct hn_lib_workspace *next;
    CUstream stream;
    const void *thread; /* of CU_STREAM_PER_THREAD, which is another stream in each */
    CUdeviceptr address;
    bool is_piece; /* of a slab */
};

struct hn_lib_about {
    struct hone_info info;
    char *strings[8]; /* of info */
};

struct hone_kernel {
    struct hone_kernel *next; /* of the cache */
    struct hone_cache *cache;
    CUcontext context;
    const struct hn_lib_plan *plan;
    struct hn_bindings problem;
    struct hn_bindings point; /* of a rule's configuration: borrowed from there */
    struct hn_launch launch;
    const struct hn_device *device;
        CUmodule module;
    struct hn_lib_module *shared; /* that the module is of; NULL: it is the kernel's own */
    struct hn_lib_slot *slots;
    size_t slot_count;
    struct hn_lib_step *steps;
    unsigned int (*grids)[3]; /* of each step */
    size_t step_count;
    struct hn_lib_symbol *symbols;
    size_t symbol_count;
    size_t symbols_to_set;
    atomic_bool symbols_are_set;
    bool has_zeroed; /* arguments or symbols */
    bool is_watched; /* its launches are captured or raced */
    bool is_piece;   /* of sizes.h: slots, grids and problem values lie behind it, and it shares all else */
    struct hn_lib_race *race; /* race.h; NULL: it has none */
    _Atomic(struct hn_lib_map *) *maps; /* HN_LIB_PLACES, by address; NULL: it takes none */
    uint64_t workspace_bytes;
    _Atomic(struct hn_lib_workspace *) workspaces;
    bool as_graph; /* its launches are replayed as graphs */
    _Atomic(struct hn_lib_graphs *) graphs;
    atomic_long captured; /* launches */
    const char *name; /* as asked for */
    bool compiled;    /* NVRTC was called for it */
    struct hn_lib_about *about; /* what callers are told, made when they ask where a rule chose it; NULL: not yet */
    const struct hn_lib_rule *rule;                   /* that chose it; NULL: none did */
    const struct hn_lib_configuration *configuration; /* of that rule */
    bool sure;                                        /* what the rule says of it */
    atomic_bool has_info;
};

/* Makes the context current; false where it is gone. Leaving makes that current again which was. */
bool hn_lib_enter(const struct hone_cache *cache, CUcontext context, CUcontext *outside);
void hn_lib_leave(const struct hone_cache *cache, CUcontext outside);

void hn_lib_info_free(struct hone_kernel *kernel);
/* NULL is fine. choice.h has how it is made. */
void hn_lib_kernel_destroy(struct hone_kernel *kernel);
/* Parts of the making, with the lock held. */
enum hone_status hn_lib_slots_make(struct hone_kernel *kernel, const struct hn_value *values,
                                   struct hone_error *err);
/* Gives the owned ones their places in the workspace. */
void hn_lib_slots_place(struct hone_kernel *kernel);
enum hone_status hn_lib_symbols_find(struct hone_kernel *kernel, const struct hn_value *values,
                                     struct hone_error *err);

/* The stream's scratch memory, allocated when it has none yet. Not to be called with the lock held. */
enum hone_status hn_lib_workspace_get(struct hone_kernel *kernel, CUstream stream, CUdeviceptr *address,
                                      struct hone_error *err);

/* Frees the slabs of a cache whose kernels are gone. */
void hn_lib_slabs_free(struct hone_cache *cache);
/* Which thread a stream belongs to: the default stream of a thread has the same handle in all. NULL: to none. */
const void *hn_lib_stream_thread(CUstream stream);

/* graph.c: whether a launch is more than one thing to do, and always the same where its values are; a launch as a graph where it can
 * be one, else as hn_lib_launch_steps does it; and what is freed. */
bool hn_lib_graph_suits(const struct hone_kernel *kernel);
enum hone_status hn_lib_graph_launch(struct hone_kernel *kernel, CUstream stream, uint64_t *values,
                                     struct hone_error *err);
void hn_lib_graphs_free(struct hone_kernel *kernel, bool on_device);

/* Makes those tensor maps whose value is 0 of the buffers' values; some of them in `spare`. */
CUresult hn_lib_maps_place(struct hone_kernel *kernel, uint64_t *values, CUtensorMap spare[HN_LIB_MAX_MAPS]);
void hn_lib_maps_free(struct hone_kernel *kernel);

/* Launches, with all arguments resolved: values[i] is slot i's bits, or of HONE_BYTES the host address (of a tensor map 0:
 * it is made). */
enum hone_status hn_lib_launch_steps(struct hone_kernel *kernel, CUstream stream, uint64_t *values,
                                     struct hone_error *err);

/* Of a kernel that is raced: a launch, whose arguments were found right (`values` are those of its own slots); the scratch
 * memory of the others; all that there is beside the kernel itself is freed (NULL is fine). race.h has how it is made. */
enum hone_status hn_lib_race_launch(struct hone_kernel *kernel, CUstream stream, const struct hone_argument *arguments,
                                    size_t count, uint64_t *values, struct hone_error *err);
enum hone_status hn_lib_race_prepare(struct hone_kernel *kernel, CUstream stream, struct hone_error *err);
void hn_lib_race_destroy(struct hn_lib_race *race);

/* Writes what a launch is given, before it takes place, where the cache captures and the handle's share is not used up. */
enum hone_status hn_lib_capture(struct hone_kernel *kernel, CUstream stream, const uint64_t *values,
                                struct hone_error *err);

#endif
