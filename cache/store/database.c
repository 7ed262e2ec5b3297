/* SPDX-License-Identifier: MIT */
#include "cache/store/database.h"

#include <errno.h>
#include <libgen.h>
#include <math.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "base/memory.h"
#include "base/run.h"
#include "base/text.h"

/* What a statement that reads may take inside SQLite: longer than it may wait for a lock. SQLite
 * asks each so many of its instructions whether to go on. */
enum { PATIENCE_MS = 60000, INSTRUCTIONS = 10000 };

/* How long another process' lock on the cache is waited for: writers hold it for milliseconds; a
 * process that was stopped in the middle may hold it longer. After a signal only for a moment, so
 * that what was finished is kept where it can be. */
enum { LOCK_WAIT_MS = 30000, LOCK_AFTER_SIGNAL_MS = 200 };
/* Mostly the lock is free again at once. */
enum { SHORT_STEPS = 10, SHORT_MS = 1, STEP_MS = 10 };

struct hn_database {
    sqlite3 *handle;
    char *path;
    double patience_ms;
    double deadline_ms; /* of the statement that runs, by hn_now_ms */
};

struct hn_statement {
    struct hn_database *database;
    sqlite3_stmt *handle;
    int bound;
    int failure;        /* first failure of a bind */
    double patience_ms; /* what is left of it */
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

/* SQLite appends -journal, and says no more of a path that is too long for it than that it cannot
 * open it. */
static enum hn_status fail_open(const char *path, const char *reason, struct hn_error *err)
{
    enum { LONGEST = 512 - (sizeof "-journal" - 1) };
    char *folder HN_FREED = path[0] == '/' ? NULL : get_current_dir_name();
    size_t length = strlen(path) + (folder == NULL ? 0 : strlen(folder) + 1);
    if (length > LONGEST)
        return hn_fail(err, HN_ERUN,
                       "cache '%.3000s' cannot be opened: its full path has %zu bytes, SQLite "
                       "takes at most %d; use a shorter one",
                       path, length, LONGEST);
    return hn_fail(err, HN_ERUN, "cache '%s' cannot be opened: %s", path, reason);
}

/* Whether its folder cannot be written by us. */
static bool is_read_only(const char *path)
{
    char *copy HN_FREED = strdup(path);
    return copy != NULL && access(dirname(copy), W_OK) != 0;
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
                       "cache '%s' cannot be written: %s; what was recorded before is kept", path,
                       system != 0 ? strerror(system)
                                   : "is the disk full, or a quota or file size limit reached?");
    case SQLITE_FULL:
        return hn_fail(err, HN_ERUN,
                       "cache '%s' cannot be written: the disk is full; what was recorded before "
                       "is kept",
                       path);
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return hn_fail(err, HN_ERUN, "cache '%s' cannot be written: it is read-only", path);
    case SQLITE_CANTOPEN:
        /* Where it could not be made, SQLite looked for one to read. */
        if (system == ENOENT && is_read_only(path))
            system = errno;
        return fail_open(path, system == 0 ? reason : strerror(system), err);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        if (hn_interrupted() != 0)
            return hn_fail(err, HN_EINTERRUPTED,
                           "interrupted while cache '%s' was locked by another process; what it "
                           "was to be given last is not kept",
                           path);
        return hn_fail(err, HN_ERUN, "cache '%s' was locked by another process for %d s", path,
                       LOCK_WAIT_MS / 1000);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return fail_damaged(path, reason, err);
    case SQLITE_INTERRUPT:
        return hn_fail(err, HN_EFORMAT,
                       "cache '%s' gave no answer in %.0f s: it is damaged, or made to keep its "
                       "reader busy; 'hone cache check' says more",
                       path, database->patience_ms / 1000);
    default:
        return hn_fail(err, HN_EFORMAT, "cache '%s' is not laid out as Hone does it: %s", path,
                       reason);
    }
}

static bool has_journal(const char *path)
{
    static const char *const suffixes[] = {"-wal", "-journal"};
    bool found = false;
    for (size_t i = 0; i < 2; i++) {
        struct stat info;
        struct hn_text text HN_ENDED_BY(hn_text_finish) = {0};
        hn_text_printf(&text, "%s%s", path, suffixes[i]);
        found = found || (!text.failed && stat(text.data, &info) == 0 && info.st_size > 0);
    }
    return found;
}

/* is_uri: as what nobody writes while it is open, without locks and shared memory. A path is no URI
 * and no ":memory:", however it begins. */
static int open_handle(struct hn_database *database, enum hn_database_mode mode, bool is_uri)
{
    int flags = is_uri                     ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
                : mode == HN_DATABASE_READ ? SQLITE_OPEN_READONLY
                                           : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    /* With the path escaped as URIs demand. */
    struct hn_text name HN_ENDED_BY(hn_text_finish) = {0};
    hn_text_printf(&name, "%s%s", is_uri ? "file:" : "", database->path[0] == '/' ? "" : "./");
    for (const char *c = database->path; *c != '\0'; c++)
        hn_text_printf(&name, is_uri && strchr("%?#", *c) != NULL ? "%%%02X" : "%c",
                       (unsigned char)*c);
    hn_text_append(&name, is_uri ? "?immutable=1" : "");
    return name.failed ? SQLITE_NOMEM : sqlite3_open_v2(name.data, &database->handle, flags, NULL);
}

/* SQL's checksum(…): the CRC-32 of its arguments, integers and reals as eight bytes, text and blobs
 * with a zero behind them. A real that is whole is stored as an integer, which knows no -0. */
static void checksum(sqlite3_context *context, int count, sqlite3_value **values)
{
    uLong sum = crc32(0, NULL, 0);
    for (int i = 0; i < count; i++) {
        const int type = sqlite3_value_type(values[i]);
        if (type == SQLITE_INTEGER) {
            sqlite3_int64 integer = sqlite3_value_int64(values[i]);
            sum = crc32(sum, (const Bytef *)&integer, sizeof integer);
        } else if (type == SQLITE_FLOAT) {
            double real = sqlite3_value_double(values[i]) + 0.0;
            sum = crc32(sum, (const Bytef *)&real, sizeof real);
        } else if (type != SQLITE_NULL) {
            const void *bytes = sqlite3_value_blob(values[i]);
            sum = bytes == NULL ? sum : crc32(sum, bytes, (uInt)sqlite3_value_bytes(values[i]));
            sum = crc32(sum, (const Bytef *)"", 1);
        }
    }
    sqlite3_result_int64(context, (sqlite3_int64)sum);
}

/* SQLite's busy handler: sleeps and says 1, or 0 when it was long enough. times: how often it was
 * called for this lock. */
static int wait_for_lock(void *unused, int times)
{
    (void)unused;
    int long_steps = times > SHORT_STEPS ? times - SHORT_STEPS : 0;
    int waited_ms = (times - long_steps) * SHORT_MS + long_steps * STEP_MS;
    if (waited_ms >= (hn_interrupted() != 0 ? LOCK_AFTER_SIGNAL_MS : LOCK_WAIT_MS))
        return 0;
    int step_ms = times < SHORT_STEPS ? SHORT_MS : STEP_MS;
    nanosleep(&(struct timespec){.tv_nsec = step_ms * 1000000L}, NULL);
    return 1;
}

static int is_late(void *pointer)
{
    const struct hn_database *database = pointer;
    return hn_now_ms() > database->deadline_ms;
}

/* The file may be a stranger's: nothing in its schema runs, and no value, statement or answer is
 * larger than Hone's own. */
static void harden(struct hn_database *database)
{
    static const struct {
        int option;
        int value;
    } options[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_ENABLE_FKEY, 1},    {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
        {SQLITE_DBCONFIG_DQS_DDL, 0},        {SQLITE_DBCONFIG_DQS_DML, 0},
    };
    static const struct {
        int limit;
        int value;
    } limits[] = {
        {SQLITE_LIMIT_LENGTH, 64 << 20},
        {SQLITE_LIMIT_SQL_LENGTH, 16 << 10},
        {SQLITE_LIMIT_COLUMN, 32},
        {SQLITE_LIMIT_EXPR_DEPTH, 50},
        {SQLITE_LIMIT_COMPOUND_SELECT, 9},
        {SQLITE_LIMIT_VDBE_OP, 25000},
        {SQLITE_LIMIT_FUNCTION_ARG, 16},
        {SQLITE_LIMIT_ATTACHED, 1},
        {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 64},
        {SQLITE_LIMIT_VARIABLE_NUMBER, 32},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
        {SQLITE_LIMIT_WORKER_THREADS, 0},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        (void)sqlite3_db_config(database->handle, options[i].option, options[i].value, NULL);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        (void)sqlite3_limit(database->handle, limits[i].limit, limits[i].value);
    sqlite3_progress_handler(database->handle, INSTRUCTIONS, is_late, database);
}

/* code: what opening it gave. */
static void set_up(struct hn_database *database, int code, struct hn_error *err)
{
    if (code != SQLITE_OK) {
        fail_sqlite(database, code, err);
        return;
    }
    sqlite3_extended_result_codes(database->handle, 1);
    sqlite3_busy_handler(database->handle, wait_for_lock, NULL);
    harden(database);
    code = sqlite3_create_function_v2(database->handle, "checksum", -1,
                                      SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, NULL,
                                      checksum, NULL, NULL, NULL);
    if (code != SQLITE_OK)
        fail_sqlite(database, code, err);
    hn_database_run(database, "PRAGMA cell_size_check = ON", err);
}

/* Where who wrote it was killed at that, its journal has to be rolled back before it can be read.
 * That takes a handle that may write; this one does nothing else with it. On a full disk SQLite
 * cannot make the shared memory of a log, which takes none where nothing is in it. */
static void reopen(struct hn_database *database, struct hn_error *err)
{
    int code = sqlite3_exec(database->handle, "PRAGMA schema_version", NULL, NULL, NULL);
    int system = sqlite3_system_errno(database->handle);
    bool full = (code & 0xff) == SQLITE_IOERR && !has_journal(database->path) &&
                (system == ENOSPC || system == EDQUOT || system == EFBIG);
    if (code != SQLITE_READONLY_ROLLBACK && !full)
        return;
    sqlite3_close(database->handle);
    set_up(database, open_handle(database, HN_DATABASE_WRITE, full), err);
    hn_database_run(database, "PRAGMA query_only = ON", err);
}

struct hn_database *hn_database_open(const char *path, enum hn_database_mode mode,
                                     struct hn_error *err)
{
    struct hn_database *database = hn_allocate(1, sizeof *database, err);
    if (database == NULL)
        return NULL;
    database->path = hn_copy_string(path, err);
    if (hn_failed(err)) {
        free(database);
        return NULL;
    }
    hn_database_set_patience(database, PATIENCE_MS);
    /* Nor can it make one in a folder that it may not write. */
    bool immutable = mode == HN_DATABASE_READ && is_read_only(path) && !has_journal(path);
    set_up(database, open_handle(database, mode, immutable), err);
    if (!hn_failed(err) && mode == HN_DATABASE_READ)
        reopen(database, err);
    if (!hn_failed(err))
        return database;
    hn_database_close(database);
    return NULL;
}

void hn_database_close(struct hn_database *database)
{
    if (database == NULL)
        return;
    sqlite3_close(database->handle);
    free(database->path);
    free(database);
}

void hn_database_set_patience(struct hn_database *database, double patience_ms)
{
    database->patience_ms = patience_ms;
    database->deadline_ms = INFINITY;
}

void hn_database_run(struct hn_database *database, const char *sql, struct hn_error *err)
{
    if (hn_failed(err))
        return;
    database->deadline_ms = INFINITY;
    int code = sqlite3_exec(database->handle, sql, NULL, NULL, NULL);
    if (code != SQLITE_OK)
        fail_sqlite(database, code, err);
}

int64_t hn_database_integer(struct hn_database *database, const char *sql, struct hn_error *err)
{
    int64_t value = 0;
    (void)hn_database_do(database, err, sql, ">i", &value);
    return value;
}

enum hn_status hn_database_commit(struct hn_database *database, struct hn_error *err)
{
    hn_database_run(database, "COMMIT", err);
    if (sqlite3_get_autocommit(database->handle) == 0)
        (void)sqlite3_exec(database->handle, "ROLLBACK", NULL, NULL, NULL);
    return err->status;
}

static int take_journal_mode(void *mode, int columns, char **values, char **names)
{
    (void)names;
    if (columns > 0 && values[0] != NULL)
        snprintf(mode, 16, "%s", values[0]);
    return 0;
}

bool hn_database_set_wal(struct hn_database *database, bool wal, struct hn_error *err)
{
    const char *sql = wal ? "PRAGMA journal_mode = WAL" : "PRAGMA journal_mode = DELETE";
    char mode[16] = "";
    int code = SQLITE_BUSY;
    if (hn_failed(err))
        return false;
    /* SQLite does not always wait by itself when the journal is switched. */
    for (int times = 0; code != SQLITE_OK && (times == 0 || wait_for_lock(NULL, times)); times++) {
        code = sqlite3_exec(database->handle, sql, take_journal_mode, mode, NULL);
        if ((code & 0xff) != SQLITE_BUSY)
            break;
    }
    if (code != SQLITE_OK)
        fail_sqlite(database, code, err);
    return code == SQLITE_OK && strcmp(mode, wal ? "wal" : "delete") == 0;
}

bool hn_database_has_moved(const struct hn_database *database)
{
    int moved = 0;
    return sqlite3_file_control(database->handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved) ==
               SQLITE_OK &&
           moved != 0;
}

void hn_database_copy(struct hn_database *database, const char *path, struct hn_error *err)
{
    struct hn_database *copy = hn_database_open(path, HN_DATABASE_WRITE, err);
    if (copy == NULL)
        return;
    sqlite3_backup *backup = sqlite3_backup_init(copy->handle, "main", database->handle, "main");
    if (backup != NULL) {
        (void)sqlite3_backup_step(backup, -1);
        (void)sqlite3_backup_finish(backup);
    }
    int code = sqlite3_extended_errcode(copy->handle);
    if (code != SQLITE_OK)
        fail_sqlite(copy, code, err);
    hn_database_close(copy);
}

/* Returns the end of the kinds of values. */
static const char *bind_all(struct hn_statement *statement, const char *kinds, va_list *values)
{
    for (; statement != NULL && *kinds != '\0' && *kinds != '>'; kinds++) {
        sqlite3_stmt *handle = statement->handle;
        int place = ++statement->bound;
        int code = SQLITE_OK;
        if (*kinds == 't') {
            const char *text = va_arg(*values, const char *);
            code = sqlite3_bind_text(handle, place, text, -1, SQLITE_STATIC);
        } else if (*kinds == 'i') {
            code = sqlite3_bind_int64(handle, place, va_arg(*values, int64_t));
        } else if (*kinds == 'r') {
            code = sqlite3_bind_double(handle, place, va_arg(*values, double));
        } else {
            const void *bytes = va_arg(*values, const void *);
            size_t size = va_arg(*values, size_t);
            code = sqlite3_bind_blob64(handle, place, bytes, size, SQLITE_STATIC);
        }
        if (statement->failure == SQLITE_OK)
            statement->failure = code;
    }
    return kinds;
}

static struct hn_statement *prepare(struct hn_database *database, const char *sql,
                                    struct hn_error *err)
{
    struct hn_statement *statement = hn_allocate(1, sizeof *statement, err);
    if (statement == NULL)
        return NULL;
    statement->database = database;
    statement->patience_ms = database->patience_ms;
    database->deadline_ms = hn_now_ms() + database->patience_ms;
    int code = sqlite3_prepare_v2(database->handle, sql, -1, &statement->handle, NULL);
    if (code == SQLITE_OK)
        return statement;
    fail_sqlite(database, code, err);
    hn_statement_finish(statement);
    return NULL;
}

struct hn_statement *hn_database_prepare(struct hn_database *database, struct hn_error *err,
                                         const char *sql, const char *kinds, ...)
{
    va_list values;
    struct hn_statement *statement = prepare(database, sql, err);
    va_start(values, kinds);
    (void)bind_all(statement, kinds, &values);
    va_end(values);
    return statement;
}

void hn_statement_bind(struct hn_statement *statement, const char *kinds, ...)
{
    va_list values;
    va_start(values, kinds);
    (void)bind_all(statement, kinds, &values);
    va_end(values);
}

void hn_statement_finish(struct hn_statement *statement)
{
    if (statement == NULL)
        return;
    sqlite3_finalize(statement->handle);
    free(statement);
}

bool hn_statement_step(struct hn_statement *statement, struct hn_error *err)
{
    if (statement == NULL || hn_failed(err))
        return false;
    int code = statement->failure;
    if (code == SQLITE_OK) {
        /* What reads has to be done in time, all steps together; writing takes what it takes. */
        double before_ms = hn_now_ms();
        bool reads = sqlite3_stmt_readonly(statement->handle) != 0;
        statement->database->deadline_ms = reads ? before_ms + statement->patience_ms : INFINITY;
        code = sqlite3_step(statement->handle);
        statement->patience_ms -= hn_now_ms() - before_ms;
    }
    if (code == SQLITE_ROW)
        return true;
    if (code != SQLITE_DONE)
        fail_sqlite(statement->database, code, err);
    sqlite3_reset(statement->handle);
    sqlite3_clear_bindings(statement->handle);
    statement->bound = 0;
    statement->failure = SQLITE_OK;
    statement->patience_ms = statement->database->patience_ms;
    return false;
}

void hn_statement_run(struct hn_statement *statement, struct hn_error *err)
{
    while (hn_statement_step(statement, err))
        ;
}

bool hn_statement_next(struct hn_statement **statement, struct hn_error *err)
{
    if (hn_statement_step(*statement, err))
        return true;
    hn_statement_finish(*statement);
    *statement = NULL;
    return false;
}

static void read_all(struct hn_statement *statement, int column, const char *kinds, va_list *places,
                     struct hn_error *err)
{
    for (; *kinds != '\0'; kinds++, column++) {
        const char *text = strchr("tnc", *kinds) != NULL ? hn_column_text(statement, column) : "";
        void *to = va_arg(*places, void *);
        if (*kinds == 'c') {
            size_t size = va_arg(*places, size_t);
            if ((size_t)snprintf(to, size, "%s", text) >= size && !hn_failed(err))
                hn_fail(err, HN_EFORMAT, "'%.40s…' has %zu bytes, expected fewer than %zu", text,
                        strlen(text), size);
        } else if (*kinds == 'i') {
            *(int64_t *)to = hn_column_integer(statement, column);
        } else if (*kinds == 'b') {
            *(bool *)to = hn_column_integer(statement, column) != 0;
        } else if (*kinds == 'r') {
            *(double *)to = sqlite3_column_double(statement->handle, column);
        } else if (*kinds == 'p') {
            *(const void **)to = sqlite3_column_blob(statement->handle, column);
            *va_arg(*places, size_t *) = (size_t)sqlite3_column_bytes(statement->handle, column);
        } else {
            *(char **)to = *kinds == 'n' && *text == '\0' ? NULL : hn_copy_string(text, err);
        }
    }
}

void hn_statement_read(struct hn_statement *statement, int first, struct hn_error *err,
                       const char *kinds, ...)
{
    va_list places;
    va_start(places, kinds);
    read_all(statement, first, kinds, &places, err);
    va_end(places);
}

bool hn_database_do(struct hn_database *database, struct hn_error *err, const char *sql,
                    const char *kinds, ...)
{
    va_list arguments;
    struct hn_statement *statement = prepare(database, sql, err);
    va_start(arguments, kinds);
    const char *columns = bind_all(statement, kinds, &arguments);
    bool found = hn_statement_step(statement, err);
    if (found && *columns == '>')
        read_all(statement, 0, columns + 1, &arguments, err);
    va_end(arguments);
    hn_statement_finish(statement);
    return found;
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
