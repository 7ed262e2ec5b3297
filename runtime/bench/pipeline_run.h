/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_PIPELINE_RUN_H
#define HONE_RUNTIME_BENCH_PIPELINE_RUN_H

#include "runtime/bench/stage.h"
#include "runtime/bench/variant.h"

/* The parts of a variant that a launch with a flow needs beside those of others. */

/* What a launch may leave out, to time the rest. */
enum hn_skip { HN_SKIP_UPLOADS = 1, HN_SKIP_KERNELS = 2, HN_SKIP_DOWNLOADS = 4 };

/* Host buffers, streams and events; again when another variant had them since. What is refused is the variant's outcome
 * in record. */
enum hn_status hn_pipeline_place(struct hn_variant *variant, struct hn_record *record, struct hn_error *err);

/* Queues copies and kernels of all chunks. The context's stream waits for all. */
CUresult hn_pipeline_launch(struct hn_variant *variant);

/* Host buffers as a launch expects them; the arena is restored. */
enum hn_status hn_pipeline_restore(const struct hn_variant *variant, struct hn_error *err);
/* Outputs in host memory become what the arena's are; what is uploaded is poisoned on the device. The arena is spoiled
 * until a check has found all as it was. */
enum hn_status hn_pipeline_poison(const struct hn_variant *variant, uint64_t seed, struct hn_error *err);
/* Brings what is in host memory to the arena, where it is checked: what was downloaded, and where nothing is copied all.
 * A changed guard zone of a host buffer is the variant's outcome in record. */
enum hn_status hn_pipeline_collect(const struct hn_variant *variant, const char *when, struct hn_record *record,
                                   struct hn_error *err);
/* What registering its host buffers took once, in milliseconds. */
double hn_pipeline_register_ms(const struct hn_variant *variant);

#endif
