/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_STORE_LOOKUP_H
#define HONE_CACHE_STORE_LOOKUP_H

#include "cache/store/store.h"

/* Which tuned result serves a device and a problem. One rule for whoever asks: the library, and the header that is
 * exported, whose select spells the same out in C (tuner/export/header.h.in; a test compares the answers). */

/* How near a result is, best last. */
enum hn_grade {
    HN_GRADE_NONE,         /* there is none, or it cannot be used */
    HN_GRADE_ANY,          /* tuned on another architecture */
    HN_GRADE_ARCHITECTURE, /* on another device of the same compute capability */
    HN_GRADE_PROBLEM,      /* on this device, for another problem */
    HN_GRADE_EXACT,        /* on this device for this problem */
};

/* All is borrowed. What is not known counts as equal. */
struct hn_lookup_query {
    const char *device_name; /* NULL: not known */
    int capability;          /* 90 for 9.0 */
    int sm_count;            /* 0: not known */
    const struct hn_bindings *problem;
    const char *regime;    /* NULL: cold before warm */
    const char *objective; /* NULL: time before others */
    /* Whether the point can be used for the problem (constraints and launch limits hold); NULL: always. Asked of
     * those alone that would be the best of those looked at so far. */
    bool (*usable)(const struct hn_tuned *tuned, void *context);
    void *context;
};

/* How well a result serves, without asking `usable`. Compared in the order of the members. */
struct hn_lookup_rank {
    enum hn_grade grade;
    int unlike;       /* words of the problem (and values that one of the two does not have as a number) that differ */
    double distance;  /* of the problem: the product of the ratios of its values, 1 for equal ones */
    double sm_ratio;  /* ratio of the multiprocessors; 1 where they are not known */
};

/* Whether a result's objective is the one that is asked for: NULL, any; a metric's name, with or without its direction. */
bool hn_lookup_is_objective(const char *asked, const char *own);

/* HN_GRADE_NONE: the problem has other names, or it is of another regime or objective. */
struct hn_lookup_rank hn_lookup_rank(const struct hn_lookup_query *query, const struct hn_identity *identity);
/* Below 0 where a serves better, above 0 where b does. */
int hn_lookup_rank_compare(const struct hn_lookup_rank *a, const struct hn_lookup_rank *b);

/* The order in which equally good results are taken, and in which the header lists them: by device (name, SMs, compute
 * capability, MIG profile), then by problem, then what was measured before what was simulated, cold before warm, time
 * before another objective, the newer before the older. Of two results for one device and problem it is the preference.
 * Takes two struct hn_tuned, as qsort wants it. */
int hn_lookup_order(const void *first, const void *second);
/* Whether the first four parts of that order are equal: results for one device and problem. */
bool hn_lookup_same_task(const struct hn_identity *a, const struct hn_identity *b);

/* The best usable one of a list of one kernel, which is sorted; NULL when there is none. Results without a valid time do not count,
 * and of several for one device and problem only the preferred one. */
const struct hn_tuned *hn_lookup(struct hn_tuned_list *list, const struct hn_lookup_query *query,
                                 struct hn_lookup_rank *rank);

/* The same among many results of one kernel, most of which differ in the numbers of their problems only: vectors of logarithms tell
 * which can be the nearest. */
struct hn_lookup_index {
    const struct hn_tuned *items; /* borrowed */
    size_t count;
    struct hn_lookup_class *classes;
    size_t class_count;
    float *logs;      /* of value d of the problem of item i: logs[d * count + i]; 0 for words */
    float *distances; /* room for a search */
};

/* Sorts the list, which must not change then. */
enum hn_status hn_lookup_index_make(struct hn_lookup_index *index, struct hn_tuned_list *list, struct hn_error *err);
void hn_lookup_index_finish(struct hn_lookup_index *index);
/* Not to be called by several threads at once. */
const struct hn_tuned *hn_lookup_index_find(struct hn_lookup_index *index, const struct hn_lookup_query *query,
                                            struct hn_lookup_rank *rank);

#endif
