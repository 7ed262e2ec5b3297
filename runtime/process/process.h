/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PROCESS_PROCESS_H
#define HONE_RUNTIME_PROCESS_PROCESS_H

#include <poll.h>
#include <sys/types.h>

#include "base/clock.h"
#include "runtime/process/channel.h"

/* A worker process: `hone worker <role>`, mostly this very program run again, in its own process group, with a channel on
 * descriptor 3 and its stdout and stderr drained, of which the end is kept for messages. It dies with its parent. */
struct hn_process {
    pid_t pid; /* 0 when not running */
    struct hn_channel channel;
    int output; /* read end of its stdout and stderr, -1 when closed */
    char tail[2048];
    size_t tail_size;
    bool greeted; /* its hello came and fits */
};

void hn_process_init(struct hn_process *process);

/* Starts it with posix_spawn, from a thread that outlives it. program: the `hone` to run, looked for on the PATH where it
 * has no slash; NULL: this very program. */
enum hn_status hn_process_start(struct hn_process *process, const char *program, const char *role, struct hn_error *err);

/* SIGKILL to the group and wait; safe when not running. Returns the status of waitpid. */
int hn_process_kill(struct hn_process *process);
/* SIGKILL alone, so that several end at once before each is waited for. */
void hn_process_end(const struct hn_process *process);
/* SIGKILL without waiting, at the end of the command: the driver takes a tenth of a second to clean up after a process,
 * and who inherits the orphan reaps it. */
void hn_process_abandon(struct hn_process *process);

/* Appends its descriptors to fds (room for 2) and returns how many. */
size_t hn_process_poll(const struct hn_process *process, struct pollfd *fds);

/* Reads what it printed, without blocking. */
void hn_process_drain(struct hn_process *process);

/* Checks a hello message: HN_ERUN when it is of another protocol or build. */
enum hn_status hn_process_greet(struct hn_process *process, const struct hn_message *hello, struct hn_error *err);

/* "killed by signal 11 (Segmentation fault)" or "exit status 1", then the last line it printed. */
void hn_process_describe_end(const struct hn_process *process, int wait_status, char *text, size_t size);

/* "; it last printed: " with the last line of its output, or "" when there is none. */
void hn_process_describe_output(const struct hn_process *process, char *text, size_t size);
/* Forgets what it printed so far. */
void hn_process_forget_output(struct hn_process *process);

/* What a worker says first: protocol, build. */
void hn_process_hello(struct hn_message *hello);

#endif
