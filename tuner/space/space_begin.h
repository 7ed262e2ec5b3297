/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SPACE_SPACE_BEGIN_H
#define HONE_TUNER_SPACE_SPACE_BEGIN_H

#include <stdatomic.h>

#include "tuner/space/space_problem.h"

/* The steps of building a space, which a thread may take, for space*.c only. */

/* What a build stands on, and open groups refer to. */
struct hn_space_basis {
    struct hn_space_demands demands;
    struct hn_space_problem problem;
};

/* space_build.c. Clears the space and binds its constraints. */
enum hn_status hn_space_basis_make(struct hn_space *space, struct hn_space_basis **basis, struct hn_error *err);
/* Finds the points. */
enum hn_status hn_space_solve(struct hn_space *space, struct hn_space_basis *basis, struct hn_error *err);
/* The space owns the basis, where it still needs it. */
void hn_space_take_basis(struct hn_space *space, struct hn_space_basis *basis, enum hn_status solved);
void hn_space_basis_destroy(struct hn_space_basis *basis);

/* Whether all constraints hold, by the evaluator. */
bool hn_space_admits(const struct hn_space *space, const uint16_t *choice);
/* Ends what was begun and not waited for. True: the thread is still at it, and will destroy the space. */
bool hn_space_abandon(struct hn_space *space);

#endif
