/* SPDX-License-Identifier: MIT */
#include "runtime/libhone/library.h"

#include <stdlib.h>
#include <string.h>

#include "cache/recording/recording_list.h"
#include "cache/recording/recording_plan.h"
#include "runtime/libhone/nearest.h"

static enum hone_status read_recordings(struct hone_cache *cache, const char *kernel,
                                        struct hn_tuned_list *list, struct hone_error *err)
{
    struct hn_error reason = {0};
    return hn_lib_take(err, hn_recording_list(cache->path, kernel, list, &reason), &reason);
}

static enum hn_status find_recorded_plan(const struct hone_cache *cache,
                                         const struct hn_tuned *tuned,
                                         struct hn_stored_plan *stored, struct hn_error *err)
{
    enum hn_status status =
        hn_recording_plan_find(cache->path, tuned->identity.kernel, &tuned->version, stored, err);
    if (status == HN_OK && stored->json == NULL)
        return hn_fail(err, HN_ENOTFOUND,
                       "the recordings in '%s' do not hold the plan they were made with: `hone "
                       "cache import FILE... --config CONFIG` adds it, `hone cache export` writes "
                       "them again",
                       cache->path);
    return status;
}

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

static enum hone_status add_plan(struct hone_cache *cache, const struct hn_version *version,
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
        cache->store == NULL ? find_recorded_plan(cache, tuned, &stored, &reason)
                             : hn_store_get_plan(cache->store, kernel, version, &stored, &reason);
    if (status != HN_OK)
        return hn_lib_take(err, status, &reason);
    return add_plan(cache, version, &stored, plan, err);
}

struct entry {
    struct hn_tuned tuned;
    char *problem;
};

static int compare_entries(const void *a, const void *b)
{
    const struct entry *first = a;
    const struct entry *second = b;
    return strcmp(first->problem, second->problem);
}

/* Sorts the list by the texts of the problems. */
static enum hn_status sort(struct hn_lib_index *index, struct hn_error *err)
{
    size_t count = index->list.count;
    struct entry *entries = calloc(count + 1, sizeof *entries);
    index->problems = calloc(count + 1, sizeof *index->problems);
    bool failed = entries == NULL || index->problems == NULL;
    for (size_t i = 0; !failed && i < count; i++) {
        entries[i].tuned = index->list.items[i];
        index->problems[i] = hn_bindings_text(&index->list.items[i].identity.problem);
        entries[i].problem = index->problems[i];
        failed = entries[i].problem == NULL;
    }
    if (!failed)
        qsort(entries, count, sizeof *entries, compare_entries);
    for (size_t i = 0; !failed && i < count; i++) {
        index->list.items[i] = entries[i].tuned;
        index->problems[i] = entries[i].problem;
    }
    free(entries);
    return failed ? hn_fail_memory(err) : HN_OK;
}

void hn_lib_index_finish(struct hn_lib_index *index)
{
    for (size_t i = 0; index->problems != NULL && i < index->list.count; i++)
        free(index->problems[i]);
    free(index->problems);
    hn_lib_nearest_destroy(index->nearest);
    hn_tuned_list_free(&index->list);
    free(index->kernel);
    free(index);
}

static enum hone_status read_list(struct hone_cache *cache, struct hn_lib_index *index,
                                  struct hone_error *err)
{
    struct hn_error reason = {0};
    if (cache->is_folder)
        return read_recordings(cache, index->kernel, &index->list, err);
    return hn_lib_take(
        err, hn_store_list_problem(cache->store, index->kernel, NULL, &index->list, &reason),
        &reason);
}

static enum hone_status fill(struct hone_cache *cache, const char *kernel,
                             struct hn_lib_index *index, struct hone_error *err)
{
    struct hn_error reason = {0};
    index->kernel = strdup(kernel);
    if (index->kernel == NULL)
        return hn_lib_fail(err, HONE_NO_MEMORY, "out of memory");
    enum hone_status status = read_list(cache, index, err);
    if (status != HONE_OK)
        return status;
    if (index->list.count == 0)
        return hn_lib_fail(err, HONE_NOT_FOUND,
                           "'%s' holds nothing tuned of kernel '%s'; `hone cache list` shows what "
                           "there is",
                           cache->path, kernel);
    status = hn_lib_take(err, sort(index, &reason), &reason);
    if (status != HONE_OK)
        return status;
    index->nearest = hn_lib_nearest_make(&index->list);
    return index->nearest != NULL ? HONE_OK : hn_lib_fail(err, HONE_NO_MEMORY, "out of memory");
}

enum hone_status hn_lib_index_get(struct hone_cache *cache, const char *kernel,
                                  struct hn_lib_index **index, struct hone_error *err)
{
    for (*index = cache->indices; *index != NULL; *index = (*index)->next)
        if (strcmp((*index)->kernel, kernel) == 0)
            return HONE_OK;
    struct hn_lib_index *made = calloc(1, sizeof *made);
    enum hone_status status = made == NULL ? hn_lib_fail(err, HONE_NO_MEMORY, "out of memory")
                                           : fill(cache, kernel, made, err);
    if (status != HONE_OK) {
        if (made != NULL)
            hn_lib_index_finish(made);
        return status;
    }
    made->next = cache->indices;
    cache->indices = made;
    *index = made;
    return HONE_OK;
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

/* The first of the list whose problem is not before that text. */
static size_t lower_bound(const struct hn_lib_index *index, const char *problem)
{
    size_t low = 0;
    size_t high = index->list.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(index->problems[middle], problem) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum hone_status hn_lib_index_list_problem(struct hone_cache *cache, const char *kernel,
                                           const struct hn_bindings *problem,
                                           struct hn_tuned_list *list, struct hone_error *err)
{
    struct hn_error reason = {0};
    *list = (struct hn_tuned_list){.items = NULL};
    if (cache->store == NULL)
        return HONE_OK;
    return hn_lib_take(err, hn_store_list_problem(cache->store, kernel, problem, list, &reason),
                       &reason);
}

/* Whether no other result for its device and problem is to be taken before it: those of its problem
 * stand side by side. */
static bool is_preferred(const struct hn_lib_index *index, const struct hn_lookup_query *query,
                         const struct hn_tuned *tuned)
{
    const char *problem = index->problems[tuned - index->list.items];
    size_t first = lower_bound(index, problem);
    size_t count = 0;
    while (first + count < index->list.count &&
           strcmp(index->problems[first + count], problem) == 0)
        count++;
    return !hn_lookup_is_shadowed(index->list.items + first, count, query, tuned);
}

/* An exact answer is among those with the problem's text, and no other is better. */
const struct hn_tuned *hn_lib_index_find(const struct hn_lib_index *index,
                                         const struct hn_lookup_query *query,
                                         struct hn_lookup_rank *rank)
{
    char *problem = hn_bindings_text(query->problem);
    size_t first = problem == NULL ? 0 : lower_bound(index, problem);
    size_t count = 0;
    while (problem != NULL && first + count < index->list.count &&
           strcmp(index->problems[first + count], problem) == 0)
        count++;
    free(problem);
    const struct hn_tuned *exact = hn_lookup(index->list.items + first, count, query, rank);
    if (exact != NULL && rank->grade == HN_GRADE_EXACT)
        return exact;
    const struct hn_tuned *nearest = hn_lib_nearest_find(index->nearest, query, rank);
    if (nearest != NULL && is_preferred(index, query, nearest))
        return nearest;
    return hn_lookup(index->list.items, index->list.count, query, rank);
}
