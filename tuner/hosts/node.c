/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <termios.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "tuner/hosts/hosts_part.h"

static const char mark[] = "\nhone-node ";
enum { LONGEST = 255, MOST = 4096 };

void hn_greeting_write(const struct hn_greeting *greeting, char text[256])
{
    snprintf(text, 256, "%sprotocol=%d build=%s host=%s compile=%d gpus=%d\n", mark, HN_PROTOCOL,
             hn_process_build, greeting->host, greeting->compile, greeting->gpus);
}

/* Host names and versions have no others. */
static bool is_plain(const char *text)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_+:";
    return text[0] != '\0' && strspn(text, allowed) == strlen(text);
}

static enum hn_status read_line(const char *line, struct hn_greeting *greeting,
                                struct hn_error *err)
{
    int end = 0, protocol = -1;
    char build[32];
    int read = sscanf(line, "protocol=%5d build=%31s host=%63s compile=%5d gpus=%5d%n", &protocol,
                      build, greeting->host, &greeting->compile, &greeting->gpus, &end);
    bool known = read >= 2 && protocol >= 0 && is_plain(build);
    if (known && (protocol != HN_PROTOCOL || strcmp(build, hn_process_build) != 0))
        return hn_fail(err, HN_ERUN,
                       "its Hone is another (build %s, protocol %d; this one is build %s, protocol "
                       "%d): install the same there, or name it by 'hone'",
                       build, protocol, hn_process_build, HN_PROTOCOL);
    if (!known || read < 5 || line[end] != '\0' || !is_plain(greeting->host) ||
        greeting->compile < 1 || greeting->compile > MOST || greeting->gpus < 0 ||
        greeting->gpus > MOST)
        return hn_fail(err, HN_ERUN, "its agent greets in a way that this Hone does not know");
    return HN_OK;
}

enum hn_status hn_greeting_find(const char *text, size_t limit, struct hn_greeting *greeting,
                                size_t *size, size_t *length, struct hn_error *err)
{
    char line[LONGEST + 1];
    const char *start = limit > 0 ? memmem(text, limit, mark, sizeof mark - 1) : NULL;
    if (start == NULL)
        return HN_ENOTFOUND;
    *greeting = (struct hn_greeting){0};
    *size = (size_t)(start - text);
    start += sizeof mark - 1;
    size_t left = limit - (size_t)(start - text);
    const char *end = memchr(start, '\n', left < LONGEST ? left : LONGEST);
    if (end == NULL && left < LONGEST)
        return HN_ENOTFOUND;
    /* One that does not end is none: it is read as an empty one. */
    end = end != NULL ? end : start;
    snprintf(line, sizeof line, "%.*s", (int)(end - start), start);
    *length = (size_t)(end - text) + 1 - *size;
    return read_line(line, greeting, err);
}

static const int sleep_limit_ms = 500;
enum { WORKERS_MOST = 4096 + 64 };

/* The files that came, in a folder of their own. */
struct files {
    struct hn_scratch folder;
    bool made;           /* or there is no room for any */
    struct hn_hash hash; /* of the one that comes */
    int fd;              /* -1: none comes, or it cannot be written */
};

struct node_worker {
    uint32_t number;
    struct hn_process process;
    struct hn_bytes pending; /* for its channel */
    LIST_ENTRY(node_worker) next;
};

struct node {
    struct hn_link link;
    struct files files;
    LIST_HEAD(, node_worker) workers;
    size_t count;
    struct pollfd *fds; /* room for 2 and 2 a worker */
};

enum { DIGITS = 32, PATH_MOST = 4096 };

/* Answers. False: it is no offer. */
static bool take_offer(struct files *files, struct hn_link *link, const struct hn_link_frame *frame)
{
    char text[DIGITS + PATH_MOST + 1];
    char own[640];
    const char *reason;
    if (frame->size <= DIGITS || frame->size >= sizeof text)
        return false;
    memcpy(text, frame->data, frame->size);
    text[frame->size] = '\0';
    if (strspn(text, "0123456789abcdef") < DIGITS)
        return false;
    snprintf(files->hash.hex, sizeof files->hash.hex, "%.*s", DIGITS, text);
    hn_close(&files->fd);
    snprintf(own, sizeof own, "%s/%s", files->folder.path, files->hash.hex);
    /* Without a folder none is wanted: who is to read it says what it lacks. */
    char there = hn_hash_is(text + DIGITS, files->hash.hex, &reason) || !files->made;
    if (there == 0)
        files->fd = open(own, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    hn_link_put(link, HN_LINK_HAS, 0, &there, 1);
    return true;
}

/* A file that does not become what was named is removed. */
static void take_part(struct files *files, const struct hn_link_frame *frame)
{
    char own[640];
    const char *reason;
    if (files->fd < 0)
        return;
    bool kept = hn_file_write_all(files->fd, frame->data, frame->size);
    if (kept && frame->size > 0)
        return;
    snprintf(own, sizeof own, "%s/%s", files->folder.path, files->hash.hex);
    hn_close(&files->fd);
    if (!kept || !hn_hash_is(own, files->hash.hex, &reason))
        unlink(own);
}

/* Tells how it ended. */
static void remove_worker(struct node *node, struct node_worker *worker, int wait_status)
{
    LIST_REMOVE(worker, next);
    node->count--;
    hn_link_put(&node->link, HN_LINK_ENDED, worker->number, &wait_status, sizeof wait_status);
    hn_bytes_finish(&worker->pending);
    free(worker);
}

static void forward_output(struct node *node, struct node_worker *worker)
{
    char data[4096];
    /* Bounded: a kernel that floods printf must not keep us here; and so is what waits. */
    for (int i = 0; i < 64 && worker->process.output >= 0; i++) {
        ssize_t n = read(worker->process.output, data, sizeof data);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            hn_close(&worker->process.output);
            return;
        }
        if (hn_bytes_size(&node->link.output) < HN_QUEUED_MOST)
            hn_link_put(&node->link, HN_LINK_OUTPUT, worker->number, data, (size_t)n);
    }
}

static void end_worker(struct node *node, struct node_worker *worker)
{
    forward_output(node, worker);
    remove_worker(node, worker, hn_process_kill(&worker->process));
}

/* False: there is no such role, or too many workers; here and below, what the other end says is
 * wrong. */
static bool start_worker(struct node *node, const struct hn_link_frame *frame)
{
    static const char *const roles[] = {"compile", "gpu"};
    const char *role = NULL;
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
        if (frame->size == strlen(roles[i]) && memcmp(frame->data, roles[i], frame->size) == 0)
            role = roles[i];
    if (role == NULL || node->count == WORKERS_MOST)
        return false;
    struct node_worker *worker = hn_need(1, sizeof *worker);
    node->fds = hn_need_more(node->fds, 2 * (node->count + 1) + 2, sizeof *node->fds);
    worker->number = frame->worker;
    LIST_INSERT_HEAD(&node->workers, worker, next);
    node->count++;
    hn_process_init(&worker->process);
    struct hn_error err;
    if (hn_process_start(&worker->process, NULL, role, &err) == HN_OK) {
        fcntl(worker->process.channel.fd, F_SETFL, O_NONBLOCK);
        return true;
    }
    hn_link_put(&node->link, HN_LINK_OUTPUT, worker->number, err.message, strlen(err.message));
    remove_worker(node, worker, 127 << 8);
    return true;
}

static bool take_frame(struct node *node, const struct hn_link_frame *frame)
{
    struct node_worker *worker = LIST_FIRST(&node->workers);
    while (worker != NULL && worker->number != frame->worker)
        worker = LIST_NEXT(worker, next);
    if (frame->kind == HN_LINK_START)
        return worker == NULL && start_worker(node, frame);
    if (frame->kind == HN_LINK_FILE)
        return take_offer(&node->files, &node->link, frame);
    if (frame->kind == HN_LINK_DATA && worker != NULL) {
        if (hn_bytes_size(&worker->pending) + frame->size > HN_PENDING_MOST)
            return false;
        hn_bytes_append(&worker->pending, frame->data, frame->size);
    } else if (frame->kind == HN_LINK_END && worker != NULL) {
        end_worker(node, worker);
    } else if (frame->kind == HN_LINK_PART) {
        take_part(&node->files, frame);
    }
    return frame->kind == HN_LINK_DATA || frame->kind == HN_LINK_END ||
           frame->kind == HN_LINK_PART || frame->kind == HN_LINK_BEAT;
}

static bool listen_to_owner(struct node *node)
{
    for (int i = 0; i < 64; i++) {
        struct hn_link_frame frame;
        enum hn_link_next next;
        size_t before = hn_bytes_size(&node->link.input);
        if (!hn_link_read(&node->link))
            return false;
        bool nothing = hn_bytes_size(&node->link.input) == before;
        while ((next = hn_link_next(&node->link, &frame)) == HN_LINK_FRAME)
            if (!take_frame(node, &frame))
                return false;
        if (next == HN_LINK_BROKEN)
            return false;
        if (nothing)
            break;
    }
    return true;
}

/* False: the connection is broken. */
static bool move_all(struct node *node)
{
    if (!listen_to_owner(node))
        return false;
    for (struct node_worker *worker = LIST_FIRST(&node->workers), *next; worker != NULL;
         worker = next) {
        next = LIST_NEXT(worker, next);
        forward_output(node, worker);
        if (!hn_link_forward(&node->link, worker->number, worker->process.channel.fd) ||
            !hn_bytes_write(&worker->pending, worker->process.channel.fd))
            end_worker(node, worker);
    }
    double now = hn_now_ms();
    hn_link_beat(&node->link, now);
    return hn_bytes_write(&node->link.output, node->link.out) &&
           now - node->link.heard_ms < HN_LINK_SILENCE_MS;
}

static void sleep_on_streams(const struct node *node)
{
    size_t count = 0;
    const struct node_worker *worker;
    bool full = hn_bytes_size(&node->link.output) >= HN_QUEUED_MOST;
    node->fds[count++] = (struct pollfd){.fd = node->link.in, .events = POLLIN};
    if (hn_bytes_size(&node->link.output) > 0)
        node->fds[count++] = (struct pollfd){.fd = node->link.out, .events = POLLOUT};
    LIST_FOREACH(worker, &node->workers, next) {
        short writable = hn_bytes_size(&worker->pending) > 0 ? POLLOUT : 0;
        node->fds[count++] = (struct pollfd){.fd = worker->process.channel.fd,
                                             .events = (short)((full ? 0 : POLLIN) | writable)};
        if (worker->process.output >= 0)
            node->fds[count++] = (struct pollfd){.fd = worker->process.output, .events = POLLIN};
    }
    poll(node->fds, count, sleep_limit_ms);
}

enum hn_status hn_node_run(int gpus, struct hn_error *err)
{
    struct node node = {.files = {.fd = -1}};
    struct hn_greeting greeting = {.compile = hn_machine_jobs(), .gpus = gpus};
    char text[256];
    struct termios mode;
    if (isatty(STDIN_FILENO))
        return hn_fail(err, HN_EUSAGE,
                       "`hone worker node` is started by hone, with an input that is no terminal: "
                       "leave the launcher's -t out");
    /* `srun --unbuffered` has a terminal here, which is to change nothing. */
    if (tcgetattr(STDOUT_FILENO, &mode) == 0) {
        cfmakeraw(&mode);
        tcsetattr(STDOUT_FILENO, TCSANOW, &mode);
    }
    /* Libraries print to stderr: stdout is the link's alone. */
    int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
    if (out >= 0)
        dup2(STDERR_FILENO, STDOUT_FILENO);
    int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
    if (in < 0 || out < 0)
        return hn_fail(err, HN_ERUN, "its standard streams are closed");
    signal(SIGPIPE, SIG_IGN);
    hn_link_init(&node.link, in, out);
    node.files.made = hn_scratch_make(&node.files.folder, NULL) == HN_OK;
    unsetenv(HN_NODE_FILES);
    if (node.files.made)
        setenv(HN_NODE_FILES, node.files.folder.path, 1);
    node.fds = hn_need(2, sizeof *node.fds);
    if (gethostname(greeting.host, sizeof greeting.host) != 0 || greeting.host[0] == '\0')
        snprintf(greeting.host, sizeof greeting.host, "unnamed");
    greeting.host[sizeof greeting.host - 1] = '\0';
    greeting.host[strcspn(greeting.host, ".")] = '\0';
    hn_greeting_write(&greeting, text);
    hn_bytes_append(&node.link.output, text, strlen(text));
    bool connected = hn_bytes_write(&node.link.output, node.link.out);
    while (connected) {
        sleep_on_streams(&node);
        connected = move_all(&node);
    }
    while (!LIST_EMPTY(&node.workers))
        end_worker(&node, LIST_FIRST(&node.workers));
    hn_close(&node.files.fd);
    if (node.files.made)
        hn_scratch_remove(&node.files.folder);
    hn_link_finish(&node.link);
    free(node.fds);
    return HN_OK;
}
