/* SPDX-License-Identifier: MIT */
#include "tuner/strategy/trail.c"

#include "tests/unit/space_fixture.h"

enum { WIDTH = 3 };

/* A and B from 0 to 9, C from 0 to 4. */
static struct hn_space *space;

static void finish(struct hn_trail *trail)
{
    hn_trail_finish(trail);
    free(trail);
}

/* Over `space`, which is made so. */
static struct hn_trail *trail_with(const char *constraint)
{
    static const char *const names[WIDTH] = {"A", "B", "C"};
    static const size_t counts[WIDTH] = {10, 10, 5};
    space = hn_space_create();
    for (size_t i = 0; i < WIDTH; i++)
        add_range(space, names[i], 0, counts[i]);
    if (constraint != NULL)
        constrain(space, constraint);
    const struct hn_search search = {.space = build(space), .seed = 1};
    struct hn_trail *trail = malloc(sizeof *trail);
    hn_trail_init(trail, &search);
    return keep(trail, finish);
}

static size_t changes(const uint16_t *a, const uint16_t *b)
{
    size_t count = 0;
    for (size_t i = 0; i < WIDTH; i++)
        count += a[i] != b[i];
    return count;
}

TEST(points_are_found_again)
{
    struct hn_trail *trail = trail_with(NULL);
    uint16_t choice[WIDTH];
    for (uint64_t i = 0; i < hn_space_size(space); i++) {
        hn_space_point(space, i, choice);
        assert_int_equal(hn_keys_find(&trail->points, choice), HN_TRAIL_NONE);
        assert_false(hn_trail_is_complete(trail));
        hn_trail_add(trail, i, choice, (uint32_t)i + 7);
        assert_int_equal(hn_keys_find(&trail->points, choice), i);
    }
    assert_true(hn_trail_is_complete(trail));
    for (uint64_t i = 0; i < hn_space_size(space); i++) {
        hn_space_point(space, i, choice);
        assert_int_equal(hn_keys_find(&trail->points, choice), i);
        assert_memory_equal(hn_keys_at(&trail->points, (uint32_t)i), choice, sizeof choice);
        assert_int_equal(trail->tickets[i].tag, i + 7);
        assert_true(isnan(trail->costs[i]));
    }
}

TEST(costs_are_those_told)
{
    struct hn_trail *trail = trail_with(NULL);
    static const uint16_t a[WIDTH] = {1, 2, 3};
    static const uint16_t b[WIDTH] = {3, 2, 1};
    hn_trail_add(trail, 0, a, 0);
    hn_trail_add(trail, 200, b, 0); /* tickets may be left out */
    hn_trail_add(trail, 201, a, 0); /* and points proposed again */
    assert_int_equal(trail->count, 2);
    const struct hn_observation good = {.outcome = HN_OUTCOME_OK, .cost = -2};
    const struct hn_observation failed = {.outcome = HN_OUTCOME_LAUNCH_ERROR, .cost = NAN};
    assert_int_equal(hn_trail_tell(trail, 201, &good), 0);
    assert_int_equal(hn_trail_tell(trail, 200, &failed), 1);
    assert_int_equal(hn_trail_tell(trail, 100, &good), HN_TRAIL_NONE);
    assert_int_equal(hn_trail_tell(trail, 202, &good), HN_TRAIL_NONE);
    assert_true(trail->costs[0] == -2);
    assert_true(isinf(trail->costs[1]));
}

TEST(repair_changes_as_little_as_possible)
{
    struct hn_trail *trail = trail_with("A + B <= 9");
    static const uint16_t anchor[WIDTH] = {0, 0, 0};
    for (int i = 0; i < 200; i++) {
        uint16_t choice[WIDTH] = {(uint16_t)(i % 10), (uint16_t)(i / 10 % 10), 3};
        const uint16_t wanted[WIDTH] = {choice[0], choice[1], 3};
        int excess = choice[0] + choice[1] - 9;
        hn_move_repair(trail, anchor, choice);
        assert_true(hn_space_contains(space, choice));
        assert_int_equal(changes(choice, wanted), excess > 0 ? 1 : 0);
        if (excess > 0)
            assert_int_equal(wanted[0] + wanted[1] - choice[0] - choice[1], excess);
    }
}

TEST(repair_does_not_undo_a_change)
{
    struct hn_trail *trail = trail_with("A == B");
    static const uint16_t parent[WIDTH] = {4, 4, 2};
    hn_trail_add(trail, 0, parent, 0);
    uint16_t choice[WIDTH] = {5, 4, 2};
    hn_move_repair(trail, parent, choice);
    static const uint16_t expected[WIDTH] = {5, 5, 2};
    assert_memory_equal(choice, expected, sizeof choice);
}

TEST(repair_falls_back_to_the_anchor)
{
    struct hn_trail *trail = trail_with("A == B and B == 2 * C");
    static const uint16_t anchor[WIDTH] = {2, 2, 1};
    uint16_t choice[WIDTH] = {7, 8, 1};
    hn_move_repair(trail, anchor, choice);
    assert_memory_equal(choice, anchor, sizeof choice);
}

TEST(steps_visit_each_neighbour_once)
{
    struct hn_trail *trail = trail_with("A * B <= 20");
    static const uint16_t from[WIDTH] = {4, 5, 2};
    uint16_t choice[WIDTH];
    uint64_t ticket = 0;
    hn_trail_add(trail, ticket++, from, 0);
    while (hn_move_step(trail, from, HN_ADJACENT, choice)) {
        assert_int_equal(changes(choice, from), 1);
        assert_true(hn_space_contains(space, choice));
        hn_trail_add(trail, ticket++, choice, 0);
    }
    assert_int_equal(trail->count, 1 + 4); /* A and B can only be less, C either */
    while (hn_move_step(trail, from, HN_HAMMING, choice))
        hn_trail_add(trail, ticket++, choice, 0);
    assert_int_equal(trail->count, 1 + 4 + 5 + 4);
    assert_int_equal(trail->count, ticket);
}

TEST(change_reaches_where_no_neighbour_is)
{
    struct hn_trail *trail = trail_with("A == B and C == 0");
    static const uint16_t from[WIDTH] = {4, 4, 0};
    uint16_t choice[WIDTH];
    hn_trail_add(trail, 0, from, 0);
    assert_false(hn_move_step(trail, from, HN_HAMMING, choice));
    for (uint64_t ticket = 1; ticket <= 3; ticket++) {
        assert_true(move_change(trail, from, choice));
        assert_true(hn_space_contains(space, choice));
        assert_int_equal(hn_keys_find(&trail->points, choice), HN_TRAIL_NONE);
        hn_trail_add(trail, ticket, choice, 0);
    }
}

TEST(renew_finds_the_rest_of_the_space)
{
    struct hn_trail *trail = trail_with("A * B * C < 30");
    uint16_t choice[WIDTH] = {0, 0, 0};
    for (uint64_t ticket = 0; !hn_trail_is_complete(trail); ticket++) {
        if (!hn_move_renew(trail, choice))
            assert_true(hn_space_contains(space, choice));
        hn_trail_add(trail, ticket, choice, 0);
        assert_true(ticket < hn_space_size(space) + 20);
    }
    assert_false(hn_move_renew(trail, choice));
}
