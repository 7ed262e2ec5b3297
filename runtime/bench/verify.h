/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_VERIFY_H
#define HONE_RUNTIME_BENCH_VERIFY_H

#include "runtime/bench/variant.h"

/* A copy of what the output and inout arguments hold after a launch: what later launches are compared with. It is
 * veiled (support_veil.cuh), so that no variant can read there what it should compute. */
struct hn_outputs {
    struct hn_arena *arena;
    CUdeviceptr block;
    uint64_t *offsets;   /* one an argument */
    uint64_t *checksums; /* one an argument */
    uint64_t *counts;    /* one an argument: the elements that are results, by its length argument; of vectors all lanes */
    uint64_t *compared;  /* one an argument: how many of these are compared */
    double *largest;     /* one an argument: max|r| of all inputs so far: those of one may cancel in a single sum */
    bool damaged;        /* a variant wrote into it: capture it again */
};

void hn_outputs_init(struct hn_outputs *outputs, struct hn_arena *arena, struct hn_error *err);
void hn_outputs_finish(struct hn_outputs *outputs);

/* Copies the arguments of the first set and notes checksums. */
void hn_outputs_capture(struct hn_outputs *outputs, struct hn_error *err);
/* Notes which elements of arguments that are compared in part were written, by what is in the first set after a further
 * launch. poisons: the seeds before the launch that was captured and before this one; NULL: there was no
 * launch, and what was captured as NaN was not written. *empty becomes an argument of which
 * none was, or SIZE_MAX. */
void hn_outputs_find_written(struct hn_outputs *outputs, const uint64_t poisons[2], size_t *empty,
                                       struct hn_error *err);
bool hn_outputs_are_partial(const struct hn_outputs *outputs);
CUdeviceptr hn_outputs_address(const struct hn_outputs *outputs, size_t argument);
/* The bits of the elements that are compared; 0: all are. */
CUdeviceptr hn_outputs_written(const struct hn_outputs *outputs, size_t argument);
/* Queues the checksum of what is kept of an argument, which is to be outputs->checksums' (HN_SLOT_REFERENCE). */
void hn_outputs_queue_checksum(const struct hn_outputs *outputs, size_t argument, struct hn_error *err);
/* One element, without the veil, at so many bytes from the argument's beginning. */
void hn_outputs_read(const struct hn_outputs *outputs, size_t argument, uint64_t offset, void *element,
                               struct hn_error *err);

/* Whether a launch did what it had to and nothing else. What is found goes into record: outcome, message, verdict. The
 * status is for what is not the variant's fault, and for a dead context. */

/* Restores and poisons the first set (outputs and scratch from `poison`, see hn_arena_poison), launches once and
 * waits. */
void hn_verify_launch(struct hn_variant *variant, uint64_t poison, struct hn_record *record,
                                struct hn_error *err);

/* Checks after a launch: guard zones, inputs, pristine copies, and the outputs of the variant's compared_set against
 * `outputs`. `when` begins the message of a failure ("" or "in a timed launch: "). Repairs what was damaged in the
 * arena; damaged outputs are marked. Notes the variant's metric values, and in the verdict that one more launch was
 * right. */
void hn_verify_check(struct hn_variant *variant, struct hn_outputs *outputs, const char *when,
                               struct hn_record *record, struct hn_error *err);

#endif
