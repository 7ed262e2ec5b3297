/* SPDX-License-Identifier: MIT */
#include "runtime/bench/measure.c"

#include "tests/unit/unit.h"

static const double MAX_MHZ = 2000.0;

TEST(only_a_changed_clock_drops_a_sample)
{
    /* The second is slow at full clock and stays; the third ran at under 75% and goes; the clock of
     * the fourth is not known. */
    const struct hn_sample samples[] = {{10.0, 2000.0, 0.0, true, false},
                                        {99.0, 1900.0, 0.0, true, false},
                                        {10.1, 1499.0, 0.0, true, false},
                                        {10.2, 0.0, 0.0, true, false}};
    double kept[4];
    bool trusted = false;
    assert_int_equal(measure_keep(samples, 4, MAX_MHZ, kept, &trusted), 3);
    assert_true(kept[0] == 10.0 && kept[1] == 99.0 && kept[2] == 10.2);
    assert_true(trusted);
}

TEST(few_samples_may_all_be_dropped)
{
    struct hn_sample samples[11];
    double kept[11];
    bool trusted = false;
    for (int i = 0; i < 11; i++)
        samples[i] = (struct hn_sample){10.0, 1000.0, 0.0, true, false};
    assert_int_equal(measure_keep(samples, 11, MAX_MHZ, kept, &trusted), 0);
    assert_true(trusted);
}

TEST(too_many_drops_keep_all_and_trust_none)
{
    struct hn_sample samples[13];
    double kept[13];
    bool trusted = true;
    for (int i = 0; i < 13; i++)
        samples[i] = (struct hn_sample){10.0 + i, i < 6 ? 2000.0 : 1000.0, 0.0, true, false};
    assert_int_equal(measure_keep(samples, 13, MAX_MHZ, kept, &trusted), 13);
    assert_false(trusted);
    assert_true(kept[12] == 22.0);
    assert_int_equal(measure_keep(samples, 12, MAX_MHZ, kept, &trusted), 6);
    assert_true(trusted);
}

TEST(an_unknown_maximum_drops_nothing)
{
    const struct hn_sample samples[] = {{10.0, 345.0, 0.0, true, false},
                                        {10.1, 1980.0, 0.0, true, false}};
    double kept[2];
    bool trusted = false;
    assert_int_equal(measure_keep(samples, 2, 0.0, kept, &trusted), 2);
}

TEST(a_lower_clock_is_not_held_against_a_variant)
{
    assert_true(measure_fair_censor(100.0, 1980.0, 1980.0) == 100.0);
    assert_true(measure_fair_censor(100.0, 1980.0, 1975.0) == 100.0);
    assert_true(measure_fair_censor(100.0, 1980.0, 1800.0) == 110.0);
    /* A higher one is no reason to stop it earlier, nor is one that is not known. */
    assert_true(measure_fair_censor(100.0, 1800.0, 1980.0) == 100.0);
    assert_true(measure_fair_censor(100.0, 1980.0, 0.0) == 100.0);
    assert_true(measure_fair_censor(100.0, 0.0, 1000.0) == 100.0);
}

static bool is_about(double value, double expected)
{
    return value > expected * 0.999 && value < expected * 1.001;
}

TEST(the_step_of_the_timer_is_the_smallest_difference)
{
    double times[] = {1.312, 1.248, 1.312, 1.6, 1.28};
    assert_true(is_about(sampler_step(times, 5), 0.032));
    /* What CUDA promises is the most, also where all are the same. */
    double coarse[] = {3.0, 1.0, 2.0};
    assert_true(sampler_step(coarse, 3) == 0.5);
    double same[] = {0.0, 0.0, 0.0};
    assert_true(sampler_step(same, 3) == 0.5);
    /* Rounding of floats is no step. */
    double rounded[] = {1000.0, 1000.0000001, 1000.0000002};
    assert_true(sampler_step(rounded, 3) == 0.5);
}

static struct hn_stopping_rule rule_of(double estimate_us, double target, double resolution_us)
{
    struct hn_sampler sampler = {.regime = HN_COLD, .resolution_us = resolution_us};
    const struct hn_work work = {.sampler = &sampler, .batch = 1};
    const struct hn_bench_request request = {.target = target};
    const struct hn_sample first = {.time_us = estimate_us};
    return rule_for(&work, &request, &first);
}

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
        struct hn_interval interval = hn_interval_of(sorted, i, HN_OUTSIDE_USUAL);
        stop = stopping_decide(rule, &interval, i, (double)i);
    }
    assert_int_equal(stop, expected);
    assert_int_equal(i, taken);
}

/* Of times of about so many us with this noise and resolution. */
TEST(samples_stop_when_they_are_precise_or_slower)
{
    static const struct {
        double us, noise, resolution_us, censor_us;
        bool full;
        enum hn_stop stop;
        size_t taken, count;
        double samples[10];
    } cases[] = {
        /* steady ones at six; an outlier costs samples, but does not widen for ever */
        {100,
         0,
         0.1,
         0,
         false,
         HN_STOP_PRECISE,
         6,
         7,
         {100.1, 100, 100.2, 100.1, 100, 100.1, 100.1}},
        {100,
         0,
         0.1,
         0,
         false,
         HN_STOP_PRECISE,
         9,
         10,
         {100.1, 180, 100.2, 100.1, 100, 100.1, 100.1, 100, 100.2, 100.1}},
        /* long kernels need three */
        {150e3, 0, 0.5, 0, false, HN_STOP_PRECISE, 3, 4, {150000, 150100, 150050, 150000}},
        /* few decide far beyond the censor */
        {210, 0, 0.5, 110, false, HN_STOP_SLOWER, 2, 2, {210, 210}},
        {210, 0, 0.5, 195, false, HN_STOP_NOT, 2, 2, {210, 210}},
        /* what disturbs a launch makes it slower: one undisturbed sample keeps a variant in */
        {104, 0, 0.5, 100, false, HN_STOP_NOT, 4, 4, {190, 104, 180, 104}},
        /* six decide beyond two percent, of long kernels fewer by less */
        {103, 5e-4, 0.1, 100, false, HN_STOP_SLOWER, 6, 6, {103, 103.1, 103.2, 103, 103.1, 103.3}},
        {103, 5e-4, 0.1, 100, false, HN_STOP_NOT, 6, 6, {101, 103.1, 103.2, 103, 103.1, 103.3}},
        {10200,
         1e-5,
         0.1,
         10e3,
         false,
         HN_STOP_SLOWER,
         4,
         6,
         {10200, 10210, 10205, 10200, 10210, 10205}},
        /* in full, or with nothing to beat, never */
        {900, 0, 0.5, 0, false, HN_STOP_NOT, 1, 1, {900}},
        {900, 0, 0.5, 100, true, HN_STOP_NOT, 1, 1, {900}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hn_stopping_rule rule = rule_of(cases[i].us, cases[i].noise, cases[i].resolution_us);
        if (cases[i].censor_us > 0)
            rule.censor_us = cases[i].censor_us;
        rule.full = cases[i].full;
        print_message("case %zu\n", i);
        expect(&rule, cases[i].samples, cases[i].count, cases[i].stop, cases[i].taken);
    }
}

TEST(noise_runs_into_the_bound)
{
    double samples[220];
    for (size_t i = 0; i < 220; i++)
        samples[i] = i % 2 == 0 ? 90.0 : 110.0;
    struct hn_stopping_rule rule = rule_of(100.0, 0.0, 0.1);
    expect(&rule, samples, 220, HN_STOP_BOUND, 200);
}

TEST(the_budget_ends_it_but_not_under_the_minimum)
{
    struct hn_stopping_rule rule = rule_of(100.0, 0.0, 0.1);
    const struct hn_interval wide = {100.0, 90.0, 110.0};
    assert_int_equal(stopping_decide(&rule, &wide, 5, 600.0), HN_STOP_NOT);
    assert_int_equal(stopping_decide(&rule, &wide, 6, 499.0), HN_STOP_NOT);
    assert_int_equal(stopping_decide(&rule, &wide, 6, 500.0), HN_STOP_BOUND);
}

TEST(an_interval_within_the_resolution_is_precise)
{
    struct hn_stopping_rule rule = rule_of(8.0, 0.0, 0.5);
    const struct hn_interval interval = {8.0, 7.8, 8.2};
    assert_int_equal(stopping_decide(&rule, &interval, 6, 1.0), HN_STOP_PRECISE);
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
        struct hn_stopping_rule rule = rule_of(cases[i].us, 0.0, 0.5);
        rule.censor_us = cases[i].censor_us;
        rule.clean = cases[i].clean;
        bool stops = stopping_decide(&rule, &one, 1, 0.0) == HN_STOP_SLOWER;
        if (stops != cases[i].stops)
            fail_msg("case %zu", i);
    }
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
