/* SPDX-License-Identifier: MIT */
#include "cache/record/outcome.h"

const char *const hn_outcome_names[HN_OUTCOME_COUNT] = {
#define X(identifier, name, meaning) [identifier] = name,
    HN_OUTCOMES(X)
#undef X
};

const char *hn_outcome_name(enum hn_outcome outcome)
{
    return hn_outcome_names[outcome];
}

const char *hn_outcome_meaning(enum hn_outcome outcome)
{
    static const char *const meanings[HN_OUTCOME_COUNT] = {
#define X(identifier, name, meaning) [identifier] = meaning,
        HN_OUTCOMES(X)
#undef X
    };
    return meanings[outcome];
}

bool hn_outcome_is_open(enum hn_outcome outcome)
{
    return outcome == HN_OUTCOME_SKIPPED || outcome == HN_OUTCOME_COMPILE_STOPPED;
}
