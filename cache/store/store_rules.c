/* SPDX-License-Identifier: MIT */
#include "cache/store/store_rules.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cache/record/gate.h"
#include "cache/store/store_base_part.h"
#include "cache/store/store_internal.h"

struct hn_stored_rule *hn_stored_rules_add(struct hn_stored_rules *rules)
{
    struct hn_stored_rule *grown = realloc(rules->items, (rules->count + 1) * sizeof *rules->items);
    if (grown == NULL)
        return NULL;
    rules->items = grown;
    struct hn_stored_rule *added = &grown[rules->count++];
    *added = (struct hn_stored_rule){.simulated = false};
    hn_identity_init(&added->identity);
    hn_rule_init(&added->rule);
    return added;
}

void hn_stored_rules_free(struct hn_stored_rules *rules)
{
    for (size_t i = 0; i < rules->count; i++) {
        hn_identity_finish(&rules->items[i].identity);
        hn_rule_finish(&rules->items[i].rule);
    }
    free(rules->items);
    *rules = (struct hn_stored_rules){.items = NULL};
}

enum hn_status hn_store_add_rule(struct hn_database *database, int64_t session_id, const char *json,
                                 struct hn_error *err)
{
    struct hn_statement *statement;
    enum hn_status status = hn_database_prepare(
        database, "INSERT OR REPLACE INTO rule VALUES(?1, ?2, checksum(?1, ?2))", &statement, err);
    if (status == HN_OK) {
        hn_bind_integer(statement, session_id);
        hn_bind_text(statement, json);
        status = hn_statement_run(statement, err);
    }
    hn_statement_finish(statement);
    return status;
}

enum hn_status hn_store_write_rule(struct hn_database *database, int64_t session_id,
                                   const struct hn_rule *rule, struct hn_error *err)
{
    json_t *json = hn_rule_to_json(rule);
    char *text = json == NULL ? NULL : json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    enum hn_status status =
        text == NULL ? hn_fail_memory(err) : hn_store_add_rule(database, session_id, text, err);
    free(text);
    json_decref(json);
    return status;
}

enum hn_status hn_store_put_rule(struct hn_store *store, int64_t session_id,
                                 const struct hn_rule *rule, struct hn_error *err)
{
    assert(store->mode == HN_STORE_WRITE);
    enum hn_status status = hn_store_commit(store, err);
    return status == HN_OK ? hn_store_write_rule(store->database, session_id, rule, err) : status;
}

enum hn_status hn_store_read_rule(const struct hn_store *store, struct hn_statement *statement,
                                  struct hn_rule *rule, struct hn_error *err)
{
    json_error_t error;
    struct hn_error reason = {0};
    const char *text = hn_column_text(statement, 0);
    enum hn_status status = hn_store_expect_intact(store, statement, 1, "a rule of a family", err);
    if (status == HN_OK)
        status = hn_gate_json(text, strlen(text), err);
    if (status != HN_OK)
        return status;
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    status = hn_rule_from_json(json, rule, &reason);
    json_decref(json);
    if (status == HN_ENOMEM)
        return hn_fail_memory(err);
    return status == HN_OK
               ? HN_OK
               : hn_fail(err, status, "cache '%s': %.2000s", store->path, reason.message);
}

#define RULE_INTACT HN_RULE_INTACT("u.")
#define SESSION_INTACT HN_SESSION_INTACT("s.")
#define TASK_INTACT HN_TASK_INTACT("t.")
#define VERSION_INTACT HN_VERSION_INTACT("v.")

/* ?1: the kernel or NULL. Of each family the rule that counts. */
static const char rules_that_count[] =
    "WITH ranked AS (SELECT u.json, " RULE_INTACT " AS rule_intact, s.*, " SESSION_INTACT
    " AS intact, ROW_NUMBER() OVER (PARTITION BY s.task_id"
    " ORDER BY s.simulated, s.source <> '', s.started DESC, s.id DESC) AS age"
    " FROM rule u JOIN session s ON s.id = u.session_id)"
    " SELECT r.json, r.rule_intact, r.id, r.started, r.simulated, r.machine, r.source, r.imported,"
    " t.kernel, t.signature, t.problem, t.regime, t.objective, t.device, t.capability,"
    " t.sm_count, t.mig_profile, v.template_hash, v.options_hash, v.plan_hash, v.driver, v.nvrtc,"
    " v.protocol, r.intact AND " TASK_INTACT " AND " VERSION_INTACT
    " FROM ranked r JOIN task t ON t.id = r.task_id JOIN version v ON v.id = r.version_id"
    " WHERE r.age = 1 AND (?1 IS NULL OR t.kernel = ?1)"
    " ORDER BY t.kernel, t.device, t.capability, t.sm_count, t.mig_profile, t.regime, t.objective,"
    " t.signature";

/* A row of the query above. */
static enum hn_status read_stored(struct hn_store *store, struct hn_statement *statement,
                                  struct hn_stored_rule *stored, struct hn_error *err)
{
    stored->session_id = hn_column_integer(statement, 2);
    stored->learnt = hn_column_real(statement, 3);
    stored->simulated = hn_column_integer(statement, 4) != 0;
    enum hn_status status =
        hn_store_expect_intact(store, statement, 23, "the task, version or session of a rule", err);
    if (status == HN_OK)
        status = hn_read_origin(statement, 5, &stored->origin, err);
    if (status == HN_OK)
        status = hn_read_identity(statement, 8, &stored->identity, err);
    if (status == HN_OK)
        status = hn_read_version(statement, 17, &stored->version, err);
    if (status == HN_OK)
        status = hn_gate_moment("started", stored->learnt, err);
    stored->stale = stored->version.protocol != HN_MEASURING_PROTOCOL;
    return status == HN_OK ? hn_store_read_rule(store, statement, &stored->rule, err) : status;
}

static enum hn_status append_stored(struct hn_store *store, struct hn_statement *statement,
                                    struct hn_stored_rules *rules, struct hn_error *err)
{
    struct hn_stored_rule *stored = hn_stored_rules_add(rules);
    return stored != NULL ? read_stored(store, statement, stored, err) : hn_fail_memory(err);
}

static enum hn_status get_rules(struct hn_store *store, const char *kernel,
                                struct hn_stored_rules *rules, struct hn_error *err)
{
    struct hn_statement *statement;
    bool row = false;
    *rules = (struct hn_stored_rules){.items = NULL};
    enum hn_status status = hn_database_prepare(store->database, rules_that_count, &statement, err);
    if (status == HN_OK) {
        hn_bind_text(statement, kernel);
        status = hn_statement_step(statement, &row, err);
    }
    while (status == HN_OK && row) {
        status = append_stored(store, statement, rules, err);
        if (status == HN_OK)
            status = hn_statement_step(statement, &row, err);
    }
    hn_statement_finish(statement);
    if (status != HN_OK)
        hn_stored_rules_free(rules);
    return status;
}

/* Moves those of families that the upper cache has no rule of; what is left of `more` is to be
 * freed. */
static enum hn_status join_rules(const struct hn_store *base, struct hn_stored_rules *rules,
                                 struct hn_stored_rules *more, struct hn_error *err)
{
    const size_t own = rules->count;
    size_t left = 0;
    struct hn_stored_rule *grown = realloc(rules->items, (own + more->count + 1) * sizeof *grown);
    if (grown == NULL)
        return hn_fail_memory(err);
    rules->items = grown;
    for (size_t i = 0; i < more->count; i++) {
        struct hn_stored_rule *stored = &more->items[i];
        bool found = false;
        for (size_t n = 0; n < own; n++)
            found = found || hn_identity_equal(&rules->items[n].identity, &stored->identity);
        if (found) {
            more->items[left++] = *stored;
            continue;
        }
        hn_base_mark(base, &stored->origin);
        stored->session_id = 0;
        rules->items[rules->count++] = *stored;
    }
    more->count = left;
    return HN_OK;
}

enum hn_status hn_store_get_rules(struct hn_store *store, const char *kernel,
                                  struct hn_stored_rules *rules, struct hn_error *err)
{
    struct hn_stored_rules more = {.items = NULL};
    enum hn_status status = get_rules(store, kernel, rules, err);
    if (status != HN_OK || store->base == NULL)
        return status;
    status = get_rules(store->base, kernel, &more, err);
    if (status == HN_OK)
        status = join_rules(store->base, rules, &more, err);
    hn_stored_rules_free(&more);
    if (status != HN_OK)
        hn_stored_rules_free(rules);
    return status;
}
