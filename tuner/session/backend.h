/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SESSION_BACKEND_H
#define HONE_TUNER_SESSION_BACKEND_H

#include "cache/recording/recording.h"
#include "runtime/device/health.h"
#include "runtime/compile/image.h"
#include "tuner/session/task.h"
#include "tuner/workers/usage.h"

/* Where compiled images and measurements come from: worker processes (live.c), programs (programs.c) or a recording (simulated.c).
 * Compilations and evaluations are started, and next brings what ended; what the finals do is run to its end. */
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

/* A compilation or an evaluation to be started under a ticket. All is borrowed. */
struct hn_start {
    uint64_t ticket;
    const struct hn_bindings *point;
    double patience_ms; /* what compiles for longer is stopped: compile_stopped */
    /* For an evaluation; else NULL. */
    const struct hn_image *image;
    const struct hn_bench_request *request;
};

/* A variant that is raced or measured. */
struct hn_racer {
    const struct hn_bindings *point;
    const struct hn_image *image;
    /* The caller's, who begins it. From a race come timing.samples_us, one for each round, HN_RACE_MOST_ROUNDS at most; none of who fell.
     * There are none where no round was finished, or the race came to no end (a hang, a crash): then the times measured before stand. */
    struct hn_record record;
};

/* A race takes between these. */
#define HN_RACE_LEAST_MS 300.0
#define HN_RACE_MOST_MS 1500.0

/* Something that is run while the caller waits; HN_EINTERRUPTED, without a message where it was the clock, once a signal came or end_ms has
 * passed. */
enum hn_run_kind {
    /* Everything that has to be there before the first evaluation: references, warm clocks. Once, and late: what is all in
     * the cache needs none of it. */
    HN_RUN_PREPARE,
    HN_RUN_RESEED,
    HN_RUN_RACE,
    /* Verifies and measures a variant; with `anew` in a worker process that begins anew, and stays, with a copy beside it that
     * takes about as long (its rate into the timing; none of a pipeline). */
    HN_RUN_MEASURE,
    HN_RUN_COPY, /* a device-to-device memcpy of `bytes` */
    HN_RUN_ROOFS, /* what the device can do at best; no recording tells it */
};

struct hn_roofs;
struct hn_run {
    enum hn_run_kind kind;
    uint64_t seed;                 /* of a reseed */
    struct hn_racer *racers;       /* of a race, and the one that is measured */
    size_t racer_count;
    bool anew;
    double bytes;
    double noise;    /* of preparing: relative difference of a variant measured twice */
    double gb_per_s; /* read + write; 0 where it cannot be measured */
    struct hn_roofs *roofs;
};

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

/* How busy a backend is. */
struct hn_backend_state {
    size_t room; /* how many more compilations are worth queueing now */
    bool idle;   /* can take an evaluation */
    bool quiet;  /* nothing is being evaluated */
    double age_ms; /* for how long it compiles the ticket that was asked about; 0: it did not begin */
};

/* Sticky, as base/error.h says. */
struct hn_backend_kind {
    void (*close)(struct hn_backend *backend);
    void (*start)(struct hn_backend *backend, const struct hn_start *start, struct hn_error *err);
    /* HN_EVENT_NONE after timeout_ms, or when a signal came. */
    void (*next)(struct hn_backend *backend, int timeout_ms, struct hn_backend_event *event, struct hn_error *err);
    void (*run)(struct hn_backend *backend, struct hn_run *run, struct hn_error *err);
    /* Forgets all compilations and kills those under way; what the GPU is at goes on. NULL: they take no time. */
    void (*stop)(struct hn_backend *backend);
    /* Fills in an image's occupancy, dynamic shared memory and the key of its code with its launch ("": unknown).
     * NULL: it has them, the key as the hash of its code. */
    void (*complete)(struct hn_backend *backend, const struct hn_bindings *point, struct hn_image *image, char key[33],
                     struct hn_error *err);
    void (*look)(const struct hn_backend *backend, uint64_t ticket, struct hn_backend_state *state);
    void (*usage)(const struct hn_backend *backend, struct hn_usage *usage); /* NULL: not known */
};

struct hn_backend {
    const struct hn_backend_kind *kind;
    struct hn_task *task; /* borrowed; its identity and version are complete once the backend is made */
    struct hn_device device;
    bool simulated; /* a recording says all there is: there is nothing to race */
    struct hn_origin origin; /* of what is simulated */
    char note[160]; /* what people should know of its measurements; "" for nothing */
    double spread;  /* relative: what times of several cards, brought to one, differ by; 0: there is one */
    /* The owner's to set: */
    double end_ms;  /* nothing is waited for beyond it, as hn_now_ms; 0: no limit */
    bool hurries;   /* the clocks warm up with what is there, not with the default point */
    bool all_asked; /* nothing will be compiled but what is asked for already */
    bool unshared;  /* no points share a program, so that compiled ones are not worth keeping */
    /* Called while preparing blocks; may start compilations and look. NULL: nothing is to be done. */
    void (*meanwhile)(void *owner, struct hn_error *err);
    void *owner;
};

/* The points that a session will ask for first, told before there is a device and so a session: its ladder, then what
 * the strategy proposes before it knows anything. */
struct hn_points_ahead {
    struct hn_bindings *points;
    size_t count;
    bool complete; /* it will ask for no others */
    bool fresh;    /* the cache holds none of them, whatever the device: something will be measured, for sure */
};

struct hn_live_options {
    uint64_t seed; /* of the inputs */
    double end_ms; /* of the backend */
    bool any_order; /* compilations may be started in another order than asked for */
    struct hn_points_ahead ahead; /* compiled before the device is known, as is what measuring takes */
    bool stays_warm; /* one of many backends in a row: a device that was at work a moment ago is not warmed up again */
};

struct hn_workers;

/* Borrows the workers, for one backend at a time. NULL, as from the others: err says why. */
struct hn_backend *hn_backend_live(struct hn_task *task, struct hn_workers *workers,
                                   const struct hn_live_options *options, struct hn_error *err);

struct hn_workers_options;
/* Of a config that measures a program, which is built and run here, with that GPU; jobs and limits are as those of workers. */
struct hn_backend *hn_backend_programs(struct hn_task *task, const struct hn_device *device,
                                       const struct hn_workers_options *options, struct hn_error *err);

/* path: as of hn_find_recording. HN_ECONFIG when it covers less than 95% of the space. */
struct hn_backend *hn_backend_simulated(struct hn_task *task, const char *path, struct hn_error *err);

/* path: a recording, or a folder of them, of which the one of this kernel, problem and regime is taken; origin: its file. HN_ERUN
 * when there is none, HN_ECONFIG when the file is of another. */
enum hn_status hn_find_recording(const struct hn_task *task, const char *path, struct hn_recording *recording,
                                 struct hn_origin *origin, struct hn_error *err);

void hn_backend_destroy(struct hn_backend *backend);

#endif
