/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_LIBHONE_RACE_H
#define HONE_RUNTIME_LIBHONE_RACE_H

#include "cache/store/store_rules.h"
#include "runtime/libhone/choice.h"
#include "runtime/libhone/kernel.h"

/* The race of a handle (HONE_MISS_RACE): points that may be the fastest for its problem take turns in its launches, each
 * of which one of them carries out, until times tell which is. All of one version of the kernel, valid for the problem, and
 * with machine code. */
struct hn_lib_race;

enum {
    HN_LIB_RACERS_MOST = 4,   /* the handle's own point among them */
    HN_LIB_RACERS_LIKELY = 16 /* that are asked for, of which some can not be launched */
};

/* Configurations of a rule beside its own choice, likeliest first: what it says of problems with half and twice a value,
 * then the order of its fallback. */
size_t hn_lib_racers_of_rule(const struct hn_rule *rule, const struct hn_bindings *problem, int own,
                             int configurations[HN_LIB_RACERS_LIKELY]);
/* Results with other points than `own`, nearest first: of its version, verified, on the device of the query. */
size_t hn_lib_racers_of_results(const struct hn_tuned_list *list, const struct hn_lookup_query *query,
                                const struct hn_tuned *own, const struct hn_tuned *racers[HN_LIB_RACERS_LIKELY]);

/* Whether launches of the choice can be raced: not where they change what they read, or set symbols, or are not compared by
 * time. */
bool hn_lib_race_can_be(const struct hn_lib_choice *choice);

/* With the handle alone; its context is current. NULL when there is no memory, or there are no events. Copies the identity,
 * and takes what is in the image. */
struct hn_lib_race *hn_lib_race_make(struct hone_kernel *own, const struct hn_tuned *tuned, const char *path,
                                     struct hn_image *image);
/* Takes the kernel over, with what is in the image. False: it wants other arguments than the handle, or there are enough. */
bool hn_lib_race_add(struct hn_lib_race *race, struct hone_kernel *kernel, struct hn_image *image);
size_t hn_lib_race_count(const struct hn_lib_race *race);
/* What is written of a race: a point with its times. */
struct hn_lib_raced {
    const struct hn_bindings *point;
    const struct hn_image *image; /* may be empty */
    double *samples_us;           /* sorted by who writes */
    size_t sample_count;
};
/* Writes them into a cache, which is made where it is missing: a session of the problem with an unknown regime. With the
 * lock of the handle's cache held, which may be that file. */
enum hn_status hn_lib_race_record(const char *path, const struct hn_identity *identity,
                                  const struct hn_version *version, const struct hn_lib_plan *plan,
                                  const struct hn_lib_raced *raced, size_t count, struct hn_error *err);

#endif
