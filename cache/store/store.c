/* SPDX-License-Identifier: MIT */
#include "cache/store/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cache/store/store_internal.h"
#include "cache/store/store_place.h"

/* A write-ahead log lets tuners write while others read, and with synchronous = NORMAL a commit
 * costs no fsync: what was committed is in the kernel's hands and survives the end of the process;
 * only a power cut can take the last commits, and never the file's integrity. A measurement lost to
 * a power cut is measured again; one fsync a record would slow down every tune. */
static enum hn_status set_journal(struct hn_store *store, struct hn_error *err)
{
    bool done = false;
    const char *network = hn_place_network(store->path);
    enum hn_status status = hn_database_set_wal(store->database, network == NULL, &done, err);
    if (status != HN_OK)
        return status;
    if (network != NULL)
        snprintf(store->warning, sizeof store->warning,
                 "cache '%s' lies on a network file system (%s): writing is slower there, and only "
                 "safe where its locks work; --cache or HONE_CACHE moves it to a local disk",
                 store->path, network);
    else if (!done)
        snprintf(store->warning, sizeof store->warning,
                 "cache '%s' can not use a write-ahead log where it lies: writing is slower",
                 store->path);
    bool wal = network == NULL && done;
    return hn_database_run(store->database,
                           wal ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL", err);
}

enum hn_status hn_store_open_database(struct hn_store *store, struct hn_error *err)
{
    store->database = NULL;
    enum hn_status status = hn_database_open(store->path, HN_DATABASE_WRITE, &store->database, err);
    if (status == HN_OK)
        status = hn_schema_open(store->database, store->path, HN_STORE_WRITE, err);
    return status == HN_OK ? set_journal(store, err) : status;
}

static enum hn_status open_for_writing(struct hn_store *store, struct hn_error *err)
{
    enum hn_status status = hn_place_make_folders(store->path, err);
    if (status == HN_OK) {
        struct hn_error ignored;
        status = hn_place_check(store->path, true, err == NULL ? &ignored : err);
        status = status == HN_ENOTFOUND ? HN_OK : status;
    }
    return status == HN_OK ? hn_store_open_database(store, err) : status;
}

static enum hn_status open_for_reading(struct hn_store *store, struct hn_error *err)
{
    enum hn_status status = hn_place_check(store->path, false, err);
    if (status != HN_OK)
        return status;
    /* SQLite can not make the shared memory of a write-ahead log in a folder that it may not write.
     */
    bool immutable = hn_place_is_read_only(store->path) && !hn_place_has_journal(store->path);
    enum hn_database_mode mode = immutable ? HN_DATABASE_IMMUTABLE : HN_DATABASE_READ;
    status = hn_database_open(store->path, mode, &store->database, err);
    if (status == HN_OK)
        status = hn_schema_open(store->database, store->path, HN_STORE_READ, err);
    return status;
}

enum hn_status hn_store_open(const char *path, enum hn_store_mode mode, struct hn_store **store,
                             struct hn_error *err)
{
    enum hn_status status;
    *store = NULL;
    struct hn_store *own = calloc(1, sizeof *own);
    if (own == NULL)
        return hn_fail_memory(err);
    own->mode = mode;
    own->path = strdup(path);
    if (own->path == NULL)
        status = hn_fail_memory(err);
    else
        status = mode == HN_STORE_WRITE ? open_for_writing(own, err) : open_for_reading(own, err);
    if (status == HN_OK)
        *store = own;
    else
        hn_store_close(own);
    return status;
}

void hn_store_close(struct hn_store *store)
{
    if (store == NULL)
        return;
    if (store->pending_count > 0)
        (void)hn_store_commit(store, NULL);
    for (size_t i = 0; i < store->pending_count; i++) {
        hn_record_finish(&store->pending[i].record);
        free(store->pending[i].cubin);
        free(store->pending[i].entry);
    }
    free(store->pending);
    hn_database_close(store->database);
    if (store->follower.closed != NULL)
        store->follower.closed(store->follower.context);
    hn_store_close(store->base);
    free(store->path);
    free(store->name);
    free(store->lost_path);
    free(store);
}

enum hn_status hn_store_set_name(struct hn_store *store, const char *name, struct hn_error *err)
{
    free(store->name);
    store->name = strdup(name);
    return store->name == NULL ? hn_fail_memory(err) : HN_OK;
}

void hn_store_follow(struct hn_store *store, const struct hn_store_follower *follower)
{
    store->follower = *follower;
}

void hn_store_tell(const struct hn_store *store)
{
    if (store->follower.committed != NULL)
        store->follower.committed(store->follower.context);
}

bool hn_store_is_server(const char *path)
{
    return strncmp(path, "postgresql://", 13) == 0 || strncmp(path, "postgres://", 11) == 0;
}

const char *hn_store_warning(const struct hn_store *store)
{
    return store->warning[0] == '\0' ? NULL : store->warning;
}

static char *join(const char *folder, const char *name)
{
    struct hn_text text;
    hn_text_init(&text);
    hn_text_printf(&text, "%s/%s", folder, name);
    return hn_text_take(&text);
}

static bool is_set(const char *string)
{
    return string != NULL && string[0] != '\0';
}

char *hn_store_default_path(const char *given)
{
    const char *hone = getenv("HONE_CACHE");
    const char *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    if (is_set(given))
        return strdup(given);
    if (is_set(hone))
        return strdup(hone);
    return is_set(xdg) ? join(xdg, "hone/hone.db")
                       : join(is_set(home) ? home : ".", ".cache/hone/hone.db");
}
