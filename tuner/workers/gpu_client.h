/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_WORKERS_GPU_CLIENT_H
#define HONE_TUNER_WORKERS_GPU_CLIENT_H

#include <poll.h>
#include <stdbool.h>

#include "runtime/device/health.h"
#include "runtime/process/process.h"
#include "tuner/hosts/hosts.h"
#include "tuner/workers/usage.h"

/* hone's side of the GPU worker: one request at a time, a time limit on each, a new worker where one died. A worker is brought to
 * the state that a request needs (device, context, bench, references, seed) by the kept setup messages, which are sent one by one,
 * each after the reply to the one before; one that is up gets them without waiting for a request. */
struct hn_gpu_client {
    /* The owner's to set: */
    struct hn_timeline *timeline; /* where to note what the workers do; may be NULL */
    bool announces; /* says on stderr, once, who has the GPU meanwhile */
    /* And to read: */
    struct hn_meter meter;   /* runs while the worker has its turn on the GPU */
    struct hn_health health; /* what the workers have seen of the GPU's clocks and its other users, in this problem */
    int guess; /* the compute capability that the device will turn out to have, before the driver is up; 0: not known */

    struct hn_process process;
    struct hn_host *host; /* where the worker runs; NULL: this process's own child. Borrowed */
    double run_timeout_ms;
    struct hn_message *setup;
    size_t setup_count;
    size_t step;  /* of them this worker has taken */
    bool waiting; /* for the reply to the setup message `step` or to the request */
    bool requested;
    struct hn_message request;
    double request_limit_ms;
    bool begun;      /* what is waited for has its turn on the GPU */
    char holder[64]; /* who has it meanwhile; "": nobody else */
    int attempts;
    int setup_deaths;            /* in a row */
    double sent_ms;              /* when what is waited for was sent, or began on the GPU */
    double asked_ms;             /* when it was sent */
};

struct hn_gpu_client *hn_gpu_client_create(double run_timeout_s, struct hn_host *host);
/* Kills the worker and does not wait until the driver has cleaned up after it. */
void hn_gpu_client_destroy(struct hn_gpu_client *client);

/* Keeps a setup message, as the last; `replaces` is the type of an earlier one that it takes the place of, or NULL. taken: a worker that
 * is up has had it. */
void hn_gpu_client_keep(struct hn_gpu_client *client, const struct hn_message *message, const char *replaces, bool taken);
/* Keeps what holds for another's problem, and was not kept yet. */
void hn_gpu_client_keep_as(struct hn_gpu_client *client, const struct hn_gpu_client *other);
/* Lets go of the bench and what was set up for it; device and context stay for the next problem. A worker that is still at work is
 * killed, another one is asked to, as its request. */
void hn_gpu_client_leave(struct hn_gpu_client *client);

/* Starts a request; only when not busy. The message is taken over. timeout_s 0: the client's run timeout. */
enum hn_status hn_gpu_client_request(struct hn_gpu_client *client, struct hn_message *message, double timeout_s,
                                     struct hn_error *err);
bool hn_gpu_client_busy(const struct hn_gpu_client *client);
/* Whether a request would get to a worker now: its host is there. */
bool hn_gpu_client_reachable(const struct hn_gpu_client *client);
/* Kills the worker with what it is at. The next request has another one. */
void hn_gpu_client_drop(struct hn_gpu_client *client);

/* What came of a request. */
enum hn_gpu_end {
    HN_GPU_NOTHING, /* not yet */
    HN_GPU_REPLY,   /* message holds the reply; text what a worker printed that is of no more use */
    HN_GPU_TIMEOUT, /* killed at its time limit; text says so */
    HN_GPU_CRASH,   /* the worker died twice over it; text says how */
};
struct hn_gpu_result {
    enum hn_gpu_end end;
    struct hn_message message;
    char text[640];
};

/* It is at a request, of which nothing came: there is nothing to do but to look at its limit. */
bool hn_gpu_client_quiet(const struct hn_gpu_client *client);
int hn_gpu_client_timeout_ms(const struct hn_gpu_client *client);
/* Moves on without blocking; the owner polls its process. HN_ERUN: the worker can not be set up, or says that the run failed. */
enum hn_status hn_gpu_client_process(struct hn_gpu_client *client, struct hn_gpu_result *result,
                                     struct hn_error *err);
/* Who has the GPU ("process 4711 has it since 12:03:04") while a request has waited for its turn for more than a second;
 * NULL: none has. */
const char *hn_gpu_client_holder(const struct hn_gpu_client *client);

#endif
