/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/memory.h"
#include "tuner/strategy/strategy.h"

extern const struct hn_strategy_kind hn_strategy_exhaustive;

struct hn_strategy {
    const struct hn_space *space;
    uint64_t next;
};

static enum hn_status create(const struct hn_search *search, struct hn_strategy **strategy,
                             struct hn_error *err)
{
    char count[HN_SPACE_COUNT_TEXT];
    if (!hn_space_enumerated(search->space))
        return hn_fail(err, HN_ECONFIG,
                       "%s points are valid, too many for strategy 'exhaustive': take another, or "
                       "restrict parameters with -s",
                       hn_space_count_text(search->space, count));
    *strategy = hn_need(1, sizeof **strategy);
    (*strategy)->space = search->space;
    return HN_OK;
}

static void destroy(struct hn_strategy *strategy)
{
    free(strategy);
}

static bool propose(struct hn_strategy *strategy, uint64_t ticket, uint16_t *choice)
{
    (void)ticket;
    if (strategy->next == hn_space_size(strategy->space))
        return false;
    hn_space_point(strategy->space, strategy->next++, choice);
    return true;
}

const struct hn_strategy_kind hn_strategy_exhaustive = {
    .name = "exhaustive",
    .summary = "every valid point, in the order of the space",
    .create = create,
    .destroy = destroy,
    .propose = propose,
};
