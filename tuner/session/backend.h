/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SESSION_BACKEND_H
#define HONE_TUNER_SESSION_BACKEND_H

#include "runtime/bench/bench.h"
#include "runtime/device/health.h"
#include "runtime/compile/image.h"
#include "tuner/session/task.h"
#include "tuner/workers/usage.h"

/* Where compiled images and measurements come from: worker processes (backend_live.c) or a recording
 * (backend_simulated.c). Asynchronous: compile and evaluate start something, wait brings what ended. */
struct hn_backend;

enum hn_event_kind { HN_EVENT_NONE, HN_EVENT_COMPILED, HN_EVENT_EVALUATED };

/* The image or the record is the receiver's to finish. */
struct hn_backend_event {
    enum hn_event_kind kind;
    uint64_t ticket;
    struct hn_image image;
    struct hn_record record;
};

void hn_backend_event_finish(struct hn_backend_event *event);

struct hn_racer {
    const struct hn_bindings *point;
    const struct hn_image *image;
};

/* samples[racer * rounds + round], microseconds, HN_RACE_MOST_ROUNDS at most. records[i]: what became of racer i. rounds is 0 when no round was
 * finished, count 0 when the race came to no end (a hang, a crash): then the times measured before it stand. */
struct hn_race_result {
    double *samples;
    size_t rounds;
    struct hn_record *records;
    size_t count;
};
void hn_race_result_finish(struct hn_race_result *result);

/* A card of several, or elsewhere. */
struct hn_card_usage {
    const char *host; /* "": not known yet */
    const char *card; /* its UUID; "": not known yet */
    uint64_t measured;
    double ratio;      /* how much longer it takes than the first */
    const char *doing; /* why it does not measure; "": it does */
};

/* Where the time of a backend went, in seconds since it was made. */
struct hn_usage {
    double compile_cpu_s;  /* processor time of all compilations */
    double compile_wall_s; /* at least one compilation was under way */
    double gpu_busy_s;     /* the GPU worker had its turn */
    double working_s;      /* either of the two */
    int under_way;         /* points that are being compiled */
    size_t compiled;       /* points that are compiled, and not asked for yet */
    double longest_s;      /* that the first of them has been compiled for */
    bool cores_busy;       /* all that compile have something to do */
    const char *holder; /* who else has the GPU while it is waited for: "process 4711 has it since 12:03:04"; NULL: none */
    struct hn_health health;
    const unsigned *trials; /* of suspects, how many ended in each hn_suspicion; NULL: there are none */
    const struct hn_timeline *on_gpu;    /* what the GPU worker did when; NULL: not known */
    const struct hn_timeline *compiling; /* one span */
    const struct hn_card_usage *cards; /* with --workers */
    size_t card_count;
};

/* Whatever blocks (prepare, reseed, race, measure, copy_rate, a reference that evaluate needs) is HN_EINTERRUPTED, without a
 * message where it was the clock, once a signal came or end_ms has passed. */
struct hn_backend_kind {
    void (*destroy)(struct hn_backend *backend);
    /* Everything that has to be there before the first evaluation: references, warm clocks. Called once, lazily: what is
     * all in the cache needs none of it. noise: relative difference of a variant measured twice. */
    enum hn_status (*prepare)(struct hn_backend *backend, double *noise, struct hn_error *err);
    /* What it compiles for longer than patience_ms is stopped: compile_stopped. */
    enum hn_status (*compile)(struct hn_backend *backend, uint64_t ticket, const struct hn_bindings *point, double patience_ms,
                              struct hn_error *err);
    /* Fills in an image's occupancy, dynamic shared memory and the key of its code with its launch ("": unknown). */
    enum hn_status (*complete)(struct hn_backend *backend, const struct hn_bindings *point, struct hn_image *image,
                               char key[33], struct hn_error *err);
    /* How many more compilations are worth queueing now. */
    size_t (*room)(const struct hn_backend *backend);
    bool (*idle)(const struct hn_backend *backend); /* can take an evaluation */
    /* Nothing is being evaluated. NULL: it is idle then. */
    bool (*quiet)(const struct hn_backend *backend);
    enum hn_status (*evaluate)(struct hn_backend *backend, uint64_t ticket, const struct hn_bindings *point,
                               const struct hn_image *image, const struct hn_bench_request *request,
                               struct hn_error *err);
    /* HN_EVENT_NONE after timeout_ms, or when a signal came. */
    enum hn_status (*wait)(struct hn_backend *backend, int timeout_ms, struct hn_backend_event *event,
                           struct hn_error *err);
    enum hn_status (*reseed)(struct hn_backend *backend, uint64_t seed, struct hn_error *err);
    /* NULL: there is nothing to race (a recording says all there is). Blocks. */
    enum hn_status (*race)(struct hn_backend *backend, const struct hn_racer *racers, size_t count,
                           struct hn_race_result *result, struct hn_error *err);
    /* Verifies and measures a variant; with `anew` in a worker process that begins anew, and stays, with a copy beside
     * it that takes about as long (its rate into the timing; none of a pipeline). NULL: there is no worker. Blocks. */
    enum hn_status (*measure)(struct hn_backend *backend, const struct hn_racer *variant, bool anew,
                              struct hn_record *record, struct hn_error *err);
    /* GB/s (read + write) of a device-to-device memcpy of `bytes`; 0 where it can not be measured. */
    enum hn_status (*copy_rate)(struct hn_backend *backend, double bytes, double *gb_per_s, struct hn_error *err);
    /* Forgets all compilations and kills those under way; what the GPU is at goes on. NULL: there is nothing to kill. */
    void (*halt)(struct hn_backend *backend);
    double (*busy_ms)(const struct hn_backend *backend); /* of the GPU */
    void (*usage)(const struct hn_backend *backend, struct hn_usage *usage); /* NULL: not known */
    /* For how long it compiles what was given to compile and did not come back; 0: it did not begin. NULL: not known. */
    double (*compiling_ms)(const struct hn_backend *backend, uint64_t ticket);
    /* Whether points share programs, so that compiled ones are worth keeping. NULL: nothing is compiled. */
    void (*share)(struct hn_backend *backend, bool shares);
};

struct hn_backend {
    const struct hn_backend_kind *kind;
    struct hn_task *task; /* borrowed; its identity and version are complete once the backend is made */
    struct hn_device device;
    bool simulated;
    char note[128]; /* what people should know of its measurements; "" for nothing */
    double spread;  /* relative: what times of several cards, brought to one, differ by; 0: there is one */
    double end_ms;  /* nothing is waited for beyond it, as hn_now_ms; 0: no limit. The owner's to set */
    bool hurries;   /* the owner's to set: the clocks warm up with what is there, not with the default point */
    bool all_asked; /* the owner's to set: nothing will be compiled but what is asked for already */
    /* Called while prepare blocks; may call compile and room. The owner's to set; NULL: nothing is to be done. */
    enum hn_status (*meanwhile)(void *owner, struct hn_error *err);
    void *owner;
};

struct hn_live_options {
    uint64_t seed; /* of the inputs */
    double end_ms; /* of the backend */
    bool any_order; /* compilations may be started in another order than asked for */
    /* Points that will be asked for first, when nothing is known of them: compiled before the device is. */
    const struct hn_bindings *ahead;
    size_t ahead_count;
    bool ahead_is_all; /* there are no others */
    bool measures;     /* something, for sure: what that takes is compiled before the device is, too */
    bool stays_warm;   /* one of many backends in a row: a device that was at work a moment ago is not warmed up again */
};

struct hn_workers;

/* Borrows the workers, for one backend at a time. */
enum hn_status hn_backend_live(struct hn_task *task, struct hn_workers *workers, const struct hn_live_options *options,
                               struct hn_backend **backend, struct hn_error *err);

struct hn_roofs;
/* Measures what the device can do at best, with the workers of a live backend that is not busy. */
enum hn_status hn_backend_live_roofs(struct hn_backend *backend, struct hn_roofs *roofs, struct hn_error *err);

/* path: a recording or a folder of them, of which the one of this kernel, problem and regime is taken. HN_ERUN when
 * there is none, HN_ECONFIG when it covers less than 95% of the space. */
enum hn_status hn_backend_simulated(struct hn_task *task, const char *path, struct hn_backend **backend,
                                    struct hn_error *err);

void hn_backend_destroy(struct hn_backend *backend);

#endif
