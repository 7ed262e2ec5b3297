/* SPDX-License-Identifier: MIT */
#include "hostile_cache.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cache/recording/recording.h"
#include "cache/store/store_internal.h"
#include "cache/store/store_roofs.h"
#include "fuzz.h"

enum { SCHEMA_MOST = 32, FILE_BYTES = 8 << 20, INSTRUCTIONS = 100000 };

static struct {
    sqlite3 *handle;
    uint8_t *bytes;
    size_t size;
    /* What the tables are made with, and the same without what refuses values. */
    char *strict[SCHEMA_MOST], *loose[SCHEMA_MOST];
    size_t schema_count;
} base;

static void put_session(struct hn_store *store, const struct hn_recording *recording,
                        const struct hn_origin *from, const void *cubin, size_t size)
{
    struct hn_error err = {0};
    int64_t id = 0;
    const struct hn_store_session session = {.identity = &recording->identity,
                                             .version = &recording->version,
                                             .plan = &recording->plan,
                                             .command = "hone tune",
                                             .from = from,
                                             .started = 1763697600};
    fuzz_require(hn_store_begin(store, &session, NULL, &id, &err) == HN_OK, err.message);
    for (size_t i = 0; i < recording->records.count; i++) {
        const struct hn_record *record = &recording->records.items[i];
        fuzz_require(hn_store_put(store, id, record, &err) == HN_OK &&
                         hn_store_put_image(store, id, &record->point, cubin, size,
                                            "sgemm_clear\nsgemm_sum", &err) == HN_OK,
                     err.message);
    }
}

/* What was measured here, what was imported, and a problem more. */
static void fill(const char *path)
{
    struct hn_recording recording ENDED_BY(hn_recording_finish);
    struct hn_store *store = NULL;
    struct hn_error err = {0};
    char *cubin FREED = NULL;
    size_t size = 0;
    const struct hn_origin from = {"node7", "idle.json", 1763697600};
    const struct hn_roofs roofs = {3772,
                                   5992,
                                   20000,
                                   1.5,
                                   1763697600,
                                   "CUDA 13.0",
                                   {.pipes = {[HN_PIPE_BF16] = {400e3, 1500}}},
                                   1 << 20};
    const struct hn_value larger = hn_integer(8192);
    fuzz_require(hn_recording_load(HONE_FUZZ_BASE "/idle.json", &recording, &err) == HN_OK &&
                     hn_file_read(HONE_FUZZ_BASE "/idle.cubin", 1 << 20, &cubin, &size, &err) ==
                         HN_OK &&
                     hn_store_open(path, HN_STORE_WRITE, &store, &err) == HN_OK &&
                     hn_store_put_roofs(store, &recording.identity.device, &roofs, &err) == HN_OK,
                 err.message);
    put_session(store, &recording, NULL, cubin, size);
    put_session(store, &recording, &from, cubin, size);
    fuzz_require(hn_bindings_set(&recording.identity.problem, "n", &larger, &err) == HN_OK,
                 err.message);
    put_session(store, &recording, &from, cubin, size);
    hn_store_close(store);
}

/* Nothing but what a script is for: no other file, no other setting. */
static int authorize(void *context, int action, const char *first, const char *second,
                     const char *third, const char *fourth)
{
    static const char *const pragmas[] = {"user_version", "application_id", "table_info",
                                          "writable_schema"};
    (void)context, (void)second, (void)third, (void)fourth;
    if (action != SQLITE_PRAGMA)
        return action == SQLITE_ATTACH ? SQLITE_DENY : SQLITE_OK;
    for (size_t i = 0; i < sizeof pragmas / sizeof *pragmas; i++)
        if (strcmp(first, pragmas[i]) == 0)
            return SQLITE_OK;
    return SQLITE_DENY;
}

static int stop(void *context)
{
    (void)context;
    return 1;
}

static sqlite3 *open_raw(const char *path)
{
    sqlite3 *handle;
    fuzz_require(sqlite3_open(path, &handle) == SQLITE_OK, "SQLite opens its own file");
    (void)sqlite3_exec(handle,
                       "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                       "PRAGMA max_page_count = 4000; PRAGMA writable_schema = ON",
                       NULL, NULL, NULL);
    (void)sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, 1 << 20);
    sqlite3_progress_handler(handle, INSTRUCTIONS, stop, NULL);
    sqlite3_set_authorizer(handle, authorize, NULL);
    return handle;
}

static void take_schema(sqlite3 *handle)
{
    sqlite3_stmt *statement;
    (void)sqlite3_prepare_v2(handle,
                             "SELECT sql, iif(type = 'table', replace(replace(replace(sql,"
                             " ') STRICT, WITHOUT', ') WITHOUT'), ') STRICT', ')'), ' NOT NULL',"
                             " ''), sql) FROM sqlite_schema WHERE sql IS NOT NULL",
                             -1, &statement, NULL);
    while (sqlite3_step(statement) == SQLITE_ROW && base.schema_count < SCHEMA_MOST) {
        base.strict[base.schema_count] = strdup((const char *)sqlite3_column_text(statement, 0));
        base.loose[base.schema_count++] = strdup((const char *)sqlite3_column_text(statement, 1));
    }
    sqlite3_finalize(statement);
    fuzz_require(base.schema_count >= 9, "a cache has its tables");
}

static void set_schema(sqlite3 *handle, char *const *from, char *const *to)
{
    for (size_t i = 0; i < base.schema_count; i++) {
        char *sql =
            sqlite3_mprintf("UPDATE sqlite_schema SET sql = %Q WHERE sql = %Q", to[i], from[i]);
        (void)sqlite3_exec(handle, sql, NULL, NULL, NULL);
        sqlite3_free(sql);
    }
}

static void make_base(void)
{
    static const uint8_t nothing[1] = {0};
    struct hn_error err = {0};
    const char *path = fuzz_write_file("base.db", nothing, 0);
    fill(path);
    fuzz_require(sqlite3_open(path, &base.handle) == SQLITE_OK &&
                     sqlite3_exec(base.handle,
                                  "PRAGMA journal_mode = DELETE; PRAGMA page_size = 1024; VACUUM",
                                  NULL, NULL, NULL) == SQLITE_OK,
                 "a cache can be made smaller");
    sqlite3_close(base.handle);
    base.handle = open_raw(path);
    take_schema(base.handle);
    set_schema(base.handle, base.strict, base.loose);
    sqlite3_close(base.handle);
    base.handle = open_raw(path);
    char *bytes = NULL;
    fuzz_require(hn_file_read(path, FILE_BYTES, &bytes, &base.size, &err) == HN_OK, err.message);
    base.bytes = (uint8_t *)bytes;
}

static void need_base(void)
{
    if (base.bytes == NULL)
        make_base();
}

char *fuzz_ask_base(const char *sql)
{
    sqlite3_stmt *statement = NULL;
    char *answer = NULL;
    need_base();
    if (sqlite3_prepare_v2(base.handle, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0) != NULL)
        answer = strdup((const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    return answer;
}

static void write_byte(int fd, const char *line)
{
    char *end;
    long offset = strtol(line, &end, 10);
    uint8_t byte = (uint8_t)strtol(end, NULL, 10);
    if (offset >= 0 && (size_t)offset < base.size)
        (void)!pwrite(fd, &byte, 1, (off_t)offset);
}

static void run_lines(sqlite3 *handle, const char *script)
{
    for (const char *line = script; *line != '\0';
         line += strcspn(line, "\n"), line += *line == '\n') {
        char *sql FREED = strndup(line, strcspn(line, "\n"));
        if (sql != NULL && *sql != '#' && *sql != '!')
            (void)sqlite3_exec(handle, sql, NULL, NULL, NULL);
    }
}

/* As Hone writes them. */
static void agree(sqlite3 *handle)
{
    (void)sqlite3_exec(handle,
                       "UPDATE record SET outcome = json_extract(json, '$.outcome'),"
                       " final = json_extract(json, '$.final'),"
                       " objective = json_extract(json, '$.objective'),"
                       " verification = CASE json_extract(json, '$.verdict.kind')"
                       " WHEN 'verified' THEN 2 WHEN 'self-verified' THEN 1 ELSE 0 END,"
                       " point = (SELECT group_concat(key || '=' || value) FROM"
                       " (SELECT key, value FROM json_each(record.json, '$.point') ORDER BY key))"
                       " WHERE json_valid(json);"
                       "UPDATE session SET kernel = json_extract(task, '$.kernel'),"
                       " problem = (SELECT group_concat(key || '=' || value) FROM"
                       " (SELECT key, value FROM json_each(session.task, '$.problem') ORDER BY"
                       " key)) WHERE json_valid(task)",
                       NULL, NULL, NULL);
}

static void seal(const char *path)
{
    static const char *const statements[] = {
        "UPDATE session SET " HN_SESSION_INTACT(""), "UPDATE record SET " HN_RECORD_INTACT(""),
        "UPDATE plan SET " HN_PLAN_INTACT(""),       "UPDATE image SET " HN_IMAGE_INTACT(""),
        "UPDATE roof SET " HN_ROOF_INTACT(""),
    };
    struct hn_error err = {.status = HN_OK};
    struct hn_database *database = hn_database_open(path, HN_DATABASE_WRITE, &err);
    hn_database_run(database,
                    "PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF;"
                    "PRAGMA journal_mode = MEMORY; BEGIN",
                    &err);
    /* One that is refused hinders no other. */
    for (size_t i = 0; database != NULL && i < sizeof statements / sizeof *statements; i++) {
        hn_error_init(&err);
        hn_database_run(database, statements[i], &err);
    }
    hn_error_init(&err);
    if (database != NULL)
        (void)hn_database_commit(database, &err);
    hn_database_close(database);
}

static bool has_line(const char *script, const char *line)
{
    const char *at = strstr(script, line);
    return at != NULL && (at == script || at[-1] == '\n');
}

static void write_bytes(const char *path, const char *script)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    fuzz_require(fd >= 0, "a cache that was made is there");
    for (const char *line = script; *line != '\0';
         line += strcspn(line, "\n"), line += *line == '\n')
        if (*line == '#')
            write_byte(fd, line + 1);
    close(fd);
}

const char *fuzz_hostile_cache(const uint8_t *data, size_t size)
{
    need_base();
    char *script FREED = strndup((const char *)data, size);
    fuzz_require(script != NULL, "there is memory");
    const char *path = fuzz_write_file("hostile.db", base.bytes, base.size);
    sqlite3 *handle = open_raw(path);
    run_lines(handle, script);
    if (!has_line(script, "!apart"))
        agree(handle);
    if (!has_line(script, "!unsealed"))
        seal(path);
    set_schema(handle, base.loose, base.strict);
    sqlite3_close(handle);
    write_bytes(path, script);
    return path;
}
