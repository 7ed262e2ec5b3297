/* SPDX-License-Identifier: MIT */
#include "tests/unit/store_fixture.h"

static void merge_takes_each_session_once(void **state)
{
    struct fixture *fixture = *state;
    char other[128];
    struct hn_store_merged merged;
    snprintf(other, sizeof other, "%s/other.db", fixture->folder);
    struct hn_store *from = open_store(other, HN_STORE_WRITE);
    int64_t session = begin_at(from, &version_1, 4096, false, 5000);
    put(from, session, 16, 7);
    put(from, session, 32, 8);
    struct hn_record record;
    make_record(&record, 16, 7);
    assert_int_equal(hn_store_put_image(from, session, &record.point, "cubin", 5, "e", NULL),
                     HN_OK);
    hn_record_finish(&record);
    commit(from);
    struct hn_store *store = open_store(fixture->path, HN_STORE_WRITE);
    put(store, begin(store), 64, 9);
    commit(store);
    assert_int_equal(hn_store_merge(store, from, false, &merged, NULL), HN_OK);
    assert_int_equal(merged.sessions, 1);
    assert_int_equal(merged.records, 2);
    assert_int_equal(merged.images, 0);
    assert_int_equal(hn_store_merge(store, from, false, &merged, NULL), HN_OK);
    assert_int_equal(merged.sessions, 0);
    assert_int_equal(merged.known, 1);
    assert_int_equal(count_of(store, &version_1, false), 3);
    hn_store_close(store);
    hn_store_close(from);
}

static void merge_is_all_or_nothing(void **state)
{
    struct fixture *fixture = *state;
    char other[128];
    struct hn_store_merged merged;
    struct hn_error err = {""};
    snprintf(other, sizeof other, "%s/other.db", fixture->folder);
    struct hn_store *from = open_store(other, HN_STORE_WRITE);
    put(from, begin(from), 16, 7);
    put(from, begin(from), 32, 7);
    hn_store_close(from);
    run_sql(other, "UPDATE record SET json = '{}' WHERE id = 2");
    from = open_store(other, HN_STORE_READ);
    struct hn_store *store = open_store(fixture->path, HN_STORE_WRITE);
    assert_int_equal(hn_store_merge(store, from, true, &merged, &err), HN_EFORMAT);
    assert_non_null(strstr(err.message, "record 2 can not be read"));
    assert_int_equal(count_of(store, &version_1, false), 0);
    hn_store_close(store);
    hn_store_close(from);
}

static void import_takes_an_origin_once(void **state)
{
    struct fixture *fixture = *state;
    struct hn_identity identity;
    struct hn_record record;
    bool added;
    make_identity(&identity, 4096);
    make_record(&record, 16, 3);
    const struct hn_records records = {&record, 1};
    struct hn_store_session session = {
        .identity = &identity, .version = &version_1, .origin = "recording 1", .started = 1000};
    struct hn_store *store = open_store(fixture->path, HN_STORE_WRITE);
    assert_int_equal(hn_store_import(store, &session, &records, &added, NULL), HN_OK);
    assert_true(added);
    assert_int_equal(hn_store_import(store, &session, &records, &added, NULL), HN_OK);
    assert_false(added);
    assert_true(only_time(store) == 3);
    hn_store_close(store);
    assert_int_equal(query(fixture->path, "SELECT count(*) FROM record"), 1);
    hn_record_finish(&record);
    hn_identity_finish(&identity);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(merge_takes_each_session_once),
        TEST(merge_is_all_or_nothing),
        TEST(import_takes_an_origin_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
