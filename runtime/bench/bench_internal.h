/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_BENCH_INTERNAL_H
#define HONE_RUNTIME_BENCH_BENCH_INTERNAL_H

#include "runtime/bench/bench.h"
#include "runtime/bench/measure.h"
#include "runtime/bench/trial.h"
#include "runtime/bench/verify.h"
#include "runtime/counters/profiler.h"
#include "runtime/device/energy_meter.h"

/* The inside of a bench, for bench.c, reference.c and race.c. */

/* What the plan's outputs have to be for one set of values that the reference depends on. */
struct hn_reference_run {
    char *key; /* canonical text of these values */
    struct hn_bindings depends;
    struct hn_image image; /* cubin and entries only */
    struct hn_outputs outputs;
};

struct hn_bench {
    const struct hn_plan *plan;
    const struct hn_bindings *problem;
    const struct hn_device *device;
    enum hn_regime regime;
    struct hn_context context;
    struct hn_support support;
    struct hn_arena arena;
    struct hn_sampler sampler;
    struct hn_reference_run **references;
    size_t reference_count;
    /* The last variant was launched after it was checked, and stopped early: what it may have damaged since is found by
     * the next check. */
    bool unchecked;
    struct hn_energy_meter *meter; /* NULL: not asked for yet, or there is none */
    double idle_w;                 /* of the GPU, once it was measured */
    /* Of a plan without a reference: the outputs of the variant's own first launch. */
    struct hn_outputs own_outputs;
    struct hn_profiler *profiler; /* NULL: no counters were asked for, or there are none */
};

/* Makes the variant of a point ready. Limits that it exceeds are its outcome in record. */
enum hn_status hn_bench_prepare(struct hn_bench *bench, const struct hn_bindings *point,
                                const struct hn_image *image, struct hn_variant *variant, struct hn_record *record,
                                struct hn_error *err);

/* The same for the reference of a point. HN_ERUN when that was not set. */
enum hn_status hn_bench_prepare_reference(struct hn_bench *bench, const struct hn_bindings *point,
                                          struct hn_variant *variant, struct hn_record *record,
                                          struct hn_error *err);

/* Makes of a failed status what is the variant's doing: a context that died after it was launched is its device fault,
 * a launch that the driver refused its launch error. Everything else stays what it is. err is not NULL. */
enum hn_status hn_bench_settle(struct hn_bench *bench, const struct hn_variant *variant, enum hn_status status,
                               struct hn_record *record, struct hn_error *err);

/* The outputs that a point's are compared with. HN_ERUN when its reference was not set. */
enum hn_status hn_bench_find_outputs(struct hn_bench *bench, const struct hn_bindings *point,
                                     struct hn_outputs **outputs, struct hn_error *err);
/* Makes good, unseen, whatever an unchecked variant may have damaged: before what is not checked as variants are. */
enum hn_status hn_bench_clear_unchecked(struct hn_bench *bench, struct hn_error *err);
/* The reference of a plan that has one of files. */
enum hn_status hn_bench_read_reference(struct hn_bench *bench, struct hn_error *err);
/* Computes again what a variant has damaged. */
enum hn_status hn_bench_repair_references(struct hn_bench *bench, struct hn_error *err);
void hn_bench_drop_references(struct hn_bench *bench);

/* Of a plan with a pipeline: times its parts alone in one chunk and one stream, into record->staging. */
enum hn_status hn_bench_measure_parts(struct hn_bench *bench, const struct hn_image *image, struct hn_record *record,
                                      struct hn_error *err);

/* Of a variant that was verified: what the GPU counts of its launch, each from the state that a sample begins with, into record->counters.
 * Where there are no counters to be had, record->message says in one line why. Nothing is timed or compared. */
enum hn_status hn_bench_count(struct hn_bench *bench, struct hn_variant *variant, struct hn_record *record,
                              struct hn_error *err);

/* Holds a trial of a verified variant (trial.h); what it says goes to record->suspicion. Of kind AGAIN more and more launches on
 * the same inputs come in between where `memory` says so, and of pipelines. Decides: beside a control, all rounds; else it ends
 * once nothing is left to be seen. 48 rounds, of long launches fewer, but 11. Short cold launches are taken in batches, deployed
 * ones as warm. Inputs have to be filled again then (hn_arena_fill); those that come from files stay as they are. */
enum hn_status hn_bench_try(struct hn_bench *bench, struct hn_variant *variant, enum hn_suspicion kind, bool memory, bool decides,
                            struct hn_trial *trial, struct hn_record *record, struct hn_error *err);

/* Of a verified variant: a trial of kind AGAIN, whose suspicion goes to record. It is a wrong result, too, when a launch on the
 * first set of the arguments writes into others, as one does that works ahead for those that follow in a batch; and out of bounds
 * what launches on others write there but into outputs and scratch (not where a counter is zeroed as part of a launch). */
enum hn_status hn_bench_audit(struct hn_bench *bench, struct hn_variant *variant, bool memory, struct hn_record *record,
                              struct hn_error *err);

struct hn_work hn_bench_work(const struct hn_bench *bench, struct hn_variant *variant);

#endif
