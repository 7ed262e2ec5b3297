/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_WORKERS_WORKERS_H
#define HONE_TUNER_WORKERS_WORKERS_H

#include <pthread.h>
#include <stdbool.h>

#include "cache/record/record.h"
#include "runtime/bench/bench.h"
#include "runtime/device/device.h"
#include "runtime/device/health.h"
#include "runtime/process/process.h"
#include "tuner/hosts/hosts.h"
#include "tuner/workers/compile_pool.h"

/* A GPU and hone's side of its worker: one request at a time, a time limit on each, a new worker where one died. A worker is brought to
 * the state that a request needs (device, context, bench, references, seed) by the kept setup messages, which are sent one by one,
 * each after the reply to the one before; one that is up gets them without waiting for a request. */

/* At what it is in a problem, once its device is known. The lead is ready once the backend is prepared; others follow it. */
enum hn_card_state {
    HN_CARD_NEW,
    HN_CARD_VERIFYING, /* the default point, with which it warms up */
    HN_CARD_WARMING,
    HN_CARD_ANCHORING, /* measures what the lead has measured */
    HN_CARD_READY,
    HN_CARD_OUT, /* of no use for this problem */
};

/* An evaluation on its way through a card. */
struct hn_card_job {
    uint64_t ticket;
    struct hn_bindings point;
    struct hn_bench_request request; /* as of the first card */
    struct hn_message message;
    struct hn_record suspect; /* while its trial is held: what it will be if it is acquitted */
};

enum { HN_ANCHORS = 3 };

struct hn_card {
    struct hn_host *host;  /* NULL: this machine, by this process's own child. Borrowed */
    char host_name[64];    /* "": not known, or this machine */
    char selector[64];     /* among those of its host; "": the first */
    bool known;            /* the device is */
    double known_ms;       /* since when */
    bool out;              /* of no use for any problem */
    struct hn_device device;
    char warning[512]; /* of its lock; "": there is one */
    char refusal[400]; /* why it is not used; "": it is */
    bool away; /* it is a share's */
    struct hn_timeline *timeline; /* where to note what the workers do; may be NULL */
    bool announces; /* says on stderr, once, who has the GPU meanwhile */
    int guess; /* the compute capability that the device will turn out to have, before the driver is up; 0: not known */
    struct hn_meter meter;   /* runs while the worker has its turn on the GPU */

    /* In this problem: */
    struct hn_health health; /* what the workers have seen of the GPU's clocks and its other users */
    enum hn_card_state state;
    bool evaluating;
    struct hn_card_job job; /* its evaluation */
    size_t anchor; /* measured so many */
    double ratios[HN_ANCHORS];
    size_t ratio_count;
    double ratio; /* how much longer it takes than the first */
    uint64_t measured;

    /* The worker: */
    struct hn_process process;
    double run_timeout_ms;
    struct hn_message *setup;
    size_t setup_count;
    size_t step;  /* of them this worker has taken */
    bool waiting; /* for the reply to the setup message `step` or to the request */
    bool requested; /* it is busy */
    struct hn_message request;
    double request_limit_ms;
    bool begun;      /* what is waited for has its turn on the GPU */
    char holder[64]; /* who has it meanwhile; "": nobody else */
    int attempts;
    int setup_deaths;            /* in a row */
    double asked_ms;             /* when what is waited for was sent; process.since_ms: or began on the GPU */
};

void hn_card_job_finish(struct hn_card_job *job); /* empty then */

/* Keeps a setup message, as the last; `replaces` is the type of an earlier one that it takes the place of, or NULL. taken: a worker that
 * is up has had it. */
void hn_card_keep(struct hn_card *card, const struct hn_message *message, const char *replaces, bool taken);
/* Keeps what holds for another's problem, and was not kept yet. */
void hn_card_keep_as(struct hn_card *card, const struct hn_card *other);
/* Starts a request; only when not busy. The message is taken over. timeout_s 0: the run timeout. Sticky. */
void hn_card_request(struct hn_card *card, struct hn_message *message, double timeout_s, struct hn_error *err);
/* Whether a request would get to a worker now: its host is there. */
bool hn_card_is_reachable(const struct hn_card *card);
/* Whether its host is left out. */
bool hn_card_is_left_out(const struct hn_card *card);
/* Kills the worker with what it is at. The next request has another one. */
void hn_card_drop(struct hn_card *card);

/* How a request ended. */
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
bool hn_card_is_quiet(const struct hn_card *card);
/* Moves on without blocking; the owner polls its process. HN_ERUN: the worker cannot be set up, or says that the run failed. Sticky:
 * nothing came then. */
void hn_card_process(struct hn_card *card, struct hn_gpu_result *result, struct hn_error *err);
/* Who has the GPU ("process 4711 has it since 12:03:04") while a request has waited for its turn for more than a second;
 * NULL: none has. */
const char *hn_card_holder(const struct hn_card *card);

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
    int wakeup; /* eventfd: something became of a host; -1: there are none */
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
/* Kills them; the GPU's worker is not waited for. A share gives its cards back instead. NULL is fine. */
void hn_workers_destroy(struct hn_workers *workers);

/* Sleeps until a worker has something to say or a time limit of one of them strikes, for timeout_ms at most; others may use the workers
 * meanwhile. Returns whether something became of a host, or of the shares. */
bool hn_workers_sleep(struct hn_workers *workers, int timeout_ms);

/* Moves on with opening the lead's device, or waits for it (HN_EINTERRUPTED: a signal came): true once it is known.
 * Where its host cannot be used, another card leads. Sticky. */
bool hn_workers_open_lead(struct hn_workers *workers, bool waits, struct hn_error *err);
/* Moves on with opening all cards, those among them of hosts that have just said how many they have; one that cannot
 * be opened, or is another one by another name, is refused. True: no more is to come of cards and hosts that are
 * not left out. */
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
void hn_workers_give(struct hn_workers *share, struct hn_card *card);

#endif
