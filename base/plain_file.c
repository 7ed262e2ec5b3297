/* SPDX-License-Identifier: MIT */
#include "base/plain_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* NULL for a plain file. */
static const char *wrong_kind(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return NULL;
    case S_IFDIR:
        return strerror(EISDIR);
    case S_IFIFO:
        return "it is a pipe, expected a plain file";
    case S_IFSOCK:
        return "it is a socket, expected a plain file";
    default:
        return "it is a device, expected a plain file";
    }
}

int hn_plain_file_open(const char *path, const char **reason)
{
    struct stat about;
    /* Before it is opened, which may do something to a device, and behind, since it may be another
     * by then. */
    if (stat(path, &about) != 0) {
        *reason = strerror(errno);
        return -1;
    }
    *reason = wrong_kind(about.st_mode);
    if (*reason != NULL)
        return -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &about) != 0)
        *reason = strerror(errno);
    else
        *reason = wrong_kind(about.st_mode);
    if (*reason == NULL)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

FILE *hn_plain_file_stream(const char *path, const char **reason)
{
    int fd = hn_plain_file_open(path, reason);
    if (fd < 0)
        return NULL;
    FILE *stream = fdopen(fd, "rb");
    if (stream != NULL)
        return stream;
    *reason = strerror(errno);
    close(fd);
    return NULL;
}

bool hn_plain_file_hash(const char *path, struct hn_hash *hash, const char **reason)
{
    struct stat about;
    uint64_t bytes = 0;
    int fd = hn_plain_file_open(path, reason);
    if (fd < 0)
        return false;
    if (fstat(fd, &about) != 0 || !hn_hash_read(fd, hash, &bytes))
        *reason = strerror(errno);
    else if (bytes != (uint64_t)about.st_size)
        *reason = bytes < (uint64_t)about.st_size ? "it became shorter while it was read"
                                                  : "it became longer while it was read";
    close(fd);
    return *reason == NULL;
}

bool hn_plain_file_is(const char *path, const char *hash, const char **reason)
{
    struct hn_hash found;
    if (!hn_plain_file_hash(path, &found, reason))
        return false;
    *reason = "its contents differ";
    return strcmp(found.hex, hash) == 0;
}
