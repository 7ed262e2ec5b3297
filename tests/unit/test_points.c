/* SPDX-License-Identifier: MIT */
#include "tuner/session/ticket.h"

#include "tests/unit/space_fixture.h"

/* 3 x 400 x 1 x 200 values: four bytes a point. */
static struct hn_space *make_space(void)
{
    struct hn_space *space = hn_space_create();
    assert_non_null(space);
    add_range(space, "A", 0, 3);
    add_range(space, "B", 0, 400);
    add_range(space, "C", 0, 1);
    add_range(space, "D", 0, 200);
    return keep(space, hn_space_destroy);
}

static void choose(uint32_t i, uint16_t choice[4])
{
    /* 7 has no factor in common with the 240,000 points. */
    uint32_t place = (uint32_t)((uint64_t)i * 7 % 240000);
    choice[0] = (uint16_t)(place / 80000);
    choice[1] = (uint16_t)(place / 200 % 400);
    choice[2] = 0;
    choice[3] = (uint16_t)(place % 200);
}

TEST(points_are_numbered_as_they_are_seen)
{
    enum { COUNT = 50000 };
    struct hn_space *space = make_space();
    struct hn_points points ENDED_BY(hn_points_finish);
    uint16_t choice[4], again[4];
    uint32_t number;
    hn_points_init(&points, space);
    choose(0, choice);
    assert_int_equal(hn_points_find(&points, choice), HN_NO_KEY);
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < COUNT; i++) {
            choose(i, choice);
            assert_int_equal(hn_points_find(&points, choice), pass == 0 ? HN_NO_KEY : i);
            number = hn_points_add(&points, choice);
            assert_int_equal(number, i);
            hn_points_choice(&points, i, again);
            assert_memory_equal(again, choice, sizeof choice);
        }
    }
    assert_int_equal(hn_points_count(&points), COUNT);
    assert_int_equal(points.keys.stride, 4);
}

TEST(points_compare_as_declared)
{
    static const uint16_t ascending[][4] = {{0, 0, 0, 0},   {0, 0, 0, 199}, {0, 1, 0, 0},
                                            {0, 255, 0, 7}, {0, 256, 0, 3}, {1, 0, 0, 0}};
    enum { COUNT = sizeof ascending / sizeof *ascending };
    struct hn_space *space = make_space();
    struct hn_points points ENDED_BY(hn_points_finish);
    hn_points_init(&points, space);
    for (size_t i = COUNT; i-- > 0;)
        hn_points_add(&points, ascending[i]);
    for (uint32_t i = 0; i < COUNT; i++)
        for (uint32_t j = 0; j < COUNT; j++)
            assert_int_equal(hn_points_compare(&points, i, j) < 0, i > j);
}

TEST(a_space_of_one_point_has_one)
{
    struct hn_space *space = keep(hn_space_create(), hn_space_destroy);
    struct hn_points points ENDED_BY(hn_points_finish);
    uint16_t choice[1] = {0};
    add_range(space, "A", 5, 1);
    hn_points_init(&points, space);
    for (int i = 0; i < 2; i++)
        assert_int_equal(hn_points_add(&points, choice), 0);
}

TEST(the_first_ticket_of_a_code_is_found_again)
{
    struct hn_tickets tickets ENDED_BY(hn_tickets_finish);
    hn_tickets_init(&tickets);
    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < 1000; i++) {
            char code[40];
            snprintf(code, sizeof code, i % 2 == 0 ? "%032zx" : "recorded %zu", i);
            assert_int_equal(hn_tickets_first_of_code(&tickets, code, pass * 5000 + i), i);
        }
    }
}

TEST(a_ticket_is_small)
{
    struct hn_tickets tickets ENDED_BY(hn_tickets_finish);
    assert_true(sizeof(struct hn_ticket) <= 64);
    hn_tickets_init(&tickets);
    assert_int_equal(hn_tickets_of_point(&tickets, 3), SIZE_MAX);
    hn_tickets_add(&tickets, 100000);
    hn_tickets_add(&tickets, 3);
    assert_int_equal(hn_tickets_add(&tickets, 3), 2);
    assert_int_equal(hn_tickets_of_point(&tickets, 3), 1);
    assert_int_equal(hn_tickets_of_point(&tickets, 4), SIZE_MAX);
    assert_null(tickets.items[1].flight);
    hn_tickets_fly(&tickets, 1);
    assert_int_equal(tickets.items[1].flight->censor, SIZE_MAX);
    hn_tickets_land(&tickets, 1);
    assert_null(tickets.items[1].flight);
}
