/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/run.h"
#include "cache/record/gate.h"
#include "cache/record/record.h"
#include "cache/store/store_internal.h"

/* What is put into a cache: sessions with their plans and rules, records, images. */

/* Records are grouped for this long, so that a fast tune costs few transactions. */
enum { COMMIT_AFTER_MS = 50 };

enum { AS_KEPT = JSON_COMPACT | JSON_SORT_KEYS };

char *hn_document_text(const struct hn_structure *structure, const void *value,
                       struct hn_error *err)
{
    bool has_text = value != NULL && !hn_failed(err);
    return has_text ? hn_made(hn_json_text(hn_fields_to_json(structure, value), AS_KEPT), err)
                    : NULL;
}

void hn_subject_make(struct hn_subject *subject, const struct hn_identity *identity,
                     const struct hn_version *version, struct hn_error *err)
{
    *subject = (struct hn_subject){.kernel = NULL};
    if (hn_failed(err))
        return;
    *subject = (struct hn_subject){
        .kernel = hn_copy_string(identity->kernel == NULL ? "" : identity->kernel, err),
        .problem = hn_made(hn_bindings_text(&identity->problem), err),
        .task = hn_document_text(&hn_identity_structure, identity, err),
        .version = hn_document_text(&hn_version_structure, version, err),
    };
    if (hn_failed(err))
        hn_subject_finish(subject);
}

void hn_subject_finish(struct hn_subject *subject)
{
    free(subject->kernel);
    free(subject->problem);
    free(subject->task);
    free(subject->version);
    *subject = (struct hn_subject){.kernel = NULL};
}

/* A plan is named by what it says; *name is set. */
static void add_plan(struct hn_store *store, const char *json, struct hn_hash *name,
                     struct hn_error *err)
{
    *name = hn_hash_string(json);
    hn_database_do(store->database, err,
                   "INSERT OR REPLACE INTO plan SELECT ?1, ?2, checksum(?1, ?2) WHERE NOT EXISTS("
                   "SELECT 1 FROM plan WHERE hash = ?1 AND " HN_PLAN_INTACT("") ")",
                   "tt", name->hex, json);
}

enum hn_status hn_store_put_plan(struct hn_store *store, const char *kernel,
                                 const struct hn_version *version,
                                 const struct hn_stored_plan *plan, struct hn_error *err)
{
    struct hn_hash name;
    hn_error_init(err);
    char *text HN_FREED = hn_document_text(&hn_stored_plan_structure, plan, err);
    char *version_text HN_FREED = hn_document_text(&hn_version_structure, version, err);
    hn_database_run(store->database, "BEGIN IMMEDIATE", err);
    if (!hn_failed(err))
        add_plan(store, text, &name, err);
    hn_database_do(store->database, err,
                   "UPDATE session SET plan = ?1, checksum = checksum(origin, kernel,"
                   " problem, task, version, ?1, rule, started, command, simulated,"
                   " machine, source, imported) WHERE kernel = ?2 AND version = ?3",
                   "ttt", name.hex, kernel, version_text);
    bool found = hn_version_knows_template(version) &&
                 hn_database_integer(store->database, "SELECT changes()", err) > 0;
    if (!hn_failed(err) && !found)
        hn_fail(err, HN_ENOTFOUND, "cache '%s' has nothing of that version", store->path);
    return hn_database_commit(store->database, err);
}

/* The rows below are written inside the caller's transaction. */

static int64_t add_head(struct hn_store *store, const struct hn_store_head *head,
                        struct hn_error *err)
{
    int64_t id = 0;
    struct hn_hash plan = {""};
    struct {
        unsigned char random[16];
        double time;
    } seed = {.time = hn_epoch_s()};
    if (hn_failed(err))
        return 0;
    /* A name that no other session in any cache has. */
    (void)!getrandom(seed.random, sizeof seed.random, 0);
    const struct hn_hash origin = hn_hash_bytes(&seed, sizeof seed);
    if (head->plan != NULL)
        add_plan(store, head->plan, &plan, err);
    (void)hn_database_do(store->database, err,
                         "INSERT INTO session VALUES(NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,"
                         " ?10, ?11, ?12, ?13, checksum(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,"
                         " ?10, ?11, ?12, ?13)) RETURNING id",
                         "tttttttrtittr>i", head->origin == NULL ? origin.hex : head->origin,
                         HN_SUBJECT_VALUES(&head->subject), head->plan == NULL ? NULL : plan.hex,
                         head->rule, head->started, head->command, (int64_t)head->simulated,
                         head->from.machine, head->from.source,
                         !head->simulated && hn_origin_is_foreign(&head->from) ? hn_epoch_s() : 0,
                         &id);
    return id;
}

static struct hn_statement *prepare_record(struct hn_database *database, struct hn_error *err)
{
    return hn_database_prepare(database, err,
                               "INSERT INTO record VALUES(NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7,"
                               " checksum(?1, ?2, ?3, ?4, ?5, ?6, ?7))",
                               "");
}

static void add_record(struct hn_statement *statement, int64_t session_id,
                       const struct hn_record *record, struct hn_error *err)
{
    if (hn_failed(err))
        return;
    char *point HN_FREED = hn_made(hn_bindings_text(&record->point), err);
    char *json HN_FREED = hn_made(hn_json_text(hn_record_to_json(record), AS_KEPT), err);
    hn_statement_bind(statement, "ittiirt", session_id, point, hn_outcome_names[record->outcome],
                      (int64_t)record->verdict.kind, (int64_t)record->final, record->objective,
                      json);
    hn_statement_run(statement, err);
}

/* Borrows all but the texts that it makes. */
static void make_head(const struct hn_store_session *session, struct hn_store_head *head,
                      struct hn_error *err)
{
    bool has_plan = hn_version_knows_template(session->version);
    *head = (struct hn_store_head){
        .origin = (char *)(uintptr_t)session->origin,
        .command = (char *)(uintptr_t)(session->command == NULL ? "" : session->command),
        .started = session->started > 0 ? session->started : hn_epoch_s(),
        .simulated = session->simulated,
    };
    if (session->from != NULL)
        head->from = *session->from;
    else
        (void)gethostname(head->from.machine, sizeof head->from.machine - 1);
    hn_subject_make(&head->subject, session->identity, session->version, err);
    head->plan = hn_document_text(&hn_stored_plan_structure, has_plan ? session->plan : NULL, err);
    head->rule = hn_document_text(&hn_rule_structure, session->rule, err);
    /* What would be damaged for whoever reads it, as by a clock before 1970. */
    hn_gate_date(head->started, err);
    hn_gate_line("the command of a session", head->command, HN_COMMAND_MOST, err);
    hn_store_gate_origin(&head->from, err);
}

/* Whether no session of that origin is there. */
static bool is_new(struct hn_store *store, const char *origin, struct hn_error *err)
{
    int64_t id = origin == NULL ? 0 : hn_store_find_session(store, origin, NULL, err);
    return !hn_failed(err) && id == 0;
}

enum hn_status hn_store_begin(struct hn_store *store, const struct hn_store_session *session,
                              const struct hn_records *records, int64_t *session_id,
                              struct hn_error *err)
{
    struct hn_store_head head;
    assert(store->mode == HN_STORE_WRITE);
    hn_error_init(err);
    make_head(session, &head, err);
    hn_database_run(store->database, "BEGIN IMMEDIATE", err);
    /* Where the clock was set back, what is begun now is newer than what is there all the same. */
    if (session->started <= 0)
        (void)hn_database_do(store->database, err,
                             "SELECT max(?1, coalesce(max(started) + 0.001, 0)) FROM session"
                             " WHERE kernel = ?2 AND problem = ?3 AND source = ''",
                             "rtt>r", head.started, head.subject.kernel, head.subject.problem,
                             &head.started);
    *session_id = is_new(store, session->origin, err) ? add_head(store, &head, err) : 0;
    struct hn_statement *statement = records != NULL ? prepare_record(store->database, err) : NULL;
    for (size_t i = 0; records != NULL && i < records->count && *session_id != 0; i++)
        add_record(statement, *session_id, &records->items[i], err);
    hn_statement_finish(statement);
    hn_subject_finish(&head.subject);
    free(head.plan);
    free(head.rule);
    return hn_database_commit(store->database, err);
}

/* Whether its plan and its rule, which not every reader looks at, are what they have to be. */
static void check_documents(const struct hn_store_head *head, struct hn_error *err)
{
    hn_document_check("source", &hn_stored_plan_structure, head->plan, err);
    hn_document_check("rule", &hn_rule_structure, head->rule, err);
}

/* One whose loss was measured does not give way to one of the same session that was read before. */
static void set_rule(struct hn_store *store, int64_t session_id, const char *rule,
                     struct hn_error *err)
{
    hn_database_do(
        store->database, err,
        "UPDATE session SET rule = ?1, checksum = checksum(origin, kernel,"
        " problem, task, version, plan, ?1, started, command, simulated,"
        " machine, source, imported) WHERE id = ?2 AND (rule IS NULL OR"
        " json_extract(rule, '$.measured.sizes') <= json_extract(?1, '$.measured.sizes'))",
        "ti", rule, session_id);
}

enum hn_status hn_store_put_rule(struct hn_store *store, int64_t session_id,
                                 const struct hn_rule *rule, struct hn_error *err)
{
    assert(store->mode == HN_STORE_WRITE);
    hn_error_init(err);
    (void)hn_store_commit(store, err);
    char *text HN_FREED = hn_document_text(&hn_rule_structure, rule, err);
    set_rule(store, session_id, text, err);
    return err->status;
}

void hn_pending_finish(struct hn_pending *pending)
{
    hn_record_finish(&pending->record);
    free(pending->point);
    free(pending->cubin);
    free(pending->entry);
}

/* Takes it over, and frees what has failed. */
static enum hn_status add_pending(struct hn_store *store, struct hn_pending *pending,
                                  struct hn_error *err)
{
    if (hn_failed(err) ||
        !hn_make_room(&store->pending, store->pending_count, sizeof *store->pending, err)) {
        hn_pending_finish(pending);
        return err->status;
    }
    if (store->pending_count == 0)
        store->oldest_ms = hn_now_ms();
    store->pending[store->pending_count++] = *pending;
    return HN_OK;
}

enum hn_status hn_store_put(struct hn_store *store, int64_t session_id,
                            const struct hn_record *record, struct hn_error *err)
{
    struct hn_pending pending = {.session_id = session_id};
    assert(store->mode == HN_STORE_WRITE);
    (void)hn_record_copy(&pending.record, record, err);
    return add_pending(store, &pending, err);
}

enum hn_status hn_store_put_image(struct hn_store *store, int64_t session_id,
                                  const struct hn_bindings *point, const void *cubin, size_t size,
                                  const char *entry, struct hn_error *err)
{
    assert(store->mode == HN_STORE_WRITE);
    hn_error_init(err);
    struct hn_pending pending = {.session_id = session_id,
                                 .point = hn_made(hn_bindings_text(point), err),
                                 .cubin = hn_made(malloc(size == 0 ? 1 : size), err),
                                 .size = size,
                                 .entry = hn_copy_string(entry, err)};
    if (!hn_failed(err))
        memcpy(pending.cubin, cubin, size);
    return add_pending(store, &pending, err);
}

static void add_image(struct hn_database *database, int64_t session_id,
                      const struct hn_store_image *image, struct hn_error *err)
{
    const struct hn_hash hash = hn_hash_bytes(image->cubin, image->size);
    hn_database_do(
        database, err,
        "INSERT OR REPLACE INTO image SELECT kernel, problem, task, version, ?1, ?2, ?3, ?4,"
        " checksum(kernel, problem, task, version, ?1, ?2, ?4) FROM session WHERE id = ?5",
        "ttbti", image->point, image->entry, image->cubin, image->size, hash.hex, session_id);
}

enum hn_status hn_store_commit(struct hn_store *store, struct hn_error *err)
{
    hn_error_init(err);
    hn_store_keep_place(store, err);
    if (hn_failed(err) || store->pending_count == 0)
        return err->status;
    hn_database_run(store->database, "BEGIN IMMEDIATE", err);
    struct hn_statement *record = prepare_record(store->database, err);
    for (size_t i = 0; i < store->pending_count && !hn_failed(err); i++) {
        const struct hn_pending *pending = &store->pending[i];
        const struct hn_store_image image = {pending->point, pending->entry, NULL, pending->cubin,
                                             pending->size};
        if (pending->cubin != NULL)
            add_image(store->database, pending->session_id, &image, err);
        else
            add_record(record, pending->session_id, &pending->record, err);
    }
    hn_statement_finish(record);
    if (hn_database_commit(store->database, err) != HN_OK)
        return err->status;
    for (size_t i = 0; i < store->pending_count; i++)
        hn_pending_finish(&store->pending[i]);
    store->pending_count = 0;
    if (store->follower.committed != NULL)
        store->follower.committed(store->follower.context);
    return HN_OK;
}

int hn_store_due_ms(const struct hn_store *store)
{
    if (store->pending_count == 0)
        return -1;
    double left_ms = store->oldest_ms + COMMIT_AFTER_MS - hn_now_ms();
    return left_ms > 0 ? (int)ceil(left_ms) : 0;
}

enum hn_status hn_store_add(struct hn_store *store, const struct hn_store_head *head,
                            struct hn_error *err)
{
    assert(store->mode == HN_STORE_WRITE);
    hn_error_init(err);
    check_documents(head, err);
    hn_database_run(store->database, "BEGIN IMMEDIATE", err);
    if (is_new(store, head->origin, err))
        (void)add_head(store, head, err);
    return hn_database_commit(store->database, err);
}

static void add_line(struct hn_statement *prepared, int64_t session_id, const char *line,
                     const char *objective, struct hn_error *err)
{
    struct hn_record record HN_ENDED_BY(hn_record_finish) = {0};
    json_auto_t *json = hn_document_parse(line, err);
    if (!hn_failed(err))
        (void)hn_record_from_json(json, objective, &record, err);
    hn_gate_date(record.time, err);
    add_record(prepared, session_id, &record, err);
}

enum hn_status hn_store_extend(struct hn_store *store, const char *origin, int64_t first,
                               const char *const *lines, size_t count, struct hn_error *err)
{
    assert(store->mode == HN_STORE_WRITE);
    hn_error_init(err);
    hn_database_run(store->database, "BEGIN IMMEDIATE", err);
    struct hn_statement *session = hn_database_prepare(
        store->database, err,
        "SELECT s.id, json_extract(s.task, '$.objective'),"
        " (SELECT count(*) FROM record r WHERE r.session_id = s.id) FROM session s"
        " WHERE s.origin = ?",
        "t", origin);
    struct hn_statement *record = prepare_record(store->database, err);
    bool found = hn_statement_step(session, err);
    int64_t id = found ? hn_column_integer(session, 0) : 0;
    int64_t known = found ? hn_column_integer(session, 2) : -1;
    if (!hn_failed(err) && known < first)
        hn_fail(err, HN_ENOTFOUND,
                "cache '%s' has %lld records of session '%.64s', expected at least %lld",
                store->path, (long long)known, origin, (long long)first);
    for (size_t i = first < 0 ? 0 : (size_t)(known - first); i < count && !hn_failed(err); i++) {
        if (first >= 0) {
            add_line(record, id, lines[i], hn_column_text(session, 1), err);
            continue;
        }
        hn_document_check("rule", &hn_rule_structure, lines[i], err);
        set_rule(store, id, lines[i], err);
    }
    hn_statement_finish(record);
    hn_statement_finish(session);
    return hn_database_commit(store->database, err);
}

/* Making two caches alike: what each has, and taking over what the other has more. */

int64_t hn_store_last_record(struct hn_store *store, int64_t *session, struct hn_error *err)
{
    int64_t record = 0, own;
    (void)hn_database_do(store->database, err,
                         "SELECT (SELECT coalesce(max(id), 0) FROM record),"
                         " (SELECT coalesce(max(id), 0) FROM session)",
                         ">ii", &record, session != NULL ? session : &own);
    return record;
}

json_t *hn_store_get_extents(struct hn_store *store, int64_t last_record, struct hn_error *err)
{
    json_t *all = json_object();
    struct hn_statement *statement = hn_database_prepare(
        store->database, err,
        "SELECT s.id, s.origin, (SELECT count(*) FROM record r WHERE r.session_id = s.id),"
        " s.rule IS NOT NULL FROM session s"
        " WHERE ?1 = 0 OR s.id IN (SELECT session_id FROM record WHERE id > ?1)"
        " ORDER BY s.origin",
        "i", last_record);
    while (hn_statement_next(&statement, err))
        hn_build_set(&all, hn_column_text(statement, 1),
                     json_pack("{s:I, s:I, s:b}", "id", (json_int_t)hn_column_integer(statement, 0),
                               "records", (json_int_t)hn_column_integer(statement, 2), "rule",
                               hn_column_integer(statement, 3) != 0));
    return hn_made(all, err);
}

/* Of what another cache says. */
static void gate_date(const struct hn_store *from, double seconds, struct hn_error *err)
{
    struct hn_error reason = {0};
    hn_gate_date(seconds, &reason);
    if (!hn_failed(err) && hn_failed(&reason))
        hn_fail(err, HN_EFORMAT, "cache '%s': %.1000s", from->path, reason.message);
}

/* A merge under way: both caches, and what was taken over. */
struct merge {
    struct hn_store *store;
    struct hn_store *from;
    struct hn_statement *record;
    struct hn_store_merged *merged;
};

/* From position `first` on. */
static void copy_records(const struct merge *merge, int64_t from_id, const char *objective,
                         int64_t session_id, int64_t first, struct hn_error *err)
{
    struct hn_statement *statement =
        hn_database_prepare(merge->from->database, err,
                            HN_SELECT_RECORDS " WHERE session_id = ? ORDER BY id"
                                              " LIMIT -1 OFFSET ?",
                            "ii", from_id, first);
    while (hn_statement_next(&statement, err)) {
        struct hn_record record HN_ENDED_BY(hn_record_finish) = {0};
        hn_store_read_record(merge->from, statement, objective, &record, err);
        gate_date(merge->from, record.time, err);
        add_record(merge->record, session_id, &record, err);
        merge->merged->records++;
    }
}

static void merge_session(const struct merge *merge, const char *origin, int64_t from_id,
                          bool images, struct hn_error *err)
{
    struct hn_store_head head HN_ENDED_BY(hn_store_head_finish) = {0};
    struct hn_store_image image;
    int64_t known, before = merge->merged->records;
    if (hn_failed(err) || hn_store_get_head(merge->from, from_id, &head, err) != HN_OK)
        return;
    int64_t id = hn_store_find_session(merge->store, origin, &known, err);
    const bool is_there = id != 0;
    if (!is_there) {
        hn_base_mark(merge->from, &head.from);
        check_documents(&head, err);
        hn_store_name_failure(merge->from, "a tuning", err);
        gate_date(merge->from, head.started, err);
        merge->merged->rules += head.rule != NULL;
        id = add_head(merge->store, &head, err);
    } else if (head.rule != NULL) {
        check_documents(&head, err);
        hn_store_name_failure(merge->from, "a tuning", err);
        set_rule(merge->store, id, head.rule, err);
    }
    copy_records(merge, from_id, head.identity.objective, id, known, err);
    struct hn_statement *all = images ? hn_store_get_images(merge->from, from_id, err) : NULL;
    while (hn_store_next_image(merge->from, &all, &image, err))
        add_image(merge->store->database, id, &image, err);
    if (!is_there || merge->merged->records > before)
        merge->merged->sessions++;
    else
        merge->merged->known++;
}

enum hn_status hn_store_merge(struct hn_store *store, struct hn_store *from, bool images,
                              struct hn_store_merged *merged, struct hn_error *err)
{
    static const char count_images[] = "SELECT count(*) FROM image";
    const char *origin;
    json_t *extent;
    assert(store->mode == HN_STORE_WRITE);
    hn_error_init(err);
    *merged = (struct hn_store_merged){.sessions = 0};
    json_auto_t *all = hn_store_get_extents(from, 0, err);
    hn_database_run(store->database, "BEGIN IMMEDIATE", err);
    const int64_t images_before = hn_database_integer(store->database, count_images, err);
    const struct merge merge = {store, from, prepare_record(store->database, err), merged};
    json_object_foreach(all, origin, extent) merge_session(
        &merge, origin, json_integer_value(json_object_get(extent, "id")), images, err);
    merged->images = hn_database_integer(store->database, count_images, err) - images_before;
    hn_statement_finish(merge.record);
    return hn_database_commit(store->database, err);
}
