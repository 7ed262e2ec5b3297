/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"
#include "tuner/session/results.c"

TEST(the_first_ticket_of_a_code_is_found_again)
{
    struct hn_tickets tickets ENDED_BY(hn_tickets_finish) = {.count = 0};
    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < 1000; i++) {
            char code[40];
            snprintf(code, sizeof code, i % 2 == 0 ? "%032zx" : "recorded %zu", i);
            assert_int_equal(tickets_first_of_code(&tickets, code, pass * 5000 + i), i);
        }
    }
}

TEST(a_ticket_is_small)
{
    struct hn_tickets tickets ENDED_BY(hn_tickets_finish) = {.count = 0};
    assert_true(sizeof(struct hn_ticket) <= 64);
    assert_int_equal(hn_tickets_of_point(&tickets, 3), SIZE_MAX);
    hn_tickets_add(&tickets, 100000);
    hn_tickets_add(&tickets, 3);
    assert_int_equal(hn_tickets_add(&tickets, 3), 2);
    assert_int_equal(hn_tickets_of_point(&tickets, 3), 1);
    assert_int_equal(hn_tickets_of_point(&tickets, 4), SIZE_MAX);
    assert_null(tickets.items[1].flight);
    hn_tickets_fly(&tickets, 1);
    assert_int_equal(tickets.items[1].flight->censor, SIZE_MAX);
    tickets_land(&tickets, 1);
    assert_null(tickets.items[1].flight);
}
