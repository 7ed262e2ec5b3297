/* SPDX-License-Identifier: MIT */
#include "cache/store/store_base.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
