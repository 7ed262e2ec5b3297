/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache/record/gate.h"
#include "cache/store/store_internal.h"
#include "cache/store/store_rules.h"
#include "cache/store/store_share.h"

/* A row of the other cache's sessions, from column 0 on: id, origin, started, command, simulated,
 * task, version. */
static const char sessions[] =
    "SELECT s.id, s.origin, s.started, s.command, s.simulated, t.kernel, t.signature, t.problem,"
    " t.regime, t.objective, t.device, t.capability, t.sm_count, t.mig_profile, v.template_hash,"
    " v.options_hash, v.plan_hash, v.driver, v.nvrtc, v.protocol, s.machine, " HN_SESSION_INTACT(
        "s.") " AND " HN_TASK_INTACT("t.") " AND " HN_VERSION_INTACT("v.") " FROM session s"
                                                                           " JOIN task t ON t.id = "
                                                                           "s.task_id JOIN version "
                                                                           "v ON v.id = "
                                                                           "s.version_id ORDER BY "
                                                                           "s.id";

static enum hn_status gate_date(const struct hn_store *from, double time, struct hn_error *err)
{
    struct hn_error reason;
    enum hn_status status = hn_gate_date(time, &reason);
    return status == HN_OK
               ? HN_OK
               : hn_fail(err, status, "cache '%s': %.1000s", from->path, reason.message);
}

static enum hn_status copy_record(struct hn_store *store, struct hn_store *from,
                                  struct hn_statement *statement,
                                  const struct hn_identity *identity, int64_t session_id,
                                  struct hn_error *err)
{
    struct hn_record record;
    hn_record_init(&record);
    enum hn_status status =
        hn_store_read_record(from, statement, identity->objective, &record, err);
    if (status == HN_OK)
        status = gate_date(from, record.time, err);
    if (status == HN_OK)
        status = hn_store_add_record(store->database, session_id, &record, err);
    hn_record_finish(&record);
    return status;
}

static enum hn_status copy_records(struct hn_store *store, struct hn_store *from,
                                   const struct hn_identity *identity, int64_t from_id,
                                   int64_t session_id, int64_t first, int64_t *count,
                                   struct hn_error *err)
{
    struct hn_statement *statement;
    bool row = false;
    enum hn_status status = hn_database_prepare(
        from->database,
        "SELECT " HN_RECORD_COLUMNS(
            "") " FROM record WHERE session_id = ? ORDER BY id LIMIT -1 OFFSET ?",
        &statement, err);
    if (status == HN_OK) {
        hn_bind_integer(statement, from_id);
        hn_bind_integer(statement, first);
        status = hn_statement_step(statement, &row, err);
    }
    for (; status == HN_OK && row; ++*count) {
        status = copy_record(store, from, statement, identity, session_id, err);
        if (status == HN_OK)
            status = hn_statement_step(statement, &row, err);
    }
    hn_statement_finish(statement);
    return status;
}

static enum hn_status copy_images(struct hn_store *store, struct hn_store *from, int64_t from_id,
                                  int64_t session_id, int64_t *count, struct hn_error *err)
{
    struct hn_statement *statement;
    bool row = false;
    enum hn_status status =
        hn_database_prepare(from->database, HN_IMAGES_OF_SESSION, &statement, err);
    if (status == HN_OK) {
        hn_bind_integer(statement, from_id);
        status = hn_statement_step(statement, &row, err);
    }
    for (; status == HN_OK && row; ++*count) {
        size_t size;
        const void *cubin = NULL;
        status = hn_store_read_image(from, statement, &cubin, &size, err);
        if (status == HN_OK)
            status = hn_store_add_image(store->database, session_id, hn_column_text(statement, 4),
                                        cubin, size, hn_column_text(statement, 0), err);
        if (status == HN_OK)
            status = hn_statement_step(statement, &row, err);
    }
    hn_statement_finish(statement);
    return status;
}

/* A session has at most one. */
static enum hn_status copy_rule(struct hn_store *store, struct hn_store *from, int64_t from_id,
                                int64_t session_id, int64_t *count, struct hn_error *err)
{
    struct hn_statement *statement;
    struct hn_rule rule;
    bool row = false;
    hn_rule_init(&rule);
    enum hn_status status = hn_database_prepare(
        from->database, "SELECT json, " HN_RULE_INTACT("") " FROM rule WHERE session_id = ?",
        &statement, err);
    if (status == HN_OK) {
        hn_bind_integer(statement, from_id);
        status = hn_statement_step(statement, &row, err);
    }
    if (status == HN_OK && row) {
        ++*count;
        status = hn_store_read_rule(from, statement, &rule, err);
        if (status == HN_OK)
            status =
                hn_store_add_rule(store->database, session_id, hn_column_text(statement, 0), err);
    }
    hn_rule_finish(&rule);
    hn_statement_finish(statement);
    return status;
}

/* The session's row with the plan of its version, where one is kept. */
static enum hn_status copy_session_row(struct hn_store *store, struct hn_store *from,
                                       struct hn_store_session *session, int64_t *session_id,
                                       struct hn_error *err)
{
    struct hn_stored_plan stored;
    struct hn_error ignored;
    enum hn_status status =
        hn_store_get_plan(from, session->identity->kernel, session->version, &stored, &ignored);
    if (status == HN_ENOTFOUND)
        return hn_store_add_session(store, session, session_id, err);
    if (status != HN_OK)
        return hn_fail(err, status, "%s", ignored.message);
    struct hn_store_file *files = calloc(stored.file_count + 1, sizeof *files);
    if (files == NULL) {
        hn_stored_plan_free(&stored);
        return hn_fail_memory(err);
    }
    for (size_t i = 0; i < stored.file_count; i++)
        files[i] = (struct hn_store_file){stored.files[i].name, stored.files[i].text};
    struct hn_store_plan plan = {stored.json, files, stored.file_count};
    session->plan = &plan;
    status = hn_store_add_session(store, session, session_id, err);
    session->plan = NULL;
    free(files);
    hn_stored_plan_free(&stored);
    return status;
}

/* What is there of a session that grew since it was taken over. */
struct tail {
    int64_t session_id;
    int64_t records;
};

static enum hn_status copy_tail(struct hn_store *store, struct hn_store *from,
                                struct hn_statement *statement, const struct tail *tail,
                                struct hn_store_merged *merged, struct hn_error *err)
{
    struct hn_identity identity;
    int64_t before = merged->records;
    hn_identity_init(&identity);
    enum hn_status status = hn_read_identity(statement, 5, &identity, err);
    if (status == HN_OK)
        status = copy_records(store, from, &identity, hn_column_integer(statement, 0),
                              tail->session_id, tail->records, &merged->records, err);
    if (merged->records > before)
        merged->sessions++;
    else
        merged->known++;
    hn_identity_finish(&identity);
    return status;
}

static enum hn_status copy_session(struct hn_store *store, struct hn_store *from,
                                   struct hn_statement *statement, bool images,
                                   struct hn_store_merged *merged, struct hn_error *err)
{
    int64_t own_id = 0;
    int64_t own_records = 0;
    enum hn_status status =
        hn_store_expect_intact(from, statement, 21, "a tuning (its task, version or session)", err);
    if (status == HN_OK)
        status =
            hn_store_find_session(store, hn_column_text(statement, 1), &own_id, &own_records, err);
    if (status != HN_OK)
        return status;
    if (own_id != 0)
        return copy_tail(store, from, statement, &(struct tail){own_id, own_records}, merged, err);
    struct hn_version version;
    struct hn_identity identity;
    int64_t from_id = hn_column_integer(statement, 0);
    int64_t session_id = 0;
    struct hn_origin origin;
    hn_origin_of_file(from->path, &origin);
    if (from->name != NULL)
        snprintf(origin.source, sizeof origin.source, "%s", from->name);
    snprintf(origin.machine, sizeof origin.machine, "%s", hn_column_text(statement, 20));
    hn_identity_init(&identity);
    struct hn_store_session session = {.identity = &identity,
                                       .version = &version,
                                       .command = hn_column_text(statement, 3),
                                       .simulated = hn_column_integer(statement, 4) != 0,
                                       .from = &origin,
                                       .origin = hn_column_text(statement, 1),
                                       .started = hn_column_real(statement, 2)};
    status = hn_read_identity(statement, 5, &identity, err);
    if (status == HN_OK)
        status = hn_read_version(statement, 14, &version, err);
    if (status == HN_OK)
        status = hn_gate_line("the name of a machine", origin.machine, sizeof origin.machine, err);
    if (status == HN_OK)
        status = gate_date(from, session.started, err);
    if (status == HN_OK)
        status = hn_gate_line("the command of a session", session.command, HN_COMMAND_MOST, err);
    if (status == HN_OK)
        status = copy_session_row(store, from, &session, &session_id, err);
    if (status == HN_OK)
        status =
            copy_records(store, from, &identity, from_id, session_id, 0, &merged->records, err);
    if (status == HN_OK)
        status = copy_rule(store, from, from_id, session_id, &merged->rules, err);
    if (status == HN_OK && images)
        status = copy_images(store, from, from_id, session_id, &merged->images, err);
    merged->sessions++;
    hn_identity_finish(&identity);
    return status;
}

enum hn_status hn_store_merge(struct hn_store *store, struct hn_store *from, bool images,
                              struct hn_store_merged *merged, struct hn_error *err)
{
    assert(store->mode == HN_STORE_WRITE);
    struct hn_statement *statement = NULL;
    bool row = false;
    *merged = (struct hn_store_merged){.sessions = 0};
    enum hn_status status = hn_database_run(store->database, "BEGIN IMMEDIATE", err);
    if (status == HN_OK)
        status = hn_database_prepare(from->database, sessions, &statement, err);
    if (status == HN_OK)
        status = hn_statement_step(statement, &row, err);
    while (status == HN_OK && row) {
        status = copy_session(store, from, statement, images, merged, err);
        if (status == HN_OK)
            status = hn_statement_step(statement, &row, err);
    }
    hn_statement_finish(statement);
    if (status == HN_OK)
        status = hn_database_run(store->database, "COMMIT", err);
    hn_database_rollback(store->database);
    return status;
}
