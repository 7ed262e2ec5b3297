/* SPDX-License-Identifier: MIT */
#include "tuner/hosts/node_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plain_file.h"

enum { DIGITS = 32, PATH_MOST = 4096 };

void hn_node_files_init(struct hn_node_files *files)
{
    *files = (struct hn_node_files){.fd = -1};
    files->made = hn_scratch_make(&files->folder, NULL) == HN_OK;
    if (files->made)
        setenv(HN_NODE_FILES, files->folder.path, 1);
    else
        unsetenv(HN_NODE_FILES);
}

void hn_node_files_finish(struct hn_node_files *files)
{
    if (files->fd >= 0)
        close(files->fd);
    if (files->made)
        hn_scratch_remove(&files->folder);
}

static bool is_hash(const char *text)
{
    return strspn(text, "0123456789abcdef") >= DIGITS;
}

static void path_of(const struct hn_node_files *files, char *path, size_t size)
{
    hn_scratch_path(&files->folder, files->hash.hex, path, size);
}

bool hn_node_files_offered(struct hn_node_files *files, struct hn_link *link,
                           const struct hn_link_frame *frame)
{
    char text[DIGITS + PATH_MOST + 1];
    char own[640];
    const char *reason;
    if (frame->size <= DIGITS || frame->size >= sizeof text)
        return false;
    memcpy(text, frame->data, frame->size);
    text[frame->size] = '\0';
    if (!is_hash(text))
        return false;
    memcpy(files->hash.hex, text, DIGITS);
    files->hash.hex[DIGITS] = '\0';
    if (files->fd >= 0)
        close(files->fd);
    files->fd = -1;
    path_of(files, own, sizeof own);
    /* What can not be kept is not wanted: who is to read it says what it lacks. */
    char there = hn_plain_file_is(text + DIGITS, files->hash.hex, &reason) || !files->made;
    if (there == 0)
        files->fd = open(own, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    return hn_link_put(link, HN_LINK_HAS, 0, &there, 1);
}

static bool write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, data, size);
        if (n <= 0)
            return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

void hn_node_files_take(struct hn_node_files *files, const struct hn_link_frame *frame)
{
    char own[640];
    const char *reason;
    if (files->fd < 0)
        return;
    bool kept = write_all(files->fd, frame->data, frame->size);
    if (kept && frame->size > 0)
        return;
    path_of(files, own, sizeof own);
    close(files->fd);
    files->fd = -1;
    if (!kept || !hn_plain_file_is(own, files->hash.hex, &reason))
        unlink(own);
}
