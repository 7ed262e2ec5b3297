/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "runtime/libhone/choice.h"
#include "runtime/libhone/kernel.h"

/* What is asked for. */
struct request {
    CUcontext context;
    const char *kernel;
    const struct hone_value *problem;
    size_t problem_count;
    const struct hone_options *options;
};

static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u; /* FNV-1a */
    return hash;
}

/* What is not a word, as bits. Of a boolean that was not made by hone_boolean only one part is set.
 */
static int64_t bits_of(const struct hone_value *value)
{
    return value->kind == HONE_BOOLEAN ? value->as.boolean != 0 : value->as.integer;
}

static uint64_t hash_of(const struct request *request)
{
    uint64_t hash = mix(0xcbf29ce484222325u, request->kernel, strlen(request->kernel));
    for (size_t i = 0; i < request->problem_count; i++) {
        const struct hone_value *value = &request->problem[i];
        hash = mix(hash, value->name, strlen(value->name));
        int64_t bits = value->kind == HONE_WORD ? 0 : bits_of(value);
        hash = value->kind == HONE_WORD ? mix(hash, value->as.word, strlen(value->as.word))
                                        : mix(hash, &bits, sizeof bits);
    }
    return mix(hash, &request->context, sizeof(CUcontext));
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_value(const struct hone_value *a, const struct hone_value *b)
{
    if (a->kind != b->kind || strcmp(a->name, b->name) != 0)
        return false;
    return a->kind == HONE_WORD ? strcmp(a->as.word, b->as.word) == 0 : bits_of(a) == bits_of(b);
}

/* How to tune is no part of what is asked for. */
static bool matches(const struct hn_lib_memo *memo, uint64_t hash, const struct request *request)
{
    const struct hone_options *a = &memo->options;
    const struct hone_options *b = request->options;
    if (memo->hash != hash || memo->context != request->context ||
        memo->problem_count != request->problem_count || a->on_miss != b->on_miss ||
        !a->forbid_compile != !b->forbid_compile || a->trust != b->trust ||
        !same_text(a->regime, b->regime) || !same_text(a->objective, b->objective) ||
        strcmp(memo->kernel, request->kernel) != 0)
        return false;
    for (size_t i = 0; i < memo->problem_count; i++)
        if (!same_value(&memo->problem[i], &request->problem[i]))
            return false;
    return true;
}

/* Handles are only ever added, each complete before it can be seen, so that reading needs no lock.
 */
static struct hone_kernel *recall(struct hone_cache *cache, uint64_t hash,
                                  const struct request *request)
{
    const struct hn_lib_memo *memo =
        atomic_load_explicit(&cache->memos[hash % HN_LIB_BUCKETS], memory_order_acquire);
    while (memo != NULL && !matches(memo, hash, request))
        memo = memo->next;
    return memo == NULL ? NULL : memo->handle;
}

static bool copy_text(const char **to, const char *from)
{
    *to = from == NULL ? NULL : strdup(from);
    return from == NULL || *to != NULL;
}

static enum hone_status remember(struct hone_cache *cache, uint64_t hash,
                                 const struct request *request, struct hone_kernel *handle,
                                 struct hone_error *err)
{
    struct hn_lib_memo *memo = calloc(1, sizeof *memo);
    if (memo == NULL)
        return hn_lib_fail(err, HONE_NO_MEMORY, "out of memory");
    *memo =
        (struct hn_lib_memo){.hash = hash,
                             .context = request->context,
                             .kernel = strdup(request->kernel),
                             .problem = calloc(request->problem_count + 1, sizeof *memo->problem),
                             .options = *request->options,
                             .handle = handle};
    bool copied = memo->kernel != NULL && memo->problem != NULL;
    copied = copy_text(&memo->options.regime, request->options->regime) && copied;
    copied = copy_text(&memo->options.objective, request->options->objective) && copied;
    for (size_t i = 0; copied && i < request->problem_count; i++) {
        struct hone_value *value = &memo->problem[memo->problem_count++];
        *value = request->problem[i];
        copied = copy_text(&value->name, request->problem[i].name);
        if (value->kind == HONE_WORD)
            copied = copy_text(&value->as.word, request->problem[i].as.word) && copied;
    }
    _Atomic(struct hn_lib_memo *) *bucket = &cache->memos[hash % HN_LIB_BUCKETS];
    memo->next = atomic_load_explicit(bucket, memory_order_relaxed);
    /* One that is not whole is kept to be freed, and matches nothing. */
    if (!copied)
        memo->hash = ~hash;
    atomic_store_explicit(bucket, memo, memory_order_release);
    return copied ? HONE_OK : hn_lib_fail(err, HONE_NO_MEMORY, "out of memory");
}

static bool is_value(const struct hone_value *value)
{
    if (value->name == NULL || value->kind < HONE_INTEGER || value->kind > HONE_WORD)
        return false;
    if (value->kind == HONE_WORD)
        return value->as.word != NULL && hn_text_is_word(value->as.word);
    return value->kind != HONE_REAL || isfinite(value->as.real);
}

static enum hone_status check(const struct request *request, struct hone_error *err)
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
    if (on_miss < HONE_MISS_NEAREST || on_miss > HONE_MISS_TUNE)
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
    struct hn_error reason = {""};
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

/* With the lock held. */
static enum hone_status make(struct hone_cache *cache, const struct request *request,
                             struct hone_kernel **handle, struct hone_error *err)
{
    struct hn_bindings problem;
    struct hn_error reason = {""};
    enum hn_status status = HN_OK;
    hn_bindings_init(&problem);
    for (size_t i = 0; status == HN_OK && i < request->problem_count; i++) {
        const struct hone_value *from = &request->problem[i];
        struct hn_value value = from->kind == HONE_INTEGER   ? hn_integer(from->as.integer)
                                : from->kind == HONE_REAL    ? hn_real(from->as.real)
                                : from->kind == HONE_BOOLEAN ? hn_boolean(from->as.boolean != 0)
                                                             : hn_word(from->as.word);
        if (hn_bindings_get(&problem, from->name) != NULL)
            status = hn_fail(&reason, HN_EUSAGE, "hone_get: problem value '%.100s' is there twice",
                             from->name);
        else
            status = hn_bindings_set(&problem, from->name, &value, &reason);
    }
    enum hone_status made = hn_lib_take(err, status, &reason);
    if (made == HONE_OK)
        made = hn_lib_choose(cache, request->context, request->kernel, &problem, request->options,
                             handle, err);
    hn_bindings_finish(&problem);
    return made;
}

/* Another thread may have made and kept one for the same, while this one was tuning. */
static enum hone_status keep(struct hone_cache *cache, uint64_t hash, const struct request *request,
                             struct hone_kernel **handle, struct hone_error *err)
{
    struct hone_kernel *other = request->options->separate ? NULL : recall(cache, hash, request);
    if (other != NULL) {
        hn_lib_kernel_destroy(*handle);
        *handle = other;
        return HONE_OK;
    }
    (*handle)->next = cache->kernels;
    cache->kernels = *handle;
    return request->options->separate ? HONE_OK : remember(cache, hash, request, *handle, err);
}

static enum hone_status get(struct hone_cache *cache, const struct request *request, uint64_t hash,
                            struct hone_kernel **handle, struct hone_error *err)
{
    struct hn_c_locale locale;
    enum hone_status status = HONE_OK;
    hn_c_locale_enter(&locale);
    pthread_mutex_lock(&cache->lock);
    *handle = request->options->separate ? NULL : recall(cache, hash, request);
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
    struct request request = {.kernel = kernel,
                              .problem = problem,
                              .problem_count = problem_count,
                              .options = options == NULL ? &defaults : options};
    enum hone_status status = check(&request, err);
    if (status == HONE_OK)
        status = find_context(cache, &request.context, err);
    if (status != HONE_OK)
        return status;
    uint64_t hash = hash_of(&request);
    *handle = request.options->separate ? NULL : recall(cache, hash, &request);
    return *handle != NULL ? HONE_OK : get(cache, &request, hash, handle, err);
}
