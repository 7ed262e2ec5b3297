/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cache/store/store_internal.h"

/* Leaves what is to be said of a row in finding. */
typedef void look_at_row(struct hn_store *store, struct hn_statement *statement,
                         struct hn_error *finding);

/* Of a query whose rows are findings, except a single "ok". */
static void look_at_finding(struct hn_store *store, struct hn_statement *statement,
                            struct hn_error *finding)
{
    const char *text = hn_column_text(statement, 0);
    (void)store;
    if (strcmp(text, "ok") != 0)
        hn_fail(finding, HN_EFORMAT, "%s", text);
}

static void look_at_head(struct hn_store *store, struct hn_statement *statement,
                         struct hn_error *finding)
{
    struct hn_store_head head = {.origin = NULL};
    hn_store_read_head(store, statement, &head, finding);
    hn_store_head_finish(&head);
}

static void look_at_plan(struct hn_store *store, struct hn_statement *statement,
                         struct hn_error *finding)
{
    struct hn_stored_plan plan = {.json = NULL};
    hn_document_read_plan(hn_column_text(statement, 0), &plan, finding);
    hn_store_name_failure(store, "a plan", finding);
    hn_stored_plan_free(&plan);
}

static void look_at_rule(struct hn_store *store, struct hn_statement *statement,
                         struct hn_error *finding)
{
    struct hn_rule rule;
    hn_rule_init(&rule);
    hn_document_read_rule(hn_column_text(statement, 0), &rule, finding);
    hn_store_name_failure(store, "the rule of a family", finding);
    hn_rule_finish(&rule);
}

static void look_at_record(struct hn_store *store, struct hn_statement *statement,
                           struct hn_error *finding)
{
    struct hn_record record;
    hn_record_init(&record);
    hn_store_read_record(store, statement, hn_column_text(statement, HN_RECORD_COLUMN_COUNT),
                         &record, finding);
    hn_record_finish(&record);
}

static void look_at_image(struct hn_store *store, struct hn_statement *statement,
                          struct hn_error *finding)
{
    struct hn_store_image image;
    hn_store_read_image(store, statement, &image, finding);
}

/* Of each table the rows that are not as they were written. */
/* clang-format off */
static const char altered[] =
    "SELECT 'session ' || id FROM session WHERE NOT (" HN_SESSION_INTACT("") ")"
    " UNION ALL SELECT 'the plan of session ' || id FROM session"
    " WHERE plan IS NOT NULL AND plan NOT IN (SELECT hash FROM plan)"
    " UNION ALL SELECT 'plan ' || hash FROM plan WHERE NOT (" HN_PLAN_INTACT("") ")"
    " UNION ALL SELECT 'record ' || id FROM record WHERE NOT (" HN_RECORD_INTACT("") ")"
    " UNION ALL SELECT 'a roof of driver ' || driver FROM roof WHERE NOT (" HN_ROOF_INTACT("") ")";
/* clang-format on */

/* The title stands before what is found. */
static const struct check {
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
    {"", "SELECT " HN_HEAD_COLUMNS("") " FROM session WHERE " HN_SESSION_INTACT(""), look_at_head},
    {"", "SELECT json FROM plan WHERE " HN_PLAN_INTACT(""), look_at_plan},
    {"", "SELECT rule FROM session WHERE rule IS NOT NULL AND " HN_SESSION_INTACT(""),
     look_at_rule},
    {"",
     "SELECT " HN_RECORD_COLUMNS("r.") ", json_extract(s.task, '$.objective') FROM record r"
                                       " JOIN session s ON s.id = r.session_id"
                                       " WHERE json_valid(s.task) AND " HN_RECORD_INTACT("r."),
     look_at_record},
    {"", "SELECT " HN_IMAGE_COLUMNS("") " FROM image", look_at_image},
};

static void run_check(struct hn_store *store, const struct check *check, struct hn_text *report,
                      struct hn_error *err)
{
    struct hn_statement *statement = hn_database_prepare(store->database, check->sql, err);
    while (hn_statement_step(statement, err)) {
        struct hn_error finding;
        hn_error_init(&finding);
        check->look(store, statement, &finding);
        if (finding.status == HN_ENOMEM)
            hn_fail_memory(err);
        else if (hn_failed(&finding))
            hn_text_printf(report, "%s%s\n", check->title, finding.message);
    }
    hn_statement_finish(statement);
}

enum hn_status hn_store_check(struct hn_store *store, struct hn_text *report, struct hn_error *err)
{
    struct hn_error own;
    size_t before = report->length;
    err = hn_error_begin(err, &own);
    hn_database_set_patience(store->database, INFINITY);
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        run_check(store, &checks[i], report, err);
    if (!hn_failed(err) && report->failed)
        hn_fail_memory(err);
    if (!hn_failed(err) && report->length > before)
        hn_fail(err, HN_EFORMAT, "cache '%s' is damaged", store->path);
    return err->status;
}
