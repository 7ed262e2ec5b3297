/* SPDX-License-Identifier: MIT */
#include "cache/store/store_place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/text.h"

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

const char *hn_place_network_name(unsigned long type)
{
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        if (networks[i].type == type)
            return networks[i].name;
    }
    return NULL;
}

/* The folder that holds path; free it. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return strdup(".");
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

const char *hn_place_network(const char *path)
{
    struct statfs info;
    char *folder = folder_of(path);
    const char *name = NULL;
    if (folder != NULL && statfs(folder, &info) == 0)
        name = hn_place_network_name((unsigned long)info.f_type & 0xffffffff);
    free(folder);
    return name;
}

enum hn_status hn_place_make_folders(const char *path, struct hn_error *err)
{
    char *folder = folder_of(path);
    if (folder == NULL)
        return hn_fail_memory(err);
    enum hn_status status = HN_OK;
    for (char *end = folder; status == HN_OK && end != NULL;) {
        end = strchr(end + 1, '/');
        if (end != NULL)
            *end = '\0';
        if (mkdir(folder, 0777) != 0 && errno != EEXIST)
            status = hn_fail(err, HN_ERUN, "the folder '%s' of the cache can not be made: %s",
                             folder, strerror(errno));
        if (end != NULL)
            *end = '/';
    }
    free(folder);
    return status;
}

bool hn_place_is_read_only(const char *path)
{
    char *folder = folder_of(path);
    bool denied = folder != NULL && access(folder, W_OK) != 0;
    free(folder);
    return denied;
}

static bool has_contents(const char *path, const char *suffix)
{
    struct stat info;
    struct hn_text text;
    hn_text_init(&text);
    hn_text_printf(&text, "%s%s", path, suffix);
    bool found = !text.failed && stat(text.data, &info) == 0 && info.st_size > 0;
    hn_text_finish(&text);
    return found;
}

bool hn_place_has_journal(const char *path)
{
    return has_contents(path, "-wal") || has_contents(path, "-journal");
}

enum hn_status hn_place_check(const char *path, bool empty_passes, struct hn_error *err)
{
    char start[16] = "";
    struct stat info;
    if (stat(path, &info) != 0) {
        if (errno == ENOENT)
            return hn_fail(err, HN_ENOTFOUND, "there is no cache at '%s': nothing was tuned yet",
                           path);
        return hn_fail(err, HN_ERUN, "cache '%s' can not be opened: %s", path, strerror(errno));
    }
    if (!S_ISREG(info.st_mode))
        return hn_fail(err, HN_ERUN, "cache '%s' is no regular file", path);
    if (info.st_size == 0)
        return empty_passes ? HN_OK : hn_fail(err, HN_EFORMAT, "cache '%s' is an empty file", path);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return hn_fail(err, HN_ERUN, "cache '%s' can not be opened: %s", path, strerror(errno));
    size_t size = fread(start, 1, sizeof start, file);
    fclose(file);
    if (size < sizeof start || memcmp(start, "SQLite format 3", sizeof start) != 0)
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

bool hn_place_is_own(const char *path, bool leads_on, char *why, size_t size)
{
    struct stat about;
    if (lstat(path, &about) != 0)
        snprintf(why, size, "'%.400s' can not be looked at: %s", path, strerror(errno));
    else if (S_ISLNK(about.st_mode))
        snprintf(why, size, "'%.400s' is a link", path);
    else if (about.st_uid != geteuid() && about.st_uid != 0)
        snprintf(why, size, "'%.400s' belongs to user %u", path, (unsigned)about.st_uid);
    else if (others_can_write(path, &about) && !(leads_on && (about.st_mode & S_ISVTX) != 0))
        snprintf(why, size, "'%.400s' can be written by others (mode %04o)", path,
                 (unsigned)(about.st_mode & 07777));
    return why[0] == '\0';
}
