/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_FAMILY_HELD_OUT_H
#define HONE_TUNER_FAMILY_HELD_OUT_H

#include "cache/family/rule.h"
#include "tuner/family/measuring.h"
#include "tuner/family/places.h"

/* What is lost by a rule at sizes that it has not seen: each is tuned on its own, and what that found and what the rule says
 * meet in a race. Borrows all. */
struct hn_held_out {
    struct hn_measuring *measuring;
    struct hn_family_kernel kernel;
    const struct hn_rule *rule;
    uint64_t seed; /* of the sequence that sizes are drawn from */
    unsigned count;
    double budget_s; /* of all searches */
    double started_ms; /* from which lines count their time */
    bool (*is_used)(void *context, const struct hn_bindings *problem); /* such a size is passed over */
    void *context;
};

struct hn_held_out_loss {
    struct hn_rule_loss loss; /* of fewer sizes where the family has no more, or nothing could be measured */
    struct hn_rule_loss untuned; /* the same of the default point */
    double low;               /* of the mean: the lower end of its 95% interval, of what these sizes say */
};

/* Says a line a size. HN_EINTERRUPTED. */
enum hn_status hn_held_out_measure(const struct hn_held_out *held_out, struct hn_held_out_loss *found,
                                   struct hn_error *err);

/* Appends "the default point there: 41.0% slower in the mean, 210% at worst"; nothing where it is not known. */
void hn_held_out_append_default(struct hn_text *text, const struct hn_rule_loss *loss);

#endif
