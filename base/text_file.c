/* SPDX-License-Identifier: MIT */
#include "base/plain_file.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum hn_status fail_errno(struct hn_error *err, const char *verb, const char *path)
{
    return hn_fail(err, HN_ERUN, "cannot %s '%s': %s", verb, path, strerror(errno));
}

/* Reads at most limit + 1 bytes, so that the caller sees that the limit was passed. */
static enum hn_status read_all(int fd, const char *path, size_t limit, struct hn_text *text,
                               struct hn_error *err)
{
    char buffer[16384];
    while (text->length <= limit) {
        ssize_t got = read(fd, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_errno(err, "read", path);
        if (got == 0)
            return text->failed ? hn_fail_memory(err) : HN_OK;
        hn_text_append_bytes(text, buffer, (size_t)got);
        if (text->failed)
            return hn_fail_memory(err);
    }
    return hn_fail(err, HN_ERUN, "'%s' is larger than %zu bytes, the most that is read", path,
                   limit);
}

enum hn_status hn_text_read_file(const char *path, size_t limit, char **data, size_t *size,
                                 struct hn_error *err)
{
    *data = NULL;
    const char *reason = NULL;
    int fd = hn_plain_file_open(path, &reason);
    if (fd < 0)
        return hn_fail(err, HN_ERUN, "cannot open '%s': %s", path, reason);
    struct hn_text text;
    hn_text_init(&text);
    enum hn_status status = read_all(fd, path, limit, &text, err);
    close(fd);
    if (status != HN_OK) {
        hn_text_finish(&text);
        return status;
    }
    size_t length = text.length;
    *data = hn_text_take(&text);
    if (*data == NULL)
        return hn_fail_memory(err);
    if (size != NULL)
        *size = length;
    return HN_OK;
}

bool hn_text_write_all(int fd, const void *data, size_t size)
{
    const char *at = data;
    while (size > 0) {
        ssize_t put = write(fd, at, size);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return false;
        at += put;
        size -= (size_t)put;
    }
    return true;
}

/* mkstemp would make it private to the user; open leaves the mode to the umask. */
static int open_temporary(const char *path, struct hn_text *name)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        name->length = 0;
        hn_text_printf(name, "%s.%ld-%d.tmp", path, (long)getpid(), attempt);
        if (name->failed) {
            errno = ENOMEM;
            return -1;
        }
        int fd = open(name->data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* A device or a pipe (/dev/stdout, /dev/null) must not be replaced by a file. */
static enum hn_status write_special(const char *path, const void *data, size_t size,
                                    struct hn_error *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(err, "open", path);
    enum hn_status status = HN_OK;
    if (!hn_text_write_all(fd, data, size))
        status = fail_errno(err, "write", path);
    if (close(fd) != 0 && status == HN_OK)
        status = fail_errno(err, "write", path);
    return status;
}

enum hn_status hn_text_write_file(const char *path, const void *data, size_t size,
                                  struct hn_error *err)
{
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
        return write_special(path, data, size, err);

    enum hn_status status = HN_OK;
    struct hn_text name;
    hn_text_init(&name);
    int fd = open_temporary(path, &name);
    if (fd < 0) {
        status = fail_errno(err, "write", path);
        goto finish_name;
    }
    bool written = hn_text_write_all(fd, data, size) && fsync(fd) == 0;
    int reason = errno;
    if (close(fd) != 0 && written) {
        written = false;
        reason = errno;
    }
    if (written && rename(name.data, path) == 0)
        goto finish_name;
    errno = written ? errno : reason;
    status = fail_errno(err, "write", path);
    unlink(name.data);

finish_name:
    hn_text_finish(&name);
    return status;
}
