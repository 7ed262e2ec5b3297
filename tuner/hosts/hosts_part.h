/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_HOSTS_HOSTS_PART_H
#define HONE_TUNER_HOSTS_HOSTS_PART_H

#include <pthread.h>

#include "tuner/hosts/hosts.h"
#include "tuner/hosts/link.h"

/* How an agent comes up at a host: the command that starts it, this program where there is no Hone, and the line by which it greets. */

/* Starts `run hone worker node`, or with `installs` `run sh`, by the shell, in a process group of its own. to and from: its stdin and stdout; its stderr is
 * drained as a worker's output. hone NULL: this very program, by its path. count: whether the agent is to look how many GPUs
 * there are. */
enum hn_status hn_launcher_start(struct hn_process *launcher, const char *run, const char *hone, bool count, bool installs, int *to, int *from,
                                 struct hn_error *err);

/* A host without Hone is given this very program over its launcher, which starts `sh` there: a line that makes a folder of its own under
 * TMPDIR, says that it is ready, takes so many bytes and runs them as the agent; the agent removes file and folder before it greets. */
#define HN_INSTALL_READY "\nhone-install\n"

/* Queues the line. HN_ERUN: this program can not be read. */
enum hn_status hn_install_begin(struct hn_bytes *output, bool count, struct hn_error *err);
/* Queues the program. */
enum hn_status hn_install_send(struct hn_bytes *output, struct hn_error *err);

/* The first words of a host's agent: a line, so that it is found behind what launchers and shells print, and can be read by whatever
 * Hone is at the other end.
 *
 *     hone-node protocol=4 build=0.1.0 host=gpu7 compile=16 gpus=4 */
struct hn_greeting {
    int protocol;
    char build[32];
    char host[64];
    int compile; /* workers that the machine allows */
    int gpus;    /* that the driver has */
};

/* With the newline before and behind it. */
void hn_greeting_write(const struct hn_greeting *greeting, char text[256]);

/* Looks for it: *size is how many bytes come before it, *length its own. HN_ENOTFOUND: it is not there yet. HN_ERUN: it is of
 * another Hone, or is none. */
enum hn_status hn_greeting_find(const char *text, size_t limit, struct hn_greeting *greeting, size_t *size, size_t *length,
                                struct hn_error *err);

/* The inside of hosts.c, of which a test moves the workers of a host without its thread. All of it is under hosts->lock. */

/* A worker at a host: this side of its channel and of its output. */
struct hn_host_worker {
    uint32_t number;
    int channel; /* -1: closed */
    int output;
    const struct pollfd *polled; /* the channel among hosts->fds; NULL: it was not polled yet */
    struct hn_bytes pending;     /* for the channel */
    bool ended;  /* there; what is pending is still to be taken */
    bool lost;   /* with its host */
    bool left;   /* nobody here wants it any more */
    int wait_status;
    struct hn_host_worker *next;
};

struct hn_host {
    struct hn_place place; /* first: a place is a host */
    struct hn_hosts *hosts;
    char *run, *hone;
    int gpus_wanted, compile_wanted;
    bool installs;
    bool sent; /* the program, this time */
    struct hn_process launcher; /* its channel is not used */
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
    struct hn_host_file *files;
};

struct hn_hosts {
    pthread_mutex_t lock;
    pthread_t thread;
    bool ends;
    int wake;   /* eventfd: the thread is to look */
    int wakeup; /* eventfd: the owner is to look */
    size_t count;
    struct hn_host *items;
    struct pollfd *fds;
    size_t fd_capacity;
};

/* The workers. False, and errno: it can not be started. */
bool hn_host_worker_start(struct hn_host *host, const char *role, struct hn_process *process);
/* Takes what the host says of a worker. */
void hn_host_worker_take(struct hn_host *host, const struct hn_link_frame *frame);
/* Moves what can be moved; ends those that nobody wants. */
void hn_host_workers_move(struct hn_host *host);
void hn_host_workers_lose(struct hn_host *host);
struct hn_host_worker *hn_host_worker_find(const struct hn_host *host, uint32_t number);

#endif
