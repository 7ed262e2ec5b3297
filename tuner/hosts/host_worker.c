/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "tuner/hosts/hosts_part.h"

/* No more is read of a file while so much waits for the connection. */
static const size_t file_queued_most = (size_t)1 << 20;

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

void hn_host_file_add(struct hn_host *host, const char *path, const struct hn_hash *hash)
{
    struct hn_host_file **at = &host->files;
    for (; *at != NULL; at = &(*at)->next)
        if (strcmp((*at)->hash.hex, hash->hex) == 0)
            return;
    struct hn_host_file *file = hn_need(1, sizeof *file);
    *file = (struct hn_host_file){.hash = *hash, .path = hn_need_copy(path), .fd = -1};
    *at = file;
}

bool hn_host_files_wait(const struct hn_host *host)
{
    return find_next(host) != NULL;
}

static void offer(struct hn_host *host, struct hn_host_file *file)
{
    char text[HN_LINK_CHUNK];
    int length = snprintf(text, sizeof text, "%s%s", file->hash.hex, file->path);
    file->state = FILE_OFFERED;
    hn_link_put(&host->link, HN_LINK_FILE, 0, text, (size_t)length);
}

static void close_file(struct hn_host_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

/* What can not be read any more ends early: the host finds that it is not what was named. */
static void send_file(struct hn_host *host, struct hn_host_file *file)
{
    char data[HN_LINK_CHUNK];
    const char *reason;
    if (file->fd < 0)
        file->fd = hn_file_open(file->path, &reason);
    while (hn_bytes_size(&host->link.output) < file_queued_most) {
        ssize_t n = file->fd < 0 ? 0 : read(file->fd, data, sizeof data);
        if (n < 0 && errno == EINTR)
            continue;
        size_t size = n > 0 ? (size_t)n : 0;
        hn_link_put(&host->link, HN_LINK_PART, 0, data, size);
        if (size == 0) {
            close_file(file);
            file->state = FILE_THERE;
            return;
        }
    }
}

void hn_host_files_move(struct hn_host *host)
{
    struct hn_host_file *file = find_next(host);
    while (file != NULL && (file->state == FILE_NEW || file->state == FILE_WANTED)) {
        if (file->state == FILE_NEW)
            offer(host, file);
        else
            send_file(host, file);
        if (file->state != FILE_THERE)
            return;
        file = find_next(host);
    }
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

static void close_ends(struct hn_host_worker *worker)
{
    if (worker->channel >= 0)
        close(worker->channel);
    if (worker->output >= 0)
        close(worker->output);
    worker->channel = -1;
    worker->output = -1;
    hn_bytes_finish(&worker->pending);
}

static bool make_ends(struct hn_host_worker *worker, int ends[2], int output[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    if (pipe2(output, O_CLOEXEC | O_NONBLOCK) != 0) {
        close(ends[0]);
        close(ends[1]);
        return false;
    }
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    worker->channel = ends[1];
    worker->output = output[1];
    return true;
}

bool hn_host_worker_start(struct hn_host *host, const char *role, struct hn_process *process)
{
    int ends[2];
    int output[2];
    struct hn_host_worker *worker = hn_need(1, sizeof *worker);
    if (!make_ends(worker, ends, output)) {
        free(worker);
        return false;
    }
    worker->number = ++host->next_number;
    worker->next = host->workers;
    host->workers = worker;
    hn_channel_init(&process->channel, ends[0]);
    process->output = output[0];
    process->number = worker->number;
    process->pid = -1;
    hn_link_put(&host->link, HN_LINK_START, worker->number, role, strlen(role));
    return true;
}

struct hn_host_worker *hn_host_worker_find(const struct hn_host *host, uint32_t number)
{
    struct hn_host_worker *worker = host->workers;
    while (worker != NULL && worker->number != number)
        worker = worker->next;
    return worker;
}

void hn_host_worker_take(struct hn_host *host, const struct hn_link_frame *frame)
{
    struct hn_host_worker *worker = hn_host_worker_find(host, frame->worker);
    if (worker == NULL || worker->ended)
        return;
    switch (frame->kind) {
    case HN_LINK_DATA:
        if (worker->channel < 0)
            break;
        if (hn_bytes_size(&worker->pending) + frame->size > HN_PENDING_MOST)
            worker->left = true;
        else
            hn_bytes_append(&worker->pending, frame->data, frame->size);
        break;
    case HN_LINK_OUTPUT:
        /* What nobody reads is of no use. */
        if (worker->output >= 0)
            (void)!write(worker->output, frame->data, frame->size);
        break;
    case HN_LINK_ENDED:
        worker->ended = true;
        if (frame->size == 4)
            memcpy(&worker->wait_status, frame->data, 4);
        break;
    case HN_LINK_BEAT:
    case HN_LINK_START:
    case HN_LINK_END:
    case HN_LINK_PIECE:
    case HN_LINK_NAMED:
    case HN_LINK_FILE:
    case HN_LINK_HAS:
    case HN_LINK_PART:
    case HN_LINK_KINDS:
        break;
    }
}

/* Its owner to its host. */
static void send_up(struct hn_host *host, struct hn_host_worker *worker)
{
    char data[HN_LINK_CHUNK];
    if (!hn_host_may_read(worker->polled))
        return;
    while (!worker->left && worker->channel >= 0 && !hn_host_files_wait(host) &&
           hn_bytes_size(&host->link.output) < HN_QUEUED_MOST) {
        ssize_t n = recv(worker->channel, data, sizeof data, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            worker->left = true;
            return;
        }
        if (!worker->ended)
            hn_link_put(&host->link, HN_LINK_DATA, worker->number, data, (size_t)n);
        if ((size_t)n < sizeof data)
            return;
    }
}

static void move_worker(struct hn_host *host, struct hn_host_worker *worker)
{
    send_up(host, worker);
    if (worker->channel >= 0 && !hn_bytes_write(&worker->pending, worker->channel))
        worker->left = true;
    if (worker->left && worker->channel >= 0) {
        close_ends(worker);
        if (!worker->ended)
            hn_link_put(&host->link, HN_LINK_END, worker->number, NULL, 0);
    }
    if (worker->ended && hn_bytes_size(&worker->pending) == 0)
        close_ends(worker);
}

void hn_host_workers_move(struct hn_host *host)
{
    struct hn_host_worker **at = &host->workers;
    while (*at != NULL) {
        struct hn_host_worker *worker = *at;
        move_worker(host, worker);
        if (!worker->left || !worker->ended) {
            at = &worker->next;
            continue;
        }
        *at = worker->next;
        close_ends(worker);
        free(worker);
    }
}

void hn_host_workers_lose(struct hn_host *host)
{
    for (struct hn_host_worker *worker = host->workers; worker != NULL; worker = worker->next) {
        worker->lost = worker->lost || !worker->ended;
        worker->ended = true;
        close_ends(worker);
    }
}

size_t hn_host_workers_poll(struct hn_host *host, struct pollfd *fds)
{
    size_t count = 0;
    bool takes = hn_bytes_size(&host->link.output) < HN_QUEUED_MOST && !hn_host_files_wait(host);
    short readable = takes ? POLLIN : 0;
    for (struct hn_host_worker *worker = host->workers; worker != NULL; worker = worker->next) {
        short writable = hn_bytes_size(&worker->pending) > 0 ? POLLOUT : 0;
        worker->polled = NULL;
        if (worker->channel < 0)
            continue;
        worker->polled = &fds[count];
        fds[count++] =
            (struct pollfd){.fd = worker->channel, .events = (short)(readable | writable)};
    }
    return count;
}
