/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tuner/session/power_model.h"

static bool is_near(double value, double expected, double within)
{
    return fabs(value - expected) <= within * expected;
}

/* 200 W and a watt for ten gigabytes a second. */
static struct hn_power_sample moving(double gb_per_s, double occupancy)
{
    return (struct hn_power_sample){{gb_per_s, 0, occupancy}, 200 + gb_per_s / 10};
}

static void follows_what_is_moved(void **state)
{
    const struct hn_power_sample samples[] = {moving(4000, 1), moving(3600, 0.5),
                                              moving(3200, 1), moving(2800, 0.5),
                                              moving(2400, 1), moving(2000, .5)};
    const double between[] = {3000, 0, 1};
    const double beyond[] = {40000, 0, 1};
    struct hn_power_model model;
    (void)state;
    hn_power_model_fit(&model, samples, 6);
    assert_true(is_near(hn_power_model_watts(&model, between), 500, 0.03));
    assert_true(is_near(hn_power_model_watts(&model, samples[0].features), 600, 0.05));
    assert_true(model.error < 0.05);
    assert_true(is_near(hn_power_model_watts(&model, beyond), 1.2 * 600, 1e-9));
}

static void is_the_mean_where_a_line_says_less(void **state)
{
    const struct hn_power_sample samples[] = {
        {{4000, 0, 1}, 600}, {{3900, 0, 1}, 500}, {{3800, 0, 1}, 600}, {{3700, 0, 1}, 500}};
    const double any[] = {3000, 0, 0.25};
    struct hn_power_model model;
    (void)state;
    hn_power_model_fit(&model, samples, 4);
    assert_true(hn_power_model_watts(&model, any) == 550);
    assert_true(model.error > 0.1);
    hn_power_model_fit(&model, samples, 2);
    assert_true(hn_power_model_watts(&model, any) == 550 && model.error == 0);
    hn_power_model_fit(&model, samples, 0);
    assert_true(hn_power_model_watts(&model, any) == 0);
}

static void features_are_what_is_achieved(void **state)
{
    struct hn_record record;
    struct hn_value bytes = hn_integer(8000000);
    double features[HN_POWER_FEATURES];
    (void)state;
    hn_record_init(&record);
    record.timing.median_us = 4;
    record.resources.occupancy = 0.5;
    assert_int_equal(hn_bindings_set(&record.metrics, "bytes", &bytes, NULL), HN_OK);
    hn_power_features(&record, features);
    assert_true(is_near(features[0], 2000, 1e-9) && features[1] == 0 && features[2] == 0.5);
    hn_record_finish(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_what_is_moved),
        cmocka_unit_test(is_the_mean_where_a_line_says_less),
        cmocka_unit_test(features_are_what_is_achieved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
