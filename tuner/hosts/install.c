/* SPDX-License-Identifier: MIT */
#include "tuner/hosts/install.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum hn_status open_program(int *fd, size_t *size, struct hn_error *err)
{
    struct stat status;
    *fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (*fd >= 0 && fstat(*fd, &status) == 0) {
        *size = (size_t)status.st_size;
        return HN_OK;
    }
    if (*fd >= 0)
        close(*fd);
    return hn_fail(err, HN_ERUN, "--install: /proc/self/exe can not be read: %s", strerror(errno));
}

/* One line, so that the shell has read all of its input that is its own when the program comes. */
enum hn_status hn_install_begin(struct hn_bytes *output, bool count, struct hn_error *err)
{
    char line[640];
    size_t size = 0;
    int fd = -1;
    enum hn_status status = open_program(&fd, &size, err);
    if (status != HN_OK)
        return status;
    close(fd);
    snprintf(
        line, sizeof line,
        "d=$(mktemp -d \"${TMPDIR:-/tmp}/hone-XXXXXX\") && { trap 'rm -rf \"$d\"; exit 1' HUP "
        "INT TERM; printf '\\nhone-install\\n'; head -c %zu >\"$d/hone\" && chmod 700 "
        "\"$d/hone\" && \"$d/hone\" worker node %s installed; s=$?; rm -rf \"$d\"; exit $s; }; "
        "exit 1\n",
        size, count ? "count" : "-");
    return hn_bytes_append(output, line, strlen(line)) ? HN_OK : hn_fail_memory(err);
}

enum hn_status hn_install_send(struct hn_bytes *output, struct hn_error *err)
{
    char data[65536];
    size_t size = 0;
    int fd = -1;
    enum hn_status status = open_program(&fd, &size, err);
    while (status == HN_OK && size > 0) {
        ssize_t n = read(fd, data, sizeof data < size ? sizeof data : size);
        if (n <= 0)
            status = hn_fail(err, HN_ERUN, "--install: /proc/self/exe can not be read: %s",
                             n < 0 ? strerror(errno) : "it ends early");
        else if (!hn_bytes_append(output, data, (size_t)n))
            status = hn_fail_memory(err);
        else
            size -= (size_t)n;
    }
    if (fd >= 0)
        close(fd);
    return status;
}

/* Nothing but what the line above has made. */
static bool is_installed(const char *path)
{
    char folder[PATH_MAX];
    char start[PATH_MAX];
    const char *chosen = getenv("TMPDIR");
    if (realpath(chosen != NULL && chosen[0] != '\0' ? chosen : "/tmp", folder) == NULL ||
        snprintf(start, sizeof start, "%s/hone-", folder) >= (int)sizeof start)
        return false;
    size_t length = strlen(start);
    return strncmp(path, start, length) == 0 && strlen(path) == length + strlen("XXXXXX/hone") &&
           strcmp(path + length + 6, "/hone") == 0;
}

void hn_install_remove(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    if (!is_installed(path))
        return;
    (void)unlink(path);
    (void)rmdir(dirname(path));
}
