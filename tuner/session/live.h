/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SESSION_LIVE_H
#define HONE_TUNER_SESSION_LIVE_H

#include "tuner/session/backend.h"
#include "tuner/workers/compile_pool.h"
#include "tuner/workers/gpu_client.h"

/* The backend of worker processes, shared by backend_live.c (the loop), live_setup.c (device, bench, references, warm
 * clocks) and live_race.c. */
struct hn_live {
    struct hn_backend base;
    struct hn_live_options options;
    struct hn_compile_pool *pool;
    struct hn_gpu_client *gpu;
    char architecture[16];
    struct pollfd *fds;           /* room for all workers */
    uint64_t evaluating;          /* ticket */
    struct hn_bindings evaluated; /* its point */
    char **references;            /* texts of the depends values that have a reference */
    size_t reference_count;
    struct hn_meter working; /* compiling or on the GPU */
    double started_ms;
};

enum hn_status hn_live_open(struct hn_live *live, struct hn_error *err);
/* Waits a while for the workers; compilations go on, and what the owner wants to do meanwhile is done. */
enum hn_status hn_live_sleep(void *live, struct hn_error *err);
/* Backend operations. */
enum hn_status hn_live_prepare(struct hn_backend *backend, double *noise, struct hn_error *err);
enum hn_status hn_live_race(struct hn_backend *backend, const struct hn_racer *racers, size_t count,
                            struct hn_race_result *result, struct hn_error *err);
/* Makes sure that the bench has the reference for this point. */
enum hn_status hn_live_ensure_reference(struct hn_live *live, const struct hn_bindings *point, struct hn_error *err);
/* "point" and "image" of a message. */
enum hn_status hn_live_add_variant(struct hn_message *message, const struct hn_bindings *point,
                                   const struct hn_image *image, struct hn_error *err);

#endif
