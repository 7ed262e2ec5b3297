/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_WORKERS_WORKERS_H
#define HONE_TUNER_WORKERS_WORKERS_H

#include <pthread.h>

#include "tuner/workers/card.h"
#include "tuner/workers/compile_pool.h"

/* The worker processes of a command: started before anything else is done, so that they load NVRTC and the driver
 * meanwhile, and shared by all problems. */
struct hn_workers_options {
    const struct hn_host_options *hosts; /* where they run; none: here */
    size_t host_count;
    const char *device; /* NULL: the first */
    int jobs;           /* compile workers at most */
    double useful;      /* how many of them there may be something to do for at once, at the start */
    double compile_timeout_s;
    double run_timeout_s;
    bool announces; /* says on stderr, once, who has the GPU meanwhile */
    bool divided;   /* between searches side by side (below), by whoever opens cards then */
};

enum { HN_CARDS_MOST = 256 };

struct hn_workers {
    struct hn_hosts *hosts; /* NULL: all are children of this process */
    struct hn_compile_pool *pool;
    struct hn_card *cards[HN_CARDS_MOST]; /* they stay where they are */
    size_t card_count;
    struct hn_card *lead; /* the one that is opened first, and that finals are held on */
    struct hn_timeline compiling; /* one span */
    struct hn_timeline on_gpu;    /* of the lead */
    struct hn_meter on_cards; /* on any GPU */
    struct hn_meter working;  /* compiling or on a GPU */
    double run_timeout_s;
    char refusal[900];       /* why the last card that is of no use is none */
    bool used;               /* by a problem before */
    struct pollfd *fds;      /* room for all */
    /* Where they are divided: */
    pthread_mutex_t *lock; /* NULL: they are not */
    struct hn_workers *whole; /* of a share */
};

struct hn_channel;
/* The inside of a GPU worker: reads a message and answers it, until hone closes the channel. */
void hn_worker_gpu(struct hn_channel *channel);

enum hn_status hn_workers_start(const struct hn_workers_options *options, struct hn_workers **workers,
                                struct hn_error *err);
/* Kills them, without waiting for that: they are of no more use. NULL is fine, here and below. */
void hn_workers_end(struct hn_workers *workers);
/* Kills them; the GPU's worker is not waited for. A share gives its cards back instead. */
void hn_workers_destroy(struct hn_workers *workers);

/* Sleeps until a worker has something to say or a time limit of one of them strikes, for timeout_ms at most; others may use the workers
 * meanwhile. Returns whether something became of a host, or of the shares. */
bool hn_workers_sleep(struct hn_workers *workers, int timeout_ms);

/* Moves on with opening the lead's device, without blocking: true once it is known. Where its host can not be used, another card leads. */
bool hn_workers_open_lead(struct hn_workers *workers, struct hn_error *err);
/* Waits for that; HN_EINTERRUPTED: a signal came. */
enum hn_status hn_workers_open(struct hn_workers *workers, struct hn_error *err);
/* Moves on with opening all cards, those among them of hosts that have just said how many they have; one that can not be opened, or
 * is another one by another name, is refused. True: no more is to come of cards and hosts that are not left out. */
bool hn_workers_open_cards(struct hn_workers *workers);
/* The card is of no use; where that is its host's fault, it is told with the host. */
__attribute__((format(printf, 3, 4))) void hn_workers_refuse(struct hn_workers *workers, struct hn_card *card,
                                                             const char *format, ...);
/* Before a problem, and at the end of a share: what belongs to an earlier one is let go of. */
void hn_workers_leave(struct hn_workers *workers);

/* Searches side by side, each in a thread of its own, have shares of workers that were started as `divided`: cards, which are theirs until
 * they end, and a client each of the compile workers. The thread that has the whole opens cards, moves the compile workers on and says
 * who gets what. All that is known of any of them, and all calls, are under one lock, which nobody holds while it sleeps. */
void hn_workers_lock(const struct hn_workers *workers);
void hn_workers_unlock(const struct hn_workers *workers);
/* A share with a card that is known. HN_ERUN. */
enum hn_status hn_workers_share(struct hn_workers *workers, struct hn_card *lead, struct hn_workers **share, struct hn_error *err);
void hn_workers_give(struct hn_workers *share, struct hn_card *card);

#endif
