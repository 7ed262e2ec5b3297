/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_WORKERS_WORKERS_H
#define HONE_TUNER_WORKERS_WORKERS_H

#include <pthread.h>

#include "runtime/device/device.h"
#include "tuner/hosts/hosts.h"
#include "tuner/workers/compile_pool.h"
#include "tuner/workers/gpu_client.h"

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
    bool divided;   /* cards are opened, and given to searches, as crews (below) */
};

enum { HN_CARDS_MOST = 256 };

/* A GPU and its worker. */
struct hn_card {
    struct hn_gpu_client *gpu;
    struct hn_host *host;  /* NULL: this machine, by this process's own child */
    char host_name[64];    /* "": not known, or this machine */
    char selector[64];     /* among those of its host; "": the first */
    bool known;            /* the device is */
    struct hn_device device;
    char warning[512]; /* of its lock; "": there is one */
    char refusal[400]; /* why it is not used; "": it is */
    bool away; /* nothing is expected of it by who divides: it is a crew's, or idle */
};

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
    bool used;               /* by a problem before */
    struct pollfd *fds;      /* room for all */
    int left; /* eventfd: a crew has left (below); -1: there are none */
    /* A crew (below) has a share of another's: */
    int wakeup; /* eventfd: something was compiled for it, a card joined it, a host came or went; -1: it is no crew */
    pthread_mutex_t lock; /* of its meters, and of those that join */
    struct hn_card *joining[HN_CARDS_MOST];
    size_t joining_count;
};

struct hn_channel;
/* The inside of a GPU worker: reads a message and answers it, until hone closes the channel. */
void hn_worker_gpu(struct hn_channel *channel);

enum hn_status hn_workers_start(const struct hn_workers_options *options, struct hn_workers **workers,
                                struct hn_error *err);
/* Kills them, without waiting for that: they are of no more use. NULL is fine, here and below. */
void hn_workers_end(struct hn_workers *workers);
/* Kills them; the GPU's worker is not waited for. */
void hn_workers_destroy(struct hn_workers *workers);

/* Sleeps until a worker has something to say or a time limit of one of them strikes, for timeout_ms at most. Returns whether something
 * became of a host, or a card joined. */
bool hn_workers_sleep(struct hn_workers *workers, int timeout_ms);

/* Moves on with opening the lead's device, without blocking: true once it is known. Where its host can not be used, another card leads. */
bool hn_workers_open_lead(struct hn_workers *workers, struct hn_error *err);
/* Waits for that; HN_EINTERRUPTED: a signal came. */
enum hn_status hn_workers_open(struct hn_workers *workers, struct hn_error *err);
/* Adds the cards of hosts that have said how many they have, or that were given to the crew. */
void hn_workers_find_cards(struct hn_workers *workers);
/* Before a problem: what belongs to an earlier one is let go of. */
void hn_workers_leave(struct hn_workers *workers);

/* Whether its host turned out to have no GPU: one is taken for granted until that is known. */
bool hn_card_is_none(const struct hn_card *card);
/* Asks for the device of a card. */
enum hn_status hn_card_open(struct hn_card *card, struct hn_error *err);
/* What came of that, which is finished. The card's worker makes a context next. */
enum hn_status hn_card_take_opened(struct hn_card *card, struct hn_gpu_result *result, struct hn_error *err);
/* It is of no use; where that is its host's fault, it is told with the host. */
void hn_card_refuse(struct hn_card *card, const char *reason);

/* Searches side by side: the cards of all hosts are divided between crews, each of which a search uses in a thread of its own as the
 * workers that it has. Compile workers are shared. The thread that made the crews, and it alone, opens cards, moves compile workers on
 * and says who gets what; a card that is a crew's is that crew's thread's until it leaves. */
struct hn_crews;

/* Borrows workers that were started as `divided`. */
enum hn_status hn_crews_create(struct hn_workers *workers, struct hn_crews **crews, struct hn_error *err);
/* After all crews have ended. NULL is fine. */
void hn_crews_destroy(struct hn_crews *crews);

/* Moves on without blocking. HN_ERUN: nobody is left that compiles, of which the crews hear, too. */
enum hn_status hn_crews_move(struct hn_crews *crews, struct hn_error *err);
/* Until something is to be looked at. */
void hn_crews_sleep(struct hn_crews *crews);

/* A card that is known, there, and no crew's; i counts all cards, from 0. NULL: the i-th is not, or there is none. */
struct hn_card *hn_crews_idle(const struct hn_crews *crews, size_t i);
size_t hn_crews_card_count(const struct hn_crews *crews);
/* Whether there may be one later that nobody knows yet; whether there is one that is known and of use, if its host is there again. */
bool hn_crews_may_come(const struct hn_crews *crews);
bool hn_crews_remain(const struct hn_crews *crews);
/* It is of no use beside the others. */
void hn_crews_refuse(struct hn_crews *crews, const struct hn_card *card, const char *reason);
/* Why the last card that is of no use is none; "": there is none. */
const char *hn_crews_refusal(const struct hn_crews *crews);

/* An idle card leads a new one, or joins one, from which it goes when the crew ends. */
enum hn_status hn_crew_start(struct hn_crews *crews, struct hn_card *card, struct hn_workers **crew, struct hn_error *err);
void hn_crew_join(struct hn_crews *crews, struct hn_workers *crew, struct hn_card *card);
size_t hn_crew_size(struct hn_workers *crew);
/* Its thread's last call, once its backend is destroyed: cards let go of the problem. */
void hn_crew_leave(struct hn_workers *crew);
/* By any thread: who divides is to look. */
void hn_crews_wake(const struct hn_crews *crews);
/* By who divides, behind that. Cards that it refused stay so. lost: the host of the card that led it is lost for good. */
void hn_crew_end(struct hn_crews *crews, struct hn_workers *crew, bool *lost);

#endif
