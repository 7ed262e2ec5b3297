/* SPDX-License-Identifier: MIT */
#include "cache/store/store_share.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cache/record/gate.h"
#include "cache/store/store_internal.h"

void hn_store_extents_free(struct hn_store_extents *extents)
{
    for (size_t i = 0; i < extents->count; i++)
        free(extents->items[i].origin);
    free(extents->items);
    *extents = (struct hn_store_extents){.items = NULL};
}

static enum hn_status append_extent(struct hn_statement *statement,
                                    struct hn_store_extents *extents, size_t *capacity,
                                    struct hn_error *err)
{
    if (extents->count == *capacity) {
        *capacity = *capacity == 0 ? 64 : 2 * *capacity;
        struct hn_store_extent *grown = realloc(extents->items, *capacity * sizeof *grown);
        if (grown == NULL)
            return hn_fail_memory(err);
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
        return hn_fail_memory(err);
    extents->count++;
    return HN_OK;
}

enum hn_status hn_store_get_extents(struct hn_store *store, int64_t last_record,
                                    struct hn_store_extents *extents, struct hn_error *err)
{
    struct hn_statement *statement;
    bool row = false;
    size_t capacity = 0;
    *extents = (struct hn_store_extents){.items = NULL};
    enum hn_status status = hn_database_prepare(
        store->database,
        "SELECT s.id, s.origin, (SELECT count(*) FROM record r WHERE r.session_id = s.id),"
        " EXISTS(SELECT 1 FROM rule u WHERE u.session_id = s.id)"
        " FROM session s WHERE ?1 = 0 OR s.id IN (SELECT session_id FROM record WHERE id > ?1)"
        " ORDER BY s.origin",
        &statement, err);
    if (status == HN_OK) {
        hn_bind_integer(statement, last_record);
        status = hn_statement_step(statement, &row, err);
    }
    while (status == HN_OK && row) {
        status = append_extent(statement, extents, &capacity, err);
        if (status == HN_OK)
            status = hn_statement_step(statement, &row, err);
    }
    hn_statement_finish(statement);
    if (status != HN_OK)
        hn_store_extents_free(extents);
    return status;
}

enum hn_status hn_store_last_record(struct hn_store *store, int64_t *id, struct hn_error *err)
{
    return hn_database_integer(store->database, "SELECT coalesce(max(id), 0) FROM record", id, err);
}

enum hn_status hn_store_last_session(struct hn_store *store, int64_t *id, struct hn_error *err)
{
    return hn_database_integer(store->database, "SELECT coalesce(max(id), 0) FROM session", id,
                               err);
}

void hn_store_head_finish(struct hn_store_head *head)
{
    hn_identity_finish(&head->identity);
    free(head->command);
    free(head->rule);
    head->command = NULL;
    head->rule = NULL;
}

static enum hn_status read_head(struct hn_store *store, struct hn_statement *statement,
                                struct hn_store_head *head, struct hn_error *err)
{
    enum hn_status status = hn_store_expect_intact(store, statement, 22, "a tuning", err);
    if (status == HN_OK)
        status = hn_read_identity(statement, 0, &head->identity, err);
    if (status == HN_OK)
        status = hn_read_version(statement, 9, &head->version, err);
    if (status == HN_OK)
        status = hn_read_origin(statement, 15, &head->from, err);
    head->command = strdup(hn_column_text(statement, 18));
    head->started = hn_column_real(statement, 19);
    head->simulated = hn_column_integer(statement, 20) != 0;
    bool has_rule = hn_column_text(statement, 21)[0] != '\0';
    head->rule = has_rule ? strdup(hn_column_text(statement, 21)) : NULL;
    if (status == HN_OK && (head->command == NULL || (has_rule && head->rule == NULL)))
        status = hn_fail_memory(err);
    return status;
}

/* A rule that is not what was written is none. */
#define INTACT HN_SESSION_INTACT("s.") " AND " HN_TASK_INTACT("t.") " AND " HN_VERSION_INTACT("v.")
static const char head_of[] =
    "SELECT t.kernel, t.signature, t.problem, t.regime, t.objective, t.device, t.capability,"
    " t.sm_count, t.mig_profile, v.template_hash, v.options_hash, v.plan_hash, v.driver, v.nvrtc,"
    " v.protocol, s.machine, s.source, s.imported, s.command, s.started, s.simulated,"
    " (SELECT u.json FROM rule u WHERE u.session_id = s.id AND " HN_RULE_INTACT(
        "u.") "), " INTACT " FROM session s JOIN task t ON t.id = s.task_id JOIN version v ON v.id "
              "= s.version_id"
              " WHERE s.id = ?";

enum hn_status hn_store_get_head(struct hn_store *store, int64_t session_id,
                                 struct hn_store_head *head, struct hn_error *err)
{
    struct hn_statement *statement;
    bool row = false;
    *head = (struct hn_store_head){.command = NULL};
    hn_identity_init(&head->identity);
    enum hn_status status = hn_database_prepare(store->database, head_of, &statement, err);
    if (status == HN_OK) {
        hn_bind_integer(statement, session_id);
        status = hn_statement_step(statement, &row, err);
    }
    if (status == HN_OK)
        status = row ? read_head(store, statement, head, err)
                     : hn_fail(err, HN_ENOTFOUND, "cache '%s' has no session %lld", store->path,
                               (long long)session_id);
    hn_statement_finish(statement);
    if (status != HN_OK)
        hn_store_head_finish(head);
    return status;
}

enum hn_status hn_store_visit_rows(struct hn_store *store, int64_t session_id, int64_t first,
                                   int64_t most, hn_store_visit_row *visit, void *visitor,
                                   struct hn_error *err)
{
    struct hn_statement *statement;
    bool row = false;
    enum hn_status status = hn_database_prepare(
        store->database,
        "SELECT point, outcome, verification, final, objective, json, objective IS NULL"
        ", " HN_RECORD_INTACT("") " FROM record WHERE id IN (SELECT id FROM record"
                                  " WHERE session_id = ? ORDER BY id LIMIT ? OFFSET ?) ORDER BY id",
        &statement, err);
    if (status == HN_OK) {
        hn_bind_integer(statement, session_id);
        hn_bind_integer(statement, most);
        hn_bind_integer(statement, first);
        status = hn_statement_step(statement, &row, err);
    }
    for (; status == HN_OK && row; first++) {
        bool none = hn_column_integer(statement, 6) != 0;
        const struct hn_store_row own = {
            .position = first,
            .point = hn_column_text(statement, 0),
            .outcome = hn_column_text(statement, 1),
            .json = hn_column_text(statement, 5),
            .verification = hn_column_integer(statement, 2),
            .final = hn_column_integer(statement, 3) != 0,
            .objective = none ? (double)NAN : hn_column_real(statement, 4),
        };
        status = hn_store_expect_intact(store, statement, 7, "a record", err);
        if (status == HN_OK)
            status = visit(visitor, &own, err);
        if (status == HN_OK)
            status = hn_statement_step(statement, &row, err);
    }
    hn_statement_finish(statement);
    return status;
}

enum hn_status hn_store_visit_images(struct hn_store *store, int64_t session_id,
                                     hn_store_visit_image *visit, void *visitor,
                                     struct hn_error *err)
{
    struct hn_statement *statement;
    bool row = false;
    enum hn_status status =
        hn_database_prepare(store->database, HN_IMAGES_OF_SESSION, &statement, err);
    if (status == HN_OK) {
        hn_bind_integer(statement, session_id);
        status = hn_statement_step(statement, &row, err);
    }
    while (status == HN_OK && row) {
        struct hn_store_image image = {
            .point = hn_column_text(statement, 4),
            .entry = hn_column_text(statement, 0),
            .hash = hn_column_text(statement, 2),
        };
        status = hn_store_read_image(store, statement, &image.cubin, &image.size, err);
        if (status == HN_OK)
            status = visit(visitor, &image, err);
        if (status == HN_OK)
            status = hn_statement_step(statement, &row, err);
    }
    hn_statement_finish(statement);
    return status;
}

enum hn_status hn_store_find_session(struct hn_store *store, const char *origin, int64_t *id,
                                     int64_t *records, struct hn_error *err)
{
    struct hn_statement *statement;
    bool row = false;
    enum hn_status status = hn_database_prepare(
        store->database,
        "SELECT s.id, (SELECT count(*) FROM record r WHERE r.session_id = s.id) FROM session s"
        " WHERE s.origin = ?",
        &statement, err);
    if (status == HN_OK) {
        hn_bind_text(statement, origin);
        status = hn_statement_step(statement, &row, err);
    }
    *id = row ? hn_column_integer(statement, 0) : 0;
    if (records != NULL)
        *records = row ? hn_column_integer(statement, 1) : 0;
    hn_statement_finish(statement);
    return status;
}

static enum hn_status extend(struct hn_store *store, const char *origin, int64_t first,
                             const struct hn_records *records, struct hn_error *err)
{
    int64_t id = 0;
    int64_t known = 0;
    enum hn_status status = hn_store_find_session(store, origin, &id, &known, err);
    if (status == HN_OK && (id == 0 || known < first))
        return hn_fail(err, HN_ENOTFOUND,
                       "cache '%s' has %lld records of session '%.64s', expected at least %lld",
                       store->path, (long long)known, origin, (long long)first);
    for (size_t i = (size_t)(known - first); status == HN_OK && i < records->count; i++)
        status = hn_store_add_record(store->database, id, &records->items[i], err);
    return status;
}

enum hn_status hn_store_extend(struct hn_store *store, const char *origin, int64_t first,
                               const struct hn_records *records, struct hn_error *err)
{
    assert(store->mode == HN_STORE_WRITE);
    enum hn_status status = hn_database_run(store->database, "BEGIN IMMEDIATE", err);
    if (status == HN_OK)
        status = extend(store, origin, first, records, err);
    if (status == HN_OK)
        status = hn_database_run(store->database, "COMMIT", err);
    hn_database_rollback(store->database);
    return status;
}
