/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_WORKERS_COMPILE_POOL_PART_H
#define HONE_TUNER_WORKERS_COMPILE_POOL_PART_H

#include "runtime/process/process.h"
#include "tuner/workers/compile_pool.h"

/* The inside of compile_pool.c, for its tests. */

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

/* The workers, the hosts where they run, and their queue: of one pool, or of several that share them. */
struct hn_compile_workers {
    struct hn_compile_queue queue;
    int count;
    struct hn_compile_worker *items;
    struct hn_compile_host *hosts;
    size_t host_count;
    int start_failures; /* workers in a row that ended before they were ready */
    double start_limit_ms;
    char nvrtc[16];
    struct hn_error failure; /* why it came to an end, for the others */
};

struct hn_compile_pool {
    struct hn_client client;
    struct hn_compile_workers *workers;
    bool is_guest;
    int wake; /* of a guest: eventfd of whoever moves the workers */
    double timeout_ms;
    bool keeps_all;
    bool keeps_shared;
};

#endif
