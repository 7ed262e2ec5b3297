/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cache/record/gate.h"
#include "cache/store/store_internal.h"

/* Making two caches alike: what each has, and taking over what the other has more. */

json_t *hn_store_get_extents(struct hn_store *store, int64_t last_record, struct hn_error *err)
{
    struct hn_builder all = hn_build_object();
    struct hn_statement *statement = hn_database_prepare(
        store->database, err,
        "SELECT s.id, s.origin, (SELECT count(*) FROM record r WHERE r.session_id = s.id),"
        " s.rule IS NOT NULL FROM session s"
        " WHERE ?1 = 0 OR s.id IN (SELECT session_id FROM record WHERE id > ?1)"
        " ORDER BY s.origin",
        "i", (int64_t)last_record);
    while (hn_statement_next(&statement, err))
        hn_build_set(&all, hn_column_text(statement, 1),
                     json_pack("{s:I, s:I, s:b}", "id", (json_int_t)hn_column_integer(statement, 0),
                               "records", (json_int_t)hn_column_integer(statement, 2), "rule",
                               hn_column_integer(statement, 3) != 0));
    json_t *extents = hn_made(hn_build_finish(&all), err);
    if (!hn_failed(err))
        return extents;
    json_decref(extents);
    return NULL;
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
    while (hn_statement_next(&statement, err)) {
        struct hn_record record;
        hn_record_init(&record);
        hn_store_read_record(merge->from, statement, objective, &record, err);
        gate_date(merge, record.time, err);
        hn_store_add_record(merge->record, session_id, &record, err);
        hn_record_finish(&record);
        merge->merged->records++;
    }
}

static void add_whole(const struct merge *merge, struct hn_store_head *head, int64_t from_id,
                      bool images, struct hn_error *err)
{
    struct hn_store_image image;
    hn_base_mark(merge->from, &head->from);
    hn_store_check_documents(head, err);
    hn_store_name_failure(merge->from, "a tuning", err);
    gate_date(merge, head->started, err);
    int64_t session_id = hn_store_add_head(merge->store, head, err);
    copy_records(merge, from_id, head->identity.objective, session_id, 0, err);
    merge->merged->rules += head->rule != NULL;
    struct hn_statement *all = images ? hn_store_get_images(merge->from, from_id, err) : NULL;
    while (hn_store_next_image(merge->from, &all, &image, err)) {
        merge->merged->images++;
        hn_store_add_image(merge->store->database, session_id, &image, err);
    }
}

static void merge_session(const struct merge *merge, const char *origin, int64_t from_id,
                          bool images, struct hn_error *err)
{
    struct hn_store_head head;
    int64_t own = 0;
    int64_t own_records = 0;
    int64_t before = merge->merged->records;
    if (hn_failed(err) || hn_store_get_head(merge->from, from_id, &head, err) != HN_OK ||
        hn_store_find_session(merge->store, origin, &own, &own_records, err) != HN_OK)
        return;
    if (own == 0)
        add_whole(merge, &head, from_id, images, err);
    else
        copy_records(merge, from_id, head.identity.objective, own, own_records, err);
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
    const char *origin;
    json_t *extent;
    assert(store->mode == HN_STORE_WRITE);
    err = hn_error_begin(err, &own);
    *merged = (struct hn_store_merged){.sessions = 0};
    json_t *all = hn_store_get_extents(from, 0, err);
    hn_database_run(store->database, "BEGIN IMMEDIATE", err);
    const struct merge merge = {store, from, hn_store_prepare_record(store->database, err), merged};
    json_object_foreach(all, origin, extent) merge_session(
        &merge, origin, json_integer_value(json_object_get(extent, "id")), images, err);
    hn_statement_finish(merge.record);
    json_decref(all);
    return hn_database_commit(store->database, err);
}
