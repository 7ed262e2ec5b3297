/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tuner/strategy/model.h"

enum { RESOURCES = 5, MOST = 80, LEAST = 30, FIRST_STEPS = 20, LATER_STEPS = 6 };

/* The normal deviate that one in a thousand exceeds. */
static const double certain = 3.09;

struct hn_screen {
    const struct hn_trail *trail;
    const struct hn_encoding *encoding;
    struct hn_gaussian gaussian;
    double *resources; /* RESOURCES for each point; the first is NAN where they are not known */
    size_t room;       /* points */
    double whitened[MOST];
    double best; /* of the targets */
    bool fitted;
    size_t next_fit; /* told points */
};

struct hn_screen *hn_screen_create(const struct hn_trail *trail, const struct hn_encoding *encoding)
{
    size_t features = encoding->count + RESOURCES;
    struct hn_screen *screen = hn_need(1, sizeof *screen);
    bool category[features];
    memset(category, 0, sizeof category);
    memcpy(category, encoding->category, encoding->count * sizeof *category);
    screen->trail = trail;
    screen->encoding = encoding;
    screen->next_fit = LEAST;
    hn_gaussian_init(&screen->gaussian, features, category, MOST);
    return screen;
}

void hn_screen_destroy(struct hn_screen *screen)
{
    if (screen == NULL)
        return;
    hn_gaussian_finish(&screen->gaussian);
    free(screen->resources);
    free(screen);
}

/* Scaled to about 0 .. 1. */
static void encode(const struct hn_resources *resources, double *features)
{
    features[0] = resources->registers / 255.0;
    features[1] = log2(1.0 + resources->spill_load_bytes + resources->spill_store_bytes) / 12;
    features[2] = log2(1.0 + resources->local_bytes) / 12;
    features[3] = log2(1.0 + resources->shared_bytes) / 18;
    features[4] = resources->occupancy;
}

static void note(struct hn_screen *screen, uint32_t point, const struct hn_resources *resources)
{
    if (point >= screen->room) {
        size_t room = 2 * ((size_t)point + 32);
        screen->resources =
            hn_need_more(screen->resources, room * RESOURCES, sizeof *screen->resources);
        for (; screen->room < room; screen->room++)
            screen->resources[screen->room * RESOURCES] = NAN;
    }
    encode(resources, screen->resources + (size_t)point * RESOURCES);
}

static void encode_point(const struct hn_screen *screen, uint32_t point, double *features)
{
    hn_encoding_apply(screen->encoding, hn_trail_point(screen->trail, point), features);
    memcpy(features + screen->encoding->count, screen->resources + (size_t)point * RESOURCES,
           RESOURCES * sizeof *features);
}

/* Points with a positive cost and resources: the newest MOST of them. Returns how many there are in
 * all. */
static size_t find_known(const struct hn_screen *screen, uint32_t *points)
{
    size_t count = 0;
    for (uint32_t i = 0; i < screen->trail->count && i < screen->room; i++) {
        double cost = screen->trail->costs[i];
        if (isfinite(cost) && cost > 0 && !isnan(screen->resources[i * RESOURCES]))
            points[count++ % MOST] = i;
    }
    return count;
}

static void fit(struct hn_screen *screen, const uint32_t *points, size_t count)
{
    size_t features = screen->gaussian.features;
    double *inputs = hn_need(count * features + count, sizeof *inputs);
    double *targets = inputs + count * features;
    double sum = 0;
    double squares = 0;
    screen->best = INFINITY;
    for (size_t i = 0; i < count; i++) {
        encode_point(screen, points[i], inputs + i * features);
        targets[i] = log(screen->trail->costs[points[i]]);
        sum += targets[i];
        squares += targets[i] * targets[i];
    }
    double mean = sum / (double)count;
    double deviation = sqrt(fmax(squares / (double)count - mean * mean, 1e-12));
    for (size_t i = 0; i < count; i++)
        targets[i] = (targets[i] - mean) / deviation;
    for (uint32_t i = 0; i < screen->trail->count; i++) {
        double cost = screen->trail->costs[i];
        if (isfinite(cost) && cost > 0)
            screen->best = fmin(screen->best, (log(cost) - mean) / deviation);
    }
    hn_gaussian_fit(&screen->gaussian, inputs, targets, count, count,
                    screen->fitted ? LATER_STEPS : FIRST_STEPS);
    hn_gaussian_whiten(&screen->gaussian, targets, screen->whitened);
    screen->fitted = true;
    free(inputs);
}

/* By how many standard deviations the point is expected to miss the best. */
static double miss(const struct hn_screen *screen, uint32_t point)
{
    const struct hn_gaussian *gaussian = &screen->gaussian;
    double features[gaussian->features];
    double row[MOST];
    encode_point(screen, point, features);
    double mean = 0;
    double variance = exp(gaussian->scales.signal) + exp(gaussian->scales.noise);
    for (size_t i = 0; i < gaussian->count; i++) {
        const double *factor = gaussian->factor + i * (i + 1) / 2;
        hn_gaussian_covariances(gaussian, gaussian->inputs + i * gaussian->features, features, 1, 1,
                                &row[i]);
        for (size_t j = 0; j < i; j++)
            row[i] -= factor[j] * row[j];
        row[i] /= factor[i];
        mean += row[i] * screen->whitened[i];
        variance -= row[i] * row[i];
    }
    return (mean - screen->best) / sqrt(fmax(variance, 1e-9));
}

bool hn_screen_pass(struct hn_screen *screen, uint32_t point, const struct hn_resources *resources)
{
    uint32_t points[MOST];
    if (resources == NULL || !resources->known)
        return true;
    note(screen, point, resources);
    size_t known = find_known(screen, points);
    if (known >= screen->next_fit) {
        fit(screen, points, known < MOST ? known : MOST);
        screen->next_fit = known + 1 + known / 3;
    }
    return !screen->fitted || miss(screen, point) < certain;
}
