/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SESSION_LIVE_H
#define HONE_TUNER_SESSION_LIVE_H

#include "tuner/session/backend.h"
#include "tuner/workers/workers.h"

/* The backend of worker processes, shared by backend_live.c (the loop), live_ahead.c (what is compiled before the device
 * is known), live_setup.c (bench, references, warm clocks) and live_race.c. */
struct hn_live {
    struct hn_backend base;
    struct hn_live_options options;
    struct hn_workers *workers;
    struct hn_compile_pool *pool; /* of the workers */
    struct hn_gpu_client *gpu;
    char architecture[16];
    bool own_started;  /* what has to be compiled before the first evaluation */
    char **ahead;      /* texts of the points compiled ahead; NULL: claimed */
    size_t ahead_count;
    struct pollfd *fds;           /* room for all workers */
    uint64_t evaluating;          /* ticket */
    struct hn_bindings evaluated; /* its point */
    char **references;            /* texts of the depends values that have a reference */
    size_t reference_count;
    struct hn_usage before; /* what the workers had done for other problems */
    double started_ms;
};

/* Starts all that has to be compiled before the first evaluation, unless it was. */
enum hn_status hn_live_start_own(struct hn_live *live, struct hn_error *err);
/* How heavy the compilation of a point may be, 0 where the order is to be kept. */
double hn_live_weight(const struct hn_live *live, const struct hn_bindings *point);

/* live_ahead.c. Once there is a guess at the architecture: starts what will be wanted. */
enum hn_status hn_live_start_ahead(struct hn_live *live, struct hn_error *err);
/* The device is known: what was compiled for another architecture is thrown away. */
void hn_live_check_ahead(struct hn_live *live, int capability);
/* Whether the point was started ahead; the compilation is the ticket's from now on. */
bool hn_live_claim_ahead(struct hn_live *live, uint64_t ticket, const struct hn_bindings *point);
void hn_live_forget_ahead(struct hn_live *live);

/* Waits a while for the workers; compilations go on, and what the owner wants to do meanwhile is done. HN_EINTERRUPTED: a
 * signal came or the time is up. */
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
/* Sends it to the bench, which answers with a record. */
enum hn_status hn_live_start_evaluation(struct hn_live *live, const struct hn_bindings *point,
                                        const struct hn_image *image, const struct hn_bench_request *request,
                                        struct hn_error *err);

#endif
