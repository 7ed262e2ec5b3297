/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "cache/record/gate.h"
#include "cache/store/lookup.h"
#include "cache/store/store_internal.h"

/* What was tuned, and the rules of families that were learnt: of each the one that counts, from a
 * cache and from the one under it. */

struct hn_tuned *hn_tuned_list_add(struct hn_tuned_list *list, struct hn_error *err)
{
    if (!hn_make_room(&list->items, list->count, sizeof *list->items, err))
        return NULL;
    struct hn_tuned *tuned = &list->items[list->count++];
    *tuned = (struct hn_tuned){.points = 0};
    return tuned;
}

void hn_tuned_finish(struct hn_tuned *tuned)
{
    hn_identity_finish(&tuned->identity);
    hn_record_finish(&tuned->best);
    if (tuned->rule != NULL)
        hn_rule_finish(tuned->rule);
    free(tuned->rule);
}

void hn_tuned_list_free(struct hn_tuned_list *list)
{
    HN_FREE_EACH(tuned, list->items, list->count, hn_tuned_finish(tuned));
    *list = (struct hn_tuned_list){.items = NULL};
}

const struct hn_tuned *hn_tuned_list_find(const struct hn_tuned_list *list,
                                          const struct hn_identity *identity,
                                          const struct hn_version *version, bool simulated)
{
    HN_EACH(tuned, *list) {
        if (tuned->simulated == simulated && hn_identity_equal(&tuned->identity, identity) &&
            (version == NULL || hn_version_equal(&tuned->version, version)))
            return tuned;
    }
    return NULL;
}

/* Many sessions may have measured the same points of one task. They are gone through from the one
 * that counts first; of each the best record that counts is asked for, but of those that are not
 * of a race only where it would be better than what is found already. So the older ones cost a look
 * into an index, and no more. */

#define SAME HN_SUBJECT " AND simulated = ?5"
#define ORDER " ORDER BY source <> '', started DESC, id DESC"
#define BEFORE(session) "(" session ".source <> '', -" session ".started, -" session ".id)"

/* clang-format off */
static const char sessions_of[] = "SELECT id, source <> '', " HN_SESSION_INTACT("") " FROM session WHERE " SAME ORDER;

/* Of sessions that were before the record's own only an unverified one has anything to fear
 * (HN_PLACE), so that their records are not looked at. */
static const char best_of[] =
    "WITH newest AS MATERIALIZED (SELECT id, source, started FROM session WHERE " SAME ORDER ")"
    " SELECT c.id, c.final, c.objective, c.point FROM session s JOIN record c ON c.session_id = s.id"
    " WHERE s.id = ?6 AND (c.final OR c.objective < ?7"
    " OR c.objective = ?7 AND (length(c.point), c.point) < (length(?8), ?8)) AND c.outcome = 'ok' AND c.objective IS NOT NULL"
    " AND NOT EXISTS(SELECT 1 FROM newest n CROSS JOIN record o"
    " ON o.session_id = n.id AND o.point = c.point"
    " WHERE (c.verification = 0 OR " BEFORE("n") " <= " BEFORE("s") ")"
    " AND (" HN_PLACE("o", "n") ") < (" HN_PLACE("c", "s") "))"
    " ORDER BY c.final DESC, c.objective, length(c.point), c.point LIMIT ?9";

/* A record by its id with the origin of its session; ?2: with how many points were measured of the
 * task and version. */
static const char record_of[] =
    "SELECT " HN_RECORD_COLUMNS("r.") ", s.id, s.machine, s.source, s.imported,"
    " CASE WHEN ?2 THEN (SELECT count(DISTINCT a.point) FROM session n"
    " JOIN record a ON a.session_id = n.id WHERE n.kernel = s.kernel AND n.problem = s.problem AND n.task = s.task"
    " AND n.version = s.version AND n.simulated = s.simulated) ELSE 0 END"
    " FROM record r JOIN session s ON s.id = r.session_id WHERE r.id = ?1";

/* The sessions of each task, measured and simulated apart, from the one that counts first, and whether they have an ok record. ?1 and ?2 are for
 * the condition. */
#define TASKS(condition)                                                                                                     \
    "SELECT " HN_HEAD_COLUMNS("s.") ", EXISTS(SELECT 1 FROM record r WHERE r.session_id = s.id AND r.outcome = 'ok')"        \
    " FROM session s WHERE " condition " ORDER BY s.task, s.simulated, s.source <> '', s.started DESC, s.id DESC"
static const char all_tasks[] = TASKS("?1 IS NULL AND (?2 IS NULL OR problem = ?2)");
static const char tasks_of_kernel[] = TASKS("kernel = ?1 AND ?2 IS ?2");
static const char tasks_of_problem[] = TASKS("kernel = ?1 AND problem = ?2");

/* ?1: the kernel or NULL. The rules of each family, from the one that counts first. */
static const char rules_of_kernel[] =
    "SELECT " HN_HEAD_COLUMNS("s.") " FROM session s WHERE rule IS NOT NULL AND (?1 IS NULL OR kernel = ?1)"
    " ORDER BY task, simulated, source <> '', started DESC, id DESC";
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
    enum hn_store_listed listed;
    struct hn_tuned_list list;
    /* The task whose sessions are gone through. */
    struct task {
        char *text;
        char *version; /* of its newest session */
        bool simulated;
        bool mixed;   /* one was of another version */
        bool found;   /* one had an ok record */
        size_t first; /* of its results in the list */
    } task;
};

static bool is_left_out(const struct hn_store *store, int64_t id)
{
    for (size_t i = 0; i < store->left_out_count; i++)
        if (store->left_out[i] == id)
            return true;
    return false;
}

static void look(const struct listing *listing, const struct hn_store_head *head,
                 int64_t session_id, struct found *found, struct hn_error *err)
{
    struct hn_statement *statement = listing->best;
    hn_statement_bind(statement, "ttttiirti", HN_SUBJECT_VALUES(&head->subject),
                      (int64_t)head->simulated, session_id,
                      found->id == 0 ? INFINITY : found->objective, found->point,
                      (int64_t)listing->store->left_out_count + 1);
    do {
        if (!hn_statement_step(statement, err))
            return;
    } while (is_left_out(listing->store, hn_column_integer(statement, 0)));
    free(found->point);
    hn_statement_read(statement, 0, err, "ibrt", &found->id, &found->final, &found->objective,
                      &found->point);
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
        const int64_t id = hn_column_integer(sessions, 0);
        bool imported = hn_column_integer(sessions, 1) != 0;
        char name[40];
        snprintf(name, sizeof name, "session %lld", (long long)id);
        hn_store_expect_intact(listing->store, hn_column_integer(sessions, 2) != 0, name, err);
        if (hn_store_leave_out(listing->store, -id, err))
            continue;
        /* The newest race counts; and what was measured here before what was imported. */
        if (found.id != 0 && (found.final || imported != found.imported)) {
            hn_statement_run(sessions, err);
            break;
        }
        found.imported = imported;
        look(listing, head, id, &found, err);
    }
    free(found.point);
    return found.id;
}

/* The rest of what a row is, after its result was read. */
static void take_head(struct hn_tuned *tuned, struct hn_store_head *head)
{
    tuned->identity = head->identity;
    tuned->version = head->version;
    tuned->simulated = head->simulated;
    tuned->begun = head->started;
    head->identity = (struct hn_identity){0};
}

/* The result that a row of tasks stands for. False: there is none. */
static bool read_tuned(const struct listing *listing, const struct hn_store_head *head,
                       struct hn_tuned *tuned, struct hn_error *err)
{
    const int protocol = head->version.protocol;
    struct hn_statement *record = listing->record;
    for (int64_t id;;) {
        id = find_best(listing, head, err);
        if (id == 0)
            return false;
        hn_statement_bind(record, "ii", id, (int64_t)(listing->listed != HN_STORE_UNCOUNTED));
        if (!hn_statement_step(record, err))
            return false;
        hn_store_read_record(listing->store, record, head->identity.objective, &tuned->best, err);
        if (!hn_store_leave_out(listing->store, id, err))
            break;
        hn_record_finish(&tuned->best);
        tuned->best = (struct hn_record){0};
        hn_statement_run(record, err); /* for the next best */
    }
    tuned->stale = listing->task.mixed ||
                   (protocol != HN_MEASURING_PROTOCOL && protocol != HN_KERNEL_TUNER_PROTOCOL);
    hn_statement_read(record, HN_RECORD_COLUMN_COUNT, err, "iccri", &tuned->session_id,
                      tuned->origin.machine, sizeof tuned->origin.machine, tuned->origin.source,
                      sizeof tuned->origin.source, &tuned->origin.imported, &tuned->points);
    hn_store_gate_origin(&tuned->origin, err);
    hn_statement_run(record, err); /* for the next task */
    return true;
}

/* False: the session cannot be read. */
static bool append_tuned(struct listing *listing, struct hn_error *err)
{
    struct hn_store_head head HN_ENDED_BY(hn_store_head_finish) = {.origin = NULL};
    hn_store_read_head(listing->store, listing->tasks, &head, err);
    const bool left_out = hn_store_leave_out(
        listing->store, -hn_column_integer(listing->tasks, HN_HEAD_COLUMN_COUNT - 1), err);
    bool has = left_out;
    for (size_t i = listing->task.first; i < listing->list.count; i++)
        has = has || hn_version_equal(&listing->list.items[i].version, &head.version);
    struct hn_tuned *tuned = has ? NULL : hn_tuned_list_add(&listing->list, err);
    if (tuned != NULL && read_tuned(listing, &head, tuned, err))
        take_head(tuned, &head);
    else if (tuned != NULL)
        listing->list.count--;
    return !left_out;
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
    listing->task = (struct task){.text = hn_copy_string(text, err),
                                  .version = hn_copy_string(version, err),
                                  .simulated = simulated,
                                  .first = listing->list.count};
}

static void list_tasks(struct listing *listing, const char *kernel, const char *problem,
                       struct hn_error *err)
{
    struct hn_database *database = listing->store->database;
    listing->tasks = hn_database_prepare(database, err,
                                         kernel == NULL    ? all_tasks
                                         : problem == NULL ? tasks_of_kernel
                                                           : tasks_of_problem,
                                         "tt", kernel, problem);
    listing->sessions = hn_database_prepare(database, err, sessions_of, "");
    listing->best = hn_database_prepare(database, err, best_of, "");
    listing->record = hn_database_prepare(database, err, record_of, "");
    while (hn_statement_next(&listing->tasks, err)) {
        enter_task(listing, err);
        if (hn_column_integer(listing->tasks, HN_HEAD_COLUMN_COUNT) == 0 ||
            (listing->task.found && listing->listed != HN_STORE_VERSIONS))
            continue;
        listing->task.found |= append_tuned(listing, err);
    }
    free(listing->task.text);
    free(listing->task.version);
    hn_statement_finish(listing->record);
    hn_statement_finish(listing->best);
    hn_statement_finish(listing->sessions);
}

/* Whether a row of the rules of families can be read, into tuned. */
static bool read_rule(const struct hn_store *store, struct hn_statement *row,
                      struct hn_tuned *tuned, struct hn_error *err)
{
    struct hn_store_head head HN_ENDED_BY(hn_store_head_finish) = {.origin = NULL};
    hn_store_read_head(store, row, &head, err);
    hn_gate_moment("started", head.started, err);
    tuned->rule = hn_allocate(1, sizeof *tuned->rule, err);
    if (tuned->rule != NULL) {
        hn_document_read("rule", &hn_rule_structure, head.rule == NULL ? "" : head.rule,
                         tuned->rule, err);
        hn_store_name_failure(store, "the rule of a family", err);
    }
    if (!hn_failed(err)) {
        tuned->origin = head.from;
        tuned->session_id = hn_column_integer(row, HN_HEAD_COLUMN_COUNT - 1);
        tuned->stale = head.version.protocol != HN_MEASURING_PROTOCOL;
        take_head(tuned, &head);
    }
    return !hn_failed(err);
}

static void list_rules(struct listing *listing, const char *kernel, struct hn_error *err)
{
    struct hn_store *store = listing->store;
    char *task HN_FREED = NULL; /* of the last one */
    struct hn_statement *rows =
        hn_database_prepare(store->database, err, rules_of_kernel, "t", kernel);
    while (hn_statement_next(&rows, err)) {
        if (task != NULL && strcmp(task, hn_column_text(rows, 3)) == 0)
            continue;
        struct hn_tuned *tuned = hn_tuned_list_add(&listing->list, err);
        if (tuned == NULL)
            continue;
        if (read_rule(store, rows, tuned, err)) {
            free(task);
            task = hn_copy_string(hn_column_text(rows, 3), err);
        } else {
            const int64_t id = hn_column_integer(rows, HN_HEAD_COLUMN_COUNT - 1);
            hn_tuned_finish(&listing->list.items[--listing->list.count]);
            (void)hn_store_leave_out(store, -id, err);
        }
    }
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

/* Of rules measured and simulated ones are the same. */
static bool has(const struct hn_tuned_list *list, const struct hn_tuned *tuned, bool versions)
{
    const struct hn_version *version = versions ? &tuned->version : NULL;
    return hn_tuned_list_find(list, &tuned->identity, version, tuned->simulated) != NULL ||
           (tuned->rule != NULL &&
            hn_tuned_list_find(list, &tuned->identity, version, !tuned->simulated) != NULL);
}

/* By kernel, then as they are listed everywhere. */
static int compare(const void *a, const void *b)
{
    const struct hn_tuned *x = a, *y = b;
    int kernels = strcmp(x->identity.kernel, y->identity.kernel);
    return kernels != 0 ? kernels : hn_lookup_order(x, y);
}

/* Moves what `more`, the base's, has beside the list's: other identities, or with `versions` other
 * versions of them too. Frees the rest. */
static void join(const struct hn_store *base, struct hn_tuned_list *list,
                 struct hn_tuned_list *more, bool versions, struct hn_error *err)
{
    const size_t own = list->count;
    for (size_t i = 0; i < more->count && !hn_failed(err); i++) {
        const struct hn_tuned_list first = {list->items, own};
        struct hn_tuned *added =
            has(&first, &more->items[i], versions) ? NULL : hn_tuned_list_add(list, err);
        if (added == NULL)
            continue;
        *added = more->items[i];
        more->items[i] = (struct hn_tuned){.points = 0};
        hn_base_mark(base, &added->origin);
        added->session_id = 0; /* none of the upper cache's */
    }
    hn_tuned_list_free(more);
}

enum hn_status hn_store_list(struct hn_store *store, enum hn_store_listed listed,
                             const char *kernel, const struct hn_bindings *problem,
                             struct hn_tuned_list *list, struct hn_error *err)
{
    hn_error_init(err);
    *list = (struct hn_tuned_list){.items = NULL};
    char *text HN_FREED = problem == NULL ? NULL : hn_made(hn_bindings_text(problem), err);
    for (struct hn_store *from = store; from != NULL; from = from->base) {
        struct listing listing = {.store = from, .listed = listed};
        if (listed == HN_STORE_RULES)
            list_rules(&listing, kernel, err);
        else
            list_tasks(&listing, kernel, text, err);
        if (from == store)
            *list = listing.list;
        else
            join(from, list, &listing.list, listed == HN_STORE_VERSIONS, err);
    }
    if (hn_failed(err))
        hn_tuned_list_free(list);
    else if (list->count > 0)
        qsort(list->items, list->count, sizeof *list->items, compare);
    return err->status;
}

/* A number counts as a double, so that an integer and a real may have one hash. */
static uint64_t hash_problem(const struct hn_bindings *problem)
{
    uint64_t hash = 0;
    HN_EACH_OF(value, problem->values, problem->count) {
        const double number = hn_value_number(value);
        hash =
            31 * hash + (value->type == HN_WORD ? hn_hash_number(value->word, strlen(value->word))
                                                : hn_hash_number(&number, sizeof number));
    }
    return hash;
}

static int compare_hashes(const void *first, const void *second)
{
    const uint64_t *a = first, *b = second;
    return (*a > *b) - (*a < *b);
}

enum hn_status hn_known_problems_read(struct hn_store *store, const char *kernel,
                                      struct hn_known_problems *known, struct hn_error *err)
{
    hn_error_init(err);
    *known = (struct hn_known_problems){.hashes = NULL};
    for (struct hn_store *from = store; from != NULL; from = from->base) {
        struct hn_statement *problems = hn_database_prepare(
            from->database, err, "SELECT DISTINCT problem FROM session WHERE kernel = ?", "t",
            kernel);
        while (hn_statement_next(&problems, err)) {
            /* One that cannot be read is nobody's. */
            struct hn_bindings problem HN_ENDED_BY(hn_bindings_finish) = {0};
            if (hn_bindings_parse(hn_column_text(problems, 0), &problem, NULL) == HN_ENOMEM)
                hn_fail_memory(err);
            if (hn_make_room(&known->hashes, known->count, sizeof *known->hashes, err))
                known->hashes[known->count++] = hash_problem(&problem);
        }
    }
    if (hn_failed(err))
        hn_known_problems_finish(known);
    else if (known->count > 0)
        qsort(known->hashes, known->count, sizeof *known->hashes, compare_hashes);
    return err->status;
}

void hn_known_problems_finish(struct hn_known_problems *known)
{
    free(known->hashes);
    *known = (struct hn_known_problems){.hashes = NULL};
}

bool hn_known_problems_may_have(const struct hn_known_problems *known,
                                const struct hn_bindings *problem)
{
    const uint64_t hash = hash_problem(problem);
    return known->count > 0 &&
           bsearch(&hash, known->hashes, known->count, sizeof hash, compare_hashes) != NULL;
}

void hn_store_fail_missing(struct hn_store *store, const char *kernel, struct hn_error *err)
{
    struct hn_tuned_list all HN_ENDED_BY(hn_tuned_list_free) = {0};
    struct hn_text known HN_ENDED_BY(hn_text_finish) = {0};
    const char *name = store->name != NULL ? store->name : store->path;
    if (hn_store_list(store, HN_STORE_RESULTS, NULL, NULL, &all, err) != HN_OK)
        return;
    for (size_t i = 0; i < all.count; i++)
        if (i == 0 || strcmp(all.items[i - 1].identity.kernel, all.items[i].identity.kernel) != 0)
            hn_text_printf(&known, "%s%s", i == 0 ? "" : ", ", all.items[i].identity.kernel);
    if (all.count == 0)
        hn_fail(err, HN_ENOTFOUND,
                "cache '%s' has no valid results yet; `hone tune CONFIG` makes them", name);
    else
        hn_fail(err, HN_ENOTFOUND, "cache '%s' has no valid result of '%s'; it has: %s", name,
                kernel, known.data);
}
