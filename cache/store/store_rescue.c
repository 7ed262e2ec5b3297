/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cache/store/store_internal.h"
#include "cache/store/store_place.h"

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
        struct hn_text text;
        hn_text_init(&text);
        hn_text_printf(&text, "%s.rescued", path);
        if (i > 1)
            hn_text_printf(&text, "%d", i);
        free(name);
        name = hn_text_take(&text);
        if (name == NULL) {
            hn_fail_memory(err);
            return NULL;
        }
        made = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    if (made >= 0) {
        close(made);
        return name;
    }
    hn_fail(err, HN_ERUN,
            "cache '%s' was deleted, moved or replaced while it was written, and '%s' can not be "
            "made to go on in: %s",
            path, name, strerror(errno));
    free(name);
    return NULL;
}

/* What the store has open is whole: it is gone from its place only. */
static enum hn_status move_to(struct hn_store *store, char *path, struct hn_error *err)
{
    struct hn_database *old = store->database;
    enum hn_status status = hn_database_copy(old, path, err);
    if (status != HN_OK) {
        free(path);
        return status;
    }
    char *old_path = store->path;
    store->path = path;
    status = hn_store_open_database(store, err);
    if (status != HN_OK) {
        hn_database_close(store->database);
        store->database = old;
        store->path = old_path;
        free(path);
        return status;
    }
    hn_database_close(old);
    if (store->lost_path == NULL)
        store->lost_path = old_path;
    else
        free(old_path);
    return HN_OK;
}

enum hn_status hn_store_keep_place(struct hn_store *store, struct hn_error *err)
{
    if (!hn_database_has_moved(store->database))
        return HN_OK;
    const char *place = store->lost_path != NULL ? store->lost_path : store->path;
    enum hn_status status = hn_place_make_folders(place, err);
    char *path = status == HN_OK ? make_file(place, err) : NULL;
    if (path == NULL)
        return status == HN_OK ? HN_ERUN : status;
    return move_to(store, path, err);
}

const char *hn_store_lost(const struct hn_store *store, const char **rescued)
{
    *rescued = store->path;
    return store->lost_path;
}
