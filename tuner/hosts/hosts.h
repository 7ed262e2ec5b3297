/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_HOSTS_HOSTS_H
#define HONE_TUNER_HOSTS_HOSTS_H

#include "base/hash.h"
#include "runtime/process/process.h"

/* Hosts that lend their cores and GPUs: each is a launcher (`ssh gpu7`, `srun …`, `env …`) that starts `hone worker node` there,
 * over whose streams the channels of all workers of that host run (link.c). A thread moves the bytes and starts a launcher again
 * that died or fell silent, so that whoever uses the workers may be busy meanwhile; for them a worker at a host is a process
 * like any other (struct hn_place). */
struct hn_host_options {
    const char *run;  /* the launcher, as a shell reads it; "": this machine */
    const char *hone; /* the program there; NULL: where this one is here */
    int gpus;         /* how many of its GPUs to use, from the first; -1: all */
    int compile;      /* compile workers; -1: as many as it allows */
    bool install;     /* this program is taken there first */
};

enum hn_host_state {
    HN_HOST_STARTING, /* or to be tried again */
    HN_HOST_UP,
    HN_HOST_OUT, /* left out: it failed too often, or cannot be used */
};

/* How a host is doing. */
struct hn_host_view {
    enum hn_host_state state;
    char name[80]; /* as it calls itself, until then the launcher */
    int gpus;      /* 0 until it is known */
    int compile;
    bool sends; /* what was said to workers there, or files for them, are still on their way */
    char reason[700]; /* of the last failure; "": there was none */
};

struct hn_host;
struct hn_hosts;

/* Starts all launchers and returns at once. The options are copied. wakeup: an eventfd, which becomes readable once
 * a host came up or was lost. */
enum hn_status hn_hosts_start(const struct hn_host_options *options, size_t count, int wakeup, struct hn_hosts **hosts,
                              struct hn_error *err);
/* Ends all workers and launchers; waits for half a second at most, then kills those that remain. NULL is fine. */
void hn_hosts_destroy(struct hn_hosts *hosts);

size_t hn_hosts_count(const struct hn_hosts *hosts);
struct hn_host *hn_hosts_at(struct hn_hosts *hosts, size_t i);

struct hn_host_view hn_host_look(struct hn_host *host);
struct hn_place *hn_host_place(struct hn_host *host);
/* Workers there will read the file of that hash: what is said to them from now on arrives after it. It is at `path` here, and
 * perhaps there; where it is not, it goes over once a connection. */
void hn_host_share(struct hn_host *host, const char *path, const struct hn_hash *hash);
/* A worker there is of no use: the host is started again, or, where that cannot help, left out. */
void hn_host_fail(struct hn_host *host, bool forever, const char *reason);

/* The files that came over the link, each under its hash: workers find the folder by this in their environment. */
#define HN_NODE_FILES "HONE_HOST_FILES"

/* The agent of a host, `hone worker node`: greets on its standard output, starts workers as it is told on its standard input, and
 * moves their bytes. It ends, and its workers with it, when a stream is closed, when nothing is heard for HN_LINK_SILENCE_MS, and
 * with its parent. gpus: how many the driver has, for the greeting. HN_EUSAGE: its input is a terminal. */
enum hn_status hn_node_run(int gpus, struct hn_error *err);

#endif
