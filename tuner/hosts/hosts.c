/* SPDX-License-Identifier: MIT */
#include "tuner/hosts/hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/run.h"
#include "base/text.h"
#include "tuner/hosts/hosts_part.h"

/* Limits and beats are looked at so often. */
static const int sleep_limit_ms = 250;
/* Launchers that were told to end have so long for it. */
static const int end_limit_ms = 500;
/* A queue may hold a launcher up; a greeting that is still not there is none. */
static const double greeting_limit_ms = 120e3;
/* A launcher that failed is tried again after so long, then after four times that. */
static const double first_retry_ms = 200;
static const int most_failures = 3;
/* A connection that lasted so long did not fail in a row with those before it. */
static const double lasting_ms = 60e3;
/* So much may be printed before the greeting. */
static const size_t most_noise = 65536;

/* No more is read of a file while so much waits for the connection. */
static const size_t file_queued_most = (size_t)1 << 20;

/* All of it is under hosts->lock. */

/* A worker at a host: this side of its channel and of its output. */
struct hn_host_worker {
    uint32_t number;
    int channel; /* -1: closed */
    int output;
    const struct pollfd *polled; /* the channel among hosts->fds; NULL: it was not polled yet */
    struct hn_bytes pending;     /* for the channel */
    bool ended;                  /* there; what is pending is still to be taken */
    bool lost;                   /* with its host */
    bool left;                   /* nobody here wants it any more */
    int wait_status;
};

struct hn_host {
    struct hn_place place; /* first: a place is a host */
    struct hn_hosts *hosts;
    struct hn_host_options options; /* owns its strings */
    bool sent;                      /* the program, this time */
    struct hn_process launcher;     /* its channel is not used */
    struct hn_link link;
    const struct pollfd *polled_in, *polled_output; /* as of a worker */
    struct hn_greeting greeting;
    enum hn_host_state state;
    double since_ms; /* launched, or came up */
    double retry_ms; /* when it is launched again, while it is not */
    int failures;
    char reason[700];
    uint32_t next_number;
    struct hn_host_worker *workers;
    size_t worker_count;
    struct hn_host_file *files; /* in the order in which they go over, one after the other */
    size_t file_count;
};

struct hn_hosts {
    pthread_mutex_t lock;
    pthread_t thread;
    bool ends;
    int wake;   /* eventfd: the thread is to look */
    int wakeup; /* the owner's eventfd: it is to look */
    size_t count;
    struct hn_host *items;
    struct pollfd *fds;
};

/* Only those are read of which the last poll of hosts->fds found something: one of hundreds says
 * something, and each read in vain costs as much as what it says. */
static bool may_read(const struct pollfd *polled)
{
    return polled == NULL || polled->revents != 0;
}

struct hn_host_file {
    struct hn_hash hash;
    char *path;
    enum { FILE_NEW, FILE_OFFERED, FILE_WANTED, FILE_THERE } state;
    int fd; /* -1: not open */
};

static struct hn_host_file *find_next_file(const struct hn_host *host)
{
    HN_EACH_OF(file, host->files, host->file_count) {
        if (file->state != FILE_THERE)
            return file;
    }
    return NULL;
}

/* A file that cannot be read any more ends early: the host finds that it is not what was named. */
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
            hn_close(&file->fd);
            file->state = FILE_THERE;
            return;
        }
    }
}

static void move_files(struct hn_host *host)
{
    struct hn_host_file *file;
    while ((file = find_next_file(host)) != NULL && file->state != FILE_OFFERED) {
        char text[HN_LINK_CHUNK];
        if (file->state == FILE_NEW) {
            int length = snprintf(text, sizeof text, "%s%s", file->hash.hex, file->path);
            file->state = FILE_OFFERED;
            hn_link_put(&host->link, HN_LINK_FILE, 0, text, (size_t)length);
        } else {
            send_file(host, file);
            if (file->state != FILE_THERE)
                return;
        }
    }
}

static void close_ends(struct hn_host_worker *worker)
{
    hn_close(&worker->channel);
    hn_close(&worker->output);
    hn_bytes_finish(&worker->pending);
}

/* False, and errno: it cannot be started. */
static bool add_worker(struct hn_host *host, const char *role, struct hn_process *process)
{
    int ends[2], output[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    if (pipe2(output, O_CLOEXEC | O_NONBLOCK) != 0) {
        close(ends[0]);
        close(ends[1]);
        return false;
    }
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    *HN_NEXT(host->workers, host->worker_count) = (struct hn_host_worker){
        .number = ++host->next_number, .channel = ends[1], .output = output[1]};
    process->channel.fd = ends[0];
    process->output = output[0];
    process->number = host->next_number;
    process->pid = -1;
    hn_link_put(&host->link, HN_LINK_START, host->next_number, role, strlen(role));
    return true;
}

static struct hn_host_worker *find_worker(const struct hn_host *host, uint32_t number)
{
    HN_EACH_OF(worker, host->workers, host->worker_count) {
        if (worker->number == number)
            return worker;
    }
    return NULL;
}

/* Takes what the host says of a worker. */
static void take_worker_frame(struct hn_host *host, const struct hn_link_frame *frame)
{
    struct hn_host_worker *worker = find_worker(host, frame->worker);
    if (worker == NULL || worker->ended)
        return;
    if (frame->kind == HN_LINK_DATA && worker->channel >= 0) {
        if (hn_bytes_size(&worker->pending) + frame->size > HN_PENDING_MOST)
            worker->left = true;
        else
            hn_bytes_append(&worker->pending, frame->data, frame->size);
    }
    /* Output that nobody reads is of no use. */
    if (frame->kind == HN_LINK_OUTPUT && worker->output >= 0)
        (void)!write(worker->output, frame->data, frame->size);
    if (frame->kind == HN_LINK_ENDED) {
        worker->ended = true;
        if (frame->size == 4)
            memcpy(&worker->wait_status, frame->data, 4);
    }
}

static void move_worker(struct hn_host *host, struct hn_host_worker *worker)
{
    bool reads = !worker->left && worker->channel >= 0 && may_read(worker->polled) &&
                 find_next_file(host) == NULL;
    if (reads && !hn_link_forward(&host->link, worker->number, worker->channel))
        worker->left = true;
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

/* Moves what can be moved; ends those that nobody wants. */
static void move_workers(struct hn_host *host)
{
    for (size_t i = host->worker_count; i-- > 0;) {
        struct hn_host_worker *worker = &host->workers[i];
        move_worker(host, worker);
        if (worker->left && worker->ended)
            HN_DROP(host->workers, host->worker_count, i);
    }
}

static void lose_workers(struct hn_host *host)
{
    HN_EACH_OF(worker, host->workers, host->worker_count) {
        worker->lost = worker->lost || !worker->ended;
        worker->ended = true;
        close_ends(worker);
    }
}

static size_t poll_workers(struct hn_host *host, struct pollfd *fds)
{
    size_t count = 0;
    bool takes = hn_bytes_size(&host->link.output) < HN_QUEUED_MOST && find_next_file(host) == NULL;
    short readable = takes ? POLLIN : 0;
    HN_EACH_OF(worker, host->workers, host->worker_count) {
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

/* One host: launched, greeted, read and written as far as that goes without blocking. */

/* Everything at it is lost. */
__attribute__((format(printf, 3, 4))) static void lose(struct hn_host *host, bool forever,
                                                       const char *reason, ...)
{
    double now = hn_now_ms();
    bool lasted = host->state == HN_HOST_UP && now - host->since_ms > lasting_ms;
    lose_workers(host);
    HN_EACH_OF(file, host->files, host->file_count) {
        hn_close(&file->fd);
        file->state = FILE_NEW;
    }
    hn_link_finish(&host->link);
    hn_process_kill(&host->launcher);
    host->failures = lasted ? 1 : host->failures + 1;
    va_list arguments;
    va_start(arguments, reason);
    vsnprintf(host->reason, sizeof host->reason, reason, arguments);
    va_end(arguments);
    host->state = forever || host->failures >= most_failures ? HN_HOST_OUT : HN_HOST_STARTING;
    host->retry_ms = now + first_retry_ms * pow(4, host->failures - 1);
    hn_event_signal(host->hosts->wakeup);
}

/* By the shell, in a process group of its own: "exec ssh gpu7 hone worker node", or with `sh` in
 * the place of hone. The link has its stdin and stdout; its stderr is drained as a worker's output.
 */
static void start_launcher(struct hn_host *host, struct hn_error *err)
{
    int pipes[3][2], made = 0;
    char own[PATH_MAX];
    struct hn_text text = {0};
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length > 0 ? length : 0] = '\0';
    hn_text_printf(&text, "exec %s ", host->options.run);
    hn_text_append_word(&text, host->options.install        ? "sh"
                               : host->options.hone != NULL ? host->options.hone
                                                            : own);
    if (!host->options.install)
        hn_text_printf(&text, " worker node%s", host->options.gpus < 0 ? " count" : "");
    char *command HN_FREED = hn_needed(hn_text_take(&text));
    while (made < 3 && pipe2(pipes[made], O_CLOEXEC) == 0)
        made++;
    hn_error_init(err);
    if (made < 3) {
        hn_fail(err, HN_ERUN, "pipe: %s", strerror(errno));
    } else {
        const int streams[3] = {pipes[0][0], pipes[1][1], pipes[2][1]};
        char *const arguments[] = {(char *)"sh", (char *)"-c", command, NULL};
        int failure = hn_process_spawn(&host->launcher.pid, "/bin/sh", arguments, streams, 3, true);
        if (failure != 0)
            hn_fail(err, HN_ERUN, "/bin/sh cannot be started: %s", strerror(failure));
    }
    for (int i = 0; i < made; i++) {
        close(pipes[i][i > 0]);
        if (hn_failed(err))
            close(pipes[i][i == 0]);
    }
    if (hn_failed(err))
        return;
    hn_link_init(&host->link, pipes[1][0], pipes[0][1]);
    host->launcher.output = pipes[2][0];
    fcntl(host->launcher.output, F_SETFL, O_NONBLOCK);
}

/* A host without Hone is given this very program over its launcher, which starts `sh` there: a line
 * that makes a folder of its own under TMPDIR, says that it is ready, takes so many bytes and runs
 * them as the agent, from a file that has no name any more. It is one line, so that the shell has
 * read all of its input that is its own when the program comes. */
#define INSTALL_READY "hone-install"
static void begin_install(struct hn_host *host, struct hn_error *err)
{
    char line[640];
    struct stat program;
    if (stat("/proc/self/exe", &program) != 0) {
        hn_fail(err, HN_ERUN, "--install: /proc/self/exe cannot be read: %s", strerror(errno));
        return;
    }
    snprintf(line, sizeof line,
             "d=$(mktemp -d \"${TMPDIR:-/tmp}/hone-XXXXXX\") && { trap 'rm -rf \"$d\"; exit 1' HUP "
             "INT TERM; printf '\\n" INSTALL_READY "\\n'; head -c %zu >\"$d/hone\" && chmod 700 "
             "\"$d/hone\" && exec 3<\"$d/hone\" && rm -rf \"$d\" && exec /proc/self/fd/3 worker "
             "node %s; rm -rf \"$d\"; }; exit 1\n",
             (size_t)program.st_size, host->options.gpus < 0 ? "count" : "");
    hn_bytes_append(&host->link.output, line, strlen(line));
}

/* The shell there is ready for the program. */
static void send_program(struct hn_host *host)
{
    static const char ready[] = "\n" INSTALL_READY "\n";
    struct hn_error err;
    char *program HN_FREED = NULL;
    size_t size;
    const struct hn_bytes *input = &host->link.input;
    if (!host->options.install || host->sent || hn_bytes_size(input) == 0 ||
        memmem(input->data + input->start, hn_bytes_size(input), ready, sizeof ready - 1) == NULL)
        return;
    host->sent = true;
    if (hn_file_read("/proc/self/exe", (size_t)1 << 30, &program, &size, &err) != HN_OK) {
        lose(host, true, "%s", err.message);
        return;
    }
    hn_bytes_append(&host->link.output, program, size);
}

static void launch(struct hn_host *host, double now_ms)
{
    struct hn_error err;
    host->since_ms = now_ms;
    host->sent = false;
    host->polled_in = host->polled_output = NULL;
    hn_process_init(&host->launcher);
    start_launcher(host, &err);
    bool started = !hn_failed(&err);
    if (started && host->options.install)
        begin_install(host, &err);
    if (hn_failed(&err))
        lose(host, started, "%s", err.message);
}

/* The streams are closed: how the launcher ends is known in a moment. */
static int await_end(struct hn_process *launcher)
{
    int wait_status = 0;
    for (int i = 0; i < 20; i++) {
        if (waitpid(launcher->pid, &wait_status, WNOHANG) == launcher->pid) {
            kill(-launcher->pid, SIGKILL);
            launcher->pid = 0;
            hn_process_drain(launcher);
            return wait_status;
        }
        usleep(5000);
    }
    return hn_process_kill(launcher);
}

static void lose_closed(struct hn_host *host)
{
    bool greeted = host->state == HN_HOST_UP;
    lose(host, false, "its launcher %s%s",
         hn_process_describe_end(&host->launcher, await_end(&host->launcher)),
         greeted ? ""
                 : "; Hone did not answer there: see that it is installed, and name it by 'hone' "
                   "where it lies elsewhere");
}

/* Something was printed, or came in the place of a frame. */
static void lose_polluted(struct hn_host *host)
{
    const struct hn_bytes *input = &host->link.input;
    hn_process_note_output(&host->launcher, "\n", 1);
    hn_process_note_output(&host->launcher, input->data + input->start, hn_bytes_size(input));
    lose(host, false,
         "something beside Hone writes to its launcher's standard output, which has to be Hone's "
         "alone once it has answered: no terminal (-t), no prefix of lines%s",
         hn_process_describe_output(&host->launcher));
}

static void take_greeting(struct hn_host *host)
{
    size_t noise = 0, length = 0;
    struct hn_error err;
    struct hn_bytes *input = &host->link.input;
    enum hn_status status = hn_greeting_find(input->data + input->start, hn_bytes_size(input),
                                             &host->greeting, &noise, &length, &err);
    if (status == HN_ENOTFOUND && hn_bytes_size(input) > most_noise)
        lose_polluted(host);
    else if (status != HN_ENOTFOUND && status != HN_OK)
        lose(host, true, "%s", err.message);
    if (status != HN_OK)
        return;
    input->start += noise + length;
    host->state = HN_HOST_UP;
    host->since_ms = hn_now_ms();
    hn_event_signal(host->hosts->wakeup);
}

static void take_frames(struct hn_host *host)
{
    struct hn_link_frame frame;
    enum hn_link_next next;
    while ((next = hn_link_next(&host->link, &frame)) == HN_LINK_FRAME) {
        struct hn_host_file *file = find_next_file(host);
        if (frame.kind != HN_LINK_HAS)
            take_worker_frame(host, &frame);
        else if (file != NULL && file->state == FILE_OFFERED)
            file->state = frame.size == 1 && frame.data[0] != 0 ? FILE_THERE : FILE_WANTED;
    }
    if (next == HN_LINK_BROKEN)
        lose_polluted(host);
}

static void enforce_limits(struct hn_host *host, double now_ms)
{
    double silent_ms = now_ms - host->link.heard_ms;
    bool greeted = host->state == HN_HOST_UP;
    if (greeted ? silent_ms < HN_LINK_SILENCE_MS : now_ms - host->since_ms < greeting_limit_ms)
        return;
    lose(host, false, "%s%.0f s%s",
         greeted ? "nothing was heard of it for " : "Hone did not answer there within ",
         (greeted ? silent_ms : greeting_limit_ms) / 1e3,
         hn_process_describe_output(&host->launcher));
}

/* It may be lost by that: then its launcher is gone. */
static void listen_to(struct hn_host *host)
{
    bool more = may_read(host->polled_in);
    /* As much as a large image, then the others have their turn. */
    for (int i = 0; more && i < 64; i++) {
        size_t before = hn_bytes_size(&host->link.input);
        if (!hn_link_read(&host->link)) {
            lose_closed(host);
            return;
        }
        more = hn_bytes_size(&host->link.input) - before >= HN_LINK_CHUNK;
        if (host->state != HN_HOST_UP)
            send_program(host);
        if (host->state != HN_HOST_UP && host->launcher.pid != 0)
            take_greeting(host);
        if (host->state == HN_HOST_UP)
            take_frames(host);
        more = more && host->launcher.pid != 0;
    }
}

static void move_host(struct hn_host *host, double now_ms)
{
    if (host->launcher.pid == 0) {
        move_workers(host);
        if (host->state != HN_HOST_OUT && now_ms >= host->retry_ms)
            launch(host, now_ms);
        return;
    }
    if (may_read(host->polled_output))
        hn_process_drain(&host->launcher);
    listen_to(host);
    if (host->launcher.pid == 0)
        return;
    if (host->state == HN_HOST_UP)
        move_files(host);
    move_workers(host);
    if (host->state == HN_HOST_UP)
        hn_link_beat(&host->link, now_ms);
    if (!hn_bytes_write(&host->link.output, host->link.out)) {
        lose_closed(host);
        return;
    }
    enforce_limits(host, now_ms);
}

static struct hn_host *of_place(const struct hn_place *place)
{
    return (struct hn_host *)(uintptr_t)place;
}

static bool is_ready(const struct hn_place *place)
{
    struct hn_host *host = of_place(place);
    pthread_mutex_lock(&host->hosts->lock);
    bool ready = host->state == HN_HOST_UP;
    pthread_mutex_unlock(&host->hosts->lock);
    return ready;
}

static enum hn_status start_worker(struct hn_place *place, const char *role,
                                   struct hn_process *process, struct hn_error *err)
{
    struct hn_host *host = of_place(place);
    pthread_mutex_lock(&host->hosts->lock);
    bool started = add_worker(host, role, process);
    /* It may have been lost just now. */
    if (host->state != HN_HOST_UP)
        lose_workers(host);
    pthread_mutex_unlock(&host->hosts->lock);
    hn_event_signal(host->hosts->wake);
    return started ? HN_OK : hn_fail(err, HN_ERUN, "socketpair: %s", strerror(errno));
}

static int end_worker(struct hn_place *place, unsigned number, bool *lost)
{
    struct hn_host *host = of_place(place);
    int wait_status = 0;
    pthread_mutex_lock(&host->hosts->lock);
    struct hn_host_worker *worker = find_worker(host, number);
    if (worker != NULL) {
        wait_status = worker->wait_status;
        *lost = worker->lost;
        worker->left = true;
    }
    pthread_mutex_unlock(&host->hosts->lock);
    hn_event_signal(host->hosts->wake);
    return wait_status;
}

struct hn_place *hn_host_place(struct hn_host *host)
{
    return &host->place;
}

struct hn_host_view hn_host_look(struct hn_host *host)
{
    pthread_mutex_lock(&host->hosts->lock);
    const struct hn_greeting *greeting = &host->greeting;
    struct hn_host_view view = {
        .state = host->state,
        .gpus = host->options.gpus >= 0 ? host->options.gpus : greeting->gpus,
        .compile = host->options.compile >= 0 ? host->options.compile : greeting->compile,
        .sends = find_next_file(host) != NULL || hn_bytes_size(&host->link.output) > 0,
    };
    snprintf(view.name, sizeof view.name, "%s",
             greeting->host[0] != '\0'      ? greeting->host
             : host->options.run[0] != '\0' ? host->options.run
                                            : "local");
    memcpy(view.reason, host->reason, sizeof view.reason);
    pthread_mutex_unlock(&host->hosts->lock);
    return view;
}

void hn_host_fail(struct hn_host *host, bool forever, const char *reason)
{
    pthread_mutex_lock(&host->hosts->lock);
    if (host->state != HN_HOST_OUT)
        lose(host, forever, "%s", reason);
    pthread_mutex_unlock(&host->hosts->lock);
    hn_event_signal(host->hosts->wake);
}

void hn_host_share(struct hn_host *host, const char *path, const struct hn_hash *hash)
{
    bool known = false;
    pthread_mutex_lock(&host->hosts->lock);
    HN_EACH_OF(file, host->files, host->file_count)
        known = known || strcmp(file->hash.hex, hash->hex) == 0;
    if (!known)
        *HN_NEXT(host->files, host->file_count) =
            (struct hn_host_file){.hash = *hash, .path = hn_need_copy(path), .fd = -1};
    pthread_mutex_unlock(&host->hosts->lock);
    hn_event_signal(host->hosts->wake);
}

static size_t gather_descriptors(struct hn_hosts *hosts)
{
    size_t count = 0, most = 1 + 3 * hosts->count;
    HN_EACH(host, *hosts)
        most += host->worker_count;
    hosts->fds = hn_need_more(hosts->fds, most, sizeof *hosts->fds);
    hosts->fds[count++] = (struct pollfd){.fd = hosts->wake, .events = POLLIN};
    HN_EACH(host, *hosts) {
        struct pollfd *fds = hosts->fds;
        count += poll_workers(host, fds + count);
        host->polled_in = host->polled_output = NULL;
        if (host->link.in >= 0) {
            host->polled_in = &fds[count];
            fds[count++] = (struct pollfd){.fd = host->link.in, .events = POLLIN};
        }
        if (host->link.out >= 0 && hn_bytes_size(&host->link.output) > 0)
            fds[count++] = (struct pollfd){.fd = host->link.out, .events = POLLOUT};
        if (host->launcher.output >= 0) {
            host->polled_output = &fds[count];
            fds[count++] = (struct pollfd){.fd = host->launcher.output, .events = POLLIN};
        }
    }
    return count;
}

/* An agent ends when its streams are closed, and with it what launched it. By this thread: whoever
 * was started by it may ask to be killed when it ends. */
static void end_launchers(struct hn_hosts *hosts)
{
    for (size_t i = 0; i < hosts->count; i++)
        hn_link_finish(&hosts->items[i].link);
    for (int waited = 0; waited < end_limit_ms; waited += 5) {
        bool any = false;
        for (size_t i = 0; i < hosts->count; i++) {
            struct hn_process *launcher = &hosts->items[i].launcher;
            if (launcher->pid > 0 && waitpid(launcher->pid, NULL, WNOHANG) == launcher->pid)
                launcher->pid = 0;
            any = any || launcher->pid > 0;
        }
        if (!any)
            return;
        usleep(5000);
    }
}

static void *relay(void *pointer)
{
    struct hn_hosts *hosts = pointer;
    pthread_mutex_lock(&hosts->lock);
    while (!hosts->ends) {
        for (size_t i = 0; i < hosts->count; i++)
            move_host(&hosts->items[i], hn_now_ms());
        int timeout = sleep_limit_ms;
        HN_EACH(host, *hosts) {
            double left = host->retry_ms - hn_now_ms();
            if (host->state == HN_HOST_STARTING && host->launcher.pid == 0 && left < timeout)
                timeout = left > 0 ? (int)left + 1 : 0;
        }
        size_t count = gather_descriptors(hosts);
        pthread_mutex_unlock(&hosts->lock);
        poll(hosts->fds, count, timeout);
        hn_event_clear(hosts->wake);
        pthread_mutex_lock(&hosts->lock);
    }
    end_launchers(hosts);
    pthread_mutex_unlock(&hosts->lock);
    return NULL;
}

static void free_hosts(struct hn_hosts *hosts)
{
    HN_EACH(host, *hosts) {
        lose_workers(host);
        HN_EACH_OF(file, host->files, host->file_count) {
            hn_close(&file->fd);
            free(file->path);
        }
        free(host->files);
        free(host->workers);
        hn_link_finish(&host->link);
        hn_process_kill(&host->launcher);
        free((char *)host->options.run);
        free((char *)host->options.hone);
    }
    hn_close(&hosts->wake);
    pthread_mutex_destroy(&hosts->lock);
    free(hosts->items);
    free(hosts->fds);
    free(hosts);
}

enum hn_status hn_hosts_start(const struct hn_host_options *options, size_t count, int wakeup,
                              struct hn_hosts **out, struct hn_error *err)
{
    struct hn_hosts *hosts = hn_need(1, sizeof *hosts);
    hn_error_init(err);
    pthread_mutex_init(&hosts->lock, NULL);
    hosts->count = count;
    hosts->items = hn_need(count, sizeof *hosts->items);
    hosts->wake = hn_event_make(err);
    hosts->wakeup = wakeup;
    for (size_t i = 0; i < count; i++) {
        hosts->items[i] = (struct hn_host){
            .place = {is_ready, start_worker, end_worker},
            .hosts = hosts,
            .link = {.in = -1, .out = -1},
            .options = options[i],
        };
        hosts->items[i].options.run = hn_need_copy(options[i].run);
        hosts->items[i].options.hone = hn_need_copy(options[i].hone);
        hn_process_init(&hosts->items[i].launcher);
    }
    if (!hn_failed(err) && hn_thread_start(&hosts->thread, relay, hosts, err))
        *out = hosts;
    else
        free_hosts(hosts);
    return err->status;
}

void hn_hosts_destroy(struct hn_hosts *hosts)
{
    if (hosts == NULL)
        return;
    pthread_mutex_lock(&hosts->lock);
    hosts->ends = true;
    pthread_mutex_unlock(&hosts->lock);
    hn_event_signal(hosts->wake);
    pthread_join(hosts->thread, NULL);
    free_hosts(hosts);
}

size_t hn_hosts_count(const struct hn_hosts *hosts)
{
    return hosts != NULL ? hosts->count : 0;
}

struct hn_host *hn_hosts_at(struct hn_hosts *hosts, size_t i)
{
    return &hosts->items[i];
}
