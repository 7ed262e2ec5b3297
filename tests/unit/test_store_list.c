/* SPDX-License-Identifier: MIT */
#include "base/run.h"
#include "cache/store/lookup.h"
#include "tests/unit/store_fixture.h"

EACH_TEST(set_up, tear_down)

enum { TRIALS = 60, SESSIONS = 3, RECORDS = 12 };

static int draw(unsigned int *state, int below)
{
    *state = *state * 1664525u + 1013904223u;
    return (int)((*state >> 16) % (unsigned int)below);
}

/* Sessions one after the other, told apart by the time of their records. */
static void fill(struct hn_store *store, unsigned int *random)
{
    static const enum hn_outcome outcomes[] = {HN_OUTCOME_OK, HN_OUTCOME_OK, HN_OUTCOME_SLOWER,
                                               HN_OUTCOME_WRONG_RESULT};
    for (int s = 0; s < SESSIONS; s++) {
        int started = 1 + draw(random, 3);
        int64_t session = begin_at(store, &version_1, 4096, false, started);
        for (int r = draw(random, RECORDS); r > 0; r--) {
            struct hn_record record ENDED_BY(hn_record_finish);
            make_record(&record, 16 + draw(random, 5), 1 + draw(random, 4));
            record.outcome = outcomes[draw(random, 4)];
            record.verdict.kind = draw(random, 3) == 0 ? HN_UNVERIFIED : HN_VERIFIED;
            record.final = draw(random, 4) == 0;
            record.time = 10 * started + s;
            assert_ok(hn_store_put(store, session, &record, &said));
        }
    }
    commit(store);
}

static bool is_better(const struct hn_record *a, const struct hn_record *b)
{
    if (a->final != b->final)
        return a->final;
    if (a->final && (a->time < b->time || a->time > b->time))
        return a->time > b->time;
    if (a->objective < b->objective || a->objective > b->objective)
        return a->objective < b->objective;
    return hn_bindings_get(&a->point, "TILE")->integer <
           hn_bindings_get(&b->point, "TILE")->integer;
}

static const struct hn_record *best_of(const struct hn_records *records)
{
    const struct hn_record *best = NULL;
    for (size_t i = 0; i < records->count; i++) {
        const struct hn_record *record = &records->items[i];
        if (record->outcome == HN_OUTCOME_OK && (best == NULL || is_better(record, best)))
            best = record;
    }
    return best;
}

static void assert_listed(const struct hn_tuned_list *list, const struct hn_records *records,
                          size_t points)
{
    const struct hn_record *best = best_of(records);
    assert_int_equal(list->count, best != NULL);
    if (best == NULL)
        return;
    const struct hn_tuned *found = &list->items[0];
    assert_true(hn_bindings_equal(&found->best.point, &best->point));
    assert_true(found->best.time >= best->time && found->best.time <= best->time);
    assert_int_equal(found->best.final, best->final);
    assert_int_equal(found->points, points);
}

static void check(struct hn_store *store)
{
    struct hn_tuned_list list ENDED_BY(hn_tuned_list_free);
    struct hn_tuned_list uncounted ENDED_BY(hn_tuned_list_free);
    struct hn_records records ENDED_BY(hn_records_free) = load_of(store, &version_1, false);
    assert_ok(hn_store_list(store, HN_STORE_RESULTS, NULL, NULL, &list, &said));
    assert_listed(&list, &records, records.count);
    struct hn_identity *identity = identity_of(4096);
    assert_ok(
        hn_store_list(store, HN_STORE_UNCOUNTED, "matmul", &identity->problem, &uncounted, &said));
    assert_listed(&uncounted, &records, 0);
}

TEST(best_is_that_of_all_points_that_count)
{
    unsigned int random = 7;
    for (int trial = 0; trial < TRIALS; trial++) {
        char path[160];
        snprintf(path, sizeof path, "%s/%d.db", cache.folder, trial);
        struct hn_store *store = open_store(path, HN_STORE_WRITE);
        fill(store, &random);
        check(store);
        drop(store);
    }
}

/* The first race is dated by a clock that was set back since, by less than the gate lets through.
 */
TEST(what_came_last_counts_whatever_the_clock_says)
{
    const double future = hn_epoch_s() + 80000;
    const struct hn_version *const versions[] = {&version_1, &version_1, &version_2};
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    for (int i = 0; i < 3; i++) {
        struct hn_tuned_list list ENDED_BY(hn_tuned_list_free);
        struct hn_record record ENDED_BY(hn_record_finish);
        make_record(&record, 32 + i, 5 + i);
        record.final = true;
        record.time = i == 0 ? future + 1 : hn_epoch_s();
        assert_ok(hn_store_put(
            store, begin_at(store, versions[i], 4096, false, i == 0 ? future : 0), &record, &said));
        commit(store);
        assert_ok(hn_store_list(store, HN_STORE_RESULTS, NULL, NULL, &list, &said));
        assert_int_equal(list.count, 1);
        assert_true(hn_bindings_equal(&list.items[0].best.point, &record.point));
        assert_true(hn_version_equal(&list.items[0].version, versions[i]));
        assert_true(list.items[0].begun >= future && list.items[0].begun < future + 1);
    }
    /* So is a tuning with other arguments, which is one of its own. */
    struct hn_tuned_list list ENDED_BY(hn_tuned_list_free);
    struct hn_identity *identity = identity_of(4096);
    free(identity->signature);
    identity->signature = strdup("another");
    const struct hn_store_session session = {.identity = identity, .version = &version_1};
    int64_t id;
    assert_ok(hn_store_begin(store, &session, NULL, &id, &said));
    put(store, id, 64, 7);
    commit(store);
    assert_ok(hn_store_list(store, HN_STORE_RESULTS, NULL, NULL, &list, &said));
    assert_int_equal(list.count, 2);
    qsort(list.items, list.count, sizeof *list.items, hn_lookup_order);
    assert_string_equal(list.items[0].identity.signature, identity->signature);
}
