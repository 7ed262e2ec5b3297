/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_FAMILY_FAMILY_REPLAY_H
#define HONE_TUNER_FAMILY_FAMILY_REPLAY_H

#include "cache/store/store.h"
#include "tuner/family/family_options.h"
#include "tuner/family/held_out.h"

/* What a rule of the cache promises, measured again at sizes that nobody has measured yet. */

struct hn_family_replay {
    struct hn_stored_rules rules; /* that of the cache's rules which was held against searches is `rule` */
    const struct hn_stored_rule *rule;
    struct hn_version version; /* what it would be learnt with now */
    struct hn_device_identity device;
    struct hn_held_out_loss found;
};

/* options->budget_s 0: as much as `hone tune --family` spends on it without --budget; held_out 0: as many as that. The
 * searches go into the store, the rule stays as it is. HN_ENOTFOUND: the store has no rule of the config's family that was
 * learnt on this device. */
enum hn_status hn_family_replay(const struct hn_family_options *options, struct hn_family_replay *replay,
                                struct hn_error *err);
void hn_family_replay_finish(struct hn_family_replay *replay);

#endif
