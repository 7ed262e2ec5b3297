/* SPDX-License-Identifier: MIT */
#ifndef HONE_BENCH_SIMULATE_BATCH_H
#define HONE_BENCH_SIMULATE_BATCH_H

#include "bench/search/simulate/score.h"

/* Many runs on several threads: every strategy on every recorded space, each so often. A run shares nothing with
 * another that changes, and has a seed of its own (of the batch's seed, space, strategy and number), so that the results
 * are the same for any number of threads. */
struct hn_batch {
    struct hn_recorded *spaces;
    struct hn_scale *scales; /* by space */
    size_t space_count;
    struct hn_recorded *sources; /* of priors */
    size_t source_count;
    struct hn_priors *priors; /* by space; NULL without sources */
    const struct hn_strategy_kind **strategies;
    size_t strategy_count;
    size_t run_count; /* of each strategy on each space */
    uint64_t seed;
    uint64_t look_ahead;
    size_t cores; /* as of a run */
    uint64_t evaluations; /* that a run makes at least, whatever the budgets */
    size_t jobs;
    bool ask_chance;
    bool quiet;
    struct hn_run *runs; /* [strategy][space][run]; rows is NULL for a run that was not made */
};

/* Loads the files into spaces and scales, in parallel. Two of one name: HN_EUSAGE. */
enum hn_status hn_batch_load(struct hn_batch *batch, const char *const *paths, size_t count, struct hn_error *err);
/* Tells all spaces what their points are estimated to cost. HN_EUSAGE: no expression of what is in each; after hn_batch_load. */
enum hn_status hn_batch_set_estimate(struct hn_batch *batch, const char *text, struct hn_error *err);
/* Loads the files whose points the strategies are told of before they start, the most relevant first; after
 * hn_batch_load. A space is not told of itself. */
enum hn_status hn_batch_load_priors(struct hn_batch *batch, const char *const *paths, size_t count,
                                    struct hn_error *err);
/* Makes the runs, with progress on stderr unless quiet. HN_EINTERRUPTED: those that are finished are kept. */
enum hn_status hn_batch_run(struct hn_batch *batch, struct hn_error *err);
const struct hn_run *hn_batch_runs(const struct hn_batch *batch, size_t strategy, size_t space);
/* Scores all runs, which are there: [strategy][space], as many as strategies times spaces. */
void hn_batch_score(const struct hn_batch *batch, struct hn_score *scores);
void hn_batch_finish(struct hn_batch *batch);

/* Traces: JSON lines {"space", "strategy", "run", "evals": [row, ...], "overhead_ms"}, docs/formats.md; packed when the
 * path ends in .gz. */
enum hn_status hn_batch_write_traces(const struct hn_batch *batch, const char *path, struct hn_error *err);

#endif
