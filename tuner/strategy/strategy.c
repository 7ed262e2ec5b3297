/* SPDX-License-Identifier: MIT */
#include "tuner/strategy/strategy.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

/* The table of kinds, and the two plain ones, which run ahead without bound. */

struct hn_strategy {
    const struct hn_space *space;
    uint64_t next;
    bool shuffled; /* in this order */
    struct hn_permutation order;
    struct hn_random random; /* draws where points are not numbered */
};

static struct hn_strategy *create_exhaustive(const struct hn_search *search, struct hn_error *err)
{
    char count[HN_SPACE_COUNT_TEXT];
    if (!hn_space_enumerated(search->space)) {
        hn_fail(err, HN_ECONFIG,
                "%s points are valid, too many for strategy 'exhaustive': take another, or "
                "restrict parameters with -s",
                hn_space_count_text(search->space, count));
        return NULL;
    }
    struct hn_strategy *strategy = hn_need(1, sizeof *strategy);
    strategy->space = search->space;
    return strategy;
}

static void destroy(struct hn_strategy *strategy)
{
    free(strategy);
}

static struct hn_strategy *create_random(const struct hn_search *search, struct hn_error *err)
{
    (void)err;
    struct hn_strategy *strategy = hn_need(1, sizeof *strategy);
    *strategy = (struct hn_strategy){
        .space = search->space, .shuffled = true, .random = hn_random_seeded(search->seed)};
    hn_permutation_init(&strategy->order, hn_space_size(search->space), search->seed);
    return strategy;
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
    uint64_t next = strategy->next++;
    hn_space_point(strategy->space,
                   strategy->shuffled ? hn_permutation_at(&strategy->order, next) : next, choice);
    return true;
}

static const struct hn_strategy_kind exhaustive = {
    .name = "exhaustive",
    .summary = "every valid point, in the order of the space",
    .create = create_exhaustive,
    .destroy = destroy,
    .propose = propose,
};

static const struct hn_strategy_kind at_random = {
    .name = "random",
    .summary = "every valid point once, in a random order given by the seed",
    .create = create_random,
    .destroy = destroy,
    .propose = propose,
};

extern const struct hn_strategy_kind hn_strategy_model;
extern const struct hn_strategy_kind hn_strategy_auto;
extern const struct hn_strategy_kind hn_strategy_genetic;

const struct hn_strategy_kind *const hn_strategy_kinds[] = {
    &hn_strategy_auto, &hn_strategy_model, &hn_strategy_genetic, &exhaustive, &at_random, NULL,
};

const struct hn_strategy_kind *hn_strategy_find(const char *name)
{
    for (size_t i = 0; hn_strategy_kinds[i] != NULL; i++)
        if (strcmp(hn_strategy_kinds[i]->name, name) == 0)
            return hn_strategy_kinds[i];
    return NULL;
}
