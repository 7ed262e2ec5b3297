/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "cache/store/store_internal.h"

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

static void add_best(struct hn_store *store, const char *kernel, struct hn_error *err)
{
    struct hn_tuned_list list = {.count = 0};
    struct hn_stored_rules rules = {.count = 0};
    if (!hn_failed(err) && hn_store_list(store, kernel, &list, err) == HN_OK)
        (void)hn_store_get_rules(store, kernel, &rules, err);
    struct hn_statement *statement =
        hn_database_prepare(store->database, "INSERT OR IGNORE INTO best VALUES(?)", err);
    for (size_t i = 0; i < list.count + rules.count; i++) {
        hn_bind_integer(statement, i < list.count ? list.items[i].session_id
                                                  : rules.items[i - list.count].session_id);
        hn_statement_run(statement, err);
    }
    hn_statement_finish(statement);
    hn_database_run(store->database, images_of_rules, err);
    hn_tuned_list_free(&list);
    hn_stored_rules_free(&rules);
}

static void find_doomed(struct hn_store *store, const struct hn_prune *prune, struct hn_error *err)
{
    struct hn_statement *sessions = hn_database_prepare(store->database, doom, err);
    hn_bind_text(sessions, prune->kernel);
    hn_bind_integer(sessions, prune->stale);
    hn_bind_integer(sessions, prune->simulated);
    hn_bind_real(sessions, prune->before);
    hn_statement_run(sessions, err);
    hn_statement_finish(sessions);
    struct hn_statement *images = hn_database_prepare(store->database, doom_images, err);
    hn_bind_text(images, prune->kernel);
    hn_bind_integer(images, prune->images);
    hn_statement_run(images, err);
    hn_statement_finish(images);
}

enum hn_status hn_store_prune(struct hn_store *store, const struct hn_prune *prune,
                              struct hn_pruned *pruned, struct hn_error *err)
{
    struct hn_error own;
    struct hn_database *database = store->database;
    assert(store->mode == HN_STORE_WRITE);
    err = hn_error_begin(err, &own);
    hn_database_run(database,
                    "BEGIN IMMEDIATE; CREATE TEMP TABLE best(id INTEGER PRIMARY KEY);"
                    "CREATE TEMP TABLE doomed(id INTEGER PRIMARY KEY);"
                    "CREATE TEMP TABLE doomed_image(id INTEGER PRIMARY KEY)",
                    err);
    add_best(store, prune->kernel, err);
    find_doomed(store, prune, err);
    *pruned = (struct hn_pruned){
        .sessions = hn_database_integer(database, "SELECT count(*) FROM doomed", err),
        .records = hn_database_integer(database,
                                       "SELECT count(*) FROM record WHERE session_id IN"
                                       " (SELECT id FROM doomed)",
                                       err),
        .images = hn_database_integer(database, "SELECT count(*) FROM doomed_image", err),
        .image_bytes = hn_database_integer(database,
                                           "SELECT coalesce(sum(length(cubin)), 0) FROM image"
                                           " WHERE rowid IN (SELECT id FROM doomed_image)",
                                           err),
    };
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
