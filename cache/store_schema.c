/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/text.h"
#include "cache/store_internal.h"

enum { APPLICATION_ID = 0x484f4e45 }; /* "HONE" */

#define ROOF_TABLE                                                                                 \
    "CREATE TABLE roof(device TEXT NOT NULL, capability INTEGER NOT NULL,"                         \
    " sm_count INTEGER NOT NULL, mig_profile TEXT NOT NULL, driver TEXT NOT NULL,"                 \
    " measured REAL NOT NULL, copy_gb_per_s REAL NOT NULL, l2_gb_per_s REAL NOT NULL,"             \
    " fp32_gflops REAL NOT NULL, launch_us REAL NOT NULL,"                                         \
    " PRIMARY KEY(device, capability, sm_count, mig_profile, driver)) STRICT"

/* One statement a table, as docs/formats.md lists them. A record's json is what counts; its other
 * columns are copies to select and sort by. */
static const char schema[] =
    "CREATE TABLE task(id INTEGER PRIMARY KEY, kernel TEXT NOT NULL, signature TEXT NOT NULL,"
    " problem TEXT NOT NULL, regime TEXT NOT NULL, objective TEXT NOT NULL, device TEXT NOT NULL,"
    " capability INTEGER NOT NULL, sm_count INTEGER NOT NULL, mig_profile TEXT NOT NULL,"
    " UNIQUE(kernel, signature, problem, regime, objective, device, capability, sm_count,"
    " mig_profile)) STRICT;"
    "CREATE TABLE version(id INTEGER PRIMARY KEY, template_hash TEXT NOT NULL,"
    " options_hash TEXT NOT NULL, plan_hash TEXT NOT NULL, driver TEXT NOT NULL,"
    " nvrtc TEXT NOT NULL, protocol INTEGER NOT NULL,"
    " UNIQUE(template_hash, options_hash, plan_hash, driver, nvrtc, protocol)) STRICT;"
    "CREATE TABLE plan(version_id INTEGER PRIMARY KEY REFERENCES version(id),"
    " json TEXT NOT NULL) STRICT;"
    "CREATE TABLE plan_file(version_id INTEGER NOT NULL REFERENCES plan(version_id)"
    " ON DELETE CASCADE, position INTEGER NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL,"
    " PRIMARY KEY(version_id, position)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE session(id INTEGER PRIMARY KEY, task_id INTEGER NOT NULL REFERENCES task(id),"
    " version_id INTEGER NOT NULL REFERENCES version(id), origin TEXT NOT NULL UNIQUE,"
    " started REAL NOT NULL, command TEXT NOT NULL, simulated INTEGER NOT NULL DEFAULT 0) STRICT;"
    "CREATE INDEX session_of_task ON session(task_id, version_id);"
    "CREATE TABLE record(id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL"
    " REFERENCES session(id), point TEXT NOT NULL, outcome TEXT NOT NULL,"
    " verification INTEGER NOT NULL, final INTEGER NOT NULL, objective REAL,"
    " json TEXT NOT NULL) STRICT;"
    "CREATE INDEX record_of_session ON record(session_id, point);"
    "CREATE TABLE image(task_id INTEGER NOT NULL REFERENCES task(id), version_id INTEGER NOT NULL"
    " REFERENCES version(id), point TEXT NOT NULL, entry TEXT NOT NULL, cubin BLOB NOT NULL,"
    " PRIMARY KEY(task_id, version_id, point)) STRICT;" ROOF_TABLE ";";

/* migrations[v] brings version v to v + 1. */
static const char *const migrations[HN_SCHEMA_VERSION] = {
    [0] = "ALTER TABLE session ADD COLUMN simulated INTEGER NOT NULL DEFAULT 0",
    [1] = ROOF_TABLE,
};

struct header {
    int64_t application;
    int64_t version;
    int64_t tables;
};

/* In one transaction, because another process may be making the tables right now. */
static enum hn_status read_header(struct hn_database *database, const char *begin,
                                  struct header *header, struct hn_error *err)
{
    enum hn_status status = hn_database_run(database, begin, err);
    if (status == HN_OK)
        status = hn_database_integer(database, "PRAGMA application_id", &header->application, err);
    if (status == HN_OK)
        status = hn_database_integer(database, "PRAGMA user_version", &header->version, err);
    if (status == HN_OK)
        status = hn_database_integer(database, "SELECT count(*) FROM sqlite_master",
                                     &header->tables, err);
    if (status != HN_OK)
        hn_database_rollback(database);
    return status;
}

static bool is_new(const struct header *header)
{
    return header->application == 0 && header->version == 0 && header->tables == 0;
}

static enum hn_status set_version(struct hn_database *database, struct hn_error *err)
{
    char sql[96];
    snprintf(sql, sizeof sql, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             APPLICATION_ID, HN_SCHEMA_VERSION);
    return hn_database_run(database, sql, err);
}

static enum hn_status create(struct hn_database *database, struct hn_error *err)
{
    struct header header = {0};
    enum hn_status status = read_header(database, "BEGIN EXCLUSIVE", &header, err);
    if (status == HN_OK && is_new(&header)) {
        status = hn_database_run(database, schema, err);
        if (status == HN_OK)
            status = set_version(database, err);
    }
    if (status == HN_OK)
        status = hn_database_run(database, "COMMIT", err);
    hn_database_rollback(database);
    return status;
}

enum hn_status hn_schema_open(struct hn_database *database, const char *path,
                              enum hn_store_mode mode, bool *outdated, struct hn_error *err)
{
    struct header header = {0};
    enum hn_status status = read_header(database, "BEGIN", &header, err);
    if (status == HN_OK)
        status = hn_database_run(database, "COMMIT", err);
    if (status != HN_OK)
        return status;
    *outdated = false;
    if (is_new(&header))
        return mode == HN_STORE_WRITE
                   ? create(database, err)
                   : hn_fail(err, HN_EFORMAT, "cache '%s' holds nothing yet", path);
    if (header.application != APPLICATION_ID)
        return hn_fail(err, HN_EFORMAT,
                       "'%s' is no Hone cache but an SQLite database of another program; it was "
                       "not touched",
                       path);
    if (header.version > HN_SCHEMA_VERSION)
        return hn_fail(err, HN_EFORMAT,
                       "cache '%s' has format %lld, this Hone knows up to %d; it was not touched: "
                       "use the newer Hone, or another cache (--cache)",
                       path, (long long)header.version, HN_SCHEMA_VERSION);
    *outdated = header.version < HN_SCHEMA_VERSION;
    return HN_OK;
}

/* "<path>.format-0", or with a number where that is taken. */
static enum hn_status back_up(struct hn_database *database, const char *path, int64_t version,
                              struct hn_error *err)
{
    struct stat info;
    struct hn_text name;
    hn_text_init(&name);
    hn_text_printf(&name, "%s.format-%lld", path, (long long)version);
    size_t length = name.length;
    for (int i = 2; !name.failed && stat(name.data, &info) == 0; i++) {
        name.length = length;
        hn_text_printf(&name, "-%d", i);
    }
    enum hn_status status =
        name.failed ? hn_fail_memory(err) : hn_database_copy(database, name.data, err);
    hn_text_finish(&name);
    return status;
}

enum hn_status hn_schema_migrate(struct hn_database *database, const char *path,
                                 struct hn_error *err)
{
    struct header header = {0};
    enum hn_status status = read_header(database, "BEGIN", &header, err);
    hn_database_rollback(database);
    if (status == HN_OK)
        status = back_up(database, path, header.version, err);
    if (status == HN_OK)
        status = read_header(database, "BEGIN IMMEDIATE", &header, err);
    for (int64_t v = header.version; status == HN_OK && v < HN_SCHEMA_VERSION; v++)
        status = hn_database_run(database, migrations[v], err);
    if (status == HN_OK)
        status = set_version(database, err);
    if (status == HN_OK)
        status = hn_database_run(database, "COMMIT", err);
    hn_database_rollback(database);
    return status;
}

enum hn_status hn_schema_make_index(struct hn_database *database, struct hn_error *err)
{
    return hn_database_run(database,
                           "CREATE INDEX IF NOT EXISTS record_by_objective"
                           " ON record(session_id, final DESC, objective) WHERE outcome = 'ok'",
                           err);
}
