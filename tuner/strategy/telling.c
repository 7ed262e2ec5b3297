/* SPDX-License-Identifier: MIT */
#include "tuner/strategy/telling.h"

#include <math.h>

bool hn_may_propose(const struct hn_strategy_kind *kind, const struct hn_strategy *strategy,
                    const struct hn_schedule *schedule)
{
    return hn_schedule_has_room(schedule) &&
           (kind->waits == NULL || schedule->count == 0 || !kind->waits(strategy));
}

/* Whether an outcome is known when the compilation is. */
static bool known_early(enum hn_outcome outcome)
{
    return outcome == HN_OUTCOME_INVALID_LAUNCH || outcome == HN_OUTCOME_COMPILE_ERROR ||
           outcome == HN_OUTCOME_COMPILE_TIMEOUT || outcome == HN_OUTCOME_COMPILE_CRASH ||
           outcome == HN_OUTCOME_COMPILE_STOPPED;
}

bool hn_tell_compiled(const struct hn_strategy_kind *kind, struct hn_strategy *strategy,
                      uint64_t ticket, const struct hn_observation *known)
{
    bool failed = known_early(known->outcome);
    const struct hn_observation compiled = {
        .outcome = failed ? known->outcome : HN_OUTCOME_OK,
        .cost = NAN,
        .resources = known->resources,
    };
    return kind->compiled == NULL || kind->compiled(strategy, ticket, &compiled) || failed;
}
