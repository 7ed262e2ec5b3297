/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cache/store/store_internal.h"

enum { APPLICATION_ID = 0x484f4e45 }; /* "HONE" */

/* As docs/formats.md lists them, and as SQLite keeps their text. A record's json is what counts;
 * its other columns are copies to select and sort by. */
static const char *const schema[] = {
    "CREATE TABLE task(id INTEGER PRIMARY KEY, kernel TEXT NOT NULL, signature TEXT NOT NULL,"
    " problem TEXT NOT NULL, regime TEXT NOT NULL, objective TEXT NOT NULL, device TEXT NOT NULL,"
    " capability INTEGER NOT NULL, sm_count INTEGER NOT NULL, mig_profile TEXT NOT NULL,"
    " checksum INTEGER NOT NULL, UNIQUE(kernel, signature, problem, regime, objective, device,"
    " capability, sm_count, mig_profile)) STRICT",
    "CREATE TABLE version(id INTEGER PRIMARY KEY, template_hash TEXT NOT NULL,"
    " options_hash TEXT NOT NULL, plan_hash TEXT NOT NULL, driver TEXT NOT NULL,"
    " nvrtc TEXT NOT NULL, protocol INTEGER NOT NULL, checksum INTEGER NOT NULL,"
    " UNIQUE(template_hash, options_hash, plan_hash, driver, nvrtc, protocol)) STRICT",
    /* Kernels that share template, arguments and launch share a version, and not the rest of the
     * plan.
     */
    "CREATE TABLE plan(version_id INTEGER NOT NULL REFERENCES version(id), kernel TEXT NOT NULL,"
    " json TEXT NOT NULL, checksum INTEGER NOT NULL, PRIMARY KEY(version_id, kernel)) STRICT",
    "CREATE TABLE plan_file(version_id INTEGER NOT NULL, kernel TEXT NOT NULL,"
    " position INTEGER NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL, checksum INTEGER NOT NULL,"
    " PRIMARY KEY(version_id, kernel, position), FOREIGN KEY(version_id, kernel)"
    " REFERENCES plan(version_id, kernel) ON DELETE CASCADE) STRICT, WITHOUT ROWID",
    "CREATE TABLE session(id INTEGER PRIMARY KEY, task_id INTEGER NOT NULL REFERENCES task(id),"
    " version_id INTEGER NOT NULL REFERENCES version(id), origin TEXT NOT NULL UNIQUE,"
    " started REAL NOT NULL, command TEXT NOT NULL, simulated INTEGER NOT NULL,"
    " machine TEXT NOT NULL, source TEXT NOT NULL, imported REAL NOT NULL,"
    " checksum INTEGER NOT NULL) STRICT",
    "CREATE INDEX session_of_task ON session(task_id, version_id)",
    "CREATE TABLE record(id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL"
    " REFERENCES session(id), point TEXT NOT NULL, outcome TEXT NOT NULL,"
    " verification INTEGER NOT NULL, final INTEGER NOT NULL, objective REAL,"
    " json TEXT NOT NULL, checksum INTEGER NOT NULL) STRICT",
    "CREATE INDEX record_of_session ON record(session_id, point)",
    "CREATE TABLE image(task_id INTEGER NOT NULL REFERENCES task(id), version_id INTEGER NOT NULL"
    " REFERENCES version(id), point TEXT NOT NULL, entry TEXT NOT NULL, cubin BLOB NOT NULL,"
    " hash TEXT NOT NULL, checksum INTEGER NOT NULL, PRIMARY KEY(task_id, version_id, point))"
    " STRICT",
    "CREATE TABLE roof(device TEXT NOT NULL, capability INTEGER NOT NULL,"
    " sm_count INTEGER NOT NULL, mig_profile TEXT NOT NULL, driver TEXT NOT NULL,"
    " measured REAL NOT NULL, copy_gb_per_s REAL NOT NULL, l2_gb_per_s REAL NOT NULL,"
    " fp32_gflops REAL NOT NULL, launch_us REAL NOT NULL, checksum INTEGER NOT NULL,"
    " PRIMARY KEY(device, capability, sm_count, mig_profile, driver)) STRICT",
    /* Finds the best of a session without reading the rest. */
    "CREATE INDEX record_by_objective ON record(session_id, final DESC, objective)"
    " WHERE outcome = 'ok'",
    /* From format 5 on. */
    "CREATE TABLE rule(session_id INTEGER PRIMARY KEY REFERENCES session(id),"
    " json TEXT NOT NULL, checksum INTEGER NOT NULL) STRICT",
    /* From format 6 on. */
    "CREATE TABLE tensor_roof(device TEXT NOT NULL, capability INTEGER NOT NULL,"
    " sm_count INTEGER NOT NULL, mig_profile TEXT NOT NULL, driver TEXT NOT NULL,"
    " json TEXT NOT NULL, checksum INTEGER NOT NULL,"
    " PRIMARY KEY(device, capability, sm_count, mig_profile, driver)) STRICT",
};
enum { SCHEMA_COUNT = sizeof schema / sizeof *schema };

/* How many of them a format has. */
static size_t count_of_format(int64_t version)
{
    return version < 5 ? SCHEMA_COUNT - 2 : version < 6 ? SCHEMA_COUNT - 1 : SCHEMA_COUNT;
}

struct header {
    int64_t application;
    int64_t version;
    int64_t objects;
};

static enum hn_status read_header(struct hn_database *database, struct header *header,
                                  struct hn_error *err)
{
    enum hn_status status =
        hn_database_integer(database, "PRAGMA application_id", &header->application, err);
    if (status == HN_OK)
        status = hn_database_integer(database, "PRAGMA user_version", &header->version, err);
    if (status == HN_OK)
        status = hn_database_integer(database, "SELECT count(*) FROM sqlite_schema",
                                     &header->objects, err);
    return status;
}

static bool is_new(const struct header *header)
{
    return header->application == 0 && header->version == 0 && header->objects == 0;
}

static enum hn_status check_header(const struct header *header, const char *path,
                                   struct hn_error *err)
{
    if (header->application != APPLICATION_ID)
        return hn_fail(err, HN_EFORMAT,
                       "'%s' is no Hone cache but an SQLite database of another program; it was "
                       "not touched",
                       path);
    if (header->version > HN_SCHEMA_VERSION)
        return hn_fail(err, HN_EFORMAT,
                       "cache '%s' has format %lld, this Hone knows up to %d; it was not touched: "
                       "use the newer Hone, or another cache (--cache)",
                       path, (long long)header->version, HN_SCHEMA_VERSION);
    if (header->version < HN_SCHEMA_OLDEST)
        return hn_fail(err, HN_EFORMAT,
                       "cache '%s' has format %lld, which no released Hone wrote; it was not "
                       "touched: 'hone cache export' of the Hone that wrote it gives recordings, "
                       "which 'hone cache import' reads",
                       path, (long long)header->version);
    return HN_OK;
}

/* The place of a statement in the schema, SCHEMA_COUNT when it is none of Hone's. */
static size_t find_statement(const char *sql)
{
    size_t i = 0;
    while (i < SCHEMA_COUNT && strcmp(schema[i], sql) != 0)
        i++;
    return i;
}

/* Everything in the file has to be what Hone makes, letter by letter: no view, no trigger, no other
 * table. Indexes that UNIQUE and PRIMARY KEY demand are SQLite's own and have no text. */
static enum hn_status check_objects(struct hn_database *database, const char *path, size_t count,
                                    struct hn_error *err)
{
    struct hn_statement *statement;
    bool row = false;
    bool found[SCHEMA_COUNT] = {false};
    enum hn_status status = hn_database_prepare(
        database, "SELECT ifnull(sql, ''), type, name FROM sqlite_schema", &statement, err);
    if (status == HN_OK)
        status = hn_statement_step(statement, &row, err);
    while (status == HN_OK && row) {
        const char *sql = hn_column_text(statement, 0);
        const char *name = hn_column_text(statement, 2);
        bool is_own = sql[0] == '\0' && strcmp(hn_column_text(statement, 1), "index") == 0;
        size_t place = find_statement(sql);
        if (place < count)
            found[place] = true;
        else if (!is_own)
            status = hn_fail(err, HN_EFORMAT,
                             "cache '%s' is not laid out as Hone does it: Hone makes no '%s'; it "
                             "was not touched",
                             path, hn_text_is_word(name) ? name : "table of that name");
        if (status == HN_OK)
            status = hn_statement_step(statement, &row, err);
    }
    hn_statement_finish(statement);
    for (size_t i = 0; status == HN_OK && i < count; i++)
        if (!found[i])
            status = hn_fail(err, HN_EFORMAT,
                             "cache '%s' is not laid out as Hone does it: it lacks '%.40s…'; it "
                             "was not touched",
                             path, schema[i]);
    return status;
}

/* All but the first `count` that are there. */
static enum hn_status create(struct hn_database *database, size_t count, struct hn_error *err)
{
    char sql[96];
    enum hn_status status = HN_OK;
    for (size_t i = count; status == HN_OK && i < SCHEMA_COUNT; i++)
        status = hn_database_run(database, schema[i], err);
    snprintf(sql, sizeof sql, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             APPLICATION_ID, HN_SCHEMA_VERSION);
    return status == HN_OK ? hn_database_run(database, sql, err) : status;
}

/* Tables of this connection, which are no part of the file: what reads them finds nothing. */
static enum hn_status pretend(struct hn_database *database, size_t count, struct hn_error *err)
{
    static const char beginning[] = "CREATE ";
    enum hn_status status = HN_OK;
    for (size_t i = count; status == HN_OK && i < SCHEMA_COUNT; i++) {
        char sql[1024];
        snprintf(sql, sizeof sql, "CREATE TEMP %s", schema[i] + strlen(beginning));
        status = hn_database_run(database, sql, err);
    }
    return status;
}

/* In one transaction, because another process may be making the tables right now. *count: how many
 * statements of the schema are there. */
static enum hn_status open_within(struct hn_database *database, const char *path, bool may_create,
                                  size_t *count, struct hn_error *err)
{
    struct header header = {0};
    enum hn_status status = read_header(database, &header, err);
    bool is_empty = status == HN_OK && is_new(&header);
    *count = is_empty ? 0 : count_of_format(header.version);
    if (status == HN_OK && !is_empty)
        status = check_header(&header, path, err);
    if (status == HN_OK && !is_empty)
        status = check_objects(database, path, *count, err);
    return status == HN_OK && may_create && *count < SCHEMA_COUNT ? create(database, *count, err)
                                                                  : status;
}

static enum hn_status open_in_transaction(struct hn_database *database, const char *path,
                                          bool may_create, size_t *count, struct hn_error *err)
{
    enum hn_status status =
        hn_database_run(database, may_create ? "BEGIN EXCLUSIVE" : "BEGIN", err);
    if (status == HN_OK)
        status = open_within(database, path, may_create, count, err);
    if (status == HN_OK)
        status = hn_database_run(database, "COMMIT", err);
    hn_database_rollback(database);
    return status;
}

enum hn_status hn_schema_open(struct hn_database *database, const char *path,
                              enum hn_store_mode mode, struct hn_error *err)
{
    size_t count = 0;
    enum hn_status status = open_in_transaction(database, path, false, &count, err);
    if (status != HN_OK || count == SCHEMA_COUNT)
        return status;
    if (mode == HN_STORE_WRITE)
        return open_in_transaction(database, path, true, &count, err);
    return count > 0 ? pretend(database, count, err)
                     : hn_fail(err, HN_EFORMAT, "cache '%s' holds nothing yet", path);
}
