/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_WORKERS_GPU_CLIENT_H
#define HONE_TUNER_WORKERS_GPU_CLIENT_H

#include <poll.h>
#include <stdbool.h>

#include "runtime/device/health.h"
#include "runtime/process/message.h"
#include "tuner/hosts/hosts.h"
#include "tuner/workers/meter.h"
#include "tuner/workers/timeline.h"

/* hone's side of the GPU worker: one request at a time, a time limit on each, a new worker where one died. What was
 * set up (device, bench, references, seed) is sent again to every new worker before the next request. */
struct hn_gpu_client;

/* announces: says on stderr, once, who has the GPU meanwhile. */
enum hn_status hn_gpu_client_create(double run_timeout_s, bool announces, struct hn_gpu_client **client,
                                    struct hn_error *err);
/* Before anything is asked of it: the worker runs at this host. Borrowed. */
void hn_gpu_client_set_host(struct hn_gpu_client *client, struct hn_host *host);
/* Kills the worker, which is of no more use; destroy is still to be called. */
void hn_gpu_client_end(const struct hn_gpu_client *client);
/* Kills the worker and does not wait until the driver has cleaned up after it. */
void hn_gpu_client_destroy(struct hn_gpu_client *client);

/* Sends a setup message, waits for its reply (the caller's to finish; may be NULL) and keeps the message for later
 * workers. HN_ERUN when it fails. replaces: type of an earlier kept message that it takes the place of, or NULL. */
enum hn_status hn_gpu_client_setup(struct hn_gpu_client *client, const struct hn_message *message,
                                   const char *replaces, struct hn_message *reply, struct hn_error *err);

/* Keeps it for whoever comes next, as the last, without sending it now. taken: a worker that is up has had it. */
enum hn_status hn_gpu_client_keep(struct hn_gpu_client *client, const struct hn_message *message, const char *replaces,
                                  bool taken, struct hn_error *err);

/* The same in two steps, between which other things can be done. */
enum hn_status hn_gpu_client_begin_setup(struct hn_gpu_client *client, const struct hn_message *message,
                                         struct hn_error *err);
enum hn_status hn_gpu_client_end_setup(struct hn_gpu_client *client, const char *replaces, struct hn_message *reply,
                                       struct hn_error *err);

/* The compute capability that the device will turn out to have, as far as can be told before the driver is up; 0 while
 * it is not known, or when it can not be. */
int hn_gpu_client_guess(const struct hn_gpu_client *client);

/* Lets go of the bench and what was set up for it; device and context stay for the next problem. A worker that is still
 * at work is killed instead. */
enum hn_status hn_gpu_client_leave(struct hn_gpu_client *client, struct hn_error *err);

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

size_t hn_gpu_client_poll(struct hn_gpu_client *client, struct pollfd *fds); /* at most 2 */
/* It is at a request, of which nothing came: there is nothing to do but to look at its limit. */
bool hn_gpu_client_quiet(const struct hn_gpu_client *client);
size_t hn_gpu_client_polled(struct hn_gpu_client *client, const struct pollfd *fds); /* as hn_process_polled */
int hn_gpu_client_timeout_ms(const struct hn_gpu_client *client);
/* Moves on without blocking. HN_ERUN: the worker can not be set up, or says that the run failed. */
enum hn_status hn_gpu_client_process(struct hn_gpu_client *client, struct hn_gpu_result *result,
                                     struct hn_error *err);
/* Called instead of sleeping wherever the client blocks: returns when one of its descriptors or its time limit wants
 * attention, at the latest, and may do other work meanwhile. NULL: sleeps. */
typedef enum hn_status hn_gpu_client_sleep(void *sleeper, struct hn_error *err);
void hn_gpu_client_set_sleep(struct hn_gpu_client *client, hn_gpu_client_sleep *sleep, void *sleeper);

/* Blocks for the end of the request; HN_EINTERRUPTED when a signal came, or sleep says so. */
enum hn_status hn_gpu_client_wait(struct hn_gpu_client *client, struct hn_gpu_result *result, struct hn_error *err);

/* Who has the GPU ("process 4711 has it since 12:03:04") while a request has waited for its turn for more than a second;
 * NULL: none has. */
const char *hn_gpu_client_holder(const struct hn_gpu_client *client);
/* Runs while the worker has its turn on the GPU. */
struct hn_meter *hn_gpu_client_meter(struct hn_gpu_client *client);
/* What the workers have seen of the GPU's clocks and its other users, in this problem. */
const struct hn_health *hn_gpu_client_health(const struct hn_gpu_client *client);
/* Where to note what the workers do. Borrowed. */
void hn_gpu_client_set_timeline(struct hn_gpu_client *client, struct hn_timeline *timeline);

#endif
