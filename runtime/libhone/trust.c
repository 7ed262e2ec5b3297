/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/store/store_place.h"
#include "runtime/libhone/kernel.h"

/* Whose kernels run in the application: what lies where nobody but the user (or root) can write.
 *
 * The cache's path is resolved first, then looked at from the root on, and opened last, as it was
 * resolved. In a folder that nobody else can write to nobody else renames anything, so that each
 * part that was found to be the user's stays what it was while the next ones are looked at. */

/* From the root on. The last `strict` parts lie where nobody else makes anything. */
static bool is_way_own(const char *path, int strict, char *why, size_t size)
{
    const char *slash = strrchr(path, '/');
    if (path[1] != '\0') {
        char *folder = strndup(path, slash == path ? 1 : (size_t)(slash - path));
        if (folder == NULL)
            snprintf(why, size, "out of memory");
        else
            is_way_own(folder, strict - 1, why, size);
        free(folder);
    }
    return why[0] == '\0' && hn_place_is_own(path, strict <= 0, why, size);
}

/* In a folder of recordings, or beside a cache, where it may not be. */
static void check_file(const char *path, const char *name, char *why, size_t size)
{
    char whole[PATH_MAX + NAME_MAX + 2];
    snprintf(whole, sizeof whole, "%s%s", path, name);
    if (why[0] == '\0' &&
        (faccessat(AT_FDCWD, whole, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT))
        hn_place_is_own(whole, false, why, size);
}

static void check_files(const char *folder, char *why, size_t size)
{
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        char name[sizeof entry->d_name + 1];
        snprintf(name, sizeof name, "/%s", entry->d_name);
        if (strcmp(name, "/.") != 0 && strcmp(name, "/..") != 0)
            check_file(folder, name, why, size);
    }
    if (entries != NULL)
        closedir(entries);
}

void hn_lib_look_for_strangers(struct hone_cache *cache)
{
    char *why = cache->strange;
    size_t size = sizeof cache->strange;
    struct stat about;
    char *path = realpath(cache->path, NULL);
    if (path == NULL || stat(path, &about) != 0) {
        snprintf(why, size, "'%.400s' can not be looked at: %s", cache->path, strerror(errno));
        free(path);
        return;
    }
    free(cache->path);
    cache->path = path;
    if (!is_way_own(path, S_ISDIR(about.st_mode) ? 1 : 2, why, size))
        return;
    if (S_ISDIR(about.st_mode))
        check_files(path, why, size);
    /* The log decides what is in the cache as much as the file does. */
    for (const char *const *end = (const char *const[]){"-wal", "-shm", "-journal", NULL};
         S_ISREG(about.st_mode) && *end != NULL; end++)
        check_file(path, *end, why, size);
}

enum hone_status hn_lib_trust(const struct hone_cache *cache, const struct hone_options *options,
                              struct hone_error *err)
{
    if (cache->strange[0] == '\0' || options->trust == HONE_TRUST_ANY)
        return HONE_OK;
    return hn_lib_fail(err, HONE_UNTRUSTED,
                       "%s, so that its kernels are not run: take them over to a place that only "
                       "you can write to (`hone cache import`), or set options.trust to "
                       "HONE_TRUST_ANY",
                       cache->strange);
}
