/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/libhone/kernel.h"

/* Whose kernels run in the application: what lies where nobody but the user (or root) can write. */

/* A group of the number of its user is that user's own: what most systems make for each. */
static bool others_can_write(const struct stat *about)
{
    bool by_group = (about->st_mode & S_IWGRP) != 0 && about->st_gid != about->st_uid;
    return by_group || (about->st_mode & S_IWOTH) != 0;
}

static bool is_own(const char *path, char *why, size_t size)
{
    struct stat about;
    if (stat(path, &about) != 0)
        snprintf(why, size, "'%.400s' can not be looked at: %s", path, strerror(errno));
    else if (about.st_uid != geteuid() && about.st_uid != 0)
        snprintf(why, size, "'%.400s' belongs to user %u", path, (unsigned)about.st_uid);
    else if (others_can_write(&about))
        snprintf(why, size, "'%.400s' can be written by others (mode %04o)", path,
                 (unsigned)(about.st_mode & 07777));
    return why[0] == '\0';
}

static void check_files(const char *folder, char *why, size_t size)
{
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    while (entries != NULL && why[0] == '\0' && (entry = readdir(entries)) != NULL) {
        char *path = NULL;
        if (entry->d_name[0] == '.')
            continue;
        if (asprintf(&path, "%s/%s", folder, entry->d_name) < 0)
            snprintf(why, size, "out of memory");
        else
            is_own(path, why, size);
        free(path);
    }
    if (entries != NULL)
        closedir(entries);
}

void hn_lib_look_for_strangers(struct hone_cache *cache)
{
    char *why = cache->strange;
    size_t size = sizeof cache->strange;
    char *path = realpath(cache->path, NULL);
    char *slash = path == NULL ? NULL : strrchr(path, '/');
    if (slash == NULL) {
        snprintf(why, size, "'%.400s' can not be looked at: %s", cache->path, strerror(errno));
    } else if (is_own(path, why, size) && cache->is_folder) {
        check_files(path, why, size);
    } else if (why[0] == '\0') {
        slash[slash == path ? 1 : 0] = '\0';
        is_own(path, why, size);
    }
    free(path);
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
