/* SPDX-License-Identifier: MIT */
#include "tuner/strategy/telling.h"

#include <math.h>

/* a - b, between 0 and limit. */
static uint64_t distance(uint64_t a, uint64_t b, uint64_t limit)
{
    uint64_t distance = a > b ? a - b : 0;
    return distance < limit ? distance : limit;
}

struct hn_telling hn_telling_before(uint64_t t, unsigned look_ahead, uint64_t count)
{
    return (struct hn_telling){.compiled = distance(t + 1, look_ahead / 2, count),
                               .finished = distance(t + 1, look_ahead, count)};
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
