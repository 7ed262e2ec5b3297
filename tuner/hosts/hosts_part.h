/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_HOSTS_HOSTS_PART_H
#define HONE_TUNER_HOSTS_HOSTS_PART_H

#include <pthread.h>

#include "base/hash.h"
#include "tuner/hosts/hosts.h"
#include "tuner/hosts/launching.h"

/* What hosts.c (hosts, the thread that moves them, and what others ask of it) and host_worker.c (the workers of a host, and files for
 * them) share. All of it is under hosts->lock. */

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
    char *run;
    char *hone;
    int gpus_wanted;
    int compile_wanted;
    bool installs;
    bool sent; /* the program, this time */
    struct hn_process launcher; /* its channel is not used */
    struct hn_link link;
    const struct pollfd *polled_in; /* as of a worker */
    const struct pollfd *polled_output;
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

/* Only those are read of which the last poll of hosts->fds found something: one of hundreds says something, and each read in vain
 * costs as much as what it says. */
static inline bool hn_host_may_read(const struct pollfd *polled)
{
    return polled == NULL || polled->revents != 0;
}

/* host_worker.c: what workers there are to read. */
void hn_host_file_add(struct hn_host *host, const char *path, const struct hn_hash *hash);
/* Whether some are still to get there: what workers are told waits for that. */
bool hn_host_files_wait(const struct hn_host *host);
void hn_host_files_move(struct hn_host *host);
void hn_host_files_answer(struct hn_host *host, const struct hn_link_frame *frame);
/* With the host: it will be offered them anew. */
void hn_host_files_lose(struct hn_host *host);
void hn_host_files_finish(struct hn_host *host);

/* The workers. False, and errno: it can not be started. */
bool hn_host_worker_start(struct hn_host *host, const char *role, struct hn_process *process);
/* What the host says of a worker. */
void hn_host_worker_take(struct hn_host *host, const struct hn_link_frame *frame);
/* Moves what can be moved; ends those that nobody wants. */
void hn_host_workers_move(struct hn_host *host);
void hn_host_workers_lose(struct hn_host *host);
struct hn_host_worker *hn_host_worker_find(const struct hn_host *host, uint32_t number);
size_t hn_host_workers_poll(struct hn_host *host, struct pollfd *fds);

#endif
