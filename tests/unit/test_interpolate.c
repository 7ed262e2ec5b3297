/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "bench/search/simulate/interpolate.h"

#include "tests/unit/unit.h"

/* By SciPy 1.10: PchipInterpolator([1, 2, 4, 5, 9], [10, 6, 6, 1, 0])(numpy.linspace(1, 9, 9)) */
TEST(interpolation_is_that_of_scipy)
{
    static const double x[] = {1, 2, 4, 5, 9};
    static const double y[] = {10, 6, 6, 1, 0};
    static const double expected[] = {
        10, 6, 6, 6, 1, 0.51671511627906974, 0.20930232558139533, 0.047238372093023423, 0};
    double values[9];
    hn_interpolate_evenly(x, y, 5, values, 9);
    for (size_t i = 0; i < 9; i++)
        assert_true(fabs(values[i] - expected[i]) < 1e-12);
    hn_interpolate_evenly(x, y, 2, values, 3);
    assert_true(values[0] == 10 && values[1] == 8 && values[2] == 6);
}
