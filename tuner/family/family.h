/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_FAMILY_FAMILY_H
#define HONE_TUNER_FAMILY_FAMILY_H

#include "cache/family/rule.h"
#include "cache/store/store.h"
#include "tuner/config/config.h"
#include "tuner/session/session.h"
#include "tuner/workers/workers.h"

/* The tuning of a family: sizes are tuned, what is good at some is measured at others, and a rule is learnt that says
 * what to take where. Then sizes that were not used are tuned each on its own, and the rule is held against them. */

/* How a family is tuned. Borrows all but the configs, which it takes. */
struct hn_family_options {
    struct hn_config *whole, *config; /* as written, and the same once more, of which what serves all sizes is left */
    bool quiet; /* no lines of what goes on */
    struct hn_workers *workers;
    struct hn_store *store;
    /* Of all sessions; budget_s or budget_count: of the whole; none: 60 s for one range, 120 s for two, 600 s for more. */
    struct hn_session_options search;
    enum hn_regime regime;
    double loss;     /* predicted, at which no more is measured; 0: the config's */
    unsigned held_out; /* sizes for the measured loss; 0: 10, 12 or 20, fewer for a short budget */
};

struct hn_family_outcome {
    struct hn_rule rule; /* the caller's */
    struct hn_rule_loss untuned; /* what the default point loses at the sizes that were not used */
    size_t programs; /* of its configurations */
    size_t sizes, tuned, cells; /* looked at; of them searched; times of a configuration at a size */
    double elapsed_s;
    bool reached; /* the predicted loss is what was asked for */
};

/* The rule is in the store then, with its machine code. HN_ENOTFOUND: nothing valid was found at any size.
 * HN_EINTERRUPTED: a signal came; what was measured is kept, and the same command goes on from there. Sticky. */
void hn_family_tune(const struct hn_family_options *options, struct hn_family_outcome *outcome, struct hn_error *err);

/* The loss of a rule at sizes that it has not seen. */
struct hn_held_out_loss {
    struct hn_rule_loss loss; /* of fewer sizes where the family has no more, or nothing could be measured */
    struct hn_rule_parts parts; /* of it */
    struct hn_rule_loss untuned; /* the same of the default point */
    double low;               /* of the mean: the lower end of its 95% interval, of what these sizes say */
    unsigned sure, wrong, failed; /* choices that were called sure; of them, with a loss as none should have; that failed */
};

/* The loss that a rule of the cache promises, measured again at sizes that nobody has measured yet. */
struct hn_family_replay {
    struct hn_tuned_list rules; /* the caller's; that of the cache's rules which was held against searches is `rule` */
    const struct hn_tuned *rule;
    struct hn_version version; /* what it would be learnt with now */
    struct hn_device_identity device;
    struct hn_held_out_loss found;
};

/* Without a budget: as much as `hone tune --family` spends on it without --budget; held_out 0: as many as that. The
 * searches go into the store, the rule stays as it is. HN_ENOTFOUND: the store has no rule of the config's family that
 * was learnt on this device. Sticky. */
void hn_family_replay(const struct hn_family_options *options, struct hn_family_replay *replay, struct hn_error *err);

#endif
