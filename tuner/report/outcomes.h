/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_REPORT_OUTCOMES_H
#define HONE_TUNER_REPORT_OUTCOMES_H

#include <stdint.h>
#include <stdio.h>

#include "cache/record/record.h"

/* "  76 points: 70 ok, 6 compile_error". counts: by outcome. */
void hn_outcomes_count(const uint64_t counts[HN_OUTCOME_COUNT], FILE *file);
/* The line below a table that shows outcomes: what each of those that are there means (but `ok`), and
 * where docs/outcomes.md is. Nothing where there is nothing to explain. */
void hn_outcomes_explain(const uint64_t counts[HN_OUTCOME_COUNT], FILE *file);

/* The same of a column of regimes. */
void hn_regimes_explain(FILE *file);

#endif
