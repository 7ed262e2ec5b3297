/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "cache/store/lookup.h"
#include "tuner/export/export_family_part.h"
#include "tuner/export/export_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cache/recording/recording_list.h"
#include "cache/recording/recording_plan.h"
#include "tuner/config/config_files.h"

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

/* The devices among the results, each once, as "NVIDIA A100, NVIDIA H200". */
static size_t list_devices(const struct hn_export *export, struct hn_text *text)
{
    size_t devices = 0;
    for (size_t i = 0; i < export->result_count; i++) {
        const char *name = export->results[i]->identity.device.name;
        size_t before = 0;
        while (before < i && strcmp(export->results[before]->identity.device.name, name) != 0)
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
    for (size_t i = 0; i < export->result_count; i++) {
        if (hn_device_identity_equal(&export->results[i]->identity.device, device))
            return i;
    }
    for (size_t i = 0; i < export->result_count; i++) {
        if (export->results[i]->identity.device.capability == device->capability)
            return i;
    }
    return export->result_count;
}

/* The whole name, or a part of it that only one device has: "H200". */
static size_t find_device_name(const struct hn_export *export, const char *name)
{
    size_t found = export->result_count;
    for (size_t i = 0; i < export->result_count; i++) {
        const char *other = export->results[i]->identity.device.name;
        if (strcmp(other, name) == 0)
            return i;
        if (hn_find_letters(other, name) == NULL)
            continue;
        if (found < export->result_count &&
            strcmp(export->results[found]->identity.device.name, other) != 0)
            return export->result_count;
        if (found == export->result_count)
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
        if (*chosen == export->result_count)
            status = hn_fail(err, HN_ENOTFOUND,
                             "'%s' was not tuned on '%s', or that names several; cached are: %s",
                             request->kernel, request->device_name, devices.data);
        goto done;
    }
    if (request->present != NULL)
        *chosen = find_device(export, request->present);
    if (request->present == NULL || *chosen == export->result_count) {
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

static enum hn_status find_plan(struct hn_store *store, const struct hn_export_request *request,
                                struct hn_export *export, struct hn_error *err)
{
    const struct hn_version *version = &export->results[0]->version;
    enum hn_status status = HN_OK;
    if (store != NULL)
        status = hn_store_get_plan(store, export->kernel, version, &export->stored, err);
    for (size_t i = 0;
         status == HN_OK && export->stored.json == NULL && i < request->recorded_count; i++)
        status = hn_recording_plan_find(request->recorded[i], export->kernel, version,
                                        &export->stored, err);
    if (status == HN_OK && export->stored.json != NULL)
        return hn_export_read_plan(export, err);
    return status == HN_ENOTFOUND ? HN_OK : status;
}

enum hn_status hn_export_read_plan(struct hn_export *export, struct hn_error *err)
{
    json_error_t where;
    json_t *json = json_loads(export->stored.json, 0, &where);
    if (json == NULL)
        return hn_fail(err, HN_EFORMAT, "the plan kept of '%s' is not JSON: %s", export->kernel,
                       where.text);
    enum hn_status status = hn_plan_from_json(json, &export->plan, err);
    json_decref(json);
    return status;
}

/* Puts in the place of a result's best the one that costs least. */
static enum hn_status choose_by(struct hn_store *store, enum hn_front_by by, struct hn_tuned *tuned,
                                bool *found, struct hn_error *err)
{
    struct hn_records records;
    size_t least = 0;
    enum hn_status status =
        hn_store_load(store, &tuned->identity, &tuned->version, tuned->simulated, &records, err);
    if (status != HN_OK)
        return status;
    for (size_t i = 1; i < records.count; i++)
        if (hn_front_cost(&records.items[i], by) < hn_front_cost(&records.items[least], by))
            least = i;
    if (records.count > 0 && isfinite(hn_front_cost(&records.items[least], by))) {
        hn_record_finish(&tuned->best);
        status = hn_record_copy(&tuned->best, &records.items[least], err);
        *found = true;
    }
    hn_records_free(&records);
    return status;
}

/* A problem that was tuned for several objectives is served by what costs least. */
static void leave_least(enum hn_front_by by, struct hn_tuned_list *all)
{
    for (size_t i = 0; i < all->count; i++) {
        for (size_t j = i + 1; j < all->count; j++) {
            struct hn_tuned *a = &all->items[i];
            struct hn_tuned *b = &all->items[j];
            bool same = hn_lookup_same_task(&a->identity, &b->identity) &&
                        strcmp(a->identity.regime, b->identity.regime) == 0 &&
                        strcmp(a->identity.objective, b->identity.objective) != 0;
            if (same)
                hn_record_fail(hn_front_cost(&a->best, by) <= hn_front_cost(&b->best, by)
                                   ? &b->best
                                   : &a->best,
                               HN_OUTCOME_SKIPPED, "another objective's best costs less");
        }
    }
}

/* Of problems whose energy was not measured the fastest is left. */
static enum hn_status choose_all_by(struct hn_store *store, const struct hn_export_request *request,
                                    struct hn_export *export, struct hn_error *err)
{
    bool found = false;
    enum hn_status status = HN_OK;
    if (request->by == HN_FRONT_TIME)
        return HN_OK;
    if (store == NULL)
        return hn_fail(err, HN_EUSAGE, "--objective chooses among results of a cache");
    for (size_t i = 0; status == HN_OK && i < export->all.count; i++)
        status = choose_by(store, request->by, &export->all.items[i], &found, err);
    if (status == HN_OK)
        leave_least(request->by, &export->all);
    return status != HN_OK || found
               ? status
               : hn_fail(err, HN_ENOTFOUND,
                         "the energy of '%s' was not measured: run 'hone tune CONFIG --energy'",
                         request->kernel);
}

static enum hn_status list_results(struct hn_store *store, const struct hn_export_request *request,
                                   struct hn_export *export, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    if (store == NULL && request->recorded_count == 0)
        return hn_fail(err, HN_ENOTFOUND, "there is no cache: nothing was tuned yet");
    if (store != NULL)
        status = hn_store_list(store, request->kernel, &export->all, err);
    for (size_t i = 0; i < request->recorded_count && status == HN_OK; i++) {
        if (request->defaults && access(request->recorded[i], F_OK) != 0)
            continue; /* nothing was recorded yet */
        status = hn_recording_list(request->recorded[i], request->kernel, &export->all, err);
    }
    if (status == HN_OK && export->all.count > 0)
        return choose_all_by(store, request, export, err);
    if (status != HN_OK)
        return status;
    if (store != NULL)
        return nothing_cached(store, request->kernel, err);
    return hn_fail(err, HN_ENOTFOUND, "there is no recording of '%s' in '%s'%s", request->kernel,
                   request->recorded[0], request->recorded_count > 1 ? ", …" : "");
}

static enum hn_status open_results(struct hn_store *store, const struct hn_export_request *request,
                                   bool untuned, struct hn_export *export, struct hn_error *err)
{
    *export = (struct hn_export){.kernel = request->kernel};
    export->upper = hn_export_identifier(request->kernel, request->prefix, true);
    export->lower = hn_export_identifier(request->kernel, request->prefix, false);
    if (export->upper == NULL || export->lower == NULL)
        return hn_fail_memory(err);
    size_t chosen = 0;
    export->untuned = untuned;
    enum hn_status status = untuned ? hn_export_list_defaults(export, request, err)
                                    : list_results(store, request, export, err);
    if (status == HN_OK)
        status = hn_export_collect(export, request, err);
    if (status == HN_OK && !untuned)
        status = choose(export, request, &chosen, err);
    if (status != HN_OK)
        return status;
    hn_export_order(export, chosen);
    memcpy(export->template_hash, export->results[0]->version.template_hash,
           sizeof export->template_hash);
    if (request->config != NULL)
        status = hn_export_take_config(export, request->config, err);
    else
        status = find_plan(store, request, export, err);
    if (request->config == NULL && store != NULL)
        hn_config_mark_changed(store, &export->all);
    if (status == HN_OK)
        status = hn_export_drop_incompatible(export, err);
    bool may_have_rule = !untuned && export->plan != NULL && export->plan->pipeline == NULL &&
                         !request->no_family && request->problem->count == 0;
    if (status == HN_OK && may_have_rule)
        status = hn_export_take_family(export, store, request, err);
    if (status == HN_OK)
        status = hn_export_number(export, err);
    return status == HN_OK ? hn_export_make_types(export, err) : status;
}

enum hn_status hn_export_open(struct hn_store *store, const struct hn_export_request *request,
                              struct hn_export *export, struct hn_error *err)
{
    struct hn_error reason;
    enum hn_status status = open_results(store, request, false, export, err);
    if (status != HN_ENOTFOUND || !request->defaults)
        return status;
    reason = *err;
    hn_export_finish(export);
    status = open_results(NULL, request, true, export, err);
    if (status == HN_OK)
        *err = reason;
    return status;
}

void hn_export_finish(struct hn_export *export)
{
    hn_export_free_types(export);
    hn_config_destroy(export->config);
    hn_plan_destroy(export->plan);
    hn_stored_plan_free(&export->stored);
    hn_export_family_destroy(export->family);
    free(export->fallback);
    free(export->config_of);
    free(export->configs);
    free(export->results);
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
                   "there is no plan and template of '%s' (older recordings and what was imported "
                   "from them have none): name its config with --config, run 'hone tune CONFIG' on "
                   "this cache, or export json",
                   export->kernel);
}

bool hn_export_is_stale(const struct hn_export *export, size_t config)
{
    return export->configs[config]->stale ||
           strcmp(export->configs[config]->version.template_hash, export->template_hash) != 0;
}

char *hn_export_identifier(const char *kernel, const char *prefix, bool upper)
{
    struct hn_text text = {0};
    if (prefix == NULL)
        hn_text_append(&text, "hone_");
    hn_text_append(&text, prefix == NULL ? kernel : prefix);
    char *name = hn_text_take(&text);
    for (char *c = name; c != NULL && *c != '\0'; c++) {
        if (!hn_is_letter_or_digit(*c))
            *c = '_';
        else
            *c = upper ? hn_upper(*c) : hn_lower(*c);
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
    for (size_t i = 0; i < export->result_count; i++) {
        const struct hn_value *value = hn_bindings_get(&export->results[i]->identity.problem, name);
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

enum hn_status hn_export_make_source(const struct hn_export *export, const struct hn_tuned *tuned,
                                     struct hn_source *source, struct hn_error *err)
{
    const struct hn_template none = {.path = export->plan->template_path, .text = (char[]){""}};
    enum hn_status status = hn_source_make(export->plan, &none, &tuned->identity.problem,
                                           &tuned->best.point, source, err);
    source->template = NULL;
    return status;
}
