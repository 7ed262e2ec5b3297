/* SPDX-License-Identifier: MIT */
#include "runtime/libhone/library.h"

#include <stdlib.h>
#include <string.h>

#include "cache/recording/recording.h"

static void read_stored_plan(const struct hone_cache *cache, const struct hn_tuned *tuned,
                             struct hn_stored_plan *stored, struct hn_error *err)
{
    const char *kernel = tuned->identity.kernel;
    if (cache->store != NULL)
        hn_store_get_plan(cache->store, kernel, &tuned->version, stored, err);
    else if (hn_recording_plan_find(cache->path, kernel, &tuned->version, stored, err) == HN_OK &&
             stored->json == NULL)
        hn_fail(err, HN_ENOTFOUND,
                "the recordings in '%s' do not hold the plan they were made with: `hone "
                "cache import FILE... --config CONFIG` adds it, `hone cache export` writes "
                "them again",
                cache->path);
}

void hn_lib_plan_finish(struct hn_lib_plan *plan)
{
    hn_plan_destroy(plan->plan);
    hn_template_finish(&plan->template);
    free(plan->json);
    free(plan->types);
    free(plan);
}

/* Takes what is stored. The cache keeps the template first, then its includes. */
static void take_files(struct hn_lib_plan *plan, struct hn_stored_plan *stored,
                       struct hn_error *err)
{
    struct hn_template *template = &plan->template;
    plan->json = stored->json;
    stored->json = NULL;
    if (stored->file_count == 0) {
        hn_fail(err, HN_ENOTFOUND, "the cache keeps no template of this version");
        return;
    }
    template->includes = calloc(stored->file_count, sizeof *template->includes);
    if (template->includes == NULL) {
        hn_fail_memory(err);
        return;
    }
    template->path = stored->files[0].name;
    template->text = stored->files[0].text;
    for (size_t i = 1; i < stored->file_count; i++)
        template->includes[template->include_count++] =
            (struct hn_template_include){stored->files[i].name, stored->files[i].text};
    free(stored->files);
    stored->files = NULL;
    stored->file_count = 0;
}

static void read_plan(struct hn_lib_plan *plan, struct hn_error *err)
{
    json_error_t place;
    if (hn_failed(err))
        return;
    json_t *json = json_loads(plan->json, 0, &place);
    if (json == NULL) {
        hn_fail(err, HN_EFORMAT, "the plan of %s is no JSON: %s", plan->template.path, place.text);
        return;
    }
    plan->has_pipeline = json_object_get(json, "pipeline") != NULL;
    enum hn_status status = hn_plan_from_json(json, &plan->plan, err);
    json_decref(json);
    if (status != HN_OK)
        return;
    plan->types = calloc(plan->plan->argument_count + 1, HN_TYPE_SIZE);
    if (plan->types == NULL)
        hn_fail_memory(err);
    for (size_t i = 0; plan->types != NULL && i < plan->plan->argument_count; i++)
        hn_argument_format_type(&plan->plan->arguments[i], plan->types + i * HN_TYPE_SIZE);
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

static const struct hn_lib_plan *add_plan(struct hone_cache *cache, const struct hn_tuned *tuned,
                                          struct hn_error *err)
{
    struct hn_stored_plan stored = {.json = NULL};
    struct hn_lib_plan *made = NULL;
    read_stored_plan(cache, tuned, &stored, err);
    if (!hn_failed(err) && (made = calloc(1, sizeof *made)) == NULL)
        hn_fail_memory(err);
    if (!hn_failed(err))
        take_files(made, &stored, err);
    read_plan(made, err);
    hn_stored_plan_free(&stored);
    if (hn_failed(err)) {
        if (made != NULL)
            hn_lib_plan_finish(made);
        return NULL;
    }
    made->version = tuned->version;
    made->changed = has_changed(made, &tuned->version);
    made->next = cache->plans;
    cache->plans = made;
    return made;
}

const struct hn_lib_plan *hn_lib_plan_get(struct hone_cache *cache, const struct hn_tuned *tuned,
                                          struct hn_error *err)
{
    struct hn_error own;
    const struct hn_lib_plan *known = cache->plans;
    while (known != NULL && (!hn_version_equal(&known->version, &tuned->version) ||
                             strcmp(known->plan->kernel, tuned->identity.kernel) != 0))
        known = known->next;
    if (known != NULL)
        return known;
    err = err == NULL ? &own : err;
    hn_error_init(err);
    return add_plan(cache, tuned, err);
}

void hn_lib_index_finish(struct hn_lib_index *index)
{
    hn_lookup_index_finish(&index->lookup);
    hn_tuned_list_free(&index->list);
    free(index->kernel);
    free(index);
}

struct hn_lib_index *hn_lib_index_get(struct hone_cache *cache, const char *kernel,
                                      struct hn_error *err)
{
    struct hn_lib_index *made = cache->indices;
    while (made != NULL && strcmp(made->kernel, kernel) != 0)
        made = made->next;
    if (made != NULL || hn_failed(err))
        return hn_failed(err) ? NULL : made;
    made = calloc(1, sizeof *made);
    if (made == NULL || (made->kernel = strdup(kernel)) == NULL)
        hn_fail_memory(err);
    else if (cache->is_folder)
        hn_recording_list(cache->path, kernel, &made->list, err);
    else
        hn_store_list_problem(cache->store, kernel, NULL, &made->list, err);
    if (!hn_failed(err) && made->list.count > 0)
        hn_lookup_index_make(&made->lookup, &made->list, err);
    if (hn_failed(err) || made->list.count == 0) {
        if (made != NULL)
            hn_lib_index_finish(made);
        return NULL;
    }
    made->next = cache->indices;
    cache->indices = made;
    return made;
}

/* Kernels keep nothing of it but copies. */
void hn_lib_index_forget(struct hone_cache *cache, const char *kernel)
{
    struct hn_lib_index **link = &cache->indices;
    while (*link != NULL && strcmp((*link)->kernel, kernel) != 0)
        link = &(*link)->next;
    if (*link == NULL)
        return;
    struct hn_lib_index *found = *link;
    *link = found->next;
    hn_lib_index_finish(found);
}
