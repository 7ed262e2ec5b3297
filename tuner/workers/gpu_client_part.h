/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_WORKERS_GPU_CLIENT_PART_H
#define HONE_TUNER_WORKERS_GPU_CLIENT_PART_H

#include "tuner/workers/gpu_client.h"
#include "runtime/process/process.h"

/* What gpu_client.c (requests) and gpu_client_setup.c (what a worker needs before them) share. */

/* A worker is brought to the state that a request needs by sending the kept setup messages one by
 * one, each waiting for its reply; `step` counts those that this worker has taken. */
struct hn_gpu_client {
    struct hn_process process;
    struct hn_host *host; /* NULL: this process's own child */
    double run_timeout_ms;
    struct hn_message *setup;
    size_t setup_count;
    size_t step;
    bool waiting; /* for the reply to the setup message `step` or to the request */
    bool requested;
    struct hn_message request;
    double request_limit_ms;
    bool begun; /* what is waited for has its turn on the GPU */
    char holder[64]; /* who has it meanwhile; "": nobody else */
    bool announces; /* that it is waited for, if it has to be and was not yet */
    int attempts;
    int setup_deaths;            /* in a row */
    double sent_ms;              /* when what is waited for was sent, or began on the GPU */
    double asked_ms;             /* when it was sent */
    struct hn_message beginning; /* a setup message that was begun and not ended; json NULL: none */
    int guess;                   /* compute capability, before the device is known; 0: none */
    struct hn_timeline *timeline; /* may be NULL */
    struct hn_meter meter;
    struct hn_health health;
    hn_gpu_client_sleep *sleep;
    void *sleeper;
};

/* Computing references may take long on a large machine; a hang still ends. */
#define HN_GPU_SETUP_LIMIT_MS 120e3
/* Of one at a host that has got all that was sent. */
enum { HN_GPU_MUTE_MS = 15000 };

/* Sends what is next: a setup message that this worker has not had, or the request. Starts a worker when there is
 * none. */
enum hn_status hn_gpu_client_send_next(struct hn_gpu_client *client, struct hn_gpu_result *result,
                                       struct hn_error *err);
void hn_gpu_client_drop_request(struct hn_gpu_client *client);
/* How it ended, as waitpid() says. */
int hn_gpu_client_drop_worker(struct hn_gpu_client *client);

#endif
