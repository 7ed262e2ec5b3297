/* SPDX-License-Identifier: MIT */
#include "tuner/export/export.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static enum hn_status nothing_cached(struct hn_store *store, const char *kernel,
                                     struct hn_error *err)
{
    struct hn_tuned_list all = {0};
    enum hn_status status = hn_store_list(store, NULL, &all, err);
    if (status != HN_OK)
        return status;
    struct hn_text names = {0};
    for (size_t i = 0; i < all.count; i++) {
        if (i > 0 && strcmp(all.items[i].identity.kernel, all.items[i - 1].identity.kernel) == 0)
            continue;
        hn_text_printf(&names, "%s%s", names.length > 0 ? ", " : "", all.items[i].identity.kernel);
    }
    if (names.length > 0)
        hn_fail(err, HN_ENOTFOUND, "nothing tuned is cached for '%s'; the cache holds %s", kernel,
                names.data);
    else
        hn_fail(
            err, HN_ENOTFOUND,
            "nothing tuned is cached for '%s': the cache is empty; run 'hone tune CONFIG' first",
            kernel);
    hn_text_finish(&names);
    hn_tuned_list_free(&all);
    return HN_ENOTFOUND;
}

static bool problem_matches(const struct hn_bindings *problem, const struct hn_bindings *wanted)
{
    for (size_t i = 0; i < wanted->count; i++) {
        const struct hn_value *value = hn_bindings_get(problem, wanted->names[i]);
        if (value == NULL || !hn_value_equal(value, &wanted->values[i]))
            return false;
    }
    return true;
}

static bool same_task(const struct hn_tuned *a, const struct hn_tuned *b)
{
    return hn_device_identity_equal(&a->identity.device, &b->identity.device) &&
           hn_bindings_equal(&a->identity.problem, &b->identity.problem);
}

/* Of two results for one device and problem: the real one before the simulated, cold before warm,
 * time before another objective, then the newer. */
static bool is_preferred(const struct hn_tuned *a, const struct hn_tuned *b)
{
    if (a->simulated != b->simulated)
        return b->simulated;
    int regimes = strcmp(a->identity.regime, b->identity.regime);
    if (regimes != 0)
        return regimes < 0;
    bool a_time = strcmp(a->identity.objective, "time") == 0;
    bool b_time = strcmp(b->identity.objective, "time") == 0;
    if (a_time != b_time)
        return a_time;
    return a->best.time > b->best.time;
}

static void add_candidate(struct hn_export *export, const struct hn_tuned *tuned)
{
    for (size_t i = 0; i < export->count; i++) {
        if (!same_task(export->configs[i], tuned))
            continue;
        if (is_preferred(tuned, export->configs[i]))
            export->configs[i] = tuned;
        return;
    }
    export->configs[export->count++] = tuned;
}

static enum hn_status collect(struct hn_export *export, const struct hn_export_request *request,
                              struct hn_error *err)
{
    export->configs = calloc(export->all.count, sizeof *export->configs);
    if (export->configs == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < export->all.count; i++) {
        const struct hn_tuned *tuned = &export->all.items[i];
        if (tuned->best.outcome != HN_OUTCOME_OK ||
            !problem_matches(&tuned->identity.problem, request->problem))
            continue;
        if (request->regime != NULL && strcmp(request->regime, tuned->identity.regime) != 0)
            continue;
        add_candidate(export, tuned);
    }
    if (export->count > 0)
        return HN_OK;

    struct hn_text problems = {0};
    for (size_t i = 0; i < export->all.count; i++) {
        hn_text_append(&problems, i > 0 ? "; " : "");
        hn_bindings_append(&problems, &export->all.items[i].identity.problem);
        hn_text_printf(&problems, " (%s)", export->all.items[i].identity.regime);
    }
    hn_fail(err, HN_ENOTFOUND, "'%s' was not tuned for that problem; cached are: %s",
            request->kernel, problems.failed ? "" : problems.data);
    hn_text_finish(&problems);
    return HN_ENOTFOUND;
}

/* The devices among the configurations, each once, as "NVIDIA A100, NVIDIA H200". */
static size_t list_devices(const struct hn_export *export, struct hn_text *text)
{
    size_t devices = 0;
    for (size_t i = 0; i < export->count; i++) {
        const char *name = export->configs[i]->identity.device.name;
        size_t before = 0;
        while (before < i && strcmp(export->configs[before]->identity.device.name, name) != 0)
            before++;
        if (before < i)
            continue;
        hn_text_printf(text, "%s%s", devices > 0 ? ", " : "", name);
        devices++;
    }
    return devices;
}

static size_t find_device(const struct hn_export *export, const struct hn_device_identity *device)
{
    for (size_t i = 0; i < export->count; i++) {
        if (hn_device_identity_equal(&export->configs[i]->identity.device, device))
            return i;
    }
    for (size_t i = 0; i < export->count; i++) {
        if (export->configs[i]->identity.device.capability == device->capability)
            return i;
    }
    return export->count;
}

/* The whole name, or a part of it that only one device has: "H200". */
static size_t find_device_name(const struct hn_export *export, const char *name)
{
    size_t found = export->count;
    for (size_t i = 0; i < export->count; i++) {
        const char *other = export->configs[i]->identity.device.name;
        if (strcmp(other, name) == 0)
            return i;
        if (strcasestr(other, name) == NULL)
            continue;
        if (found < export->count &&
            strcmp(export->configs[found]->identity.device.name, other) != 0)
            return export->count;
        if (found == export->count)
            found = i;
    }
    return found;
}

static enum hn_status choose(const struct hn_export *export,
                             const struct hn_export_request *request, size_t *chosen,
                             struct hn_error *err)
{
    struct hn_text devices = {0};
    size_t count = list_devices(export, &devices);
    enum hn_status status = HN_OK;
    *chosen = 0;
    if (request->device_name != NULL) {
        *chosen = find_device_name(export, request->device_name);
        if (*chosen == export->count)
            status = hn_fail(err, HN_ENOTFOUND,
                             "'%s' was not tuned on '%s', or that names several; cached are: %s",
                             request->kernel, request->device_name, devices.data);
        goto done;
    }
    if (request->present != NULL)
        *chosen = find_device(export, request->present);
    if (request->present == NULL || *chosen == export->count) {
        *chosen = 0;
        if (count > 1)
            status = hn_fail(err, HN_EUSAGE,
                             "'%s' was tuned on %zu devices: %s; choose one with --device-name",
                             request->kernel, count, devices.data);
    }
done:
    hn_text_finish(&devices);
    return status;
}

/* The chosen configuration first, then the same device's, then the others. */
static void order(struct hn_export *export, size_t chosen)
{
    const struct hn_tuned *first = export->configs[chosen];
    memmove(&export->configs[1], &export->configs[0], chosen * sizeof *export->configs);
    export->configs[0] = first;
    size_t end = 1;
    for (size_t i = 1; i < export->count; i++) {
        const struct hn_tuned *config = export->configs[i];
        if (!hn_device_identity_equal(&config->identity.device, &first->identity.device))
            continue;
        memmove(&export->configs[end + 1], &export->configs[end],
                (i - end) * sizeof *export->configs);
        export->configs[end++] = config;
    }
}

static enum hn_status load_plan(struct hn_store *store, struct hn_export *export,
                                struct hn_error *err)
{
    enum hn_status status =
        hn_store_get_plan(store, &export->configs[0]->version, &export->stored, err);
    if (status == HN_ENOTFOUND)
        return HN_OK;
    if (status != HN_OK)
        return status;
    json_error_t where;
    json_t *json = json_loads(export->stored.json, 0, &where);
    if (json == NULL)
        return hn_fail(err, HN_EFORMAT, "the cached plan of '%s' is not JSON: %s", export->kernel,
                       where.text);
    status = hn_plan_from_json(json, &export->plan, err);
    json_decref(json);
    return status;
}

static bool same_names(const struct hn_bindings *a, const struct hn_bindings *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        if (strcmp(a->names[i], b->names[i]) != 0)
            return false;
    }
    return true;
}

/* A problem can have been tuned for a word that the chosen one's config did not list (-p
 * LAYOUT=column): it gets the next number. *known: a name with words here has words in the plan
 * too. */
static enum hn_status add_words(const struct hn_export *export, const struct hn_bindings *bindings,
                                bool *known, struct hn_error *err)
{
    for (size_t i = 0; i < bindings->count; i++) {
        struct hn_word_list *list =
            (struct hn_word_list *)hn_export_words(export, bindings->names[i]);
        bool is_word = bindings->values[i].type == HN_WORD;
        *known = *known && is_word == (list != NULL);
        enum hn_status status =
            is_word && list != NULL ? hn_word_list_add(list, bindings->values[i].word, err) : HN_OK;
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}

/* One header can only hold configurations of the same parameters: those of another state of the
 * config go. */
static enum hn_status drop_incompatible(struct hn_export *export, struct hn_error *err)
{
    const struct hn_tuned *first = export->configs[0];
    size_t kept = 1;
    for (size_t i = 1; i < export->count; i++) {
        const struct hn_tuned *config = export->configs[i];
        bool fits = same_names(&config->best.point, &first->best.point) &&
                    same_names(&config->identity.problem, &first->identity.problem);
        enum hn_status status = HN_OK;
        if (fits && export->plan != NULL)
            status = add_words(export, &config->best.point, &fits, err);
        if (status == HN_OK && fits && export->plan != NULL)
            status = add_words(export, &config->identity.problem, &fits, err);
        if (status != HN_OK)
            return status;
        if (fits)
            export->configs[kept++] = config;
        else
            export->left_out++;
    }
    export->count = kept;
    return HN_OK;
}

enum hn_status hn_export_open(struct hn_store *store, const struct hn_export_request *request,
                              struct hn_export *export, struct hn_error *err)
{
    *export = (struct hn_export){.kernel = request->kernel};
    export->upper = hn_export_identifier(request->kernel, request->prefix, true);
    export->lower = hn_export_identifier(request->kernel, request->prefix, false);
    if (export->upper == NULL || export->lower == NULL)
        return hn_fail_memory(err);
    enum hn_status status = hn_store_list(store, request->kernel, &export->all, err);
    if (status != HN_OK)
        return status;
    if (export->all.count == 0)
        return nothing_cached(store, request->kernel, err);
    size_t chosen;
    status = collect(export, request, err);
    if (status == HN_OK)
        status = choose(export, request, &chosen, err);
    if (status != HN_OK)
        return status;
    order(export, chosen);
    status = load_plan(store, export, err);
    return status == HN_OK ? drop_incompatible(export, err) : status;
}

void hn_export_finish(struct hn_export *export)
{
    hn_plan_destroy(export->plan);
    hn_stored_plan_free(&export->stored);
    free(export->configs);
    hn_tuned_list_free(&export->all);
    free(export->lower);
    free(export->upper);
    *export = (struct hn_export){0};
}

enum hn_status hn_export_need_plan(const struct hn_export *export, struct hn_error *err)
{
    if (export->plan != NULL)
        return HN_OK;
    return hn_fail(err, HN_ENOTFOUND,
                   "the cache keeps no plan and template of '%s' (imported results have none): run "
                   "'hone tune CONFIG' "
                   "on this cache, or export json or csv",
                   export->kernel);
}

bool hn_export_is_stale(const struct hn_export *export, size_t config)
{
    return strcmp(export->configs[config]->version.template_hash,
                  export->configs[0]->version.template_hash) != 0;
}

char *hn_export_identifier(const char *kernel, const char *prefix, bool upper)
{
    struct hn_text text = {0};
    if (prefix == NULL)
        hn_text_append(&text, "hone_");
    hn_text_append(&text, prefix == NULL ? kernel : prefix);
    char *name = hn_text_take(&text);
    for (char *c = name; c != NULL && *c != '\0'; c++) {
        unsigned char byte = (unsigned char)*c;
        if (!isascii(byte) || !isalnum(byte))
            *c = '_';
        else
            *c = (char)(upper ? toupper(byte) : tolower(byte));
    }
    return name;
}

void hn_export_append_date(struct hn_text *text, double time)
{
    time_t seconds = (time_t)time;
    struct tm utc;
    char date[16];
    if (gmtime_r(&seconds, &utc) != NULL && strftime(date, sizeof date, "%Y-%m-%d", &utc) > 0)
        hn_text_append(text, date);
}

bool hn_export_problem_is_real(const struct hn_export *export, const char *name)
{
    for (size_t i = 0; i < export->count; i++) {
        const struct hn_value *value = hn_bindings_get(&export->configs[i]->identity.problem, name);
        if (value != NULL && value->type == HN_REAL)
            return true;
    }
    return false;
}

const struct hn_word_list *hn_export_words(const struct hn_export *export, const char *name)
{
    for (size_t i = 0; i < export->plan->word_list_count; i++) {
        if (strcmp(export->plan->word_lists[i].name, name) == 0)
            return &export->plan->word_lists[i];
    }
    return NULL;
}

enum hn_status hn_export_make_source(const struct hn_export *export, struct hn_source *source,
                                     struct hn_error *err)
{
    const struct hn_tuned *tuned = export->configs[0];
    const struct hn_template none = {.path = export->plan->template_path, .text = (char[]){""}};
    enum hn_status status = hn_source_make(export->plan, &none, &tuned->identity.problem,
                                           &tuned->best.point, source, err);
    source->template = NULL;
    return status;
}
