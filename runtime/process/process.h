/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PROCESS_PROCESS_H
#define HONE_RUNTIME_PROCESS_PROCESS_H

#include <poll.h>
#include <sys/types.h>

#include "base/run.h"
#include "runtime/process/message.h"

/* A worker process: `hone worker <role>`, mostly this very program run again, in its own process group, with a channel on
 * descriptor 3 and its stdout and stderr drained, of which the end is kept for messages. It dies with its parent. */
struct hn_process;

/* Where a worker runs that is no child of this process: at a host, over somebody's connection. */
struct hn_place {
    /* Whether a worker can be started there now. */
    bool (*ready)(const struct hn_place *place);
    /* Gives the process a channel and the output; its number is the place's own. */
    enum hn_status (*start)(struct hn_place *place, const char *role, struct hn_process *process, struct hn_error *err);
    /* It is of no more use, or its channel was closed. Returns the status of waitpid where it is known, else 0. lost: the
     * place was, and the worker with it. */
    int (*end)(struct hn_place *place, unsigned number, bool *lost);
};

struct hn_process {
    pid_t pid; /* 0 when not running; -1 at a place */
    struct hn_place *place; /* NULL: a child. The owner's to set, before it is started */
    unsigned number;        /* at its place */
    bool lost;              /* it ended because its place did */
    struct hn_channel channel;
    int output; /* read end of its stdout and stderr, -1 when closed */
    char tail[2048];
    size_t tail_size;
    char said[512];  /* the last description */
    bool greeted;    /* its hello came and fits */
    bool quiet;      /* nothing came, said the last poll */
    double since_ms; /* when it was started, or began what its owner waits for; of a pause between polls counts a second */
    double seen_ms;  /* the end of the last poll. Limits are held against it: what came since has not been heard */
};

void hn_process_init(struct hn_process *process);

/* Starts a program, in a process group of its own or in this one, with these descriptors as 0, 1, …; -1: /dev/null. 0, or errno,
 * and *pid is 0. */
int hn_process_spawn(pid_t *pid, const char *program, char *const *arguments, const int *streams, int count, bool as_group);
/* Starts it with posix_spawn, from a thread that outlives it, or at its place. program: the `hone` to run, looked for on
 * the PATH where it has no slash; NULL: this very program. */
enum hn_status hn_process_start(struct hn_process *process, const char *program, const char *role, struct hn_error *err);

/* SIGKILL to the group and wait; safe when not running. Returns the status of waitpid. */
int hn_process_kill(struct hn_process *process);
/* SIGKILL alone, so that several end at once before each is waited for. */
void hn_process_end(const struct hn_process *process);

/* Appends its descriptors to fds (room for 2) and returns how many. */
size_t hn_process_poll(struct hn_process *process, struct pollfd *fds);
/* After poll: what it found of the descriptors that were appended. Returns how many. Who does not call it reads in vain at
 * worst, and has limits of its own. */
size_t hn_process_polled(struct hn_process *process, const struct pollfd *fds);
/* That there is nothing to read: of hundreds of workers few have said something, and listening to these costs
 * nothing. */
bool hn_process_is_quiet(const struct hn_process *process);

/* Reads what it printed, without blocking. */
void hn_process_drain(struct hn_process *process);
/* Takes this for printed, too. */
void hn_process_note_output(struct hn_process *process, const char *data, size_t size);

/* The next message of a worker that is of the same protocol and build, past hn_message_gate; without blocking. What
 * it printed is read, too. CLOSED: it is gone, and is still to be killed. err: it is another Hone's, or its message
 * is none, or it says that the run cannot go on, with the status that it gives; then there is no message. Sticky. */
enum hn_received hn_process_listen(struct hn_process *process, struct hn_message *message, struct hn_error *err);

/* "killed by signal 11 (Segmentation fault)" or "exit status 1", then the last line it printed. */
const char *hn_process_describe_end(struct hn_process *process, int wait_status);

/* "; it last printed: " with the last line of its output, or "" when there is none. Both are valid until the next of them. */
const char *hn_process_describe_output(struct hn_process *process);
/* The build of this program, which a worker has to be of. */
extern const char hn_process_build[];

/* The worker that a parent has started: says hello, then answers until its channel is closed. It ends with the
 * parent. False: nobody listens. */
bool hn_worker_run(long parent, void (*serve)(struct hn_channel *channel));
/* The inside of a compile worker: reads a message and answers it, until the channel is closed. */
void hn_worker_compile(struct hn_channel *channel);

/* Says that the run cannot go on: {"type": "failed", "status": …, "message": …}. */
void hn_worker_fail(struct hn_channel *channel, enum hn_status status, const struct hn_error *err);

/* How many compile workers the machine allows: its affinity mask, the cgroup's CPU quota, and memory at about
 * 400 MiB a worker. At least 1. */
int hn_machine_jobs(void);

#endif
