/* SPDX-License-Identifier: MIT */
#include "runtime/libhone/library.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cache/record/gate.h"

/* What is asked for. Borrows all. */
struct request {
    CUcontext context;
    const char *kernel;
    const struct hone_value *problem;
    size_t problem_count;
    const struct hone_options *options;
    uint64_t hash; /* 0: not made yet */
};

/* Of a hash the upper bits are mixed best. */
enum { FIRST_SLOTS = 256, PLACE_SHIFT = 20 };

/* Half full at most. When it gets fuller another one takes its place; who still reads the former
 * one finds all that was in it, and asks with the lock for what is not. */
struct hn_lib_memos {
    size_t mask, count;
    _Atomic(struct hone_kernel *) slots[];
};

static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u; /* FNV-1a */
    return hash;
}

static uint64_t mix_number(uint64_t hash, uint64_t number)
{
    hash = (hash ^ number) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

static uint64_t hash_request(const struct request *request)
{
    uint64_t hash = mix(0xcbf29ce484222325u, request->kernel, strlen(request->kernel));
    HN_EACH_OF(value, request->problem, request->problem_count) {
        hash = mix(hash, value->name, strlen(value->name));
        /* Of a boolean that hone_boolean did not make only one part is set. */
        uint64_t bits = value->kind == HONE_BOOLEAN ? value->as.boolean != 0 : value->as.integer;
        hash = value->kind == HONE_WORD ? mix(hash, value->as.word, strlen(value->as.word))
                                        : mix_number(hash, bits);
    }
    return mix_number(hash, (uintptr_t)request->context);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool matches(const struct hone_kernel *handle, const struct request *request)
{
    const struct hn_lib_asked *asked = &handle->asked;
    const struct hone_options *a = &asked->options;
    const struct hone_options *b = request->options;
    if (asked->hash != request->hash || handle->context != request->context ||
        asked->count != request->problem_count || a->on_miss != b->on_miss ||
        !a->forbid_compile != !b->forbid_compile || !a->graph != !b->graph ||
        a->trust != b->trust || !same_text(a->regime, b->regime) ||
        !same_text(a->objective, b->objective) || strcmp(handle->name, request->kernel) != 0)
        return false;
    for (size_t i = 0; i < asked->count; i++) {
        const struct hone_value *value = &request->problem[i];
        const struct hn_value *own = &handle->problem.values[asked->places[i]];
        if ((int)own->type != (int)value->kind - HONE_INTEGER ||
            strcmp(handle->problem.names[asked->places[i]], value->name) != 0 ||
            (own->type == HN_WORD      ? strcmp(own->word, value->as.word) != 0
             : own->type == HN_BOOLEAN ? own->boolean != (value->as.boolean != 0)
                                       : own->integer != value->as.integer))
            return false;
    }
    return true;
}

static struct hone_kernel *recall(struct hone_cache *cache, const struct request *request)
{
    const struct hn_lib_memos *memos = atomic_load_explicit(&cache->memos, memory_order_acquire);
    if (memos == NULL)
        return NULL;
    for (size_t place = (size_t)(request->hash >> PLACE_SHIFT);; place++) {
        struct hone_kernel *handle =
            atomic_load_explicit(&memos->slots[place & memos->mask], memory_order_acquire);
        if (handle == NULL || matches(handle, request))
            return handle;
    }
}

static void add(struct hn_lib_memos *memos, struct hone_kernel *handle)
{
    size_t place = (size_t)(handle->asked.hash >> PLACE_SHIFT);
    while (atomic_load_explicit(&memos->slots[place & memos->mask], memory_order_relaxed) != NULL)
        place++;
    atomic_store_explicit(&memos->slots[place & memos->mask], handle, memory_order_release);
    memos->count++;
}

/* Has room for one more; NULL when out of memory. */
static struct hn_lib_memos *make_room(struct hone_cache *cache)
{
    struct hn_lib_memos *former = atomic_load_explicit(&cache->memos, memory_order_relaxed);
    if (former != NULL && 2 * (former->count + 1) <= former->mask)
        return former;
    size_t slots = former == NULL ? FIRST_SLOTS : 2 * (former->mask + 1);
    struct hn_lib_memos *made =
        hn_blocks_take(&cache->memory, sizeof *made + slots * sizeof made->slots[0]);
    if (made == NULL)
        return NULL;
    made->mask = slots - 1;
    for (size_t i = 0; former != NULL && i <= former->mask; i++) {
        struct hone_kernel *handle = atomic_load_explicit(&former->slots[i], memory_order_relaxed);
        if (handle != NULL)
            add(made, handle);
    }
    atomic_store_explicit(&cache->memos, made, memory_order_release);
    return made;
}

/* With the lock held. */
static void remember(struct hone_cache *cache, const struct request *request,
                     struct hone_kernel *handle, struct hn_error *err)
{
    const struct hn_bindings *problem = &handle->problem;
    struct hn_lib_memos *memos = hn_made(make_room(cache), err);
    unsigned char *places = hn_made(hn_blocks_take(&cache->memory, request->problem_count), err);
    struct hn_lib_asked asked = {request->hash, *request->options, places, request->problem_count};
    hn_lib_put(&cache->memory, &asked.options.regime, request->options->regime, err);
    hn_lib_put(&cache->memory, &asked.options.objective, request->options->objective, err);
    if (hn_failed(err))
        return;
    for (size_t i = 0; i < request->problem_count; i++)
        places[i] =
            (unsigned char)(hn_bindings_get(problem, request->problem[i].name) - problem->values);
    handle->asked = asked;
    add(memos, handle);
}

/* Whose kernels run in the application: what lies where nobody but the user (or root) can write.
 *
 * The cache's path is resolved first, then looked at from the root on, and opened last, as it was
 * resolved. In a folder that nobody else can write to nobody else renames anything, so that each
 * part that was found to be the user's stays what it was while the next ones are looked at. */

/* From the root on. The last `strict` parts lie where nobody else makes anything. */
static bool is_way_own(const char *path, int strict, char *why, size_t size)
{
    const char *slash = strrchr(path, '/');
    if (path[1] != '\0') {
        char *folder HN_FREED = strndup(path, slash == path ? 1 : (size_t)(slash - path));
        if (folder == NULL)
            snprintf(why, size, "out of memory");
        else
            is_way_own(folder, strict - 1, why, size);
    }
    return why[0] == '\0' && hn_store_is_own(path, strict <= 0, why, size);
}

/* In a folder of recordings, or beside a cache, where it may not be. */
static void check_file(const char *path, const char *between, const char *name, char *why,
                       size_t size)
{
    char whole[PATH_MAX + NAME_MAX + 2];
    snprintf(whole, sizeof whole, "%s%s%s", path, between, name);
    if (why[0] == '\0' &&
        (faccessat(AT_FDCWD, whole, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT))
        hn_store_is_own(whole, false, why, size);
}

static void look_for_strangers(struct hone_cache *cache)
{
    /* The log decides what is in the cache as much as the file does. */
    static const char *const beside[] = {"-wal", "-shm", "-journal"};
    char *why = cache->strange;
    size_t size = sizeof cache->strange;
    struct stat about;
    char *path = realpath(cache->path, NULL);
    if (path == NULL || stat(path, &about) != 0) {
        snprintf(why, size, "'%.400s' cannot be looked at: %s", cache->path, strerror(errno));
        free(path);
        return;
    }
    free(cache->path);
    cache->path = path;
    if (!is_way_own(path, S_ISDIR(about.st_mode) ? 1 : 2, why, size))
        return;
    for (size_t i = 0; S_ISREG(about.st_mode) && i < sizeof beside / sizeof *beside; i++)
        check_file(path, "", beside[i], why, size);
    DIR *entries = S_ISDIR(about.st_mode) ? opendir(path) : NULL;
    const struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            check_file(path, "/", entry->d_name, why, size);
    if (entries != NULL)
        closedir(entries);
}

const char *hone_status_name(enum hone_status status)
{
#define NAMED(status) [status] = #status
    static const char *const names[] = {
        NAMED(HONE_OK),          NAMED(HONE_INVALID),        NAMED(HONE_NO_MEMORY),
        NAMED(HONE_NOT_FOUND),   NAMED(HONE_NEEDS_COMPILER), NAMED(HONE_COMPILE_FAILED),
        NAMED(HONE_UNSUPPORTED), NAMED(HONE_BAD_FILE),       NAMED(HONE_SYSTEM),
        NAMED(HONE_CUDA),        NAMED(HONE_TUNE_FAILED),    NAMED(HONE_CAPTURE_FAILED),
        NAMED(HONE_UNTRUSTED),
    };
    size_t index = (size_t)status;
    return index < sizeof names / sizeof *names ? names[index] : "unknown status";
}

const char *hone_version(void)
{
    return HONE_VERSION;
}

/* Statuses that enum hn_status has no word for, and codes of the driver, stand behind its own. */
enum { OWN_STATUSES = 64, CUDA_STATUSES = 128 };

bool hn_lib_fail(struct hn_error *err, enum hone_status status, const char *format, ...)
{
    va_list arguments;
    if (err == NULL)
        return false;
    va_start(arguments, format);
    vsnprintf(err->message, sizeof err->message, format, arguments);
    va_end(arguments);
    hn_lib_restate(err, status);
    return false;
}

void hn_lib_restate(struct hn_error *err, enum hone_status status)
{
    err->status = (enum hn_status)(OWN_STATUSES + (int)status);
}

void hn_lib_cuda(const struct hone_cache *cache, CUresult result, const char *what,
                 struct hn_error *err)
{
    if (result == CUDA_SUCCESS || hn_failed(err))
        return;
    (void)hn_driver_check(&cache->driver, result, what, err);
    err->status = (enum hn_status)(CUDA_STATUSES + (int)result);
}

void hn_lib_put(struct hn_blocks *blocks, const char **member, const char *string,
                struct hn_error *err)
{
    size_t bytes = string == NULL ? 0 : strlen(string) + 1;
    char *own = bytes == 0 || hn_failed(err) ? NULL : hn_made(hn_blocks_take(blocks, bytes), err);
    if (own != NULL)
        *member = memcpy(own, string, bytes);
}

enum hone_status hn_lib_tell(const struct hn_error *why, struct hone_error *err)
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
    int status = (int)why->status;
    if (err != NULL && status != HN_OK) {
        err->cuda = status < CUDA_STATUSES ? CUDA_SUCCESS : (CUresult)(status - CUDA_STATUSES);
        snprintf(err->message, sizeof err->message, "%.1019s", why->message);
        hn_gate_clean(err->message);
    }
    return status >= CUDA_STATUSES  ? HONE_CUDA
           : status >= OWN_STATUSES ? (enum hone_status)(status - OWN_STATUSES)
                                    : statuses[status];
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

static void open_file(struct hone_cache *cache, struct hn_error *err)
{
    struct stat about;
    if (hn_failed(err))
        return;
    look_for_strangers(cache);
    if (hn_store_is_server(cache->path))
        hn_fail(err, HN_EFORMAT,
                "libhone reads files, and 'postgresql://…' is a server: `hone cache "
                "merge URI --cache FILE` makes one of it");
    else if (stat(cache->path, &about) != 0)
        hn_fail(err, errno == ENOENT ? HN_ENOTFOUND : HN_ERUN, "cache '%s': %s", cache->path,
                strerror(errno));
    else if (!S_ISDIR(about.st_mode))
        hn_store_open(cache->path, HN_STORE_READ, &cache->store, err);
}

static struct hone_cache *open_cache(const char *path, struct hn_error *err)
{
    const char *folder = getenv("HONE_CAPTURE");
    const char *launches = getenv("HONE_CAPTURE_LAUNCHES");
    const char *freeze = getenv("HONE_FREEZE_AFTER");
    struct hone_cache *made = hn_allocate(1, sizeof *made, err);
    if (made == NULL)
        return NULL;
    made->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    made->info_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    made->tuned = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    pthread_once(&watched, watch_forks);
    made->forks = forks;
    made->path = hn_made(hn_store_default_path(path), err);
    open_file(made, err);
    if (hn_failed(err)) {
        hone_close(made);
        return NULL;
    }
    made->freeze_after = freeze == NULL ? 0 : strtol(freeze, NULL, 10);
    if (folder != NULL && folder[0] != '\0') {
        made->capture_folder = strdup(folder);
        made->capture_launches = launches == NULL ? 1 : strtol(launches, NULL, 10);
    }
    return made;
}

enum hone_status hone_open(const char *path, struct hone_cache **cache, struct hone_error *err)
{
    struct hn_c_locale locale;
    struct hn_error why = {.status = HN_OK};
    if (cache == NULL) {
        hn_lib_fail(&why, HONE_INVALID, "hone_open: 'cache' is NULL");
    } else {
        hn_c_locale_enter(&locale);
        *cache = open_cache(path, &why);
        hn_c_locale_leave(&locale);
    }
    return hn_lib_tell(&why, err);
}

void hone_close(struct hone_cache *cache)
{
    if (cache == NULL)
        return;
    for (struct hone_kernel *next, *kernel = cache->kernels; kernel != NULL; kernel = next) {
        next = kernel->next;
        hn_lib_kernel_destroy(kernel);
    }
    while (cache->slabs != NULL) {
        CUcontext outside;
        struct hn_lib_slab *slab = cache->slabs;
        cache->slabs = slab->next;
        if (hn_lib_enter(cache, slab->context, &outside) == CUDA_SUCCESS) {
            cache->driver.p_cuMemFree(slab->address);
            hn_lib_leave(cache, outside);
        }
        free(slab);
    }
    hn_lib_known_free(cache);
    if (atomic_load(&cache->has_driver))
        hn_driver_close(&cache->driver);
    hn_store_close(cache->store);
    pthread_cond_destroy(&cache->tuned);
    pthread_mutex_destroy(&cache->info_lock);
    pthread_mutex_destroy(&cache->lock);
    hn_blocks_finish(&cache->infos);
    hn_blocks_finish(&cache->memory);
    free(cache->capture_folder);
    free(cache->path);
    free(cache);
}

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

/* err may be NULL, on the way that costs nothing. */
static inline bool is_right(const struct request *request, struct hn_error *err)
{
    const struct hone_options *options = request->options;
    if (request->problem_count > 0 && request->problem == NULL)
        return hn_lib_fail(err, HONE_INVALID, "hone_get: 'problem' is NULL for %zu values",
                           request->problem_count);
    for (size_t i = 0; i < request->problem_count; i++)
        if (!is_value(&request->problem[i]))
            return hn_lib_fail(
                err, HONE_INVALID,
                "hone_get: problem value %zu has no name, no kind or no word, or is not "
                "finite; make it with hone_integer and its like",
                i);
    if (options->on_miss < HONE_MISS_NEAREST || options->on_miss > HONE_MISS_RACE)
        return hn_lib_fail(err, HONE_INVALID, "hone_get: options.on_miss is %d, no hone_miss",
                           (int)options->on_miss);
    if (options->trust < HONE_TRUST_OWN || options->trust > HONE_TRUST_ANY)
        return hn_lib_fail(err, HONE_INVALID, "hone_get: options.trust is %d, no hone_trust",
                           (int)options->trust);
    return options->reserved[0] == 0 ||
           hn_lib_fail(err, HONE_INVALID,
                       "hone_get: options.reserved is not zero: it was not initialised, or is for "
                       "a newer libhone than " HONE_VERSION);
}

static void find_context(struct hone_cache *cache, CUcontext *context, struct hn_error *err)
{
    *context = NULL;
    if (hn_failed(err))
        return;
    pthread_mutex_lock(&cache->lock);
    if (!atomic_load(&cache->has_driver)) {
        if (hn_driver_load(&cache->driver, err) == HN_OK)
            atomic_store(&cache->has_driver, true);
        else
            hn_lib_restate(err, HONE_CUDA);
    }
    pthread_mutex_unlock(&cache->lock);
    if (hn_failed(err))
        return;
    CUresult result = cache->driver.p_cuCtxGetCurrent(context);
    if (result == CUDA_SUCCESS && *context != NULL)
        return;
    hn_lib_fail(err, HONE_INVALID,
                "no CUDA context is current in this thread: call cuCtxSetCurrent, with the "
                "runtime API cudaSetDevice and cudaFree(0), or in Python hone.use_device first");
    result = result != CUDA_SUCCESS ? result : CUDA_ERROR_INVALID_CONTEXT;
    err->status = (enum hn_status)(CUDA_STATUSES + (int)result);
}

static void take_problem(const struct request *request, struct hn_bindings *problem,
                         struct hn_error *err)
{
    if (request->problem_count > MOST_VALUES)
        hn_lib_fail(err, HONE_INVALID, "hone_get: found %zu problem values, expected at most %d",
                    request->problem_count, MOST_VALUES);
    for (size_t i = 0; i < request->problem_count && !hn_failed(err); i++) {
        const struct hone_value *from = &request->problem[i];
        struct hn_value value = from->kind == HONE_INTEGER   ? hn_integer(from->as.integer)
                                : from->kind == HONE_REAL    ? hn_real(from->as.real)
                                : from->kind == HONE_BOOLEAN ? hn_boolean(from->as.boolean != 0)
                                                             : hn_word(from->as.word);
        if (!hn_bindings_lend(problem, from->name, &value))
            hn_lib_fail(err, HONE_INVALID, "hone_get: problem value '%.100s' is there twice",
                        from->name);
    }
}

/* With the lock held. */
static struct hone_kernel *make(struct hone_cache *cache, const struct request *request,
                                struct hn_error *err)
{
    char *names[MOST_VALUES];
    struct hn_value values[MOST_VALUES];
    struct hn_bindings problem = {.names = names, .values = values};
    const struct hn_lib_question asked = {.cache = cache,
                                          .context = request->context,
                                          .kernel = request->kernel,
                                          .problem = &problem,
                                          .options = request->options};
    take_problem(request, &problem, err);
    if (!hn_failed(err) && cache->strange[0] != '\0' && request->options->trust != HONE_TRUST_ANY)
        hn_lib_fail(err, HONE_UNTRUSTED,
                    "%s, so that its kernels are not run: take them over to a place that only you "
                    "can write to (`hone cache import`), or set options.trust to HONE_TRUST_ANY",
                    cache->strange);
    return hn_lib_choose(&asked, err);
}

/* Another thread may have made and kept one for the same, while this one was tuning. */
static struct hone_kernel *get(struct hone_cache *cache, struct request *request,
                               struct hn_error *err)
{
    bool is_separate = request->options->separate != 0;
    struct hn_c_locale locale;
    request->hash = request->hash != 0 ? request->hash : hash_request(request);
    hn_c_locale_enter(&locale);
    pthread_mutex_lock(&cache->lock);
    struct hone_kernel *handle = is_separate ? NULL : recall(cache, request);
    struct hone_kernel *made = handle == NULL ? make(cache, request, err) : NULL;
    if (made != NULL && !is_separate)
        handle = recall(cache, request);
    if (handle != NULL) {
        hn_lib_kernel_destroy(made);
    } else if (made != NULL) {
        handle = made;
        made->next = cache->kernels;
        cache->kernels = made;
        if (!is_separate)
            remember(cache, request, handle, err);
    }
    pthread_mutex_unlock(&cache->lock);
    hn_c_locale_leave(&locale);
    return hn_failed(err) ? NULL : handle;
}

__attribute__((noinline)) static enum hone_status get_with_error(struct hone_cache *cache,
                                                                 struct request *request,
                                                                 struct hone_kernel **handle,
                                                                 struct hone_error *err)
{
    struct hn_error why;
    hn_error_init(&why);
    if (cache == NULL || request->kernel == NULL || handle == NULL)
        hn_lib_fail(&why, HONE_INVALID, "hone_get: '%s' is NULL",
                    cache == NULL             ? "cache"
                    : request->kernel == NULL ? "kernel"
                                              : "handle");
    /* A thread that the child has not may have held a lock, here or in the driver. */
    else if (cache->forks != forks)
        hn_lib_fail(&why, HONE_UNSUPPORTED,
                    "hone_get: the cache was opened before this process was forked, and neither "
                    "its file nor CUDA can be used here: open it again");
    else if (is_right(request, &why))
        find_context(cache, &request->context, &why);
    if (!hn_failed(&why))
        *handle = get(cache, request, &why);
    return hn_lib_tell(&why, err);
}

/* What was given out before is found without a struct hn_error, whose place on the stack costs some
 * nanoseconds. */
enum hone_status hone_get(struct hone_cache *cache, const char *kernel,
                          const struct hone_value *problem, size_t problem_count,
                          const struct hone_options *options, struct hone_kernel **handle,
                          struct hone_error *err)
{
    static const struct hone_options defaults;
    struct request request = {.kernel = kernel,
                              .problem = problem,
                              .problem_count = problem_count,
                              .options = options == NULL ? &defaults : options};
    if (handle != NULL)
        *handle = NULL;
    if (cache != NULL && kernel != NULL && handle != NULL && cache->forks == forks &&
        request.options->separate == 0 &&
        atomic_load_explicit(&cache->has_driver, memory_order_acquire) &&
        is_right(&request, NULL) &&
        cache->driver.p_cuCtxGetCurrent(&request.context) == CUDA_SUCCESS) {
        request.hash = hash_request(&request);
        *handle = recall(cache, &request);
    }
    return handle != NULL && *handle != NULL ? HONE_OK
                                             : get_with_error(cache, &request, handle, err);
}
