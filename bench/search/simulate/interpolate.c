/* SPDX-License-Identifier: MIT */
#include "bench/search/simulate/interpolate.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

static double sign(double x)
{
    return (double)((x > 0) - (x < 0));
}

/* h: widths and d: slopes of the two intervals next to the end, the nearer one first. */
static double end_slope(double h0, double h1, double d0, double d1)
{
    double slope = ((2 * h0 + h1) * d0 - h0 * d1) / (h0 + h1);
    if (sign(slope) != sign(d0))
        return 0;
    if (sign(d0) != sign(d1) && fabs(slope) > 3 * fabs(d0))
        return 3 * d0;
    return slope;
}

/* The weighted harmonic mean of the slopes on either side; 0 at an extremum. */
static double inner_slope(double h0, double h1, double d0, double d1)
{
    if (sign(d0) != sign(d1) || d0 == 0 || d1 == 0)
        return 0;
    double w1 = 2 * h1 + h0;
    double w2 = h1 + 2 * h0;
    return 1 / ((w1 / d0 + w2 / d1) / (w1 + w2));
}

static void find_slopes(const double *x, const double *y, size_t count, double *slopes)
{
    if (count == 2) {
        slopes[0] = slopes[1] = (y[1] - y[0]) / (x[1] - x[0]);
        return;
    }
    for (size_t i = 1; i + 1 < count; i++) {
        double h0 = x[i] - x[i - 1];
        double h1 = x[i + 1] - x[i];
        double d0 = (y[i] - y[i - 1]) / h0;
        double d1 = (y[i + 1] - y[i]) / h1;
        slopes[i] = inner_slope(h0, h1, d0, d1);
        if (i == 1)
            slopes[0] = end_slope(h0, h1, d0, d1);
        if (i + 2 == count)
            slopes[count - 1] = end_slope(h1, h0, d1, d0);
    }
}

/* The cubic through two points with a slope at each, at `at` between them. */
static double hermite(const double *x, const double *y, const double *slopes, double at)
{
    double h = x[1] - x[0];
    double s = at - x[0];
    double d = (y[1] - y[0]) / h;
    double t = (slopes[0] + slopes[1] - 2 * d) / h;
    return y[0] + s * (slopes[0] + s * ((d - slopes[0]) / h - t + s * (t / h)));
}

void hn_interpolate_evenly(const double *x, const double *y, size_t count, double *values,
                           size_t points)
{
    double *slopes HN_FREED = hn_need(count, sizeof *slopes);
    find_slopes(x, y, count, slopes);
    double step = (x[count - 1] - x[0]) / (double)(points - 1);
    size_t interval = 0;
    for (size_t i = 0; i < points; i++) {
        double at = i + 1 == points ? x[count - 1] : (double)i * step + x[0];
        while (interval + 2 < count && at >= x[interval + 1])
            interval++;
        values[i] = hermite(x + interval, y + interval, slopes + interval, at);
    }
}
