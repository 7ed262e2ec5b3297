/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SPACE_SPACE_AROUND_H
#define HONE_TUNER_SPACE_SPACE_AROUND_H

#include "tuner/space/space_search.h"

/* Asking the checks of a part about one point, and about those that differ from it in one parameter; for space*.c only. */
struct hn_space_around_check {
    const struct hn_space_check *check;
    struct hn_space_program before; /* what does not depend on the parameter */
    struct hn_space_program after;
};

struct hn_space_around {
    const struct hn_space_problem *problem;
    struct hn_space_around_list {
        struct hn_space_around_check *items; /* those that depend on the parameter */
        size_t count;
    } *lists;                                /* by parameter of the space */
    struct hn_space_around_list all;         /* each with all in `after` */
    uint16_t **positions;                    /* by parameter and index: of the value in the domain; UINT16_MAX: none */
    struct hn_blocks blocks;
};

enum hn_status hn_space_around_init(struct hn_space_around *around, const struct hn_space_problem *problem,
                                    const struct hn_space_part *part, struct hn_error *err);
void hn_space_around_finish(struct hn_space_around *around);

/* Whether all checks pass at choice. search is any of the part. */
bool hn_space_around_passes(const struct hn_space_around *around, struct hn_space_search *search,
                            const uint16_t *choice);
/* Sets the bits of the declared indices of a parameter with which, the others being as in choice, all checks pass. valid:
 * choice is, which spares the checks that do not depend on the parameter. */
void hn_space_around_values(const struct hn_space_around *around, struct hn_space_search *search,
                            const uint16_t *choice, bool valid, size_t parameter, uint64_t *values);

#endif
