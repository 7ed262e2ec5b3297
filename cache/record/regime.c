/* SPDX-License-Identifier: MIT */
#include "cache/record/regime.h"

#include <string.h>

/* They are written to caches and files: never change one. */
static const char *const regime_names[] = {[HN_COLD] = "cold",
                                           [HN_WARM] = "warm",
                                           [HN_STREAM] = "stream",
                                           [HN_GRAPH] = "graph",
                                           [HN_GRAPH10] = "graph10"};

const char *hn_regime_name(enum hn_regime regime)
{
    return regime_names[regime];
}

bool hn_regime_parse(const char *name, enum hn_regime *regime)
{
    for (int i = HN_COLD; name != NULL && i <= HN_GRAPH10; i++) {
        if (strcmp(name, regime_names[i]) != 0)
            continue;
        *regime = (enum hn_regime)i;
        return true;
    }
    return false;
}

bool hn_regime_is_deployed(enum hn_regime regime)
{
    return regime >= HN_STREAM;
}
