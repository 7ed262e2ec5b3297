/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_WORKERS_COMPILE_POOL_PART_H
#define HONE_TUNER_WORKERS_COMPILE_POOL_PART_H

#include <pthread.h>

#include "runtime/process/process.h"
#include "tuner/workers/compile_pool.h"

/* What compile_pool.c (who asks) and compile_worker.c (the workers) share. */

/* A host and how it does, as of the last look. */
struct hn_compile_host {
    struct hn_host *host;
    struct hn_host_view view;
};

struct hn_compile_worker {
    struct hn_process process;
    struct hn_compile_host *host; /* NULL: this process's own child */
    int index;                    /* among those of its host */
    struct hn_job *job;
    bool ready; /* said its NVRTC version */
    int compiled;
    double started_ms; /* its job; of one that is not ready, itself */
};

/* The workers, the hosts where they run, and their queue: of one pool, or of several that share them. All under the lock. */
struct hn_compile_workers {
    pthread_mutex_t lock;
    struct hn_compile_queue queue;
    int count;
    struct hn_compile_worker *items;
    struct hn_compile_host *hosts;
    size_t host_count;
    int start_failures; /* workers in a row that ended before they were ready */
    double start_limit_ms;
    char nvrtc[16];
    int wake; /* eventfd: the owner is to look; -1: there is no other pool */
    struct hn_error failure; /* why it came to an end, for the others */
};

struct hn_compile_pool {
    struct hn_client client;
    struct hn_compile_workers *workers;
    bool is_guest;
    double timeout_ms;
    bool keeps_all;
    bool keeps_shared;
};

struct hn_compile_workers *hn_compile_workers_create(int count);
void hn_compile_workers_destroy(struct hn_compile_workers *workers);
void hn_compile_workers_lend(struct hn_compile_workers *workers, struct hn_hosts *hosts);
/* Workers that can be used now. */
int hn_compile_workers_usable(const struct hn_compile_workers *workers);
void hn_compile_workers_start(struct hn_compile_workers *workers, uint64_t count, struct hn_error *err);
void hn_compile_workers_process(struct hn_compile_workers *workers, struct hn_error *err);
int hn_compile_workers_timeout_ms(const struct hn_compile_workers *workers);
/* Kills one that is at a job. */
void hn_compile_worker_halt(struct hn_compile_workers *workers, struct hn_compile_worker *worker);

#endif
