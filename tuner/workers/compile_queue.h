/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_WORKERS_COMPILE_QUEUE_H
#define HONE_TUNER_WORKERS_COMPILE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "runtime/compile/image.h"
#include "runtime/process/message.h"
#include "tuner/workers/usage.h"

/* One queue of compilations for all that need some. A compilation (job) is named by its program's key; whoever needs it has a
 * want on it, under a number of its own, so that a program is compiled once however many points, problems or searches ask for it. */

/* What comes first; within a rank the oldest job, or the heaviest. */
enum hn_rank {
    HN_RANK_SETUP,   /* all else depends on it */
    HN_RANK_ASKED,
    HN_RANK_GUESSED, /* will probably be asked for: it is not handed out, nor counted */
    HN_RANK_COUNT,
};

struct hn_want {
    struct hn_client *client;
    uint64_t id;
    enum hn_rank rank;
    double weight;         /* a guess at how long it takes, in any unit */
    double patience_ms;    /* it is worth so much time, and no more */
    struct hn_image image; /* once it is finished */
    struct hn_want *next;  /* of the job, in the order asked; then of the client's finished ones */
};

enum hn_job_state { HN_JOB_WAITING, HN_JOB_RUNNING, HN_JOB_DONE };

struct hn_job {
    struct hn_hash key;
    struct hn_message request;
    enum hn_job_state state;
    struct hn_want *wants;    /* those that are not finished */
    struct hn_client *client; /* for whom it was begun; NULL: gone */
    struct hn_image image;    /* once it is done */
    int attempts;
    double timeout_ms;
    bool kept;          /* its image is, for who asks for the same later */
    bool paid;          /* somebody was told how long it took; for others it took no time */
    struct hn_job *next; /* of those that wait */
    struct hn_job *same; /* of the bucket */
};

/* Somebody who asks: a search, in a thread of its own maybe. */
struct hn_client {
    struct hn_want *finished; /* in the order finished */
    size_t pending;           /* wants that are not guesses and were not taken */
    size_t unfinished;        /* of them */
    bool prefers_heavy;
    int passed_over; /* how often in a row its oldest job had to wait for a heavier one */
    int wakeup;      /* eventfd that is signalled when something is finished; -1: none */
    struct hn_meter meter; /* runs while something is compiled for it */
    double cpu_ms;
    struct hn_timeline *timeline; /* may be NULL */
    struct hn_compile_queue *queue;
    struct hn_client *next;       /* who is served behind it */
};

enum { HN_QUEUE_BUCKETS = 1024 };

struct hn_compile_queue {
    struct hn_job *waiting; /* oldest first */
    struct hn_job *buckets[HN_QUEUE_BUCKETS];
    struct hn_client *clients; /* who is served next comes first */
    size_t kept_bytes;
    size_t kept_count;
};

void hn_compile_queue_finish(struct hn_compile_queue *queue);
void hn_compile_queue_add_client(struct hn_compile_queue *queue, struct hn_client *client);
/* With all its wants; what is compiled for it goes on. */
void hn_compile_queue_remove_client(struct hn_client *client);

/* Of a want all but its image and list is given; the request is taken over, and of no use where the job is there already.
 * What is kept, or was guessed and is done, is finished at once. */
void hn_compile_queue_ask(const struct hn_want *want, const struct hn_hash *key, struct hn_message *request, double timeout_ms,
                          bool kept);
/* Drops the client's wants of this rank and those that come behind it. Jobs that wait for nobody are gone, and those that
 * are being compiled come to nothing. */
void hn_compile_queue_forget(struct hn_client *client, enum hn_rank first);
/* The same of the wants of this number. */
void hn_compile_queue_drop(struct hn_client *client, uint64_t id);
/* A finished want, the first or that of this number; false: there is none. The image is the caller's to finish. */
bool hn_compile_queue_take(struct hn_client *client, const uint64_t *wanted, uint64_t *id, struct hn_image *image);

/* Takes out the job that is to be begun next: by rank, then whose turn it is, then the oldest or the heaviest, which passes over
 * the oldest `limit` times in a row at most, since those behind that may wait for it. NULL: none waits. */
struct hn_job *hn_compile_queue_next(struct hn_compile_queue *queue, int limit);
/* Has an image now. Where that came by chance (a crash, the time limit) it is only the first want's, and the others wait again. */
void hn_compile_queue_end(struct hn_compile_queue *queue, struct hn_job *job);
/* Waits again, before all others. */
void hn_compile_queue_retry(struct hn_compile_queue *queue, struct hn_job *job);

/* The client's want on a job; NULL: it has none. id NULL: any. */
const struct hn_want *hn_job_want(const struct hn_job *job, const struct hn_client *client, const uint64_t *id);
/* For how long it is worth compiling. */
double hn_job_patience_ms(const struct hn_job *job);

#endif
