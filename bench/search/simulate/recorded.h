/* SPDX-License-Identifier: MIT */
#ifndef HONE_BENCH_SIMULATE_RECORDED_H
#define HONE_BENCH_SIMULATE_RECORDED_H

#include "bench/search/simulate/number.h"
#include "bench/search/simulate/recording_table.h"
#include "tuner/strategy/strategy.h"

/* A recorded tuning, ready to be searched: its rows are the valid points of a space, whatever constraints once chose
 * them. Read-only once loaded, and safe from several threads. */
struct hn_recorded {
    char *name; /* the file's, without folder and endings */
    struct hn_recording_table table;
    struct hn_space *space;
    uint32_t *row_of_point; /* by number in the space */
    struct hn_observation *observations; /* by row, as a strategy is told; costs in microseconds */
};

/* HN_EFORMAT, HN_ERUN: names the path. */
enum hn_status hn_recorded_load(const char *path, struct hn_recorded *recorded, struct hn_error *err);
void hn_recorded_finish(struct hn_recorded *recorded);

#endif
