/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_VERIFY_H
#define HONE_RUNTIME_BENCH_VERIFY_H

#include "runtime/bench/variant.h"

/* Of an argument that is compared. */
struct hn_output {
    uint64_t offset;   /* in the block */
    uint64_t checksum; /* of all that is kept of it */
    uint64_t count;    /* the elements that are results, by its length argument; of vectors all lanes */
    uint64_t compared; /* how many of these are compared */
    double largest;    /* max|r| of all inputs so far: those of one may cancel in a single sum */
};

/* A copy of what the output and inout arguments hold after a launch: what later launches are compared with. It is
 * veiled (support_veil.cuh), so that no variant can read there what it should compute. */
struct hn_outputs {
    struct hn_arena *arena;
    CUdeviceptr block;
    struct hn_output *of; /* one an argument */
    bool damaged;         /* a variant wrote into it: capture it again */
};

void hn_outputs_init(struct hn_outputs *outputs, struct hn_arena *arena, struct hn_error *err);
void hn_outputs_finish(struct hn_outputs *outputs);

/* Copies the arguments of the first set and notes checksums. */
void hn_outputs_capture(struct hn_outputs *outputs, struct hn_error *err);
/* Notes which elements of arguments that are compared in part were written, by what is in the first set after a further
 * launch. poisons: the seeds before the launch that was captured and before this one; NULL: there was no launch, and
 * what was captured as NaN was not written. Returns an argument of which none was, or SIZE_MAX. */
size_t hn_outputs_find_written(struct hn_outputs *outputs, const uint64_t poisons[2], struct hn_error *err);
bool hn_outputs_are_partial(const struct hn_outputs *outputs);

/* Whether a launch did what it had to and nothing else. What is found goes into the variant's record: outcome, message,
 * verdict; err is for what is not the variant's fault, and for a dead context. Both are sticky. */

/* Restores and poisons the first set (outputs and scratch from `poison`, see hn_arena_poison); and launches once behind
 * that, and waits. */
void hn_verify_prepare(struct hn_variant *variant, uint64_t poison, struct hn_error *err);
void hn_verify_launch(struct hn_variant *variant, uint64_t poison, struct hn_error *err);

/* Checks after a launch: guard zones, inputs, pristine copies, and the outputs of the variant's compared_set against
 * `outputs`. `when` begins the message of a failure ("" or "in a timed launch: "). Repairs what was damaged in the
 * arena; damaged outputs are marked. Notes the variant's metric values, and in the verdict that one more launch was
 * right. */
void hn_verify_check(struct hn_variant *variant, struct hn_outputs *outputs, const char *when, struct hn_error *err);

#endif
