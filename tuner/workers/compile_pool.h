/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_WORKERS_COMPILE_POOL_H
#define HONE_TUNER_WORKERS_COMPILE_POOL_H

#include <jansson.h>
#include <poll.h>
#include <stdint.h>

#include "runtime/compile/compile.h"
#include "runtime/compile/source.h"
#include "tuner/hosts/hosts.h"
#include "tuner/workers/meter.h"
#include "tuner/workers/timeline.h"

/* Compile workers and the queue before them. Jobs are started in the order submitted, as many at a time as there are
 * workers, or heavy ones first. A worker that crashes is replaced and its job tried once more; one that exceeds the time
 * limit, or what its job is worth, is killed. Single-threaded: the owner polls and calls process. */
struct hn_compile_pool;

/* jobs: workers at most. */
enum hn_status hn_compile_pool_create(int jobs, double timeout_s, struct hn_compile_pool **pool,
                                      struct hn_error *err);
/* Kills the workers, which are of no more use; destroy is still to be called. */
void hn_compile_pool_end(const struct hn_compile_pool *pool);
void hn_compile_pool_destroy(struct hn_compile_pool *pool);

/* Before anything is started: workers at these hosts, too. Borrowed. What a host's worker fails at is the host's failure; HN_ERUN of
 * the calls below: none is left that compiles. */
enum hn_status hn_compile_pool_lend(struct hn_compile_pool *pool, struct hn_hosts *hosts, struct hn_error *err);

/* Another queue before the same workers, for another thread: a guest, whose own calls are as of any pool, but that its process() only
 * says whether all came to an end. The owner alone moves the workers, polls and clears; whoever has jobs gets workers in turn. wakeup:
 * an eventfd that is signalled when something of the guest's is finished. Guests are destroyed before the owner. */
enum hn_status hn_compile_pool_share(struct hn_compile_pool *owner, int wakeup, struct hn_compile_pool **guest,
                                     struct hn_error *err);
/* After polling: what guests have said is seen. */
void hn_compile_pool_clear(const struct hn_compile_pool *pool);

/* As many as can be started now, 1 at least. */
int hn_compile_pool_jobs(const struct hn_compile_pool *pool);
/* What the workers are at: those of the pool's own, how long the oldest of these has been compiled for, and how many compile for
 * whomever. */
struct hn_compile_load {
    int own;
    int busy;
    double longest_ms;
};
struct hn_compile_load hn_compile_pool_load(const struct hn_compile_pool *pool, double now_ms);
/* As many as there may ever be. */
size_t hn_compile_pool_slots(const struct hn_compile_pool *pool);
/* Jobs submitted and not yet taken. */
size_t hn_compile_pool_pending(const struct hn_compile_pool *pool);

/* Jobs submitted and not yet finished. */
size_t hn_compile_pool_unfinished(const struct hn_compile_pool *pool);

/* Starts up to `count` workers before there are jobs for them, so that they load NVRTC meanwhile. */
enum hn_status hn_compile_pool_start(struct hn_compile_pool *pool, uint64_t count, struct hn_error *err);

/* From now on what was compiled is kept, and what is asked for again is there at once: for several problems that share
 * programs. What is being compiled is never compiled by another worker at the same time. */
void hn_compile_pool_remember(struct hn_compile_pool *pool);
/* Whether programs that do not read all of what they are given are kept, too, since other points of the problem may have the
 * same. So it is at first. */
void hn_compile_pool_expect_twins(struct hn_compile_pool *pool, bool twins);

/* Queues one compilation under the caller's number. weight: a guess at how long it takes, in any unit; 0 for all keeps
 * their order. */
enum hn_status hn_compile_pool_submit(struct hn_compile_pool *pool, uint64_t id, const struct hn_source *source,
                                      const char *architecture, double weight, struct hn_error *err);
/* The same before all that waits, with a time limit of at least 60 s: what the whole run depends on. Always kept, as by
 * hn_compile_pool_remember. */
enum hn_status hn_compile_pool_submit_first(struct hn_compile_pool *pool, uint64_t id, const struct hn_source *source,
                                            const char *architecture, struct hn_error *err);

/* From now on the heaviest job is started first, for what there is to the end: the last to end decides when that is. The
 * oldest is passed over as many times in a row as there are workers. */
void hn_compile_pool_prefer_heavy(struct hn_compile_pool *pool, bool prefers);

/* Queues one that will probably be asked for: it is not handed out, nor counted, until it is claimed under a number of
 * its own. False: there is no such job, or no longer. */
enum hn_status hn_compile_pool_submit_ahead(struct hn_compile_pool *pool, uint64_t id, const struct hn_source *source,
                                            const char *architecture, double weight, struct hn_error *err);
bool hn_compile_pool_claim(struct hn_compile_pool *pool, uint64_t ahead, uint64_t id);
/* One that was submitted is worth compiling for so long and no longer: then it is stopped, as HN_OUTCOME_COMPILE_STOPPED. */
void hn_compile_pool_limit(struct hn_compile_pool *pool, uint64_t id, double patience_ms);
/* For how long a worker has been at it; 0: none is. */
double hn_compile_pool_age_ms(const struct hn_compile_pool *pool, uint64_t id, double now_ms);
/* The other way round: nobody asks for the job any more. */
void hn_compile_pool_disclaim(struct hn_compile_pool *pool, uint64_t id);
/* Forgets all jobs, or those that nobody has claimed; what is being compiled comes to nothing. */
void hn_compile_pool_cancel(struct hn_compile_pool *pool, bool ahead_only);
/* Forgets all jobs and kills the workers that are at one. */
void hn_compile_pool_halt(struct hn_compile_pool *pool);
/* A finished one, in the order finished; false when there is none. The image is the caller's to finish. */
bool hn_compile_pool_take(struct hn_compile_pool *pool, uint64_t *id, struct hn_image *image);
/* The same of job `id` alone. */
bool hn_compile_pool_take_one(struct hn_compile_pool *pool, uint64_t id, struct hn_image *image);

/* Descriptors to poll: writes at most hn_compile_pool_slots() * 2, and one more where there are guests, and returns the count. */
size_t hn_compile_pool_poll(const struct hn_compile_pool *pool, struct pollfd *fds);
size_t hn_compile_pool_polled(const struct hn_compile_pool *pool, const struct pollfd *fds); /* as hn_process_polled */
/* Milliseconds until a time limit strikes; -1 when none is running. */
int hn_compile_pool_timeout_ms(const struct hn_compile_pool *pool);
/* Starts jobs, takes replies, enforces limits; does not block. HN_ERUN: workers do not start, or NVRTC is missing. */
enum hn_status hn_compile_pool_process(struct hn_compile_pool *pool, struct hn_error *err);

/* Whether a worker has said its version of NVRTC. */
bool hn_compile_pool_knows_nvrtc(const struct hn_compile_pool *pool);
/* "13.0", once a worker has said so: starts one when none has. sleep: called to wait, on what
 * hn_compile_pool_poll gives; what it fails with ends this. */
enum hn_status hn_compile_pool_nvrtc(struct hn_compile_pool *pool,
                                     enum hn_status (*sleep)(void *sleeper, struct hn_error *err), void *sleeper,
                                     char version[16], struct hn_error *err);

/* Runs while at least one worker compiles. */
struct hn_meter *hn_compile_pool_meter(struct hn_compile_pool *pool);
/* Processor time of all compilations that have ended, as the workers say. */
double hn_compile_pool_cpu_ms(const struct hn_compile_pool *pool);
/* Where to note the compilations. Borrowed. */
void hn_compile_pool_set_timeline(struct hn_compile_pool *pool, struct hn_timeline *timeline);

#endif
