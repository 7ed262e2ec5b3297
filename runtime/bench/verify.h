/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_VERIFY_H
#define HONE_RUNTIME_BENCH_VERIFY_H

#include "runtime/bench/outputs.h"
#include "runtime/bench/variant.h"

/* Whether a launch did what it had to and nothing else. What is found goes into record: outcome, message, verdict. The
 * status is for what is not the variant's fault, and for a dead context. */

/* Restores and poisons the first set (outputs and scratch from `poison`, see hn_arena_poison), launches once and waits. */
enum hn_status hn_verify_launch(struct hn_variant *variant, uint64_t poison, struct hn_record *record,
                                struct hn_error *err);

/* Checks after a launch: guard zones, inputs, pristine copies, and the outputs of the variant's compared_set against
 * `outputs`. `when` begins the message of a failure ("" or "in a timed launch: "). Repairs what was damaged in the arena;
 * damaged outputs are marked. Notes the variant's metric values, and in the verdict that one more launch was right. */
enum hn_status hn_verify_check(struct hn_variant *variant, struct hn_outputs *outputs, const char *when,
                               struct hn_record *record, struct hn_error *err);

/* Says by which element an output differs from its reference as a multiset. */
enum hn_status hn_verify_report_multiset(const struct hn_variant *variant, const struct hn_outputs *outputs,
                                         size_t argument, const char *when, struct hn_record *record, struct hn_error *err);

#endif
