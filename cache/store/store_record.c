/* SPDX-License-Identifier: MIT */
#include "cache/store/store_record.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "cache/store/store_internal.h"
#include "cache/store/store_newest.h"
#include "cache/store/store_place.h"

static enum hn_status visit_rows(struct hn_store *store, struct hn_statement *statement,
                                 const char *objective, hn_store_visit_record *visit, void *visitor,
                                 struct hn_error *err)
{
    bool row = false;
    enum hn_status status = hn_statement_step(statement, &row, err);
    while (status == HN_OK && row) {
        struct hn_record record;
        int64_t id = hn_column_integer(statement, 0);
        hn_record_init(&record);
        status = hn_store_read_record(store, statement, objective, &record, err);
        if (status == HN_OK)
            status = visit(visitor, id, &record, err);
        hn_record_finish(&record);
        if (status == HN_OK)
            status = hn_statement_step(statement, &row, err);
    }
    return status;
}

static enum hn_status visit_one(struct hn_store *store, const struct hn_identity *identity,
                                const struct hn_version *version, bool simulated,
                                enum hn_store_whose whose, hn_store_visit_record *visit,
                                void *visitor, struct hn_error *err)
{
    int64_t task_id = 0;
    int64_t version_id = 0;
    char why[640] = "", machine[65] = "";
    struct hn_statement *statement = NULL;
    enum hn_status status = hn_store_find_task(store, identity, &task_id, err);
    if (status == HN_OK)
        status = hn_store_find_version(store, version, &version_id, err);
    if (status != HN_OK || task_id == 0 || version_id == 0)
        return status;
    status = hn_database_prepare(
        store->database,
        "SELECT " HN_RECORD_COLUMNS(
            "") " FROM record WHERE id IN (SELECT id FROM (SELECT r.id, ROW_NUMBER() OVER"
                " (PARTITION BY r.point ORDER BY " HN_PLACE(
                    "r", "s") ") AS place"
                              " FROM record r JOIN session s ON r.session_id = s.id"
                              " WHERE s.task_id = ? AND s.version_id = ? AND s.simulated = ?"
                              " AND CASE ? WHEN 1 THEN s.source = '' AND (r.outcome = 'ok' OR "
                              "s.machine = ?)"
                              " WHEN 2 THEN s.source <> '' ELSE 1 END) "
                              "WHERE place = 1)"
                              " ORDER BY id",
        &statement, err);
    if (status == HN_OK) {
        hn_bind_integer(statement, task_id);
        hn_bind_integer(statement, version_id);
        hn_bind_integer(statement, simulated);
        hn_bind_integer(statement, whose);
        /* Else it is NULL, which nothing is equal to. */
        char *real = realpath(store->path, NULL);
        if (real != NULL && hn_place_is_own(real, false, why, sizeof why) &&
            gethostname(machine, sizeof machine - 1) == 0)
            hn_bind_text(statement, machine);
        free(real);
        status = visit_rows(store, statement, identity->objective, visit, visitor, err);
    }
    hn_statement_finish(statement);
    return status;
}

/* Points that the upper cache has records of: the base's of them do not count. */
struct seen {
    hn_store_visit_record *visit;
    void *visitor;
    char (*points)[33]; /* hashes */
    size_t count;
    size_t capacity;
    bool sorted;
};

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

static enum hn_status note_seen(void *pointer, int64_t id, struct hn_record *record,
                                struct hn_error *err)
{
    struct seen *seen = pointer;
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

static enum hn_status skip_seen(void *pointer, int64_t id, struct hn_record *record,
                                struct hn_error *err)
{
    struct seen *seen = pointer;
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

enum hn_status hn_store_visit(struct hn_store *store, const struct hn_identity *identity,
                              const struct hn_version *version, bool simulated,
                              enum hn_store_whose whose, hn_store_visit_record *visit,
                              void *visitor, struct hn_error *err)
{
    struct seen seen = {.visit = visit, .visitor = visitor};
    if (store->base == NULL || whose == HN_STORE_OWN)
        return visit_one(store, identity, version, simulated, whose, visit, visitor, err);
    enum hn_status status =
        visit_one(store, identity, version, simulated, whose, note_seen, &seen, err);
    if (status == HN_OK)
        status = visit_one(store->base, identity, version, simulated, HN_STORE_ALL, skip_seen,
                           &seen, err);
    free(seen.points);
    return status;
}

/* The one row of a query for HN_RECORD_COLUMNS. */
static enum hn_status read_row(struct hn_store *store, struct hn_statement *statement,
                               struct hn_record *record, struct hn_error *err)
{
    bool row = false;
    enum hn_status status = hn_statement_step(statement, &row, err);
    if (status == HN_OK && !row)
        return hn_fail(err, HN_ENOTFOUND, "cache '%s': a record is gone that was there before",
                       store->path);
    if (status == HN_OK)
        status = hn_store_read_record(store, statement, NULL, record, err);
    return status;
}

enum hn_status hn_store_get(struct hn_store *store, int64_t id, struct hn_record *record,
                            struct hn_error *err)
{
    struct hn_statement *statement = NULL;
    hn_record_init(record);
    enum hn_status status = hn_database_prepare(
        store->database, "SELECT " HN_RECORD_COLUMNS("") " FROM record WHERE id = ?", &statement,
        err);
    if (status == HN_OK) {
        hn_bind_integer(statement, id);
        status = read_row(store, statement, record, err);
    }
    hn_statement_finish(statement);
    return status;
}

/* NULL when it is not, or no longer, pending. */
static const struct hn_record *find_pending(const struct hn_store *store, int64_t session_id,
                                            const struct hn_bindings *point)
{
    for (size_t i = store->pending_count; i-- > 0;) {
        const struct hn_pending *pending = &store->pending[i];
        if (pending->cubin == NULL && pending->session_id == session_id &&
            hn_bindings_equal(&pending->record.point, point))
            return &pending->record;
    }
    return NULL;
}

enum hn_status hn_store_get_last(struct hn_store *store, int64_t session_id,
                                 const struct hn_bindings *point, struct hn_record *record,
                                 struct hn_error *err)
{
    struct hn_statement *statement = NULL;
    const struct hn_record *pending = find_pending(store, session_id, point);
    if (pending != NULL)
        return hn_record_copy(record, pending, err);
    hn_record_init(record);
    char *key = hn_store_text_of(point);
    enum hn_status status =
        key == NULL ? hn_fail_memory(err)
                    : hn_database_prepare(
                          store->database,
                          "SELECT " HN_RECORD_COLUMNS(
                              "") " FROM record"
                                  " WHERE session_id = ? AND point = ? ORDER BY id DESC LIMIT 1",
                          &statement, err);
    if (status == HN_OK) {
        hn_bind_integer(statement, session_id);
        hn_bind_text(statement, key);
        status = read_row(store, statement, record, err);
    }
    hn_statement_finish(statement);
    free(key);
    return status;
}

enum hn_status hn_store_knows(struct hn_store *store, const struct hn_version *version, bool *known,
                              struct hn_error *err)
{
    struct hn_statement *statement;
    *known = false;
    enum hn_status status = hn_database_prepare(
        store->database,
        "SELECT 1 FROM version WHERE template_hash = ? AND options_hash = ? AND plan_hash = ?",
        &statement, err);
    if (status == HN_OK) {
        hn_bind_text(statement, version->template_hash);
        hn_bind_text(statement, version->options_hash);
        hn_bind_text(statement, version->plan_hash);
        status = hn_statement_step(statement, known, err);
    }
    hn_statement_finish(statement);
    return status == HN_OK && !*known && store->base != NULL
               ? hn_store_knows(store->base, version, known, err)
               : status;
}
