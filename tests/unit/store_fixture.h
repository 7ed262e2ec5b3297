/* SPDX-License-Identifier: MIT */
#ifndef HONE_TESTS_STORE_FIXTURE_H
#define HONE_TESTS_STORE_FIXTURE_H

/* A cache in a folder of its own for each test, and short ways to write and read it. */

#include "tests/unit/unit.h"
#include "cache/store/database.h"
#include "cache/store/store.h"

static struct fixture {
    char folder[64], path[96];
} cache;

static inline int set_up(void **state)
{
    strcpy(cache.folder, "/tmp/hone-store-XXXXXX");
    assert_non_null(mkdtemp(cache.folder));
    snprintf(cache.path, sizeof cache.path, "%s/hone.db", cache.folder);
    *state = &cache;
    return 0;
}

static inline int tear_down(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", cache.folder);
    return system(command);
}

/* The path of a file in the folder. */
static inline const char *in_folder(const char *name)
{
    size_t size = sizeof cache.folder + strlen(name) + 2;
    char *path = keep(malloc(size), free);
    snprintf(path, size, "%s/%s", cache.folder, name);
    return path;
}

static inline struct hn_store *open_store(const char *path, enum hn_store_mode mode)
{
    struct hn_store *store;
    assert_ok(hn_store_open(path, mode, &store, &said));
    return keep(store, hn_store_close);
}

static inline void make_identity(struct hn_identity *identity, int m)
{
    struct hn_value value = hn_integer(m);
    *identity = (struct hn_identity){0};
    identity->kernel = strdup("matmul");
    identity->signature = strdup("A:float32:input");
    identity->regime = strdup("cold");
    identity->objective = strdup("time");
    identity->device = (struct hn_device_identity){"NVIDIA H200", 90, 132, ""};
    assert_ok(hn_bindings_set(&identity->problem, "M", &value, NULL));
}

/* The same until the test ends. */
static inline struct hn_identity *identity_of(int m)
{
    struct hn_identity *identity = keep_new(struct hn_identity, hn_identity_finish);
    make_identity(identity, m);
    return identity;
}

static const struct hn_version version_1 = {.template_hash = "11111111111111111111111111111111",
                                            .driver = "580.1",
                                            .nvrtc = "13.0",
                                            .protocol = HN_MEASURING_PROTOCOL};
static const struct hn_version version_2 = {.template_hash = "22222222222222222222222222222222",
                                            .driver = "580.1",
                                            .nvrtc = "13.0",
                                            .protocol = HN_MEASURING_PROTOCOL};

static inline int64_t begin_at(struct hn_store *store, const struct hn_version *version, int m,
                               bool simulated, double started)
{
    int64_t id = 0;
    struct hn_identity *identity = identity_of(m);
    struct hn_store_session session = {.identity = identity,
                                       .version = version,
                                       .command = "hone tune",
                                       .simulated = simulated,
                                       .started = started};
    assert_ok(hn_store_begin(store, &session, NULL, &id, &said));
    return id;
}

static inline int64_t begin(struct hn_store *store)
{
    return begin_at(store, &version_1, 4096, false, 0);
}

static inline void make_record(struct hn_record *record, int tile, double time_us)
{
    struct hn_value value = hn_integer(tile);
    *record = (struct hn_record){0};
    assert_ok(hn_bindings_set(&record->point, "TILE", &value, NULL));
    record->timing.median_us = time_us;
    record->objective = time_us;
    record->verdict.kind = HN_VERIFIED;
}

static inline void put(struct hn_store *store, int64_t session, int tile, double time_us)
{
    struct hn_record record ENDED_BY(hn_record_finish);
    make_record(&record, tile, time_us);
    assert_ok(hn_store_put(store, session, &record, &said));
}

static inline void put_outcome(struct hn_store *store, int64_t session, int tile, double time_us,
                               enum hn_outcome outcome, enum hn_verification verification,
                               bool final)
{
    struct hn_record record ENDED_BY(hn_record_finish);
    make_record(&record, tile, time_us);
    record.outcome = outcome;
    record.verdict.kind = verification;
    record.final = final;
    assert_ok(hn_store_put(store, session, &record, &said));
}

/* The image of a tile; five bytes. */
static inline void put_image(struct hn_store *store, int64_t session, int tile, const char *entry)
{
    struct hn_record record ENDED_BY(hn_record_finish);
    make_record(&record, tile, 0);
    assert_ok(hn_store_put_image(store, session, &record.point, "cubin", 5, entry, &said));
}

static inline void commit(struct hn_store *store)
{
    assert_ok(hn_store_commit(store, &said));
}

static inline struct hn_records load_of(struct hn_store *store, const struct hn_version *version,
                                        bool simulated)
{
    struct hn_records records;
    struct hn_identity *identity = identity_of(4096);
    assert_ok(hn_store_load(store, identity, version, simulated, &records, &said));
    return records;
}

static inline size_t count_of(struct hn_store *store, const struct hn_version *version,
                              bool simulated)
{
    struct hn_records records ENDED_BY(hn_records_free) = load_of(store, version, simulated);
    size_t count = records.count;
    return count;
}

/* The problems that were tuned (of one kernel, or NULL), which are so many. */
static inline const struct hn_tuned *list_of(struct hn_store *store, const char *kernel,
                                             size_t count)
{
    struct hn_tuned_list *list = keep_new(struct hn_tuned_list, hn_tuned_list_free);
    assert_ok(hn_store_list(store, HN_STORE_RESULTS, kernel, NULL, list, &said));
    assert_int_equal(list->count, count);
    return list->items;
}

/* The time that counts for the only point. */
static inline double only_time(struct hn_store *store)
{
    struct hn_records records ENDED_BY(hn_records_free) = load_of(store, &version_1, false);
    assert_int_equal(records.count, 1);
    double time_us = records.items[0].timing.median_us;
    return time_us;
}

static inline void assert_refused(const char *path, enum hn_store_mode mode,
                                  enum hn_status expected, const char *part)
{
    struct hn_store *store;
    assert_mentions(hn_store_open(path, mode, &store, &said), expected, part);
    assert_null(store);
}

/* For an UPDATE of records: their checksums anew. */
#define SUM_OF_RECORD                                                                              \
    "checksum = checksum(session_id, point, outcome, verification, final, objective, json)"

/* And of sessions. */
#define SUM_OF_SESSION                                                                             \
    "checksum = checksum(origin, kernel, problem, task, version, plan, rule, started, command,"    \
    " simulated, machine, source, imported)"

static inline void run_sql(const char *path, const char *sql)
{
    struct hn_error err = {.status = HN_OK};
    struct hn_database *database = hn_database_open(path, HN_DATABASE_WRITE, &err);
    hn_database_run(database, sql, &err);
    if (hn_failed(&err))
        fail_msg("%s", err.message);
    hn_database_close(database);
}

static inline int64_t query(const char *path, const char *sql)
{
    struct hn_error err = {.status = HN_OK};
    struct hn_database *database = hn_database_open(path, HN_DATABASE_READ, &err);
    int64_t value = hn_database_integer(database, sql, &err);
    assert_false(hn_failed(&err));
    hn_database_close(database);
    return value;
}

#endif
