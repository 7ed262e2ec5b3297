/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_BENCH_PARTS_H
#define HONE_RUNTIME_BENCH_BENCH_PARTS_H

#include "runtime/bench/bench.h"
#include "runtime/bench/measure.h"
#include "runtime/bench/variant.h"

/* The inside of a bench, for its files and for observers. All functions are sticky. */

struct hn_trial;

/* Whoever sees more of a variant than its time and its results. What it saw are values of the record, "name.value"
 * (cache/record/record.h): the record's JSON has them as an object `name`, and all that shows records finds them
 * there. A new one is a file in runtime/bench/observe and a row in its list.
 *
 * Hooks that are NULL are not called. Each gets what `open` made, or the bench where there is no `open`. A hook
 * leaves the variant launchable; one that launches it sets bench->unchecked, so that damage is looked for. */
struct hn_observer {
    const char *name;
    /* It launches on inputs whose results are not known, before the variant is verified; else once it was measured. */
    bool unseen;
    bool always; /* `note` is called unasked */
    /* When it is first asked for; NULL where it cannot observe here. */
    void *(*open)(struct hn_bench *bench);
    /* Samples of a measurement, each time some were taken: never between samples that were queued together. */
    void (*taken)(void *own, const struct hn_sample *samples, size_t count);
    /* Launches the variant itself. asked: the amount. What it saw goes to the variant's record. Sticky. */
    void (*run)(void *own, struct hn_variant *variant, double asked, struct hn_error *err);
    /* Of a variant whose time was measured, or raced: at the end. Sticky. */
    void (*note)(void *own, struct hn_record *record, struct hn_error *err);
    void (*close)(void *own);
};
enum { HN_MOST_OBSERVERS = 16 };

/* What the plan's outputs have to be for one set of values that the reference depends on; of a plan without a reference
 * those of the variant's own first launch. */
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
    struct hn_context context;
    struct hn_support support;
    struct hn_arena arena;
    struct hn_stage stage;
    struct hn_sampler sampler;
    struct hn_reference_run **references;
    size_t reference_count;
    /* The last variant was launched after it was checked, and stopped early: what it may have damaged since is found by
     * the next check. */
    bool unchecked;
    struct hn_bench_options options;
    void *observing[HN_MOST_OBSERVERS]; /* what each observer keeps; NULL: it was not asked for */
};

/* Makes the variant of a point ready, whose record it is. Limits that it exceeds are its outcome there. */
void hn_bench_prepare(struct hn_bench *bench, const struct hn_bindings *point, const struct hn_image *image,
                      struct hn_variant *variant, struct hn_record *record, struct hn_error *err);

/* The same for the reference of a point. HN_ERUN when that was not set. */
void hn_bench_prepare_reference(struct hn_bench *bench, const struct hn_bindings *point, struct hn_variant *variant,
                                struct hn_record *record, struct hn_error *err);

/* Makes of a failure what is the variant's doing: a context that died after it was launched is its device fault, a
 * launch that the driver refused its launch error. Then err has not failed any more. Everything else stays what it
 * is. */
void hn_bench_settle(struct hn_bench *bench, const struct hn_variant *variant, struct hn_error *err);

/* What is timed of a variant. */
struct hn_work hn_bench_work(struct hn_bench *bench, struct hn_variant *variant);

/* Lets those who observe unasked note what they saw of a record that was just timed. */
void hn_bench_note(struct hn_bench *bench, const char *observe, struct hn_record *record, struct hn_error *err);

/* With the outputs that a point's are compared with; HN_ERUN when it was not set. NULL after a failure. */
struct hn_reference_run *hn_bench_find_reference(const struct hn_bench *bench, const struct hn_bindings *point,
                                                 struct hn_error *err);
/* Makes good, unseen, whatever an unchecked variant may have damaged: before what is not checked as variants are. */
void hn_bench_clear_unchecked(struct hn_bench *bench, struct hn_error *err);
/* Computes again what a variant has damaged. */
void hn_bench_repair_references(struct hn_bench *bench, struct hn_error *err);

/* Holds a trial of a verified variant (trial.h); what it says is its record's suspicion. Of kind AGAIN more and more
 * launches on the same inputs come in between where `memory` says so, and of pipelines. With a trial to be told it
 * decides: beside a control, all rounds; NULL: it ends once nothing is left to be seen. 48 rounds, of long launches
 * fewer, but 11. Short cold launches are taken in batches, deployed ones as warm. Inputs have to be filled again then
 * (hn_arena_fill); those that come from files stay as they are. */
void hn_bench_try(struct hn_bench *bench, struct hn_variant *variant, enum hn_suspicion kind, bool memory,
                  struct hn_trial *trial, struct hn_error *err);
/* The trial that decides: who is guilty has computed a wrong result. Inputs are filled again. */
void hn_bench_decide(struct hn_bench *bench, struct hn_variant *variant, enum hn_suspicion kind, struct hn_error *err);

#endif
