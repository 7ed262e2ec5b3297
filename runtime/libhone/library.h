/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_LIBHONE_LIBRARY_H
#define HONE_RUNTIME_LIBHONE_LIBRARY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/memory.h"
#include "cache/family/rule.h"
#include "cache/store/store.h"
#include "cache/store/lookup.h"
#include "runtime/compile/image.h"
#include "runtime/compile/source.h"
#include "runtime/device/driver.h"
#include "runtime/libhone/hone.h"
#include "runtime/module/module.h"
#include "runtime/plan/launch.h"
#include "runtime/plan/plan.h"
#include "runtime/process/process.h"

/* What the files of libhone share: an open cache and what was read from it. Everything here is added to and never taken
 * away until the cache is closed; `lock` is held by whoever adds. */

/* The plan and template of a version of a kernel. */
struct hn_lib_plan {
    struct hn_lib_plan *next;
    struct hn_version version;
    json_t *json;
    struct hn_plan *plan;
    struct hn_template template;
    bool changed; /* where the template lay when it was tuned, it lies with another text now */
    char *types; /* of the arguments, HN_TYPE_SIZE each */
};

/* What the cache holds of one kernel: results and rules, each read when they are first asked for. Kernels hold copies of what
 * they need of results. */
struct hn_lib_known {
    struct hn_lib_known *next;
    char *kernel;
    struct hn_tuned_list list; /* all that is tuned */
    struct hn_lookup_index lookup; /* of the list */
    struct hn_tuned_list stored;
    struct hn_lib_rule *rules; /* of each stored one; NULL: they were not read */
};

/* The device of a context. */
struct hn_lib_device {
    struct hn_lib_device *next;
    CUcontext context;
    struct hn_device device;
};

/* What was compiled, by the hash of its program: other problems may have the same. */
struct hn_lib_compiled {
    struct hn_lib_compiled *next;
    struct hn_hash program;
    struct hn_image image;
};

/* Device memory of which handles have pieces: one call of the driver for many of them. */
struct hn_lib_slab {
    struct hn_lib_slab *next;
    CUcontext context;
    CUdeviceptr address;
    uint64_t used;
};

struct hone_cache {
    char *path;
    struct hn_blocks memory; /* of what is only let go of with the cache; taken with the lock held */
    unsigned forks; /* how often this process had come about by a fork when it was opened */
    struct hn_store *store; /* NULL: it is a folder of recordings */
    pthread_mutex_t lock;
    pthread_mutex_t info_lock; /* held by who makes what callers are told of a kernel; behind `lock` */
    struct hn_blocks infos;
    bool tuning; /* a thread is, without the lock; `tuned` tells the end */
    pthread_cond_t tuned;
    atomic_bool has_driver;
    struct hn_driver driver;
    char strange[640]; /* who else can write to the cache; "": nobody */
    struct hn_lib_plan *plans;
    struct hn_lib_known *known;
    struct hn_lib_device *devices;
    struct hn_lib_compiled *compiled;
    struct hone_kernel *kernels;
    struct hn_lib_slab *slabs;
    _Atomic(struct hn_lib_memos *) memos; /* which handle was given out for what */
    char *capture_folder; /* NULL: nothing is captured */
    long capture_launches; /* of each handle */
    long freeze_after; /* so many launches of a handle that a rule chose its frozen program is compiled; 0: it is not */
    atomic_bool is_freezing; /* a process compiles one */
    atomic_long captures;
};

/* Inside, the first failure of a call stands in a struct hn_error: whoever takes one and returns no status is sticky (base/error.h).
 * The public functions begin with one and end with hn_lib_tell. */

/* Fails with a status that enum hn_status has no word for. err may be NULL. Returns false. */
bool hn_lib_fail(struct hn_error *err, enum hone_status status, const char *format, ...)
    __attribute__((cold, noinline, format(printf, 3, 4)));
/* Gives a failure such a status. */
void hn_lib_restate(struct hn_error *err, enum hone_status status);
/* Fails unless it is CUDA_SUCCESS. */
void hn_lib_cuda(const struct hone_cache *cache, CUresult result, const char *what, struct hn_error *err);
/* Copies a string for a member, which stays what it is where that is NULL or err has failed. */
void hn_lib_put(struct hn_blocks *blocks, const char **member, const char *string, struct hn_error *err);
/* The failure as callers see it, in err, which may be NULL; HONE_OK leaves that alone. */
enum hone_status hn_lib_tell(const struct hn_error *why, struct hone_error *err);

/* The rest is called with the lock held. */

/* All that is tuned of a kernel; NULL: nothing, or err has failed. */
struct hn_lib_known *hn_lib_known_results(struct hone_cache *cache, const char *kernel, struct hn_error *err);
/* Its rules, which may be none. NULL where err has failed. */
struct hn_lib_known *hn_lib_known_rules(struct hone_cache *cache, const char *kernel, struct hn_error *err);
/* Plans, results and rules of all kernels, which are gone, and what was compiled. */
void hn_lib_known_free(struct hone_cache *cache);

/* What a kernel is asked for. All is borrowed. */
struct hn_lib_question {
    struct hone_cache *cache;
    CUcontext context;
    const char *kernel; /* kernels that differ in nothing but their names share a plan */
    const struct hn_bindings *problem;
    const struct hone_options *options;
    const struct hn_device *device; /* of the context; NULL: not looked up yet */
};

/* A kernel that can be launched. Nothing of it changes after it was made, but what is atomic. */

enum {
    HN_LIB_MAX_ARGUMENTS = 64, /* more do not fit on the stack of a launch */
    HN_LIB_MAX_MAPS = 8        /* nor do more tensor maps */
};

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
    const struct hn_step *of; /* the plan */
};

/* A variable of the module. */
struct hn_lib_symbol {
    const char *name;
    const char *from; /* the input whose contents it takes, else its own name */
    CUdeviceptr address;
    uint64_t bytes;
    bool zeroed; /* before every launch; else hone_set_symbols sets it */
};

struct hone_kernel {
    struct hone_kernel *next; /* of the cache */
    struct hn_lib_asked {
        uint64_t hash;
        struct hone_options options;
        const unsigned char *places; /* in the problem, of the values in the caller's order */
        size_t count;
    } asked; /* by which it is found again; of one that is separate all 0 */
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
    size_t symbol_count, symbols_to_set;
    atomic_bool symbols_are_set;
    bool has_zeroed; /* arguments or symbols */
    bool is_watched; /* its launches are captured or raced */
    bool is_piece;   /* like another one: what differs lies behind it, and all else is shared */
    struct hn_lib_race *race; /* NULL: it has none */
    _Atomic(struct hn_lib_maps *) maps; /* NULL: it has none yet */
    uint64_t workspace_bytes;
    _Atomic(struct hn_lib_stream *) streams; /* what it has of each that it is launched on */
    bool as_graph; /* its launches are replayed as graphs */
    atomic_long captured; /* launches */
    const char *name; /* as asked for */
    bool compiled;    /* NVRTC was called for it */
    struct hone_info *about; /* what callers are told, made when they ask where a rule chose it; NULL: not yet */
    const struct hn_lib_rule *rule;                   /* that chose it; NULL: none did */
    const struct hn_lib_configuration *configuration; /* of that rule */
    bool sure;                                        /* what the rule says of it */
    atomic_bool has_info;
};

/* Makes the context current, unless it is gone. Leaving makes that current again which was. */
CUresult hn_lib_enter(const struct hone_cache *cache, CUcontext context, CUcontext *outside);
void hn_lib_leave(const struct hone_cache *cache, CUcontext outside);

/* Loads its machine code into the current context; NULL where err has failed. */
CUmodule hn_lib_module_load(const struct hone_cache *cache, const struct hn_image *image, struct hn_error *err);

/* NULL is fine. */
void hn_lib_kernel_destroy(struct hone_kernel *kernel);
/* Gives the owned slots their places in the workspace. */
void hn_lib_slots_place(struct hone_kernel *kernel);

/* hone_prepare, but for what it is given. */
void hn_lib_prepare(struct hone_kernel *kernel, CUstream stream, struct hn_error *err);

/* What a launch is given. */
struct hn_lib_launch {
    CUstream stream;
    const struct hone_argument *arguments;
    size_t count;
};
void hn_lib_launch(struct hone_kernel *kernel, const struct hn_lib_launch *launch, struct hn_error *err);
/* Launches, with all arguments resolved: values[i] is slot i's bits, or of HONE_BYTES the host address (of a tensor map 0:
 * it is made). */
void hn_lib_launch_steps(struct hone_kernel *kernel, CUstream stream, uint64_t *values, struct hn_error *err);

/* Whether launches become parts of a graph, or that cannot be told. */
bool hn_lib_is_capturing(const struct hone_kernel *kernel, CUstream stream);

/* Of a kernel that is raced: a launch, whose arguments were found right (`values` are those of its own slots); the scratch
 * memory of the others; all that there is beside the kernel itself is freed (NULL is fine). */
void hn_lib_race_launch(struct hone_kernel *kernel, const struct hn_lib_launch *launch, uint64_t *values,
                        struct hn_error *err);
void hn_lib_race_prepare(struct hone_kernel *kernel, CUstream stream, struct hn_error *err);
void hn_lib_race_destroy(struct hn_lib_race *race);

/* Launches steps, and writes what they are given and what they write, where the handle's share is not used up. A launch that
 * could not be captured takes place. */
void hn_lib_capture(struct hone_kernel *kernel, CUstream stream, uint64_t *values, struct hn_error *err);

/* What was learnt of families: rules, and the modules that problems of a family share. With the lock held. */

/* A module that was loaded for one problem and serves others. Its functions allow as much dynamic shared memory as was
 * asked for so far. */
struct hn_lib_module {
    struct hn_lib_module *next;
    const struct hone_cache *cache;
    CUcontext context;
    struct hn_bindings values; /* of the problem: part of its program */
    struct hn_image image;
    CUmodule module;
    bool is_checked; /* its kernels take what the plan passes */
    struct hn_launch_program launches; /* of sizes that nobody asked for before */
    size_t *slots; /* in that program, of each problem value; NULL: they differ in more than a program can say, or memory is out */
    struct hone_kernel *likes; /* one of each set of steps that was launched: all that sizes have in common */
    struct hn_lib_function {
        CUfunction function; /* NULL: not found yet */
        int64_t shared_bytes, carveout;
        bool has_large_clusters;
    } *functions; /* of each step */
};

/* A configuration of a rule. */
struct hn_lib_configuration {
    struct hn_tuned tuned;             /* no result: identity without a problem, version, point; borrows */
    enum { HN_PROGRAM_UNKNOWN, HN_PROGRAM_SHARED, HN_PROGRAM_OWN } program;
    struct hn_lib_module *modules;
};

struct hn_lib_rule {
    const struct hn_tuned *stored;
    const struct hn_lib_plan *plan; /* NULL: not looked up yet */
    struct hn_bindings names; /* of the problem's values, each at its low end */
    bool names_limits;        /* some of them are of the device */
    struct hn_known_problems known; /* that may have results of their own; no hashes: they were not read */
    const struct hn_device *first_on; /* another than its own, on which nothing is tuned; NULL: not known */
    struct hn_lib_configuration *configurations;
    struct hn_rule_program *program; /* made with what is known; NULL: it has none */
};

/* A kernel is made from this: which point serves, and why. All is borrowed. */
struct hn_lib_choice {
    const struct hn_lib_question *asked;
    const struct hn_lib_plan *plan;
    const struct hn_tuned *tuned; /* NULL: the default point */
    enum hn_grade grade;
    const struct hn_bindings *point;
    const struct hn_lib_rule *rule;             /* of a family, that chose it; NULL: none did */
    struct hn_lib_configuration *configuration; /* of that rule; `tuned` is its */
    bool sure;                                  /* what the rule says of it */
    struct hn_launch *launch; /* that was made for it, which its kernel takes */
    struct hn_value **values; /* that the launch was made with */
};

/* The kernel for a question, by what the cache holds and the options say. With the lock held, as all that
 * follows. NULL where err has failed. */
struct hone_kernel *hn_lib_choose(const struct hn_lib_question *asked, struct hn_error *err);

/* The choice as a handle: of the module that another problem has loaded, or of its image, kept or compiled, which is loaded to be
 * shared where its program serves others too. *image: what was loaded, where the module is the handle's own; the caller's to
 * finish. NULL where err has failed. */
struct hone_kernel *hn_lib_load(const struct hn_lib_choice *choice, struct hn_image *image, struct hn_error *err);
/* The same of a size of a family that is like others. *handle NULL: its launch would be invalid, or memory is out. False: none is
 * like it. */
bool hn_lib_make_like(const struct hn_lib_choice *choice, struct hone_kernel **handle);
/* `hone`, by the options and the environment; free it. NULL: out of memory. */
char *hn_lib_find_command(const struct hone_options *options);
/* A compilation in a process of its own. Borrows all but the process. */
struct hn_lib_compiling {
    struct hn_process process;
    const struct hn_source *source;
    const struct hn_device *device;
    const char *kernel; /* for messages */
    double until_ms;
};
/* HONE_NEEDS_COMPILER: it cannot be started. In any case kill the process at last. */
void hn_lib_compile_start(struct hn_lib_compiling *compiling, const char *command, const struct hone_cache *cache,
                          struct hn_error *err);
/* Without blocking. True: the image has come. */
bool hn_lib_compile_listen(struct hn_lib_compiling *compiling, struct hn_image *image, struct hn_error *err);
/* Whether the choice needs no compiler. */
bool hn_lib_image_is_kept(const struct hn_lib_choice *choice);
void hn_lib_module_destroy(struct hn_lib_module *module);

/* Loads the image into the current context, or takes the module that is there (shared, whose image it is; NULL: none).
 * The kernel belongs to the caller until it is put into the cache's list. NULL where err has failed. */
struct hone_kernel *hn_lib_kernel_make(const struct hn_lib_choice *choice, const struct hn_image *image,
                                       struct hn_lib_module *shared, bool compiled, struct hn_error *err);

/* The race of a handle (HONE_MISS_RACE): points that may be the fastest for its problem take turns in its launches, each
 * of which one of them carries out, until times tell which is. All of one version of the kernel, valid for the problem, and
 * with machine code. */

enum {
    HN_LIB_RACERS_MOST = 4,   /* the handle's own point among them */
    HN_LIB_RACERS_LIKELY = 16 /* that are asked for, of which some cannot be launched */
};

/* Configurations of a rule beside its own choice, likeliest first: of a rule with costs in their order what its leaf compares;
 * then what it says of problems with half and twice a value, then the order of its fallback. */
size_t hn_lib_racers_of_rule(const struct hn_rule *rule, const struct hn_bindings *problem, int own,
                             int configurations[HN_LIB_RACERS_LIKELY]);
/* Results with other points than `own`, nearest first: of its version, verified, on the device of the query. */
size_t hn_lib_racers_of_results(const struct hn_tuned_list *list, const struct hn_lookup_query *query,
                                const struct hn_tuned *own, const struct hn_tuned *racers[HN_LIB_RACERS_LIKELY]);

struct hn_lib_freeze; /* the frozen program of a handle that a rule chose */

/* With the handle alone; its context is current. freeze: the other one is its frozen program, once that is compiled; NULL: others are
 * added. NULL when launches of the choice cannot be raced, there is no memory, or there are no events. Copies the identity, and takes the
 * freeze and what is in the image. */
struct hn_lib_race *hn_lib_race_make(struct hone_kernel *own, const struct hn_lib_choice *choice,
                                     struct hn_lib_freeze *freeze, struct hn_image *image);
/* Takes the kernel over, with what is in the image. False: it wants other arguments than the handle, or there are enough. */
bool hn_lib_race_add(struct hn_lib_race *race, struct hone_kernel *kernel, struct hn_image *image);

/* The point with which values of the problem are constants; NULL: there is none for the problem, or no memory. */
struct hn_lib_freeze *hn_lib_freeze_make(const struct hone_kernel *own, const struct hone_options *options);
void hn_lib_freeze_destroy(struct hn_lib_freeze *freeze, struct hone_cache *cache);
/* Goes on by what does not take long: starts the compilation, looks after it, loads the module. One thread at a time. True: it is
 * over; *frozen has what came of it, with its image, or err says why there is nothing. */
bool hn_lib_freeze_step(struct hn_lib_freeze *freeze, const struct hone_kernel *own, struct hone_kernel **frozen,
                        struct hn_image *image, struct hn_error *err);

#endif
