/* SPDX-License-Identifier: MIT */
#include "runtime/bench/regime.h"

#include <string.h>

static const char *const regime_names[] = {[HN_COLD] = "cold", [HN_WARM] = "warm"};

const char *hn_regime_name(enum hn_regime regime)
{
    return regime_names[regime];
}

bool hn_regime_parse(const char *name, enum hn_regime *regime)
{
    for (int i = HN_COLD; i <= HN_WARM; i++) {
        if (strcmp(name, regime_names[i]) != 0)
            continue;
        *regime = (enum hn_regime)i;
        return true;
    }
    return false;
}
