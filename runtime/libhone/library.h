/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_LIBHONE_LIBRARY_H
#define HONE_RUNTIME_LIBHONE_LIBRARY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "cache/store/lookup.h"
#include "runtime/device/driver.h"
#include "runtime/libhone/hone.h"
#include "runtime/plan/plan.h"
#include "runtime/compile/image.h"
#include "runtime/compile/source.h"

/* What the files of libhone share: an open cache and what was read from it. Everything here is added to and never taken
 * away until the cache is closed; `lock` is held by whoever adds. */

/* The plan and template of a version of a kernel. */
struct hn_lib_plan {
    struct hn_lib_plan *next;
    struct hn_version version;
    char *json;
    struct hn_plan *plan;
    struct hn_template template;
    bool changed; /* where the template lay when it was tuned, it lies with another text now */
    bool has_pipeline;
    char *types; /* of the arguments, HN_TYPE_SIZE each */
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
    void *cubin;
    size_t size;
    char *entries; /* a line each */
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
    unsigned forks; /* hn_lib_forks() when it was opened */
    bool is_folder;
    struct hn_store *store; /* NULL for a folder */
    pthread_mutex_t lock;
    pthread_mutex_t info_lock; /* held by who makes what callers are told of a kernel */
    bool tuning; /* a thread is, without the lock; `tuned` tells the end */
    pthread_cond_t tuned;
    atomic_bool has_driver;
    struct hn_driver driver;
    char strange[640]; /* who else can write to the cache; "": nobody */
    struct hn_lib_plan *plans;
        struct hn_lib_index *indices;
    struct hn_lib_family *families;
    struct hn_lib_device *devices;
    struct hn_lib_compiled *compiled;
    struct hone_kernel *kernels;
    struct hn_lib_slab *slabs;
    _Atomic(struct hn_lib_memos *) memos; /* memo.h */
    char *capture_folder; /* NULL: nothing is captured */
    long capture_launches; /* of each handle */
    atomic_long captures;
};

/* How often this process came about by a fork since a cache was first opened in it or in one before it. */
unsigned hn_lib_forks(void);

/* Fails with a message; err may be NULL. Never the driver's doing. */
enum hone_status hn_lib_fail(struct hone_error *err, enum hone_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for what the rest of Hone says. */
enum hone_status hn_lib_take(struct hone_error *err, enum hn_status status, const struct hn_error *reason);
/* HONE_OK for CUDA_SUCCESS. */
enum hone_status hn_lib_cuda(const struct hone_cache *cache, CUresult result, const char *what,
                             struct hone_error *err);

/* The rest is called with the lock held. */

/* The plan with which it was tuned. HONE_NOT_FOUND where the cache has none: results that were imported without. */
enum hone_status hn_lib_plan_get(struct hone_cache *cache, const struct hn_tuned *tuned,
                                 const struct hn_lib_plan **plan, struct hone_error *err);
/* Takes over json and files. */
enum hone_status hn_lib_plan_add(struct hone_cache *cache, const struct hn_version *version,
                                 struct hn_stored_plan *stored, const struct hn_lib_plan **plan,
                                 struct hone_error *err);
void hn_lib_plan_finish(struct hn_lib_plan *plan);

void hn_lib_compiled_finish(struct hn_lib_compiled *compiled);

/* The recordings in the cache's folder that are of that kernel. */
enum hone_status hn_lib_recordings_read(struct hone_cache *cache, const char *kernel, struct hn_tuned_list *list,
                                        struct hone_error *err);

/* The plan that one of them was made with. HN_ENOTFOUND. */
enum hn_status hn_lib_recordings_find_plan(const struct hone_cache *cache, const struct hn_tuned *tuned,
                                           struct hn_stored_plan *stored, struct hn_error *err);

/* Finds out whether others than the user can write to the cache, before it is opened; its path becomes one without links. */
void hn_lib_look_for_strangers(struct hone_cache *cache);
/* HONE_UNTRUSTED where the options do not take that. */
enum hone_status hn_lib_trust(const struct hone_cache *cache, const struct hone_options *options,
                              struct hone_error *err);

/* The `hone` that runs beside the application; free it. NULL when out of memory. */
char *hn_lib_command(const struct hone_options *options);
/* Compiles in a child, whose time and memory are limited. HN_ENOTFOUND: there is no `hone` to start. */
enum hn_status hn_lib_compile(const struct hone_options *options, const struct hn_source *source,
                              const char *architecture, struct hn_image *image, struct hn_error *err);

/* Runs `hone tune` for a problem. config: NULL where only the options can tell. Called without the lock. */
enum hone_status hn_lib_tune(struct hone_cache *cache, const struct hn_bindings *problem, const char *config,
                             const struct hn_device *device, const struct hone_options *options,
                             struct hone_error *err);

#endif
