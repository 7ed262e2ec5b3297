/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/hash.h"
#include "base/memory.h"
#include "tuner/strategy/strategy.h"

extern const struct hn_strategy_kind hn_strategy_random;

struct hn_strategy {
    const struct hn_space *space;
    struct hn_permutation order;
    uint64_t next;
    struct hn_random random; /* draws where points are not numbered */
};

static enum hn_status create(const struct hn_search *search, struct hn_strategy **strategy,
                             struct hn_error *err)
{
    (void)err;
    *strategy = hn_need(1, sizeof **strategy);
    (*strategy)->space = search->space;
    (*strategy)->random = hn_random_seeded(search->seed);
    hn_permutation_init(&(*strategy)->order, hn_space_size(search->space), search->seed);
    return HN_OK;
}

static void destroy(struct hn_strategy *strategy)
{
    free(strategy);
}

static bool propose(struct hn_strategy *strategy, uint64_t ticket, uint16_t *choice)
{
    (void)ticket;
    if (!hn_space_enumerated(strategy->space)) {
        hn_space_sample(strategy->space, &strategy->random, choice);
        return true;
    }
    if (strategy->next == hn_space_size(strategy->space))
        return false;
    uint64_t index = hn_permutation_at(&strategy->order, strategy->next++);
    hn_space_point(strategy->space, index, choice);
    return true;
}

const struct hn_strategy_kind hn_strategy_random = {
    .name = "random",
    .summary = "every valid point once, in a random order given by the seed",
    .create = create,
    .destroy = destroy,
    .propose = propose,
};
