/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_FAMILY_LEARN_H
#define HONE_TUNER_FAMILY_LEARN_H

#include "tuner/family/learnt.h"
#include "tuner/family/places.h"

/* From a matrix to a rule: models of times, the configurations that together lose least, and a tree that says which. */

/* HN_ENOTFOUND: no configuration was measured, or none serves any problem. */
enum hn_status hn_learn(const struct hn_family_kernel *kernel, const struct hn_matrix *matrix,
                        const struct hn_learn_options *options, struct hn_learnt *learnt, struct hn_error *err);

#endif
