/* SPDX-License-Identifier: MIT */
#include "tuner/strategy/strategy.h"

#include <string.h>

extern const struct hn_strategy_kind hn_strategy_exhaustive;
extern const struct hn_strategy_kind hn_strategy_random;
extern const struct hn_strategy_kind hn_strategy_model;
extern const struct hn_strategy_kind hn_strategy_auto;
extern const struct hn_strategy_kind hn_strategy_genetic;

const struct hn_strategy_kind *const hn_strategy_kinds[] = {
    &hn_strategy_auto,       &hn_strategy_model,  &hn_strategy_genetic,
    &hn_strategy_exhaustive, &hn_strategy_random, NULL,
};

const struct hn_strategy_kind *hn_strategy_find(const char *name)
{
    for (size_t i = 0; hn_strategy_kinds[i] != NULL; i++) {
        if (strcmp(hn_strategy_kinds[i]->name, name) == 0)
            return hn_strategy_kinds[i];
    }
    return NULL;
}
