/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cache/record/gate.h"
#include "cache/store/lookup.h"
#include "cache/store/store_internal.h"

/* What was tuned, and the rules of families that were learnt: of each the one that counts, from a
 * cache and from the one under it. */

void hn_tuned_list_free(struct hn_tuned_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        hn_identity_finish(&list->items[i].identity);
        hn_record_finish(&list->items[i].best);
    }
    free(list->items);
    *list = (struct hn_tuned_list){.items = NULL};
}

/* Many sessions may have measured the same points of one task. They are gone through from the one
 * that counts first; of each the best record that counts is asked for, but of those that are not
 * of a race only where it would be better than what is found already. So the older ones cost a look
 * into an index, and no more. */

#define SAME HN_SUBJECT " AND simulated = ?5"
#define ORDER " ORDER BY source <> '', started DESC, id DESC"
#define BEFORE(session) "(" session ".source <> '', -" session ".started, -" session ".id)"

/* clang-format off */
static const char sessions_of[] = "SELECT id, source <> '' FROM session WHERE " SAME ORDER;

/* Of sessions that were before the record's own only an unverified one has anything to fear
 * (HN_PLACE), so that their records are not looked at. */
static const char best_of[] =
    "WITH newest AS MATERIALIZED (SELECT id, source, started FROM session WHERE " SAME ORDER ")"
    " SELECT c.id, c.final, c.objective, c.point FROM session s JOIN record c ON c.session_id = s.id"
    " WHERE s.id = ?6 AND (c.final OR c.objective <= ?7) AND c.outcome = 'ok' AND c.objective IS NOT NULL"
    " AND NOT EXISTS(SELECT 1 FROM newest n CROSS JOIN record o"
    " ON o.session_id = n.id AND o.point = c.point"
    " WHERE (c.verification = 0 OR " BEFORE("n") " <= " BEFORE("s") ")"
    " AND (" HN_PLACE("o", "n") ") < (" HN_PLACE("c", "s") "))"
    " ORDER BY c.final DESC, c.objective, c.point LIMIT 1";

/* A record by its id with the origin of its session; ?2: with how many points were measured of the
 * task and version. */
static const char record_of[] =
    "SELECT " HN_RECORD_COLUMNS("r.") ", s.id, s.machine, s.source, s.imported,"
    " CASE WHEN ?2 THEN (SELECT count(DISTINCT a.point) FROM session n"
    " JOIN record a ON a.session_id = n.id WHERE n.kernel = s.kernel AND n.problem = s.problem AND n.task = s.task"
    " AND n.version = s.version AND n.simulated = s.simulated) ELSE 0 END"
    " FROM record r JOIN session s ON s.id = r.session_id WHERE r.id = ?1";

#define BY_DEVICE                                                                                                            \
    " json_extract(s.task, '$.device.name'), json_extract(s.task, '$.device.capability'),"                                   \
    " json_extract(s.task, '$.device.sm_count'), json_extract(s.task, '$.device.mig_profile')"
#define BY_WAY                                                                                                               \
    " json_extract(s.task, '$.regime'), json_extract(s.task, '$.objective'), json_extract(s.task, '$.signature')"
/* The sessions of each task, measured and simulated apart, from the one that counts first, and whether they have an ok record. ?1 and ?2 are for
 * the condition. */
#define TASKS(condition)                                                                                                     \
    "SELECT " HN_HEAD_COLUMNS("s.") ", EXISTS(SELECT 1 FROM record r WHERE r.session_id = s.id AND r.outcome = 'ok')"        \
    " FROM session s WHERE " condition " ORDER BY s.kernel, " BY_DEVICE ", s.problem, " BY_WAY                               \
    ", s.simulated, s.source <> '', s.started DESC, s.id DESC"
static const char all_tasks[] = TASKS("?1 IS NULL AND (?2 IS NULL OR problem = ?2)");
static const char tasks_of_kernel[] = TASKS("kernel = ?1 AND ?2 IS ?2");
static const char tasks_of_problem[] = TASKS("kernel = ?1 AND problem = ?2");

/* ?1: the kernel or NULL. Of each family the rule that counts. */
static const char rules_that_count[] =
    "WITH ranked AS (SELECT id, ROW_NUMBER() OVER (PARTITION BY task ORDER BY simulated, source <> '', started DESC, id DESC)"
    " AS age FROM session WHERE rule IS NOT NULL AND (?1 IS NULL OR kernel = ?1))"
    " SELECT " HN_HEAD_COLUMNS("s.") ", s.id FROM ranked r JOIN session s ON s.id = r.id WHERE r.age = 1"
    " ORDER BY s.kernel, " BY_DEVICE ", " BY_WAY;
/* clang-format on */

/* The best of the sessions so far; id 0: none. */
struct found {
    int64_t id;
    bool imported; /* its session */
    bool final;
    double objective;
    char *point;
};

/* What is being listed. */
struct listing {
    struct hn_store *store;
    struct hn_statement *tasks;
    struct hn_statement *sessions;
    struct hn_statement *best;
    struct hn_statement *record;
    bool count;    /* the points of each task */
    bool versions; /* every one that has an ok record, not only the newest */
    struct hn_tuned_list *list;
    size_t capacity;
    /* The task whose sessions are gone through. */
    struct {
        char *text;
        char *version; /* of its newest session */
        bool simulated;
        bool mixed;   /* one was of another version */
        bool found;   /* one had an ok record */
        size_t first; /* of its results in the list */
    } task;
};

static bool is_better(struct hn_statement *row, const struct found *found)
{
    double objective = hn_column_real(row, 2);
    return found->id == 0 || hn_column_integer(row, 1) != 0 || objective < found->objective ||
           (objective == found->objective && strcmp(hn_column_text(row, 3), found->point) < 0);
}

static void look(struct hn_statement *statement, const struct hn_store_head *head,
                 int64_t session_id, struct found *found, struct hn_error *err)
{
    hn_statement_bind(statement, "ttttiir", HN_SUBJECT_VALUES(&head->subject),
                      (int64_t)head->simulated, session_id,
                      found->id == 0 ? INFINITY : found->objective);
    if (!hn_statement_step(statement, err))
        return;
    if (is_better(statement, found)) {
        free(found->point);
        found->id = hn_column_integer(statement, 0);
        found->final = hn_column_integer(statement, 1) != 0;
        found->objective = hn_column_real(statement, 2);
        found->point = strdup(hn_column_text(statement, 3));
        if (found->point == NULL)
            hn_fail_memory(err);
    }
    hn_statement_run(statement, err); /* for the next session */
}

/* The id of the best record of a head's subject that counts; 0: there is none. */
static int64_t find_best(const struct listing *listing, const struct hn_store_head *head,
                         struct hn_error *err)
{
    struct found found = {.id = 0};
    struct hn_statement *sessions = listing->sessions;
    hn_statement_bind(sessions, "tttti", HN_SUBJECT_VALUES(&head->subject),
                      (int64_t)head->simulated);
    while (hn_statement_step(sessions, err)) {
        bool imported = hn_column_integer(sessions, 1) != 0;
        /* The newest race counts; and what was measured here before what was imported. */
        if (found.id != 0 && (found.final || imported != found.imported)) {
            hn_statement_run(sessions, err);
            break;
        }
        bool none = found.id == 0;
        look(listing->best, head, hn_column_integer(sessions, 0), &found, err);
        found.imported = none ? imported : found.imported;
    }
    free(found.point);
    return found.id;
}

static void read_origin(struct hn_statement *statement, int first, struct hn_origin *origin,
                        struct hn_error *err)
{
    snprintf(origin->machine, sizeof origin->machine, "%s", hn_column_text(statement, first));
    snprintf(origin->source, sizeof origin->source, "%s", hn_column_text(statement, first + 1));
    origin->imported = hn_column_real(statement, first + 2);
    hn_store_gate_origin(origin, err);
}

/* The result that a row of tasks stands for. False: there is none. */
static bool read_tuned(const struct listing *listing, const struct hn_store_head *head,
                       struct hn_tuned *tuned, struct hn_error *err)
{
    const int protocol = head->version.protocol;
    struct hn_statement *record = listing->record;
    int64_t id = find_best(listing, head, err);
    if (id == 0)
        return false;
    hn_statement_bind(record, "ii", id, (int64_t)listing->count);
    if (!hn_statement_step(record, err))
        return false;
    tuned->version = head->version;
    tuned->simulated = head->simulated;
    tuned->stale = listing->task.mixed ||
                   (protocol != HN_MEASURING_PROTOCOL && protocol != HN_KERNEL_TUNER_PROTOCOL);
    tuned->session_id = hn_column_integer(record, HN_RECORD_COLUMN_COUNT);
    tuned->points = hn_column_integer(record, HN_RECORD_COLUMN_COUNT + 4);
    hn_store_read_record(listing->store, record, head->identity.objective, &tuned->best, err);
    if (!hn_failed(err))
        read_origin(record, HN_RECORD_COLUMN_COUNT + 1, &tuned->origin, err);
    hn_statement_run(record, err); /* for the next task */
    return true;
}

static bool has_version(const struct listing *listing, const struct hn_version *version)
{
    bool found = false;
    for (size_t i = listing->task.first; i < listing->list->count; i++)
        found = found || hn_version_equal(&listing->list->items[i].version, version);
    return found;
}

static void append_tuned(struct listing *listing, struct hn_error *err)
{
    struct hn_tuned_list *list = listing->list;
    struct hn_store_head head = {.origin = NULL};
    if (list->count == listing->capacity) {
        size_t capacity = list->count == 0 ? 8 : 2 * list->count;
        struct hn_tuned *grown = realloc(list->items, capacity * sizeof *grown);
        if (grown == NULL) {
            hn_fail_memory(err);
            return;
        }
        list->items = grown;
        listing->capacity = capacity;
    }
    struct hn_tuned *tuned = &list->items[list->count];
    *tuned = (struct hn_tuned){.points = 0};
    hn_record_init(&tuned->best);
    hn_store_read_head(listing->store, listing->tasks, &head, err);
    if (!hn_failed(err) && !has_version(listing, &head.version) &&
        read_tuned(listing, &head, tuned, err)) {
        tuned->identity = head.identity;
        hn_identity_init(&head.identity);
        list->count++;
    }
    hn_store_head_finish(&head);
}

/* Looks whether a row is of another task than the one before it. */
static void enter_task(struct listing *listing, struct hn_error *err)
{
    const char *text = hn_column_text(listing->tasks, 3);
    const char *version = hn_column_text(listing->tasks, 4);
    bool simulated = hn_column_integer(listing->tasks, 8) != 0;
    if (listing->task.text != NULL && strcmp(listing->task.text, text) == 0 &&
        listing->task.simulated == simulated) {
        listing->task.mixed = listing->task.mixed || strcmp(listing->task.version, version) != 0;
        return;
    }
    free(listing->task.text);
    free(listing->task.version);
    listing->task.text = strdup(text);
    listing->task.version = strdup(version);
    listing->task.simulated = simulated;
    listing->task.mixed = false;
    listing->task.found = false;
    listing->task.first = listing->list->count;
    if (listing->task.text == NULL || listing->task.version == NULL)
        hn_fail_memory(err);
}

static void list_tasks(struct listing *listing, const char *kernel, const char *problem,
                       struct hn_error *err)
{
    struct hn_database *database = listing->store->database;
    *listing->list = (struct hn_tuned_list){.items = NULL};
    listing->tasks = hn_database_prepare(database, err,
                                         kernel == NULL    ? all_tasks
                                         : problem == NULL ? tasks_of_kernel
                                                           : tasks_of_problem,
                                         "tt", kernel, problem);
    listing->sessions = hn_database_prepare(database, err, sessions_of, "");
    listing->best = hn_database_prepare(database, err, best_of, "");
    listing->record = hn_database_prepare(database, err, record_of, "");
    while (hn_statement_step(listing->tasks, err)) {
        enter_task(listing, err);
        if (hn_column_integer(listing->tasks, HN_HEAD_COLUMN_COUNT) == 0 ||
            (listing->task.found && !listing->versions))
            continue;
        listing->task.found = true;
        append_tuned(listing, err);
    }
    free(listing->task.text);
    free(listing->task.version);
    hn_statement_finish(listing->record);
    hn_statement_finish(listing->best);
    hn_statement_finish(listing->sessions);
    hn_statement_finish(listing->tasks);
}

void hn_store_set_base(struct hn_store *store, struct hn_store *base)
{
    assert(store->base == NULL);
    store->base = base;
}

void hn_base_mark(const struct hn_store *base, struct hn_origin *origin)
{
    struct hn_origin file;
    hn_origin_of_file(base->path, &file);
    snprintf(origin->source, sizeof origin->source, "%s",
             base->name != NULL ? base->name : file.source);
    origin->imported = 0;
}

static bool has(const struct hn_tuned_list *list, size_t count, const struct hn_tuned *tuned,
                bool versions)
{
    for (size_t i = 0; i < count; i++) {
        const struct hn_tuned *own = &list->items[i];
        if (own->simulated == tuned->simulated &&
            hn_identity_equal(&own->identity, &tuned->identity) &&
            (!versions || hn_version_equal(&own->version, &tuned->version)))
            return true;
    }
    return false;
}

/* As both caches had them: by kernel, then as they are listed everywhere. */
static int compare(const void *a, const void *b)
{
    const struct hn_tuned *x = a;
    const struct hn_tuned *y = b;
    int kernels = strcmp(x->identity.kernel, y->identity.kernel);
    return kernels != 0 ? kernels : hn_lookup_order(x, y);
}

/* Moves what `more`, the base's, has beside the list's: other identities, or with `versions` other
 * versions of them too. What is left of it is to be freed. */
static void join(const struct hn_store *base, struct hn_tuned_list *list,
                 struct hn_tuned_list *more, bool versions, struct hn_error *err)
{
    const size_t own = list->count;
    struct hn_tuned *grown = realloc(list->items, (own + more->count + 1) * sizeof *grown);
    if (grown == NULL) {
        hn_fail_memory(err);
        return;
    }
    list->items = grown;
    size_t left = 0;
    for (size_t i = 0; i < more->count; i++) {
        struct hn_tuned *tuned = &more->items[i];
        if (has(list, own, tuned, versions)) {
            more->items[left++] = *tuned;
            continue;
        }
        hn_base_mark(base, &tuned->origin);
        tuned->session_id = 0; /* none of the upper cache's */
        list->items[list->count++] = *tuned;
    }
    more->count = left;
    if (list->count > own)
        qsort(list->items, list->count, sizeof *list->items, compare);
}

/* What is asked of a cache, and of the one under it. */
static enum hn_status list_both(struct hn_store *store, struct listing listing, const char *kernel,
                                const struct hn_bindings *problem, struct hn_error *err)
{
    struct hn_error own;
    struct hn_tuned_list more = {.items = NULL};
    struct listing under = listing;
    err = hn_error_begin(err, &own);
    listing.store = store;
    under.store = store->base;
    under.list = &more;
    char *text = problem == NULL ? NULL : hn_bindings_text(problem);
    if (problem != NULL && text == NULL)
        hn_fail_memory(err);
    list_tasks(&listing, kernel, text, err);
    if (store->base != NULL) {
        list_tasks(&under, kernel, text, err);
        if (!hn_failed(err))
            join(store->base, listing.list, &more, listing.versions, err);
        hn_tuned_list_free(&more);
    }
    if (hn_failed(err))
        hn_tuned_list_free(listing.list);
    free(text);
    return err->status;
}

enum hn_status hn_store_list(struct hn_store *store, const char *kernel, struct hn_tuned_list *list,
                             struct hn_error *err)
{
    return list_both(store, (struct listing){.count = true, .list = list}, kernel, NULL, err);
}

enum hn_status hn_store_list_problem(struct hn_store *store, const char *kernel,
                                     const struct hn_bindings *problem, struct hn_tuned_list *list,
                                     struct hn_error *err)
{
    return list_both(store, (struct listing){.list = list}, kernel, problem, err);
}

enum hn_status hn_store_list_versions(struct hn_store *store, const char *kernel,
                                      struct hn_tuned_list *list, struct hn_error *err)
{
    const struct listing listing = {.count = true, .versions = true, .list = list};
    return list_both(store, listing, kernel, NULL, err);
}

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

static void append_rule(struct hn_store *store, struct hn_statement *statement,
                        struct hn_stored_rules *rules, struct hn_error *err)
{
    struct hn_store_head head = {.origin = NULL};
    struct hn_stored_rule *stored = hn_stored_rules_add(rules);
    if (stored == NULL) {
        hn_fail_memory(err);
        return;
    }
    hn_store_read_head(store, statement, &head, err);
    hn_gate_moment("started", head.started, err);
    if (!hn_failed(err)) {
        hn_document_read_rule(head.rule == NULL ? "" : head.rule, &stored->rule, err);
        hn_store_name_failure(store, "the rule of a family", err);
    }
    stored->identity = head.identity;
    stored->version = head.version;
    stored->origin = head.from;
    stored->session_id = hn_column_integer(statement, HN_HEAD_COLUMN_COUNT);
    stored->learnt = head.started;
    stored->simulated = head.simulated;
    stored->stale = head.version.protocol != HN_MEASURING_PROTOCOL;
    hn_identity_init(&head.identity);
    hn_store_head_finish(&head);
}

static void get_rules(struct hn_store *store, const char *kernel, struct hn_stored_rules *rules,
                      struct hn_error *err)
{
    struct hn_statement *statement =
        hn_database_prepare(store->database, err, rules_that_count, "t", kernel);
    while (hn_statement_step(statement, err))
        append_rule(store, statement, rules, err);
    hn_statement_finish(statement);
}

/* Moves those of families that the upper cache has no rule of; what is left of `more` is to be
 * freed. */
static void join_rules(const struct hn_store *base, struct hn_stored_rules *rules,
                       struct hn_stored_rules *more, struct hn_error *err)
{
    const size_t own = rules->count;
    size_t left = 0;
    struct hn_stored_rule *grown = realloc(rules->items, (own + more->count + 1) * sizeof *grown);
    if (grown == NULL) {
        hn_fail_memory(err);
        return;
    }
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
}

enum hn_status hn_store_get_rules(struct hn_store *store, const char *kernel,
                                  struct hn_stored_rules *rules, struct hn_error *err)
{
    struct hn_error own;
    struct hn_stored_rules more = {.items = NULL};
    err = hn_error_begin(err, &own);
    *rules = (struct hn_stored_rules){.items = NULL};
    get_rules(store, kernel, rules, err);
    if (store->base != NULL) {
        get_rules(store->base, kernel, &more, err);
        if (!hn_failed(err))
            join_rules(store->base, rules, &more, err);
        hn_stored_rules_free(&more);
    }
    if (hn_failed(err))
        hn_stored_rules_free(rules);
    return err->status;
}

/* Never 0. */
static uint64_t hash_text(const char *text)
{
    return hn_hash_number(text, strlen(text)) | 1;
}

static size_t place_of(const struct hn_known_problems *known, uint64_t hash)
{
    size_t place = (size_t)(hash >> 1) & known->mask;
    while (known->hashes[place] != 0 && known->hashes[place] != hash)
        place = (place + 1) & known->mask;
    return place;
}

static void add_problems(const struct hn_store *store, const char *kernel, int64_t most,
                         struct hn_known_problems *known, struct hn_error *err)
{
    struct hn_statement *statement = hn_database_prepare(
        store->database, err, "SELECT DISTINCT problem FROM session WHERE kernel = ?", "t", kernel);
    /* Another process may write meanwhile: what is more than there is room for came later. */
    for (int64_t i = 0; i < most && hn_statement_step(statement, err); i++) {
        uint64_t hash = hash_text(hn_column_text(statement, 0));
        known->hashes[place_of(known, hash)] = hash;
    }
    hn_statement_finish(statement);
}

static int64_t count_problems(const struct hn_store *store, const char *kernel,
                              struct hn_error *err)
{
    struct hn_statement *statement = hn_database_prepare(
        store->database, err, "SELECT count(DISTINCT problem) FROM session WHERE kernel = ?", "t",
        kernel);
    int64_t count = hn_statement_step(statement, err) ? hn_column_integer(statement, 0) : 0;
    hn_statement_finish(statement);
    return count;
}

enum hn_status hn_known_problems_read(struct hn_store *store, const char *kernel,
                                      struct hn_known_problems *known, struct hn_error *err)
{
    struct hn_error own;
    size_t capacity = 16;
    err = hn_error_begin(err, &own);
    int64_t count = count_problems(store, kernel, err);
    int64_t under = store->base != NULL ? count_problems(store->base, kernel, err) : 0;
    while (capacity < 2 * (size_t)(count + under))
        capacity *= 2;
    *known = (struct hn_known_problems){.hashes = calloc(capacity, sizeof *known->hashes),
                                        .mask = capacity - 1};
    if (known->hashes == NULL && !hn_failed(err))
        hn_fail_memory(err);
    add_problems(store, kernel, count, known, err);
    if (store->base != NULL)
        add_problems(store->base, kernel, under, known, err);
    if (hn_failed(err))
        hn_known_problems_finish(known);
    return err->status;
}

void hn_known_problems_finish(struct hn_known_problems *known)
{
    free(known->hashes);
    hn_text_finish(&known->text);
    *known = (struct hn_known_problems){.hashes = NULL};
}

bool hn_known_problems_may_have(struct hn_known_problems *known, const struct hn_bindings *problem)
{
    known->text.length = 0;
    hn_bindings_append(&known->text, problem);
    return known->text.failed || known->text.data == NULL ||
           known->hashes[place_of(known, hash_text(known->text.data))] != 0;
}
