/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/stopping.h"

/* Takes the samples one by one and returns at which count the rule stopped, and why. */
static enum hn_stop run(const struct hn_stopping_rule *rule, const double *samples, size_t count,
                        size_t *taken)
{
    double sorted[256];
    for (*taken = 1; *taken <= count; ++*taken) {
        for (size_t i = 0; i < *taken; i++)
            sorted[i] = samples[i];
        struct hn_interval interval = hn_interval_of(sorted, *taken);
        enum hn_stop stop = hn_stopping_decide(rule, &interval, *taken, (double)*taken);
        if (stop != HN_STOP_NOT)
            return stop;
    }
    return HN_STOP_NOT;
}

static void steady_samples_stop_at_six(void **state)
{
    (void)state;
    const double samples[] = {100.1, 100.0, 100.2, 100.1, 100.0, 100.1, 100.1};
    struct hn_stopping_rule rule = hn_stopping_rule_for(100.0, 0.0, 0.1);
    size_t taken;
    assert_int_equal(run(&rule, samples, 7, &taken), HN_STOP_PRECISE);
    assert_int_equal(taken, 6);
}

static void an_outlier_costs_samples_but_does_not_widen_for_ever(void **state)
{
    (void)state;
    const double samples[] = {100.1, 180.0, 100.2, 100.1, 100.0, 100.1, 100.1, 100.0, 100.2, 100.1};
    struct hn_stopping_rule rule = hn_stopping_rule_for(100.0, 0.0, 0.1);
    size_t taken;
    assert_int_equal(run(&rule, samples, 10, &taken), HN_STOP_PRECISE);
    assert_int_equal(taken, 9);
}

static void noise_runs_into_the_bound(void **state)
{
    (void)state;
    double samples[220];
    for (size_t i = 0; i < 220; i++)
        samples[i] = i % 2 == 0 ? 90.0 : 110.0;
    struct hn_stopping_rule rule = hn_stopping_rule_for(100.0, 0.0, 0.1);
    size_t taken;
    assert_int_equal(run(&rule, samples, 220, &taken), HN_STOP_BOUND);
    assert_int_equal(taken, 200);
}

static void the_budget_ends_it_but_not_under_the_minimum(void **state)
{
    (void)state;
    struct hn_stopping_rule rule = hn_stopping_rule_for(100.0, 0.0, 0.1);
    const struct hn_interval wide = {100.0, 90.0, 110.0};
    assert_int_equal(hn_stopping_decide(&rule, &wide, 5, 600.0), HN_STOP_NOT);
    assert_int_equal(hn_stopping_decide(&rule, &wide, 6, 499.0), HN_STOP_NOT);
    assert_int_equal(hn_stopping_decide(&rule, &wide, 6, 500.0), HN_STOP_BOUND);
}

static void long_kernels_need_three(void **state)
{
    (void)state;
    const double samples[] = {150000.0, 150100.0, 150050.0, 150000.0};
    struct hn_stopping_rule rule = hn_stopping_rule_for(150000.0, 0.0, 0.5);
    size_t taken;
    assert_int_equal(run(&rule, samples, 4, &taken), HN_STOP_PRECISE);
    assert_int_equal(taken, 3);
}

static void an_interval_within_the_resolution_is_precise(void **state)
{
    (void)state;
    struct hn_stopping_rule rule = hn_stopping_rule_for(8.0, 0.0, 0.5);
    const struct hn_interval interval = {8.0, 7.8, 8.2};
    assert_int_equal(hn_stopping_decide(&rule, &interval, 6, 1.0), HN_STOP_PRECISE);
}

static void few_samples_decide_far_beyond_the_censor(void **state)
{
    (void)state;
    const double samples[] = {210.0, 210.0};
    struct hn_stopping_rule rule = hn_stopping_rule_for(210.0, 0.0, 0.5);
    size_t taken;
    rule.censor_us = 110.0;
    assert_int_equal(run(&rule, samples, 2, &taken), HN_STOP_SLOWER);
    assert_int_equal(taken, 2);
    rule.censor_us = 190.0;
    assert_int_equal(run(&rule, samples, 2, &taken), HN_STOP_NOT);
}

/* What disturbs a launch makes it slower: one undisturbed sample keeps a variant in. */
static void the_smallest_of_few_decides(void **state)
{
    (void)state;
    const double samples[] = {190.0, 104.0, 180.0, 104.0};
    struct hn_stopping_rule rule = hn_stopping_rule_for(104.0, 0.0, 0.5);
    size_t taken;
    rule.censor_us = 100.0;
    assert_int_equal(run(&rule, samples, 4, &taken), HN_STOP_NOT);
}

static void one_long_sample_decides_beyond_a_fifth(void **state)
{
    (void)state;
    const double samples[] = {12100.0, 12100.0};
    struct hn_stopping_rule rule = hn_stopping_rule_for(12100.0, 0.0, 0.5);
    size_t taken;
    rule.censor_us = 10000.0;
    assert_int_equal(run(&rule, samples, 2, &taken), HN_STOP_SLOWER);
    assert_int_equal(taken, 1);
    rule.censor_us = 11500.0;
    assert_int_equal(run(&rule, samples, 2, &taken), HN_STOP_NOT);
    /* A fifth beyond, but no more than what the host may have cost. */
    const double stalled[] = {2900.0, 2001.0};
    rule = hn_stopping_rule_for(2900.0, 0.0, 0.5);
    rule.censor_us = 2000.0;
    assert_int_equal(run(&rule, stalled, 2, &taken), HN_STOP_NOT);
}

static void six_samples_decide_beyond_two_percent(void **state)
{
    (void)state;
    const double slower[] = {103.0, 103.1, 103.2, 103.0, 103.1, 103.3};
    const double tied[] = {101.0, 103.1, 103.2, 103.0, 103.1, 103.3};
    struct hn_stopping_rule rule = hn_stopping_rule_for(103.0, 0.0005, 0.1);
    size_t taken;
    rule.censor_us = 100.0;
    assert_int_equal(run(&rule, slower, 6, &taken), HN_STOP_SLOWER);
    assert_int_equal(taken, 6);
    assert_int_equal(run(&rule, tied, 6, &taken), HN_STOP_NOT);
}

static void full_and_nothing_to_beat_never_stop_for_slowness(void **state)
{
    (void)state;
    const double samples[] = {900.0};
    struct hn_stopping_rule rule = hn_stopping_rule_for(900.0, 0.0, 0.5);
    size_t taken;
    assert_int_equal(run(&rule, samples, 1, &taken), HN_STOP_NOT);
    rule.censor_us = 100.0;
    rule.full = true;
    assert_int_equal(run(&rule, samples, 1, &taken), HN_STOP_NOT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steady_samples_stop_at_six),
        cmocka_unit_test(an_outlier_costs_samples_but_does_not_widen_for_ever),
        cmocka_unit_test(noise_runs_into_the_bound),
        cmocka_unit_test(the_budget_ends_it_but_not_under_the_minimum),
        cmocka_unit_test(long_kernels_need_three),
        cmocka_unit_test(an_interval_within_the_resolution_is_precise),
        cmocka_unit_test(few_samples_decide_far_beyond_the_censor),
        cmocka_unit_test(the_smallest_of_few_decides),
        cmocka_unit_test(one_long_sample_decides_beyond_a_fifth),
        cmocka_unit_test(six_samples_decide_beyond_two_percent),
        cmocka_unit_test(full_and_nothing_to_beat_never_stop_for_slowness),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
