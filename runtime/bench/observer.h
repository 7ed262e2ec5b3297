/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_OBSERVER_H
#define HONE_RUNTIME_BENCH_OBSERVER_H

#include "runtime/bench/measure.h"

struct hn_bench;
struct hn_variant;

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
    /* When it is first asked for; NULL where it can not observe here. */
    void *(*open)(struct hn_bench *bench);
    /* Samples of a measurement, each time some were taken: never between samples that were queued together. */
    void (*taken)(void *own, const struct hn_sample *samples, size_t count);
    /* Launches the variant itself. asked: the amount. What it saw goes to the variant's record. Sticky. */
    void (*run)(void *own, struct hn_variant *variant, double asked, struct hn_error *err);
    /* Of a variant whose time was measured, or raced: at the end. Sticky. */
    void (*note)(void *own, struct hn_record *record, struct hn_error *err);
    /* Takes another window into account; NULL: it replaces what was seen before. Sticky. */
    void (*add)(struct hn_bindings *observed, const struct hn_bindings *window, struct hn_error *err);
    void (*close)(void *own);
};
enum { HN_MOST_OBSERVERS = 16 };

#endif
