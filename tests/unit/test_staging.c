/* SPDX-License-Identifier: MIT */
#include "cache/record/staging.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct hn_staging measured = {.chunks = 8,
                                           .streams = 4,
                                           .copy_engines = 3,
                                           .kernels_us = 1000,
                                           .upload_us = 640,
                                           .download_us = 560,
                                           .sequential_us = 2210};

static void assert_near(double found, double expected)
{
    if (fabs(found - expected) > 1e-9 * expected)
        fail_msg("found %g, expected %g", found, expected);
}

static void estimates_are_those_of_the_guide(void **state)
{
    (void)state;
    assert_true(hn_staging_is_measured(&measured));
    assert_near(hn_staging_compute_bound_us(&measured), 1000 + 1200 / 8.0);
    assert_near(hn_staging_transfer_bound_us(&measured), 1200 + 1000 / 8.0);
}

static void in_one_stream_nothing_overlaps(void **state)
{
    struct hn_staging staging = measured;
    (void)state;
    staging.streams = 1;
    assert_int_equal(hn_staging_overlapping(&staging), 1);
    assert_near(hn_staging_compute_bound_us(&staging), 2200);
    assert_near(hn_staging_transfer_bound_us(&staging), 2200);
}

static void the_limit_follows_from_the_copy_engines(void **state)
{
    static const double limits_us[] = {2200, 1200, 1000, 1000};
    struct hn_staging staging = measured;
    (void)state;
    for (staging.copy_engines = 0; staging.copy_engines < 4; staging.copy_engines++)
        assert_near(hn_staging_limit_us(&staging), limits_us[staging.copy_engines]);
    staging.kernels_us = 10;
    staging.copy_engines = 2;
    assert_near(hn_staging_limit_us(&staging), 640);
}

static void what_was_not_measured_says_so(void **state)
{
    struct hn_staging staging = {.chunks = 8, .streams = 4};
    (void)state;
    assert_false(hn_staging_is_measured(&staging));
    staging = (struct hn_staging){.sequential_us = 3};
    assert_false(hn_staging_is_measured(&staging));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(estimates_are_those_of_the_guide),
        cmocka_unit_test(in_one_stream_nothing_overlaps),
        cmocka_unit_test(the_limit_follows_from_the_copy_engines),
        cmocka_unit_test(what_was_not_measured_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
