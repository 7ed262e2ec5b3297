/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "runtime/device/limits.h"
#include "runtime/libhone/choice.h"
#include "runtime/libhone/index.h"
#include "runtime/libhone/kernel.h"

/* Which point serves a problem: by what the cache holds, and by what the caller wants when it holds
 * nothing. */
struct search {
    struct hone_cache *cache;
    CUcontext context;
    const char *kernel;
    const struct hn_bindings *problem;
    const struct hone_options *options;
    const struct hn_device *device;
    struct hn_lib_index *index; /* NULL: nothing is tuned of the kernel */
    struct hn_bindings whole;   /* the problem with what it has of the device */
};

static enum hone_status find_device(struct hone_cache *cache, CUcontext context,
                                    const struct hn_device **device, struct hone_error *err)
{
    struct hn_error reason = {""};
    for (struct hn_lib_device *known = cache->devices; known != NULL; known = known->next) {
        if (known->context != context)
            continue;
        *device = &known->device;
        return HONE_OK;
    }
    CUdevice handle = 0;
    enum hone_status status =
        hn_lib_cuda(cache, cache->driver.p_cuCtxGetDevice(&handle), "cuCtxGetDevice", err);
    if (status != HONE_OK)
        return status;
    struct hn_lib_device *made = calloc(1, sizeof *made);
    if (made == NULL)
        return hn_lib_fail(err, HONE_NO_MEMORY, "out of memory");
    made->context = context;
    if (hn_driver_device(&cache->driver, handle, &made->device, &reason) != HN_OK) {
        free(made);
        return hn_lib_fail(err, HONE_CUDA, "%.1000s", reason.message);
    }
    made->next = cache->devices;
    cache->devices = made;
    *device = &made->device;
    return HONE_OK;
}

/* Whether a point can be launched for the problem on the device. */
static bool can_launch(const struct search *search, const struct hn_lib_plan *plan,
                       const struct hn_bindings *point)
{
    bool allowed = false;
    struct hn_launch launch;
    struct hn_record record;
    if (hn_plan_allows(plan->plan, search->problem, point, &allowed, NULL) != HN_OK || !allowed ||
        hn_launch_make(plan->plan, search->problem, point, &launch, NULL) != HN_OK)
        return false;
    hn_record_init(&record);
    allowed = hn_launch_check(&launch, search->device, &record);
    hn_record_finish(&record);
    hn_launch_finish(&launch);
    return allowed;
}

static struct hn_lib_choice choice_of(const struct search *search, const struct hn_lib_plan *plan,
                                      const struct hn_tuned *tuned)
{
    return (struct hn_lib_choice){
        .kernel = search->kernel,
        .plan = plan,
        .tuned = tuned,
        .problem = search->problem,
        .point = tuned == NULL ? &plan->plan->defaults : &tuned->best.point,
        .device = search->device,
        .context = search->context,
        .options = search->options,
    };
}

/* Where compiling is forbidden, only what has machine code counts. */
static bool is_usable(const struct hn_tuned *tuned, void *context)
{
    const struct search *search = context;
    const struct hn_lib_plan *plan = NULL;
    if (hn_lib_plan_get(search->cache, tuned, &plan, NULL) != HONE_OK ||
        !can_launch(search, plan, &tuned->best.point))
        return false;
    struct hn_lib_choice choice = choice_of(search, plan, tuned);
    return search->options->forbid_compile == 0 || hn_lib_image_is_kept(search->cache, &choice);
}

static struct hn_lookup_query query_of(struct search *search, bool usable)
{
    const struct hn_device_identity *identity = &search->device->identity;
    return (struct hn_lookup_query){
        .device_name = identity->name,
        .capability = identity->capability,
        .sm_count = identity->sm_count,
        .problem = search->problem,
        .regime = search->options->regime,
        .objective = search->options->objective,
        .usable = usable ? is_usable : NULL,
        .context = search,
    };
}

static const struct hn_tuned *find_tuned(struct search *search, bool usable,
                                         struct hn_lookup_rank *rank)
{
    struct hn_lookup_query query = query_of(search, usable);
    *rank = (struct hn_lookup_rank){.grade = HN_GRADE_NONE};
    return search->index == NULL ? NULL : hn_lib_index_find(search->index, &query, rank);
}

static enum hone_status fail_miss(const struct search *search, struct hone_error *err)
{
    struct hn_text text;
    hn_text_init(&text);
    hn_bindings_append(&text, search->problem);
    enum hone_status status =
        hn_lib_fail(err, HONE_NOT_FOUND, "nothing is tuned of %s for %.300s on %s in '%.300s'",
                    search->kernel, text.data == NULL ? "this problem" : text.data,
                    search->device->identity.name, search->cache->path);
    hn_text_finish(&text);
    return status;
}

/* Any tuned result with the problem's names tells the plan. */
static enum hone_status choose_default(struct search *search, struct hn_lib_choice *choice,
                                       struct hone_error *err)
{
    struct hn_lookup_rank rank;
    const struct hn_lib_plan *plan = NULL;
    const struct hn_tuned *tuned = find_tuned(search, false, &rank);
    if (tuned == NULL)
        return hn_lib_fail(err, HONE_INVALID,
                           "no tuned result of %s has problem values of these names; `hone cache "
                           "list` shows which it takes",
                           search->kernel);
    enum hone_status status = hn_lib_plan_get(search->cache, tuned, &plan, err);
    if (status != HONE_OK)
        return status;
    *choice = choice_of(search, plan, NULL);
    if (!can_launch(search, plan, choice->point))
        return hn_lib_fail(err, HONE_NOT_FOUND,
                           "the default point of %s is not valid for this problem on %s, and "
                           "nothing that is tuned is",
                           search->kernel, search->device->identity.name);
    return HONE_OK;
}

static enum hone_status choose_tuned(const struct search *search, const struct hn_tuned *tuned,
                                     enum hn_grade grade, struct hn_lib_choice *choice,
                                     struct hone_error *err)
{
    const struct hn_lib_plan *plan = NULL;
    enum hone_status status = hn_lib_plan_get(search->cache, tuned, &plan, err);
    if (status != HONE_OK)
        return status;
    *choice = choice_of(search, plan, tuned);
    choice->grade = grade;
    return HONE_OK;
}

/* What was tuned for this very problem since the index was read: HONE_NOT_FOUND when nothing was.
 */
static enum hone_status choose_new(struct search *search, struct hn_lib_choice *choice,
                                   struct hone_error *err)
{
    struct hn_lookup_rank rank;
    hn_lib_index_forget(search->cache, search->kernel);
    search->index = NULL;
    enum hone_status status = hn_lib_index_get(search->cache, search->kernel, &search->index, err);
    const struct hn_tuned *tuned = status == HONE_OK ? find_tuned(search, true, &rank) : NULL;
    if (tuned != NULL && rank.grade == HN_GRADE_EXACT)
        return choose_tuned(search, tuned, rank.grade, choice, err);
    return status == HONE_OK ? HONE_NOT_FOUND : status;
}

/* One at a time, and others go on meanwhile: the lock is let go of. */
static enum hone_status tune_unlocked(struct search *search, struct hone_error *err)
{
    struct hn_lookup_rank rank;
    struct hone_cache *cache = search->cache;
    const struct hn_lib_plan *plan = NULL;
    const struct hn_tuned *tuned = find_tuned(search, false, &rank);
    if (tuned != NULL)
        (void)hn_lib_plan_get(cache, tuned, &plan, NULL);
    cache->tuning = true;
    pthread_mutex_unlock(&cache->lock);
    enum hone_status status =
        hn_lib_tune(cache, search->problem, plan == NULL ? NULL : plan->plan->config,
                    search->device, search->options, err);
    pthread_mutex_lock(&cache->lock);
    cache->tuning = false;
    pthread_cond_broadcast(&cache->tuned);
    return status;
}

static enum hone_status tune(struct search *search, struct hn_lib_choice *choice,
                             struct hone_error *err)
{
    struct hone_cache *cache = search->cache;
    enum hone_status status = HONE_NOT_FOUND;
    /* Another thread may be tuning this very problem. */
    while (cache->tuning && status == HONE_NOT_FOUND) {
        pthread_cond_wait(&cache->tuned, &cache->lock);
        status = choose_new(search, choice, err);
    }
    if (status != HONE_NOT_FOUND)
        return status;
    status = tune_unlocked(search, err);
    if (status != HONE_OK)
        return status;
    status = choose_new(search, choice, err);
    return status != HONE_NOT_FOUND
               ? status
               : hn_lib_fail(err, HONE_TUNE_FAILED,
                             "`hone tune` ended well, but '%s' holds nothing for this problem",
                             cache->path);
}

static enum hone_status choose(struct search *search, struct hn_lib_choice *choice,
                               struct hone_error *err)
{
    struct hn_lookup_rank rank;
    enum hone_miss on_miss = search->options->on_miss;
    const struct hn_tuned *tuned = find_tuned(search, true, &rank);
    if (tuned != NULL && (rank.grade == HN_GRADE_EXACT || on_miss == HONE_MISS_NEAREST))
        return choose_tuned(search, tuned, rank.grade, choice, err);
    if (on_miss == HONE_MISS_TUNE)
        return tune(search, choice, err);
    if (on_miss == HONE_MISS_FAIL)
        return fail_miss(search, err);
    return choose_default(search, choice, err);
}

/* What was tuned for this very problem, among nothing else; NULL where there is none. */
static const struct hn_tuned *find_exact(struct search *search, const struct hn_tuned_list *list)
{
    struct hn_lookup_rank rank;
    struct hn_lookup_query query = query_of(search, true);
    const struct hn_tuned *tuned = hn_lookup(list->items, list->count, &query, &rank);
    return tuned != NULL && rank.grade == HN_GRADE_EXACT ? tuned : NULL;
}

static enum hone_status load(struct search *search, const struct hn_lib_choice *choice,
                             struct hone_kernel **handle, struct hone_error *err)
{
    struct hn_image image;
    bool compiled = false;
    if (choice->plan->has_pipeline)
        return hn_lib_fail(err, HONE_UNSUPPORTED,
                           "the plan of %s is a pipeline between host and device, which the "
                           "library does not launch; `hone run` does",
                           search->kernel);
    hn_image_init(&image);
    enum hone_status status = hn_lib_image_get(search->cache, choice, &image, &compiled, err);
    if (status == HONE_OK)
        status = hn_lib_kernel_make(search->cache, choice, &image, handle, err);
    if (status == HONE_OK)
        status = hn_lib_info_make(*handle, choice, compiled, err);
    if (status != HONE_OK) {
        hn_lib_kernel_destroy(*handle);
        *handle = NULL;
    }
    hn_image_finish(&image);
    return status;
}

/* What results name of the device, and the caller does not, is that of this one. */
static enum hn_status add_limits(const struct search *search, struct hn_bindings *problem,
                                 struct hn_error *err)
{
    const struct hn_bindings *first = &search->index->list.items[0].identity.problem;
    enum hn_status status = hn_bindings_copy(problem, search->problem, err);
    for (size_t i = 0; status == HN_OK && i < HN_DEVICE_LIMITS; i++) {
        const char *name = hn_device_limit_names[i];
        const struct hn_value value = hn_integer(hn_device_limit(search->device, i));
        if (hn_bindings_get(first, name) != NULL && hn_bindings_get(problem, name) == NULL)
            status = hn_bindings_set(problem, name, &value, err);
    }
    return status;
}

static enum hone_status choose_among_all(struct search *search, struct hn_lib_choice *choice,
                                         struct hone_error *err)
{
    struct hn_error reason = {""};
    enum hone_status status = hn_lib_index_get(search->cache, search->kernel, &search->index, err);
    if (status == HONE_OK) {
        status = hn_lib_take(err, add_limits(search, &search->whole, &reason), &reason);
        search->problem = &search->whole;
    } else if (status == HONE_NOT_FOUND && search->options->on_miss == HONE_MISS_TUNE) {
        status = HONE_OK;
    }
    return status == HONE_OK ? choose(search, choice, err) : status;
}

enum hone_status hn_lib_choose(struct hone_cache *cache, CUcontext context, const char *kernel,
                               const struct hn_bindings *problem,
                               const struct hone_options *options, struct hone_kernel **handle,
                               struct hone_error *err)
{
    struct hn_lib_choice choice = {.plan = NULL};
    struct search search = {.cache = cache,
                            .context = context,
                            .kernel = kernel,
                            .problem = problem,
                            .options = options};
    struct hn_tuned_list list = {.items = NULL};
    enum hone_status status = hn_lib_trust(cache, options, err);
    if (status == HONE_OK)
        status = find_device(cache, context, &search.device, err);
    if (status == HONE_OK)
        status = hn_lib_index_list_problem(cache, kernel, problem, &list, err);
    const struct hn_tuned *exact = status == HONE_OK ? find_exact(&search, &list) : NULL;
    if (exact != NULL)
        status = choose_tuned(&search, exact, HN_GRADE_EXACT, &choice, err);
    else if (status == HONE_OK)
        status = choose_among_all(&search, &choice, err);
    if (status == HONE_OK)
        status = load(&search, &choice, handle, err);
    hn_bindings_finish(&search.whole);
    hn_tuned_list_free(&list);
    return status;
}
