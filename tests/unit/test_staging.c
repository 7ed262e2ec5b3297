/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "tuner/report/bounds.h"

#include "tests/unit/unit.h"

/* A number of what is shown; NAN where it is not told. */
static double staged(double chunks, double streams, double engines, double kernels_us,
                     const char *key)
{
    bool measured = kernels_us > 0;
    json_t *record =
        keep(json_pack("{s{sf sf sf sf sf sf sf}}", "staging", "chunks", chunks, "streams", streams,
                       "copy_engines", engines, "kernels_us", kernels_us, "upload_us",
                       measured ? 640.0 : 0.0, "download_us", measured ? 560.0 : 0.0,
                       "sequential_us", measured ? 2210.0 : 0.0),
             json_decref);
    hn_staging_add_json(record);
    const json_t *value = json_object_get(json_object_get(record, "staging"), key);
    return value != NULL ? json_number_value(value) : (double)NAN;
}

static void assert_near(double found, double expected)
{
    if (fabs(found - expected) > 1e-9 * expected)
        fail_msg("found %g, expected %g", found, expected);
}

TEST(estimates_are_those_of_the_guide)
{
    assert_near(staged(8, 4, 3, 1000, "compute_bound_us"), 1000 + 1200 / 8.0);
    assert_near(staged(8, 4, 3, 1000, "transfer_bound_us"), 1200 + 1000 / 8.0);
}

TEST(in_one_stream_nothing_overlaps)
{
    assert_near(staged(8, 1, 3, 1000, "overlapping"), 1);
    assert_near(staged(8, 1, 3, 1000, "compute_bound_us"), 2200);
    assert_near(staged(8, 1, 3, 1000, "transfer_bound_us"), 2200);
}

TEST(the_limit_follows_from_the_copy_engines)
{
    static const double limits_us[] = {2200, 1200, 1000, 1000};
    for (int engines = 0; engines < 4; engines++)
        assert_near(staged(8, 4, engines, 1000, "limit_us"), limits_us[engines]);
    assert_near(staged(8, 4, 2, 10, "limit_us"), 640);
}

TEST(what_was_not_measured_says_so)
{
    assert_true(isnan(staged(8, 4, 3, 0, "limit_us")));
    assert_true(isnan(staged(0, 0, 0, 3, "limit_us")));
}
