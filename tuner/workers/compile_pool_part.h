/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_WORKERS_COMPILE_POOL_PART_H
#define HONE_TUNER_WORKERS_COMPILE_POOL_PART_H

#include "tuner/workers/compile_memory.h"
#include "tuner/workers/compile_pool.h"
#include "tuner/workers/compile_queue.h"
#include "runtime/process/process.h"

/* What compile_pool.c (jobs) and compile_pool_worker.c (what becomes of each worker) share. */

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

struct hn_compile_pool {
    int jobs;
    double timeout_ms;
    struct hn_compile_worker *workers;
    struct hn_compile_host *hosts;
    size_t host_count;
    struct hn_compile_queue waiting;
    struct hn_compile_queue finished;
    size_t pending;
    int start_failures; /* workers in a row that ended before they were ready */
    double start_limit_ms;
    size_t unfinished;
    char nvrtc[16];
    struct hn_meter meter;
    double cpu_ms;
    struct hn_timeline *timeline; /* may be NULL */
    bool prefers_heavy;
    bool remembers;
    struct hn_compile_memory memory;
};

/* Takes what the worker has sent; where it has died, its job is tried once more by another. */
enum hn_status hn_compile_worker_listen(struct hn_compile_pool *pool, struct hn_compile_worker *worker,
                                        struct hn_error *err);
enum hn_status hn_compile_worker_start(struct hn_compile_worker *worker, struct hn_error *err);
/* Kills one that takes too long over its job. HN_ERUN: one takes too long to start, as all then would. */
enum hn_status hn_compile_worker_enforce_limit(struct hn_compile_pool *pool, struct hn_compile_worker *worker,
                                               struct hn_error *err);
/* Kills one that is at a job, which is cancelled. */
void hn_compile_worker_halt(struct hn_compile_pool *pool, struct hn_compile_worker *worker);
/* Ends an idle one that has compiled enough. */
void hn_compile_worker_retire(struct hn_compile_worker *worker);
/* Sends the next waiting job to one that is idle. */
void hn_compile_worker_give_job(struct hn_compile_pool *pool, struct hn_compile_worker *worker);

#endif
