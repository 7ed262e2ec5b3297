/* SPDX-License-Identifier: MIT */
#include "runtime/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

#ifndef HONE_BUILD
#define HONE_BUILD "unknown"
#endif

extern char **environ;

const char hn_process_build[] = HONE_BUILD;

static void greet(struct hn_process *process, const struct hn_message *hello, struct hn_error *err)
{
    const char *build = json_string_value(json_object_get(hello->json, "build"));
    json_int_t protocol = json_integer_value(json_object_get(hello->json, "protocol"));
    if (strcmp(hn_message_type(hello), "hello") != 0 || protocol != HN_PROTOCOL || build == NULL ||
        strcmp(build, HONE_BUILD) != 0)
        hn_fail(err, HN_ERUN,
                "a worker speaks another protocol (%lld, build %s; expected %d, build %s)",
                (long long)protocol, build != NULL ? build : "?", HN_PROTOCOL, HONE_BUILD);
    process->greeted = !hn_failed(err);
}

void hn_process_init(struct hn_process *process)
{
    *process = (struct hn_process){.channel = {.fd = -1}, .output = -1, .since_ms = hn_now_ms()};
}

int hn_process_spawn(pid_t *pid, const char *program, char *const *arguments, const int *streams,
                     int count, bool as_group)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < count; i++) {
        if (streams[i] < 0)
            posix_spawn_file_actions_addopen(&actions, i, "/dev/null", O_RDWR, 0);
        else
            posix_spawn_file_actions_adddup2(&actions, streams[i], i);
    }
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(
        &attributes, (short)(POSIX_SPAWN_SETSIGMASK | (as_group ? POSIX_SPAWN_SETPGROUP : 0)));
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    int failure = posix_spawnp(pid, program, &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (failure != 0)
        *pid = 0;
    return failure;
}

static enum hn_status spawn(struct hn_process *process, const char *program, const char *role,
                            int channel, int output, struct hn_error *err)
{
    char parent[24];
    char *const arguments[] = {(char *)"hone", (char *)"worker", (char *)role, parent, NULL};
    const int streams[] = {-1, output, output, channel};
    snprintf(parent, sizeof parent, "%ld", (long)getpid());
    int failure = hn_process_spawn(&process->pid, program != NULL ? program : "/proc/self/exe",
                                   arguments, streams, 4, true);
    if (failure == 0)
        return HN_OK;
    return hn_fail(err, HN_ERUN, "a worker process cannot be started%s%s: %s",
                   program != NULL ? " by " : "", program != NULL ? program : "",
                   strerror(failure));
}

enum hn_status hn_process_start(struct hn_process *process, const char *program, const char *role,
                                struct hn_error *err)
{
    int ends[2];
    int output[2];
    struct hn_place *place = process->place;
    hn_process_init(process);
    process->place = place;
    if (place != NULL)
        return place->start(place, role, process, err);
    /* Descriptors above 3 and close-on-exec: no worker inherits another's, so each sees its
     * parent's end close. */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return hn_fail(err, HN_ERUN, "socketpair: %s", strerror(errno));
    if (pipe2(output, O_CLOEXEC) != 0) {
        close(ends[0]);
        close(ends[1]);
        return hn_fail(err, HN_ERUN, "pipe: %s", strerror(errno));
    }
    process->channel.fd = ends[0];
    process->output = output[0];
    fcntl(process->output, F_SETFL, O_NONBLOCK);
    int channel = fcntl(ends[1], F_DUPFD_CLOEXEC, 10);
    close(ends[1]);
    enum hn_status status =
        channel >= 0 ? spawn(process, program, role, channel, output[1], err)
                     : hn_fail(err, HN_ERUN, "a worker process cannot be started: %s",
                               errno == EINVAL ? "too few descriptors are allowed (ulimit -n)"
                                               : strerror(errno));
    hn_close(&channel);
    close(output[1]);
    if (status != HN_OK)
        hn_process_kill(process);
    return status;
}

void hn_process_end(const struct hn_process *process)
{
    if (process->pid <= 0)
        return;
    /* The group may not be there yet when the child has just been started. */
    kill(process->pid, SIGKILL);
    kill(-process->pid, SIGKILL);
}

int hn_process_kill(struct hn_process *process)
{
    int wait_status = 0;
    if (process->pid > 0) {
        hn_process_end(process);
        /* What hangs in a driver's call ends when that does; after a signal it is left to whoever
         * reaps orphans. */
        while (waitpid(process->pid, &wait_status, hn_interrupted() != 0 ? WNOHANG : 0) < 0 &&
               errno == EINTR)
            continue;
        process->pid = 0;
    }
    if (process->pid < 0) {
        wait_status = process->place->end(process->place, process->number, &process->lost);
        process->pid = 0;
    }
    hn_process_drain(process);
    hn_channel_finish(&process->channel);
    hn_close(&process->output);
    return wait_status;
}

size_t hn_process_poll(struct hn_process *process, struct pollfd *fds)
{
    size_t count = 0;
    process->quiet = false;
    if (process->channel.fd >= 0)
        fds[count++] = (struct pollfd){.fd = process->channel.fd, .events = POLLIN};
    if (process->output >= 0)
        fds[count++] = (struct pollfd){.fd = process->output, .events = POLLIN};
    return count;
}

size_t hn_process_polled(struct hn_process *process, const struct pollfd *fds)
{
    struct pollfd now[2];
    size_t count = hn_process_poll(process, now);
    const double last_ms = fmax(process->since_ms, process->seen_ms);
    process->seen_ms = hn_now_ms();
    /* In a pause of more than a second all of this job was stopped, as Slurm and docker do it. */
    process->since_ms += fmax(process->seen_ms - last_ms - 1000, 0);
    process->quiet = count > 0;
    for (size_t i = 0; i < count; i++)
        process->quiet = process->quiet && fds[i].fd == now[i].fd && fds[i].revents == 0;
    return count;
}

bool hn_process_is_quiet(const struct hn_process *process)
{
    return process->quiet && process->channel.input_size == 0;
}

void hn_process_note_output(struct hn_process *process, const char *data, size_t size)
{
    size_t limit = sizeof process->tail - 1;
    size_t taken = size < limit ? size : limit;
    size_t kept = process->tail_size < limit - taken ? process->tail_size : limit - taken;
    memmove(process->tail, process->tail + process->tail_size - kept, kept);
    memcpy(process->tail + kept, data + size - taken, taken);
    process->tail_size = kept + taken;
    process->tail[process->tail_size] = '\0';
}

void hn_process_drain(struct hn_process *process)
{
    char data[4096];
    /* Bounded: a kernel that floods printf must not keep us here. */
    for (int i = 0; i < 256 && process->output >= 0; i++) {
        ssize_t n = read(process->output, data, sizeof data);
        if (n > 0) {
            hn_process_note_output(process, data, (size_t)n);
            continue;
        }
        if (n == 0 || (errno != EAGAIN && errno != EINTR))
            hn_close(&process->output);
        break;
    }
}

enum hn_received hn_process_listen(struct hn_process *process, struct hn_message *message,
                                   struct hn_error *err)
{
    struct hn_error lost;
    if (hn_failed(err) || process->pid == 0 || hn_process_is_quiet(process))
        return HN_RECEIVED_NOTHING;
    hn_process_drain(process);
    for (;;) {
        enum hn_received received = hn_channel_receive(&process->channel, false, message, &lost);
        if (received != HN_RECEIVED_MESSAGE)
            return received;
        bool hello = !process->greeted;
        hn_message_gate(message, err);
        if (!hn_failed(err) && hello) {
            greet(process, message, err);
        } else if (!hn_failed(err) && strcmp(hn_message_type(message), "failed") == 0) {
            json_int_t code = json_integer_value(json_object_get(message->json, "status"));
            const char *text = json_string_value(json_object_get(message->json, "message"));
            hn_fail(err, code > HN_OK && code < HN_EINTERRUPTED ? (enum hn_status)code : HN_ERUN,
                    "%s", text != NULL ? text : "a worker failed");
        }
        if (!hn_failed(err) && !hello)
            return HN_RECEIVED_MESSAGE;
        hn_message_finish(message);
        if (hn_failed(err))
            return HN_RECEIVED_NOTHING;
    }
}

static const char *describe(struct hn_process *process, const char *end)
{
    /* the last line that holds more than blanks */
    const char *tail = process->tail;
    size_t stop = strlen(tail);
    while (stop > 0 && strchr("\r\n ", tail[stop - 1]) != NULL)
        stop--;
    size_t start = stop;
    while (start > 0 && tail[start - 1] != '\n')
        start--;
    int length = stop - start < 300 ? (int)(stop - start) : 300;
    snprintf(process->said, sizeof process->said, "%s%s%.*s", end,
             length > 0 ? "; it last printed: " : "", length, tail + start);
    /* A kernel may print any bytes; messages are text. */
    bool is_text = hn_text_find_not_utf8(process->said) == NULL;
    for (char *c = process->said; *c != '\0'; c++)
        if ((*c >= 0 ? *c < ' ' || *c > '~' : !is_text))
            *c = '?';
    return process->said;
}

const char *hn_process_describe_output(struct hn_process *process)
{
    return describe(process, "");
}

const char *hn_process_describe_end(struct hn_process *process, int wait_status)
{
    char end[128] = "its host was lost";
    if (!process->lost && WIFSIGNALED(wait_status))
        snprintf(end, sizeof end, "killed by signal %d (%s)", WTERMSIG(wait_status),
                 strsignal(WTERMSIG(wait_status)));
    else if (!process->lost)
        snprintf(end, sizeof end, "ended with exit status %d", WEXITSTATUS(wait_status));
    return describe(process, end);
}

/* The machine. */

static const double worker_bytes = 400.0 * 1024 * 1024;

static double memory_bytes(void)
{
    double physical = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    return fmin(physical, hn_file_number("/sys/fs/cgroup/memory.max", "", INFINITY));
}

int hn_machine_jobs(void)
{
    /* cgroup v2: "quota period" or "max period", in microseconds. */
    char line[128] = "", *end = line;
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");
    if (file == NULL || fgets(line, sizeof line, file) == NULL)
        line[0] = '\0';
    if (file != NULL)
        fclose(file);
    double quota = hn_c_strtod(line, &end);
    double period = end == line ? 0 : hn_c_strtod(end, NULL);
    double cpus = period > 0 ? ceil(quota / period) : INFINITY;
    double jobs =
        fmin(fmin((double)hn_parallel_cores(), cpus), floor(memory_bytes() / worker_bytes));
    return jobs >= 1 ? (int)fmin(jobs, 1024) : 1;
}

/* Limits this process to 4 GiB of data, or half of the machine's memory, beyond which NVRTC says
 * "out of memory": a template that instantiates itself without end takes gigabytes a minute. */
static void limit_memory(void)
{
/* The sanitizer's shadow counts as data. */
#ifndef __SANITIZE_ADDRESS__
    struct rlimit limit;
    rlim_t wanted = (rlim_t)fmin(0x1p32, memory_bytes() / 2);
    if (getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur < wanted)
        return;
    limit.rlim_cur = wanted;
    setrlimit(RLIMIT_DATA, &limit);
#endif
}

void hn_worker_fail(struct hn_channel *channel, enum hn_status status, const struct hn_error *err)
{
    struct hn_message message HN_ENDED_BY(hn_message_finish) = {0};
    hn_message_init(&message, "failed");
    json_object_set_new(message.json, "status", json_integer(status));
    json_object_set_new(message.json, "message", json_string(err->message));
    hn_channel_send(channel, &message, NULL);
}

/* With nvcc's processes. */
static double cpu_ms(void)
{
    struct rusage children;
    getrusage(RUSAGE_CHILDREN, &children);
    return (double)clock() / CLOCKS_PER_SEC * 1e3 +
           (double)(children.ru_utime.tv_sec + children.ru_stime.tv_sec) * 1e3 +
           (double)(children.ru_utime.tv_usec + children.ru_stime.tv_usec) * 1e-3;
}

/* False when hone is gone. One variant too large to be sent is no reason to end the run. */
static bool answer(struct hn_channel *channel, const struct hn_nvrtc *nvrtc,
                   const struct hn_message *message)
{
    const size_t most = HN_MESSAGE_LIMIT - (4u << 20);
    struct hn_image image HN_ENDED_BY(hn_image_finish) = HN_NO_IMAGE;
    struct hn_message reply HN_ENDED_BY(hn_message_finish) = {0};
    struct hn_error err = {0};
    double start_ms = cpu_ms();
    if (hn_message_compile(message, nvrtc, &image, &err) == HN_OK) {
        if (image.size > most) {
            char why[96];
            snprintf(why, sizeof why, "its code has %zu bytes; at most %zu can be sent", image.size,
                     most);
            hn_image_finish(&image);
            image.message = strdup(why);
        }
        hn_message_init(&reply, "compiled");
        json_object_set_new(reply.json, "cpu_ms", json_real(cpu_ms() - start_ms));
        if (hn_message_add_image(&reply, reply.json, &image, &err) == HN_OK)
            hn_channel_send(channel, &reply, &err);
    }
    if (hn_failed(&err))
        hn_worker_fail(channel, err.status == HN_ECONFIG ? HN_ECONFIG : HN_ERUN, &err);
    return !hn_failed(&err);
}

/* There are as many as cores: hone and the GPU worker, which only ever need a moment, go first. */
static const int niceness = 5;

void hn_worker_compile(struct hn_channel *channel)
{
    struct hn_nvrtc nvrtc;
    struct hn_message ready HN_ENDED_BY(hn_message_finish) = {0};
    struct hn_message request;
    struct hn_error err = {0};
    setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + niceness);
    if (hn_nvrtc_open(&nvrtc, &err) != HN_OK) {
        hn_worker_fail(channel, err.status, &err);
        return;
    }
    limit_memory();
    /* The next compilation takes what this one frees: its pages stay, not to be cleared anew. */
    mallopt(M_TRIM_THRESHOLD, 1 << 28);
    mallopt(M_MMAP_THRESHOLD, 1 << 25);
    hn_message_init(&ready, "ready");
    json_object_set_new(ready.json, "nvrtc", json_sprintf("%d.%d", nvrtc.major, nvrtc.minor));
    bool alive = hn_channel_send(channel, &ready, &err) == HN_OK;
    while (alive && hn_channel_receive(channel, true, &request, &err) == HN_RECEIVED_MESSAGE) {
        alive = answer(channel, &nvrtc, &request);
        hn_message_finish(&request);
    }
    hn_nvrtc_close(&nvrtc);
}

bool hn_worker_run(long parent, void (*serve)(struct hn_channel *channel))
{
    struct hn_channel channel HN_ENDED_BY(hn_channel_finish) = {.fd = 3};
    struct hn_message hello HN_ENDED_BY(hn_message_finish) = {0};
    /* posix_spawn cannot set it; the parent may have ended before this line, so look afterwards.
     * Its number is given: in a container hone itself may be process 1. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        return true;
    /* Where memory runs out, the kernel is to end a worker and not hone or another's process. */
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file >= 0) {
        (void)!write(file, "1000", 4);
        close(file);
    }
    hn_message_init(&hello, "hello");
    json_object_set_new(hello.json, "protocol", json_integer(HN_PROTOCOL));
    json_object_set_new(hello.json, "build", json_string(HONE_BUILD));
    bool told = hn_channel_send(&channel, &hello, NULL) == HN_OK;
    if (told)
        serve(&channel);
    return told;
}
