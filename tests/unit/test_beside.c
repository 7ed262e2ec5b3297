/* SPDX-License-Identifier: MIT */
#include "runtime/bench/race.c"
#include "tests/unit/unit.h"

static void assert_near(double found, double expected)
{
    if (fabs(found - expected) > 1e-12)
        fail_msg("found %.17g, expected %.17g", found, expected);
}

static void assert_interval(const struct hn_interval *interval, double low, double median,
                            double high)
{
    assert_near(interval->low, low);
    assert_near(interval->median, median);
    assert_near(interval->high, high);
}

/* The clock drops by half in the middle: both times double, and the speedup stays. */
TEST(what_slows_both_down_does_not_count)
{
    enum { ROUNDS = 11 };
    double variant_us[ROUNDS];
    double reference_us[ROUNDS];
    struct hn_beside beside;
    for (int i = 0; i < ROUNDS; i++) {
        variant_us[i] = i < 5 ? 10 : 20;
        reference_us[i] = i < 5 ? 30 : 60;
    }
    beside_judge(variant_us, reference_us, ROUNDS, 0, 0, &beside);
    assert_int_equal(beside.rounds, ROUNDS);
    assert_interval(&beside.speedup, 3, 3, 3);
    assert_interval(&beside.variant_us, 10, 20, 20);
    assert_near(variant_us[0], 10); /* as they were */
}

/* Of 11 rounds the interval goes from the second to the second last. */
TEST(the_interval_is_that_of_the_ratios)
{
    const double variant_us[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const double reference_us[] = {2, 9, 4, 5, 1, 6, 3, 7, 8, 11, 10};
    struct hn_beside beside;
    beside_judge(variant_us, reference_us, 11, 0, 0, &beside);
    assert_interval(&beside.speedup, 2, 6, 10);
    assert_interval(&beside.reference_us, 2, 6, 10);
}

/* Times of 5 and 10 us by a timer of half a microsecond: the ratio is known to 10% + 5%. */
TEST(a_coarse_timer_widens_it)
{
    const double variant_us[] = {5, 5, 5, 5, 5, 5};
    const double reference_us[] = {10, 10, 10, 10, 10, 10};
    struct hn_beside beside;
    beside_judge(variant_us, reference_us, 6, 0.5, 0.5, &beside);
    assert_interval(&beside.speedup, 2 - 0.15, 2, 2 + 0.15);
    assert_interval(&beside.variant_us, 4.75, 5, 5.25);
}
