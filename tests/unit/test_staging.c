/* SPDX-License-Identifier: MIT */
#include "tuner/report/roof.h"

#include "tests/unit/unit.h"

static struct hn_staging staging_of(double chunks, double streams, double engines,
                                    double kernels_us)
{
    struct hn_bindings observed ENDED_BY(hn_bindings_finish) = {0};
    struct hn_error err;
    hn_error_init(&err);
    hn_observed_set(&observed, "staging.chunks", chunks, &err);
    hn_observed_set(&observed, "staging.streams", streams, &err);
    hn_observed_set(&observed, "staging.copy_engines", engines, &err);
    hn_observed_set(&observed, "staging.kernels_us", kernels_us, &err);
    hn_observed_set(&observed, "staging.upload_us", kernels_us > 0 ? 640 : 0, &err);
    hn_observed_set(&observed, "staging.download_us", kernels_us > 0 ? 560 : 0, &err);
    hn_observed_set(&observed, "staging.sequential_us", kernels_us > 0 ? 2210 : 0, &err);
    assert_false(hn_failed(&err));
    return hn_staging_of(&observed);
}

static void assert_near(double found, double expected)
{
    if (fabs(found - expected) > 1e-9 * expected)
        fail_msg("found %g, expected %g", found, expected);
}

TEST(estimates_are_those_of_the_guide)
{
    struct hn_staging measured = staging_of(8, 4, 3, 1000);
    assert_true(measured.measured);
    assert_near(measured.compute_bound_us, 1000 + 1200 / 8.0);
    assert_near(measured.transfer_bound_us, 1200 + 1000 / 8.0);
}

TEST(in_one_stream_nothing_overlaps)
{
    struct hn_staging staging = staging_of(8, 1, 3, 1000);
    assert_near(staging.overlapping, 1);
    assert_near(staging.compute_bound_us, 2200);
    assert_near(staging.transfer_bound_us, 2200);
}

TEST(the_limit_follows_from_the_copy_engines)
{
    static const double limits_us[] = {2200, 1200, 1000, 1000};
    for (int engines = 0; engines < 4; engines++)
        assert_near(staging_of(8, 4, engines, 1000).limit_us, limits_us[engines]);
    assert_near(staging_of(8, 4, 2, 10).limit_us, 640);
}

TEST(what_was_not_measured_says_so)
{
    assert_false(staging_of(8, 4, 3, 0).measured);
    assert_false(staging_of(0, 0, 0, 3).measured);
}
