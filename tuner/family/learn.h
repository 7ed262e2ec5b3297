/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_FAMILY_LEARN_H
#define HONE_TUNER_FAMILY_LEARN_H

#include "cache/family/rule.h"
#include "tuner/family/places.h"

/* From a matrix to a rule: models of times, the configurations that together lose least, and a tree that says which. */

enum { HN_LEARN_WANTED = 16 };

struct hn_learn_options {
    uint64_t seed;  /* of the problems that predictions are made for */
    size_t samples; /* so many of them */
    size_t wanted;  /* sizes that are to be measured next, HN_LEARN_WANTED at most */
};

struct hn_learnt {
    struct hn_rule rule;               /* complete, with its predicted loss */
    size_t picked[HN_MATRIX_POINTS];   /* points of the matrix, by configuration of the rule */
    struct hn_bindings *wanted;        /* where times are least sure */
    size_t wanted_count;
    /* Points that may be good at a wanted size, the likeliest first. */
    size_t (*promising)[HN_MATRIX_POINTS];
    size_t *promising_count;
};

/* HN_ENOTFOUND: no configuration was measured, or none serves any problem. */
enum hn_status hn_learn(const struct hn_family_kernel *kernel, const struct hn_matrix *matrix,
                        const struct hn_learn_options *options, struct hn_learnt *learnt, struct hn_error *err);
void hn_learnt_finish(struct hn_learnt *learnt);

#endif
