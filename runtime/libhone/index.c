/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "runtime/libhone/index.h"
#include "runtime/libhone/nearest.h"

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
        return hn_lib_recordings_read(cache, index->kernel, &index->list, err);
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
