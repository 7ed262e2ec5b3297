/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "cache/store/store_internal.h"
#include "cache/store/store_roofs.h"

/* Keeping a cache in order: looking whether it is whole, and taking out what nobody wants. */

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
    struct hn_store_head head HN_ENDED_BY(hn_store_head_finish) = {.origin = NULL};
    hn_store_read_head(store, statement, &head, finding);
    if (!hn_failed(finding)) {
        hn_document_check("rule", &hn_rule_structure, head.rule, finding);
        hn_store_name_failure(store, "the rule of a family", finding);
    }
}

/* Of a row whose text and whether it is intact are its first columns. */
static void look_at_document(const struct hn_store *store, struct hn_statement *statement,
                             const char *what, const struct hn_structure *structure,
                             struct hn_error *finding)
{
    hn_store_expect_intact(store, hn_column_integer(statement, 1) != 0, what, finding);
    if (hn_failed(finding))
        return;
    hn_document_check(what, structure, hn_column_text(statement, 0), finding);
    hn_store_name_failure(store, what, finding);
}

static void look_at_plan(struct hn_store *store, struct hn_statement *row, struct hn_error *finding)
{
    look_at_document(store, row, "a plan", &hn_stored_plan_structure, finding);
}

static void look_at_roof(struct hn_store *store, struct hn_statement *row, struct hn_error *finding)
{
    look_at_document(store, row, "a roof", &hn_roofs_structure, finding);
}

static void look_at_record(struct hn_store *store, struct hn_statement *statement,
                           struct hn_error *finding)
{
    struct hn_record record HN_ENDED_BY(hn_record_finish) = {0};
    hn_store_read_record(store, statement, hn_column_text(statement, HN_RECORD_COLUMN_COUNT),
                         &record, finding);
}

static void look_at_image(struct hn_store *store, struct hn_statement *statement,
                          struct hn_error *finding)
{
    struct hn_store_image image;
    hn_store_read_image(store, statement, &image, finding);
}

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
    {"not there: ",
     "SELECT 'the plan of session ' || id FROM session"
     " WHERE plan IS NOT NULL AND plan NOT IN (SELECT hash FROM plan)",
     look_at_finding},
    {"", "SELECT " HN_HEAD_COLUMNS("") " FROM session", look_at_head},
    {"", "SELECT json, " HN_PLAN_INTACT("") " FROM plan", look_at_plan},
    {"", "SELECT json, " HN_ROOF_INTACT("") " FROM roof", look_at_roof},
    {"",
     "SELECT " HN_RECORD_COLUMNS("r.") ", CASE WHEN json_valid(s.task) THEN"
                                       " json_extract(s.task, '$.objective') END FROM record r"
                                       " JOIN session s ON s.id = r.session_id",
     look_at_record},
    {"", "SELECT " HN_IMAGE_COLUMNS("") " FROM image", look_at_image},
};

enum hn_status hn_store_check(struct hn_store *store, struct hn_text *report, struct hn_error *err)
{
    size_t before = report->length;
    hn_error_init(err);
    hn_database_set_patience(store->database, INFINITY);
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        struct hn_statement *statement =
            hn_database_prepare(store->database, err, checks[i].sql, "");
        while (hn_statement_next(&statement, err)) {
            struct hn_error finding = {.status = HN_OK};
            checks[i].look(store, statement, &finding);
            if (finding.status == HN_ENOMEM)
                hn_fail_memory(err);
            else if (hn_failed(&finding))
                hn_text_printf(report, "%s%s\n", checks[i].title, finding.message);
        }
    }
    if (!hn_failed(err) && report->failed)
        hn_fail_memory(err);
    if (!hn_failed(err) && report->length > before)
        hn_fail(err, HN_EFORMAT, "cache '%s' is damaged", store->path);
    return err->status;
}

/* ?1: the kernel or NULL, ?2: stale, ?3: simulated, ?4: before. `newest` has, of each tuning, the
 * version that counts: that of its newest session with a valid record, of a family with a rule. */
static const char doom[] =
    "WITH good AS (SELECT s.task, s.simulated, s.version, ROW_NUMBER() OVER (PARTITION BY"
    " s.task, s.simulated ORDER BY s.source <> '', s.started DESC, s.id DESC) AS age FROM"
    " session s WHERE s.rule IS NOT NULL"
    " OR EXISTS(SELECT 1 FROM record r WHERE r.session_id = s.id AND r.outcome = 'ok')),"
    " newest AS (SELECT * FROM good WHERE age = 1)"
    " INSERT INTO doomed SELECT s.id FROM session s"
    " LEFT JOIN newest n ON n.task = s.task AND n.simulated = s.simulated"
    " WHERE (?1 IS NULL OR s.kernel = ?1) AND ((?3 AND s.simulated)"
    " OR (?2 AND n.version IS NOT NULL AND n.version <> s.version)"
    " OR (s.started < ?4 AND s.id NOT IN (SELECT id FROM best)))";

/* Of the doomed sessions, and of images that no other session has a use for. */
static const char doom_images[] =
    "INSERT INTO doomed_image SELECT i.rowid FROM image i"
    " WHERE (?1 IS NULL OR i.kernel = ?1) AND (?2 OR NOT EXISTS(SELECT 1 FROM session s"
    " WHERE s.kernel = i.kernel AND s.problem = i.problem AND s.task = i.task"
    " AND s.version = i.version AND s.id NOT IN (SELECT id FROM doomed)))";

/* Sessions that hold nothing but images, for the words of a family whose rule counts. */
static const char images_of_rules[] =
    "INSERT OR IGNORE INTO best SELECT s.id FROM session s"
    " WHERE s.rule IS NULL AND NOT EXISTS(SELECT 1 FROM record c WHERE c.session_id = s.id)"
    " AND EXISTS(SELECT 1 FROM session r WHERE r.rule IS NOT NULL"
    " AND r.id IN (SELECT id FROM best) AND r.version = s.version AND r.kernel = s.kernel"
    " AND json_extract(r.task, '$.device.name') = json_extract(s.task, '$.device.name'))";

/* In the order in which rows refer to one another. */
static const char removal[] =
    "DELETE FROM image WHERE rowid IN (SELECT id FROM doomed_image);"
    "DELETE FROM record WHERE session_id IN (SELECT id FROM doomed);"
    "DELETE FROM session WHERE id IN (SELECT id FROM doomed);"
    "DELETE FROM plan WHERE hash NOT IN (SELECT plan FROM session WHERE plan IS NOT NULL)";

enum hn_status hn_store_prune(struct hn_store *store, const struct hn_prune *prune,
                              struct hn_pruned *pruned, struct hn_error *err)
{
    static const char mark[] = "INSERT OR IGNORE INTO best VALUES(?)";
    static const enum hn_store_listed kept[] = {HN_STORE_RESULTS, HN_STORE_RULES};
    struct hn_database *database = store->database;
    assert(store->mode == HN_STORE_WRITE);
    hn_error_init(err);
    hn_database_run(database,
                    "BEGIN IMMEDIATE; CREATE TEMP TABLE best(id INTEGER PRIMARY KEY);"
                    "CREATE TEMP TABLE doomed(id INTEGER PRIMARY KEY);"
                    "CREATE TEMP TABLE doomed_image(id INTEGER PRIMARY KEY)",
                    err);
    for (size_t i = 0; i < sizeof kept / sizeof *kept && !hn_failed(err); i++) {
        struct hn_tuned_list list HN_ENDED_BY(hn_tuned_list_free) = {0};
        (void)hn_store_list(store, kept[i], prune->kernel, NULL, &list, err);
        for (size_t k = 0; k < list.count; k++)
            (void)hn_database_do(database, err, mark, "i", list.items[k].session_id);
    }
    hn_database_run(database, images_of_rules, err);
    hn_database_do(database, err, doom, "tiir", prune->kernel, (int64_t)prune->stale,
                   (int64_t)prune->simulated, prune->before);
    hn_database_do(database, err, doom_images, "ti", prune->kernel, (int64_t)prune->images);
    *pruned = (struct hn_pruned){.sessions = 0};
    (void)hn_database_do(database, err,
                         "SELECT (SELECT count(*) FROM doomed), (SELECT count(*) FROM record"
                         " WHERE session_id IN (SELECT id FROM doomed)), count(*),"
                         " coalesce(sum(length(cubin)), 0) FROM image"
                         " WHERE rowid IN (SELECT id FROM doomed_image)",
                         ">iiii", &pruned->sessions, &pruned->records, &pruned->images,
                         &pruned->image_bytes);
    if (!prune->dry_run)
        hn_database_run(database, removal, err);
    hn_database_run(database,
                    "DROP TABLE temp.best; DROP TABLE temp.doomed; DROP TABLE temp.doomed_image",
                    err);
    (void)hn_database_commit(database, err);
    if (!prune->dry_run && pruned->sessions + pruned->images > 0)
        hn_database_run(database, "VACUUM", err);
    return err->status;
}
