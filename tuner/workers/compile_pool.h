/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_WORKERS_COMPILE_POOL_H
#define HONE_TUNER_WORKERS_COMPILE_POOL_H

#include <jansson.h>
#include <poll.h>
#include <stdint.h>

#include "runtime/compile/compile.h"
#include "runtime/compile/source.h"
#include "tuner/hosts/hosts.h"
#include "tuner/workers/compile_queue.h"

/* Compile workers behind a queue (compile_queue.h), as many jobs at a time as there are workers. A worker that crashes is replaced
 * and its job tried once more; one that exceeds the time limit, or what its job is worth, is killed. The owner polls and calls
 * process. */
struct hn_compile_pool;

/* A worker loads NVRTC when it starts, which a cold file system may make slow. */
enum { HN_COMPILE_START_S = 60 };

/* jobs: workers at most; start_limit_s: for how long one may start. */
struct hn_compile_pool *hn_compile_pool_create(int jobs, double timeout_s, double start_limit_s);
/* Another client of the owner's queue: a guest, whose own calls are as of any pool, but that its process() only says whether all came
 * to an end: the owner alone moves the workers and polls. Eventfds: wakeup is signalled when something of the guest's is finished, wake
 * when it asks for something. Guests are destroyed before the owner. */
struct hn_compile_pool *hn_compile_pool_share(struct hn_compile_pool *owner, int wakeup, int wake);
/* Kills the workers, which are of no more use; destroy is still to be called. */
void hn_compile_pool_end(const struct hn_compile_pool *pool);
void hn_compile_pool_destroy(struct hn_compile_pool *pool);

/* Before anything is started: workers at these hosts, too. Borrowed. What a host's worker fails at is the host's failure; HN_ERUN of
 * the calls below: none is left that compiles. */
void hn_compile_pool_lend(struct hn_compile_pool *pool, struct hn_hosts *hosts);
/* Starts up to `count` workers before there are jobs for them, so that they load NVRTC meanwhile. */
enum hn_status hn_compile_pool_start(struct hn_compile_pool *pool, uint64_t count, struct hn_error *err);

/* How a client's jobs are dealt with; at first only programs of which points may share one are kept. */
enum hn_compile_rule {
    HN_COMPILE_KEEPS_ALL, /* what was compiled is there at once when it is asked for again: for several problems that share programs */
    HN_COMPILE_KEEPS_SHARED, /* that of programs which do not read all of what they are given: other points may have the same */
    HN_COMPILE_HEAVY_FIRST,  /* for what there is to the end: the last to end decides when that is */
};
void hn_compile_pool_set(struct hn_compile_pool *pool, enum hn_compile_rule rule, bool holds);

/* Wants a program under the caller's number. rank, weight and patience_ms as of struct hn_want; what is HN_RANK_SETUP has a time limit
 * of at least 60 s, and is always kept. */
enum hn_status hn_compile_pool_ask(struct hn_compile_pool *pool, uint64_t id, const struct hn_source *source, const char *architecture,
                                   enum hn_rank rank, double weight, double patience_ms, struct hn_error *err);
/* The usual one: asked, of no weight, for as long as it takes. */
enum hn_status hn_compile_pool_submit(struct hn_compile_pool *pool, uint64_t id, const struct hn_source *source,
                                      const char *architecture, struct hn_error *err);
/* Drops what is wanted of this rank and those behind it; kills: the workers that are at it, too. Drops what is wanted under a number. */
void hn_compile_pool_forget(struct hn_compile_pool *pool, enum hn_rank first, bool kills);
void hn_compile_pool_drop(struct hn_compile_pool *pool, uint64_t id);
/* A finished one, in the order finished; false when there is none. The image is the caller's to finish. */
bool hn_compile_pool_take(struct hn_compile_pool *pool, uint64_t *id, struct hn_image *image);
/* The same of number `id` alone. */
bool hn_compile_pool_take_one(struct hn_compile_pool *pool, uint64_t id, struct hn_image *image);

/* As many as can be started now, 1 at least. */
int hn_compile_pool_jobs(const struct hn_compile_pool *pool);
/* As many as there may ever be. */
size_t hn_compile_pool_slots(const struct hn_compile_pool *pool);
/* Asked for and not yet taken; and not yet finished. */
size_t hn_compile_pool_pending(const struct hn_compile_pool *pool);
size_t hn_compile_pool_unfinished(const struct hn_compile_pool *pool);
/* What the workers are at: those of the pool's own, how long the oldest of these has been compiled for, and how many compile for
 * whomever. cpu_ms: of all compilations that have ended, as the workers say. */
struct hn_compile_load {
    int own;
    int busy;
    double longest_ms;
    double cpu_ms;
};
struct hn_compile_load hn_compile_pool_load(const struct hn_compile_pool *pool, double now_ms);
/* For how long a worker has been at what is wanted under a number; 0: none is. */
double hn_compile_pool_age_ms(const struct hn_compile_pool *pool, uint64_t id, double now_ms);

/* Descriptors to poll: writes at most hn_compile_pool_slots() * 2, and returns the count. */
size_t hn_compile_pool_poll(const struct hn_compile_pool *pool, struct pollfd *fds);
size_t hn_compile_pool_polled(const struct hn_compile_pool *pool, const struct pollfd *fds); /* as hn_process_polled */
/* Milliseconds until a time limit strikes; -1 when none is running. */
int hn_compile_pool_timeout_ms(const struct hn_compile_pool *pool);
/* Starts jobs, takes replies, enforces limits; does not block. HN_ERUN: workers do not start, or NVRTC is missing. */
enum hn_status hn_compile_pool_process(struct hn_compile_pool *pool, struct hn_error *err);
/* Sleeps until there may be something to process, 200 ms at most. HN_EINTERRUPTED: a signal came. For who waits for nothing else. */
enum hn_status hn_compile_pool_sleep(struct hn_compile_pool *pool, struct hn_error *err);

/* "13.0"; false: no worker has said so yet. */
bool hn_compile_pool_nvrtc(const struct hn_compile_pool *pool, char version[16]);

/* Its meter and timeline are the owner's to set. */
struct hn_client *hn_compile_pool_client(struct hn_compile_pool *pool);

#endif
