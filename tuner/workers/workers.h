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
    bool divided;   /* cards are opened, and given to searches, by crews.h */
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
    bool has_context;
    char warning[512]; /* of its lock; "": there is one */
    char refusal[400]; /* why it is not used; "": it is */
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
    hn_gpu_client_sleep *sleep;
    void *sleeper;
    bool used;               /* by a problem before */
    /* A crew (crews.h) has a share of another's: */
    int wakeup; /* eventfd: something was compiled for it, a card joined it, a host came or went; -1: it is no crew */
    pthread_mutex_t lock; /* of its meters, and of those that join */
    struct hn_card *joining[HN_CARDS_MOST];
    size_t joining_count;
};

enum hn_status hn_workers_start(const struct hn_workers_options *options, struct hn_workers **workers,
                                struct hn_error *err);
/* Kills them, without waiting for that: they are of no more use. NULL is fine, here and below. */
void hn_workers_end(struct hn_workers *workers);
/* Kills them; the GPU's worker is not waited for. */
void hn_workers_destroy(struct hn_workers *workers);

/* Descriptors to poll: writes at most hn_workers_poll_most() and returns the count. */
size_t hn_workers_poll(const struct hn_workers *workers, struct pollfd *fds);
/* After poll: which of them need not be asked. Returns whether something became of a host, or a card joined. */
bool hn_workers_polled(const struct hn_workers *workers, const struct pollfd *fds);
size_t hn_workers_poll_most(const struct hn_workers *workers);
/* After that: what was woken for is seen. */
void hn_workers_clear(const struct hn_workers *workers);
/* Until a time limit of one of them strikes; -1: none runs. */
int hn_workers_timeout_ms(const struct hn_workers *workers);

/* What is called instead of sleeping, for all cards (gpu_client.h). */
void hn_workers_set_sleep(struct hn_workers *workers, hn_gpu_client_sleep *sleep, void *sleeper);

/* Waits for the lead's device, unless it is known; where its host can not be used, another card leads. */
enum hn_status hn_workers_open(struct hn_workers *workers, struct hn_error *err);
/* Adds the cards of hosts that have said how many they have, or that were given to the crew. */
enum hn_status hn_workers_find_cards(struct hn_workers *workers, struct hn_error *err);
/* Whether its host turned out to have no GPU: one is taken for granted until that is known. */
bool hn_card_is_none(const struct hn_card *card);
/* Asks for the device of a card; take_opened has the reply. */
enum hn_status hn_card_open(struct hn_card *card, struct hn_error *err);
enum hn_status hn_card_take_opened(struct hn_card *card, const struct hn_message *reply, struct hn_error *err);
/* Why it is not used, unless that is its host's fault, which is told with the host. */
void hn_card_refuse(struct hn_card *card, const char *reason);
/* Before a problem: what belongs to an earlier one is let go of. */
void hn_workers_leave(struct hn_workers *workers);

#endif
