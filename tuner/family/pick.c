/* SPDX-License-Identifier: MIT */
#include "tuner/family/pick.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { EXCHANGES = 4 };
/* What a sample costs where nothing that is picked can be used: more than anything else. */
static const double unusable = 50;

static double at(const struct hn_costs_table *table, size_t choice, size_t sample)
{
    return fmin(table->costs[choice * table->samples + sample], unusable);
}

/* The cost of all samples, each of which costs `least` or what one more choice takes. */
static double with(const struct hn_costs_table *table, const double *least, size_t choice)
{
    double cost = 0;
    for (size_t s = 0; s < table->samples; s++)
        cost += table->weights[s] * fmin(least[s], at(table, choice, s));
    return cost;
}

/* What samples cost with the picked ones but for one (SIZE_MAX: with all). */
static void find_least(const struct hn_costs_table *table, const size_t *picked, size_t count,
                       size_t without, double *least)
{
    for (size_t s = 0; s < table->samples; s++)
        least[s] = unusable;
    for (size_t i = 0; i < count; i++)
        for (size_t s = 0; i != without && s < table->samples; s++)
            least[s] = fmin(least[s], at(table, picked[i], s));
}

static size_t best_addition(const struct hn_costs_table *table, const double *least, double *cost)
{
    size_t best = 0;
    *cost = INFINITY;
    for (size_t c = 0; c < table->choices; c++) {
        double own = with(table, least, c);
        if (own < *cost) {
            *cost = own;
            best = c;
        }
    }
    return best;
}

/* Adds one by one. */
static double add_choices(const struct hn_costs_table *table, size_t most, double gain,
                          size_t *picked, size_t *count, double *least)
{
    find_least(table, picked, *count, SIZE_MAX, least);
    double cost = with(table, least, picked[0]);
    while (*count < most) {
        double own;
        size_t added = best_addition(table, least, &own);
        if (!(cost - own > gain))
            break;
        cost = own;
        picked[(*count)++] = added;
        find_least(table, picked, *count, SIZE_MAX, least);
    }
    return cost;
}

static void exchange_choices(const struct hn_costs_table *table, double gain, double cost,
                             size_t *picked, size_t count, double *least)
{
    bool changed = true;
    for (int round = 0; round < EXCHANGES && changed; round++) {
        changed = false;
        for (size_t i = 1; i < count; i++) {
            double own;
            find_least(table, picked, count, i, least);
            size_t other = best_addition(table, least, &own);
            if (other == picked[i] || !(cost - own > gain))
                continue;
            picked[i] = other;
            cost = own;
            changed = true;
        }
    }
}

enum hn_status hn_pick(const struct hn_costs_table *table, size_t most, double gain, size_t *picked,
                       size_t *count, struct hn_error *err)
{
    double *least = malloc((table->samples + 1) * sizeof *least);
    if (least == NULL)
        return hn_fail_memory(err);
    double weight = 0;
    for (size_t s = 0; s < table->samples; s++)
        weight += table->weights[s];
    picked[0] = 0;
    *count = 1;
    double cost = add_choices(table, most, gain * weight, picked, count, least);
    exchange_choices(table, 1e-9 * weight, cost, picked, *count, least);
    free(least);
    return HN_OK;
}
