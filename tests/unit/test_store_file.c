/* SPDX-License-Identifier: MIT */
/* What the command does not show; the rest stands in tests/cli/test_cache.py. */
#include "tests/unit/store_fixture.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include "cache/store/store_open.c"

static void assert_damaged(const char *path, const char *finding)
{
    struct hn_text report ENDED_BY(hn_text_finish) = {0};
    struct hn_store *store = open_store(path, HN_STORE_READ);
    assert_int_equal(hn_store_check(store, &report, &said), HN_EFORMAT);
    if (strstr(report.data, finding) == NULL)
        fail_msg("'%s' does not say '%s'", report.data, finding);
}

TEST_WITH(altered_images_are_refused, set_up, tear_down)
{
    static const char *const alterations[] = {
        "UPDATE image SET cubin = x'63756269'",
        "UPDATE image SET entry = 'k1' WHERE entry = 'k16';"
        "UPDATE image SET entry = 'k16' WHERE entry = 'k32'",
    };
    for (size_t i = 0; i < sizeof alterations / sizeof *alterations; i++) {
        struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
        struct hn_record record ENDED_BY(hn_record_finish);
        void *cubin;
        char *entry;
        size_t size;
        int64_t session = begin(store);
        for (int tile = 16; tile <= 32; tile += 16) {
            put(store, session, tile, 7);
            put_image(store, session, tile, tile == 16 ? "k16" : "k32");
        }
        drop(store);
        run_sql(cache.path, alterations[i]);
        store = open_store(cache.path, HN_STORE_READ);
        make_record(&record, 32, 7);
        assert_int_equal(hn_store_get_image(store, identity_of(4096), &version_1, &record.point,
                                            &cubin, &size, &entry, &said),
                         HN_EFORMAT);
        drop(store);
        assert_damaged(cache.path, "an image is not what was written");
        assert_int_equal(unlink(cache.path), 0);
    }
}

TEST_WITH(reading_ends_in_time, set_up, tear_down)
{
    struct hn_error err = {.status = HN_OK};
    drop(open_store(cache.path, HN_STORE_WRITE));
    struct hn_database *database =
        keep(hn_database_open(cache.path, HN_DATABASE_READ, &err), hn_database_close);
    assert_false(hn_failed(&err));
    hn_database_set_patience(database, 50);
    (void)hn_database_integer(database,
                              "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x FROM r)"
                              " SELECT count(*) FROM r",
                              &err);
    assert_int_equal(err.status, HN_EFORMAT);
    assert_non_null(strstr(err.message, "gave no answer in"));
    hn_error_init(&err);
    assert_int_equal(hn_database_integer(database, "SELECT 7", &err), 7);
    assert_false(hn_failed(&err));
}

/* Runs the rest of a test as somebody who may not write the folder; root may always. */
static int in_child_without_rights(void (*test)(void))
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(2);
        test();
        _exit(0);
    }
    waitpid(child, &status, 0);
    return status;
}

static void read_only_checks(void)
{
    const char *path = in_folder("new.db");
    assert_refused(path, HN_STORE_WRITE, HN_ERUN, "cannot be opened");
    assert_refused(cache.path, HN_STORE_WRITE, HN_ERUN, "read-only");
    struct hn_store *store = open_store(cache.path, HN_STORE_READ);
    assert_true(only_time(store) == 7);
}

TEST_WITH(read_only_folder_opens_immutable, set_up, tear_down)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    put(store, begin(store), 16, 7);
    drop(store);
    assert_int_equal(chmod(cache.path, 0444), 0);
    assert_int_equal(chmod(cache.folder, 0555), 0);
    int status = in_child_without_rights(read_only_checks);
    assert_int_equal(chmod(cache.folder, 0755), 0);
    assert_int_equal(status, 0);
}

static int count_records(const char *path)
{
    return (int)query(path, "SELECT count(*) FROM record");
}

/* All of it is found in a file beside it, whatever became of the first. */
TEST_WITH(a_cache_that_is_gone_goes_on_beside_it, set_up, tear_down)
{
    char command[640], other[128];
    const char *rescued;
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    int64_t session = begin(store);
    put(store, session, 16, 1);
    commit(store);
    assert_null(hn_store_lost(store, &rescued));
    snprintf(command, sizeof command, "rm '%s'*", cache.path);
    assert_int_equal(system(command), 0);
    put(store, session, 17, 1);
    commit(store);
    assert_string_equal(hn_store_lost(store, &rescued), cache.path);
    snprintf(other, sizeof other, "%s.rescued", cache.path);
    assert_string_equal(rescued, other);
    assert_int_equal(count_records(other), 2);
    /* Replaced by another's, and with nothing to commit. */
    snprintf(command, sizeof command, "cp '%s' '%s/x' && mv '%s/x' '%s'", other, cache.folder,
             cache.folder, other);
    assert_int_equal(system(command), 0);
    commit(store);
    assert_string_equal(hn_store_lost(store, &rescued), cache.path);
    strcat(other, "2");
    assert_string_equal(rescued, other);
    put(store, session, 18, 1);
    drop(store);
    assert_int_equal(count_records(other), 3);
    drop(open_store(other, HN_STORE_READ));
}

TEST_WITH(failed_commit_keeps_what_is_pending, set_up, tear_down)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    int64_t session = begin(store);
    run_sql(cache.path, "ALTER TABLE record RENAME TO hidden");
    put(store, session, 16, 7);
    assert_mentions(hn_store_commit(store, &said), HN_EFORMAT, "no such table: record");
    run_sql(cache.path, "ALTER TABLE hidden RENAME TO record");
    commit(store);
    assert_true(only_time(store) == 7);
}

TEST(network_file_systems_are_known)
{
    assert_string_equal(store_network_name(0x6969), "NFS");
    assert_string_equal(store_network_name(0x0bd00bd0), "Lustre");
    assert_null(store_network_name(0xef53));     /* ext4 */
    assert_null(store_network_name(0x01021994)); /* tmpfs */
}
