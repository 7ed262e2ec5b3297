/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/strategy/dot.h"
#include "tuner/strategy/gaussian.h"

/* The priors are normal in the logarithms. Lengths: of the order of the cube's diagonal, so that
 * few measurements say little of single parameters; noise: a few percent of the spread; signal: of
 * the targets. */
static const double length_deviation = 1.0;
static const double noise_mean = -6.2;
static const double noise_deviation = 1.5;
static const double signal_mean = 0.4;
static const double signal_deviation = 1.0;
static const double noise_least = -13.8;

static double add_prior(double value, double mean, double deviation, double *gradient)
{
    double off = (value - mean) / deviation;
    *gradient -= off / deviation;
    return -0.5 * off * off;
}

/* sums[j] = the squared scaled distance of input i to input j, for all j before i; columns: the
 * inputs by feature. */
HN_WIDE static void measure(const struct hn_gaussian *gaussian, const double *columns, size_t n,
                            size_t i, double *restrict sums)
{
    for (size_t j = 0; j < i; j++)
        sums[j] = 0;
    for (size_t f = 0; f < gaussian->features; f++) {
        const double *column = columns + f * n;
        double own = column[i];
        double weight = gaussian->weights[f];
        if (gaussian->category[f]) {
            for (size_t j = 0; j < i; j++)
                sums[j] += own == column[j] ? 0 : weight;
        } else {
            for (size_t j = 0; j < i; j++)
                sums[j] += weight * ((own - column[j]) * (own - column[j]));
        }
    }
}

/* covariance: full lower triangle; slope: its derivative by half the squared scaled distance,
 * negated. */
static void fill(const struct hn_gaussian *gaussian, const double *columns, size_t n,
                 double *covariance, double *slope)
{
    double signal = exp(gaussian->scales.signal);
    double noise = exp(gaussian->scales.noise);
    for (size_t i = 0; i < n; i++) {
        measure(gaussian, columns, n, i, covariance + i * n);
        for (size_t j = 0; j < i; j++) {
            double distance = sqrt(5 * covariance[i * n + j]);
            double decay = signal * exp(-distance);
            covariance[i * n + j] = (1 + distance + distance * distance / 3) * decay;
            slope[i * n + j] = 5.0 / 3 * (1 + distance) * decay;
        }
        covariance[i * n + i] = signal + noise;
    }
}

/* In place, by rows; false when the matrix is not positive definite. */
static bool factorize(double *matrix, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double *row = matrix + i * n;
        for (size_t j = 0; j <= i; j++) {
            const double *other = matrix + j * n;
            double sum = row[j] - hn_dot(row, other, j);
            if (i == j && sum < 1e-10)
                return false;
            row[j] = i == j ? sqrt(sum) : sum / other[j];
        }
    }
    return true;
}

/* inverse = L^-1, lower, the rest 0. */
HN_WIDE static void invert(const double *factor, size_t n, double *inverse)
{
    for (size_t i = 0; i < n; i++) {
        double *row = inverse + i * n;
        memset(row, 0, n * sizeof *row);
        for (size_t k = 0; k < i; k++) {
            double weight = factor[i * n + k];
            const double *other = inverse + k * n;
            for (size_t j = 0; j <= k; j++)
                row[j] -= weight * other[j];
        }
        double pivot = 1 / factor[i * n + i];
        for (size_t j = 0; j < i; j++)
            row[j] *= pivot;
        row[i] = pivot;
    }
}

/* matrix = inverse^T inverse - solution solution^T, lower triangle: twice the negated derivative of
 * the likelihood by the covariance. */
HN_WIDE static void sensitivity(const double *inverse, const double *solution, size_t n,
                                double *matrix)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++)
            matrix[i * n + j] = -solution[i] * solution[j];
    }
    for (size_t k = 0; k < n; k++) {
        const double *row = inverse + k * n;
        for (size_t i = 0; i <= k; i++) {
            double weight = row[i];
            double *to = matrix + i * n;
            for (size_t j = 0; j <= i; j++)
                to[j] += weight * row[j];
        }
    }
}

static double log_likelihood(const double *factor, const double *inverse, const double *targets,
                             size_t n, double *solution)
{
    double sum = 0;
    memset(solution, 0, n * sizeof *solution);
    for (size_t i = 0; i < n; i++) {
        const double *row = inverse + i * n;
        double whitened = hn_dot(row, targets, i + 1);
        for (size_t j = 0; j <= i; j++)
            solution[j] += whitened * row[j];
        sum -= 0.5 * whitened * whitened + log(factor[i * n + i]);
    }
    return sum;
}

/* What a pair of inputs adds to the slopes by the lengths. masks: 1 for categories, which differ by
 * 0 or 1, else 0. */
static void add_slopes(const struct hn_gaussian *gaussian, const double *masks, const double *a,
                       const double *b, double weight, double *restrict gradient)
{
    for (size_t f = 0; f < gaussian->features; f++) {
        double other = a[f] == b[f] ? 0 : 1;
        double squared = (a[f] - b[f]) * (a[f] - b[f]);
        gradient[f] +=
            weight * gaussian->weights[f] * (masks[f] * other + (1 - masks[f]) * squared);
    }
}

HN_WIDE double hn_gaussian_posterior(const struct hn_gaussian *gaussian, const double *inputs,
                                     const double *targets, size_t count, double *gradient,
                                     double *work)
{
    size_t n = count;
    size_t d = gaussian->features;
    const struct hn_gaussian_scales *scales = &gaussian->scales;
    double *factor = work;
    double *slope = work + n * n;
    double *inverse = work + 2 * n * n;
    double *solution = work + 3 * n * n;
    double *columns = solution + n;
    double *masks = columns + n * d;
    for (size_t f = 0; f < d; f++) {
        masks[f] = gaussian->category[f];
        for (size_t i = 0; i < n; i++)
            columns[f * n + i] = inputs[i * d + f];
    }
    memset(gradient, 0, (d + 2) * sizeof *gradient);
    fill(gaussian, columns, n, factor, slope);
    if (!factorize(factor, n))
        return -INFINITY;
    invert(factor, n, inverse);
    double density = log_likelihood(factor, inverse, targets, n, solution);
    double *change = factor; /* no longer needed */
    sensitivity(inverse, solution, n, change);

    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++)
            add_slopes(gaussian, masks, inputs + i * d, inputs + j * d,
                       -change[i * n + j] * slope[i * n + j], gradient);
        gradient[d] -= 0.5 * change[i * n + i] * exp(scales->noise);
    }
    /* the likelihood's derivatives by signal and noise together: (whitened^2 - n) / 2 */
    double together = 0;
    for (size_t i = 0; i < n; i++)
        together += 0.5 * solution[i] * targets[i] - 0.5;
    gradient[d + 1] = together - gradient[d];

    double length_mean = log(0.3 * sqrt((double)d));
    for (size_t f = 0; f < d; f++)
        density += add_prior(scales->lengths[f], length_mean, length_deviation, &gradient[f]);
    density += add_prior(scales->noise, noise_mean, noise_deviation, &gradient[d]);
    density += add_prior(scales->signal, signal_mean, signal_deviation, &gradient[d + 1]);
    return density;
}

static void put(struct hn_gaussian *gaussian, const double *place)
{
    size_t d = gaussian->features;
    memcpy(gaussian->scales.lengths, place, d * sizeof *place);
    gaussian->scales.noise = place[d];
    gaussian->scales.signal = place[d + 1];
    hn_gaussian_clear(gaussian);
}

/* One step of Rprop: each coordinate goes its own step in the direction of its slope. */
static double step(double *place, double *steps, double *previous, double *gradient, size_t count)
{
    double longest = 0;
    for (size_t i = 0; i < count; i++) {
        double turn = gradient[i] * previous[i];
        if (turn > 0) {
            steps[i] = fmin(1.3 * steps[i], 0.8);
        } else if (turn < 0) {
            steps[i] *= 0.5;
            gradient[i] = 0;
        }
        if (gradient[i] != 0)
            place[i] = fmin(fmax(place[i] + copysign(steps[i], gradient[i]), -8), 6);
        previous[i] = gradient[i];
        longest = fmax(longest, steps[i]);
    }
    return longest;
}

bool hn_gaussian_fit(struct hn_gaussian *gaussian, const double *inputs, const double *targets,
                     size_t count, int steps)
{
    size_t d = gaussian->features;
    size_t m = d + 2;
    size_t room = HN_GAUSSIAN_WORK(count, d);
    double *work = malloc((room + 5 * m) * sizeof *work);
    if (work == NULL)
        return false;
    double *place = work + room;
    double *best = place + m;
    double *gradient = best + m;
    double *previous = gradient + m;
    double *lengths = previous + m;
    memcpy(place, gaussian->scales.lengths, d * sizeof *place);
    place[d] = gaussian->scales.noise;
    place[d + 1] = gaussian->scales.signal;
    memcpy(best, place, m * sizeof *best);
    memset(previous, 0, m * sizeof *previous);
    for (size_t i = 0; i < m; i++)
        lengths[i] = 0.2;

    double highest = -INFINITY;
    for (int i = 0; i < steps; i++) {
        put(gaussian, place);
        double density = hn_gaussian_posterior(gaussian, inputs, targets, count, gradient, work);
        if (density > highest) {
            highest = density;
            memcpy(best, place, m * sizeof *best);
        }
        if (isinf(density)) { /* back to firmer ground */
            memcpy(place, best, m * sizeof *best);
            place[d] = fmax(place[d], noise_mean) + 1;
            continue;
        }
        if (step(place, lengths, previous, gradient, m) < 0.02)
            break;
        place[d] = fmax(place[d], noise_least);
    }
    put(gaussian, best);
    free(work);
    return true;
}
