/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "cache/store_history.h"
#include "cache/store_internal.h"
#include "cache/store_newest.h"

void hn_tuned_list_free(struct hn_tuned_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        hn_identity_finish(&list->items[i].identity);
        hn_record_finish(&list->items[i].best);
    }
    free(list->items);
    *list = (struct hn_tuned_list){.items = NULL};
}

/* Where the rows of a task are, before its best is looked up. */
struct place {
    int64_t task_id;
    int64_t version_id;
};

static enum hn_status read_best(struct hn_store *store, struct hn_statement *statement,
                                struct hn_tuned *tuned, struct hn_error *err)
{
    tuned->session_id = hn_column_integer(statement, 2);
    tuned->points = hn_column_integer(statement, 3);
    return hn_store_parse_record(store, hn_column_text(statement, 1),
                                 hn_column_integer(statement, 0), &tuned->best, err);
}

static enum hn_status find_best(struct hn_store *store, const struct place *place,
                                struct hn_tuned *tuned, bool *found, struct hn_error *err)
{
    struct hn_statement *statement;
    enum hn_status status = hn_database_prepare(
        store->database,
        HN_NEWEST "SELECT id, json, session_id, (SELECT count(*) FROM newest WHERE place = 1)"
                  " FROM newest WHERE place = 1 AND outcome = 'ok' AND objective IS NOT NULL"
                  " ORDER BY final DESC, CASE WHEN final THEN started END DESC,"
                  " CASE WHEN final THEN session_id END DESC, objective, point LIMIT 1",
        &statement, err);
    if (status == HN_OK) {
        hn_bind_newest(statement, place->task_id, place->version_id, tuned->simulated);
        status = hn_statement_step(statement, found, err);
    }
    if (status == HN_OK && *found)
        status = read_best(store, statement, tuned, err);
    hn_statement_finish(statement);
    return status;
}

static enum hn_status read_tuned(struct hn_store *store, struct hn_statement *statement,
                                 struct hn_tuned *tuned, bool *found, struct hn_error *err)
{
    struct place place = {hn_column_integer(statement, 0), hn_column_integer(statement, 1)};
    tuned->simulated = hn_column_integer(statement, 2) != 0;
    hn_read_version(statement, 13, &tuned->version);
    tuned->stale =
        hn_column_integer(statement, 3) != 0 || tuned->version.protocol != HN_MEASURING_PROTOCOL;
    enum hn_status status = hn_read_identity(statement, 4, &tuned->identity, err);
    return status == HN_OK ? find_best(store, &place, tuned, found, err) : status;
}

static enum hn_status append_tuned(struct hn_store *store, struct hn_statement *statement,
                                   struct hn_tuned_list *list, struct hn_error *err)
{
    struct hn_tuned *grown = realloc(list->items, (list->count + 1) * sizeof *list->items);
    if (grown == NULL)
        return hn_fail_memory(err);
    list->items = grown;
    struct hn_tuned *tuned = &list->items[list->count++];
    *tuned = (struct hn_tuned){.points = 0};
    hn_identity_init(&tuned->identity);
    hn_record_init(&tuned->best);
    bool found = false;
    enum hn_status status = read_tuned(store, statement, tuned, &found, err);
    if (status == HN_OK && !found) {
        hn_identity_finish(&tuned->identity);
        list->count--;
    }
    return status;
}

/* A row for each task, measured and simulated apart, with the version of its newest session that
 * has an ok record (?2: or each version that has one), and whether a still newer session had
 * another version. With ?3 of that problem only. */
static const char tasks[] =
    "WITH ranked AS (SELECT s.task_id, s.version_id, s.simulated,"
    " EXISTS(SELECT 1 FROM record r WHERE r.session_id = s.id AND r.outcome = 'ok') AS good,"
    " ROW_NUMBER() OVER (PARTITION BY s.task_id, s.simulated ORDER BY s.started DESC, s.id DESC)"
    " AS age FROM session s"
    " WHERE ?3 IS NULL OR s.task_id IN (SELECT id FROM task WHERE kernel = ?1 AND problem = ?3)),"
    " best AS (SELECT *, ROW_NUMBER() OVER (PARTITION BY task_id, simulated ORDER BY age) AS place,"
    " ROW_NUMBER() OVER (PARTITION BY task_id, simulated, version_id ORDER BY age) AS version_place"
    " FROM ranked WHERE good)"
    " SELECT t.id, v.id, b.simulated, EXISTS(SELECT 1 FROM ranked n WHERE n.task_id = t.id"
    " AND n.simulated = b.simulated AND n.age < b.age AND n.version_id <> b.version_id),"
    " t.kernel, t.signature, t.problem, t.regime, t.objective, t.device, t.capability, t.sm_count,"
    " t.mig_profile, v.template_hash, v.options_hash, v.plan_hash, v.driver, v.nvrtc, v.protocol"
    " FROM best b JOIN task t ON t.id = b.task_id JOIN version v ON v.id = b.version_id"
    " WHERE (b.place = 1 OR (?2 AND b.version_place = 1)) AND (?1 IS NULL OR t.kernel = ?1)"
    " ORDER BY t.kernel, t.device, t.capability, t.sm_count, t.mig_profile, t.problem, t.regime,"
    " t.objective, t.signature, b.simulated, b.age";

static enum hn_status list_tasks(struct hn_store *store, const char *kernel, const char *problem,
                                 bool versions, struct hn_tuned_list *list, struct hn_error *err)
{
    struct hn_statement *statement;
    bool row = false;
    *list = (struct hn_tuned_list){.items = NULL};
    enum hn_status status = hn_database_prepare(store->database, tasks, &statement, err);
    if (status == HN_OK) {
        hn_bind_text(statement, kernel);
        hn_bind_integer(statement, versions);
        hn_bind_text(statement, problem);
        status = hn_statement_step(statement, &row, err);
    }
    while (status == HN_OK && row) {
        status = append_tuned(store, statement, list, err);
        if (status == HN_OK)
            status = hn_statement_step(statement, &row, err);
    }
    hn_statement_finish(statement);
    if (status != HN_OK)
        hn_tuned_list_free(list);
    return status;
}

enum hn_status hn_store_list(struct hn_store *store, const char *kernel, struct hn_tuned_list *list,
                             struct hn_error *err)
{
    return list_tasks(store, kernel, NULL, false, list, err);
}

enum hn_status hn_store_list_problem(struct hn_store *store, const char *kernel,
                                     const struct hn_bindings *problem, struct hn_tuned_list *list,
                                     struct hn_error *err)
{
    *list = (struct hn_tuned_list){.items = NULL};
    char *text = hn_store_text_of(problem);
    if (text == NULL)
        return hn_fail_memory(err);
    enum hn_status status = list_tasks(store, kernel, text, false, list, err);
    free(text);
    return status;
}

enum hn_status hn_store_list_versions(struct hn_store *store, const char *kernel,
                                      struct hn_tuned_list *list, struct hn_error *err)
{
    return list_tasks(store, kernel, NULL, true, list, err);
}

enum hn_status hn_store_get_command(struct hn_store *store, int64_t session_id, char **command,
                                    struct hn_error *err)
{
    struct hn_statement *statement;
    bool row = false;
    *command = NULL;
    enum hn_status status = hn_database_prepare(
        store->database, "SELECT command FROM session WHERE id = ?", &statement, err);
    if (status == HN_OK) {
        hn_bind_integer(statement, session_id);
        status = hn_statement_step(statement, &row, err);
    }
    if (status == HN_OK && row && hn_column_text(statement, 0)[0] != '\0') {
        *command = strdup(hn_column_text(statement, 0));
        if (*command == NULL)
            status = hn_fail_memory(err);
    }
    hn_statement_finish(statement);
    return status;
}
