/* SPDX-License-Identifier: MIT */
#include "tuner/hosts/node.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "runtime/process/machine.h"
#include "runtime/process/process.h"
#include "tuner/hosts/greeting.h"
#include "tuner/hosts/link.h"
#include "tuner/hosts/node_files.h"

static const int sleep_limit_ms = 500;
/* As of the other end (host_worker.c). */
static const size_t pending_most = (size_t)160 << 20;
static const size_t queued_most = (size_t)8 << 20;
enum { WORKERS_MOST = 4096 + 64 };

struct node_worker {
    uint32_t number;
    struct hn_process process;
    struct hn_bytes pending; /* for its channel */
    struct node_worker *next;
};

struct node {
    struct hn_link link;
    struct hn_node_files files;
    struct node_worker *workers;
    size_t count;
    struct pollfd *fds; /* room for 2 and 2 a worker */
};

/* False: the connection is broken; here and below. */
static bool report_end(struct node *node, const struct node_worker *worker, int wait_status)
{
    return hn_link_put(&node->link, HN_LINK_ENDED, worker->number, &wait_status,
                       sizeof wait_status);
}

static void remove_worker(struct node *node, struct node_worker *worker)
{
    struct node_worker **at = &node->workers;
    while (*at != worker)
        at = &(*at)->next;
    *at = worker->next;
    node->count--;
    hn_process_kill(&worker->process);
    hn_bytes_finish(&worker->pending);
    free(worker);
}

static bool forward_output(struct node *node, struct node_worker *worker)
{
    char data[4096];
    /* Bounded: a kernel that floods printf must not keep us here; and so is what waits. */
    for (int i = 0; i < 64 && worker->process.output >= 0; i++) {
        ssize_t n = read(worker->process.output, data, sizeof data);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return true;
        if (n <= 0) {
            close(worker->process.output);
            worker->process.output = -1;
            return true;
        }
        if (hn_bytes_size(&node->link.output) < queued_most &&
            !hn_link_put(&node->link, HN_LINK_OUTPUT, worker->number, data, (size_t)n))
            return false;
    }
    return true;
}

static bool end_worker(struct node *node, struct node_worker *worker)
{
    bool fine = forward_output(node, worker);
    int wait_status = hn_process_kill(&worker->process);
    fine = fine && report_end(node, worker, wait_status);
    remove_worker(node, worker);
    return fine;
}

static bool start_worker(struct node *node, const struct hn_link_frame *frame)
{
    static const char *const roles[] = {"compile", "gpu"};
    const char *role = NULL;
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
        if (frame->size == strlen(roles[i]) && memcmp(frame->data, roles[i], frame->size) == 0)
            role = roles[i];
    struct pollfd *fds = realloc(node->fds, (2 * (node->count + 1) + 2) * sizeof *fds);
    struct node_worker *worker = calloc(1, sizeof *worker);
    if (fds != NULL)
        node->fds = fds;
    if (fds == NULL || worker == NULL || role == NULL || node->count == WORKERS_MOST) {
        free(worker);
        return false;
    }
    worker->number = frame->worker;
    worker->next = node->workers;
    node->workers = worker;
    node->count++;
    hn_process_init(&worker->process);
    struct hn_error err;
    if (hn_process_start(&worker->process, NULL, role, &err) == HN_OK) {
        fcntl(worker->process.channel.fd, F_SETFL, O_NONBLOCK);
        return true;
    }
    (void)hn_link_put(&node->link, HN_LINK_OUTPUT, worker->number, err.message,
                      strlen(err.message));
    bool fine = report_end(node, worker, 127 << 8);
    remove_worker(node, worker);
    return fine;
}

static struct node_worker *find_worker(const struct node *node, uint32_t number)
{
    struct node_worker *worker = node->workers;
    while (worker != NULL && worker->number != number)
        worker = worker->next;
    return worker;
}

static bool take_frame(struct node *node, const struct hn_link_frame *frame)
{
    struct node_worker *worker = find_worker(node, frame->worker);
    switch (frame->kind) {
    case HN_LINK_START:
        return worker == NULL && start_worker(node, frame);
    case HN_LINK_END:
        return worker == NULL || end_worker(node, worker);
    case HN_LINK_DATA:
        return worker == NULL || (hn_bytes_size(&worker->pending) + frame->size <= pending_most &&
                                  hn_bytes_append(&worker->pending, frame->data, frame->size));
    case HN_LINK_FILE:
        return hn_node_files_offered(&node->files, &node->link, frame);
    case HN_LINK_PART:
        hn_node_files_take(&node->files, frame);
        return true;
    case HN_LINK_BEAT:
        return true;
    case HN_LINK_HAS:
    case HN_LINK_OUTPUT:
    case HN_LINK_ENDED:
    case HN_LINK_PIECE:
    case HN_LINK_NAMED:
    case HN_LINK_KINDS:
        break;
    }
    return false;
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

/* What a worker says, as it comes. */
static bool forward_channel(struct node *node, struct node_worker *worker, bool *closed)
{
    char data[HN_LINK_CHUNK];
    while (hn_bytes_size(&node->link.output) < queued_most) {
        ssize_t n = recv(worker->process.channel.fd, data, sizeof data, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return true;
        *closed = n <= 0;
        if (*closed)
            return true;
        if (!hn_link_put(&node->link, HN_LINK_DATA, worker->number, data, (size_t)n))
            return false;
    }
    return true;
}

static bool move_worker(struct node *node, struct node_worker *worker)
{
    bool closed = false;
    if (!forward_output(node, worker) || !forward_channel(node, worker, &closed))
        return false;
    closed = closed || !hn_bytes_write(&worker->pending, worker->process.channel.fd);
    return closed ? end_worker(node, worker) : true;
}

static bool move_all(struct node *node)
{
    if (!listen_to_owner(node))
        return false;
    for (struct node_worker *worker = node->workers; worker != NULL;) {
        struct node_worker *next = worker->next;
        if (!move_worker(node, worker))
            return false;
        worker = next;
    }
    double now = hn_now_ms();
    hn_link_beat(&node->link, now);
    return hn_link_write(&node->link) && now - node->link.heard_ms < HN_LINK_SILENCE_MS;
}

static void sleep_on_streams(const struct node *node)
{
    size_t count = 0;
    bool full = hn_bytes_size(&node->link.output) >= queued_most;
    node->fds[count++] = (struct pollfd){.fd = node->link.in, .events = POLLIN};
    if (hn_bytes_size(&node->link.output) > 0)
        node->fds[count++] = (struct pollfd){.fd = node->link.out, .events = POLLOUT};
    for (const struct node_worker *worker = node->workers; worker != NULL; worker = worker->next) {
        short writable = hn_bytes_size(&worker->pending) > 0 ? POLLOUT : 0;
        node->fds[count++] = (struct pollfd){.fd = worker->process.channel.fd,
                                             .events = (short)((full ? 0 : POLLIN) | writable)};
        if (worker->process.output >= 0)
            node->fds[count++] = (struct pollfd){.fd = worker->process.output, .events = POLLIN};
    }
    poll(node->fds, count, sleep_limit_ms);
}

/* `srun --unbuffered` has a terminal here, which is to change nothing. */
static void make_raw(int fd)
{
    struct termios mode;
    if (tcgetattr(fd, &mode) != 0)
        return;
    cfmakeraw(&mode);
    tcsetattr(fd, TCSANOW, &mode);
}

/* What libraries print goes to stderr: stdout is the link's alone. */
static int take_output(void)
{
    int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
    if (out >= 0)
        dup2(STDERR_FILENO, STDOUT_FILENO);
    return out;
}

static bool greet(struct node *node, int gpus)
{
    char text[256];
    struct hn_greeting greeting = {
        .protocol = HN_PROTOCOL, .compile = hn_machine_jobs(), .gpus = gpus};
    snprintf(greeting.build, sizeof greeting.build, "%s", hn_process_build());
    if (gethostname(greeting.host, sizeof greeting.host) != 0 || greeting.host[0] == '\0')
        snprintf(greeting.host, sizeof greeting.host, "unnamed");
    greeting.host[sizeof greeting.host - 1] = '\0';
    greeting.host[strcspn(greeting.host, ".")] = '\0';
    hn_greeting_write(&greeting, text);
    return hn_bytes_append(&node->link.output, text, strlen(text));
}

enum hn_status hn_node_run(int gpus, struct hn_error *err)
{
    struct node node = {0};
    if (isatty(STDIN_FILENO))
        return hn_fail(err, HN_EUSAGE,
                       "`hone worker node` is started by hone, with an input that is no terminal: "
                       "leave the launcher's -t out");
    make_raw(STDOUT_FILENO);
    int out = take_output();
    int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
    if (in < 0 || out < 0)
        return hn_fail(err, HN_ERUN, "its standard streams are closed");
    signal(SIGPIPE, SIG_IGN);
    hn_link_init(&node.link, in, out);
    hn_node_files_init(&node.files);
    node.fds = calloc(2, sizeof *node.fds);
    bool connected = node.fds != NULL && greet(&node, gpus) && hn_link_write(&node.link);
    while (connected) {
        sleep_on_streams(&node);
        connected = move_all(&node);
    }
    while (node.workers != NULL)
        remove_worker(&node, node.workers);
    hn_node_files_finish(&node.files);
    hn_link_finish(&node.link);
    free(node.fds);
    return HN_OK;
}
