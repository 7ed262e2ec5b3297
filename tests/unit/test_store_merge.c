/* SPDX-License-Identifier: MIT */
#include "tests/unit/store_fixture.h"

#include "cache/store/store.h"

EACH_TEST(set_up, tear_down)

TEST(merge_takes_each_session_once)
{
    const char *other = in_folder("other.db");
    struct hn_store_merged merged;
    struct hn_store *from = open_store(other, HN_STORE_WRITE);
    int64_t session = begin_at(from, &version_1, 4096, false, 5000);
    put(from, session, 16, 7);
    put(from, session, 32, 8);
    put_image(from, session, 16, "e");
    commit(from);
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    put(store, begin(store), 64, 9);
    commit(store);
    assert_ok(hn_store_merge(store, from, false, &merged, &said));
    assert_int_equal(merged.sessions, 1);
    assert_int_equal(merged.records, 2);
    assert_int_equal(merged.images, 0);
    assert_ok(hn_store_merge(store, from, false, &merged, &said));
    assert_int_equal(merged.sessions, 0);
    assert_int_equal(merged.known, 1);
    assert_int_equal(count_of(store, &version_1, false), 3);
}

TEST(merge_takes_what_a_session_got_since)
{
    const char *other = in_folder("other.db");
    struct hn_store_merged merged;
    struct hn_store *from = open_store(other, HN_STORE_WRITE);
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    int64_t session = begin(from);
    put(from, session, 16, 7);
    commit(from);
    assert_ok(hn_store_merge(store, from, false, &merged, &said));
    put(from, session, 32, 8);
    put(from, session, 64, 9);
    commit(from);
    assert_ok(hn_store_merge(store, from, false, &merged, &said));
    assert_int_equal(merged.sessions, 1);
    assert_int_equal(merged.records, 2);
    assert_int_equal(merged.known, 0);
    assert_int_equal(count_of(store, &version_1, false), 3);
    /* And the other way nothing, as the same is there. */
    assert_ok(hn_store_merge(from, store, false, &merged, &said));
    assert_int_equal(merged.sessions, 0);
    assert_int_equal(merged.known, 1);
    drop(store);
    drop(from);
    assert_int_equal(query(cache.path, "SELECT count(*) FROM session"), 1);
}

TEST(merge_is_all_or_nothing)
{
    const char *other = in_folder("other.db");
    struct hn_store_merged merged;
    struct hn_store *from = open_store(other, HN_STORE_WRITE);
    put(from, begin(from), 16, 7);
    put(from, begin(from), 32, 7);
    drop(from);
    run_sql(other, "UPDATE record SET json = '{}' WHERE id = 2; UPDATE record SET " SUM_OF_RECORD);
    from = open_store(other, HN_STORE_READ);
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    assert_mentions(hn_store_merge(store, from, true, &merged, &said), HN_EFORMAT,
                    "record 2 cannot be read");
    assert_int_equal(count_of(store, &version_1, false), 0);
}

TEST(import_takes_an_origin_once)
{
    struct hn_record record ENDED_BY(hn_record_finish);
    int64_t id;
    struct hn_identity *identity = identity_of(4096);
    make_record(&record, 16, 3);
    const struct hn_records records = {&record, 1};
    struct hn_store_session session = {
        .identity = identity, .version = &version_1, .origin = "recording 1", .started = 1000};
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    assert_ok(hn_store_begin(store, &session, &records, &id, &said));
    assert_true(id != 0);
    assert_ok(hn_store_begin(store, &session, &records, &id, &said));
    assert_true(id == 0);
    assert_true(only_time(store) == 3);
    drop(store);
    assert_int_equal(query(cache.path, "SELECT count(*) FROM record"), 1);
}

/* A stranger's time, newer, verified and faster, with the same point, identity and version. */
static void import_faster(struct hn_store *store)
{
    struct hn_record record ENDED_BY(hn_record_finish);
    struct hn_origin from;
    int64_t id;
    struct hn_identity *identity = identity_of(4096);
    make_record(&record, 16, 1);
    record.final = true;
    hn_origin_of_file("far/away/x.json", &from);
    const struct hn_records records = {&record, 1};
    const struct hn_store_session session = {.identity = identity,
                                             .version = &version_1,
                                             .from = &from,
                                             .origin = "a stranger's",
                                             .started = 0};
    assert_ok(hn_store_begin(store, &session, &records, &id, &said));
}

static void assert_listed(struct hn_store *store, double time_us, const char *source)
{
    const struct hn_tuned *list = list_of(store, NULL, 1);
    assert_true(list->best.timing.median_us == time_us);
    assert_string_equal(list->origin.source, source);
    assert_true(hn_origin_is_foreign(&list->origin) == (source[0] != '\0'));
    assert_true((list->origin.imported > 0) == (source[0] != '\0'));
    assert_true((list->origin.machine[0] == '\0') == (source[0] != '\0'));
    assert_false(list->stale);
}

TEST(what_was_measured_here_counts_before_what_is_imported)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    import_faster(store);
    assert_listed(store, 1, "x.json");
    put_outcome(store, begin_at(store, &version_1, 4096, false, 1000), 16, 7, HN_OUTCOME_OK,
                HN_UNVERIFIED, false);
    commit(store);
    assert_listed(store, 7, "");
    assert_true(only_time(store) == 7);
}

/* The newest session of all would be a stranger's of another version. */
TEST(an_import_makes_nothing_stale)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    struct hn_pruned pruned;
    const struct hn_prune prune = {.stale = true};
    put(store, begin_at(store, &version_2, 4096, false, 1000), 16, 7);
    commit(store);
    import_faster(store);
    assert_listed(store, 7, "");
    assert_ok(hn_store_prune(store, &prune, &pruned, &said));
    assert_listed(store, 7, "");
}

TEST(a_merge_says_where_it_is_from)
{
    const char *other = in_folder("other.db");
    char host[65] = "";
    struct hn_store_merged merged;
    struct hn_store *from = open_store(other, HN_STORE_WRITE);
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    put(from, begin(from), 16, 7);
    commit(from);
    assert_ok(hn_store_merge(store, from, false, &merged, &said));
    drop(from);
    const struct hn_tuned *list = list_of(store, NULL, 1);
    assert_int_equal(gethostname(host, sizeof host - 1), 0);
    assert_string_equal(list->origin.source, "other.db");
    assert_string_equal(list->origin.machine, host);
}
