/* SPDX-License-Identifier: MIT */
#include "base/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char prefix[] = "hone-scratch-";

static const char *base_folder(void)
{
    const char *chosen = getenv("TMPDIR");
    return chosen != NULL && *chosen == '/' ? chosen : "/tmp";
}

static void remove_files(int folder)
{
    int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *files = own >= 0 ? fdopendir(own) : NULL;
    if (files == NULL && own >= 0)
        close(own);
    for (struct dirent *file; files != NULL && (file = readdir(files)) != NULL;)
        unlinkat(folder, file->d_name, 0);
    if (files != NULL)
        closedir(files);
}

/* The folder with its lock, or -1: it is in use, or not the user's own. */
static int lock_folder(int base, const char *name)
{
    struct stat is;
    int folder = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0 && fstat(folder, &is) == 0 && is.st_uid == geteuid() &&
        flock(folder, LOCK_EX | LOCK_NB) == 0)
        return folder;
    if (folder >= 0)
        close(folder);
    return -1;
}

/* What a killed process left has no lock. */
static void remove_stale(const char *path)
{
    DIR *base = opendir(path);
    for (struct dirent *entry; base != NULL && (entry = readdir(base)) != NULL;) {
        if (strncmp(entry->d_name, prefix, sizeof prefix - 1) != 0)
            continue;
        int folder = lock_folder(dirfd(base), entry->d_name);
        if (folder < 0)
            continue;
        remove_files(folder);
        unlinkat(dirfd(base), entry->d_name, AT_REMOVEDIR);
        close(folder);
    }
    if (base != NULL)
        closedir(base);
}

/* False: another process took it for stale before it was locked. */
static bool hold(struct hn_scratch *scratch)
{
    struct stat is;
    scratch->lock = lock_folder(AT_FDCWD, scratch->path);
    if (scratch->lock >= 0 && stat(scratch->path, &is) == 0)
        return true;
    if (scratch->lock >= 0)
        close(scratch->lock);
    return false;
}

enum hn_status hn_scratch_make(struct hn_scratch *scratch, struct hn_error *err)
{
    const char *base = base_folder();
    remove_stale(base);
    for (int attempt = 0; attempt < 8; attempt++) {
        int length = snprintf(scratch->path, sizeof scratch->path, "%.400s/%sXXXXXX", base, prefix);
        if (length >= (int)sizeof scratch->path || mkdtemp(scratch->path) == NULL)
            break;
        if (hold(scratch))
            return HN_OK;
    }
    return hn_fail(err, HN_ERUN,
                   "no folder for temporary files can be made in %s: %s; set TMPDIR to a folder "
                   "with room",
                   base, strerror(errno));
}

void hn_scratch_remove(struct hn_scratch *scratch)
{
    remove_files(scratch->lock);
    rmdir(scratch->path);
    close(scratch->lock);
}

void hn_scratch_path(const struct hn_scratch *scratch, const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/%s", scratch->path, name);
}
