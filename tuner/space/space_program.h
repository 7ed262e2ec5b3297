/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SPACE_SPACE_PROGRAM_H
#define HONE_TUNER_SPACE_SPACE_PROGRAM_H

#include "base/expression/expression_terms.h"

/* What computes a term, for space*.c only. */
struct hn_space_program {
    const struct hn_instruction *items;
    size_t count;
};

/* Collects the terms that a term is computed from. The terms do not grow meanwhile. */
struct hn_space_gatherer {
    const struct hn_terms *terms;
    unsigned char *seen; /* by term */
    int *found;          /* what hn_space_gather found, ascending; constants are left out */
    size_t count;
};

enum hn_status hn_space_gatherer_init(struct hn_space_gatherer *gatherer, const struct hn_terms *terms,
                                      struct hn_error *err);
void hn_space_gatherer_finish(struct hn_space_gatherer *gatherer);
void hn_space_gather(struct hn_space_gatherer *gatherer, int term);
/* Adds to what was found; sort once all was added. */
void hn_space_gather_more(struct hn_space_gatherer *gatherer, int term);
void hn_space_gather_sort(struct hn_space_gatherer *gatherer);

/* Those of the found terms that depend on the slot, or those that do not. The program is kept in blocks. HN_ENOMEM,
 * without a message. */
enum hn_status hn_space_program_take(const struct hn_space_gatherer *gatherer, size_t slot, bool depends,
                                     struct hn_blocks *blocks, struct hn_space_program *program);

static inline bool hn_has_slot(const uint64_t *slots, size_t slot)
{
    return slots[slot / 64] >> (slot % 64) & 1;
}

#endif
