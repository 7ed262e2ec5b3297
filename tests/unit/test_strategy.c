/* SPDX-License-Identifier: MIT */
#include "tuner/strategy/strategy.h"

#include "base/hash.h"
#include "tests/unit/space_fixture.h"

static struct hn_space *space_of(int64_t count)
{
    struct hn_space *space = hn_space_create();
    add_range(space, "A", 0, (size_t)count);
    struct hn_value both[] = {hn_boolean(false), hn_boolean(true)};
    hn_space_add_parameter(space, "B", both, 2);
    constrain(space, "A % 3 == 0 or B");
    return build(space);
}

/* The indices in the order proposed; the caller frees them. */
static uint64_t *run(const char *name, const struct hn_space *space, uint64_t seed)
{
    const struct hn_strategy_kind *kind = hn_strategy_find(name);
    struct hn_strategy *strategy;
    const struct hn_search search = {.space = space, .seed = seed};
    strategy = kind->create(&search, NULL);
    assert_non_null(strategy);
    uint64_t size = hn_space_size(space);
    uint64_t *order = calloc(size, sizeof *order);
    uint16_t choice[2];
    for (uint64_t ticket = 0; ticket < size; ticket++) {
        assert_true(kind->propose(strategy, ticket, choice));
        order[ticket] = number_of_point(space, choice);
        assert_true(order[ticket] < size);
    }
    assert_false(kind->propose(strategy, size, choice));
    assert_false(kind->propose(strategy, size + 1, choice));
    kind->destroy(strategy);
    return keep(order, free);
}

TEST(kinds_are_found_by_name)
{
    assert_string_equal(hn_strategy_kinds[0]->name, "auto");
    for (size_t i = 0; hn_strategy_kinds[i] != NULL; i++) {
        assert_ptr_equal(hn_strategy_find(hn_strategy_kinds[i]->name), hn_strategy_kinds[i]);
        assert_true(strlen(hn_strategy_kinds[i]->summary) > 0);
    }
    assert_null(hn_strategy_find("exhaust"));
    hn_strategy_kinds[0]->destroy(NULL);
    hn_strategy_kinds[1]->destroy(NULL);
}

TEST(exhaustive_goes_in_order)
{
    struct hn_space *space = space_of(100);
    uint64_t *order = run("exhaustive", space, 1);
    for (uint64_t i = 0; i < hn_space_size(space); i++)
        assert_int_equal(order[i], i);
}

TEST(random_visits_every_point_once)
{
    static const int64_t counts[] = {1, 2, 3, 100, 1000};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct hn_space *space = space_of(counts[i]);
        uint64_t size = hn_space_size(space);
        uint64_t *order = run("random", space, 7);
        bool *seen FREED = calloc(size, sizeof *seen);
        for (uint64_t j = 0; j < size; j++) {
            assert_false(seen[order[j]]);
            seen[order[j]] = true;
        }
    }
}

TEST(seed_alone_gives_the_order)
{
    struct hn_space *space = space_of(300);
    size_t bytes = hn_space_size(space) * sizeof(uint64_t);
    uint64_t *a = run("random", space, 1);
    uint64_t *b = run("random", space, 1);
    uint64_t *c = run("random", space, 2);
    assert_memory_equal(a, b, bytes);
    assert_int_not_equal(memcmp(a, c, bytes), 0);
}

/* A changed order would change every recorded search: these are its first values. */
TEST(order_stays_as_it_is)
{
    static const uint64_t expected[] = {249, 1, 382, 648, 545, 53};
    struct hn_permutation permutation;
    hn_permutation_init(&permutation, 1000, 1);
    for (uint64_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_int_equal(hn_permutation_at(&permutation, i), expected[i]);
}

/* Over many seeds all 120 orders of five come up equally often: chi-square with 119 degrees of
 * freedom, of which 99.9% stay below 175. */
TEST(orders_are_uniform)
{
    enum { SEEDS = 24000, ORDERS = 120 };
    unsigned counts[3125] = {0};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct hn_permutation permutation;
        hn_permutation_init(&permutation, 5, seed);
        unsigned code = 0;
        for (uint64_t i = 0; i < 5; i++)
            code = code * 5 + (unsigned)hn_permutation_at(&permutation, i);
        counts[code]++;
    }
    double expected = (double)SEEDS / ORDERS;
    double square = 0;
    unsigned orders = 0;
    for (size_t i = 0; i < 3125; i++) {
        if (counts[i] == 0)
            continue;
        orders++;
        square += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    assert_int_equal(orders, ORDERS);
    assert_true(square < 175);
}

TEST(large_ranges_stay_in_range)
{
    static const uint64_t sizes[] = {255, 256, 257, 65537, (1ull << 40) + 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct hn_permutation permutation;
        hn_permutation_init(&permutation, sizes[i], 3);
        uint64_t first = hn_permutation_at(&permutation, 0);
        for (uint64_t j = 1; j < 100; j++) {
            uint64_t other = hn_permutation_at(&permutation, j);
            assert_true(other < sizes[i] && other != first);
        }
    }
}
