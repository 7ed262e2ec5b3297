/* SPDX-License-Identifier: MIT */
#include "cache/database.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/text.h"

/* Writers hold the lock for milliseconds; a process that was stopped in the middle may hold it
 * longer. */
enum { BUSY_TIMEOUT_MS = 30000, BUSY_STEP_MS = 10 };

struct hn_database {
    sqlite3 *handle;
    char *path;
};

struct hn_statement {
    struct hn_database *database;
    sqlite3_stmt *handle;
    int bound;
    int failure; /* first failure of a bind */
};

static enum hn_status fail_damaged(const char *path, const char *reason, struct hn_error *err)
{
    unsigned char header[100] = {0};
    struct stat info = {0};
    FILE *file = fopen(path, "rb");
    size_t size = file == NULL ? 0 : fread(header, 1, sizeof header, file);
    if (file != NULL) {
        (void)fstat(fileno(file), &info);
        fclose(file);
    }
    if (size < 16 || memcmp(header, "SQLite format 3", 16) != 0)
        return hn_fail(err, HN_EFORMAT,
                       "'%s' is no Hone cache: it does not begin as an SQLite database does; "
                       "it was not touched",
                       path);
    long page_bytes = header[16] * 256L + header[17];
    long pages = ((header[28] * 256L + header[29]) * 256 + header[30]) * 256 + header[31];
    /* A page size of 65,536 is stored as 1. */
    long expected = pages * (page_bytes == 1 ? 65536 : page_bytes);
    if (size < sizeof header || (long)info.st_size < expected)
        return hn_fail(err, HN_EFORMAT,
                       "cache '%s' is truncated: it has %ld bytes, its header says %ld; it was not "
                       "touched: restore a copy, or move it away to start anew",
                       path, (long)info.st_size, expected);
    return hn_fail(err, HN_EFORMAT,
                   "cache '%s' is corrupt (%s); it was not touched: restore a copy, or move it "
                   "away to start anew",
                   path, reason);
}

static enum hn_status fail_sqlite(const struct hn_database *database, int code,
                                  struct hn_error *err)
{
    const char *reason = sqlite3_errmsg(database->handle);
    const char *path = database->path;
    int system = sqlite3_system_errno(database->handle);
    switch (code & 0xff) {
    case SQLITE_NOMEM:
        return hn_fail_memory(err);
    case SQLITE_IOERR:
        if (code != SQLITE_IOERR_WRITE && system == 0)
            return hn_fail(err, HN_ERUN, "cache '%s': %s", path, reason);
        return hn_fail(err, HN_ERUN,
                       "cache '%s' can not be written: %s; what was recorded before is kept", path,
                       system != 0 ? strerror(system)
                                   : "is the disk full, or a quota or file size limit reached?");
    case SQLITE_FULL:
        return hn_fail(err, HN_ERUN,
                       "cache '%s' can not be written: the disk is full; what was recorded before "
                       "is kept",
                       path);
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return hn_fail(err, HN_ERUN, "cache '%s' can not be written: it is read-only", path);
    case SQLITE_CANTOPEN:
        return hn_fail(err, HN_ERUN, "cache '%s' can not be opened: %s", path,
                       system == 0 ? reason : strerror(system));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return hn_fail(err, HN_ERUN, "cache '%s' was locked by another process for %d s", path,
                       BUSY_TIMEOUT_MS / 1000);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return fail_damaged(path, reason, err);
    default:
        return hn_fail(err, HN_EFORMAT, "cache '%s' is not laid out as Hone does it: %s", path,
                       reason);
    }
}

/* file:<path>?immutable=1 with the path escaped as URIs demand. */
static char *immutable_uri(const char *path)
{
    struct hn_text uri;
    hn_text_init(&uri);
    hn_text_append(&uri, "file:");
    for (const char *c = path; *c != '\0'; c++) {
        if (strchr("%?#", *c) != NULL)
            hn_text_printf(&uri, "%%%02X", (unsigned char)*c);
        else
            hn_text_append_bytes(&uri, c, 1);
    }
    hn_text_append(&uri, "?immutable=1");
    return hn_text_take(&uri);
}

static int open_handle(struct hn_database *database, enum hn_database_mode mode)
{
    if (mode != HN_DATABASE_IMMUTABLE)
        return sqlite3_open_v2(database->path, &database->handle,
                               mode == HN_DATABASE_READ
                                   ? SQLITE_OPEN_READONLY
                                   : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                               NULL);
    char *uri = immutable_uri(database->path);
    if (uri == NULL)
        return SQLITE_NOMEM;
    int code =
        sqlite3_open_v2(uri, &database->handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
    free(uri);
    return code;
}

enum hn_status hn_database_open(const char *path, enum hn_database_mode mode,
                                struct hn_database **database, struct hn_error *err)
{
    enum hn_status status;
    *database = NULL;
    struct hn_database *own = calloc(1, sizeof *own);
    if (own == NULL)
        return hn_fail_memory(err);
    own->path = strdup(path);
    if (own->path == NULL) {
        status = hn_fail_memory(err);
        goto close_database;
    }
    int code = open_handle(own, mode);
    if (code != SQLITE_OK) {
        status = fail_sqlite(own, code, err);
        goto close_database;
    }
    sqlite3_extended_result_codes(own->handle, 1);
    sqlite3_busy_timeout(own->handle, BUSY_TIMEOUT_MS);
    status = hn_database_run(
        own, "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON",
        err);
    if (status != HN_OK)
        goto close_database;
    *database = own;
    return HN_OK;

close_database:
    hn_database_close(own);
    return status;
}

void hn_database_close(struct hn_database *database)
{
    if (database == NULL)
        return;
    sqlite3_close(database->handle);
    free(database->path);
    free(database);
}

enum hn_status hn_database_run(struct hn_database *database, const char *sql, struct hn_error *err)
{
    int code = sqlite3_exec(database->handle, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? HN_OK : fail_sqlite(database, code, err);
}

enum hn_status hn_database_integer(struct hn_database *database, const char *sql, int64_t *value,
                                   struct hn_error *err)
{
    struct hn_statement *statement;
    bool row = false;
    enum hn_status status = hn_database_prepare(database, sql, &statement, err);
    if (status == HN_OK)
        status = hn_statement_step(statement, &row, err);
    if (status == HN_OK)
        *value = row ? hn_column_integer(statement, 0) : 0;
    hn_statement_finish(statement);
    return status;
}

void hn_database_rollback(struct hn_database *database)
{
    if (sqlite3_get_autocommit(database->handle) == 0)
        (void)sqlite3_exec(database->handle, "ROLLBACK", NULL, NULL, NULL);
}

int64_t hn_database_last_id(const struct hn_database *database)
{
    return sqlite3_last_insert_rowid(database->handle);
}

static int take_journal_mode(void *mode, int columns, char **values, char **names)
{
    (void)names;
    if (columns > 0 && values[0] != NULL)
        snprintf(mode, 16, "%s", values[0]);
    return 0;
}

enum hn_status hn_database_set_wal(struct hn_database *database, bool wal, bool *done,
                                   struct hn_error *err)
{
    const char *wanted = wal ? "wal" : "delete";
    const char *sql = wal ? "PRAGMA journal_mode = WAL" : "PRAGMA journal_mode = DELETE";
    char mode[16] = "";
    int code = SQLITE_BUSY;
    /* SQLite does not always wait by itself when the journal is switched. */
    for (int waited = 0; waited < BUSY_TIMEOUT_MS; waited += BUSY_STEP_MS) {
        code = sqlite3_exec(database->handle, sql, take_journal_mode, mode, NULL);
        if ((code & 0xff) != SQLITE_BUSY)
            break;
        nanosleep(&(struct timespec){.tv_nsec = BUSY_STEP_MS * 1000000L}, NULL);
    }
    *done = code == SQLITE_OK && strcmp(mode, wanted) == 0;
    return code == SQLITE_OK ? HN_OK : fail_sqlite(database, code, err);
}

enum hn_status hn_database_copy(struct hn_database *database, const char *path,
                                struct hn_error *err)
{
    struct hn_statement *statement;
    enum hn_status status = hn_database_prepare(database, "VACUUM INTO ?", &statement, err);
    if (status == HN_OK) {
        hn_bind_text(statement, path);
        status = hn_statement_run(statement, err);
    }
    hn_statement_finish(statement);
    return status;
}

enum hn_status hn_database_prepare(struct hn_database *database, const char *sql,
                                   struct hn_statement **statement, struct hn_error *err)
{
    *statement = calloc(1, sizeof **statement);
    if (*statement == NULL)
        return hn_fail_memory(err);
    (*statement)->database = database;
    int code = sqlite3_prepare_v2(database->handle, sql, -1, &(*statement)->handle, NULL);
    if (code == SQLITE_OK)
        return HN_OK;
    enum hn_status status = fail_sqlite(database, code, err);
    hn_statement_finish(*statement);
    *statement = NULL;
    return status;
}

void hn_statement_finish(struct hn_statement *statement)
{
    if (statement == NULL)
        return;
    sqlite3_finalize(statement->handle);
    free(statement);
}

static void note(struct hn_statement *statement, int code)
{
    if (statement->failure == SQLITE_OK)
        statement->failure = code;
}

void hn_bind_text(struct hn_statement *statement, const char *text)
{
    note(statement,
         sqlite3_bind_text(statement->handle, ++statement->bound, text, -1, SQLITE_STATIC));
}

void hn_bind_integer(struct hn_statement *statement, int64_t integer)
{
    note(statement, sqlite3_bind_int64(statement->handle, ++statement->bound, integer));
}

void hn_bind_real(struct hn_statement *statement, double real)
{
    note(statement, sqlite3_bind_double(statement->handle, ++statement->bound, real));
}

void hn_bind_bytes(struct hn_statement *statement, const void *bytes, size_t size)
{
    note(statement,
         sqlite3_bind_blob64(statement->handle, ++statement->bound, bytes, size, SQLITE_STATIC));
}

enum hn_status hn_statement_step(struct hn_statement *statement, bool *row, struct hn_error *err)
{
    *row = false;
    int code = statement->failure;
    if (code == SQLITE_OK)
        code = sqlite3_step(statement->handle);
    if (code == SQLITE_ROW) {
        *row = true;
        return HN_OK;
    }
    enum hn_status status =
        code == SQLITE_DONE ? HN_OK : fail_sqlite(statement->database, code, err);
    sqlite3_reset(statement->handle);
    sqlite3_clear_bindings(statement->handle);
    statement->bound = 0;
    statement->failure = SQLITE_OK;
    return status;
}

enum hn_status hn_statement_run(struct hn_statement *statement, struct hn_error *err)
{
    bool row = true;
    enum hn_status status = HN_OK;
    while (row)
        status = hn_statement_step(statement, &row, err);
    return status;
}

const char *hn_column_text(struct hn_statement *statement, int column)
{
    const unsigned char *text = sqlite3_column_text(statement->handle, column);
    return text == NULL ? "" : (const char *)text;
}

int64_t hn_column_integer(struct hn_statement *statement, int column)
{
    return sqlite3_column_int64(statement->handle, column);
}

double hn_column_real(struct hn_statement *statement, int column)
{
    return sqlite3_column_double(statement->handle, column);
}

const void *hn_column_bytes(struct hn_statement *statement, int column, size_t *size)
{
    const void *bytes = sqlite3_column_blob(statement->handle, column);
    *size = (size_t)sqlite3_column_bytes(statement->handle, column);
    return bytes;
}
