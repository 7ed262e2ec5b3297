/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_FAMILY_LEARNT_H
#define HONE_TUNER_FAMILY_LEARNT_H

#include "cache/family/rule.h"
#include "tuner/family/matrix.h"

/* What is asked of hn_learn, and what comes of it. */

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
    bool has_search;
    struct hn_bindings search; /* where a search of its own may find most */
};

void hn_learnt_finish(struct hn_learnt *learnt);

#endif
