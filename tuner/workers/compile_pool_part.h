/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_WORKERS_COMPILE_POOL_PART_H
#define HONE_TUNER_WORKERS_COMPILE_POOL_PART_H

#include <pthread.h>

#include "tuner/workers/compile_memory.h"
#include "tuner/workers/compile_pool.h"
#include "tuner/workers/compile_queue.h"
#include "runtime/process/process.h"

/* What compile_pool.c (jobs), compile_staff.c (the workers) and compile_pool_worker.c (what becomes of each) share. */

/* A host and how it does, as of the last look. */
struct hn_compile_host {
    struct hn_host *host;
    struct hn_host_view view;
};

struct hn_compile_worker {
    struct hn_process process;
    struct hn_compile_host *host; /* NULL: this process's own child */
    int index;                    /* among those of its host */
    struct hn_compile_job *job;
    bool ready; /* said its NVRTC version */
    int compiled;
    double started_ms; /* its job; of one that is not ready, itself */
};

/* The workers and the hosts where they run: of one pool, or of several that share them. */
struct hn_compile_staff {
    pthread_mutex_t lock; /* of all this, and of the pools */
    int jobs;
    struct hn_compile_worker *workers;
    struct hn_compile_host *hosts;
    size_t host_count;
    int start_failures; /* workers in a row that ended before they were ready */
    double start_limit_ms;
    char nvrtc[16];
    struct hn_compile_pool *owner; /* who moves it on */
    struct hn_compile_pool *pools; /* that it works for, who is next first; the owner among them */
    int wake; /* eventfd: the owner is to look; -1: there is no other pool */
    enum hn_status failed; /* why it came to an end, for the others */
    struct hn_error failure;
};

struct hn_compile_pool {
    struct hn_compile_staff *staff;
    struct hn_compile_pool *next; /* of the staff's */
    int wakeup; /* eventfd of a guest, its own; -1: the owner's */
    double timeout_ms;
    struct hn_compile_queue waiting;
    struct hn_compile_queue finished;
    size_t pending;
    size_t unfinished;
    struct hn_meter meter;
    double cpu_ms;
    struct hn_timeline *timeline; /* may be NULL */
    bool prefers_heavy;
    bool twins; /* points may have the same program */
    bool remembers;
    struct hn_compile_memory memory;
};

/* compile_staff.c; all under the lock. */
enum hn_status hn_compile_staff_create(int jobs, struct hn_compile_staff **staff, struct hn_error *err);
void hn_compile_staff_destroy(struct hn_compile_staff *staff);
void hn_compile_staff_end(const struct hn_compile_staff *staff);
enum hn_status hn_compile_staff_lend(struct hn_compile_staff *staff, struct hn_hosts *hosts, struct hn_error *err);
/* Workers that can be used now. */
int hn_compile_staff_usable(const struct hn_compile_staff *staff);
enum hn_status hn_compile_staff_start(struct hn_compile_staff *staff, uint64_t count, struct hn_error *err);
enum hn_status hn_compile_staff_process(struct hn_compile_staff *staff, struct hn_error *err);
size_t hn_compile_staff_poll(const struct hn_compile_staff *staff, struct pollfd *fds);
size_t hn_compile_staff_polled(struct hn_compile_staff *staff, const struct pollfd *fds);
int hn_compile_staff_timeout_ms(const struct hn_compile_staff *staff);

/* compile_pool.c */
/* The next waiting job, of the pools in turn; NULL: there is none. */
struct hn_compile_job *hn_compile_pool_next_job(struct hn_compile_staff *staff);
/* Jobs that wait for the same program as one that ended get its image, unless that ended by chance. */
void hn_compile_pool_spread(struct hn_compile_pool *pool, const struct hn_compile_job *done);
/* Whoever waits for the pool is to look. */
void hn_compile_pool_tell(const struct hn_compile_pool *pool);

/* compile_pool_worker.c */
/* Takes what the worker has sent; where it has died, its job is tried once more by another. */
enum hn_status hn_compile_worker_listen(struct hn_compile_staff *staff, struct hn_compile_worker *worker,
                                        struct hn_error *err);
enum hn_status hn_compile_worker_start(struct hn_compile_worker *worker, struct hn_error *err);
/* Kills one that takes too long over its job. HN_ERUN: one takes too long to start, as all then would. */
enum hn_status hn_compile_worker_enforce_limit(struct hn_compile_staff *staff, struct hn_compile_worker *worker,
                                               struct hn_error *err);
/* Kills one that is at a job, which is cancelled. */
void hn_compile_worker_halt(struct hn_compile_worker *worker);
/* Ends an idle one that has compiled enough. */
void hn_compile_worker_retire(struct hn_compile_worker *worker);
/* Sends the next waiting job to one that is idle. */
void hn_compile_worker_give_job(struct hn_compile_staff *staff, struct hn_compile_worker *worker);

#endif
