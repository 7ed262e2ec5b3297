/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_WORKERS_WORKERS_H
#define HONE_TUNER_WORKERS_WORKERS_H

#include "runtime/device/device.h"
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
};

struct hn_workers {
    struct hn_hosts *hosts; /* NULL: all are children of this process */
    struct hn_compile_pool *pool;
    struct hn_gpu_client *gpu;
    struct hn_timeline compiling; /* one span */
    struct hn_timeline on_gpu;
    struct hn_meter working; /* compiling or on the GPU */
    bool used;               /* by a problem before */
    bool device_known;
    struct hn_device device;
    char warning[512]; /* of the GPU's lock; "": there is one */
    bool has_context;
};

enum hn_status hn_workers_start(const struct hn_workers_options *options, struct hn_workers **workers,
                                struct hn_error *err);
/* Kills them, without waiting for that: they are of no more use. NULL is fine, here and below. */
void hn_workers_end(struct hn_workers *workers);
/* Kills them; the GPU's worker is not waited for. */
void hn_workers_destroy(struct hn_workers *workers);

/* Descriptors to poll: writes at most hn_workers_poll_most() and returns the count. */
size_t hn_workers_poll(const struct hn_workers *workers, struct pollfd *fds);
size_t hn_workers_poll_most(const struct hn_workers *workers);

/* Waits for the device, unless it is known. */
enum hn_status hn_workers_open(struct hn_workers *workers, struct hn_error *err);
/* Before a problem: what belongs to an earlier one is let go of. */
void hn_workers_leave(struct hn_workers *workers);

#endif
