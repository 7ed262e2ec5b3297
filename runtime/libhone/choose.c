/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "runtime/device/device.h"
#include "runtime/libhone/library.h"

/* Which point serves a problem: by what the cache holds, and by what the caller wants when it holds
 * nothing. */
struct search {
    struct hone_cache *cache;
    CUcontext context;
    const char *kernel;
    const struct hn_bindings *problem;
    const struct hone_options *options;
    const struct hn_device *device;
    struct hn_lib_index *index; /* NULL: nothing is tuned of the kernel, or it was not asked for */
    struct hn_lib_rule *rule;   /* of a family; NULL: there is none */
    bool is_own_rule;           /* it was learnt on this device */
    struct hn_bindings whole;   /* the problem with what it has of the device */
    struct hn_launch launch;    /* of the point that was looked at last */
    struct hn_value *values;    /* with which it was made */
};

static enum hone_status find_device(struct hone_cache *cache, CUcontext context,
                                    const struct hn_device **device, struct hone_error *err)
{
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
    struct hn_error reason = {0};
    if (hn_driver_device(&cache->driver, handle, &made->device, &reason) != HN_OK) {
        free(made);
        return hn_lib_fail(err, HONE_CUDA, "%.1000s", reason.message);
    }
    made->next = cache->devices;
    cache->devices = made;
    *device = &made->device;
    return HONE_OK;
}

static void forget_launch(struct search *search)
{
    hn_launch_finish(&search->launch);
    free(search->values);
    search->values = NULL;
}

/* Whether a point can be launched for the problem on the device. */
static bool can_launch(struct search *search, const struct hn_lib_plan *plan,
                       const struct hn_bindings *point)
{
    forget_launch(search);
    return hn_launch_try(plan->plan, search->device, search->problem, point, &search->launch,
                         &search->values);
}

static struct hn_lib_choice choice_of(const struct search *search, const struct hn_lib_plan *plan,
                                      const struct hn_tuned *tuned)
{
    return (struct hn_lib_choice){
        .kernel = search->kernel,
        .plan = plan,
        .tuned = tuned,
        .problem = search->problem,
        .point = tuned == NULL ? hn_plan_default(plan->plan, search->problem) : &tuned->best.point,
        .device = search->device,
        .context = search->context,
        .options = search->options,
    };
}

static struct hn_lib_choice choice_of_rule(const struct search *search,
                                           const struct hn_lib_plan *plan, int configuration)
{
    struct hn_lib_configuration *own = &search->rule->configurations[configuration];
    struct hn_lib_choice choice = choice_of(search, plan, &own->tuned);
    choice.rule = search->rule;
    choice.configuration = own;
    return choice;
}

/* Where compiling is forbidden, only what has machine code counts. */
static bool is_usable(const struct hn_tuned *tuned, void *context)
{
    struct search *search = context;
    const struct hn_lib_plan *plan = NULL;
    if (hn_lib_plan_get(search->cache, tuned, &plan, NULL) != HONE_OK ||
        !can_launch(search, plan, &tuned->best.point))
        return false;
    struct hn_lib_choice choice = choice_of(search, plan, tuned);
    return search->options->forbid_compile == 0 || hn_lib_image_is_kept(search->cache, &choice);
}

/* All configurations of a rule are of one version. NULL: the cache does not have it. */
static const struct hn_lib_plan *plan_of_rule(const struct search *search)
{
    struct hn_lib_rule *rule = search->rule;
    if (rule->plan == NULL && hn_lib_plan_get(search->cache, &rule->configurations[0].tuned,
                                              &rule->plan, NULL) != HONE_OK)
        rule->plan = NULL;
    return rule->plan;
}

/* The same of a configuration of the rule. */
static bool is_usable_by_rule(int configuration, void *context)
{
    struct search *search = context;
    const struct hn_tuned *tuned = &search->rule->configurations[configuration].tuned;
    const struct hn_lib_plan *plan = plan_of_rule(search);
    if (plan == NULL || !can_launch(search, plan, &tuned->best.point))
        return false;
    struct hn_lib_choice choice = choice_of_rule(search, plan, configuration);
    return search->options->forbid_compile == 0 || hn_lib_image_is_kept(search->cache, &choice);
}

static bool takes_nearest(const struct search *search)
{
    return search->options->on_miss == HONE_MISS_NEAREST ||
           search->options->on_miss == HONE_MISS_RACE;
}

/* What the rule says, where that is no miss or the nearest is asked for. A rule of another device
 * is never sure. False: it does not tell. */
static bool choose_by_rule(struct search *search, struct hn_lib_choice *choice)
{
    bool sure = false;
    if (search->rule == NULL)
        return false;
    int configuration = hn_rule_choose(&search->rule->stored->rule, search->problem,
                                       is_usable_by_rule, search, &sure);
    sure = sure && search->is_own_rule;
    if (configuration < 0 || (!sure && !takes_nearest(search)))
        return false;
    *choice = choice_of_rule(search, search->rule->plan, configuration);
    choice->sure = sure;
    choice->launch = &search->launch;
    choice->values = search->values;
    return true;
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

/* A name of one that the other has not, or NULL. */
static const char *name_beyond(const struct hn_bindings *one, const struct hn_bindings *other)
{
    for (size_t i = 0; i < one->count; i++)
        if (hn_bindings_get(other, one->names[i]) == NULL)
            return one->names[i];
    return NULL;
}

/* Says which name is wrong: those of the first tuned result stand for what the kernel takes. */
static enum hone_status fail_names(const struct search *search, struct hone_error *err)
{
    const struct hn_lib_index *index = search->index;
    const char *unknown = NULL;
    const char *missing = NULL;
    if (index != NULL) {
        unknown = name_beyond(search->problem, &index->list.items[0].identity.problem);
        missing = name_beyond(&index->list.items[0].identity.problem, search->problem);
    }
    if (unknown == NULL && missing == NULL)
        return hn_lib_fail(err, HONE_INVALID,
                           "no tuned result of %s has problem values of these names, and this "
                           "regime and objective; `hone cache list` shows what there is",
                           search->kernel);
    const char *tuned = index->problems[0];
    return hn_lib_fail(
        err, HONE_INVALID, "problem value '%.100s' of %s is %s: it is tuned for %.500s",
        unknown != NULL ? unknown : missing, search->kernel,
        unknown != NULL ? "unknown" : "missing", tuned[0] != 0 ? tuned : "no values");
}

/* Any tuned result with the problem's names tells the plan. */
static enum hone_status choose_default(struct search *search, struct hn_lib_choice *choice,
                                       struct hone_error *err)
{
    struct hn_lookup_rank rank;
    const struct hn_lib_plan *plan = NULL;
    const struct hn_tuned *tuned = find_tuned(search, false, &rank);
    if (tuned == NULL)
        return fail_names(search, err);
    enum hone_status status = hn_lib_plan_get(search->cache, tuned, &plan, err);
    if (status != HONE_OK)
        return status;
    *choice = choice_of(search, plan, NULL);
    if (!can_launch(search, plan, choice->point))
        choice->point = &plan->plan->defaults;
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
    hn_lib_family_forget_known(search->cache, search->kernel);
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
    bool is_of_other = tuned == NULL || rank.grade < HN_GRADE_PROBLEM;
    if (is_of_other && choose_by_rule(search, choice))
        return HONE_OK;
    if (tuned != NULL && (rank.grade == HN_GRADE_EXACT || takes_nearest(search)))
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

/* The module that another problem has loaded, or the image of this one, loaded to be shared where
 * its program serves others too. *shared NULL: the image is for this kernel alone. */
static enum hone_status find_image(struct search *search, const struct hn_lib_choice *choice,
                                   struct hn_image *image, struct hn_lib_module **shared,
                                   bool *compiled, struct hone_error *err)
{
    *shared = hn_lib_module_find(choice);
    if (*shared != NULL)
        return HONE_OK;
    enum hone_status status = hn_lib_image_get(search->cache, choice, image, compiled, err);
    if (status != HONE_OK || search->options->separate != 0 || !hn_lib_program_is_shared(choice))
        return status;
    return hn_lib_module_add(search->cache, choice, image, shared, err);
}

/* *image: what was loaded, where the module is the handle's own; the caller's to finish. */
static enum hone_status load(struct search *search, const struct hn_lib_choice *choice,
                             struct hone_kernel **handle, struct hn_image *image,
                             struct hone_error *err)
{
    struct hn_lib_module *shared = NULL;
    bool compiled = false;
    hn_image_init(image);
    if (choice->plan->has_pipeline)
        return hn_lib_fail(err, HONE_UNSUPPORTED,
                           "the plan of %s is a pipeline between host and device, which the "
                           "library does not launch; `hone run` does",
                           search->kernel);
    enum hone_status status = find_image(search, choice, image, &shared, &compiled, err);
    if (status == HONE_OK)
        status = hn_lib_kernel_make(search->cache, choice, shared != NULL ? &shared->image : image,
                                    shared, handle, err);
    if (status == HONE_OK)
        status = hn_lib_info_make(*handle, choice, compiled, err);
    if (status == HONE_OK && shared != NULL && !shared->has_pattern) {
        shared->pattern = hn_lib_pattern_make(*handle, choice);
        shared->has_pattern = true;
    }
    if (status != HONE_OK) {
        hn_lib_kernel_destroy(*handle);
        *handle = NULL;
    }
    return status;
}

/* Adds a point that can be launched for the problem as it is, and needs no compiler. */
static void add_racer(struct search *search, struct hn_lib_race *race, struct hn_lib_choice *choice)
{
    struct hn_image image;
    struct hone_kernel *kernel = NULL;
    if (!can_launch(search, choice->plan, choice->point) ||
        !hn_lib_image_is_kept(search->cache, choice))
        return;
    choice->launch = &search->launch;
    choice->values = search->values;
    if (load(search, choice, &kernel, &image, NULL) == HONE_OK &&
        !hn_lib_race_add(race, kernel, &image))
        hn_lib_kernel_destroy(kernel);
    hn_image_finish(&image);
}

static void add_racers_of_rule(struct search *search, struct hn_lib_race *race,
                               const struct hn_lib_choice *own)
{
    int likely[HN_LIB_RACERS_LIKELY];
    size_t count =
        hn_lib_racers_of_rule(&search->rule->stored->rule, search->problem,
                              (int)(own->configuration - search->rule->configurations), likely);
    for (size_t i = 0; i < count && hn_lib_race_count(race) < HN_LIB_RACERS_MOST; i++) {
        struct hn_lib_choice choice = choice_of_rule(search, search->rule->plan, likely[i]);
        add_racer(search, race, &choice);
    }
}

static void add_racers_of_results(struct search *search, struct hn_lib_race *race,
                                  const struct hn_lib_choice *own)
{
    const struct hn_tuned *likely[HN_LIB_RACERS_LIKELY];
    const struct hn_lookup_query query = query_of(search, false);
    size_t count = hn_lib_racers_of_results(&search->index->list, &query, own->tuned, likely);
    for (size_t i = 0; i < count && hn_lib_race_count(race) < HN_LIB_RACERS_MOST; i++) {
        struct hn_lib_choice choice = choice_of(search, own->plan, likely[i]);
        add_racer(search, race, &choice);
    }
}

/* Where the choice is not sure, others are raced with it. Without memory for that there is no race.
 */
static void start_race(struct search *search, const struct hn_lib_choice *own,
                       struct hone_kernel *handle, struct hn_image *image)
{
    if (search->options->on_miss != HONE_MISS_RACE || own->sure || own->grade == HN_GRADE_EXACT ||
        handle->is_watched || !hn_lib_race_can_be(own))
        return;
    struct hn_lib_race *race =
        hn_lib_race_make(handle, own->tuned, search->options->race_cache, image);
    if (race == NULL)
        return;
    if (own->configuration != NULL)
        add_racers_of_rule(search, race, own);
    else if (search->index != NULL)
        add_racers_of_results(search, race, own);
    if (hn_lib_race_count(race) > 1) {
        handle->race = race;
        handle->is_watched = true;
    } else {
        hn_lib_race_destroy(race);
    }
}

static enum hone_status load_chosen(struct search *search, const struct hn_lib_choice *choice,
                                    struct hone_kernel **handle, struct hone_error *err)
{
    struct hn_image image;
    enum hone_status status = load(search, choice, handle, &image, err);
    if (status == HONE_OK)
        start_race(search, choice, *handle, &image);
    hn_image_finish(&image);
    return status;
}

/* Which values of the device results name, and the caller does not. names: those of the values of a
 * result's problem. */
static bool lacks_limit(const struct search *search, const struct hn_bindings *names, size_t limit)
{
    const char *name = hn_device_limit_names[limit];
    return hn_bindings_get(names, name) != NULL && hn_bindings_get(search->problem, name) == NULL;
}

static enum hn_status add_limit(struct search *search, size_t limit, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    const struct hn_value value = hn_integer(hn_device_limit(search->device, limit));
    if (search->problem != &search->whole)
        status = hn_bindings_copy(&search->whole, search->problem, err);
    search->problem = &search->whole;
    return status == HN_OK
               ? hn_bindings_set(&search->whole, hn_device_limit_names[limit], &value, err)
               : status;
}

/* Makes the problem whole: they are those of this device. */
static enum hone_status complete(struct search *search, const struct hn_bindings *names,
                                 struct hone_error *err)
{
    struct hn_error reason = {0};
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < HN_DEVICE_LIMITS; i++)
        if (lacks_limit(search, names, i))
            status = add_limit(search, i, &reason);
    return hn_lib_take(err, status, &reason);
}

static enum hone_status choose_among_all(struct search *search, struct hn_lib_choice *choice,
                                         struct hone_error *err)
{
    enum hone_status status = hn_lib_index_get(search->cache, search->kernel, &search->index, err);
    if (status == HONE_OK)
        status = complete(search, &search->index->list.items[0].identity.problem, err);
    else if (status == HONE_NOT_FOUND &&
             (search->options->on_miss == HONE_MISS_TUNE || search->rule != NULL))
        status = HONE_OK;
    return status == HONE_OK ? choose(search, choice, err) : status;
}

static enum hone_status find_rule(struct search *search, struct hone_error *err)
{
    struct hn_lib_family *family;
    enum hone_status status = hn_lib_family_get(search->cache, search->kernel, &family, err);
    if (status != HONE_OK)
        return status;
    search->rule =
        hn_lib_family_find(family, search->device, search->options, &search->is_own_rule);
    return search->rule == NULL || !search->rule->names_limits
               ? HONE_OK
               : complete(search, &search->rule->names, err);
}

/* What was tuned for this very problem, else what the rule of this device says, else the nearest.
 */
static enum hone_status choose_fast(struct search *search, struct hn_tuned_list *list,
                                    struct hn_lib_choice *choice, struct hone_error *err)
{
    bool may_be = true;
    enum hone_status status = HONE_OK;
    if (search->rule != NULL)
        status =
            hn_lib_rule_may_be_tuned(search->cache, search->rule, search->problem, &may_be, err);
    if (status == HONE_OK && may_be)
        status =
            hn_lib_index_list_problem(search->cache, search->kernel, search->problem, list, err);
    if (status != HONE_OK)
        return status;
    const struct hn_tuned *exact = find_exact(search, list);
    if (exact != NULL)
        return choose_tuned(search, exact, HN_GRADE_EXACT, choice, err);
    if (search->is_own_rule && choose_by_rule(search, choice))
        return HONE_OK;
    return choose_among_all(search, choice, err);
}

/* False: it is made, or none was made of the configuration that it could be like. */
static bool make_like_other(struct search *search, int configuration, bool sure,
                            struct hone_kernel **made)
{
    struct hn_lib_choice choice = choice_of_rule(search, search->rule->plan, configuration);
    struct hn_lib_module *module = hn_lib_module_find_pattern(&choice);
    choice.sure = sure;
    if (module == NULL || (!sure && search->options->on_miss != HONE_MISS_NEAREST))
        return false;
    *made = hn_lib_pattern_apply(module->pattern, &choice);
    return *made == NULL;
}

/* Of a rule of this device, like others that were made of its configurations; NULL: that is not all
 * that it takes. */
static struct hone_kernel *make_like_others(struct search *search)
{
    const struct hone_options *options = search->options;
    struct hn_lib_rule *rule = search->rule;
    if (rule == NULL || !search->is_own_rule || !rule->has_program || !rule->has_known ||
        rule->plan == NULL || options->separate != 0 || options->graph != 0 ||
        search->cache->capture_folder != NULL)
        return NULL;
    const struct hn_rule_node *leaf = hn_rule_program_find(&rule->program, search->problem);
    if (leaf == NULL || hn_known_problems_may_have(&rule->known, search->problem))
        return NULL;
    const struct hn_rule *stored = &rule->stored->rule;
    struct hone_kernel *made = NULL;
    bool goes_on = make_like_other(search, leaf->configuration, leaf->sure, &made);
    for (size_t i = 0; goes_on && i < stored->fallback_count; i++)
        goes_on = make_like_other(search, stored->fallback[i], false, &made);
    return made;
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
        status = find_rule(&search, err);
    *handle = status == HONE_OK ? make_like_others(&search) : NULL;
    if (status == HONE_OK && *handle == NULL) {
        status = choose_fast(&search, &list, &choice, err);
        if (status == HONE_OK)
            status = load_chosen(&search, &choice, handle, err);
    }
    forget_launch(&search);
    hn_bindings_finish(&search.whole);
    hn_tuned_list_free(&list);
    return status;
}
