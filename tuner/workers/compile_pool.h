/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_WORKERS_COMPILE_POOL_H
#define HONE_TUNER_WORKERS_COMPILE_POOL_H

#include <poll.h>
#include <sys/queue.h>

#include "runtime/compile/source.h"
#include "runtime/process/message.h"
#include "tuner/hosts/hosts.h"
#include "tuner/workers/usage.h"

/* Compile workers behind one queue for all that need compilations, as many jobs at a time as there are workers. A compilation (job) is
 * named by its program's key; whoever needs it has a want on it, under a number of its own, so that a program is compiled once
 * however many points, problems or searches ask for it. A worker that crashes is replaced and its job tried once more; one that
 * exceeds the time limit, or what its job is worth, is killed. The owner polls and calls process. */

/* A worker loads NVRTC when it starts, which a cold file system may make slow. */
enum { HN_COMPILE_START_S = 60 };

/* The order of jobs; within a rank the oldest comes first, or the heaviest. */
enum hn_rank {
    HN_RANK_SETUP,   /* all else depends on it: it has a time limit of at least 60 s, and is always kept */
    HN_RANK_ASKED,
    HN_RANK_GUESSED, /* will probably be asked for: it is not handed out, nor counted */
    HN_RANK_COUNT,
};

struct hn_want {
    struct hn_compile_pool *client;
    uint64_t id;
    enum hn_rank rank;
    double weight;         /* a guess at how long it takes, in any unit */
    double patience_ms;    /* it is worth so much time, and no more */
    struct hn_image image; /* once it is finished */
    TAILQ_ENTRY(hn_want) next; /* of the job, in the order asked; then of the client's finished ones */
};
TAILQ_HEAD(hn_wants, hn_want);

enum hn_job_state { HN_JOB_WAITING, HN_JOB_RUNNING, HN_JOB_DONE };

struct hn_job {
    struct hn_hash key;
    struct hn_message request;
    enum hn_job_state state;
    struct hn_wants wants;    /* those that are not finished */
    struct hn_compile_pool *client; /* for whom it was begun; NULL: gone */
    struct hn_image image;    /* once it is done */
    int attempts;
    double timeout_ms;
    bool kept;          /* its image is, for who asks for the same later */
    bool paid;          /* somebody was told how long it took; for others it took no time */
    TAILQ_ENTRY(hn_job) next; /* of those that wait */
    LIST_ENTRY(hn_job) same;  /* of the bucket */
};

enum { HN_QUEUE_BUCKETS = 1024 };

struct hn_compile_queue {
    TAILQ_HEAD(, hn_job) waiting; /* oldest first */
    LIST_HEAD(hn_jobs, hn_job) buckets[HN_QUEUE_BUCKETS];
    TAILQ_HEAD(, hn_compile_pool) clients; /* who is served next comes first */
    size_t kept_bytes;
};

/* Somebody who asks: the owner, who alone moves the workers and polls, or a guest, a search in a thread of its own, whose process()
 * only says whether all came to an end. Guests are destroyed before the owner. */
struct hn_compile_pool {
    /* The client's to set, and to read. */
    bool keeps_all;     /* what was compiled is there at once when it is asked for again: for several problems that share programs */
    bool keeps_shared;  /* that of programs which do not read all of what they are given: other points may have the same; at first so */
    bool prefers_heavy; /* for what there is to the end: the last to end decides when that is */
    int early; /* of an owner: so many workers start before there are jobs, so that they load NVRTC meanwhile */
    struct hn_timeline *timeline; /* may be NULL */
    struct hn_meter meter; /* runs while something is compiled for it */
    double cpu_ms;      /* of all compilations for it that have ended, as the workers say */
    size_t pending;     /* wants that are not guesses and were not taken */
    size_t unfinished;  /* of them */

    struct hn_wants finished; /* in the order finished */
    int passed_over; /* how often in a row its oldest job had to wait for a heavier one */
    int wakeup; /* eventfd: something is finished, or (the owner's) a guest has asked for something; -1: none */
    double timeout_ms;
    const char *nvrtc; /* "13.0"; "": no worker has said so yet */
    struct hn_compile_workers *workers;
    struct hn_compile_queue *queue;
    TAILQ_ENTRY(hn_compile_pool) next; /* who is served behind it */
};

/* jobs: workers at most; start_limit_s: for how long one may start. */
struct hn_compile_pool *hn_compile_pool_create(int jobs, double timeout_s, double start_limit_s);
/* A guest, with its eventfd. */
struct hn_compile_pool *hn_compile_pool_share(struct hn_compile_pool *owner, int wakeup);
/* Kills the workers, which are of no more use; destroy is still to be called. */
void hn_compile_pool_end(const struct hn_compile_pool *pool);
void hn_compile_pool_destroy(struct hn_compile_pool *pool);

/* Before anything is started: workers at these hosts, too. Borrowed. What a host's worker fails at is the host's failure; HN_ERUN of
 * the calls below: none is left that compiles. */
void hn_compile_pool_lend(struct hn_compile_pool *pool, struct hn_hosts *hosts);
/* Wants a program: the client is the pool. */
enum hn_status hn_compile_pool_ask(const struct hn_want *want, const struct hn_source *source, const char *architecture,
                                   struct hn_error *err);
/* The usual one: asked, of no weight, for as long as it takes. */
enum hn_status hn_compile_pool_submit(struct hn_compile_pool *pool, uint64_t id, const struct hn_source *source,
                                      const char *architecture, struct hn_error *err);
/* Drops what is wanted of this rank and those behind it, all or that under a number. */
void hn_compile_pool_forget(struct hn_compile_pool *pool, enum hn_rank first, const uint64_t *id);
/* Drops all, and kills the workers that are at what nobody wants any more. */
void hn_compile_pool_stop(struct hn_compile_pool *pool);
/* A finished one, the first or that of this number; false when there is none. The image is the caller's to finish. */
bool hn_compile_pool_take(struct hn_compile_pool *pool, const uint64_t *wanted, uint64_t *id, struct hn_image *image);
/* The same for who waits for nothing else: blocks for it. False: nothing is pending, or it failed. HN_EINTERRUPTED: a signal came. */
bool hn_compile_pool_wait(struct hn_compile_pool *pool, const uint64_t *wanted, uint64_t *id, struct hn_image *image,
                          struct hn_error *err);

struct hn_compile_load {
    int jobs; /* workers that can be started now, 1 at least */
    int busy; /* that compile for whomever */
    int own;  /* for this client */
    double longest_ms; /* that the oldest of its jobs has been compiled for */
    double age_ms;     /* that what is wanted under the number has been; 0: no worker is at it */
};
/* The workers' load. id NULL: no number is asked about. */
struct hn_compile_load hn_compile_pool_load(const struct hn_compile_pool *pool, const uint64_t *id);

/* Descriptors to poll: writes at most two a worker to fds, or (polled) takes down what the poll found of these, and
 * returns the count; of NULL, how many there may ever be. */
size_t hn_compile_pool_poll(const struct hn_compile_pool *pool, struct pollfd *fds, bool polled);
/* Milliseconds until a time limit strikes; -1 when none is running. */
int hn_compile_pool_timeout_ms(const struct hn_compile_pool *pool);
/* Starts jobs, takes replies, enforces limits; does not block. HN_ERUN: workers do not start, or NVRTC is missing. */
enum hn_status hn_compile_pool_process(struct hn_compile_pool *pool, struct hn_error *err);

#endif
