/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "runtime/libhone/library.h"

void hn_lib_plan_finish(struct hn_lib_plan *plan)
{
    hn_plan_destroy(plan->plan);
    hn_template_finish(&plan->template);
    free(plan->json);
    free(plan->types);
    free(plan);
}

/* The cache keeps the template first, then its includes. */
static enum hn_status take_files(struct hn_lib_plan *plan, struct hn_stored_plan *stored,
                                 struct hn_error *err)
{
    struct hn_template *template = &plan->template;
    if (stored->file_count == 0)
        return hn_fail(err, HN_ENOTFOUND, "the cache keeps no template of this version");
    template->includes = calloc(stored->file_count, sizeof *template->includes);
    if (template->includes == NULL)
        return hn_fail_memory(err);
    template->path = stored->files[0].name;
    template->text = stored->files[0].text;
    for (size_t i = 1; i < stored->file_count; i++)
        template->includes[template->include_count++] =
            (struct hn_template_include){stored->files[i].name, stored->files[i].text};
    free(stored->files);
    stored->files = NULL;
    stored->file_count = 0;
    return HN_OK;
}

static enum hn_status spell_types(struct hn_lib_plan *plan, struct hn_error *err)
{
    plan->types = calloc(plan->plan->argument_count + 1, HN_TYPE_SIZE);
    if (plan->types == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < plan->plan->argument_count; i++)
        hn_argument_format_type(&plan->plan->arguments[i], plan->types + i * HN_TYPE_SIZE);
    return HN_OK;
}

static enum hn_status read_plan(struct hn_lib_plan *plan, struct hn_stored_plan *stored,
                                struct hn_error *err)
{
    plan->json = stored->json;
    stored->json = NULL;
    enum hn_status status = take_files(plan, stored, err);
    if (status != HN_OK)
        return status;
    json_error_t place;
    json_t *json = json_loads(plan->json, 0, &place);
    if (json == NULL)
        return hn_fail(err, HN_EFORMAT, "the plan of %s is no JSON: %s", plan->template.path,
                       place.text);
    plan->has_pipeline = json_object_get(json, "pipeline") != NULL;
    status = hn_plan_from_json(json, &plan->plan, err);
    json_decref(json);
    return status == HN_OK ? spell_types(plan, err) : status;
}

/* A recording does not say where its template lay. */
static bool has_changed(const struct hn_lib_plan *plan, const struct hn_version *version)
{
    struct hn_template now;
    if (plan->template.path[0] != '/' || hn_template_load(plan->template.path, &now, NULL) != HN_OK)
        return false;
    bool changed = strcmp(now.hash.hex, version->template_hash) != 0;
    hn_template_finish(&now);
    return changed;
}

enum hone_status hn_lib_plan_add(struct hone_cache *cache, const struct hn_version *version,
                                 struct hn_stored_plan *stored, const struct hn_lib_plan **plan,
                                 struct hone_error *err)
{
    struct hn_error reason = {0};
    struct hn_lib_plan *made = calloc(1, sizeof *made);
    enum hn_status status =
        made == NULL ? hn_fail_memory(&reason) : read_plan(made, stored, &reason);
    hn_stored_plan_free(stored);
    if (status != HN_OK) {
        if (made != NULL)
            hn_lib_plan_finish(made);
        return hn_lib_take(err, status, &reason);
    }
    made->version = *version;
    made->changed = has_changed(made, version);
    made->next = cache->plans;
    cache->plans = made;
    *plan = made;
    return HONE_OK;
}

enum hone_status hn_lib_plan_get(struct hone_cache *cache, const struct hn_tuned *tuned,
                                 const struct hn_lib_plan **plan, struct hone_error *err)
{
    const char *kernel = tuned->identity.kernel;
    const struct hn_version *version = &tuned->version;
    struct hn_error reason = {0};
    struct hn_stored_plan stored = {.json = NULL};
    for (*plan = cache->plans; *plan != NULL; *plan = (*plan)->next)
        if (hn_version_equal(&(*plan)->version, version) &&
            strcmp((*plan)->plan->kernel, kernel) == 0)
            return HONE_OK;
    enum hn_status status =
        cache->store == NULL ? hn_lib_recordings_find_plan(cache, tuned, &stored, &reason)
                             : hn_store_get_plan(cache->store, kernel, version, &stored, &reason);
    if (status != HN_OK)
        return hn_lib_take(err, status, &reason);
    return hn_lib_plan_add(cache, version, &stored, plan, err);
}
