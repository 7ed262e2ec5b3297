/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tuner/strategy/gaussian.h"
#include "tuner/strategy/loops.h"

/* Two numbers that all processors add and multiply at once. */
typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));

/* The inner product, always summed in this order: compilers may not reorder it, and four sums keep
 * the adders busy. First four products at a time, then the rest and the sums. */
static inline void add_products(const double *a, const double *b, pair *low, pair *high)
{
    *low += *(const pair *)a * *(const pair *)b;
    *high += *(const pair *)(a + 2) * *(const pair *)(b + 2);
}

static inline double sum_products(const double *a, const double *b, size_t rest, pair low,
                                  pair high)
{
    double first = low[0];
    for (size_t i = 0; i < rest; i++)
        first += a[i] * b[i];
    return (first + low[1]) + (high[0] + high[1]);
}

static inline double dot(const double *a, const double *b, size_t count)
{
    pair low = {0}, high = {0};
    size_t i = 0;
    for (; i + 4 <= count; i += 4)
        add_products(a + i, b + i, &low, &high);
    return sum_products(a + i, b + i, count - i, low, high);
}

/* exp(x) for x <= 0, within 1e-14 of it: 2^n times the series of what is left. Loops over it are
 * vectorised, and it is the same on all machines, which libraries are not. */
static inline double decay_of(double x)
{
    /* A sum with it has the nearest whole number in its lowest bits. */
    const double shift = 0x1.8p52;
    double bounded = x > -700 ? x : -700;
    double shifted = bounded * 0x1.71547652b82fep+0 + shift;
    double n = shifted - shift;
    double r = (bounded - n * 0x1.62e42fefa2p-1) - n * 0x1.9ef35793c7673p-41;
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    double series = 1. / 39916800;
    series = 1. / 3628800 + r * series;
    series = 1. / 362880 + r * series;
    series = 1. / 40320 + r * series;
    series = 1. / 5040 + r * series;
    series = 1. / 720 + r * series;
    series = 1. / 120 + r * series;
    series = 1. / 24 + r * series;
    series = 1. / 6 + r * series;
    return power * (1 + r * (1 + r * (1. / 2 + r * series)));
}

/* Forgets the inputs, keeps the scales. */
static void clear(struct hn_gaussian *gaussian)
{
    gaussian->count = 0;
    for (size_t f = 0; f < gaussian->features; f++)
        gaussian->weights[f] = exp(-2 * gaussian->scales.lengths[f]);
}

void hn_gaussian_init(struct hn_gaussian *gaussian, size_t features, const bool *category,
                      size_t capacity)
{
    struct hn_blocks *memory = &gaussian->memory;
    *gaussian = (struct hn_gaussian){.features = features, .capacity = capacity};
    gaussian->inputs = hn_need_block(memory, capacity * features, sizeof(double));
    gaussian->columns = hn_need_block(memory, capacity * features, sizeof(double));
    gaussian->factor = hn_need_block(memory, capacity * (capacity + 1) / 2, sizeof(double));
    gaussian->scales.lengths = hn_need_block(memory, features, sizeof(double));
    gaussian->weights = hn_need_block(memory, features, sizeof(double));
    gaussian->most = hn_need_block(memory, features, sizeof(double));
    gaussian->scales.noise = log(2e-3);
    for (size_t f = 0; f < features; f++) {
        gaussian->scales.lengths[f] = log(0.3 * sqrt((double)features));
        gaussian->most[f] = category[f] ? 1 : INFINITY;
    }
    clear(gaussian);
}

void hn_gaussian_finish(struct hn_gaussian *gaussian)
{
    hn_blocks_finish(&gaussian->memory);
    *gaussian = (struct hn_gaussian){0};
}

/* Lower triangles stand in packed rows. */
static double *row_of(double *triangle, size_t row)
{
    return triangle + row * (row + 1) / 2;
}

/* Distances of `input`, in units of the lengths over the square root of 5, to `width` columns. */
HN_WIDE static void find_distances(const struct hn_gaussian *gaussian, const double *input,
                                   const double *columns, size_t stride, size_t width,
                                   double *distances)
{
    for (size_t c = 0; c < width; c++)
        distances[c] = 0;
    for (size_t f = 0; f < gaussian->features; f++) {
        const double *column = columns + f * stride;
        double weight = 5 * gaussian->weights[f];
        double most = gaussian->most[f];
        double own = input[f];
        for (size_t c = 0; c < width; c++) {
            double squared = (column[c] - own) * (column[c] - own);
            distances[c] += weight * (squared < most ? squared : most);
        }
    }
    for (size_t c = 0; c < width; c++)
        distances[c] = sqrt(distances[c]);
}

HN_WIDE void hn_gaussian_covariances(const struct hn_gaussian *gaussian, const double *input,
                                     const double *columns, size_t stride, size_t width,
                                     double *covariances)
{
    double signal = exp(gaussian->scales.signal);
    find_distances(gaussian, input, columns, stride, width, covariances);
    for (size_t c = 0; c < width; c++) {
        double distance = covariances[c];
        covariances[c] = signal * (1 + distance + distance * distance / 3) * decay_of(-distance);
    }
}

static double solved(double value, double known, double pivot)
{
    return isnan(value) ? 0 : (value - known) / pivot;
}

/* values = L^-1 values, where what is NAN is what those before it predict. Four rows at a time,
 * which share what is read of the values. */
HN_WIDE static void solve(const double *factor, size_t count, double *values)
{
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        const double *rows[4];
        pair low[4] = {{0}}, high[4] = {{0}};
        for (size_t r = 0; r < 4; r++)
            rows[r] = factor + (i + r) * (i + r + 1) / 2;
        for (size_t j = 0; j < i; j += 4) {
            for (size_t r = 0; r < 4; r++)
                add_products(rows[r] + j, values + j, &low[r], &high[r]);
        }
        for (size_t r = 0; r < 4; r++) {
            double sum = sum_products(rows[r] + i, values + i, r, low[r], high[r]);
            values[i + r] = solved(values[i + r], sum, rows[r][r + i]);
        }
    }
    for (; i < count; i++) {
        const double *row = factor + i * (i + 1) / 2;
        values[i] = solved(values[i], dot(row, values, i), row[i]);
    }
}

void hn_gaussian_append(struct hn_gaussian *gaussian, const double *input)
{
    size_t n = gaussian->count;
    double *row = row_of(gaussian->factor, n);
    memcpy(gaussian->inputs + n * gaussian->features, input, gaussian->features * sizeof *input);
    double pivot = exp(gaussian->scales.signal) + exp(gaussian->scales.noise);
    for (size_t f = 0; f < gaussian->features; f++)
        gaussian->columns[f * gaussian->capacity + n] = input[f];
    hn_gaussian_covariances(gaussian, input, gaussian->columns, gaussian->capacity, n, row);
    solve(gaussian->factor, n, row);
    for (size_t i = 0; i < n; i++)
        pivot -= row[i] * row[i];
    row[n] = sqrt(fmax(pivot, 1e-9));
    gaussian->count++;
}

void hn_gaussian_whiten(const struct hn_gaussian *gaussian, const double *targets, double *whitened)
{
    memcpy(whitened, targets, gaussian->count * sizeof *whitened);
    solve(gaussian->factor, gaussian->count, whitened);
}

void hn_gaussian_weigh(const struct hn_gaussian *gaussian, const double *targets, double *weights)
{
    hn_gaussian_whiten(gaussian, targets, weights);
    for (size_t i = gaussian->count; i-- > 0;) {
        const double *row = row_of(gaussian->factor, i);
        weights[i] /= row[i];
        for (size_t j = 0; j < i; j++)
            weights[j] -= row[j] * weights[i];
    }
}

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

/* slope: the covariance's derivative by half the squared scaled distance, negated; columns: the
 * inputs by feature. */
HN_WIDE static void fill(const struct hn_gaussian *gaussian, const double *inputs,
                         const double *columns, size_t n, double *restrict covariance,
                         double *restrict slope)
{
    double signal = exp(gaussian->scales.signal);
    double noise = exp(gaussian->scales.noise);
    for (size_t i = 0; i < n; i++, covariance += i, slope += i) {
        find_distances(gaussian, inputs + i * gaussian->features, columns, n, i, covariance);
        for (size_t j = 0; j < i; j++) {
            double distance = covariance[j];
            double decay = signal * decay_of(-distance);
            covariance[j] = (1 + distance + distance * distance / 3) * decay;
            slope[j] = 5.0 / 3 * (1 + distance) * decay;
        }
        covariance[i] = signal + noise;
    }
}

/* In place, by columns, whose elements do not wait for each other; false when the matrix is not
 * positive definite. */
HN_WIDE static bool factorize(double *triangle, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        double *own = row_of(triangle, j);
        double pivot = own[j] - dot(own, own, j);
        if (pivot < 1e-10)
            return false;
        own[j] = sqrt(pivot);
        for (size_t i = j + 1; i < n; i++) {
            double *row = row_of(triangle, i);
            row[j] = (row[j] - dot(row, own, j)) / own[j];
        }
    }
    return true;
}

/* inverse = L^-1, all of it: zeros, too. */
HN_WIDE static void invert(double *factor, size_t n, double *inverse)
{
    enum { BLOCK = 4 };
    memset(inverse, 0, n * n * sizeof *inverse);
    for (size_t i = 0; i < n; i++) {
        const double *weights = row_of(factor, i);
        double *row = inverse + i * n;
        for (size_t k = 0; k < i; k += BLOCK) {
            size_t end = k + BLOCK < i ? k + BLOCK : i;
            hn_add_rows(row, weights + k, 1, inverse + k * n, n, end - k, end);
        }
        double pivot = -1 / weights[i];
        for (size_t j = 0; j < i; j++)
            row[j] *= pivot;
        row[i] = -pivot;
    }
}

/* triangle = inverse^T inverse - solution solution^T: twice the negated derivative of the
 * likelihood by the covariance. */
HN_WIDE static void sensitivity(const double *inverse, const double *solution, size_t n,
                                double *triangle)
{
    for (size_t i = 0; i < n; i++) {
        double *row = row_of(triangle, i);
        for (size_t j = 0; j <= i; j++)
            row[j] = -solution[i] * solution[j];
        hn_add_rows(row, inverse + i * n + i, n, inverse + i * n, n, n - i, i + 1);
    }
}

static double log_likelihood(double *factor, const double *inverse, const double *targets, size_t n,
                             double *solution)
{
    double sum = 0;
    memset(solution, 0, n * sizeof *solution);
    for (size_t i = 0; i < n; i++) {
        const double *row = inverse + i * n;
        double whitened = dot(row, targets, i + 1);
        for (size_t j = 0; j <= i; j++)
            solution[j] += whitened * row[j];
        sum -= 0.5 * whitened * whitened + log(row_of(factor, i)[i]);
    }
    return sum;
}

/* Adds to the slopes by the lengths what pairs of an input and those before it say. */
static void add_slopes(const struct hn_gaussian *gaussian, const double *inputs, size_t i,
                       const double *change, const double *slope, double *restrict gradient)
{
    size_t d = gaussian->features;
    const double *own = inputs + i * d;
    for (size_t j = 0; j < i; j++) {
        const double *other = inputs + j * d;
        double weight = -change[j] * slope[j];
        for (size_t f = 0; f < d; f++) {
            double squared = (own[f] - other[f]) * (own[f] - other[f]);
            double bounded = squared < gaussian->most[f] ? squared : gaussian->most[f];
            gradient[f] += weight * gaussian->weights[f] * bounded;
        }
    }
}

/* For hn_gaussian_fit: logarithm of the posterior density of the scales up to a constant, and its
 * gradient: lengths, then noise, then signal. -INFINITY where the covariance is not positive
 * definite. work has room for HN_GAUSSIAN_WORK(count, features). */
#define HN_GAUSSIAN_WORK(count, features) ((2 * (count) + 2 + (features)) * (count))
HN_WIDE static double posterior(const struct hn_gaussian *gaussian, const double *inputs,
                                const double *targets, size_t count, double *gradient, double *work)
{
    size_t n = count;
    size_t d = gaussian->features;
    const struct hn_gaussian_scales *scales = &gaussian->scales;
    double *factor = work;
    double *slope = factor + n * (n + 1) / 2;
    double *inverse = slope + n * (n + 1) / 2;
    double *solution = inverse + n * n;
    double *columns = solution + n;
    for (size_t f = 0; f < d; f++)
        for (size_t i = 0; i < n; i++)
            columns[f * n + i] = inputs[i * d + f];
    memset(gradient, 0, (d + 2) * sizeof *gradient);
    fill(gaussian, inputs, columns, n, factor, slope);
    if (!factorize(factor, n))
        return -INFINITY;
    invert(factor, n, inverse);
    double density = log_likelihood(factor, inverse, targets, n, solution);
    double *change = factor; /* no longer needed */
    sensitivity(inverse, solution, n, change);

    for (size_t i = 0; i < n; i++) {
        const double *row = row_of(change, i);
        add_slopes(gaussian, inputs, i, row, row_of(slope, i), gradient);
        gradient[d] -= 0.5 * row[i] * exp(scales->noise);
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
    clear(gaussian);
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

void hn_gaussian_fit(struct hn_gaussian *gaussian, const double *inputs, const double *targets,
                     size_t count, size_t fitted, int steps)
{
    size_t d = gaussian->features;
    size_t m = d + 2;
    size_t room = HN_GAUSSIAN_WORK(fitted, d);
    double *work HN_FREED = hn_need_more(NULL, room + 5 * m, sizeof *work);
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
        double density = posterior(gaussian, inputs, targets, fitted, gradient, work);
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
    for (size_t i = 0; i < count; i++)
        hn_gaussian_append(gaussian, inputs + i * d);
}
