/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "cache/store/store_internal.h"
#include "cache/store/store_prune.h"
#include "cache/store/store_rules.h"

/* ?1: the kernel or NULL, ?2: stale, ?3: simulated, ?4: before. `newest` has, of each tuning, the
 * version that counts: that of its newest session with a valid record, of a family with a rule. */
static const char doom[] =
    "WITH good AS (SELECT s.task_id, s.simulated, s.version_id, ROW_NUMBER() OVER (PARTITION BY"
    " s.task_id, s.simulated ORDER BY s.source <> '', s.started DESC, s.id DESC) AS age FROM "
    "session s"
    " WHERE EXISTS(SELECT 1 FROM record r WHERE r.session_id = s.id AND r.outcome = 'ok')"
    " OR s.id IN (SELECT session_id FROM rule)),"
    " newest AS (SELECT * FROM good WHERE age = 1)"
    " INSERT INTO doomed SELECT s.id FROM session s JOIN task t ON t.id = s.task_id"
    " LEFT JOIN newest n ON n.task_id = s.task_id AND n.simulated = s.simulated"
    " WHERE (?1 IS NULL OR t.kernel = ?1) AND ((?3 AND s.simulated)"
    " OR (?2 AND n.version_id IS NOT NULL AND n.version_id <> s.version_id)"
    " OR (s.started < ?4 AND s.id NOT IN (SELECT id FROM best)))";

static enum hn_status run_bound(struct hn_store *store, const char *sql,
                                const struct hn_prune *prune, struct hn_error *err)
{
    struct hn_statement *statement;
    enum hn_status status = hn_database_prepare(store->database, sql, &statement, err);
    if (status == HN_OK) {
        hn_bind_text(statement, prune->kernel);
        hn_bind_integer(statement, prune->stale);
        hn_bind_integer(statement, prune->simulated);
        hn_bind_real(statement, prune->before);
        status = hn_statement_run(statement, err);
    }
    hn_statement_finish(statement);
    return status;
}

static enum hn_status add_session(struct hn_store *store, int64_t session_id, struct hn_error *err)
{
    struct hn_statement *statement;
    enum hn_status status = hn_database_prepare(
        store->database, "INSERT OR IGNORE INTO best VALUES(?)", &statement, err);
    if (status == HN_OK) {
        hn_bind_integer(statement, session_id);
        status = hn_statement_run(statement, err);
    }
    hn_statement_finish(statement);
    return status;
}

/* Sessions that hold nothing but images, for the words of a family whose rule counts. */
static const char images_of_rules[] =
    "INSERT OR IGNORE INTO best SELECT s.id FROM session s JOIN task t ON t.id = s.task_id"
    " WHERE NOT EXISTS(SELECT 1 FROM record c WHERE c.session_id = s.id)"
    " AND s.id NOT IN (SELECT session_id FROM rule)"
    " AND EXISTS(SELECT 1 FROM rule u JOIN session r ON r.id = u.session_id"
    " JOIN task f ON f.id = r.task_id WHERE r.id IN (SELECT id FROM best)"
    " AND r.version_id = s.version_id AND f.kernel = t.kernel AND f.device = t.device)";

static enum hn_status add_best(struct hn_store *store, const char *kernel, struct hn_error *err)
{
    struct hn_tuned_list list = {.count = 0};
    struct hn_stored_rules rules = {.count = 0};
    enum hn_status status = hn_store_list(store, kernel, &list, err);
    if (status == HN_OK)
        status = hn_store_get_rules(store, kernel, &rules, err);
    for (size_t i = 0; status == HN_OK && i < list.count; i++)
        status = add_session(store, list.items[i].session_id, err);
    for (size_t i = 0; status == HN_OK && i < rules.count; i++)
        status = add_session(store, rules.items[i].session_id, err);
    if (status == HN_OK)
        status = hn_database_run(store->database, images_of_rules, err);
    hn_tuned_list_free(&list);
    hn_stored_rules_free(&rules);
    return status;
}

/* Of the doomed sessions, and of images that no other session has a use for. */
static const char doom_images[] =
    "INSERT INTO doomed_image SELECT i.rowid FROM image i JOIN task t ON t.id = i.task_id"
    " WHERE (?1 IS NULL OR t.kernel = ?1) AND (?2 OR NOT EXISTS(SELECT 1 FROM session s"
    " WHERE s.task_id = i.task_id AND s.version_id = i.version_id"
    " AND s.id NOT IN (SELECT id FROM doomed)))";

static enum hn_status find_images(struct hn_store *store, const struct hn_prune *prune,
                                  struct hn_error *err)
{
    struct hn_statement *statement;
    enum hn_status status = hn_database_prepare(store->database, doom_images, &statement, err);
    if (status == HN_OK) {
        hn_bind_text(statement, prune->kernel);
        hn_bind_integer(statement, prune->images);
        status = hn_statement_run(statement, err);
    }
    hn_statement_finish(statement);
    return status;
}

static enum hn_status count(struct hn_store *store, struct hn_pruned *pruned, struct hn_error *err)
{
    const struct {
        const char *sql;
        int64_t *value;
    } counts[] = {
        {"SELECT count(*) FROM doomed", &pruned->sessions},
        {"SELECT count(*) FROM record WHERE session_id IN (SELECT id FROM doomed)",
         &pruned->records},
        {"SELECT count(*) FROM doomed_image", &pruned->images},
        {"SELECT coalesce(sum(length(cubin)), 0) FROM image WHERE rowid IN (SELECT id FROM"
         " doomed_image)",
         &pruned->image_bytes},
    };
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < sizeof counts / sizeof *counts; i++)
        status = hn_database_integer(store->database, counts[i].sql, counts[i].value, err);
    return status;
}

/* In the order in which rows refer to one another. */
static const char removal[] =
    "DELETE FROM image WHERE rowid IN (SELECT id FROM doomed_image);"
    "DELETE FROM rule WHERE session_id IN (SELECT id FROM doomed);"
    "DELETE FROM record WHERE session_id IN (SELECT id FROM doomed);"
    "DELETE FROM session WHERE id IN (SELECT id FROM doomed);"
    "DELETE FROM plan_file WHERE version_id NOT IN (SELECT version_id FROM session);"
    "DELETE FROM plan WHERE version_id NOT IN (SELECT version_id FROM session);"
    "DELETE FROM version WHERE id NOT IN (SELECT version_id FROM session)"
    " AND id NOT IN (SELECT version_id FROM image);"
    "DELETE FROM task WHERE id NOT IN (SELECT task_id FROM session)"
    " AND id NOT IN (SELECT task_id FROM image);";

static enum hn_status prune_within(struct hn_store *store, const struct hn_prune *prune,
                                   struct hn_pruned *pruned, struct hn_error *err)
{
    enum hn_status status = add_best(store, prune->kernel, err);
    if (status == HN_OK)
        status = run_bound(store, doom, prune, err);
    if (status == HN_OK)
        status = find_images(store, prune, err);
    if (status == HN_OK)
        status = count(store, pruned, err);
    if (status == HN_OK && !prune->dry_run)
        status = hn_database_run(store->database, removal, err);
    return status;
}

enum hn_status hn_store_prune(struct hn_store *store, const struct hn_prune *prune,
                              struct hn_pruned *pruned, struct hn_error *err)
{
    assert(store->mode == HN_STORE_WRITE);
    *pruned = (struct hn_pruned){.sessions = 0};
    enum hn_status status =
        hn_database_run(store->database,
                        "BEGIN IMMEDIATE; CREATE TEMP TABLE best(id INTEGER PRIMARY KEY);"
                        "CREATE TEMP TABLE doomed(id INTEGER PRIMARY KEY);"
                        "CREATE TEMP TABLE doomed_image(id INTEGER PRIMARY KEY)",
                        err);
    if (status == HN_OK)
        status = prune_within(store, prune, pruned, err);
    if (status == HN_OK)
        status = hn_database_run(store->database,
                                 "DROP TABLE temp.best; DROP TABLE temp.doomed;"
                                 "DROP TABLE temp.doomed_image; COMMIT",
                                 err);
    hn_database_rollback(store->database);
    if (status == HN_OK && !prune->dry_run && pruned->sessions + pruned->images > 0)
        status = hn_database_run(store->database, "VACUUM", err);
    return status;
}
