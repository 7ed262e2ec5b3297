/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "cache/store/store_internal.h"

/* Opening a cache: where it may lie, its tables, its journal, and what becomes of it where its file
 * goes away. */

/* From statfs(2) and the file systems' own headers. */
static const struct {
    unsigned long type;
    const char *name;
} networks[] = {
    {0x6969, "NFS"},        {0xff534d42, "SMB"},    {0xfe534d42, "SMB"},   {0x517b, "SMB"},
    {0x0bd00bd0, "Lustre"}, {0x47504653, "GPFS"},   {0x00c36400, "Ceph"},  {0x5346414f, "AFS"},
    {0x01021997, "9P"},     {0x19830326, "BeeGFS"}, {0xaad7aaea, "PanFS"}, {0x20030528, "OrangeFS"},
    {0x73757245, "Coda"},   {0x65735546, "FUSE"},   {0x01161970, "GFS2"},  {0x7461636f, "OCFS2"},
};

/* The network file system with that f_type of statfs, or NULL for local ones: on these, shared
 * memory between hosts does not work, which a write-ahead log needs. */
static const char *store_network_name(unsigned long type)
{
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        if (networks[i].type == type)
            return networks[i].name;
    return NULL;
}

static void make_folders(const char *path, struct hn_error *err)
{
    char *folder HN_FREED = hn_copy_string(path, err);
    char *end = hn_failed(err) ? NULL : strchr(folder + 1, '/');
    for (; end != NULL && !hn_failed(err); end = strchr(end + 1, '/')) {
        *end = '\0';
        if (mkdir(folder, 0777) != 0 && errno != EEXIST)
            hn_fail(err, HN_ERUN,
                    "the folder '%s' of the cache cannot be made: %s; --cache FILE or HONE_CACHE "
                    "names another place",
                    folder, strerror(errno));
        *end = '/';
    }
}

static enum hn_status check_place(const char *path, bool empty_passes, struct hn_error *err)
{
    struct stat info;
    if (stat(path, &info) != 0 && errno == ENOENT)
        return hn_fail(err, HN_ENOTFOUND,
                       "there is no cache at '%s': no such file; `hone tune CONFIG` makes one",
                       path);
    if (stat(path, &info) != 0 || eaccess(path, R_OK) != 0)
        return hn_fail(err, HN_ERUN, "cache '%s' cannot be opened: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return hn_fail(err, HN_ERUN, "cache '%s' is no regular file", path);
    if (info.st_size == 0)
        return empty_passes ? HN_OK : hn_fail(err, HN_EFORMAT, "cache '%s' is an empty file", path);
    if (!hn_store_is_cache(path))
        return hn_fail(err, HN_EFORMAT,
                       "'%s' is no Hone cache: it does not begin as an SQLite database does; "
                       "it was not touched",
                       path);
    return HN_OK;
}

/* A group of the number of its user is that user's own: what most systems make for each. With an
 * access control list the group's bits stand for all whom the list names. */
static bool others_can_write(const char *path, const struct stat *about)
{
    bool is_of_user =
        about->st_gid == about->st_uid && lgetxattr(path, "system.posix_acl_access", NULL, 0) <= 0;
    return ((about->st_mode & S_IWGRP) != 0 && !is_of_user) || (about->st_mode & S_IWOTH) != 0;
}

bool hn_store_is_own(const char *path, bool leads_on, char *why, size_t size)
{
    struct stat about;
    if (lstat(path, &about) != 0)
        snprintf(why, size, "'%.400s' cannot be looked at: %s", path, strerror(errno));
    else if (S_ISLNK(about.st_mode))
        snprintf(why, size, "'%.400s' is a link", path);
    else if (about.st_uid != geteuid() && about.st_uid != 0)
        snprintf(why, size, "'%.400s' belongs to user %u", path, (unsigned)about.st_uid);
    else if (others_can_write(path, &about) && !(leads_on && (about.st_mode & S_ISVTX) != 0))
        snprintf(why, size, "'%.400s' can be written by others (mode %04o)", path,
                 (unsigned)(about.st_mode & 07777));
    return why[0] == '\0';
}

/* The version of the schema, kept in user_version; application_id says that a database is ours. */
enum { SCHEMA_VERSION = 7, APPLICATION_ID = 0x484f4e45 }; /* "HONE" */

/* As docs/formats.md lists them, and as SQLite keeps their text. The JSON of a session (task,
 * version, plan, rule) and of a record is what counts; other columns are copies to select and sort
 * by. */
static const char *const schema[] = {
    "CREATE TABLE session(id INTEGER PRIMARY KEY, origin TEXT NOT NULL UNIQUE,"
    " kernel TEXT NOT NULL, problem TEXT NOT NULL, task TEXT NOT NULL, version TEXT NOT NULL,"
    " plan TEXT, rule TEXT, started REAL NOT NULL, command TEXT NOT NULL,"
    " simulated INTEGER NOT NULL, machine TEXT NOT NULL, source TEXT NOT NULL,"
    " imported REAL NOT NULL, checksum INTEGER NOT NULL) STRICT",
    "CREATE INDEX session_of_problem ON session(kernel, problem)",
    "CREATE INDEX session_of_version ON session(version)",
    "CREATE INDEX session_with_rule ON session(kernel) WHERE rule IS NOT NULL",
    "CREATE TABLE record(id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL"
    " REFERENCES session(id), point TEXT NOT NULL, outcome TEXT NOT NULL,"
    " verification INTEGER NOT NULL, final INTEGER NOT NULL, objective REAL,"
    " json TEXT NOT NULL, checksum INTEGER NOT NULL) STRICT",
    "CREATE INDEX record_of_session ON record(session_id, point)",
    /* Finds the best of a session without reading the rest. */
    "CREATE INDEX record_by_objective ON record(session_id, final DESC, objective)"
    " WHERE outcome = 'ok'",
    /* Sessions share them. */
    "CREATE TABLE plan(hash TEXT PRIMARY KEY, json TEXT NOT NULL, checksum INTEGER NOT NULL)"
    " STRICT",
    "CREATE TABLE image(kernel TEXT NOT NULL, problem TEXT NOT NULL, task TEXT NOT NULL,"
    " version TEXT NOT NULL, point TEXT NOT NULL, entry TEXT NOT NULL, cubin BLOB NOT NULL,"
    " hash TEXT NOT NULL, checksum INTEGER NOT NULL,"
    " PRIMARY KEY(kernel, problem, point, task, version)) STRICT",
    "CREATE TABLE roof(device TEXT NOT NULL, driver TEXT NOT NULL, measured REAL NOT NULL,"
    " json TEXT NOT NULL, checksum INTEGER NOT NULL, PRIMARY KEY(device, driver)) STRICT",
};
enum { SCHEMA_COUNT = sizeof schema / sizeof *schema };

/* Everything in the file has to be what Hone makes, letter by letter: no view, no trigger, no other
 * table. Indexes that UNIQUE and PRIMARY KEY demand are SQLite's own and have no text. */
static void check_objects(const struct hn_store *store, struct hn_error *err)
{
    bool found[SCHEMA_COUNT] = {false};
    struct hn_statement *statement = hn_database_prepare(
        store->database, err, "SELECT ifnull(sql, ''), type, name FROM sqlite_schema", "");
    while (hn_statement_next(&statement, err)) {
        const char *sql = hn_column_text(statement, 0);
        const char *name = hn_column_text(statement, 2);
        bool is_own = sql[0] == '\0' && strcmp(hn_column_text(statement, 1), "index") == 0;
        size_t place = hn_text_place(sql, schema, SCHEMA_COUNT);
        if (place < SCHEMA_COUNT)
            found[place] = true;
        else if (!is_own)
            hn_fail(err, HN_EFORMAT,
                    "cache '%s' is not laid out as Hone does it: Hone makes no '%s'; it was not "
                    "touched",
                    store->path, hn_text_is_word(name) ? name : "table of that name");
    }
    for (size_t i = 0; i < SCHEMA_COUNT && !hn_failed(err); i++)
        if (!found[i])
            hn_fail(err, HN_EFORMAT,
                    "cache '%s' is not laid out as Hone does it: it lacks '%.40s…'; it was not "
                    "touched",
                    store->path, schema[i]);
}

/* Whether the tables are there, which are as they have to be then. */
static bool look_at_schema(const struct hn_store *store, struct hn_error *err)
{
    struct hn_database *database = store->database;
    int64_t application = hn_database_integer(database, "PRAGMA application_id", err);
    int64_t version = hn_database_integer(database, "PRAGMA user_version", err);
    int64_t objects = hn_database_integer(database, "SELECT count(*) FROM sqlite_schema", err);
    if (hn_failed(err) || (application == 0 && version == 0 && objects == 0))
        return false;
    if (application != APPLICATION_ID)
        hn_fail(err, HN_EFORMAT,
                "'%s' is no Hone cache but an SQLite database of another program; it was not "
                "touched",
                store->path);
    else if (version > SCHEMA_VERSION)
        hn_fail(err, HN_EFORMAT,
                "cache '%s' has format %lld, this Hone knows up to %d; it was not touched: use the "
                "newer Hone, or another cache (--cache)",
                store->path, (long long)version, SCHEMA_VERSION);
    else if (version < SCHEMA_VERSION)
        hn_fail(err, HN_EFORMAT,
                "cache '%s' has format %lld, which no released Hone wrote; it was not touched: "
                "'hone cache export' of the Hone that wrote it gives recordings, which 'hone cache "
                "import' reads",
                store->path, (long long)version);
    check_objects(store, err);
    return true;
}

/* HN_EFORMAT for a database of another program, of another version, or with anything in it that
 * Hone does not make: nothing of it was used then. In transactions, because another process may be
 * making the tables right now. */
static void open_schema(const struct hn_store *store, struct hn_error *err)
{
    hn_database_run(store->database, "BEGIN", err);
    bool there = look_at_schema(store, err);
    (void)hn_database_commit(store->database, err);
    if (there || hn_failed(err))
        return;
    if (store->mode == HN_STORE_READ) {
        hn_fail(err, HN_EFORMAT, "cache '%s' holds nothing yet", store->path);
        return;
    }
    hn_database_run(store->database, "BEGIN EXCLUSIVE", err);
    if (!look_at_schema(store, err)) {
        char sql[96];
        for (size_t i = 0; i < SCHEMA_COUNT; i++)
            hn_database_run(store->database, schema[i], err);
        snprintf(sql, sizeof sql, "PRAGMA application_id = %d; PRAGMA user_version = %d",
                 APPLICATION_ID, SCHEMA_VERSION);
        hn_database_run(store->database, sql, err);
    }
    (void)hn_database_commit(store->database, err);
}

/* A write-ahead log lets tuners write while others read, and with synchronous = NORMAL a commit
 * costs no fsync: what was committed is in the kernel's hands and survives the end of the process;
 * only a power cut can take the last commits, and never the file's integrity. A measurement lost to
 * a power cut is measured again; one fsync a record would slow down every tune. */
static void open_for_writing(struct hn_store *store, struct hn_error *err)
{
    struct statfs info;
    store->database = hn_database_open(store->path, HN_DATABASE_WRITE, err);
    if (store->database != NULL)
        open_schema(store, err);
    if (hn_failed(err))
        return;
    const char *network = statfs(store->path, &info) != 0
                              ? NULL
                              : store_network_name((unsigned long)info.f_type & 0xffffffff);
    bool done = hn_database_set_wal(store->database, network == NULL, err);
    if (network != NULL)
        snprintf(store->warning, sizeof store->warning,
                 "cache '%s' lies on a network file system (%s): writing is slower there, and only "
                 "safe where its locks work; --cache or HONE_CACHE moves it to a local disk",
                 store->path, network);
    else if (!done)
        snprintf(store->warning, sizeof store->warning,
                 "cache '%s' cannot use a write-ahead log where it lies: writing is slower",
                 store->path);
    bool wal = network == NULL && done;
    hn_database_run(store->database,
                    wal ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL", err);
}

enum hn_status hn_store_open(const char *path, enum hn_store_mode mode, struct hn_store **store,
                             struct hn_error *err)
{
    struct hn_store *own = calloc(1, sizeof *own);
    const bool writes = mode == HN_STORE_WRITE;
    hn_error_init(err);
    *store = NULL;
    if (own == NULL || (own->path = strdup(path)) == NULL) {
        free(own);
        return hn_fail_memory(err);
    }
    own->mode = mode;
    if (writes)
        make_folders(path, err);
    if (!hn_failed(err) && check_place(path, writes, err) == HN_ENOTFOUND && writes)
        hn_error_init(err);
    if (!hn_failed(err) && writes) {
        open_for_writing(own, err);
    } else if (!hn_failed(err)) {
        own->database = hn_database_open(path, HN_DATABASE_READ, err);
        if (own->database != NULL)
            open_schema(own, err);
    }
    if (hn_failed(err))
        hn_store_close(own);
    else
        *store = own;
    return err->status;
}

void hn_store_close(struct hn_store *store)
{
    struct hn_error lost;
    if (store == NULL)
        return;
    if (store->pending_count > 0)
        (void)hn_store_commit(store, &lost);
    HN_FREE_EACH(pending, store->pending, store->pending_count, hn_pending_finish(pending));
    free(store->left_out);
    hn_database_close(store->database);
    if (store->follower.closed != NULL)
        store->follower.closed(store->follower.context);
    hn_store_close(store->base);
    free(store->path);
    free(store->name);
    free(store->lost_path);
    free(store);
}

void hn_store_set_name(struct hn_store *store, const char *name, struct hn_error *err)
{
    free(store->name);
    store->name = hn_copy_string(name, err);
}

void hn_store_follow(struct hn_store *store, const struct hn_store_follower *follower)
{
    store->follower = *follower;
    if (store->warning[0] != '\0' && follower->warned != NULL)
        follower->warned(store->warning);
}

bool hn_store_is_server(const char *path)
{
    return strncmp(path, "postgresql://", 13) == 0 || strncmp(path, "postgres://", 11) == 0;
}

bool hn_store_is_cache(const char *path)
{
    char start[16] = "";
    const char *reason = NULL;
    FILE *file = hn_store_is_server(path) ? NULL : hn_file_stream(path, &reason);
    size_t size = file != NULL ? fread(start, 1, sizeof start, file) : 0;
    if (file != NULL)
        fclose(file);
    return hn_store_is_server(path) ||
           (size == sizeof start && memcmp(start, "SQLite format 3", sizeof start) == 0);
}

char *hn_store_default_path(const char *given)
{
    struct hn_text path = {0};
    if (given == NULL || *given == '\0')
        given = getenv("HONE_CACHE");
    if (given != NULL && *given != '\0')
        return strdup(given);
    hn_cache_folder_append(&path);
    hn_text_append(&path, "/hone.db");
    return hn_text_take(&path);
}

/* What a cache is rescued to: hone.db.rescued, hone.db.rescued2 and so on. */
enum { NAMES_MOST = 100 };

/* The first of these names that nobody has, made now: no file of another's, nor where a link of his
 * leads. NULL: err says why. */
static char *make_file(const char *path, struct hn_error *err)
{
    char *name = NULL;
    int made = -1;
    errno = 0;
    for (int i = 1; made < 0 && i <= NAMES_MOST && (errno == 0 || errno == EEXIST); i++) {
        struct hn_text text = {0};
        hn_text_printf(&text, "%s.rescued", path);
        if (i > 1)
            hn_text_printf(&text, "%d", i);
        free(name);
        name = hn_made(hn_text_take(&text), err);
        if (name == NULL)
            return NULL;
        made = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    if (made >= 0) {
        close(made);
        return name;
    }
    hn_fail(err, HN_ERUN,
            "cache '%s' was deleted, moved or replaced while it was written, and '%s' cannot be "
            "made to go on in: %s",
            path, name, strerror(errno));
    free(name);
    return NULL;
}

/* What the store has open is whole: it is gone from its place only. */
void hn_store_keep_place(struct hn_store *store, struct hn_error *err)
{
    if (hn_failed(err) || !hn_database_has_moved(store->database))
        return;
    const char *place = store->lost_path != NULL ? store->lost_path : store->path;
    make_folders(place, err);
    char *path = hn_failed(err) ? NULL : make_file(place, err);
    if (path == NULL)
        return;
    struct hn_store moved = *store;
    moved.path = path;
    moved.database = NULL;
    hn_database_copy(store->database, path, err);
    if (!hn_failed(err))
        open_for_writing(&moved, err);
    if (hn_failed(err)) {
        hn_database_close(moved.database);
        free(path);
        return;
    }
    hn_database_close(store->database);
    store->database = moved.database;
    memcpy(store->warning, moved.warning, sizeof store->warning);
    if (store->lost_path == NULL)
        store->lost_path = store->path;
    else
        free(store->path);
    store->path = path;
}

const char *hn_store_lost(const struct hn_store *store, const char **rescued)
{
    *rescued = store->path;
    return store->lost_path;
}
