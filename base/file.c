/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"

/* NULL for a plain file. */
static const char *wrong_kind(mode_t mode)
{
    return S_ISREG(mode)    ? NULL
           : S_ISDIR(mode)  ? strerror(EISDIR)
           : S_ISFIFO(mode) ? "it is a pipe, expected a plain file"
           : S_ISSOCK(mode) ? "it is a socket, expected a plain file"
                            : "it is a device, expected a plain file";
}

bool hn_is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

char *hn_file_absolute(const char *path, struct hn_error *err)
{
    char *folder HN_FREED = path[0] == '/' ? strdup("") : getcwd(NULL, 0), *made = NULL;
    if (folder == NULL && !hn_failed(err))
        hn_fail(err, HN_ERUN, "the folder that we are in: %s", strerror(errno));
    else if (!hn_failed(err) &&
             asprintf(&made, "%s%s%s", folder, folder[0] == '\0' ? "" : "/", path) < 0)
        hn_fail_memory(err);
    return hn_failed(err) ? NULL : made;
}

void hn_cache_folder_append(struct hn_text *path)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char room[4096];
    struct passwd entry, *found = NULL;
    if (home == NULL || *home == '\0') {
        getpwuid_r(getuid(), &entry, room, sizeof room, &found);
        home = found != NULL ? found->pw_dir : ".";
    }
    if (xdg != NULL && *xdg == '/')
        hn_text_printf(path, "%s/hone", xdg);
    else
        hn_text_printf(path, "%s/.cache/hone", home);
}

void hn_files_visit(const char *path, const char *const *ends,
                    void (*visit)(const char *path, void *context, struct hn_error *err),
                    void *context, struct hn_error *err)
{
    struct dirent **entries HN_FREED = NULL;
    if (!hn_is_folder(path)) {
        if (!hn_failed(err))
            visit(path, context, err);
        return;
    }
    int count = hn_failed(err) ? 0 : scandir(path, &entries, NULL, alphasort);
    if (count < 0)
        hn_fail(err, HN_ERUN, "'%s' cannot be read: %s", path, strerror(errno));
    for (int i = 0; i < count; i++) {
        struct hn_text file HN_ENDED_BY(hn_text_finish) = {0};
        const char *name = entries[i]->d_name;
        hn_text_printf(&file, "%s%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/", name);
        if (!hn_failed(err) && hn_ends_in(name, ends) && hn_made(file.data, err) != NULL)
            visit(file.data, context, err);
        free(entries[i]);
    }
}

void hn_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

int hn_file_open(const char *path, const char **reason)
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
    hn_close(&fd);
    return -1;
}

FILE *hn_file_stream(const char *path, const char **reason)
{
    int fd = hn_file_open(path, reason);
    FILE *stream = fd >= 0 ? fdopen(fd, "rb") : NULL;
    if (fd >= 0 && stream == NULL) {
        *reason = strerror(errno);
        close(fd);
    }
    return stream;
}

static enum hn_status fail_errno(struct hn_error *err, const char *verb, const char *path)
{
    return hn_fail(err, HN_ERUN, "cannot %s '%s': %s", verb, path, strerror(errno));
}

enum hn_status hn_file_read(const char *path, size_t limit, char **data, size_t *size,
                            struct hn_error *err)
{
    char buffer[16384];
    struct hn_text text = {0};
    ssize_t got = 1;
    const char *reason = NULL;
    int fd = hn_file_open(path, &reason);
    *data = NULL;
    if (fd < 0)
        return hn_fail(err, HN_ERUN, "cannot open '%s': %s", path, reason);
    /* at most a buffer more, so that it shows that the limit was passed */
    while (got != 0 && text.length <= limit && !text.failed) {
        got = read(fd, buffer, sizeof buffer);
        if (got < 0 && errno != EINTR)
            break;
        hn_text_append_bytes(&text, buffer, got > 0 ? (size_t)got : 0);
    }
    enum hn_status status = HN_OK;
    if (got < 0 && errno != EINTR)
        status = fail_errno(err, "read", path);
    else if (text.length > limit)
        status = hn_fail(err, HN_ERUN, "'%s' is larger than %zu bytes, the most that is read", path,
                         limit);
    else if (size == NULL && text.length > 0 && memchr(text.data, '\0', text.length) != NULL)
        status = hn_fail(err, HN_ERUN, "'%s' has a zero byte, expected text", path);
    close(fd);
    /* The mark with which some editors begin UTF-8 is none of the text. */
    if (text.length >= 3 && memcmp(text.data, "\xEF\xBB\xBF", 3) == 0) {
        text.length -= 3;
        memmove(text.data, text.data + 3, text.length + 1);
    }
    if (size != NULL)
        *size = text.length;
    if (status != HN_OK)
        hn_text_finish(&text);
    else if ((*data = hn_text_take(&text)) == NULL)
        status = hn_fail_memory(err);
    return status;
}

bool hn_file_write_all(int fd, const void *data, size_t size)
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

enum hn_status hn_file_write(const char *path, const void *data, size_t size, struct hn_error *err)
{
    struct stat info;
    struct hn_text name HN_ENDED_BY(hn_text_finish) = {0};
    /* a device or a pipe (/dev/stdout, /dev/null) must not be replaced by a file */
    bool special = stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
    /* and what a link leads to is written, not the link */
    char *place HN_FREED = realpath(path, NULL);
    const char *to = place != NULL ? place : path;
    int fd = special ? open(path, O_WRONLY | O_CLOEXEC) : open_temporary(to, &name);
    bool written = fd >= 0 && hn_file_write_all(fd, data, size) && (special || fsync(fd) == 0);
    int reason = errno;
    if (fd >= 0 && close(fd) != 0 && written) {
        written = false;
        reason = errno;
    }
    errno = reason;
    written = written && (special || rename(name.data, to) == 0);
    enum hn_status status =
        written ? HN_OK : fail_errno(err, fd < 0 && special ? "open" : "write", path);
    if (fd >= 0 && !written && !special)
        unlink(name.data);
    return status;
}

double hn_file_number(const char *path, const char *key, double without)
{
    double number = without;
    char line[128];
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *text = line + strlen(key), *end;
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        double value = hn_c_strtod(text, &end);
        number = end != text && isfinite(value) ? value : without;
        break;
    }
    if (file != NULL)
        fclose(file);
    return number;
}

static const char prefix[] = "hone-scratch-";

static void remove_files(int folder)
{
    int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *files = own >= 0 ? fdopendir(own) : NULL;
    if (files == NULL && own >= 0)
        close(own);
    for (struct dirent *file; files != NULL && (file = readdir(files)) != NULL;) {
        static const char *const own_names[] = {".", ".."};
        if (hn_text_is_among(file->d_name, own_names, 2) || unlinkat(folder, file->d_name, 0) == 0)
            continue;
        int inner = openat(folder, file->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (inner >= 0) {
            remove_files(inner);
            close(inner);
        }
        unlinkat(folder, file->d_name, AT_REMOVEDIR);
    }
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
    hn_close(&folder);
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

enum hn_status hn_scratch_make(struct hn_scratch *scratch, struct hn_error *err)
{
    const char *chosen = getenv("TMPDIR");
    const char *base = chosen != NULL && *chosen == '/' ? chosen : "/tmp";
    remove_stale(base);
    for (int attempt = 0; attempt < 8; attempt++) {
        int length = snprintf(scratch->path, sizeof scratch->path, "%.400s/%sXXXXXX", base, prefix);
        if (length >= (int)sizeof scratch->path || mkdtemp(scratch->path) == NULL)
            break;
        /* Another process may have taken it for stale before it was locked. */
        scratch->lock = lock_folder(AT_FDCWD, scratch->path);
        if (scratch->lock >= 0 && access(scratch->path, F_OK) == 0)
            return HN_OK;
        hn_close(&scratch->lock);
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
