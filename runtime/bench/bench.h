/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_BENCH_H
#define HONE_RUNTIME_BENCH_BENCH_H

#include "base/statistics.h"
#include "cache/record/record.h"
#include "runtime/bench/request.h"
#include "runtime/device/driver.h"
#include "runtime/device/health.h"
#include "runtime/compile/image.h"
#include "runtime/plan/launch.h"

/* The workbench of one device, plan and problem: context, arena (arguments between guard zones, pristine copies,
 * reference outputs, flush buffer), support kernels. Variants are verified, measured and raced on it, each leaving it
 * as it was. After a device fault it is of no more use: destroy it and end the process. */
struct hn_bench;

struct hn_observer;

struct hn_bench_options {
    enum hn_regime regime;
    uint64_t seed; /* of the inputs */
    const struct hn_observer *const *observers; /* up to a NULL: runtime/bench/observe/observers.h; NULL: none */
    struct hn_health_watch *watch; /* borrowed with health, for observers of the GPU's clocks; NULL: there is none */
    struct hn_health *health;
};

/* Retains the primary context, loads the support kernels (an image of runtime/bench/support.cu for this device),
 * makes the arena and fills the inputs. Borrows driver, plan and problem for its life. HN_ERUN: a driver error, or a
 * plan that does not fit, with a table of what needs how much. */
enum hn_status hn_bench_create(const struct hn_driver *driver, const struct hn_device *device,
                               const struct hn_image *support, const struct hn_plan *plan,
                               const struct hn_bindings *problem, const struct hn_bench_options *options,
                               struct hn_bench **bench, struct hn_error *err);
void hn_bench_destroy(struct hn_bench *bench);

/* Runs the reference for the values that it depends on (a point with just those, or the default point for a self
 * reference) and keeps its outputs; replaces those of the same values. Keeps a copy of the image, so that reseeding
 * can run it again. HN_ERUN when the reference fails: its launch, a guard zone, NaN where there was none to be. */
enum hn_status hn_bench_set_reference(struct hn_bench *bench, const struct hn_bindings *depends,
                                      const struct hn_image *image, struct hn_error *err);

/* Fills the inputs from another seed and computes all references again. */
enum hn_status hn_bench_reseed(struct hn_bench *bench, uint64_t seed, struct hn_error *err);

/* Warms up to stable clocks with a variant that was verified (bounded, about a second), and measures the noise floor:
 * how far apart three measurements of the same variant lie, relative to the smallest; NULL: it is known. Called once a
 * process. was_busy: the device was at work less than a second ago, so that little is left to warm up. */
enum hn_status hn_bench_warm_up(struct hn_bench *bench, const struct hn_bindings *point, const struct hn_image *image,
                                bool was_busy, double *noise, struct hn_error *err);

/* Verifies and measures one variant into record, whose point is set: outcome, message, verdict, timing, costs, and the
 * means of metric arguments, from which hn_metrics_evaluate makes the metrics. HN_OK
 * whatever the variant did; HN_ERUN only when the bench itself failed. */
enum hn_status hn_bench_evaluate(struct hn_bench *bench, const struct hn_image *image,
                                 const struct hn_bench_request *request, struct hn_record *record, struct hn_error *err);

/* Measures the verified variants interleaved, round by round: timing.samples_us[r] of records[c] is candidate c in round r,
 * in microseconds of one launch (a batch of it where one is too short to time), as many as there were whole rounds.
 * Every candidate's output is compared in one round, and after the last; one that failed has its outcome and message
 * in records[c], takes part no more, and has no samples. After a device fault the race is over and the bench dead. */
struct hn_bench_candidate {
    const struct hn_bindings *point;
    const struct hn_image *image; /* NULL: not the point but its reference runs */
};
enum hn_status hn_bench_race(struct hn_bench *bench, const struct hn_bench_candidate *candidates, size_t count,
                             const struct hn_race_rules *rules, struct hn_record *records, struct hn_error *err);

/* A variant beside the reference of its point: both are launched in turn in this process, as the finalists of a search
 * are raced, and compared as they are. */
struct hn_beside {
    int rounds; /* 0: there was none */
    struct hn_interval variant_us; /* of one launch */
    struct hn_interval reference_us;
    struct hn_interval speedup; /* reference / variant in one round, so that what slows both down does not count */
};

/* The record's outcome changes when the variant fails in a round; then there are no times. HN_ERUN: the reference
 * failed, or the bench. */
enum hn_status hn_bench_beside(struct hn_bench *bench, const struct hn_image *image, struct hn_record *record,
                               struct hn_beside *beside, struct hn_error *err);

/* True after a device fault: the process has to be replaced. */
bool hn_bench_is_dead(const struct hn_bench *bench);

/* The median bandwidth in GB/s (read + write) of a device-to-device memcpy of `bytes`, or of half of that as often as
 * it takes to fit beside the arena; measured like any variant. */
enum hn_status hn_bench_copy_bandwidth(struct hn_bench *bench, size_t bytes, double *gb_per_s, struct hn_error *err);

#endif
