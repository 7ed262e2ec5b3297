/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/text.h"
#include "cache/record/gate.h"
#include "cache/record/record_json.h"
#include "cache/store/store_internal.h"
#include "cache/store/store_plan.h"

char *hn_store_text_of(const struct hn_bindings *bindings)
{
    struct hn_text text;
    hn_text_init(&text);
    hn_bindings_append(&text, bindings);
    return hn_text_take(&text);
}

static const char *or_empty(const char *string)
{
    return string == NULL ? "" : string;
}

enum hn_status hn_bind_identity(struct hn_statement *statement, const struct hn_identity *identity,
                                char **problem, struct hn_error *err)
{
    *problem = hn_store_text_of(&identity->problem);
    if (*problem == NULL)
        return hn_fail_memory(err);
    hn_bind_text(statement, or_empty(identity->kernel));
    hn_bind_text(statement, or_empty(identity->signature));
    hn_bind_text(statement, *problem);
    hn_bind_text(statement, or_empty(identity->regime));
    hn_bind_text(statement, or_empty(identity->objective));
    hn_bind_text(statement, identity->device.name);
    hn_bind_integer(statement, identity->device.capability);
    hn_bind_integer(statement, identity->device.sm_count);
    hn_bind_text(statement, identity->device.mig_profile);
    return HN_OK;
}

void hn_bind_version(struct hn_statement *statement, const struct hn_version *version)
{
    hn_bind_text(statement, version->template_hash);
    hn_bind_text(statement, version->options_hash);
    hn_bind_text(statement, version->plan_hash);
    hn_bind_text(statement, version->driver);
    hn_bind_text(statement, version->nvrtc);
    hn_bind_integer(statement, version->protocol);
}

static enum hn_status read_text(struct hn_statement *statement, int column, char *to, size_t size,
                                struct hn_error *err)
{
    const char *text = hn_column_text(statement, column);
    if (strlen(text) >= size)
        return hn_fail(err, HN_EFORMAT, "'%.40s…' has %zu bytes, expected fewer than %zu", text,
                       strlen(text), size);
    memcpy(to, text, strlen(text) + 1);
    return HN_OK;
}

enum hn_status hn_read_identity(struct hn_statement *statement, int first,
                                struct hn_identity *identity, struct hn_error *err)
{
    char **strings[] = {&identity->kernel, &identity->signature, NULL, &identity->regime,
                        &identity->objective};
    for (int i = 0; i < 5; i++) {
        if (strings[i] == NULL)
            continue;
        *strings[i] = strdup(hn_column_text(statement, first + i));
        if (*strings[i] == NULL)
            return hn_fail_memory(err);
    }
    struct hn_device_identity *device = &identity->device;
    device->capability = (int)hn_column_integer(statement, first + 6);
    device->sm_count = (int)hn_column_integer(statement, first + 7);
    enum hn_status status = read_text(statement, first + 5, device->name, sizeof device->name, err);
    if (status == HN_OK)
        status =
            read_text(statement, first + 8, device->mig_profile, sizeof device->mig_profile, err);
    if (status == HN_OK)
        status = hn_bindings_parse(hn_column_text(statement, first + 2), &identity->problem, err);
    return status == HN_OK ? hn_gate_identity(identity, err) : status;
}

enum hn_status hn_read_version(struct hn_statement *statement, int first,
                               struct hn_version *version, struct hn_error *err)
{
    *version = (struct hn_version){.protocol = (int)hn_column_integer(statement, first + 5)};
    const struct {
        char *to;
        size_t size;
    } parts[] = {
        {version->template_hash, sizeof version->template_hash},
        {version->options_hash, sizeof version->options_hash},
        {version->plan_hash, sizeof version->plan_hash},
        {version->driver, sizeof version->driver},
        {version->nvrtc, sizeof version->nvrtc},
    };
    enum hn_status status = HN_OK;
    for (int i = 0; status == HN_OK && i < 5; i++)
        status = read_text(statement, first + i, parts[i].to, parts[i].size, err);
    return status == HN_OK ? hn_gate_version(version, err) : status;
}

enum hn_status hn_read_origin(struct hn_statement *statement, int first, struct hn_origin *origin,
                              struct hn_error *err)
{
    origin->imported = hn_column_real(statement, first + 2);
    enum hn_status status =
        read_text(statement, first, origin->machine, sizeof origin->machine, err);
    if (status == HN_OK)
        status = read_text(statement, first + 1, origin->source, sizeof origin->source, err);
    if (status == HN_OK)
        status =
            hn_gate_line("the name of a machine", origin->machine, sizeof origin->machine, err);
    if (status == HN_OK)
        status =
            hn_gate_line("the source of a session", origin->source, sizeof origin->source, err);
    return status == HN_OK ? hn_gate_moment("imported", origin->imported, err) : status;
}

static enum hn_status step_for_id(struct hn_statement *statement, int64_t *id, struct hn_error *err)
{
    bool row = false;
    enum hn_status status = hn_statement_step(statement, &row, err);
    *id = row ? hn_column_integer(statement, 0) : 0;
    return status;
}

enum hn_status hn_store_find_task(struct hn_store *store, const struct hn_identity *identity,
                                  int64_t *id, struct hn_error *err)
{
    struct hn_statement *statement;
    char *problem = NULL;
    enum hn_status status = hn_database_prepare(
        store->database,
        "SELECT id FROM task WHERE kernel = ? AND signature = ? AND problem = ? AND regime = ?"
        " AND objective = ? AND device = ? AND capability = ? AND sm_count = ?"
        " AND mig_profile = ?",
        &statement, err);
    if (status == HN_OK)
        status = hn_bind_identity(statement, identity, &problem, err);
    if (status == HN_OK)
        status = step_for_id(statement, id, err);
    hn_statement_finish(statement);
    free(problem);
    return status;
}

enum hn_status hn_store_find_version(struct hn_store *store, const struct hn_version *version,
                                     int64_t *id, struct hn_error *err)
{
    struct hn_statement *statement;
    enum hn_status status = hn_database_prepare(
        store->database,
        "SELECT id FROM version WHERE template_hash = ? AND options_hash = ? AND plan_hash = ?"
        " AND driver = ? AND nvrtc = ? AND protocol = ?",
        &statement, err);
    if (status == HN_OK) {
        hn_bind_version(statement, version);
        status = step_for_id(statement, id, err);
    }
    hn_statement_finish(statement);
    return status;
}

static enum hn_status add_task(struct hn_store *store, const struct hn_identity *identity,
                               int64_t *id, struct hn_error *err)
{
    enum hn_status status = hn_store_find_task(store, identity, id, err);
    if (status != HN_OK || *id != 0)
        return status;
    struct hn_statement *statement;
    char *problem = NULL;
    status = hn_database_prepare(store->database,
                                 "INSERT INTO task VALUES(NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,"
                                 " checksum(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9))",
                                 &statement, err);
    if (status == HN_OK)
        status = hn_bind_identity(statement, identity, &problem, err);
    if (status == HN_OK)
        status = hn_statement_run(statement, err);
    *id = hn_database_last_id(store->database);
    hn_statement_finish(statement);
    free(problem);
    return status;
}

static enum hn_status add_version(struct hn_store *store, const struct hn_version *version,
                                  int64_t *id, struct hn_error *err)
{
    enum hn_status status = hn_store_find_version(store, version, id, err);
    if (status != HN_OK || *id != 0)
        return status;
    struct hn_statement *statement;
    status = hn_database_prepare(store->database,
                                 "INSERT INTO version VALUES(NULL, ?1, ?2, ?3, ?4, ?5, ?6,"
                                 " checksum(?1, ?2, ?3, ?4, ?5, ?6))",
                                 &statement, err);
    if (status == HN_OK) {
        hn_bind_version(statement, version);
        status = hn_statement_run(statement, err);
    }
    *id = hn_database_last_id(store->database);
    hn_statement_finish(statement);
    return status;
}

/* A plan that is to be kept. */
struct plan_row {
    int64_t version_id;
    const char *kernel;
    const struct hn_store_plan *plan;
};

static void bind_plan(struct hn_statement *statement, const struct plan_row *row)
{
    hn_bind_integer(statement, row->version_id);
    hn_bind_text(statement, row->kernel);
}

static enum hn_status has_plan(struct hn_store *store, const struct plan_row *row, bool *found,
                               struct hn_error *err)
{
    struct hn_statement *statement;
    enum hn_status status = hn_database_prepare(
        store->database, "SELECT 1 FROM plan WHERE version_id = ? AND kernel = ? AND json = ?",
        &statement, err);
    if (status == HN_OK) {
        bind_plan(statement, row);
        hn_bind_text(statement, row->plan->json);
        status = hn_statement_step(statement, found, err);
    }
    hn_statement_finish(statement);
    return status;
}

static enum hn_status add_plan_files(struct hn_store *store, const struct plan_row *row,
                                     struct hn_error *err)
{
    struct hn_statement *statement;
    enum hn_status status = hn_database_prepare(
        store->database,
        "INSERT INTO plan_file VALUES(?1, ?2, ?3, ?4, ?5, checksum(?1, ?2, ?3, ?4, ?5))",
        &statement, err);
    for (size_t i = 0; status == HN_OK && i < row->plan->file_count; i++) {
        bind_plan(statement, row);
        hn_bind_integer(statement, (int64_t)i);
        hn_bind_text(statement, row->plan->files[i].name);
        hn_bind_text(statement, row->plan->files[i].text);
        status = hn_statement_run(statement, err);
    }
    hn_statement_finish(statement);
    return status;
}

/* What a version does not hash (metrics, words) may change: the newest plan of a version counts. */
static enum hn_status add_plan(struct hn_store *store, const struct plan_row *row,
                               struct hn_error *err)
{
    bool found = false;
    enum hn_status status = has_plan(store, row, &found, err);
    if (status != HN_OK || found)
        return status;
    struct hn_statement *statement;
    status = hn_database_prepare(store->database,
                                 "INSERT OR REPLACE INTO plan VALUES(?1, ?2, ?3,"
                                 " checksum(?1, ?2, ?3))",
                                 &statement, err);
    if (status == HN_OK) {
        bind_plan(statement, row);
        hn_bind_text(statement, row->plan->json);
        status = hn_statement_run(statement, err);
    }
    hn_statement_finish(statement);
    return status == HN_OK ? add_plan_files(store, row, err) : status;
}

enum hn_status hn_store_put_plan(struct hn_store *store, const char *kernel,
                                 const struct hn_version *version, const struct hn_store_plan *plan,
                                 struct hn_error *err)
{
    struct plan_row row = {.kernel = kernel, .plan = plan};
    enum hn_status status = hn_database_run(store->database, "BEGIN IMMEDIATE", err);
    if (status == HN_OK)
        status = hn_store_find_version(store, version, &row.version_id, err);
    if (status == HN_OK && (row.version_id == 0 || !hn_version_knows_template(version)))
        status = hn_fail(err, HN_ENOTFOUND, "cache '%s' has nothing of that version", store->path);
    if (status == HN_OK)
        status = add_plan(store, &row, err);
    if (status == HN_OK)
        status = hn_database_run(store->database, "COMMIT", err);
    hn_database_rollback(store->database);
    return status;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* A name that no other session in any cache has. */
static struct hn_hash new_origin(void)
{
    struct {
        unsigned char random[16];
        double time;
    } seed = {.time = now()};
    (void)!getrandom(seed.random, sizeof seed.random, 0);
    return hn_hash_bytes(&seed, sizeof seed);
}

static enum hn_status insert_session(struct hn_store *store, const struct hn_store_session *session,
                                     int64_t task_id, int64_t version_id, struct hn_error *err)
{
    struct hn_statement *statement;
    struct hn_hash origin = new_origin();
    struct hn_origin own = {.imported = 0};
    double started = session->started > 0 ? session->started : now();
    (void)gethostname(own.machine, sizeof own.machine - 1);
    /* By a clock before 1970 it would be damaged for whoever reads it. */
    enum hn_status status = hn_gate_date(started, err);
    if (status != HN_OK)
        return status;
    status =
        hn_database_prepare(store->database,
                            "INSERT INTO session VALUES(NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,"
                            " checksum(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9))",
                            &statement, err);
    if (status != HN_OK)
        return status;
    hn_bind_integer(statement, task_id);
    hn_bind_integer(statement, version_id);
    hn_bind_text(statement, session->origin == NULL ? origin.hex : session->origin);
    hn_bind_real(statement, started);
    hn_bind_text(statement, or_empty(session->command));
    hn_bind_integer(statement, session->simulated);
    hn_bind_text(statement, session->from == NULL ? own.machine : session->from->machine);
    hn_bind_text(statement, session->from == NULL ? "" : session->from->source);
    bool foreign = session->from != NULL && hn_origin_is_foreign(session->from);
    hn_bind_real(statement, foreign ? now() : 0);
    status = hn_statement_run(statement, err);
    hn_statement_finish(statement);
    return status;
}

enum hn_status hn_store_add_session(struct hn_store *store, const struct hn_store_session *session,
                                    int64_t *session_id, struct hn_error *err)
{
    int64_t task_id = 0;
    int64_t version_id = 0;
    enum hn_status status = add_task(store, session->identity, &task_id, err);
    if (status == HN_OK)
        status = add_version(store, session->version, &version_id, err);
    if (status == HN_OK && session->plan != NULL && hn_version_knows_template(session->version))
        status = add_plan(
            store, &(struct plan_row){version_id, session->identity->kernel, session->plan}, err);
    if (status == HN_OK)
        status = insert_session(store, session, task_id, version_id, err);
    *session_id = hn_database_last_id(store->database);
    return status;
}

enum hn_status hn_store_has_origin(struct hn_store *store, const char *origin, bool *found,
                                   struct hn_error *err)
{
    struct hn_statement *statement;
    enum hn_status status = hn_database_prepare(
        store->database, "SELECT 1 FROM session WHERE origin = ?", &statement, err);
    if (status == HN_OK) {
        hn_bind_text(statement, origin);
        status = hn_statement_step(statement, found, err);
    }
    hn_statement_finish(statement);
    return status;
}

static char *record_text(const struct hn_record *record)
{
    json_t *json = hn_record_to_json(record);
    char *text = json == NULL ? NULL : json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(json);
    return text;
}

enum hn_status hn_store_add_record(struct hn_database *database, int64_t session_id,
                                   const struct hn_record *record, struct hn_error *err)
{
    struct hn_statement *statement = NULL;
    char *point = hn_store_text_of(&record->point);
    char *json = record_text(record);
    enum hn_status status = point == NULL || json == NULL ? hn_fail_memory(err) : HN_OK;
    if (status == HN_OK)
        status = hn_database_prepare(database,
                                     "INSERT INTO record VALUES(NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7,"
                                     " checksum(?1, ?2, ?3, ?4, ?5, ?6, ?7))",
                                     &statement, err);
    if (status == HN_OK) {
        hn_bind_integer(statement, session_id);
        hn_bind_text(statement, point);
        hn_bind_text(statement, hn_outcome_name(record->outcome));
        hn_bind_integer(statement, record->verdict.kind);
        hn_bind_integer(statement, record->final);
        hn_bind_real(statement, record->objective);
        hn_bind_text(statement, json);
        status = hn_statement_run(statement, err);
    }
    hn_statement_finish(statement);
    free(json);
    free(point);
    return status;
}

enum hn_status hn_store_add_image(struct hn_database *database, int64_t session_id,
                                  const char *point, const void *cubin, size_t size,
                                  const char *entry, struct hn_error *err)
{
    struct hn_statement *statement;
    const struct hn_hash hash = hn_hash_bytes(cubin, size);
    enum hn_status status =
        hn_database_prepare(database,
                            "INSERT OR REPLACE INTO image SELECT task_id, version_id, ?1, ?2, ?3,"
                            " ?4, checksum(task_id, version_id, ?1, ?2, ?4) FROM session"
                            " WHERE id = ?5",
                            &statement, err);
    if (status == HN_OK) {
        hn_bind_text(statement, point);
        hn_bind_text(statement, entry);
        hn_bind_bytes(statement, cubin, size);
        hn_bind_text(statement, hash.hex);
        hn_bind_integer(statement, session_id);
        status = hn_statement_run(statement, err);
    }
    hn_statement_finish(statement);
    return status;
}

enum hn_status hn_store_expect_intact(const struct hn_store *store, struct hn_statement *statement,
                                      int column, const char *what, struct hn_error *err)
{
    if (hn_column_integer(statement, column) != 0)
        return HN_OK;
    return hn_fail(
        err, HN_EFORMAT,
        "cache '%s' is damaged: %s is not what was written ('hone cache check' lists what "
        "is); restore a copy, or move it away to start anew",
        store->path, what);
}

static enum hn_status parse_record(const char *json, const char *objective,
                                   struct hn_record *record, struct hn_error *err)
{
    json_error_t place;
    enum hn_status status = hn_gate_json(json, strlen(json), err);
    if (status != HN_OK)
        return status;
    json_t *parsed = json_loads(json, 0, &place);
    if (parsed == NULL)
        return hn_fail(err, HN_EFORMAT, "%s", place.text);
    status = hn_record_from_json(parsed, objective, record, err);
    json_decref(parsed);
    return status;
}

/* Records are selected by their columns and shown by their JSON, so both have to agree. */
static enum hn_status compare_columns(struct hn_statement *statement,
                                      const struct hn_record *record, struct hn_error *err)
{
    char *point = hn_store_text_of(&record->point);
    enum hn_status status = HN_OK;
    double objective = hn_column_real(statement, 6); /* 0 for NULL */
    if (point == NULL)
        return hn_fail_memory(err);
    if (strcmp(point, hn_column_text(statement, 2)) != 0)
        status = hn_fail(err, HN_EFORMAT, "its point is '%.200s', its JSON says '%.200s'",
                         hn_column_text(statement, 2), point);
    else if (strcmp(hn_outcome_name(record->outcome), hn_column_text(statement, 3)) != 0)
        status = hn_fail(err, HN_EFORMAT, "its outcome is '%.40s', its JSON says '%s'",
                         hn_column_text(statement, 3), hn_outcome_name(record->outcome));
    else if (record->verdict.kind != hn_column_integer(statement, 4) ||
             record->final != (hn_column_integer(statement, 5) != 0) ||
             objective != (isnan(record->objective) ? 0 : record->objective))
        status = hn_fail(err, HN_EFORMAT,
                         "its verification, final or objective is not that of its JSON");
    free(point);
    return status;
}

static enum hn_status read_intact_record(struct hn_statement *statement, const char *objective,
                                         struct hn_record *record, struct hn_error *err)
{
    enum hn_status status = parse_record(hn_column_text(statement, 1), objective, record, err);
    return status == HN_OK ? compare_columns(statement, record, err) : status;
}

enum hn_status hn_store_read_record(const struct hn_store *store, struct hn_statement *statement,
                                    const char *objective, struct hn_record *record,
                                    struct hn_error *err)
{
    struct hn_error reason;
    char name[40];
    bool intact = hn_column_integer(statement, 7) != 0;
    enum hn_status status =
        intact ? read_intact_record(statement, objective, record, &reason) : HN_EFORMAT;
    if (status == HN_OK)
        return HN_OK;
    snprintf(name, sizeof name, "record %lld", (long long)hn_column_integer(statement, 0));
    if (!intact)
        return hn_store_expect_intact(store, statement, 7, name, err);
    if (status == HN_EFORMAT || status == HN_ECONFIG)
        return hn_fail(err, HN_EFORMAT, "cache '%s': %s can not be read: %.1000s", store->path,
                       name, reason.message);
    return hn_fail_memory(err);
}
