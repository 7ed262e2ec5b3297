/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cache/store_internal.h"

/* Runs a query whose rows are findings (except a single "ok") and writes each under `title`. */
static enum hn_status report_rows(struct hn_store *store, const char *title, const char *sql,
                                  struct hn_text *report, struct hn_error *err)
{
    struct hn_statement *statement;
    bool row = false;
    enum hn_status status = hn_database_prepare(store->database, sql, &statement, err);
    if (status == HN_OK)
        status = hn_statement_step(statement, &row, err);
    while (status == HN_OK && row) {
        const char *finding = hn_column_text(statement, 0);
        if (strcmp(finding, "ok") != 0)
            hn_text_printf(report, "%s: %s\n", title, finding);
        status = hn_statement_step(statement, &row, err);
    }
    hn_statement_finish(statement);
    return status;
}

/* The columns beside the JSON have to say the same as it does. */
static void compare_columns(struct hn_statement *statement, const struct hn_record *record,
                            struct hn_text *report)
{
    long long id = hn_column_integer(statement, 0);
    char *point = hn_store_text_of(&record->point);
    if (point == NULL)
        return;
    if (strcmp(point, hn_column_text(statement, 2)) != 0)
        hn_text_printf(report, "record %lld: its point is '%s', its JSON says '%s'\n", id,
                       hn_column_text(statement, 2), point);
    if (strcmp(hn_outcome_name(record->outcome), hn_column_text(statement, 3)) != 0)
        hn_text_printf(report, "record %lld: its outcome is '%s', its JSON says '%s'\n", id,
                       hn_column_text(statement, 3), hn_outcome_name(record->outcome));
    if (record->verdict.kind != hn_column_integer(statement, 4) ||
        record->final != (hn_column_integer(statement, 5) != 0))
        hn_text_printf(report, "record %lld: its verification or final differs from its JSON\n",
                       id);
    free(point);
}

static enum hn_status check_record(struct hn_store *store, struct hn_statement *statement,
                                   struct hn_text *report, struct hn_error *err)
{
    struct hn_record record;
    struct hn_error finding;
    hn_record_init(&record);
    enum hn_status status = hn_store_parse_record(
        store, hn_column_text(statement, 1), hn_column_integer(statement, 0), &record, &finding);
    if (status == HN_OK)
        compare_columns(statement, &record, report);
    else if (status == HN_EFORMAT)
        hn_text_printf(report, "%s\n", finding.message);
    hn_record_finish(&record);
    return status == HN_ENOMEM ? hn_fail_memory(err) : HN_OK;
}

static enum hn_status check_records(struct hn_store *store, struct hn_text *report,
                                    struct hn_error *err)
{
    struct hn_statement *statement;
    bool row = false;
    enum hn_status status = hn_database_prepare(
        store->database, "SELECT id, json, point, outcome, verification, final FROM record",
        &statement, err);
    if (status == HN_OK)
        status = hn_statement_step(statement, &row, err);
    while (status == HN_OK && row) {
        status = check_record(store, statement, report, err);
        if (status == HN_OK)
            status = hn_statement_step(statement, &row, err);
    }
    hn_statement_finish(statement);
    return status;
}

static enum hn_status check_tasks(struct hn_store *store, struct hn_text *report,
                                  struct hn_error *err)
{
    struct hn_statement *statement;
    bool row = false;
    enum hn_status status = hn_database_prepare(
        store->database,
        "SELECT id, kernel, signature, problem, regime, objective, device, capability, sm_count,"
        " mig_profile FROM task",
        &statement, err);
    if (status == HN_OK)
        status = hn_statement_step(statement, &row, err);
    while (status == HN_OK && row) {
        struct hn_identity identity;
        struct hn_error finding;
        hn_identity_init(&identity);
        if (hn_read_identity(statement, 1, &identity, &finding) != HN_OK)
            hn_text_printf(report, "task %lld: its problem can not be read: %s\n",
                           (long long)hn_column_integer(statement, 0), finding.message);
        hn_identity_finish(&identity);
        status = hn_statement_step(statement, &row, err);
    }
    hn_statement_finish(statement);
    return status;
}

enum hn_status hn_store_check(struct hn_store *store, struct hn_text *report, struct hn_error *err)
{
    size_t before = report->length;
    enum hn_status status = report_rows(store, "integrity", "PRAGMA integrity_check", report, err);
    if (status == HN_OK)
        status = report_rows(store, "foreign key",
                             "SELECT 'row ' || rowid || ' of ' || \"table\" || ' names a row of '"
                             " || parent || ' that is not there' FROM pragma_foreign_key_check",
                             report, err);
    if (status == HN_OK)
        status = check_tasks(store, report, err);
    if (status == HN_OK)
        status = check_records(store, report, err);
    if (status == HN_OK && report->failed)
        status = hn_fail_memory(err);
    if (status == HN_OK && report->length > before)
        status = hn_fail(err, HN_EFORMAT, "cache '%s' is damaged", store->path);
    return status;
}
