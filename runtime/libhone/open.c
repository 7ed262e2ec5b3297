/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/c_locale.h"
#include "cache/record/gate.h"
#include "runtime/libhone/family.h"
#include "runtime/libhone/index.h"
#include "runtime/libhone/kernel.h"
#include "runtime/libhone/memo.h"

const char *hone_status_name(enum hone_status status)
{
    static const char *const names[] = {
        [HONE_OK] = "HONE_OK",
        [HONE_INVALID] = "HONE_INVALID",
        [HONE_NO_MEMORY] = "HONE_NO_MEMORY",
        [HONE_NOT_FOUND] = "HONE_NOT_FOUND",
        [HONE_NEEDS_COMPILER] = "HONE_NEEDS_COMPILER",
        [HONE_COMPILE_FAILED] = "HONE_COMPILE_FAILED",
        [HONE_UNSUPPORTED] = "HONE_UNSUPPORTED",
        [HONE_BAD_FILE] = "HONE_BAD_FILE",
        [HONE_SYSTEM] = "HONE_SYSTEM",
        [HONE_CUDA] = "HONE_CUDA",
        [HONE_TUNE_FAILED] = "HONE_TUNE_FAILED",
        [HONE_CAPTURE_FAILED] = "HONE_CAPTURE_FAILED",
        [HONE_UNTRUSTED] = "HONE_UNTRUSTED",
    };
    size_t index = (size_t)status;
    return index < sizeof names / sizeof *names ? names[index] : "unknown status";
}

const char *hone_version(void)
{
    return HONE_VERSION;
}

enum hone_status hn_lib_fail(struct hone_error *err, enum hone_status status, const char *format,
                             ...)
{
    if (err == NULL)
        return status;
    va_list arguments;
    va_start(arguments, format);
    err->cuda = CUDA_SUCCESS;
    vsnprintf(err->message, sizeof err->message, format, arguments);
    va_end(arguments);
    hn_gate_clean(err->message);
    return status;
}

enum hone_status hn_lib_take(struct hone_error *err, enum hn_status status,
                             const struct hn_error *reason)
{
    static const enum hone_status statuses[] = {
        [HN_OK] = HONE_OK,
        [HN_ENOMEM] = HONE_NO_MEMORY,
        [HN_ECONFIG] = HONE_INVALID,
        [HN_EUSAGE] = HONE_INVALID,
        [HN_EVALUE] = HONE_INVALID,
        [HN_ERUN] = HONE_SYSTEM,
        [HN_EFORMAT] = HONE_BAD_FILE,
        [HN_ENOTFOUND] = HONE_NOT_FOUND,
        [HN_EREPLAY] = HONE_SYSTEM,
        [HN_EINTERRUPTED] = HONE_SYSTEM,
    };
    _Static_assert(sizeof statuses / sizeof *statuses == HN_EINTERRUPTED + 1, "each has one");
    if (status == HN_OK)
        return HONE_OK;
    return hn_lib_fail(err, statuses[status], "%.1000s", reason->message);
}

enum hone_status hn_lib_cuda(const struct hone_cache *cache, CUresult result, const char *what,
                             struct hone_error *err)
{
    if (result == CUDA_SUCCESS)
        return HONE_OK;
    struct hn_error reason = {0};
    (void)hn_driver_check(&cache->driver, result, what, &reason);
    (void)hn_lib_fail(err, HONE_CUDA, "%.1000s", reason.message);
    if (err != NULL)
        err->cuda = result;
    return HONE_CUDA;
}

static void read_capture(struct hone_cache *cache)
{
    const char *folder = getenv("HONE_CAPTURE");
    const char *launches = getenv("HONE_CAPTURE_LAUNCHES");
    if (folder == NULL || folder[0] == '\0')
        return;
    cache->capture_folder = strdup(folder);
    cache->capture_launches = launches == NULL ? 1 : strtol(launches, NULL, 10);
}

static enum hone_status open_path(struct hone_cache *cache, struct hone_error *err)
{
    struct stat about;
    struct hn_error reason = {0};
    if (hn_store_is_server(cache->path))
        return hn_lib_fail(err, HONE_BAD_FILE,
                           "libhone reads files, and 'postgresql://…' is a server: `hone cache "
                           "merge URI --cache FILE` makes one of it");
    if (stat(cache->path, &about) != 0)
        return hn_lib_fail(err, errno == ENOENT ? HONE_NOT_FOUND : HONE_SYSTEM, "cache '%s': %s",
                           cache->path, strerror(errno));
    cache->is_folder = S_ISDIR(about.st_mode);
    if (cache->is_folder)
        return HONE_OK;
    return hn_lib_take(err, hn_store_open(cache->path, HN_STORE_READ, &cache->store, &reason),
                       &reason);
}

static pthread_once_t watched = PTHREAD_ONCE_INIT;
static unsigned forks;

static void count_fork(void)
{
    forks++;
}

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, count_fork);
}

unsigned hn_lib_forks(void)
{
    return forks;
}

static enum hone_status open_cache(const char *path, struct hone_cache **cache,
                                   struct hone_error *err)
{
    struct hone_cache *made = calloc(1, sizeof *made);
    if (made == NULL)
        return hn_lib_fail(err, HONE_NO_MEMORY, "out of memory");
    made->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    made->info_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    made->tuned = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    pthread_once(&watched, watch_forks);
    made->forks = hn_lib_forks();
    made->path = hn_store_default_path(path);
    if (made->path == NULL) {
        free(made);
        return hn_lib_fail(err, HONE_NO_MEMORY, "out of memory");
    }
    hn_lib_look_for_strangers(made);
    enum hone_status status = open_path(made, err);
    if (status != HONE_OK) {
        hone_close(made);
        return status;
    }
    read_capture(made);
    *cache = made;
    return HONE_OK;
}

enum hone_status hone_open(const char *path, struct hone_cache **cache, struct hone_error *err)
{
    struct hn_c_locale locale;
    if (cache == NULL)
        return hn_lib_fail(err, HONE_INVALID, "hone_open: 'cache' is NULL");
    *cache = NULL;
    hn_c_locale_enter(&locale);
    enum hone_status status = open_cache(path, cache, err);
    hn_c_locale_leave(&locale);
    return status;
}

#define FREE_LIST(type, head, finish)                                                              \
    while ((head) != NULL) {                                                                       \
        type *next = (head)->next;                                                                 \
        finish(head);                                                                              \
        (head) = next;                                                                             \
    }

void hone_close(struct hone_cache *cache)
{
    if (cache == NULL)
        return;
    hn_lib_memos_finish(cache);
    FREE_LIST(struct hone_kernel, cache->kernels, hn_lib_kernel_destroy)
    hn_lib_slabs_free(cache);
    FREE_LIST(struct hn_lib_family, cache->families, hn_lib_family_finish)
    FREE_LIST(struct hn_lib_index, cache->indices, hn_lib_index_finish)
    FREE_LIST(struct hn_lib_plan, cache->plans, hn_lib_plan_finish)
    FREE_LIST(struct hn_lib_device, cache->devices, free)
    FREE_LIST(struct hn_lib_compiled, cache->compiled, hn_lib_compiled_finish)
    if (atomic_load(&cache->has_driver))
        hn_driver_close(&cache->driver);
    hn_store_close(cache->store);
    pthread_cond_destroy(&cache->tuned);
    pthread_mutex_destroy(&cache->info_lock);
    pthread_mutex_destroy(&cache->lock);
    free(cache->capture_folder);
    free(cache->path);
    free(cache);
}
