/* SPDX-License-Identifier: MIT */
#include "cache/store/store_best.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cache/store/store_newest.h"

/* Many sessions may have measured the same points of one task. They are gone through from the one
 * that counts first; of each the best record that counts is asked for, but of those that are not
 * of a race only where it would be better than what is found already. So the older ones cost a look
 * into an index, and no more. */

#define SAME " task_id = ?1 AND version_id = ?2 AND simulated = ?3"
#define ORDER " ORDER BY source <> '', started DESC, id DESC"
#define BEFORE(session) "(" session ".source <> '', -" session ".started, -" session ".id)"

/* clang-format off */
static const char sessions[] = "SELECT id, source <> '' FROM session WHERE" SAME ORDER;

/* Of sessions that were before the record's own only an unverified one has anything to fear
 * (HN_PLACE), so that their records are not looked at. */
static const char record[] =
    "WITH newest AS MATERIALIZED (SELECT id, source, started FROM session WHERE" SAME ORDER ")"
    " SELECT c.id, c.final, c.objective, c.point FROM session s JOIN record c ON c.session_id = s.id"
    " WHERE s.id = ?4 AND (c.final OR c.objective <= ?5) AND c.outcome = 'ok' AND c.objective IS NOT NULL"
    " AND NOT EXISTS(SELECT 1 FROM newest n CROSS JOIN record o"
    " ON o.session_id = n.id AND o.point = c.point"
    " WHERE (c.verification = 0 OR " BEFORE("n") " <= " BEFORE("s") ")"
    " AND (" HN_PLACE("o", "n") ") < (" HN_PLACE("c", "s") "))"
    " ORDER BY c.final DESC, c.objective, c.point LIMIT 1";
/* clang-format on */

enum hn_status hn_store_best_prepare(struct hn_database *database, struct hn_store_best *best,
                                     struct hn_error *err)
{
    *best = (struct hn_store_best){NULL, NULL};
    enum hn_status status = hn_database_prepare(database, sessions, &best->sessions, err);
    return status == HN_OK ? hn_database_prepare(database, record, &best->record, err) : status;
}

void hn_store_best_finish(struct hn_store_best *best)
{
    hn_statement_finish(best->sessions);
    hn_statement_finish(best->record);
}

/* The best of the sessions so far; id 0: none. */
struct found {
    int64_t id;
    bool imported; /* its session */
    bool final;
    double objective;
    char *point;
};

static void bind_scope(struct hn_statement *statement, const struct hn_store_scope *scope)
{
    hn_bind_integer(statement, scope->task_id);
    hn_bind_integer(statement, scope->version_id);
    hn_bind_integer(statement, scope->simulated);
}

static bool is_better(struct hn_statement *row, const struct found *found)
{
    double objective = hn_column_real(row, 2);
    return found->id == 0 || hn_column_integer(row, 1) != 0 || objective < found->objective ||
           (objective == found->objective && strcmp(hn_column_text(row, 3), found->point) < 0);
}

static enum hn_status look(struct hn_statement *statement, const struct hn_store_scope *scope,
                           int64_t session_id, struct found *found, struct hn_error *err)
{
    bool row = false;
    bind_scope(statement, scope);
    hn_bind_integer(statement, session_id);
    hn_bind_real(statement, found->id == 0 ? INFINITY : found->objective);
    enum hn_status status = hn_statement_step(statement, &row, err);
    if (status != HN_OK || !row)
        return status;
    if (is_better(statement, found)) {
        free(found->point);
        found->id = hn_column_integer(statement, 0);
        found->final = hn_column_integer(statement, 1) != 0;
        found->objective = hn_column_real(statement, 2);
        found->point = strdup(hn_column_text(statement, 3));
        if (found->point == NULL)
            return hn_fail_memory(err);
    }
    return hn_statement_run(statement, err); /* for the next session */
}

enum hn_status hn_store_best_find(const struct hn_store_best *best,
                                  const struct hn_store_scope *scope, int64_t *id,
                                  struct hn_error *err)
{
    struct found found = {.id = 0};
    bool row = false;
    bool done = false;
    bind_scope(best->sessions, scope);
    enum hn_status status = hn_statement_step(best->sessions, &row, err);
    while (status == HN_OK && row && !done) {
        bool imported = hn_column_integer(best->sessions, 1) != 0;
        /* The newest race counts; and what was measured here before what was imported. */
        done = found.id != 0 && (found.final || imported != found.imported);
        if (!done) {
            bool none = found.id == 0;
            status = look(best->record, scope, hn_column_integer(best->sessions, 0), &found, err);
            found.imported = none ? imported : found.imported;
        }
        if (status == HN_OK)
            status = done ? hn_statement_run(best->sessions, err)
                          : hn_statement_step(best->sessions, &row, err);
    }
    *id = found.id;
    free(found.point);
    return status;
}
