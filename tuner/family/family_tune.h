/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_FAMILY_FAMILY_TUNE_H
#define HONE_TUNER_FAMILY_FAMILY_TUNE_H

#include "cache/family/rule.h"
#include "tuner/family/family_options.h"

/* The tuning of a family: sizes are tuned, what is good at some is measured at others, and a rule is learnt that says what to
 * take where. Then sizes that were not used are tuned each on its own, and the rule is held against them. */

struct hn_family_outcome {
    struct hn_rule rule;
    struct hn_rule_loss untuned; /* what the default point loses at the sizes that were not used */
    size_t sizes, tuned, cells; /* looked at; of them searched; times of a configuration at a size */
    double elapsed_s;
    bool reached; /* the predicted loss is what was asked for */
};

/* The rule is in the store then, with its machine code. HN_ENOTFOUND: nothing valid was found at any size. HN_EINTERRUPTED:
 * a signal came; what was measured is kept, and the same command goes on from there. */
enum hn_status hn_family_tune(const struct hn_family_options *options, struct hn_family_outcome *outcome,
                              struct hn_error *err);
void hn_family_outcome_finish(struct hn_family_outcome *outcome);

/* What is spent on a family where nobody says. */
struct hn_family_worth {
    double budget_s;
    size_t tuned;      /* sizes that are searched */
    unsigned held_out; /* and sizes that are not used */
    size_t least_sizes; /* before a predicted loss is believed */
};
struct hn_family_worth hn_family_worth(const struct hn_family *family);
/* What of a budget at least is for the sizes that are not used. */
double hn_family_held_out_s(double budget_s);

#endif
