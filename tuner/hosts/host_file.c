/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plain_file.h"
#include "tuner/hosts/hosts_part.h"

/* No more is read of a file while so much waits for the connection. */
static const size_t queued_most = (size_t)1 << 20;

/* They go over one after the other, in the order of the list. */
struct hn_host_file {
    struct hn_hash hash;
    char *path;
    enum { FILE_NEW, FILE_OFFERED, FILE_WANTED, FILE_THERE } state;
    int fd; /* -1: not open */
    struct hn_host_file *next;
};

static struct hn_host_file *find_next(const struct hn_host *host)
{
    struct hn_host_file *file = host->files;
    while (file != NULL && file->state == FILE_THERE)
        file = file->next;
    return file;
}

bool hn_host_file_add(struct hn_host *host, const char *path, const struct hn_hash *hash)
{
    struct hn_host_file **at = &host->files;
    for (; *at != NULL; at = &(*at)->next)
        if (strcmp((*at)->hash.hex, hash->hex) == 0)
            return true;
    struct hn_host_file *file = calloc(1, sizeof *file);
    char *own = strdup(path);
    if (file == NULL || own == NULL) {
        free(file);
        free(own);
        return false;
    }
    *file = (struct hn_host_file){.hash = *hash, .path = own, .fd = -1};
    *at = file;
    return true;
}

bool hn_host_files_wait(const struct hn_host *host)
{
    return find_next(host) != NULL;
}

static bool offer(struct hn_host *host, struct hn_host_file *file)
{
    char text[HN_LINK_CHUNK];
    int length = snprintf(text, sizeof text, "%s%s", file->hash.hex, file->path);
    file->state = FILE_OFFERED;
    return hn_link_put(&host->link, HN_LINK_FILE, 0, text, (size_t)length);
}

static void close_file(struct hn_host_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

/* What can not be read any more ends early: the host finds that it is not what was named. */
static bool send(struct hn_host *host, struct hn_host_file *file)
{
    char data[HN_LINK_CHUNK];
    const char *reason;
    if (file->fd < 0)
        file->fd = hn_plain_file_open(file->path, &reason);
    while (hn_bytes_size(&host->link.output) < queued_most) {
        ssize_t n = file->fd < 0 ? 0 : read(file->fd, data, sizeof data);
        if (n < 0 && errno == EINTR)
            continue;
        size_t size = n > 0 ? (size_t)n : 0;
        if (!hn_link_put(&host->link, HN_LINK_PART, 0, data, size))
            return false;
        if (size == 0) {
            close_file(file);
            file->state = FILE_THERE;
            return true;
        }
    }
    return true;
}

bool hn_host_files_move(struct hn_host *host)
{
    bool fine = true;
    struct hn_host_file *file = find_next(host);
    while (fine && file != NULL && (file->state == FILE_NEW || file->state == FILE_WANTED)) {
        fine = file->state == FILE_NEW ? offer(host, file) : send(host, file);
        if (file->state != FILE_THERE)
            break;
        file = find_next(host);
    }
    return fine;
}

void hn_host_files_answer(struct hn_host *host, const struct hn_link_frame *frame)
{
    struct hn_host_file *file = find_next(host);
    if (file != NULL && file->state == FILE_OFFERED)
        file->state = frame->size == 1 && frame->data[0] != 0 ? FILE_THERE : FILE_WANTED;
}

void hn_host_files_lose(struct hn_host *host)
{
    for (struct hn_host_file *file = host->files; file != NULL; file = file->next) {
        close_file(file);
        file->state = FILE_NEW;
    }
}

void hn_host_files_finish(struct hn_host *host)
{
    while (host->files != NULL) {
        struct hn_host_file *file = host->files;
        host->files = file->next;
        close_file(file);
        free(file->path);
        free(file);
    }
}
