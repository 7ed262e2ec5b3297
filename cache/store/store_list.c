/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "cache/store/store_base_part.h"
#include "cache/store/store_best.h"
#include "cache/store/store_history.h"
#include "cache/store/store_internal.h"

void hn_tuned_list_free(struct hn_tuned_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        hn_identity_finish(&list->items[i].identity);
        hn_record_finish(&list->items[i].best);
    }
    free(list->items);
    *list = (struct hn_tuned_list){.items = NULL};
}

/* A record by its id with the origin of its session; ?2: with how many points were measured of the
 * task and version. */
/* clang-format off */
static const char record[] =
    "SELECT " HN_RECORD_COLUMNS("r.") ", s.id, s.machine, s.source, s.imported,"
    " CASE WHEN ?2 THEN (SELECT count(DISTINCT a.point) FROM session n"
    " JOIN record a ON a.session_id = n.id WHERE n.task_id = s.task_id"
    " AND n.version_id = s.version_id AND n.simulated = s.simulated) ELSE 0 END"
    " FROM record r JOIN session s ON s.id = r.session_id WHERE r.id = ?1";
/* clang-format on */

/* What is being listed. */
struct listing {
    struct hn_store *store;
    struct hn_statement *tasks;
    struct hn_store_best best;
    struct hn_statement *record;
    bool count; /* the points of each task */
    struct hn_tuned_list *list;
    size_t capacity;
};

static enum hn_status read_best(const struct listing *listing, struct hn_tuned *tuned,
                                struct hn_error *err)
{
    struct hn_statement *statement = listing->record;
    tuned->session_id = hn_column_integer(statement, HN_RECORD_COLUMN_COUNT);
    tuned->points = hn_column_integer(statement, HN_RECORD_COLUMN_COUNT + 4);
    enum hn_status status = hn_store_read_record(listing->store, statement,
                                                 tuned->identity.objective, &tuned->best, err);
    if (status == HN_OK)
        status = hn_read_origin(statement, HN_RECORD_COLUMN_COUNT + 1, &tuned->origin, err);
    return status == HN_OK ? hn_statement_run(statement, err) : status; /* for the next task */
}

static enum hn_status find_best(const struct listing *listing, struct hn_tuned *tuned, bool *found,
                                struct hn_error *err)
{
    int64_t id = 0;
    struct hn_statement *tasks = listing->tasks;
    const struct hn_store_scope scope = {hn_column_integer(tasks, 0), hn_column_integer(tasks, 1),
                                         hn_column_integer(tasks, 2) != 0};
    enum hn_status status = hn_store_best_find(&listing->best, &scope, &id, err);
    *found = false;
    if (status != HN_OK || id == 0)
        return status;
    hn_bind_integer(listing->record, id);
    hn_bind_integer(listing->record, listing->count);
    status = hn_statement_step(listing->record, found, err);
    return status == HN_OK && *found ? read_best(listing, tuned, err) : status;
}

static enum hn_status read_tuned(const struct listing *listing, struct hn_tuned *tuned, bool *found,
                                 struct hn_error *err)
{
    struct hn_statement *tasks = listing->tasks;
    tuned->simulated = hn_column_integer(tasks, 2) != 0;
    enum hn_status status = hn_store_expect_intact(listing->store, tasks, 19,
                                                   "a tuning (its task, version or session)", err);
    if (status == HN_OK)
        status = hn_read_version(tasks, 13, &tuned->version, err);
    if (status == HN_OK)
        status = hn_read_identity(tasks, 4, &tuned->identity, err);
    int protocol = tuned->version.protocol;
    tuned->stale = hn_column_integer(tasks, 3) != 0 ||
                   (protocol != HN_MEASURING_PROTOCOL && protocol != HN_KERNEL_TUNER_PROTOCOL);
    return status == HN_OK ? find_best(listing, tuned, found, err) : status;
}

static enum hn_status append_tuned(struct listing *listing, struct hn_error *err)
{
    struct hn_tuned_list *list = listing->list;
    if (list->count == listing->capacity) {
        size_t capacity = list->count == 0 ? 8 : 2 * list->count;
        struct hn_tuned *grown = realloc(list->items, capacity * sizeof *grown);
        if (grown == NULL)
            return hn_fail_memory(err);
        list->items = grown;
        listing->capacity = capacity;
    }
    struct hn_tuned *tuned = &list->items[list->count++];
    *tuned = (struct hn_tuned){.points = 0};
    hn_identity_init(&tuned->identity);
    hn_record_init(&tuned->best);
    bool found = false;
    enum hn_status status = read_tuned(listing, tuned, &found, err);
    if (status == HN_OK && !found) {
        hn_identity_finish(&tuned->identity);
        list->count--;
    }
    return status;
}

/* A row for each task, measured and simulated apart, with the version of its newest session that
 * has an ok record (?2: or each version that has one), and whether a still newer session had
 * another version. With ?3 of that problem only. */
/* clang-format off */
static const char tasks[] =
    "WITH ranked AS (SELECT s.task_id, s.version_id, s.simulated, " HN_SESSION_INTACT("s.") " AS intact,"
    " EXISTS(SELECT 1 FROM record r WHERE r.session_id = s.id AND r.outcome = 'ok') AS good,"
    " ROW_NUMBER() OVER (PARTITION BY s.task_id, s.simulated"
    " ORDER BY s.source <> '', s.started DESC, s.id DESC) AS age"
    " FROM task k CROSS JOIN session s ON s.task_id = k.id"
    " WHERE (?1 IS NULL OR k.kernel = ?1) AND (?3 IS NULL OR k.problem = ?3)),"
    " best AS (SELECT *, ROW_NUMBER() OVER (PARTITION BY task_id, simulated ORDER BY age) AS place,"
    " ROW_NUMBER() OVER (PARTITION BY task_id, simulated, version_id ORDER BY age) AS version_place"
    " FROM ranked WHERE good)"
    " SELECT t.id, v.id, b.simulated, EXISTS(SELECT 1 FROM ranked n WHERE n.task_id = t.id"
    " AND n.simulated = b.simulated AND n.age < b.age AND n.version_id <> b.version_id),"
    " t.kernel, t.signature, t.problem, t.regime, t.objective, t.device, t.capability, t.sm_count,"
    " t.mig_profile, v.template_hash, v.options_hash, v.plan_hash, v.driver, v.nvrtc, v.protocol,"
    " b.intact AND " HN_TASK_INTACT("t.") " AND " HN_VERSION_INTACT("v.")
    " FROM best b JOIN task t ON t.id = b.task_id JOIN version v ON v.id = b.version_id"
    " WHERE b.place = 1 OR (?2 AND b.version_place = 1)"
    " ORDER BY t.kernel, t.device, t.capability, t.sm_count, t.mig_profile, t.problem, t.regime,"
    " t.objective, t.signature, b.simulated, b.age";
/* clang-format on */

static enum hn_status list_tasks(struct listing *listing, const char *kernel, const char *problem,
                                 bool versions, struct hn_error *err)
{
    struct hn_database *database = listing->store->database;
    bool row = false;
    *listing->list = (struct hn_tuned_list){.items = NULL};
    enum hn_status status = hn_database_prepare(database, tasks, &listing->tasks, err);
    if (status == HN_OK)
        status = hn_store_best_prepare(database, &listing->best, err);
    if (status == HN_OK)
        status = hn_database_prepare(database, record, &listing->record, err);
    if (status == HN_OK) {
        hn_bind_text(listing->tasks, kernel);
        hn_bind_integer(listing->tasks, versions);
        hn_bind_text(listing->tasks, problem);
        status = hn_statement_step(listing->tasks, &row, err);
    }
    while (status == HN_OK && row) {
        status = append_tuned(listing, err);
        if (status == HN_OK)
            status = hn_statement_step(listing->tasks, &row, err);
    }
    hn_statement_finish(listing->record);
    hn_store_best_finish(&listing->best);
    hn_statement_finish(listing->tasks);
    if (status != HN_OK)
        hn_tuned_list_free(listing->list);
    return status;
}

/* What is asked of a cache, and of the one under it. */
static enum hn_status list_both(const struct listing *asked, const char *kernel,
                                const struct hn_bindings *problem, bool versions,
                                struct hn_error *err)
{
    struct listing listing = *asked;
    struct hn_store *base = asked->store->base;
    struct hn_tuned_list more = {.items = NULL};
    *listing.list = (struct hn_tuned_list){.items = NULL};
    char *text = problem == NULL ? NULL : hn_store_text_of(problem);
    if (problem != NULL && text == NULL)
        return hn_fail_memory(err);
    enum hn_status status = list_tasks(&listing, kernel, text, versions, err);
    if (status == HN_OK && base != NULL) {
        struct listing under = {.store = base, .count = asked->count, .list = &more};
        status = list_tasks(&under, kernel, text, versions, err);
        if (status == HN_OK)
            status = hn_base_join(base, asked->list, &more, versions, err);
        hn_tuned_list_free(&more);
        if (status != HN_OK)
            hn_tuned_list_free(asked->list);
    }
    free(text);
    return status;
}

enum hn_status hn_store_list(struct hn_store *store, const char *kernel, struct hn_tuned_list *list,
                             struct hn_error *err)
{
    const struct listing listing = {.store = store, .count = true, .list = list};
    return list_both(&listing, kernel, NULL, false, err);
}

enum hn_status hn_store_list_problem(struct hn_store *store, const char *kernel,
                                     const struct hn_bindings *problem, struct hn_tuned_list *list,
                                     struct hn_error *err)
{
    const struct listing listing = {.store = store, .list = list};
    return list_both(&listing, kernel, problem, false, err);
}

enum hn_status hn_store_list_versions(struct hn_store *store, const char *kernel,
                                      struct hn_tuned_list *list, struct hn_error *err)
{
    const struct listing listing = {.store = store, .count = true, .list = list};
    return list_both(&listing, kernel, NULL, true, err);
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
