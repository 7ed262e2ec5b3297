/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/statistics.h"
#include "tests/unit/unit.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void assert_near(double found, double expected)
{
    if (fabs(found - expected) > 1e-12)
        fail_msg("found %.17g, expected %.17g", found, expected);
}

TEST(median_of_odd_even_and_none)
{
    double odd[] = {3.0, 1.0, 2.0};
    double even[] = {4.0, 1.0, 3.0, 2.0};
    assert_near(hn_median(odd, COUNT(odd)), 2.0);
    assert_near(hn_median(even, COUNT(even)), 2.5);
    assert_near(hn_median(NULL, 0), 0.0);
}

/* How many values are left out at each end. */
static size_t rank_of(size_t count)
{
    double values[1002];
    for (size_t i = 0; i < count; i++)
        values[i] = (double)i;
    struct hn_interval interval = hn_interval_of(values, count, HN_OUTSIDE_USUAL);
    assert_near(interval.high, (double)(count - 1) - interval.low);
    return (size_t)interval.low;
}

/* From tables of the sign test: the interval goes from the (k+1)-th to the (k+1)-th last value. */
TEST(rank_follows_the_binomial)
{
    static const struct {
        size_t count, rank;
    } cases[] = {{1, 0},  {5, 0},  {6, 0},  {8, 0},   {9, 1},    {11, 1},   {12, 2},
                 {20, 5}, {25, 7}, {30, 9}, {50, 17}, {100, 39}, {200, 85}, {1000, 468}};
    for (size_t i = 0; i < COUNT(cases); i++)
        if (rank_of(cases[i].count) != cases[i].rank)
            fail_msg("rank of %zu: found %zu, expected %zu", cases[i].count,
                     rank_of(cases[i].count), cases[i].rank);
}

TEST(rank_is_continuous_where_the_approximation_begins)
{
    size_t exact = rank_of(1000);
    size_t approximate = rank_of(1002);
    assert_true(approximate >= exact && approximate <= exact + 2);
}

TEST(interval_of_six_is_min_to_max)
{
    double values[] = {10.4, 10.1, 10.0, 10.2, 10.5, 10.3};
    struct hn_interval interval = hn_interval_of(values, COUNT(values), HN_OUTSIDE_USUAL);
    assert_near(interval.low, 10.0);
    assert_near(interval.median, 10.25);
    assert_near(interval.high, 10.5);
}

TEST(interval_of_nine_leaves_out_one_at_each_end)
{
    double values[] = {9.0, 1.0, 5.0, 3.0, 7.0, 2.0, 8.0, 4.0, 600.0};
    struct hn_interval interval = hn_interval_of(values, COUNT(values), HN_OUTSIDE_USUAL);
    assert_near(interval.low, 2.0);
    assert_near(interval.median, 5.0);
    assert_near(interval.high, 9.0);
}

TEST(widening_never_narrows)
{
    struct hn_interval narrow = {10.0, 9.9, 10.1};
    struct hn_interval wide = hn_interval_widen(narrow, 0.5);
    assert_near(wide.low, 9.75);
    assert_near(wide.high, 10.25);
    wide = hn_interval_widen(narrow, 0.1);
    assert_near(wide.low, 9.9);
    assert_near(wide.high, 10.1);
}

TEST(equal_keys_stay_in_their_places)
{
    struct hn_ranked ranked[] = {{2.0, 0}, {1.0, 3}, {2.0, 1}, {1.0, 2}};
    const size_t places[] = {2, 3, 0, 1};
    qsort(ranked, COUNT(ranked), sizeof *ranked, hn_ranked_compare);
    for (size_t i = 0; i < COUNT(ranked); i++)
        assert_int_equal(ranked[i].place, places[i]);
}
