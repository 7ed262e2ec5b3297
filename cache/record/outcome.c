/* SPDX-License-Identifier: MIT */
#include "cache/record/outcome.h"

#include <stddef.h>
#include <string.h>

const char *const hn_outcome_names[HN_OUTCOME_COUNT] = {
#define X(identifier, name) [identifier] = name,
    HN_OUTCOMES(X)
#undef X
};

const char *hn_outcome_name(enum hn_outcome outcome)
{
    return hn_outcome_names[outcome];
}

bool hn_outcome_parse(const char *name, enum hn_outcome *outcome)
{
    for (size_t i = 0; i < HN_OUTCOME_COUNT; i++) {
        if (strcmp(hn_outcome_names[i], name) == 0) {
            *outcome = (enum hn_outcome)i;
            return true;
        }
    }
    return false;
}
