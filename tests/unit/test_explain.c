/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"
#include "tuner/explain/evidence.c"

/* Of 10 with 4 marked, 2 drawn: both 6/45, one or more 1 - 15/45. */
TEST(test_chance)
{
    assert_float_equal(common_chance(2, 2, 4, 10), 6.0 / 45, 1e-12);
    assert_float_equal(common_chance(1, 2, 4, 10), 30.0 / 45, 1e-12);
    assert_float_equal(common_chance(0, 2, 4, 10), 1, 1e-12);
}
