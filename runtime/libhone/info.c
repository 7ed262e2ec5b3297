/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "cache/record/record_json.h"
#include "runtime/libhone/choice.h"
#include "runtime/libhone/family.h"
#include "runtime/libhone/kernel.h"

/* Takes a string over, which may be NULL for want of memory. */
static const char *keep(struct hone_kernel *kernel, char *string, bool *failed)
{
    size_t free_place = 0;
    while (kernel->about->strings[free_place] != NULL)
        free_place++;
    kernel->about->strings[free_place] = string;
    *failed = *failed || string == NULL;
    return string;
}

static char *record_text(const struct hn_record *record)
{
    json_t *json = hn_record_to_json(record);
    char *text = json == NULL ? NULL : json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(json);
    return text;
}

static char *stale_text(const struct hone_kernel *kernel, const struct hn_tuned *tuned)
{
    struct hn_text text;
    const struct hn_device *device = kernel->device;
    hn_text_init(&text);
    if (strcmp(tuned->version.driver, device->driver) != 0)
        hn_text_printf(&text, "driver %s -> %s", tuned->version.driver, device->driver);
    if (tuned->stale)
        hn_text_printf(&text, "%sa later session had another version", text.length > 0 ? ", " : "");
    if (kernel->plan->changed)
        hn_text_printf(&text, "%sthe template is another now", text.length > 0 ? ", " : "");
    return hn_text_take(&text);
}

/* One string of everything that the identity says, and the pieces pointing into it. */
static void describe_source(struct hone_kernel *kernel, const struct hn_tuned *tuned, bool *failed)
{
    struct hone_info *info = &kernel->about->info;
    struct hn_text text;
    size_t at[5];
    const char *const parts[5] = {tuned->identity.device.name, tuned->identity.regime,
                                  tuned->identity.objective, tuned->version.driver,
                                  tuned->version.nvrtc};
    hn_text_init(&text);
    for (size_t i = 0; i < 5; i++) {
        at[i] = text.length;
        hn_text_append_bytes(&text, parts[i], strlen(parts[i]) + 1);
    }
    const char *all = keep(kernel, hn_text_take(&text), failed);
    if (all == NULL)
        return;
    info->device = all + at[0];
    info->regime = all + at[1];
    info->objective = all + at[2];
    info->driver = all + at[3];
    info->nvrtc = all + at[4];
    info->simulated = tuned->simulated;
    info->imported = hn_origin_is_foreign(&tuned->origin);
    info->origin = keep(kernel, hn_origin_text(&tuned->origin), failed);
    info->recorded = tuned->best.time;
    info->stale_because = keep(kernel, stale_text(kernel, tuned), failed);
    info->stale = info->stale_because != NULL && info->stale_because[0] != '\0';
}

static void describe_record(struct hone_kernel *kernel, const struct hn_tuned *tuned, bool *failed)
{
    struct hone_info *info = &kernel->about->info;
    const struct hn_timing *timing = &tuned->best.timing;
    info->verification = hn_verification_names[tuned->best.verdict.kind];
    info->median_us = timing->median_us;
    info->low_us = timing->low_us;
    info->high_us = timing->high_us;
    info->tuned_problem = keep(kernel, hn_bindings_text(&tuned->identity.problem), failed);
    info->record = keep(kernel, record_text(&tuned->best), failed);
}

static struct hone_loss loss_of(const struct hn_rule_loss *loss)
{
    return (struct hone_loss){loss->mean, loss->worst, loss->sizes};
}

static void describe_rule(struct hone_kernel *kernel)
{
    const struct hn_rule *rule = &kernel->rule->stored->rule;
    kernel->about->info.grade = HONE_GRADE_FAMILY;
    kernel->about->info.sure = kernel->sure;
    kernel->about->info.predicted = loss_of(&rule->predicted);
    kernel->about->info.measured = loss_of(&rule->measured);
}

static enum hone_grade grade_of(enum hn_grade grade)
{
    static const enum hone_grade grades[] = {
        [HN_GRADE_NONE] = HONE_GRADE_DEFAULT,
        [HN_GRADE_ANY] = HONE_GRADE_ANY,
        [HN_GRADE_ARCHITECTURE] = HONE_GRADE_ARCHITECTURE,
        [HN_GRADE_PROBLEM] = HONE_GRADE_PROBLEM,
        [HN_GRADE_EXACT] = HONE_GRADE_EXACT,
    };
    return grades[grade];
}

/* Of whatever chose it; false when out of memory: then strings are missing. */
static bool describe(struct hone_kernel *kernel, const struct hn_tuned *tuned)
{
    bool failed = false;
    kernel->about->info.problem = keep(kernel, hn_bindings_text(&kernel->problem), &failed);
    kernel->about->info.point = keep(kernel, hn_bindings_text(&kernel->point), &failed);
    if (tuned != NULL)
        describe_source(kernel, tuned, &failed);
    if (kernel->rule != NULL)
        describe_rule(kernel);
    else if (tuned != NULL)
        describe_record(kernel, tuned, &failed);
    return !failed;
}

/* All that is not known is empty. */
static const struct hone_info nothing = {.problem = "",
                                         .point = "",
                                         .stale_because = "",
                                         .tuned_problem = "",
                                         .device = "",
                                         .regime = "",
                                         .objective = "",
                                         .verification = "",
                                         .driver = "",
                                         .nvrtc = "",
                                         .record = "{}",
                                         .origin = "",
                                         .kernel = ""};

static bool begin(struct hone_kernel *kernel)
{
    kernel->about = calloc(1, sizeof *kernel->about);
    if (kernel->about == NULL)
        return false;
    kernel->about->info = nothing;
    kernel->about->info.kernel = kernel->name;
    kernel->about->info.compiled = kernel->compiled;
    return true;
}

void hn_lib_info_free(struct hone_kernel *kernel)
{
    for (size_t i = 0; kernel->about != NULL && i < sizeof kernel->about->strings / sizeof(char *);
         i++)
        free(kernel->about->strings[i]);
    free(kernel->about);
}

enum hone_status hn_lib_info_make(struct hone_kernel *kernel, const struct hn_lib_choice *choice,
                                  bool compiled, struct hone_error *err)
{
    kernel->compiled = compiled;
    kernel->rule = choice->rule;
    kernel->sure = choice->sure;
    if (choice->rule != NULL) {
        kernel->name = choice->rule->kernel;
        return HONE_OK;
    }
    bool failed = !begin(kernel);
    if (!failed) {
        kernel->name = keep(kernel, strdup(choice->kernel), &failed);
        kernel->about->info.kernel = kernel->name;
        kernel->about->info.grade = grade_of(choice->grade);
        failed = !describe(kernel, choice->tuned) || failed;
    }
    atomic_store(&kernel->has_info, !failed);
    return failed ? hn_lib_fail(err, HONE_NO_MEMORY, "out of memory") : HONE_OK;
}

static const char *or_empty(const char *string)
{
    return string == NULL ? "" : string;
}

/* Of what a rule chose. Without memory, strings are empty. */
static bool make_late(struct hone_kernel *kernel)
{
    struct hn_c_locale locale;
    if (!begin(kernel))
        return false;
    struct hone_info *info = &kernel->about->info;
    hn_c_locale_enter(&locale);
    (void)describe(kernel, &kernel->configuration->tuned);
    hn_c_locale_leave(&locale);
    info->problem = or_empty(info->problem);
    info->point = or_empty(info->point);
    info->origin = or_empty(info->origin);
    info->stale_because = or_empty(info->stale_because);
    return true;
}

/* What it adds to a kernel is for all who ask: to them it has always been there. */
const struct hone_info *hone_kernel_info(const struct hone_kernel *kernel)
{
    struct hone_kernel *own = (struct hone_kernel *)(uintptr_t)kernel;
    if (kernel == NULL)
        return NULL;
    if (!atomic_load_explicit(&own->has_info, memory_order_acquire)) {
        pthread_mutex_lock(&own->cache->info_lock);
        bool has = atomic_load(&own->has_info) || make_late(own);
        atomic_store_explicit(&own->has_info, has, memory_order_release);
        pthread_mutex_unlock(&own->cache->info_lock);
        if (!has)
            return &nothing;
    }
    return &kernel->about->info;
}
