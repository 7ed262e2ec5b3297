/* SPDX-License-Identifier: MIT */
#include "tuner/session/power_model.h"

#include <math.h>
#include <string.h>

/* Few samples say little of a slope: it is held back as if so many more had said that there is
 * none. Features count in units of how far the samples lie apart in them. */
static const double held_back = 1;
/* So far beyond what was measured an estimate may lie. */
static const double beyond = 0.2;

static double metric(const struct hn_record *record, const char *name)
{
    const struct hn_value *value = hn_bindings_get(&record->metrics, name);
    double number = value != NULL ? hn_value_number(value) : 0;
    return isfinite(number) && number > 0 ? number : 0;
}

void hn_power_features(const struct hn_record *record, double features[HN_POWER_FEATURES])
{
    double time_us = record->timing.median_us;
    features[0] = time_us > 0 ? 1e-3 * metric(record, "bytes") / time_us : 0;
    features[1] = time_us > 0 ? 1e-3 * metric(record, "flops") / time_us : 0;
    features[2] = record->resources.occupancy;
}

/* A sample that is left out counts as if it were not there; SIZE_MAX: none is. */
struct view {
    const struct hn_power_sample *samples;
    size_t count;
    size_t out;
};

static double mean_of(const struct view *view, int feature)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < view->count; i++) {
        if (i == view->out)
            continue;
        sum += feature < 0 ? view->samples[i].watts : view->samples[i].features[feature];
        count++;
    }
    return count > 0 ? sum / (double)count : 0;
}

/* 0 where all are alike. */
static double spread_of(const struct view *view, int feature, double mean)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < view->count; i++) {
        double off = view->samples[i].features[feature] - mean;
        sum += i == view->out ? 0 : off * off;
        count += i != view->out;
    }
    double spread = count > 0 ? sqrt(sum / (double)count) : 0;
    return spread > 1e-6 * fabs(mean) ? spread : 0;
}

/* Gauss and Jordan; what is held back keeps the diagonal away from zero. */
static void solve(double rows[HN_POWER_FEATURES][HN_POWER_FEATURES + 1])
{
    for (int p = 0; p < HN_POWER_FEATURES; p++) {
        for (int r = 0; r < HN_POWER_FEATURES; r++) {
            double factor = r == p ? 0 : rows[r][p] / rows[p][p];
            for (int c = 0; c <= HN_POWER_FEATURES; c++)
                rows[r][c] -= factor * rows[p][c];
        }
    }
    for (int p = 0; p < HN_POWER_FEATURES; p++)
        rows[p][HN_POWER_FEATURES] /= rows[p][p];
}

static void fit_line(const struct view *view, struct hn_power_model *model)
{
    double scale[HN_POWER_FEATURES];
    double rows[HN_POWER_FEATURES][HN_POWER_FEATURES + 1] = {{0}};
    model->watts = mean_of(view, -1);
    for (int f = 0; f < HN_POWER_FEATURES; f++) {
        model->center[f] = mean_of(view, f);
        scale[f] = spread_of(view, f, model->center[f]);
        rows[f][f] = held_back;
    }
    for (size_t i = 0; i < view->count; i++) {
        double x[HN_POWER_FEATURES];
        if (i == view->out)
            continue;
        for (int f = 0; f < HN_POWER_FEATURES; f++)
            x[f] = scale[f] > 0 ? (view->samples[i].features[f] - model->center[f]) / scale[f] : 0;
        for (int r = 0; r < HN_POWER_FEATURES; r++) {
            for (int c = 0; c < HN_POWER_FEATURES; c++)
                rows[r][c] += x[r] * x[c];
            rows[r][HN_POWER_FEATURES] += x[r] * (view->samples[i].watts - model->watts);
        }
    }
    solve(rows);
    for (int f = 0; f < HN_POWER_FEATURES; f++)
        model->slope[f] = scale[f] > 0 ? rows[f][HN_POWER_FEATURES] / scale[f] : 0;
}

static double line_at(const struct hn_power_model *model, const double features[HN_POWER_FEATURES])
{
    double watts = model->watts;
    for (int f = 0; f < HN_POWER_FEATURES; f++)
        watts += model->slope[f] * (features[f] - model->center[f]);
    return fmin(fmax(watts, model->low * (1 - beyond)), model->high * (1 + beyond));
}

/* Each sample by the others: how far off the line is, and how far their mean. */
static void leave_one_out(struct hn_power_model *model, const struct hn_power_sample *samples,
                          size_t count, double *line, double *mean)
{
    *line = *mean = 0;
    for (size_t i = 0; i < count; i++) {
        struct hn_power_model others = {.low = model->low, .high = model->high};
        fit_line(&(struct view){samples, count, i}, &others);
        double watts = samples[i].watts;
        *line += fabs(line_at(&others, samples[i].features) - watts) / watts / (double)count;
        *mean += fabs(others.watts - watts) / watts / (double)count;
    }
}

void hn_power_model_fit(struct hn_power_model *model, const struct hn_power_sample *samples,
                        size_t count)
{
    double line = 0;
    double mean = 0;
    *model = (struct hn_power_model){.samples = count};
    if (count == 0)
        return;
    model->low = model->high = samples[0].watts;
    for (size_t i = 1; i < count; i++) {
        model->low = fmin(model->low, samples[i].watts);
        model->high = fmax(model->high, samples[i].watts);
    }
    fit_line(&(struct view){samples, count, SIZE_MAX}, model);
    if (count >= 3)
        leave_one_out(model, samples, count, &line, &mean);
    if (count < 3 || line >= mean)
        memset(model->slope, 0, sizeof model->slope);
    model->error = fmin(line, mean);
}

double hn_power_model_watts(const struct hn_power_model *model,
                            const double features[HN_POWER_FEATURES])
{
    return model->samples > 0 ? line_at(model, features) : 0;
}
