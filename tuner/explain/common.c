/* SPDX-License-Identifier: MIT */
#include "tuner/explain/common.h"

#include <math.h>
#include <stdlib.h>

static const size_t least_points = 20;
static const size_t least_best = 5;
static const double best_part = 0.05;
static const double surely = 0.01;

static double log_choose(size_t n, size_t k)
{
    return lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1);
}

double hn_common_chance(size_t hits, size_t drawn, size_t marked, size_t all)
{
    double sum = 0;
    size_t most = drawn < marked ? drawn : marked;
    for (size_t k = hits; k <= most; k++) {
        if (drawn - k > all - marked)
            continue;
        sum += exp(log_choose(marked, k) + log_choose(all - marked, drawn - k) -
                   log_choose(all, drawn));
    }
    return fmin(sum, 1);
}

static int compare_values(const void *a, const void *b, void *context)
{
    const struct hn_evidence *evidence = context;
    size_t i = *(const size_t *)a;
    size_t j = *(const size_t *)b;
    if (evidence->values[i] != evidence->values[j])
        return evidence->values[i] < evidence->values[j] ? -1 : 1;
    return (i > j) - (i < j);
}

/* The points measured in full, best first: what was stopped early is not among the best. */
static size_t *rank(const struct hn_evidence *evidence, size_t *count)
{
    size_t *ranked = calloc(evidence->count + 1, sizeof *ranked);
    *count = 0;
    if (ranked == NULL)
        return NULL;
    for (size_t i = 0; i < evidence->count; i++)
        if (!evidence->lower_bounds[i])
            ranked[(*count)++] = i;
    qsort_r(ranked, *count, sizeof *ranked, compare_values, (void *)evidence);
    return ranked;
}

static size_t count_value(const struct hn_evidence *evidence, const size_t *points, size_t count,
                          size_t parameter, uint16_t value)
{
    size_t hits = 0;
    for (size_t i = 0; i < count; i++) {
        size_t point = points != NULL ? points[i] : i;
        hits += hn_evidence_choice(evidence, point)[parameter] == value;
    }
    return hits;
}

static int compare_chances(const void *a, const void *b)
{
    const struct hn_common_value *x = a;
    const struct hn_common_value *y = b;
    if (x->chance != y->chance)
        return x->chance < y->chance ? -1 : 1;
    return (x->parameter > y->parameter) - (x->parameter < y->parameter);
}

/* More than half of the points can share one value of a parameter at most. */
static void find_value(const struct hn_evidence *evidence, const size_t *ranked, size_t parameter,
                       struct hn_common *common)
{
    size_t values = hn_space_value_count(evidence->space, parameter);
    for (size_t v = 0; v < values; v++) {
        struct hn_common_value found = {.parameter = parameter, .value = (uint16_t)v};
        found.among_best = count_value(evidence, ranked, common->best, parameter, found.value);
        if (found.among_best * 2 <= common->best)
            continue;
        found.among_all = count_value(evidence, NULL, evidence->count, parameter, found.value);
        found.chance =
            hn_common_chance(found.among_best, common->best, found.among_all, common->all);
        if (found.chance * (double)evidence->parameters < surely)
            common->values[common->count++] = found;
    }
}

enum hn_status hn_common_find(const struct hn_evidence *evidence, struct hn_common *common,
                              struct hn_error *err)
{
    size_t count;
    size_t *ranked = rank(evidence, &count);
    *common = (struct hn_common){
        .values = calloc(evidence->parameters + 1, sizeof *common->values),
        .all = evidence->count,
    };
    if (ranked == NULL || common->values == NULL) {
        free(ranked);
        hn_common_finish(common);
        return hn_fail_memory(err);
    }
    common->best = (size_t)ceil((double)evidence->count * best_part);
    common->best = common->best < least_best ? least_best : common->best;
    common->best = common->best > count ? count : common->best;
    if (evidence->count < least_points || common->best < least_best) {
        common->best = 0;
    } else {
        common->ratio = hn_evidence_ratio(evidence, evidence->values[ranked[common->best - 1]],
                                          evidence->values[ranked[0]]);
        for (size_t p = 0; p < evidence->parameters; p++)
            find_value(evidence, ranked, p, common);
        qsort(common->values, common->count, sizeof *common->values, compare_chances);
    }
    free(ranked);
    return HN_OK;
}

void hn_common_finish(struct hn_common *common)
{
    free(common->values);
    *common = (struct hn_common){0};
}
