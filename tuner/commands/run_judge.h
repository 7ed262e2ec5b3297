/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_COMMANDS_RUN_JUDGE_H
#define HONE_TUNER_COMMANDS_RUN_JUDGE_H

#include "runtime/bench/bench.h"

/* What `hone run --json` asks of a point that was verified and measured on `seed`, as `hone tune` does of its
 * finalists: it runs beside its reference, and is verified on a seed that is drawn, audited and repeated. What fails
 * becomes the record's outcome. HN_ERUN as the bench. */
enum hn_status hn_run_judge(struct hn_bench *bench, const struct hn_plan *plan, const struct hn_image *image,
                            struct hn_record *record, struct hn_beside *beside, struct hn_error *err);

/* Holds the trial of a suspect in this process (runtime/bench/trial.h), and puts into the record how it ended. */
enum hn_status hn_run_try(struct hn_bench *bench, const struct hn_image *image, struct hn_record *record,
                          struct hn_error *err);

#endif
