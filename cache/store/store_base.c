/* SPDX-License-Identifier: MIT */
#include "cache/store/store_base.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cache/store/lookup.h"
#include "cache/store/store_base_part.h"
#include "cache/store/store_internal.h"

void hn_store_set_base(struct hn_store *store, struct hn_store *base)
{
    assert(store->base == NULL);
    store->base = base;
}

void hn_base_mark(const struct hn_store *base, struct hn_origin *origin)
{
    struct hn_origin file;
    hn_origin_of_file(base->path, &file);
    snprintf(origin->source, sizeof origin->source, "%s",
             base->name != NULL ? base->name : file.source);
    origin->imported = 0;
}

static bool has(const struct hn_tuned_list *list, size_t count, const struct hn_tuned *tuned,
                bool versions)
{
    for (size_t i = 0; i < count; i++) {
        const struct hn_tuned *own = &list->items[i];
        if (own->simulated == tuned->simulated &&
            hn_identity_equal(&own->identity, &tuned->identity) &&
            (!versions || hn_version_equal(&own->version, &tuned->version)))
            return true;
    }
    return false;
}

/* As both caches had them: by kernel, then as they are listed everywhere. */
static int compare(const void *a, const void *b)
{
    const struct hn_tuned *x = a;
    const struct hn_tuned *y = b;
    int kernels = strcmp(x->identity.kernel, y->identity.kernel);
    return kernels != 0 ? kernels : hn_lookup_order(x, y);
}

enum hn_status hn_base_join(const struct hn_store *base, struct hn_tuned_list *list,
                            struct hn_tuned_list *more, bool versions, struct hn_error *err)
{
    const size_t own = list->count;
    struct hn_tuned *grown = realloc(list->items, (own + more->count + 1) * sizeof *grown);
    if (grown == NULL)
        return hn_fail_memory(err);
    list->items = grown;
    size_t left = 0;
    for (size_t i = 0; i < more->count; i++) {
        struct hn_tuned *tuned = &more->items[i];
        if (has(list, own, tuned, versions)) {
            more->items[left++] = *tuned;
            continue;
        }
        hn_base_mark(base, &tuned->origin);
        tuned->session_id = 0; /* none of the upper cache's */
        list->items[list->count++] = *tuned;
    }
    more->count = left;
    if (list->count > own)
        qsort(list->items, list->count, sizeof *list->items, compare);
    return HN_OK;
}

enum hn_status hn_base_join_rules(const struct hn_store *base, struct hn_stored_rules *rules,
                                  struct hn_stored_rules *more, struct hn_error *err)
{
    const size_t own = rules->count;
    size_t left = 0;
    struct hn_stored_rule *grown = realloc(rules->items, (own + more->count + 1) * sizeof *grown);
    if (grown == NULL)
        return hn_fail_memory(err);
    rules->items = grown;
    for (size_t i = 0; i < more->count; i++) {
        struct hn_stored_rule *stored = &more->items[i];
        bool found = false;
        for (size_t n = 0; n < own; n++)
            found = found || hn_identity_equal(&rules->items[n].identity, &stored->identity);
        if (found) {
            more->items[left++] = *stored;
            continue;
        }
        hn_base_mark(base, &stored->origin);
        stored->session_id = 0;
        rules->items[rules->count++] = *stored;
    }
    more->count = left;
    return HN_OK;
}

static enum hn_status hash_point(const struct hn_bindings *point, struct hn_hash *hash,
                                 struct hn_error *err)
{
    char *text = hn_store_text_of(point);
    if (text == NULL)
        return hn_fail_memory(err);
    *hash = hn_hash_string(text);
    free(text);
    return HN_OK;
}

enum hn_status hn_seen_note(void *pointer, int64_t id, struct hn_record *record,
                            struct hn_error *err)
{
    struct hn_seen *seen = pointer;
    struct hn_hash hash;
    if (seen->count == seen->capacity) {
        size_t capacity = seen->capacity == 0 ? 256 : 2 * seen->capacity;
        char(*grown)[33] = realloc(seen->points, capacity * sizeof *grown);
        if (grown == NULL)
            return hn_fail_memory(err);
        seen->points = grown;
        seen->capacity = capacity;
    }
    enum hn_status status = hash_point(&record->point, &hash, err);
    if (status != HN_OK)
        return status;
    memcpy(seen->points[seen->count++], hash.hex, sizeof hash.hex);
    return seen->visit(seen->visitor, id, record, err);
}

static int compare_hashes(const void *a, const void *b)
{
    return strcmp(a, b);
}

enum hn_status hn_seen_skip(void *pointer, int64_t id, struct hn_record *record,
                            struct hn_error *err)
{
    struct hn_seen *seen = pointer;
    struct hn_hash hash;
    (void)id;
    if (!seen->sorted && seen->count > 0)
        qsort(seen->points, seen->count, sizeof *seen->points, compare_hashes);
    seen->sorted = true;
    enum hn_status status = hash_point(&record->point, &hash, err);
    if (status != HN_OK)
        return status;
    bool known = seen->count > 0 && bsearch(hash.hex, seen->points, seen->count,
                                            sizeof *seen->points, compare_hashes) != NULL;
    return known ? HN_OK : seen->visit(seen->visitor, 0, record, err);
}

void hn_seen_finish(struct hn_seen *seen)
{
    free(seen->points);
}
