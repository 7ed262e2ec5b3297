/* SPDX-License-Identifier: MIT */
#include "tests/unit/store_fixture.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "cache/store/store.h"

EACH_TEST(set_up, tear_down)

TEST(records_survive_closing)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    int64_t session = begin(store);
    put(store, session, 16, 20.5);
    put(store, session, 32, 10.25);
    commit(store);
    drop(store);
    store = open_store(cache.path, HN_STORE_READ);
    struct hn_records records ENDED_BY(hn_records_free) = load_of(store, &version_1, false);
    assert_int_equal(records.count, 2);
    assert_true(records.items[1].timing.median_us == 10.25);
    assert_int_equal(hn_bindings_get(&records.items[1].point, "TILE")->integer, 32);
    assert_int_equal(count_of(store, &version_2, false), 0);
    assert_int_equal(count_of(store, &version_1, true), 0);
}

static bool clock_is_wrong;
int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    int result = __real_clock_gettime(clock, time);
    if (clock_is_wrong && clock == CLOCK_REALTIME)
        time->tv_sec = -86400;
    return result;
}

/* Nobody could read it again. */
TEST(a_clock_before_1970_writes_nothing)
{
    int64_t id;
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    struct hn_identity *identity = identity_of(1024);
    const struct hn_store_session session = {.identity = identity, .version = &version_1};
    clock_is_wrong = true;
    enum hn_status status = hn_store_begin(store, &session, NULL, &id, &said);
    clock_is_wrong = false;
    assert_int_equal(status, HN_EFORMAT);
    assert_non_null(strstr(said.message, "is the clock of this machine right?"));
    put(store, begin(store), 16, 1);
    commit(store);
}

TEST(pending_is_due_within_50_ms)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    int64_t session = begin(store);
    assert_int_equal(hn_store_due_ms(store), -1);
    put(store, session, 16, 1);
    assert_in_range(hn_store_due_ms(store), 0, 50);
    nanosleep(&(struct timespec){.tv_nsec = 60000000}, NULL);
    assert_int_equal(hn_store_due_ms(store), 0);
    assert_int_equal(count_of(store, &version_1, false), 0);
    commit(store);
    assert_int_equal(hn_store_due_ms(store), -1);
    assert_int_equal(count_of(store, &version_1, false), 1);
}

static void expect_last(struct hn_store *store, int64_t session, int tile, double us)
{
    struct hn_record wanted ENDED_BY(hn_record_finish), record ENDED_BY(hn_record_finish);
    make_record(&wanted, tile, 0);
    assert_ok(hn_store_get_last(store, session, &wanted.point, &record, &said));
    assert_true(record.timing.median_us == us);
    assert_true(hn_bindings_equal(&record.point, &wanted.point));
}

TEST(the_last_record_of_a_point_reads_back)
{
    struct hn_record wanted ENDED_BY(hn_record_finish), record;
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    int64_t session = begin(store);
    put(store, begin(store), 16, 1);
    put(store, session, 16, 2);
    put(store, session, 32, 3);
    expect_last(store, session, 16, 2);
    commit(store);
    expect_last(store, session, 16, 2);
    put(store, session, 16, 4);
    expect_last(store, session, 16, 4);
    expect_last(store, session, 32, 3);
    make_record(&wanted, 64, 0);
    assert_mentions(hn_store_get_last(store, session, &wanted.point, &record, &said), HN_ENOTFOUND,
                    "a record is gone");
}

struct visited {
    struct hn_store *store;
    int count;
};

static void visit(void *visitor, int64_t id, struct hn_record *record, struct hn_error *err)
{
    struct visited *visited = visitor;
    struct hn_record again ENDED_BY(hn_record_finish) = {0};
    visited->count++;
    if (hn_store_get(visited->store, id, &again, err) != HN_OK)
        return;
    assert_true(hn_bindings_equal(&again.point, &record->point));
    assert_true(again.timing.median_us == record->timing.median_us);
    if (visited->count == 2)
        hn_fail(err, HN_ERUN, "enough");
}

TEST(records_are_visited_one_by_one)
{
    struct visited visited = {.store = open_store(cache.path, HN_STORE_WRITE)};
    int64_t session = begin(visited.store);
    for (int i = 1; i <= 3; i++)
        put(visited.store, session, 16 * i, i);
    commit(visited.store);
    struct hn_identity *identity = identity_of(4096);
    hn_error_init(&said);
    hn_store_visit(visited.store, identity, &version_1, false, HN_STORE_ALL, visit, &visited,
                   &said);
    assert_error(said.status, HN_ERUN, "enough");
    assert_int_equal(visited.count, 2);
}

TEST(newest_session_counts_not_the_fastest)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    put(store, begin(store), 16, 10);
    put(store, begin(store), 16, 12);
    commit(store);
    assert_true(only_time(store) == 12);
    /* Imported later, measured earlier. */
    put(store, begin_at(store, &version_1, 4096, false, 1000), 16, 9);
    commit(store);
    assert_true(only_time(store) == 12);
}

TEST(verified_counts_before_unverified)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    put(store, begin(store), 16, 10);
    put_outcome(store, begin(store), 16, 5, HN_OUTCOME_OK, HN_UNVERIFIED, false);
    commit(store);
    assert_true(only_time(store) == 10);
}

TEST(final_counts_within_a_session)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    int64_t session = begin(store);
    put_outcome(store, session, 16, 11, HN_OUTCOME_OK, HN_VERIFIED, true);
    put(store, session, 16, 10);
    commit(store);
    assert_true(only_time(store) == 11);
}

TEST(wrong_on_a_later_seed_is_wrong)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    int64_t session = begin(store);
    put_outcome(store, session, 16, 10, HN_OUTCOME_OK, HN_VERIFIED, true);
    put_outcome(store, session, 16, 0, HN_OUTCOME_WRONG_RESULT, HN_UNVERIFIED, false);
    commit(store);
    list_of(store, NULL, 0);
    struct hn_records records ENDED_BY(hn_records_free) = load_of(store, &version_1, false);
    assert_int_equal(records.count, 1);
    assert_int_equal(records.items[0].outcome, HN_OUTCOME_WRONG_RESULT);
}

TEST(list_gives_the_best_of_the_newest_version)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    put(store, begin(store), 8, 1);
    int64_t session = begin_at(store, &version_2, 4096, false, 0);
    put(store, session, 16, 10);
    put(store, session, 32, 9);
    put_outcome(store, session, 64, 2, HN_OUTCOME_SLOWER, HN_VERIFIED, false);
    put(store, begin_at(store, &version_2, 512, false, 0), 16, 3);
    put(store, begin_at(store, &version_2, 4096, true, 0), 16, 4);
    commit(store);
    const struct hn_tuned *list = list_of(store, "matmul", 3);
    assert_int_equal(hn_bindings_get(&list->identity.problem, "M")->integer, 512);
    list++;
    assert_true(list->best.objective == 9);
    assert_int_equal(list->points, 3);
    assert_int_equal(list->session_id, session);
    assert_true(hn_version_equal(&list->version, &version_2));
    assert_false(list->simulated || list->stale);
    assert_true(list[1].simulated);
    assert_int_equal(hn_bindings_get(&list[1].identity.problem, "M")->integer, 4096);
    list_of(store, "transpose", 0);
}

TEST(final_race_decides_the_best)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    int64_t session = begin(store);
    put(store, session, 16, 8);
    put_outcome(store, session, 32, 10, HN_OUTCOME_OK, HN_VERIFIED, true);
    put_outcome(store, session, 64, 9, HN_OUTCOME_OK, HN_VERIFIED, true);
    commit(store);
    const struct hn_tuned *list = list_of(store, NULL, 1);
    assert_int_equal(hn_bindings_get(&list->best.point, "TILE")->integer, 64);
}

TEST(later_session_of_another_version_makes_stale)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    put(store, begin(store), 16, 8);
    put_outcome(store, begin_at(store, &version_2, 4096, false, 0), 16, 0, HN_OUTCOME_COMPILE_ERROR,
                HN_UNVERIFIED, false);
    commit(store);
    const struct hn_tuned *list = list_of(store, NULL, 1);
    assert_true(list->stale);
    assert_true(hn_version_equal(&list->version, &version_1));
}

TEST(image_and_plan_read_back)
{
    static const char cubin[] = "\177ELF\0\1\2";
    struct hn_text_file files[] = {{"matmul.cu", "// template"}, {"tile.cuh", ""}};
    json_auto_t *json = json_pack("{ss}", "kernel", "matmul");
    const struct hn_stored_plan plan = {json, files, 2};
    struct hn_record record ENDED_BY(hn_record_finish);
    int64_t session;
    struct hn_identity *identity = identity_of(4096);
    make_record(&record, 16, 5);
    struct hn_store_session request = {
        .identity = identity, .version = &version_1, .plan = &plan, .command = "hone tune"};
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    assert_ok(hn_store_begin(store, &request, NULL, &session, &said));
    assert_ok(
        hn_store_put_image(store, session, &record.point, cubin, sizeof cubin, "matmul", &said));
    commit(store);
    void *read;
    size_t size;
    char *entry;
    assert_ok(hn_store_get_image(store, identity, &version_1, &record.point, &read, &size, &entry,
                                 &said));
    assert_int_equal(size, sizeof cubin);
    assert_memory_equal(read, cubin, size);
    assert_string_equal(entry, "matmul");
    free(read);
    free(entry);
    assert_int_equal(
        hn_store_get_image(store, identity, &version_2, &record.point, &read, &size, &entry, &said),
        HN_ENOTFOUND);
    struct hn_stored_plan stored ENDED_BY(hn_stored_plan_free), none;
    assert_ok(hn_store_get_plan(store, "matmul", &version_1, &stored, &said));
    assert_true(json_equal(stored.json, json));
    assert_int_equal(stored.file_count, 2);
    assert_string_equal(stored.files[1].name, "tile.cuh");
    assert_string_equal(stored.files[0].text, "// template");
    assert_int_equal(hn_store_get_plan(store, "matmul", &version_2, &none, &said), HN_ENOTFOUND);
}

static void begin_with_plan(struct hn_store *store, char *kernel, const struct hn_version *version,
                            char *json)
{
    struct hn_text_file file = {kernel, json};
    json_auto_t *parsed = json_loads(json, 0, NULL);
    const struct hn_stored_plan plan = {parsed, &file, 1};
    int64_t session;
    struct hn_identity *identity = identity_of(4096);
    free(identity->kernel);
    identity->kernel = strdup(kernel);
    struct hn_store_session request = {.identity = identity, .version = version, .plan = &plan};
    assert_ok(hn_store_begin(store, &request, NULL, &session, &said));
}

static void assert_plan(struct hn_store *store, const char *kernel, const char *json)
{
    struct hn_stored_plan stored ENDED_BY(hn_stored_plan_free);
    assert_ok(hn_store_get_plan(store, kernel, &version_1, &stored, &said));
    json_auto_t *parsed = json_loads(json, 0, NULL);
    assert_true(json_equal(stored.json, parsed));
    assert_int_equal(stored.file_count, 1);
    assert_string_equal(stored.files[0].text, json);
}

TEST(a_plan_belongs_to_a_kernel)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    struct hn_stored_plan stored;
    begin_with_plan(store, "first", &version_1, "{\"kernel\":\"first\"}");
    begin_with_plan(store, "second", &version_1, "{\"kernel\":\"second\"}");
    assert_plan(store, "first", "{\"kernel\":\"first\"}");
    assert_plan(store, "second", "{\"kernel\":\"second\"}");
    begin_with_plan(store, "first", &version_1, "{\"kernel\":\"first\",\"now\":1}");
    assert_plan(store, "first", "{\"kernel\":\"first\",\"now\":1}");
    assert_plan(store, "second", "{\"kernel\":\"second\"}");
    assert_int_equal(hn_store_get_plan(store, "third", &version_1, &stored, &said), HN_ENOTFOUND);
}

/* Kernel Tuner's files do not say which template they are of. */
TEST(without_hashes_there_is_no_plan)
{
    const struct hn_version unknown = {.protocol = HN_KERNEL_TUNER_PROTOCOL};
    json_auto_t *json = json_object();
    const struct hn_stored_plan plan = {json, NULL, 0};
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    struct hn_stored_plan stored;
    begin_with_plan(store, "first", &unknown, "{\"kernel\":\"first\"}");
    assert_int_equal(hn_store_get_plan(store, "first", &unknown, &stored, &said), HN_ENOTFOUND);
    assert_int_equal(hn_store_put_plan(store, "first", &unknown, &plan, &said), HN_ENOTFOUND);
}

static void write_250(const char *path, int writer)
{
    struct hn_store *store;
    if (hn_store_open(path, HN_STORE_WRITE, &store, &said) != HN_OK) {
        fprintf(stderr, "%s\n", said.message);
        _exit(1);
    }
    int64_t session = begin(store);
    for (int i = 0; i < 250; i++) {
        struct hn_record record ENDED_BY(hn_record_finish);
        make_record(&record, writer * 1000 + i, i + 1);
        bool failed = hn_store_put(store, session, &record, &said) != HN_OK ||
                      (i % 3 == 0 && hn_store_commit(store, &said) != HN_OK);
        if (failed) {
            fprintf(stderr, "%s\n", said.message);
            _exit(1);
        }
    }
    bool failed = hn_store_commit(store, &said) != HN_OK;
    hn_store_close(store);
    _exit(failed);
}

TEST(four_writers_at_once_lose_nothing)
{
    pid_t children[4];
    for (int i = 0; i < 4; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            write_250(cache.path, i);
    }
    for (int i = 0; i < 4; i++) {
        int status = -1;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    struct hn_store *store = open_store(cache.path, HN_STORE_READ);
    assert_int_equal(count_of(store, &version_1, false), 1000);
    drop(store);
    assert_int_equal(query(cache.path, "SELECT count(DISTINCT task) FROM session"), 1);
    assert_int_equal(query(cache.path, "SELECT count(*) FROM session"), 4);
}

TEST(committed_survives_kill_9)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
        int64_t session = begin(store);
        put(store, session, 16, 1);
        commit(store);
        put(store, session, 32, 2);
        (void)!write(ready[1], "x", 1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(ready[0]);
    close(ready[1]);
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    assert_int_equal(count_of(store, &version_1, false), 1);
    put(store, begin(store), 32, 2);
    commit(store);
    assert_int_equal(count_of(store, &version_1, false), 2);
}
