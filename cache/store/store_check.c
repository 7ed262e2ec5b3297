/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cache/store/store_internal.h"
#include "cache/store/store_rules.h"

/* HN_OK when there is nothing to say of the row. */
typedef enum hn_status look_at_row(struct hn_store *store, struct hn_statement *statement,
                                   struct hn_error *finding);

/* Writes a line for each row of a query in which `look` finds something, with the title before it.
 */
static enum hn_status check_rows(struct hn_store *store, const char *title, const char *sql,
                                 look_at_row *look, struct hn_text *report, struct hn_error *err)
{
    struct hn_statement *statement;
    bool row = false;
    enum hn_status status = hn_database_prepare(store->database, sql, &statement, err);
    if (status == HN_OK)
        status = hn_statement_step(statement, &row, err);
    while (status == HN_OK && row) {
        struct hn_error finding = {0};
        enum hn_status found = look(store, statement, &finding);
        if (found != HN_OK)
            hn_text_printf(report, "%s%s\n", title, finding.message);
        status = found == HN_ENOMEM ? hn_fail_memory(err) : hn_statement_step(statement, &row, err);
    }
    hn_statement_finish(statement);
    return status;
}

/* Of a query whose rows are findings, except a single "ok". */
static enum hn_status look_at_finding(struct hn_store *store, struct hn_statement *statement,
                                      struct hn_error *finding)
{
    const char *text = hn_column_text(statement, 0);
    (void)store;
    return strcmp(text, "ok") == 0 ? HN_OK : hn_fail(finding, HN_EFORMAT, "%s", text);
}

static enum hn_status look_at_record(struct hn_store *store, struct hn_statement *statement,
                                     struct hn_error *finding)
{
    struct hn_record record;
    hn_record_init(&record);
    enum hn_status status = hn_store_read_record(
        store, statement, hn_column_text(statement, HN_RECORD_COLUMN_COUNT), &record, finding);
    hn_record_finish(&record);
    return status;
}

static enum hn_status look_at_rule(struct hn_store *store, struct hn_statement *statement,
                                   struct hn_error *finding)
{
    struct hn_rule rule;
    hn_rule_init(&rule);
    enum hn_status status = hn_store_read_rule(store, statement, &rule, finding);
    hn_rule_finish(&rule);
    return status;
}

static enum hn_status look_at_image(struct hn_store *store, struct hn_statement *statement,
                                    struct hn_error *finding)
{
    const void *cubin;
    size_t size;
    return hn_store_read_image(store, statement, &cubin, &size, finding);
}

static enum hn_status look_at_task(struct hn_store *store, struct hn_statement *statement,
                                   struct hn_error *finding)
{
    struct hn_identity identity;
    struct hn_error reason;
    (void)store;
    hn_identity_init(&identity);
    enum hn_status status = hn_read_identity(statement, 1, &identity, &reason);
    if (status != HN_OK)
        (void)hn_fail(finding, status, "task %lld can not be read: %.1000s",
                      (long long)hn_column_integer(statement, 0), reason.message);
    hn_identity_finish(&identity);
    return status;
}

/* Of each table the rows that are not as they were written. */
static const char altered[] = "SELECT 'task ' || id FROM task WHERE NOT (" HN_TASK_INTACT(
    "") ")"
        " UNION ALL SELECT 'version ' || id FROM version WHERE NOT (" HN_VERSION_INTACT(
            "") ")"
                " UNION ALL SELECT 'plan ' || version_id FROM plan WHERE NOT (" HN_PLAN_INTACT(
                    "") ")"
                        " UNION ALL SELECT 'file ' || position || ' of plan ' || version_id FROM "
                        "plan_file"
                        " WHERE NOT (" HN_PLAN_FILE_INTACT(
                            "") ")"
                                " UNION ALL SELECT 'session ' || id FROM session WHERE NOT "
                                "(" HN_SESSION_INTACT(
                                    "") ")"
                                        " UNION ALL SELECT 'record ' || id FROM record WHERE NOT "
                                        "(" HN_RECORD_INTACT(
                                            "") ")"
                                                " UNION ALL SELECT 'a roof of driver ' || driver "
                                                "FROM roof WHERE NOT (" HN_ROOF_INTACT(
                                                    "") ")"
                                                        " UNION ALL SELECT 'a tensor roof of '"
                                                        "|| 'driver ' || driver FROM tensor_roof "
                                                        "WHERE NOT (" HN_TENSOR_ROOF_INTACT(
                                                            "") ")"
                                                                " UNION ALL SELECT 'the rule of "
                                                                "session ' "
                                                                "|| session_id FROM rule WHERE NOT "
                                                                "(" HN_RULE_INTACT("") ")";

enum hn_status hn_store_check(struct hn_store *store, struct hn_text *report, struct hn_error *err)
{
    static const struct {
        const char *title;
        const char *sql;
        look_at_row *look;
    } checks[] = {
        {"integrity: ", "PRAGMA integrity_check", look_at_finding},
        {"foreign key: ",
         "SELECT 'row ' || rowid || ' of ' || \"table\" || ' names a row of '"
         " || parent || ' that is not there' FROM pragma_foreign_key_check",
         look_at_finding},
        {"not what was written: ", altered, look_at_finding},
        {"",
         "SELECT id, kernel, signature, problem, regime, objective, device, capability, sm_count,"
         " mig_profile FROM task WHERE " HN_TASK_INTACT(""),
         look_at_task},
        {"",
         "SELECT " HN_RECORD_COLUMNS(
             "r.") ", t.objective FROM record r JOIN session s ON s.id ="
                   " r.session_id JOIN task t ON t.id = s.task_id WHERE " HN_RECORD_INTACT("r."),
         look_at_record},
        {"", "SELECT json, " HN_RULE_INTACT("") " FROM rule WHERE " HN_RULE_INTACT(""),
         look_at_rule},
        {"", "SELECT entry, cubin, hash, " HN_IMAGE_INTACT("") " FROM image", look_at_image},
    };
    size_t before = report->length;
    enum hn_status status = HN_OK;
    hn_database_set_patience(store->database, INFINITY);
    for (size_t i = 0; status == HN_OK && i < sizeof checks / sizeof *checks; i++)
        status = check_rows(store, checks[i].title, checks[i].sql, checks[i].look, report, err);
    if (status == HN_OK && report->failed)
        status = hn_fail_memory(err);
    if (status == HN_OK && report->length > before)
        status = hn_fail(err, HN_EFORMAT, "cache '%s' is damaged", store->path);
    return status;
}
