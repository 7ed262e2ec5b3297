/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/c_locale.h"
#include "runtime/libhone/choice.h"
#include "runtime/libhone/kernel.h"
#include "runtime/libhone/memo.h"

/* More than any config has. */
enum { MOST_VALUES = 256 };

static bool is_value(const struct hone_value *value)
{
    if (value->name == NULL || value->kind < HONE_INTEGER || value->kind > HONE_WORD)
        return false;
    if (value->kind == HONE_WORD)
        return value->as.word != NULL && hn_text_is_word(value->as.word);
    return value->kind != HONE_REAL || isfinite(value->as.real);
}

static enum hone_status check(const struct hn_lib_request *request, struct hone_error *err)
{
    if (request->problem_count > 0 && request->problem == NULL)
        return hn_lib_fail(err, HONE_INVALID, "hone_get: 'problem' is NULL for %zu values",
                           request->problem_count);
    for (size_t i = 0; i < request->problem_count; i++) {
        if (!is_value(&request->problem[i]))
            return hn_lib_fail(err, HONE_INVALID,
                               "hone_get: problem value %zu has no name, no kind or no word, or "
                               "is not finite; make it with hone_integer and its like",
                               i);
    }
    int on_miss = (int)request->options->on_miss;
    if (on_miss < HONE_MISS_NEAREST || on_miss > HONE_MISS_RACE)
        return hn_lib_fail(err, HONE_INVALID, "hone_get: options.on_miss is %d, no hone_miss",
                           on_miss);
    int trust = (int)request->options->trust;
    if (trust < HONE_TRUST_OWN || trust > HONE_TRUST_ANY)
        return hn_lib_fail(err, HONE_INVALID, "hone_get: options.trust is %d, no hone_trust",
                           trust);
    for (size_t i = 0; i < sizeof request->options->reserved / sizeof(uint64_t); i++)
        if (request->options->reserved[i] != 0)
            return hn_lib_fail(err, HONE_INVALID,
                               "hone_get: options.reserved is not zero: it was not initialised, or "
                               "is for a newer libhone than " HONE_VERSION);
    return HONE_OK;
}

static enum hone_status load_driver(struct hone_cache *cache, struct hone_error *err)
{
    struct hn_error reason = {0};
    enum hn_status status = HN_OK;
    pthread_mutex_lock(&cache->lock);
    if (!atomic_load(&cache->has_driver)) {
        status = hn_driver_load(&cache->driver, &reason);
        atomic_store(&cache->has_driver, status == HN_OK);
    }
    pthread_mutex_unlock(&cache->lock);
    return status == HN_OK ? HONE_OK : hn_lib_fail(err, HONE_CUDA, "%.1000s", reason.message);
}

static enum hone_status find_context(struct hone_cache *cache, CUcontext *context,
                                     struct hone_error *err)
{
    if (!atomic_load_explicit(&cache->has_driver, memory_order_acquire)) {
        enum hone_status status = load_driver(cache, err);
        if (status != HONE_OK)
            return status;
    }
    *context = NULL;
    CUresult result = cache->driver.p_cuCtxGetCurrent(context);
    if (result == CUDA_SUCCESS && *context != NULL)
        return HONE_OK;
    (void)hn_lib_fail(err, HONE_CUDA,
                      "no CUDA context is current: call cuCtxSetCurrent, or with the runtime API "
                      "cudaSetDevice and cudaFree(0), before hone_get");
    if (err != NULL)
        err->cuda = result != CUDA_SUCCESS ? result : CUDA_ERROR_INVALID_CONTEXT;
    return HONE_CUDA;
}

static enum hone_status take_problem(const struct hn_lib_request *request,
                                     struct hn_bindings *problem, struct hone_error *err)
{
    for (size_t i = 0; i < request->problem_count; i++) {
        const struct hone_value *from = &request->problem[i];
        struct hn_value value = from->kind == HONE_INTEGER   ? hn_integer(from->as.integer)
                                : from->kind == HONE_REAL    ? hn_real(from->as.real)
                                : from->kind == HONE_BOOLEAN ? hn_boolean(from->as.boolean != 0)
                                                             : hn_word(from->as.word);
        if (!hn_bindings_lend(problem, from->name, &value))
            return hn_lib_fail(err, HONE_INVALID, "hone_get: problem value '%.100s' is there twice",
                               from->name);
    }
    return HONE_OK;
}

/* With the lock held. */
static enum hone_status make(struct hone_cache *cache, const struct hn_lib_request *request,
                             struct hone_kernel **handle, struct hone_error *err)
{
    char *names[MOST_VALUES];
    struct hn_value values[MOST_VALUES];
    struct hn_bindings problem = {.names = names, .values = values};
    if (request->problem_count > MOST_VALUES)
        return hn_lib_fail(err, HONE_INVALID,
                           "hone_get: found %zu problem values, expected at most %d",
                           request->problem_count, MOST_VALUES);
    enum hone_status status = take_problem(request, &problem, err);
    return status == HONE_OK ? hn_lib_choose(cache, request->context, request->kernel, &problem,
                                             request->options, handle, err)
                             : status;
}

/* Another thread may have made and kept one for the same, while this one was tuning. */
static enum hone_status keep(struct hone_cache *cache, uint64_t hash,
                             const struct hn_lib_request *request, struct hone_kernel **handle,
                             struct hone_error *err)
{
    struct hone_kernel *other =
        request->options->separate ? NULL : hn_lib_recall(cache, hash, request);
    if (other != NULL) {
        hn_lib_kernel_destroy(*handle);
        *handle = other;
        return HONE_OK;
    }
    (*handle)->next = cache->kernels;
    cache->kernels = *handle;
    return request->options->separate ? HONE_OK
                                      : hn_lib_remember(cache, hash, request, *handle, err);
}

static enum hone_status get(struct hone_cache *cache, const struct hn_lib_request *request,
                            uint64_t hash, struct hone_kernel **handle, struct hone_error *err)
{
    struct hn_c_locale locale;
    enum hone_status status = HONE_OK;
    hn_c_locale_enter(&locale);
    pthread_mutex_lock(&cache->lock);
    *handle = request->options->separate ? NULL : hn_lib_recall(cache, hash, request);
    if (*handle == NULL) {
        status = make(cache, request, handle, err);
        if (status == HONE_OK)
            status = keep(cache, hash, request, handle, err);
    }
    pthread_mutex_unlock(&cache->lock);
    hn_c_locale_leave(&locale);
    if (status != HONE_OK)
        *handle = NULL;
    return status;
}

enum hone_status hone_get(struct hone_cache *cache, const char *kernel,
                          const struct hone_value *problem, size_t problem_count,
                          const struct hone_options *options, struct hone_kernel **handle,
                          struct hone_error *err)
{
    static const struct hone_options defaults;
    if (cache == NULL || kernel == NULL || handle == NULL)
        return hn_lib_fail(err, HONE_INVALID, "hone_get: '%s' is NULL",
                           cache == NULL    ? "cache"
                           : kernel == NULL ? "kernel"
                                            : "handle");
    *handle = NULL;
    struct hn_lib_request request = {.kernel = kernel,
                                     .problem = problem,
                                     .problem_count = problem_count,
                                     .options = options == NULL ? &defaults : options};
    /* A thread that the child has not may have held a lock, here or in the driver. */
    if (cache->forks != hn_lib_forks())
        return hn_lib_fail(
            err, HONE_UNSUPPORTED,
            "hone_get: the cache was opened before this process was forked, and neither "
            "its file nor CUDA can be used here: open it again");
    enum hone_status status = check(&request, err);
    if (status == HONE_OK)
        status = find_context(cache, &request.context, err);
    if (status != HONE_OK)
        return status;
    uint64_t hash = hn_lib_request_hash(&request);
    *handle = request.options->separate ? NULL : hn_lib_recall(cache, hash, &request);
    return *handle != NULL ? HONE_OK : get(cache, &request, hash, handle, err);
}
