/* SPDX-License-Identifier: MIT */
#include "tests/unit/store_fixture.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/file.h"
#include "cache/store/store_open.c"

TEST_WITH(makes_missing_folders, set_up, tear_down)
{
    char path[160];
    snprintf(path, sizeof path, "%s/a/b/hone.db", cache.folder);
    drop(open_store(path, HN_STORE_WRITE));
    drop(open_store(path, HN_STORE_READ));
}

static void fill_file(const char *path, const char *contents)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(contents, file);
    assert_int_equal(fclose(file), 0);
}

TEST_WITH(what_is_no_cache_is_refused, set_up, tear_down)
{
    assert_refused(cache.path, HN_STORE_READ, HN_ENOTFOUND, "nothing was tuned yet");
    fill_file(cache.path, "kernel: matmul\n");
    assert_refused(cache.path, HN_STORE_READ, HN_EFORMAT, "is no Hone cache");
    assert_int_equal(unlink(cache.path), 0);
    drop(open_store(cache.path, HN_STORE_WRITE));
    assert_int_equal(truncate(cache.path, 50), 0);
    assert_refused(cache.path, HN_STORE_READ, HN_EFORMAT, "is truncated: it has 50 bytes");
    assert_refused(cache.folder, HN_STORE_WRITE, HN_ERUN, "is no regular file");
}

static void assert_damaged(const char *path, const char *finding)
{
    struct hn_text report ENDED_BY(hn_text_finish) = {0};
    struct hn_store *store = open_store(path, HN_STORE_READ);
    assert_int_equal(hn_store_check(store, &report, &said), HN_EFORMAT);
    if (strstr(report.data, finding) == NULL)
        fail_msg("'%s' does not say '%s'", report.data, finding);
}

TEST_WITH(damage_inside_is_found, set_up, tear_down)
{
    struct hn_text report ENDED_BY(hn_text_finish) = {0};
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    put(store, begin(store), 16, 1);
    commit(store);
    assert_ok(hn_store_check(store, &report, &said));
    assert_int_equal(report.length, 0);
    drop(store);
    run_sql(cache.path, "PRAGMA foreign_keys = OFF; INSERT INTO record"
                        " VALUES(7, 99, 'A=1', 'ok', 0, 0, 1.0, '{', 0);"
                        "UPDATE record SET point = 'TILE=17' WHERE id = 1");
    assert_damaged(cache.path, "foreign key: row 7 of record names a row of session");
    assert_damaged(cache.path, "not what was written: record 1\n");
    assert_damaged(cache.path, "not what was written: record 7\n");
    run_sql(cache.path, "UPDATE record SET session_id = 1; UPDATE record SET " SUM_OF_RECORD);
    assert_damaged(cache.path, "record 7 cannot be read");
    assert_damaged(cache.path,
                   "record 1 cannot be read: its point is 'TILE=17', its JSON says 'TILE=16'");
}

/* Whatever a row says, it is used only as it was written. */
TEST_WITH(altered_rows_are_refused, set_up, tear_down)
{
    static const char *const alterations[] = {
        "UPDATE session SET kernel = 'matmuk'",
        "UPDATE session SET task = json_set(task, '$.device.sm_count', 133)",
        "UPDATE session SET version = json_set(version, '$.driver', '580.2')",
        "UPDATE session SET started = started + 1",
        "UPDATE session SET command = 'rm'",
        "UPDATE record SET objective = 6.0",
        "UPDATE record SET json = replace(json, ':7.0', ':6.0')",
    };
    for (size_t i = 0; i < sizeof alterations / sizeof *alterations; i++) {
        struct hn_tuned_list list;
        struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
        put(store, begin(store), 16, 7);
        drop(store);
        run_sql(cache.path, alterations[i]);
        store = open_store(cache.path, HN_STORE_READ);
        assert_mentions(hn_store_list(store, HN_STORE_RESULTS, NULL, NULL, &list, &said),
                        HN_EFORMAT, "is not what was written");
        drop(store);
        assert_damaged(cache.path, "not what was written: ");
        assert_int_equal(unlink(cache.path), 0);
    }
}

TEST_WITH(altered_images_and_plans_are_refused, set_up, tear_down)
{
    static const char *const alterations[] = {
        "UPDATE image SET cubin = x'63756269'",
        "UPDATE image SET entry = 'k1' WHERE entry = 'k16';"
        "UPDATE image SET entry = 'k16' WHERE entry = 'k32'",
        "UPDATE plan SET json = '[]'",
        "UPDATE plan SET json = json_set(json, '$.files[0].text', 'evil')",
    };
    struct hn_text_file file = {"k.cu", "kernel"};
    const struct hn_stored_plan plan = {"{}", &file, 1};
    for (size_t i = 0; i < sizeof alterations / sizeof *alterations; i++) {
        struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
        struct hn_record record ENDED_BY(hn_record_finish);
        struct hn_stored_plan stored;
        void *cubin;
        char *entry;
        size_t size;
        int64_t session = begin(store);
        for (int tile = 16; tile <= 32; tile += 16) {
            put(store, session, tile, 7);
            put_image(store, session, tile, tile == 16 ? "k16" : "k32");
        }
        commit(store);
        assert_ok(hn_store_put_plan(store, "matmul", &version_1, &plan, &said));
        drop(store);
        run_sql(cache.path, alterations[i]);
        store = open_store(cache.path, HN_STORE_READ);
        struct hn_identity *identity = identity_of(4096);
        make_record(&record, 32, 7);
        if (i < 2)
            assert_int_equal(hn_store_get_image(store, identity, &version_1, &record.point, &cubin,
                                                &size, &entry, &said),
                             HN_EFORMAT);
        else
            assert_int_equal(hn_store_get_plan(store, "matmul", &version_1, &stored, &said),
                             HN_EFORMAT);
        drop(store);
        assert_damaged(cache.path, i < 2 ? "is damaged: an image" : "not what was written: ");
        assert_int_equal(unlink(cache.path), 0);
    }
}

/* Nothing is read from a file in which anything stands that Hone does not make. */
TEST_WITH(other_schemas_are_refused, set_up, tear_down)
{
    static const struct {
        const char *sql, *message;
    } cases[] = {
        {"ALTER TABLE session RENAME TO s; CREATE VIEW session AS WITH RECURSIVE r AS (SELECT * "
         "FROM"
         " s UNION ALL SELECT * FROM r) SELECT * FROM r",
         "Hone makes no "},
        {"CREATE VIEW more AS SELECT 1", "Hone makes no 'more'"},
        {"CREATE TABLE more(a)", "Hone makes no 'more'"},
        {"CREATE INDEX more ON record(json)", "Hone makes no 'more'"},
        {"CREATE TRIGGER more AFTER INSERT ON record BEGIN DELETE FROM plan; END",
         "Hone makes no 'more'"},
        {"CREATE TABLE \"m\033[2J\"(a)", "Hone makes no 'table of that name'"},
        {"ALTER TABLE roof ADD COLUMN more TEXT", "Hone makes no 'roof'"},
        {"DROP TABLE roof", "it lacks 'CREATE TABLE roof("},
        {"DROP INDEX record_by_objective", "it lacks 'CREATE INDEX record_by_objective"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        drop(open_store(cache.path, HN_STORE_WRITE));
        run_sql(cache.path, cases[i].sql);
        assert_refused(cache.path, HN_STORE_READ, HN_EFORMAT, cases[i].message);
        assert_refused(cache.path, HN_STORE_WRITE, HN_EFORMAT, cases[i].message);
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

TEST_WITH(overwritten_pages_are_reported, set_up, tear_down)
{
    struct hn_text report ENDED_BY(hn_text_finish) = {0};
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    int64_t session = begin(store);
    for (int i = 0; i < 100; i++)
        put(store, session, i, 1);
    drop(store);
    int file = open(cache.path, O_WRONLY);
    char junk[4096];
    memset(junk, 0xa5, sizeof junk);
    struct stat info;
    assert_int_equal(fstat(file, &info), 0);
    for (off_t at = 8192; at < info.st_size; at += 4096)
        assert_int_equal(pwrite(file, junk, sizeof junk, at), sizeof junk);
    close(file);
    store = open_store(cache.path, HN_STORE_READ);
    assert_int_equal(hn_store_check(store, &report, &said), HN_EFORMAT);
}

/* Whatever the bytes of a cache are, it is refused or read, and never brings down who opens it. */
TEST_WITH(random_damage_is_survived, set_up, tear_down)
{
    char *whole;
    size_t size;
    uint32_t seed = 1;
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    int64_t session = begin(store);
    for (int i = 0; i < 40; i++)
        put(store, session, i, 1);
    drop(store);
    assert_ok(hn_file_read(cache.path, 1 << 24, &whole, &size, NULL));
    for (int i = 0; i < 200; i++) {
        char *damaged FREED = malloc(size);
        memcpy(damaged, whole, size);
        for (int k = 0; k < 8; k++) {
            seed = seed * 1664525u + 1013904223u;
            damaged[16 + seed % (size - 16)] = (char)(seed >> 24);
        }
        assert_ok(hn_file_write(cache.path, damaged, size, NULL));
        if (hn_store_open(cache.path, HN_STORE_READ, &store, &said) != HN_OK)
            continue;
        struct hn_tuned_list list;
        struct hn_text report ENDED_BY(hn_text_finish) = {0};
        (void)hn_store_check(store, &report, &said);
        if (hn_store_list(store, HN_STORE_RESULTS, NULL, NULL, &list, &said) == HN_OK)
            hn_tuned_list_free(&list);
        hn_store_close(store);
    }
    free(whole);
}

/* None of them was ever released; nobody may have written those below 0. */
TEST_WITH(older_formats_are_refused_untouched, set_up, tear_down)
{
    static const char *const versions[] = {"-2147483648", "-2", "-1", "0", "1",
                                           "2",           "3",  "4",  "5", "6"};
    drop(open_store(cache.path, HN_STORE_WRITE));
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        char text[64];
        struct stat before, after;
        snprintf(text, sizeof text, "PRAGMA user_version = %s", versions[i]);
        run_sql(cache.path, text);
        assert_int_equal(stat(cache.path, &before), 0);
        snprintf(text, sizeof text, "has format %s, which no released Hone wrote", versions[i]);
        assert_refused(cache.path, HN_STORE_READ, HN_EFORMAT, text);
        assert_refused(cache.path, HN_STORE_WRITE, HN_EFORMAT, text);
        assert_int_equal(stat(cache.path, &after), 0);
        assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
    }
}

TEST_WITH(unwritable_place_says_so, set_up, tear_down)
{
    char path[160];
    fill_file(cache.path, "");
    snprintf(path, sizeof path, "%s/below/hone.db", cache.path);
    assert_refused(path, HN_STORE_WRITE, HN_ERUN, "cannot be made: Not a directory");
    assert_refused("/proc/hone.db", HN_STORE_WRITE, HN_ERUN, "cannot be opened");
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

TEST_WITH(a_cache_that_can_not_be_rescued_says_so, set_up, tear_down)
{
    char command[400];
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    put(store, begin(store), 16, 1);
    snprintf(command, sizeof command, "rm -r '%s' && touch '%s'", cache.folder, cache.folder);
    assert_int_equal(system(command), 0);
    assert_mentions(hn_store_commit(store, &said), HN_ERUN,
                    "was deleted, moved or replaced while it was written, and '");
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

TEST(path_comes_from_option_then_environment)
{
    const struct {
        const char *given, *hone, *xdg, *expected;
    } cases[] = {
        {"my.db", "/h.db", "/x", "my.db"},
        {NULL, "/h.db", "/x", "/h.db"},
        {NULL, "", "/x", "/x/hone/hone.db"},
        {NULL, "", "", "/home/someone/.cache/hone/hone.db"},
    };
    setenv("HOME", "/home/someone", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("HONE_CACHE", cases[i].hone, 1);
        setenv("XDG_CACHE_HOME", cases[i].xdg, 1);
        char *path FREED = hn_store_default_path(cases[i].given);
        assert_string_equal(path, cases[i].expected);
    }
}

TEST(network_file_systems_are_known)
{
    assert_string_equal(store_network_name(0x6969), "NFS");
    assert_string_equal(store_network_name(0x0bd00bd0), "Lustre");
    assert_null(store_network_name(0xef53));     /* ext4 */
    assert_null(store_network_name(0x01021994)); /* tmpfs */
}
