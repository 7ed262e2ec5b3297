/* SPDX-License-Identifier: MIT */
#ifndef HONE_BENCH_SIMULATE_INTERPOLATE_H
#define HONE_BENCH_SIMULATE_INTERPOLATE_H

#include <stddef.h>

/* Monotone piecewise cubic interpolation (PCHIP: Fritsch and Butland, "A method for constructing local monotone
 * piecewise cubic interpolants", SIAM J. Sci. Stat. Comput. 5, 1984; slopes at the ends by the three-point formula of
 * Moler, "Numerical Computing with MATLAB", 2004), as SciPy's PchipInterpolator. x rises strictly, count >= 2. Writes
 * the values at `points` places from x[0] to x[count-1], evenly apart. */
void hn_interpolate_evenly(const double *x, const double *y, size_t count, double *values, size_t points);

#endif
