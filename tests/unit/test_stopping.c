/* SPDX-License-Identifier: MIT */
#include "runtime/bench/measure.h"
#include "tests/unit/unit.h"

/* Takes the samples one by one: the rule stops so, at that count; HN_STOP_NOT: behind the last. */
static void expect(const struct hn_stopping_rule *rule, const double *samples, size_t count,
                   enum hn_stop expected, size_t taken)
{
    double sorted[256];
    enum hn_stop stop = HN_STOP_NOT;
    size_t i = 0;
    while (stop == HN_STOP_NOT && i < count) {
        i++;
        memcpy(sorted, samples, i * sizeof *samples);
        struct hn_interval interval = hn_interval_of(sorted, i);
        stop = hn_stopping_decide(rule, &interval, i, (double)i);
    }
    assert_int_equal(stop, expected);
    assert_int_equal(i, taken);
}

TEST(steady_samples_stop_at_six)
{
    const double samples[] = {100.1, 100.0, 100.2, 100.1, 100.0, 100.1, 100.1};
    struct hn_stopping_rule rule = hn_stopping_rule_for(100.0, 0.0, 0.1);
    expect(&rule, samples, 7, HN_STOP_PRECISE, 6);
}

TEST(an_outlier_costs_samples_but_does_not_widen_for_ever)
{
    const double samples[] = {100.1, 180.0, 100.2, 100.1, 100.0, 100.1, 100.1, 100.0, 100.2, 100.1};
    struct hn_stopping_rule rule = hn_stopping_rule_for(100.0, 0.0, 0.1);
    expect(&rule, samples, 10, HN_STOP_PRECISE, 9);
}

TEST(noise_runs_into_the_bound)
{
    double samples[220];
    for (size_t i = 0; i < 220; i++)
        samples[i] = i % 2 == 0 ? 90.0 : 110.0;
    struct hn_stopping_rule rule = hn_stopping_rule_for(100.0, 0.0, 0.1);
    expect(&rule, samples, 220, HN_STOP_BOUND, 200);
}

TEST(the_budget_ends_it_but_not_under_the_minimum)
{
    struct hn_stopping_rule rule = hn_stopping_rule_for(100.0, 0.0, 0.1);
    const struct hn_interval wide = {100.0, 90.0, 110.0};
    assert_int_equal(hn_stopping_decide(&rule, &wide, 5, 600.0), HN_STOP_NOT);
    assert_int_equal(hn_stopping_decide(&rule, &wide, 6, 499.0), HN_STOP_NOT);
    assert_int_equal(hn_stopping_decide(&rule, &wide, 6, 500.0), HN_STOP_BOUND);
}

TEST(long_kernels_need_three)
{
    const double samples[] = {150000.0, 150100.0, 150050.0, 150000.0};
    struct hn_stopping_rule rule = hn_stopping_rule_for(150000.0, 0.0, 0.5);
    expect(&rule, samples, 4, HN_STOP_PRECISE, 3);
}

TEST(an_interval_within_the_resolution_is_precise)
{
    struct hn_stopping_rule rule = hn_stopping_rule_for(8.0, 0.0, 0.5);
    const struct hn_interval interval = {8.0, 7.8, 8.2};
    assert_int_equal(hn_stopping_decide(&rule, &interval, 6, 1.0), HN_STOP_PRECISE);
}

TEST(few_samples_decide_far_beyond_the_censor)
{
    const double samples[] = {210.0, 210.0};
    struct hn_stopping_rule rule = hn_stopping_rule_for(210.0, 0.0, 0.5);
    rule.censor_us = 110.0;
    expect(&rule, samples, 2, HN_STOP_SLOWER, 2);
    rule.censor_us = 195.0;
    expect(&rule, samples, 2, HN_STOP_NOT, 2);
}

/* What disturbs a launch makes it slower: one undisturbed sample keeps a variant in. */
TEST(the_smallest_of_few_decides)
{
    const double samples[] = {190.0, 104.0, 180.0, 104.0};
    struct hn_stopping_rule rule = hn_stopping_rule_for(104.0, 0.0, 0.5);
    rule.censor_us = 100.0;
    expect(&rule, samples, 4, HN_STOP_NOT, 4);
}

/* What the host may have cost a launch is a millisecond, and more than a factor; without it a
 * single sample says more. */
TEST(one_sample_decides_by_what_may_be_in_it)
{
    static const struct {
        double us, censor_us;
        bool clean, stops;
    } cases[] = {
        {12100.0, 10000.0, false, true}, {12100.0, 11500.0, false, false},
        {2900.0, 2000.0, false, false},  {3100.0, 2000.0, false, true},
        {11100.0, 10000.0, true, true},  {10900.0, 10000.0, true, false},
        {2300.0, 2000.0, true, true},    {160.0, 100.0, true, true},
        {140.0, 100.0, true, false},     {160.0, 100.0, false, false},
        {45.0, 28.0, true, false},       {50.0, 28.0, true, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct hn_interval one = {cases[i].us, cases[i].us, cases[i].us};
        struct hn_stopping_rule rule = hn_stopping_rule_for(cases[i].us, 0.0, 0.5);
        rule.censor_us = cases[i].censor_us;
        rule.clean = cases[i].clean;
        bool stops = hn_stopping_decide(&rule, &one, 1, 0.0) == HN_STOP_SLOWER;
        if (stops != cases[i].stops)
            fail_msg("case %zu", i);
    }
}

TEST(six_samples_decide_beyond_two_percent)
{
    const double slower[] = {103.0, 103.1, 103.2, 103.0, 103.1, 103.3};
    const double tied[] = {101.0, 103.1, 103.2, 103.0, 103.1, 103.3};
    struct hn_stopping_rule rule = hn_stopping_rule_for(103.0, 0.0005, 0.1);
    rule.censor_us = 100.0;
    expect(&rule, slower, 6, HN_STOP_SLOWER, 6);
    expect(&rule, tied, 6, HN_STOP_NOT, 6);
}

TEST(long_kernels_are_told_apart_by_less)
{
    const double samples[] = {10200.0, 10210.0, 10205.0, 10200.0, 10210.0, 10205.0};
    struct hn_stopping_rule rule = hn_stopping_rule_for(10200.0, 0.00001, 0.1);
    rule.censor_us = 10000.0;
    expect(&rule, samples, 6, HN_STOP_SLOWER, 4);
}

TEST(full_and_nothing_to_beat_never_stop_for_slowness)
{
    const double samples[] = {900.0};
    struct hn_stopping_rule rule = hn_stopping_rule_for(900.0, 0.0, 0.5);
    expect(&rule, samples, 1, HN_STOP_NOT, 1);
    rule.censor_us = 100.0;
    rule.full = true;
    expect(&rule, samples, 1, HN_STOP_NOT, 1);
}

static bool is_decided(const double *a, const double *b, size_t rounds)
{
    const double *const times[] = {a, b};
    return hn_race_is_decided(times, b != NULL ? 2 : 1, rounds, 0.03);
}

TEST(a_race_ends_when_it_is_decided)
{
    const double best[] = {100.0, 100.2, 99.9, 100.1, 100.0, 100.1};
    const double slower[] = {102.0, 102.3, 101.8, 102.0, 102.2, 101.9};
    const double equal[] = {100.1, 100.1, 100.0, 100.0, 100.1, 100.0};
    /* Within a percent, but it may be half a percent faster or slower. */
    const double open[] = {100.9, 99.4, 100.8, 99.6, 100.7, 100.1};
    assert_true(is_decided(best, slower, 6));
    assert_true(is_decided(slower, best, 6));
    assert_true(is_decided(best, equal, 6));
    assert_false(is_decided(best, open, 6));
    assert_true(is_decided(best, NULL, 6));
}

/* Drift hits both alike: it is in their times, not in their differences. */
TEST(a_race_needs_a_time_that_is_known)
{
    const double drifting[] = {100.0, 101.0, 102.0, 103.0, 104.0, 105.0};
    const double behind[] = {110.0, 111.0, 112.0, 113.0, 114.0, 115.0};
    assert_false(is_decided(drifting, behind, 6));
    const double steady[] = {100.0, 100.1, 100.0, 100.1, 100.0, 100.1};
    assert_true(is_decided(steady, behind, 6));
}
