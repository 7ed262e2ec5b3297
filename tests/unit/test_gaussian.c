/* SPDX-License-Identifier: MIT */
#include "tuner/strategy/gaussian.h"

#include "base/hash.h"
#include "tests/unit/unit.h"
#include "tuner/strategy/gaussian.c"

enum { FEATURES = 3, COUNT = 40 };

static const bool category[FEATURES] = {false, false, true};

static struct hn_gaussian *make(void)
{
    static struct hn_gaussian gaussian;
    hn_gaussian_init(&gaussian, FEATURES, category, COUNT);
    return keep(&gaussian, hn_gaussian_finish);
}

/* Inputs in the unit cube, the last feature one of three categories. */
static void draw_inputs(double *inputs, size_t count, uint64_t seed)
{
    struct hn_random random = hn_random_seeded(seed);
    for (size_t i = 0; i < count; i++) {
        inputs[i * FEATURES] = hn_random_unit(&random);
        inputs[i * FEATURES + 1] = hn_random_unit(&random);
        inputs[i * FEATURES + 2] = (double)hn_random_below(&random, 3);
    }
}

static double smooth(const double *input)
{
    return sin(4 * input[0]) + 0.5 * (input[2] > 1.5);
}

/* Prediction at one input, from the definition: mean and variance of the function. */
static void predict(const struct hn_gaussian *gaussian, const double *targets, const double *input,
                    double *mean, double *variance)
{
    double whitened[COUNT];
    double row[COUNT];
    hn_gaussian_whiten(gaussian, targets, whitened);
    *mean = 0;
    *variance = exp(gaussian->scales.signal);
    for (size_t i = 0; i < gaussian->count; i++) {
        const double *factor = gaussian->factor + i * (i + 1) / 2;
        hn_gaussian_covariances(gaussian, gaussian->inputs + i * FEATURES, input, 1, 1, &row[i]);
        for (size_t j = 0; j < i; j++)
            row[i] -= factor[j] * row[j];
        row[i] /= factor[i];
        *mean += row[i] * whitened[i];
        *variance -= row[i] * row[i];
    }
}

/* Matérn 5/2 from next to nothing to farther than a number has places for. */
TEST(covariances_are_matern_s)
{
    struct hn_gaussian gaussian ENDED_BY(hn_gaussian_finish);
    hn_gaussian_init(&gaussian, FEATURES, category, 1);
    gaussian.scales.signal = 0.7;
    gaussian.scales.lengths[2] = log(0.5);
    clear(&gaussian);
    const double from[FEATURES] = {0, 0, 5};
    for (double apart = 1e-6; apart < 1e4; apart *= 1.01) {
        for (int other = 0; other < 2; other++) {
            const double to[FEATURES] = {apart, 0, other ? 2 : 5};
            double covariance;
            hn_gaussian_covariances(&gaussian, from, to, 1, 1, &covariance);
            double scaled = apart / exp(gaussian.scales.lengths[0]);
            double distance = sqrt(5 * (scaled * scaled + (other ? 4 : 0)));
            double expected = exp(0.7) * (1 + distance + distance * distance / 3) * exp(-distance);
            assert_true(fabs(covariance - expected) <= 1e-12 * expected + 1e-290);
        }
    }
}

TEST(interpolates_what_it_was_told)
{
    double inputs[COUNT * FEATURES], targets[COUNT];
    struct hn_gaussian *gaussian = make();
    gaussian->scales.noise = log(1e-8);
    draw_inputs(inputs, COUNT, 1);
    for (size_t i = 0; i < COUNT; i++) {
        targets[i] = smooth(inputs + i * FEATURES);
        hn_gaussian_append(gaussian, inputs + i * FEATURES);
    }
    for (size_t i = 0; i < COUNT; i++) {
        double mean, variance;
        predict(gaussian, targets, inputs + i * FEATURES, &mean, &variance);
        assert_true(fabs(mean - targets[i]) < 1e-3);
        assert_true(variance < 1e-4);
    }
    double far[FEATURES] = {50, 50, 7};
    double mean, variance;
    predict(gaussian, targets, far, &mean, &variance);
    assert_true(fabs(mean) < 1e-6);
    assert_true(fabs(variance - 1) < 1e-6);
}

/* A target that is not known is what the others before it predict: it changes no prediction. */
TEST(unknown_targets_say_nothing)
{
    struct hn_gaussian all ENDED_BY(hn_gaussian_finish), known ENDED_BY(hn_gaussian_finish);
    double inputs[COUNT * FEATURES];
    double all_targets[COUNT], known_targets[COUNT];
    hn_gaussian_init(&all, FEATURES, category, COUNT);
    hn_gaussian_init(&known, FEATURES, category, COUNT);
    draw_inputs(inputs, COUNT, 2);
    for (size_t i = 0; i < COUNT; i++) {
        bool told = i < COUNT / 2;
        all_targets[i] = told ? smooth(inputs + i * FEATURES) : NAN;
        known_targets[i] = all_targets[i];
        hn_gaussian_append(&all, inputs + i * FEATURES);
        if (told)
            hn_gaussian_append(&known, inputs + i * FEATURES);
    }
    const double at[FEATURES] = {0.3, 0.6, 1};
    double mean, variance, known_mean, known_variance;
    predict(&all, all_targets, at, &mean, &variance);
    predict(&known, known_targets, at, &known_mean, &known_variance);
    assert_true(fabs(mean - known_mean) < 1e-9);
    assert_true(variance < known_variance);
}

static double *scale_of(struct hn_gaussian *gaussian, size_t i)
{
    if (i < FEATURES)
        return &gaussian->scales.lengths[i];
    return i == FEATURES ? &gaussian->scales.noise : &gaussian->scales.signal;
}

TEST(gradient_is_the_posterior_s)
{
    double inputs[COUNT * FEATURES], targets[COUNT];
    double *work = keep(calloc(HN_GAUSSIAN_WORK(COUNT, FEATURES), sizeof *work), free);
    struct hn_gaussian *gaussian = make();
    draw_inputs(inputs, COUNT, 3);
    for (size_t i = 0; i < COUNT; i++)
        targets[i] = smooth(inputs + i * FEATURES) - 0.3;
    double gradient[FEATURES + 2], unused[FEATURES + 2];
    posterior(gaussian, inputs, targets, COUNT, gradient, work);
    for (size_t i = 0; i < FEATURES + 2; i++) {
        const double step = 1e-5;
        double sides[2];
        for (int side = 0; side < 2; side++) {
            *scale_of(gaussian, i) += side == 0 ? -step : 2 * step;
            clear(gaussian);
            sides[side] = posterior(gaussian, inputs, targets, COUNT, unused, work);
        }
        *scale_of(gaussian, i) -= step;
        double slope = (sides[1] - sides[0]) / (2 * step);
        assert_true(fabs(slope - gradient[i]) < 1e-3 * (1 + fabs(slope)));
    }
}

/* The function does not depend on the second feature: its length becomes the longest. */
TEST(fit_finds_what_matters)
{
    double inputs[COUNT * FEATURES], targets[COUNT];
    struct hn_gaussian *gaussian = make();
    draw_inputs(inputs, COUNT, 4);
    for (size_t i = 0; i < COUNT; i++)
        targets[i] = smooth(inputs + i * FEATURES) - 0.3;
    hn_gaussian_fit(gaussian, inputs, targets, 0, COUNT, 40);
    assert_true(gaussian->scales.lengths[1] > gaussian->scales.lengths[0] + 1);
    assert_true(gaussian->scales.lengths[1] > gaussian->scales.lengths[2]);
    for (size_t i = 0; i < COUNT; i++)
        hn_gaussian_append(gaussian, inputs + i * FEATURES);
    double worst = 0;
    double tests[COUNT * FEATURES];
    draw_inputs(tests, COUNT, 5);
    for (size_t i = 0; i < COUNT; i++) {
        double mean, variance;
        predict(gaussian, targets, tests + i * FEATURES, &mean, &variance);
        worst = fmax(worst, fabs(mean - smooth(tests + i * FEATURES) + 0.3));
    }
    assert_true(worst < 0.25);
}

/* The same input twice with different targets, and no noise to explain it: the fit has to survive.
 */
TEST(survives_contradictions)
{
    double inputs[COUNT * FEATURES] = {0};
    double targets[COUNT];
    struct hn_gaussian *gaussian = make();
    gaussian->scales.noise = -30;
    for (size_t i = 0; i < COUNT; i++)
        targets[i] = i % 2 == 0 ? 1 : -1;
    hn_gaussian_fit(gaussian, inputs, targets, 0, COUNT, 30);
    for (size_t i = 0; i < COUNT; i++)
        hn_gaussian_append(gaussian, inputs + i * FEATURES);
    double mean, variance;
    predict(gaussian, targets, inputs, &mean, &variance);
    assert_true(isfinite(mean) && isfinite(variance));
    assert_true(fabs(mean) < 0.2);
}
