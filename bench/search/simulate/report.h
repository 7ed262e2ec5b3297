/* SPDX-License-Identifier: MIT */
#ifndef HONE_BENCH_SIMULATE_REPORT_H
#define HONE_BENCH_SIMULATE_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "bench/search/simulate/batch.h"

/* The scores of a batch ([strategy][space]) for people: a table a strategy. */
void hn_scores_print(const struct hn_batch *batch, const struct hn_score *scores, FILE *file);
/* The same as JSON; docs/formats.md. NULL when out of memory. */
json_t *hn_scores_to_json(const struct hn_batch *batch, const struct hn_score *scores);

#endif
