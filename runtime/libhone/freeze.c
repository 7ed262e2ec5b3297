/* SPDX-License-Identifier: MIT */
#include "runtime/libhone/library.h"

#include <stdlib.h>

/* The frozen program of a handle that a rule chose: the same point with values of the problem as
 * constants. It is compiled in a process of its own while launches go on, and joins the race. */

/* The process ends with the thread that started it; another one may start it again. */
enum { STARTS_MOST = 3 };

struct hn_lib_freeze {
    struct hn_bindings point;
    struct hn_launch launch;
    struct hn_value *values;                          /* that it was made with */
    char *command;                                    /* `hone` */
    enum { WAITING, COMPILING, LOADING, OVER } stage; /* with the race's lock held */
    int starts;
    struct hn_source source;
    struct hn_lib_compiling compiling;
    struct hn_image image;
};

/* A value of a parameter with which sizes may be frozen: that of the config's default point, or the
 * next that its own type suggests. False: there is no more. */
static bool suggest(const struct hn_plan *plan, const char *name, const struct hn_value *own,
                    size_t number, struct hn_value *value)
{
    const struct hn_value *preset = hn_bindings_get(&plan->defaults, name);
    const struct hn_word_list *list = hn_plan_find_words(plan, name);
    size_t words = own->type == HN_WORD && list != NULL ? list->count : 0;
    if (number == 0)
        *value = preset != NULL ? *preset : *own;
    else if (number <= words)
        *value = hn_word(list->words[number - 1]);
    else if (number == 1)
        *value = own->type == HN_BOOLEAN ? hn_boolean(!own->boolean) : hn_integer(1);
    return number <= words || number <= 1;
}

/* The point with the one parameter changed that decides. */
static bool freeze_point(const struct hn_plan *plan, const struct hn_bindings *own,
                         struct hn_bindings *point)
{
    *point = (struct hn_bindings){0};
    for (size_t slot = 0; plan->freeze_if != NULL && slot < plan->name_count; slot++) {
        const char *name = plan->names[slot];
        const struct hn_value *now = hn_bindings_get(own, name);
        struct hn_value value;
        if (now == NULL || !hn_expression_uses(plan->freeze_if, slot))
            continue;
        for (size_t i = 0; suggest(plan, name, now, i, &value); i++) {
            if (hn_bindings_copy(point, own, NULL) == HN_OK &&
                hn_bindings_set(point, name, &value, NULL) == HN_OK && hn_plan_freezes(plan, point))
                return true;
            hn_bindings_finish(point);
        }
    }
    return false;
}

struct hn_lib_freeze *hn_lib_freeze_make(const struct hone_kernel *own,
                                         const struct hone_options *options)
{
    const struct hn_plan *plan = own->plan->plan;
    struct hn_lib_freeze *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    made->image = HN_NO_IMAGE;
    made->command = hn_lib_find_command(options);
    bool can =
        made->command != NULL && plan->freeze_if != NULL && !hn_plan_freezes(plan, &own->point) &&
        freeze_point(plan, &own->point, &made->point) &&
        hn_launch_try(plan, own->device, &own->problem, &made->point, &made->launch, &made->values);
    if (can)
        return made;
    hn_lib_freeze_destroy(made, own->cache);
    return NULL;
}

/* Ends the process, if there is one. */
static void stop(struct hn_lib_freeze *freeze, struct hone_cache *cache)
{
    if (freeze->stage == COMPILING) {
        hn_process_kill(&freeze->compiling.process);
        hn_source_finish(&freeze->source);
        atomic_store(&cache->is_freezing, false);
    }
    freeze->stage = OVER;
}

void hn_lib_freeze_destroy(struct hn_lib_freeze *freeze, struct hone_cache *cache)
{
    if (freeze == NULL)
        return;
    stop(freeze, cache);
    hn_image_finish(&freeze->image);
    hn_launch_finish(&freeze->launch);
    free(freeze->values);
    hn_bindings_finish(&freeze->point);
    free(freeze->command);
    free(freeze);
}

static void start(struct hn_lib_freeze *freeze, const struct hone_kernel *own, struct hn_error *err)
{
    const struct hn_lib_plan *plan = own->plan;
    if (hn_source_make(plan->plan, &plan->template, &own->problem, &freeze->point, &freeze->source,
                       err) != HN_OK)
        return;
    freeze->compiling = (struct hn_lib_compiling){
        .source = &freeze->source, .device = own->device, .kernel = own->name};
    freeze->stage = COMPILING;
    freeze->starts++;
    hn_lib_compile_start(&freeze->compiling, freeze->command, own->cache, err);
}

/* With the cache's lock held. */
static struct hone_kernel *load(struct hn_lib_freeze *freeze, const struct hone_kernel *own,
                                struct hn_error *err)
{
    static const struct hone_options none;
    CUcontext outside;
    struct hone_kernel *made = NULL;
    const struct hn_lib_question asked = {.cache = own->cache,
                                          .context = own->context,
                                          .kernel = own->name,
                                          .problem = &own->problem,
                                          .options = &none,
                                          .device = own->device};
    const struct hn_lib_choice choice = {.asked = &asked,
                                         .plan = own->plan,
                                         .point = &freeze->point,
                                         .launch = &freeze->launch,
                                         .values = &freeze->values};
    hn_lib_cuda(own->cache, hn_lib_enter(own->cache, own->context, &outside),
                "making the context current", err);
    if (!hn_failed(err)) {
        made = hn_lib_kernel_make(&choice, &freeze->image, NULL, true, err);
        hn_lib_leave(own->cache, outside);
    }
    return made;
}

bool hn_lib_freeze_step(struct hn_lib_freeze *freeze, const struct hone_kernel *own,
                        struct hone_kernel **frozen, struct hn_image *image, struct hn_error *err)
{
    struct hone_cache *cache = own->cache;
    *frozen = NULL;
    if (freeze->stage == WAITING && !atomic_exchange(&cache->is_freezing, true)) {
        start(freeze, own, err);
        if (freeze->stage == WAITING)
            atomic_store(&cache->is_freezing, false);
    } else if (freeze->stage == COMPILING &&
               hn_lib_compile_listen(&freeze->compiling, &freeze->image, err)) {
        stop(freeze, cache);
        freeze->stage = LOADING;
        if (freeze->image.outcome != HN_OUTCOME_OK)
            hn_lib_fail(err, HONE_COMPILE_FAILED, "its frozen program does not compile: %.900s",
                        freeze->image.message == NULL ? "" : freeze->image.message);
    }
    if (!hn_failed(err) && freeze->stage == LOADING && pthread_mutex_trylock(&cache->lock) == 0) {
        *frozen = load(freeze, own, err);
        pthread_mutex_unlock(&cache->lock);
        freeze->stage = OVER;
        *image = freeze->image;
        freeze->image = HN_NO_IMAGE;
    }
    bool again = hn_failed(err) && freeze->stage == COMPILING && freeze->starts < STARTS_MOST;
    if (hn_failed(err))
        stop(freeze, cache);
    if (again) {
        freeze->stage = WAITING;
        hn_error_init(err);
    }
    return freeze->stage == OVER;
}
