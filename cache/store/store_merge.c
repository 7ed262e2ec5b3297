/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache/record/gate.h"
#include "cache/store/store_internal.h"

/* Making two caches alike: what each has, and taking over what the other has more. */

void hn_store_extents_free(struct hn_store_extents *extents)
{
    for (size_t i = 0; i < extents->count; i++)
        free(extents->items[i].origin);
    free(extents->items);
    *extents = (struct hn_store_extents){.items = NULL};
}

static void append_extent(struct hn_statement *statement, struct hn_store_extents *extents,
                          size_t *capacity, struct hn_error *err)
{
    if (extents->count == *capacity) {
        *capacity = *capacity == 0 ? 64 : 2 * *capacity;
        struct hn_store_extent *grown = realloc(extents->items, *capacity * sizeof *grown);
        if (grown == NULL) {
            hn_fail_memory(err);
            return;
        }
        extents->items = grown;
    }
    struct hn_store_extent *extent = &extents->items[extents->count];
    *extent = (struct hn_store_extent){
        .id = hn_column_integer(statement, 0),
        .origin = strdup(hn_column_text(statement, 1)),
        .records = hn_column_integer(statement, 2),
        .rule = hn_column_integer(statement, 3) != 0,
    };
    if (extent->origin == NULL)
        hn_fail_memory(err);
    else
        extents->count++;
}

enum hn_status hn_store_get_extents(struct hn_store *store, int64_t last_record,
                                    struct hn_store_extents *extents, struct hn_error *err)
{
    struct hn_error own;
    size_t capacity = 0;
    err = hn_error_begin(err, &own);
    *extents = (struct hn_store_extents){.items = NULL};
    struct hn_statement *statement = hn_database_prepare(
        store->database, err,
        "SELECT s.id, s.origin, (SELECT count(*) FROM record r WHERE r.session_id = s.id),"
        " s.rule IS NOT NULL FROM session s"
        " WHERE ?1 = 0 OR s.id IN (SELECT session_id FROM record WHERE id > ?1)"
        " ORDER BY s.origin",
        "i", (int64_t)last_record);
    while (hn_statement_step(statement, err))
        append_extent(statement, extents, &capacity, err);
    hn_statement_finish(statement);
    if (hn_failed(err))
        hn_store_extents_free(extents);
    return err->status;
}

int64_t hn_store_last_record(struct hn_store *store, struct hn_error *err)
{
    return hn_database_integer(store->database, "SELECT coalesce(max(id), 0) FROM record", err);
}

int64_t hn_store_last_session(struct hn_store *store, struct hn_error *err)
{
    return hn_database_integer(store->database, "SELECT coalesce(max(id), 0) FROM session", err);
}

/* A merge under way: both caches, and what was taken over. */
struct merge {
    struct hn_store *store;
    struct hn_store *from;
    struct hn_statement *record;
    struct hn_store_merged *merged;
};

static void gate_date(const struct merge *merge, double seconds, struct hn_error *err)
{
    struct hn_error reason;
    hn_error_init(&reason);
    hn_gate_date(seconds, &reason);
    if (!hn_failed(err) && hn_failed(&reason))
        hn_fail(err, HN_EFORMAT, "cache '%s': %.1000s", merge->from->path, reason.message);
}

/* From position `first` on. */
static void copy_records(const struct merge *merge, int64_t from_id, const char *objective,
                         int64_t session_id, int64_t first, struct hn_error *err)
{
    struct hn_statement *statement = hn_database_prepare(
        merge->from->database, err,
        "SELECT " HN_RECORD_COLUMNS("") " FROM record WHERE session_id = ? ORDER BY id"
                                        " LIMIT -1 OFFSET ?",
        "ii", (int64_t)from_id, (int64_t)first);
    while (hn_statement_step(statement, err)) {
        struct hn_record record;
        hn_record_init(&record);
        hn_store_read_record(merge->from, statement, objective, &record, err);
        gate_date(merge, record.time, err);
        hn_store_add_record(merge->record, session_id, &record, err);
        hn_record_finish(&record);
        merge->merged->records++;
    }
    hn_statement_finish(statement);
}

/* A session of the other cache and the store's own one, which gets its images. */
struct pair {
    const struct merge *merge;
    int64_t session_id;
};

static enum hn_status copy_image(void *visitor, const struct hn_store_image *image,
                                 struct hn_error *err)
{
    const struct pair *pair = visitor;
    pair->merge->merged->images++;
    hn_store_add_image(pair->merge->store->database, pair->session_id, image, err);
    return err->status;
}

static void add_whole(const struct merge *merge, struct hn_store_head *head, int64_t from_id,
                      bool images, struct hn_error *err)
{
    struct pair pair = {.merge = merge};
    hn_base_mark(merge->from, &head->from);
    hn_store_check_documents(head, err);
    hn_store_name_failure(merge->from, "a tuning", err);
    gate_date(merge, head->started, err);
    pair.session_id = hn_store_add_head(merge->store, head, err);
    copy_records(merge, from_id, head->identity.objective, pair.session_id, 0, err);
    merge->merged->rules += head->rule != NULL;
    if (images && !hn_failed(err))
        (void)hn_store_visit_images(merge->from, from_id, copy_image, &pair, err);
}

static void merge_session(const struct merge *merge, const struct hn_store_extent *extent,
                          bool images, struct hn_error *err)
{
    struct hn_store_head head;
    int64_t own = 0;
    int64_t own_records = 0;
    int64_t before = merge->merged->records;
    if (hn_failed(err) || hn_store_get_head(merge->from, extent->id, &head, err) != HN_OK ||
        hn_store_find_session(merge->store, extent->origin, &own, &own_records, err) != HN_OK)
        return;
    if (own == 0)
        add_whole(merge, &head, extent->id, images, err);
    else
        copy_records(merge, extent->id, head.identity.objective, own, own_records, err);
    if (own == 0 || merge->merged->records > before)
        merge->merged->sessions++;
    else
        merge->merged->known++;
    hn_store_head_finish(&head);
}

enum hn_status hn_store_merge(struct hn_store *store, struct hn_store *from, bool images,
                              struct hn_store_merged *merged, struct hn_error *err)
{
    struct hn_error own;
    struct hn_store_extents extents;
    assert(store->mode == HN_STORE_WRITE);
    err = hn_error_begin(err, &own);
    *merged = (struct hn_store_merged){.sessions = 0};
    (void)hn_store_get_extents(from, 0, &extents, err);
    hn_database_run(store->database, "BEGIN IMMEDIATE", err);
    const struct merge merge = {store, from, hn_store_prepare_record(store->database, err), merged};
    for (size_t i = 0; i < extents.count; i++)
        merge_session(&merge, &extents.items[i], images, err);
    hn_statement_finish(merge.record);
    hn_store_extents_free(&extents);
    return hn_database_commit(store->database, err);
}
