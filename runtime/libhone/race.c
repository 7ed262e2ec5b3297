/* SPDX-License-Identifier: MIT */
#include "runtime/libhone/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/statistics.h"
#include "base/text.h"

/* Who may be raced: what is likeliest to be faster than what was chosen. */

struct likely {
    int own;
    int *configurations;
    size_t count;
};

/* True: there is no room for more. */
static bool add_configuration(int configuration, void *context)
{
    struct likely *likely = context;
    bool is_new =
        configuration >= 0 && configuration != likely->own && likely->count < HN_LIB_RACERS_LIKELY;
    for (size_t i = 0; i < likely->count && is_new; i++)
        is_new = likely->configurations[i] != configuration;
    if (is_new)
        likely->configurations[likely->count++] = configuration;
    return likely->count == HN_LIB_RACERS_LIKELY;
}

/* What the rule says where one value of the problem is half as large, or twice. -1: nothing. */
static int choose_beside(const struct hn_rule *rule, const struct hn_bindings *problem,
                         const struct hn_rule_value *value, double factor)
{
    struct hn_bindings beside HN_ENDED_BY(hn_bindings_finish) = {0};
    const struct hn_value *own = hn_bindings_get(problem, value->name);
    bool sure = false;
    int configuration = -1;
    if (own == NULL || own->type == HN_WORD || value->word_count > 0)
        return -1;
    double number = factor * hn_value_number(own);
    number = number < value->low ? value->low : number > value->high ? value->high : number;
    const struct hn_value changed =
        hn_rule_value_is_whole(value) ? hn_integer((int64_t)number) : hn_real(number);
    if (hn_bindings_copy(&beside, problem, NULL) == HN_OK &&
        hn_bindings_set(&beside, value->name, &changed, NULL) == HN_OK)
        configuration = hn_rule_choose(rule, &beside, NULL, NULL, &sure);
    return configuration;
}

size_t hn_lib_racers_of_rule(const struct hn_rule *rule, const struct hn_bindings *problem, int own,
                             int configurations[HN_LIB_RACERS_LIKELY])
{
    struct likely likely = {own, configurations, 0};
    bool sure;
    if (rule->cost != NULL)
        hn_rule_choose(rule, problem, add_configuration, &likely, &sure);
    for (size_t i = 0; likely.count < HN_LIB_RACERS_LIKELY && i < rule->value_count; i++)
        for (double factor = 0.5; factor <= 2; factor *= 4)
            add_configuration(choose_beside(rule, problem, &rule->values[i], factor), &likely);
    hn_rule_choose(rule, problem, add_configuration, &likely, &sure);
    return likely.count;
}

/* The nearest one that has another point than those that are there; NULL: there is none. */
static const struct hn_tuned *find_next_racer(const struct hn_tuned_list *list,
                                              const struct hn_lookup_query *query,
                                              const struct hn_tuned *own,
                                              const struct hn_tuned *const *racers, size_t count)
{
    const struct hn_tuned *next = NULL;
    struct hn_lookup_rank best = {.grade = HN_GRADE_NONE};
    HN_EACH(tuned, *list) {
        enum hn_verification kind = tuned->best.verdict.kind;
        struct hn_lookup_rank rank = hn_lookup_rank(query, &tuned->identity);
        bool may = tuned->best.outcome == HN_OUTCOME_OK && !tuned->simulated &&
                   (kind == HN_VERIFIED || kind == HN_SELF_VERIFIED) &&
                   hn_version_same_source(&tuned->version, &own->version) &&
                   strcmp(tuned->identity.objective, own->identity.objective) == 0 &&
                   rank.grade >= HN_GRADE_PROBLEM &&
                   !hn_bindings_equal(&tuned->best.point, &own->best.point);
        for (size_t r = 0; may && r < count; r++)
            may = !hn_bindings_equal(&racers[r]->best.point, &tuned->best.point);
        if (!may || (next != NULL && hn_lookup_rank_compare(&rank, &best) >= 0))
            continue;
        next = tuned;
        best = rank;
    }
    return next;
}

size_t hn_lib_racers_of_results(const struct hn_tuned_list *list,
                                const struct hn_lookup_query *query, const struct hn_tuned *own,
                                const struct hn_tuned *racers[HN_LIB_RACERS_LIKELY])
{
    size_t count = 0;
    while (count < HN_LIB_RACERS_LIKELY &&
           (racers[count] = find_next_racer(list, query, own, racers, count)) != NULL)
        count++;
    return count;
}

enum {
    SAMPLES = 9,    /* of each, until it is known */
    FIRST_LOOK = 3, /* samples after which one may be given up */
    PAIRS = 8       /* launches that are timed and not looked at yet */
};
static const double HOPELESS = 1.5; /* times the best */
static const double MARGIN =
    0.99; /* of the handle's own time: what is not faster than this is no gain */

/* A timed launch on its way. */
struct pair {
    CUevent begin, end;
    size_t racer;
    bool used;
};

struct racer {
    struct hone_kernel *kernel; /* the first is the handle */
    struct hn_image image;      /* of a module of its own */
    double samples_us[SAMPLES];
    size_t count;
    size_t given; /* timed launches, the first among them */
    bool warm;    /* the first was looked at, whose time does not count */
    bool out;
};

static const double EVENT_US = 0.5; /* the resolution of the driver's events */

struct hn_lib_race {
    pthread_mutex_t lock; /* before the cache's */
    struct racer racers[HN_LIB_RACERS_MOST];
    size_t count;
    struct pair pairs[PAIRS];
    uint64_t own_slots; /* slots that mean something else to each: with them given the handle's own
                           point is launched */
    atomic_size_t leader;
    atomic_bool finished;
    struct hn_lib_freeze *freeze; /* makes the other racer; NULL: all are there from the start */
    atomic_bool waits;            /* for it; until then nothing but the handle's own is launched */
    atomic_long launches;         /* meanwhile */
    uint64_t timed;
    struct hn_identity identity;
    struct hn_version version;
    char *path; /* of the cache for the result; NULL: it is not kept */
    bool recorded;
    struct hn_error failure; /* why it is not recorded */
};

/* Not of launches that set symbols, or are not compared by time. The problem of the result is the
 * handle's, its driver that of now. */
struct hn_lib_race *hn_lib_race_make(struct hone_kernel *own, const struct hn_lib_choice *choice,
                                     struct hn_lib_freeze *freeze, struct hn_image *image)
{
    const struct hn_driver *driver = &own->cache->driver;
    const struct hn_plan *plan = own->plan->plan;
    const struct hn_tuned *tuned = choice->tuned;
    const char *path = choice->asked->options->race_cache;
    bool can = tuned != NULL && strcmp(tuned->identity.objective, "time") == 0 &&
               !hn_plan_has_role(plan, HN_ROLE_METRIC) && !hn_plan_has_role(plan, HN_ROLE_SYMBOL);
    struct hn_lib_race *race = can ? calloc(1, sizeof *race) : NULL;
    if (race == NULL) {
        hn_lib_freeze_destroy(freeze, own->cache);
        return NULL;
    }
    struct hn_error ignored;
    struct hn_identity *identity = &race->identity;
    pthread_mutex_init(&race->lock, NULL);
    race->racers[0] = (struct racer){.kernel = own, .image = *image};
    *image = HN_NO_IMAGE;
    race->count = 1;
    race->freeze = freeze;
    atomic_init(&race->waits, freeze != NULL);
    race->path = path == NULL ? NULL : strdup(path);
    race->version = tuned->version;
    snprintf(race->version.driver, sizeof race->version.driver, "%s", own->device->driver);
    bool made = path == NULL || race->path != NULL;
    for (size_t i = 0; i < PAIRS && made; i++)
        made = driver->p_cuEventCreate(&race->pairs[i].begin, CU_EVENT_DEFAULT) == CUDA_SUCCESS &&
               driver->p_cuEventCreate(&race->pairs[i].end, CU_EVENT_DEFAULT) == CUDA_SUCCESS;
    if (made && hn_identity_copy(identity, &tuned->identity, &ignored) == HN_OK) {
        identity->device = own->device->identity;
        hn_bindings_finish(&identity->problem);
        free(identity->regime);
        identity->regime = strdup(HN_REGIME_UNKNOWN);
        if (hn_bindings_copy(&identity->problem, &own->problem, NULL) == HN_OK &&
            identity->regime != NULL)
            return race;
    }
    hn_lib_race_destroy(race);
    return NULL;
}

void hn_lib_race_destroy(struct hn_lib_race *race)
{
    CUcontext outside;
    if (race == NULL)
        return;
    const struct hone_kernel *own = race->racers[0].kernel;
    hn_lib_freeze_destroy(race->freeze, own->cache);
    if (hn_lib_enter(own->cache, own->context, &outside) == CUDA_SUCCESS) {
        for (size_t i = 0; i < PAIRS; i++) {
            if (race->pairs[i].begin != NULL)
                own->cache->driver.p_cuEventDestroy(race->pairs[i].begin);
            if (race->pairs[i].end != NULL)
                own->cache->driver.p_cuEventDestroy(race->pairs[i].end);
        }
        hn_lib_leave(own->cache, outside);
    }
    for (size_t i = 0; i < race->count; i++) {
        if (i > 0)
            hn_lib_kernel_destroy(race->racers[i].kernel);
        hn_image_finish(&race->racers[i].image);
    }
    hn_identity_finish(&race->identity);
    pthread_mutex_destroy(&race->lock);
    free(race->path);
    free(race);
}

/* What callers give to the handle has to be right for the other one, too. An argument that may be
 * left out may not be the same when it is given. Where launches change what they read, none may
 * fail between its steps: the handle's own point is launched then. */
bool hn_lib_race_add(struct hn_lib_race *race, struct hone_kernel *kernel, struct hn_image *image)
{
    const struct hone_kernel *handle = race->racers[0].kernel;
    uint64_t own_slots = 0;
    if (race->count == HN_LIB_RACERS_MOST || handle->plan != kernel->plan ||
        handle->slot_count != kernel->slot_count ||
        (kernel->step_count > 1 && hn_plan_has_role(kernel->plan->plan, HN_ROLE_INOUT)))
        return false;
    for (size_t i = 0; i < handle->slot_count; i++) {
        const struct hn_lib_slot *own = &handle->slots[i], *other = &kernel->slots[i];
        bool fixed = own->need == HONE_FIXED || other->need == HONE_FIXED;
        if (other->need == HONE_REQUIRED &&
            (own->need != HONE_REQUIRED || other->bytes > own->bytes ||
             (other->below_align & ~own->below_align) != 0))
            return false;
        if (fixed ? own->need != other->need || own->preset != other->preset
                  : own->need == HONE_OWNED || other->need == HONE_OWNED)
            own_slots |= (uint64_t)1 << i;
    }
    race->own_slots |= own_slots;
    race->racers[race->count++] = (struct racer){.kernel = kernel, .image = *image};
    *image = HN_NO_IMAGE;
    return true;
}

static double median_of(const struct racer *racer)
{
    double samples[SAMPLES];
    memcpy(samples, racer->samples_us, sizeof samples);
    return hn_median(samples, racer->count);
}

/* The fastest of those that are known a little, and gives up what can hardly be it. The handle's
 * own stays where nothing is faster by more than the margin. */
static size_t find_best(struct hn_lib_race *race)
{
    size_t best = 0;
    double best_us = 0, own_us = 0;
    for (size_t i = 0; i < race->count; i++) {
        if (race->racers[i].out || race->racers[i].count < FIRST_LOOK)
            continue;
        double median_us = median_of(&race->racers[i]);
        own_us = i == 0 ? median_us : own_us;
        if (best_us <= 0 || median_us < best_us) {
            best = i;
            best_us = median_us;
        }
    }
    for (size_t i = 0; i < race->count && best_us > 0; i++)
        race->racers[i].out =
            race->racers[i].out || (race->racers[i].count >= FIRST_LOOK &&
                                    median_of(&race->racers[i]) > HOPELESS * best_us);
    return own_us > 0 && best_us >= MARGIN * own_us ? 0 : best;
}

static void take_sample(struct hn_lib_race *race, struct pair *pair, const struct hn_driver *driver)
{
    struct racer *racer = &race->racers[pair->racer];
    float ms = 0;
    CUresult result = driver->p_cuEventQuery(pair->end);
    if (result == CUDA_ERROR_NOT_READY)
        return;
    pair->used = false;
    if (result == CUDA_SUCCESS)
        result = driver->p_cuEventElapsedTime(&ms, pair->begin, pair->end);
    if (result != CUDA_SUCCESS || !(ms > 0)) {
        racer->given--;
        return;
    }
    race->timed++;
    if (racer->warm && racer->count < SAMPLES)
        racer->samples_us[racer->count++] = 1e3 * (double)ms;
    racer->warm = true;
}

/* Sorts the samples. */
static void put(struct hn_store *store, int64_t session, struct racer *racer, struct hn_error *err)
{
    const struct hn_lib_module *shared = racer->kernel->shared;
    const struct hn_image *image = shared != NULL ? &shared->image : &racer->image;
    const struct hn_bindings *point = &racer->kernel->point;
    const struct hn_interval interval = hn_interval_widen(
        hn_interval_of(racer->samples_us, racer->count, HN_OUTSIDE_USUAL), EVENT_US);
    struct hn_record record HN_ENDED_BY(hn_record_finish) = {0};
    hn_bindings_copy(&record.point, point, err);
    record.outcome = HN_OUTCOME_OK;
    record.verdict.kind = HN_UNVERIFIED;
    record.timing = (struct hn_timing){.median_us = interval.median,
                                       .low_us = interval.low,
                                       .high_us = interval.high,
                                       .resolution_us = EVENT_US,
                                       .batch = 1};
    record.objective = interval.median;
    record.final = true;
    record.time = (double)time(NULL);
    if (!hn_failed(err))
        hn_store_put(store, session, &record, err);
    if (hn_failed(err) || image->cubin == NULL)
        return;
    char *entries HN_FREED = hn_made(hn_image_entry_lines(image), err);
    if (entries != NULL)
        hn_store_put_image(store, session, point, image->cubin, image->size, entries, err);
}

/* Keeps the race as a session of its problem. How launches of a program find the L2 cache is not
 * known, so that its regime is of neither kind, and no tuning takes its times for their own. */
static void record(struct hn_lib_race *race, struct hone_cache *cache)
{
    const struct hn_lib_plan *plan = race->racers[0].kernel->plan;
    struct hn_c_locale locale;
    struct hn_store *store = NULL;
    struct hn_error *err = &race->failure;
    int64_t session = 0;
    hn_c_locale_enter(&locale);
    pthread_mutex_lock(&cache->lock);
    hn_error_init(err);
    if (hn_store_open(race->path, HN_STORE_WRITE, &store, err) == HN_OK) {
        const struct hn_stored_plan stored = {plan->json, plan->template.files,
                                              plan->template.file_count};
        const struct hn_store_session begun = {.identity = &race->identity,
                                               .version = &race->version,
                                               .plan = &stored,
                                               .command = "libhone: a race"};
        hn_store_begin(store, &begun, NULL, &session, err);
    }
    for (size_t i = 0; i < race->count && !hn_failed(err); i++)
        if (race->racers[i].count >= FIRST_LOOK)
            put(store, session, &race->racers[i], err);
    if (!hn_failed(err))
        hn_store_commit(store, err);
    hn_store_close(store);
    race->recorded = !hn_failed(err);
    pthread_mutex_unlock(&cache->lock);
    hn_c_locale_leave(&locale);
}

/* Looks at what has ended meanwhile, and ends the race when all is known. */
static void look(struct hn_lib_race *race, struct hone_cache *cache)
{
    bool known = true;
    for (size_t i = 0; i < PAIRS; i++)
        if (race->pairs[i].used)
            take_sample(race, &race->pairs[i], &cache->driver);
    atomic_store(&race->leader, find_best(race));
    for (size_t i = 0; i < race->count; i++)
        known = known && (race->racers[i].out || race->racers[i].count == SAMPLES);
    if (!known)
        return;
    atomic_store(&race->finished, true);
    if (race->path != NULL)
        record(race, cache);
}

/* values: those of the handle's slots. Where another point fails, as for want of scratch memory,
 * the handle's own is launched; false. */
static bool launch_racer(const struct hn_lib_race *race, size_t racer,
                         const struct hn_lib_launch *launch, uint64_t *values, struct hn_error *err)
{
    if (racer > 0) {
        hn_lib_launch(race->racers[racer].kernel, launch, err);
        if (!hn_failed(err))
            return true;
        hn_error_init(err);
    }
    hn_lib_launch_steps(race->racers[0].kernel, launch->stream, values, err);
    return racer == 0;
}

/* With the race's lock held: who was launched least often, while all were not often enough. */
static void launch_timed(struct hn_lib_race *race, const struct hn_driver *driver,
                         const struct hn_lib_launch *launch, uint64_t *values, struct hn_error *err)
{
    size_t next = SIZE_MAX, free_pair = 0;
    for (size_t i = 0; i < race->count; i++)
        if (!race->racers[i].out && race->racers[i].given <= SAMPLES &&
            (next == SIZE_MAX || race->racers[i].given < race->racers[next].given))
            next = i;
    while (free_pair < PAIRS && race->pairs[free_pair].used)
        free_pair++;
    if (next == SIZE_MAX || free_pair == PAIRS) {
        launch_racer(race, atomic_load(&race->leader), launch, values, err);
        return;
    }
    struct pair *pair = &race->pairs[free_pair];
    bool timed = driver->p_cuEventRecord(pair->begin, launch->stream) == CUDA_SUCCESS;
    if (!launch_racer(race, next, launch, values, err)) {
        race->racers[next].out = true;
        timed = false;
    }
    timed = timed && !hn_failed(err) &&
            driver->p_cuEventRecord(pair->end, launch->stream) == CUDA_SUCCESS;
    pair->racer = next;
    pair->used = timed;
    race->racers[next].given += timed;
}

/* Goes on with the frozen program, unless another thread is at it. Where it comes to nothing the
 * race ends before it began. */
static void await_frozen(struct hn_lib_race *race, const struct hone_kernel *own, CUstream stream)
{
    struct hone_kernel *frozen = NULL;
    struct hn_image image HN_ENDED_BY(hn_image_finish) = HN_NO_IMAGE;
    struct hn_c_locale locale;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    const struct hn_driver *driver = &own->cache->driver;
    if (atomic_fetch_add(&race->launches, 1) + 1 < own->cache->freeze_after ||
        hn_lib_is_capturing(own, stream) || pthread_mutex_trylock(&race->lock) != 0)
        return;
    bool relaxed = driver->p_cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS;
    hn_c_locale_enter(&locale);
    bool over = atomic_load(&race->waits) &&
                hn_lib_freeze_step(race->freeze, own, &frozen, &image, &race->failure);
    if (frozen != NULL && !hn_lib_race_add(race, frozen, &image))
        hn_lib_kernel_destroy(frozen);
    hn_c_locale_leave(&locale);
    if (over && race->count == 1)
        atomic_store(&race->finished, true);
    if (over)
        atomic_store_explicit(&race->waits, false, memory_order_release);
    if (relaxed)
        driver->p_cuThreadExchangeStreamCaptureMode(&mode);
    pthread_mutex_unlock(&race->lock);
}

/* Events are no matter of a graph that is being captured, here or by another thread. */
void hn_lib_race_launch(struct hone_kernel *own, const struct hn_lib_launch *launch,
                        uint64_t *values, struct hn_error *err)
{
    struct hn_lib_race *race = own->race;
    const struct hn_driver *driver = &own->cache->driver;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    const bool waits = atomic_load_explicit(&race->waits, memory_order_acquire);
    bool is_own = waits;
    for (size_t s = 0; !waits && s < own->slot_count; s++)
        for (size_t i = 0; (race->own_slots >> s & 1) != 0 && i < launch->count; i++)
            is_own = is_own || strcmp(launch->arguments[i].name, own->slots[s].name) == 0;
    bool looks = !is_own && !atomic_load_explicit(&race->finished, memory_order_acquire) &&
                 !hn_lib_is_capturing(own, launch->stream) &&
                 pthread_mutex_trylock(&race->lock) == 0;
    if (looks) {
        bool relaxed = driver->p_cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS;
        look(race, own->cache);
        if (relaxed)
            driver->p_cuThreadExchangeStreamCaptureMode(&mode);
    }
    if (looks && !atomic_load(&race->finished))
        launch_timed(race, driver, launch, values, err);
    else
        launch_racer(race, is_own ? 0 : atomic_load(&race->leader), launch, values, err);
    if (looks)
        pthread_mutex_unlock(&race->lock);
    if (waits)
        await_frozen(race, own, launch->stream);
}

void hn_lib_race_prepare(struct hone_kernel *own, CUstream stream, struct hn_error *err)
{
    pthread_mutex_lock(&own->race->lock);
    for (size_t i = 1; i < own->race->count; i++)
        hn_lib_prepare(own->race->racers[i].kernel, stream, err);
    pthread_mutex_unlock(&own->race->lock);
}

enum hone_status hone_kernel_race(const struct hone_kernel *kernel, struct hone_race *told)
{
    struct hn_lib_race *race = kernel == NULL ? NULL : kernel->race;
    if (told == NULL || kernel == NULL)
        return HONE_INVALID;
    *told = (struct hone_race){.point = "", .message = ""};
    if (race == NULL)
        return HONE_NOT_FOUND;
    pthread_mutex_lock(&race->lock);
    const struct racer *leader = &race->racers[atomic_load(&race->leader)];
    told->points = race->count;
    told->launches = race->timed;
    told->finished = atomic_load(&race->finished);
    told->recorded = race->recorded;
    told->median_us = leader->count >= FIRST_LOOK ? median_of(leader) : 0;
    told->point = hone_kernel_info(leader->kernel)->point;
    told->message = race->failure.message;
    pthread_mutex_unlock(&race->lock);
    return HONE_OK;
}
