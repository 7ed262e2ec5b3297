/* SPDX-License-Identifier: MIT */
#include "tuner/report/staging.h"

#include "tests/unit/unit.h"

static struct hn_staging staging_of(double chunks, double streams, double engines,
                                    double kernels_us)
{
    struct hn_bindings observed;
    struct hn_error err;
    hn_bindings_init(&observed);
    hn_error_init(&err);
    hn_observed_set(&observed, "staging.chunks", chunks, &err);
    hn_observed_set(&observed, "staging.streams", streams, &err);
    hn_observed_set(&observed, "staging.copy_engines", engines, &err);
    hn_observed_set(&observed, "staging.kernels_us", kernels_us, &err);
    hn_observed_set(&observed, "staging.upload_us", kernels_us > 0 ? 640 : 0, &err);
    hn_observed_set(&observed, "staging.download_us", kernels_us > 0 ? 560 : 0, &err);
    hn_observed_set(&observed, "staging.sequential_us", kernels_us > 0 ? 2210 : 0, &err);
    assert_false(hn_failed(&err));
    struct hn_staging staging = hn_staging_of(&observed);
    hn_bindings_finish(&observed);
    return staging;
}

static void assert_near(double found, double expected)
{
    if (fabs(found - expected) > 1e-9 * expected)
        fail_msg("found %g, expected %g", found, expected);
}

static void estimates_are_those_of_the_guide(void **state)
{
    struct hn_staging measured = staging_of(8, 4, 3, 1000);
    assert_true(measured.measured);
    assert_near(measured.compute_bound_us, 1000 + 1200 / 8.0);
    assert_near(measured.transfer_bound_us, 1200 + 1000 / 8.0);
}

static void in_one_stream_nothing_overlaps(void **state)
{
    struct hn_staging staging = staging_of(8, 1, 3, 1000);
    assert_near(staging.overlapping, 1);
    assert_near(staging.compute_bound_us, 2200);
    assert_near(staging.transfer_bound_us, 2200);
}

static void the_limit_follows_from_the_copy_engines(void **state)
{
    static const double limits_us[] = {2200, 1200, 1000, 1000};
    for (int engines = 0; engines < 4; engines++)
        assert_near(staging_of(8, 4, engines, 1000).limit_us, limits_us[engines]);
    assert_near(staging_of(8, 4, 2, 10).limit_us, 640);
}

static void what_was_not_measured_says_so(void **state)
{
    assert_false(staging_of(8, 4, 3, 0).measured);
    assert_false(staging_of(0, 0, 0, 3).measured);
}

int test_staging(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(estimates_are_those_of_the_guide),
        cmocka_unit_test(in_one_stream_nothing_overlaps),
        cmocka_unit_test(the_limit_follows_from_the_copy_engines),
        cmocka_unit_test(what_was_not_measured_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
