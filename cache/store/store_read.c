/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"
#include "cache/record/gate.h"
#include "cache/record/record.h"
#include "cache/store/store_internal.h"

/* What is read out of a cache, which may be damaged or an enemy's: heads of sessions with their
 * plans and rules, records, images. */

json_t *hn_document_parse(const char *text, struct hn_error *err)
{
    json_error_t place;
    hn_gate_json(text, strlen(text), err);
    if (hn_failed(err))
        return NULL;
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &place);
    if (json == NULL)
        hn_fail(err, HN_EFORMAT, "%s", place.text);
    return json;
}

void hn_document_read(const char *what, const struct hn_structure *structure, const char *text,
                      void *owner, struct hn_error *err)
{
    json_auto_t *json = hn_document_parse(text, err);
    hn_fields_read(what, structure, json, owner, err);
}

void hn_document_check(const char *what, const struct hn_structure *structure, const char *text,
                       struct hn_error *err)
{
    void *owner HN_FREED = text == NULL ? NULL : hn_allocate(1, structure->size, err);
    if (owner == NULL)
        return;
    hn_document_read(what, structure, text, owner, err);
    hn_fields_finish(structure, owner);
}

static const struct hn_field plan_fields[] = {
    {HN_NEEDED("plan"), .kind = HN_FIELD_OBJECT, HN_AT(hn_stored_plan, json)},
    {HN_NEEDED("files"), HN_LIST(hn_stored_plan, files, file_count, hn_text_file_structure)},
};
const struct hn_structure hn_stored_plan_structure =
    HN_STRUCTURE(hn_stored_plan, plan_fields, NULL);

void hn_stored_plan_free(struct hn_stored_plan *plan)
{
    hn_fields_finish(&hn_stored_plan_structure, plan);
    *plan = (struct hn_stored_plan){.json = NULL};
}

void hn_store_expect_intact(const struct hn_store *store, bool intact, const char *what,
                            struct hn_error *err)
{
    if (!hn_failed(err) && !intact)
        hn_fail(err, HN_EFORMAT,
                "cache '%s': %s is not what was written; `hone cache export` copies the others",
                store->path, what);
}

void hn_store_name_failure(const struct hn_store *store, const char *what, struct hn_error *err)
{
    struct hn_error reason;
    if (err->status != HN_EFORMAT && err->status != HN_ECONFIG)
        return;
    reason = *err;
    hn_fail(err, HN_EFORMAT,
            "cache '%s': %s cannot be read: %.1000s; `hone cache export` copies the others",
            store->path, what, reason.message);
}

bool hn_store_leave_out(struct hn_store *store, int64_t id, struct hn_error *err)
{
    enum { MOST = 1000, TOLD = 5 };
    struct hn_error room = {.status = HN_OK};
    bool known = false;
    if (err->status != HN_EFORMAT)
        return false;
    for (size_t i = 0; i < store->left_out_count; i++)
        known = known || store->left_out[i] == id;
    if (!known && (store->left_out_count == MOST ||
                   !hn_make_room(&store->left_out, store->left_out_count, sizeof id, &room)))
        return false;
    if (!known)
        store->left_out[store->left_out_count++] = id;
    if (store->left_out_count > TOLD)
        hn_fail(&room, HN_EFORMAT, "left out: more rows, which `hone cache check` lists");
    else
        hn_fail(&room, HN_EFORMAT, "left out: %s", err->message);
    if (!known && store->left_out_count <= TOLD + 1 && store->follower.warned != NULL)
        store->follower.warned(room.message);
    hn_error_init(err);
    return true;
}

void hn_store_head_finish(struct hn_store_head *head)
{
    hn_subject_finish(&head->subject);
    hn_fields_finish(&hn_store_head_structure, head);
    free(head->rule);
    *head = (struct hn_store_head){.origin = NULL};
}

void hn_store_gate_origin(const struct hn_origin *origin, struct hn_error *err)
{
    hn_gate_line("the name of a machine", origin->machine, sizeof origin->machine, err);
    hn_gate_line("the source of a session", origin->source, sizeof origin->source, err);
    hn_gate_moment("imported", origin->imported, err);
}

static void gate_head(const struct hn_store_head *head, struct hn_error *err)
{
    hn_gate_identity(&head->identity, err);
    hn_store_gate_origin(&head->from, err);
    hn_gate_line("the command of a session", head->command, HN_COMMAND_MOST, err);
    hn_gate_line("the origin of a session", head->origin, HN_NAME_MOST, err);
}

#define COPY(name, member) HN_NEEDED(name), HN_AT(hn_store_head, member)

static const struct hn_field head_fields[] = {
    {COPY("origin", origin), .kind = HN_FIELD_STRING},
    {COPY("task", identity), .kind = HN_FIELD_STRUCT, .of = &hn_identity_structure},
    {COPY("version", version), .kind = HN_FIELD_STRUCT, .of = &hn_version_structure},
    {.key = "plan", .kind = HN_FIELD_STRING, HN_AT(hn_store_head, plan)},
    {COPY("started", started), .kind = HN_FIELD_REAL},
    {COPY("command", command), .kind = HN_FIELD_STRING},
    {COPY("simulated", simulated), .kind = HN_FIELD_FLAG},
    {HN_NEEDED("machine"), HN_CHARS(hn_store_head, from.machine)},
    {HN_NEEDED("source"), HN_CHARS(hn_store_head, from.source)},
    {COPY("imported", from.imported), .kind = HN_FIELD_REAL},
};
const struct hn_structure hn_store_head_structure = HN_STRUCTURE(hn_store_head, head_fields, NULL);

enum hn_status hn_store_head_from_json(const char *text, struct hn_store_head *head,
                                       struct hn_error *err)
{
    hn_error_init(err);
    *head = (struct hn_store_head){.origin = NULL};
    hn_document_read("session", &hn_store_head_structure, text, head, err);
    gate_head(head, err);
    hn_gate_date(head->started, err);
    hn_subject_make(&head->subject, &head->identity, &head->version, err);
    if (hn_failed(err))
        hn_store_head_finish(head);
    return err->status;
}

/* Reads identity and version from the texts that are there, and passes all through the gate. */
static void complete(struct hn_store_head *head, struct hn_error *err)
{
    const struct hn_subject *subject = &head->subject;
    hn_document_read("task", &hn_identity_structure, subject->task, &head->identity, err);
    hn_document_read("version", &hn_version_structure, subject->version, &head->version, err);
    if (hn_failed(err))
        return;
    gate_head(head, err);
    char *problem HN_FREED = hn_made(hn_bindings_text(&head->identity.problem), err);
    if (!hn_failed(err) && (strcmp(subject->kernel, head->identity.kernel) != 0 ||
                            strcmp(subject->problem, problem) != 0))
        hn_fail(err, HN_EFORMAT,
                "its kernel or problem is '%.60s', '%.200s', its JSON says '%.200s'",
                subject->kernel, subject->problem, problem);
}

void hn_store_read_head(const struct hn_store *store, struct hn_statement *statement,
                        struct hn_store_head *head, struct hn_error *err)
{
    struct hn_subject *subject = &head->subject;
    char name[40];
    snprintf(name, sizeof name, "session %lld",
             (long long)hn_column_integer(statement, HN_HEAD_COLUMN_COUNT - 1));
    hn_store_expect_intact(store, hn_column_integer(statement, HN_HEAD_COLUMN_COUNT - 2) != 0, name,
                           err);
    if (hn_failed(err))
        return;
    hn_statement_read(statement, 0, err, "tttttnrtbccr", &head->origin, &subject->kernel,
                      &subject->problem, &subject->task, &subject->version, &head->rule,
                      &head->started, &head->command, &head->simulated, head->from.machine,
                      sizeof head->from.machine, head->from.source, sizeof head->from.source,
                      &head->from.imported);
    if (!hn_failed(err))
        complete(head, err);
    hn_store_name_failure(store, name, err);
}

enum hn_status hn_store_get_head(struct hn_store *store, int64_t session_id,
                                 struct hn_store_head *head, struct hn_error *err)
{
    hn_error_init(err);
    *head = (struct hn_store_head){.origin = NULL};
    struct hn_statement *statement = hn_database_prepare(
        store->database, err,
        "SELECT " HN_HEAD_COLUMNS("s.") ", p.json, s.plan IS NULL OR " HN_PLAN_INTACT(
            "p.") " FROM session s LEFT JOIN plan p ON p.hash = s.plan WHERE s.id = ?",
        "i", session_id);
    if (hn_statement_step(statement, err)) {
        hn_store_read_head(store, statement, head, err);
        hn_store_expect_intact(store, hn_column_integer(statement, HN_HEAD_COLUMN_COUNT + 1) != 0,
                               "a plan", err);
        hn_statement_read(statement, HN_HEAD_COLUMN_COUNT, err, "n", &head->plan);
    } else if (!hn_failed(err)) {
        hn_fail(err, HN_ENOTFOUND, "cache '%s' has no session %lld", store->path,
                (long long)session_id);
    }
    hn_statement_finish(statement);
    if (hn_failed(err))
        hn_store_head_finish(head);
    return err->status;
}

int64_t hn_store_find_session(struct hn_store *store, const char *origin, int64_t *records,
                              struct hn_error *err)
{
    int64_t id = 0, counted = 0;
    (void)hn_database_do(store->database, err,
                         "SELECT s.id, (SELECT count(*) FROM record r WHERE r.session_id = s.id)"
                         " FROM session s WHERE s.origin = ?",
                         "t>ii", origin, &id, &counted);
    if (records != NULL)
        *records = counted;
    return id;
}

int64_t hn_store_session_of(struct hn_store *store, const struct hn_identity *identity,
                            const struct hn_version *version, struct hn_error *err)
{
    struct hn_subject subject HN_ENDED_BY(hn_subject_finish) = {0};
    int64_t id = 0;
    hn_subject_make(&subject, identity, version, err);
    (void)hn_database_do(store->database, err,
                         "SELECT coalesce(max(id), 0) FROM session WHERE " HN_SUBJECT, "tttt>i",
                         HN_SUBJECT_VALUES(&subject), &id);
    return id;
}

bool hn_store_knows(struct hn_store *store, const struct hn_version *version, struct hn_error *err)
{
    return hn_database_do(store->database, err,
                          "WITH known AS MATERIALIZED (SELECT DISTINCT version FROM session)"
                          " SELECT 1 FROM known WHERE CASE WHEN json_valid(version) THEN"
                          " json_extract(version, '$.template_hash') = ?1"
                          " AND json_extract(version, '$.options_hash') = ?2"
                          " AND json_extract(version, '$.plan_hash') = ?3 END LIMIT 1",
                          "ttt", version->template_hash, version->options_hash,
                          version->plan_hash) ||
           (store->base != NULL && hn_store_knows(store->base, version, err));
}

enum hn_status hn_store_get_plan(struct hn_store *store, const char *kernel,
                                 const struct hn_version *version, struct hn_stored_plan *plan,
                                 struct hn_error *err)
{
    struct hn_error own;
    err = hn_error_begin(err, &own);
    *plan = (struct hn_stored_plan){.json = NULL};
    char *text HN_FREED = NULL;
    char *version_text HN_FREED = hn_document_text(&hn_version_structure, version, err);
    bool intact = true;
    /* What a version does not hash (metrics, words) may change: the newest plan counts. */
    bool row = hn_version_knows_template(version) &&
               hn_database_do(store->database, err,
                              "SELECT p.json, p.json IS NOT NULL AND " HN_PLAN_INTACT(
                                  "p.") " FROM session s LEFT JOIN plan p ON p.hash = s.plan"
                                        " WHERE +s.kernel = ? AND s.version = ? AND s.plan IS NOT"
                                        " NULL ORDER BY s.id DESC LIMIT 1",
                              "tt>tb", kernel, version_text, &text, &intact);
    hn_store_expect_intact(store, intact, "a plan or a file of it", err);
    if (text != NULL)
        hn_document_read("source", &hn_stored_plan_structure, text, plan, err);
    if (hn_failed(err))
        hn_stored_plan_free(plan);
    if (!row && !hn_failed(err))
        hn_fail(err, HN_ENOTFOUND, "the cache keeps no plan of this version of '%s'", kernel);
    return err->status == HN_ENOTFOUND && store->base != NULL
               ? hn_store_get_plan(store->base, kernel, version, plan, err)
               : err->status;
}

void hn_records_free(struct hn_records *records)
{
    HN_FREE_EACH(record, records->items, records->count, hn_record_finish(record));
    *records = (struct hn_records){.items = NULL};
}

/* Records are selected by their columns and shown by their JSON, so both have to agree. */
static void compare_columns(struct hn_statement *statement, const struct hn_record *record,
                            struct hn_error *err)
{
    char *point HN_FREED = hn_made(hn_bindings_text(&record->point), err);
    double objective; /* 0 for NULL */
    hn_statement_read(statement, 6, err, "r", &objective);
    if (hn_failed(err))
        return;
    if (strcmp(point, hn_column_text(statement, 2)) != 0)
        hn_fail(err, HN_EFORMAT, "its point is '%.200s', its JSON says '%.200s'",
                hn_column_text(statement, 2), point);
    else if (strcmp(hn_outcome_names[record->outcome], hn_column_text(statement, 3)) != 0)
        hn_fail(err, HN_EFORMAT, "its outcome is '%.40s', its JSON says '%s'",
                hn_column_text(statement, 3), hn_outcome_names[record->outcome]);
    else if (record->verdict.kind != hn_column_integer(statement, 4) ||
             record->final != (hn_column_integer(statement, 5) != 0) ||
             objective != (isnan(record->objective) ? 0 : record->objective))
        hn_fail(err, HN_EFORMAT, "its verification, final or objective is not that of its JSON");
}

void hn_store_read_record(const struct hn_store *store, struct hn_statement *statement,
                          const char *objective, struct hn_record *record, struct hn_error *err)
{
    char name[40];
    if (hn_failed(err))
        return;
    snprintf(name, sizeof name, "record %lld", (long long)hn_column_integer(statement, 0));
    hn_store_expect_intact(store, hn_column_integer(statement, 7) != 0, name, err);
    if (hn_failed(err))
        return;
    json_auto_t *json = hn_document_parse(hn_column_text(statement, 1), err);
    if (json != NULL)
        err->status = hn_record_from_json(json, objective, record, err);
    if (!hn_failed(err))
        compare_columns(statement, record, err);
    hn_store_name_failure(store, name, err);
}

/* A visit of a store's records, then of its base's whose points it lacks: those do not count. */
struct visit {
    hn_store_visit_record *visit;
    void *visitor;
    json_t *seen; /* points of the upper one; NULL: there is no other */
    bool under;
};

static void visit_one(struct hn_store *store, const struct hn_subject *subject,
                      const char *objective, bool simulated, enum hn_store_whose whose,
                      const struct visit *visit, struct hn_error *err)
{
    char why[640] = "", machine[65] = "";
    struct hn_statement *statement = hn_database_prepare(
        store->database, err,
        HN_SELECT_RECORDS " WHERE id IN (SELECT id FROM (SELECT r.id, " HN_SESSION_INTACT(
            "s.") " AS intact, ROW_NUMBER() OVER (PARTITION BY r.point"
                  " ORDER BY " HN_PLACE("r", "s") ") AS place FROM session s JOIN record r"
                                                  " ON r.session_id = s.id WHERE " HN_SUBJECT
                                                  " AND s.simulated = ?5 AND CASE ?6"
                                                  " WHEN 1 THEN ?5 OR s.source = '' AND (r.outcome "
                                                  "= 'ok' OR s.machine = ?7)"
                                                  " WHEN 2 THEN NOT ?5 AND s.source <> '' ELSE 1 "
                                                  "END) WHERE place = 1 AND intact) ORDER BY id",
        "ttttii", HN_SUBJECT_VALUES(subject), (int64_t)simulated, (int64_t)whose);
    /* Else it is NULL, which nothing is equal to. */
    char *real HN_FREED = realpath(store->path, NULL);
    if (real != NULL && hn_store_is_own(real, false, why, sizeof why) &&
        gethostname(machine, sizeof machine - 1) == 0)
        hn_statement_bind(statement, "t", machine);
    while (hn_statement_next(&statement, err)) {
        struct hn_record record HN_ENDED_BY(hn_record_finish) = {0};
        const char *point = hn_column_text(statement, 2);
        bool counts = !visit->under || json_object_get(visit->seen, point) == NULL;
        if (visit->seen != NULL && !visit->under)
            (void)json_object_set_new(visit->seen, point, json_true());
        hn_store_read_record(store, statement, objective, &record, err);
        if (!hn_store_leave_out(store, hn_column_integer(statement, 0), err) && !hn_failed(err) &&
            counts)
            visit->visit(visit->visitor, visit->under ? 0 : hn_column_integer(statement, 0),
                         &record, err);
    }
}

void hn_store_visit(struct hn_store *store, const struct hn_identity *identity,
                    const struct hn_version *version, bool simulated, enum hn_store_whose whose,
                    hn_store_visit_record *visit, void *visitor, struct hn_error *err)
{
    struct hn_subject subject HN_ENDED_BY(hn_subject_finish) = {0};
    struct visit both = {.visit = visit, .visitor = visitor};
    hn_subject_make(&subject, identity, version, err);
    if (store->base != NULL && whose != HN_STORE_OWN)
        both.seen = hn_made(json_object(), err);
    visit_one(store, &subject, identity->objective, simulated, whose, &both, err);
    both.under = true;
    if (both.seen != NULL)
        visit_one(store->base, &subject, identity->objective, simulated, HN_STORE_ALL, &both, err);
    json_decref(both.seen);
}

/* Takes the record over. */
static void append_record(void *pointer, int64_t id, struct hn_record *record, struct hn_error *err)
{
    struct hn_records *records = pointer;
    (void)id;
    if (hn_make_room(&records->items, records->count, sizeof *records->items, err)) {
        records->items[records->count++] = *record;
        *record = (struct hn_record){0};
    }
}

enum hn_status hn_store_load(struct hn_store *store, const struct hn_identity *identity,
                             const struct hn_version *version, bool simulated,
                             struct hn_records *records, struct hn_error *err)
{
    hn_error_init(err);
    *records = (struct hn_records){.items = NULL};
    hn_store_visit(store, identity, version, simulated, HN_STORE_ALL, append_record, records, err);
    if (hn_failed(err))
        hn_records_free(records);
    return err->status;
}

/* The one row of a query for HN_RECORD_COLUMNS, which is finished. */
static void read_row(const struct hn_store *store, struct hn_statement *statement,
                     struct hn_record *record, struct hn_error *err)
{
    if (hn_statement_step(statement, err))
        hn_store_read_record(store, statement, NULL, record, err);
    else if (!hn_failed(err))
        hn_fail(err, HN_ENOTFOUND, "cache '%s': a record is gone that was there before",
                store->path);
    hn_statement_finish(statement);
}

enum hn_status hn_store_get(struct hn_store *store, int64_t id, struct hn_record *record,
                            struct hn_error *err)
{
    hn_error_init(err);
    *record = (struct hn_record){0};
    struct hn_statement *statement =
        hn_database_prepare(store->database, err, HN_SELECT_RECORDS " WHERE id = ?", "i", id);
    read_row(store, statement, record, err);
    return err->status;
}

enum hn_status hn_store_get_last(struct hn_store *store, int64_t session_id,
                                 const struct hn_bindings *point, struct hn_record *record,
                                 struct hn_error *err)
{
    for (size_t i = store->pending_count; i-- > 0;) {
        const struct hn_pending *pending = &store->pending[i];
        if (pending->cubin == NULL && pending->session_id == session_id &&
            hn_bindings_equal(&pending->record.point, point))
            return hn_record_copy(record, &pending->record, err);
    }
    hn_error_init(err);
    *record = (struct hn_record){0};
    char *key HN_FREED = hn_made(hn_bindings_text(point), err);
    struct hn_statement *statement =
        hn_database_prepare(store->database, err,
                            HN_SELECT_RECORDS " WHERE session_id = ? AND point = ?"
                                              " ORDER BY id DESC LIMIT 1",
                            "it", session_id, key);
    read_row(store, statement, record, err);
    return err->status;
}

json_t *hn_store_get_lines(struct hn_store *store, int64_t session_id, int64_t first, int64_t most,
                           struct hn_error *err)
{
    static const char rule[] = "SELECT rule, " HN_SESSION_INTACT(
        "") " FROM session"
            " WHERE id = ?1 AND rule IS NOT NULL AND ?2 > 0 AND ?3 < 0";
    static const char records[] = "SELECT json, " HN_RECORD_INTACT(
        "") " FROM record WHERE id IN (SELECT id FROM record"
            " WHERE session_id = ?1 ORDER BY id LIMIT ?2 OFFSET ?3)"
            " ORDER BY id";
    json_t *lines = json_array();
    struct hn_statement *statement = hn_database_prepare(
        store->database, err, first < 0 ? rule : records, "iii", session_id, most, first);
    while (hn_statement_next(&statement, err)) {
        hn_store_expect_intact(store, hn_column_integer(statement, 1) != 0,
                               first < 0 ? "a tuning" : "a record", err);
        hn_build_append(&lines, json_string(hn_column_text(statement, 0)));
    }
    return hn_made(lines, err);
}

void hn_store_read_image(const struct hn_store *store, struct hn_statement *statement,
                         struct hn_store_image *image, struct hn_error *err)
{
    *image = (struct hn_store_image){
        .point = hn_column_text(statement, 0),
        .entry = hn_column_text(statement, 1),
        .hash = hn_column_text(statement, 2),
    };
    hn_statement_read(statement, 3, err, "p", &image->cubin, &image->size);
    const struct hn_hash hash = hn_hash_bytes(image->cubin, image->size);
    hn_store_expect_intact(
        store, strcmp(hash.hex, image->hash) == 0 && hn_column_integer(statement, 4) != 0,
        "an image", err);
}

struct hn_statement *hn_store_get_images(struct hn_store *store, int64_t session_id,
                                         struct hn_error *err)
{
    return hn_database_prepare(
        store->database, err,
        "SELECT " HN_IMAGE_COLUMNS(
            "i.") " FROM session s JOIN image i ON i.kernel = s.kernel AND i.problem = s.problem"
                  " AND i.task = s.task AND i.version = s.version WHERE s.id = ?",
        "i", session_id);
}

bool hn_store_next_image(const struct hn_store *store, struct hn_statement **images,
                         struct hn_store_image *image, struct hn_error *err)
{
    if (!hn_statement_next(images, err))
        return false;
    hn_store_read_image(store, *images, image, err);
    return true;
}

enum hn_status hn_store_get_image(struct hn_store *store, const struct hn_identity *identity,
                                  const struct hn_version *version, const struct hn_bindings *point,
                                  void **cubin, size_t *size, char **entry, struct hn_error *err)
{
    struct hn_subject subject HN_ENDED_BY(hn_subject_finish) = {0};
    struct hn_store_image image = {.size = 0};
    struct hn_error own;
    err = hn_error_begin(err, &own);
    char *key HN_FREED = hn_bindings_text(point);
    hn_subject_make(&subject, identity, version, err);
    (void)hn_made(key, err);
    struct hn_statement *statement = hn_database_prepare(
        store->database, err,
        "SELECT " HN_IMAGE_COLUMNS("") " FROM image WHERE " HN_SUBJECT " AND point = ?5", "ttttt",
        HN_SUBJECT_VALUES(&subject), key);
    if (hn_statement_step(statement, err)) {
        hn_store_read_image(store, statement, &image, err);
    } else if (!hn_failed(err)) {
        hn_fail(err, HN_ENOTFOUND, "the cache keeps no image of %s", key);
    }
    *size = image.size;
    *cubin = hn_allocate(image.size, 1, err);
    if (*cubin != NULL && image.size > 0)
        memcpy(*cubin, image.cubin, image.size);
    *entry = hn_copy_string(image.entry, err);
    hn_statement_finish(statement);
    return err->status == HN_ENOTFOUND && store->base != NULL
               ? hn_store_get_image(store->base, identity, version, point, cubin, size, entry, err)
               : err->status;
}
