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
