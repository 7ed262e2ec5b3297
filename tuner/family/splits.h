/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_FAMILY_SPLITS_H
#define HONE_TUNER_FAMILY_SPLITS_H

#include "cache/family/rule.h"
#include "runtime/plan/plan.h"
#include "tuner/config/family.h"

/* What a rule may ask of a problem: each size and what 2 and 4 leave of it, products and quotients of two, the product of
 * all, which value of a list it has, and how many blocks a configuration has for it. */

/* Sets values and features of a rule that has its configurations, for problems as the example. HN_ENOMEM. */
enum hn_status hn_splits_make(const struct hn_family *family, const struct hn_plan *plan,
                              const struct hn_bindings *example, struct hn_rule *rule, struct hn_error *err);

#endif
