/* SPDX-License-Identifier: MIT */
#include "tuner/explain/common.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

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
    size_t *ranked = hn_need(evidence->count, sizeof *ranked);
    *count = 0;
    for (size_t i = 0; i < evidence->count; i++)
        if (!evidence->lower_bounds[i])
            ranked[(*count)++] = i;
    qsort_r(ranked, *count, sizeof *ranked, compare_values, (void *)evidence);
    return ranked;
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
    size_t *among_best = hn_need(values, sizeof *among_best);
    size_t *among_all = hn_need(values, sizeof *among_all);
    for (size_t i = 0; i < common->best; i++)
        among_best[hn_evidence_choice(evidence, ranked[i])[parameter]]++;
    for (size_t i = 0; i < evidence->count; i++)
        among_all[hn_evidence_choice(evidence, i)[parameter]]++;
    for (size_t v = 0; v < values; v++) {
        struct hn_common_value found = {parameter, (uint16_t)v, among_best[v], among_all[v], 1};
        if (found.among_best * 2 <= common->best)
            continue;
        found.chance =
            hn_common_chance(found.among_best, common->best, found.among_all, common->all);
        if (found.chance * (double)evidence->parameters < surely)
            common->values[common->count++] = found;
    }
    free(among_best);
    free(among_all);
}

void hn_common_find(const struct hn_evidence *evidence, struct hn_common *common)
{
    size_t count;
    size_t *ranked = rank(evidence, &count);
    *common = (struct hn_common){
        .values = hn_need(evidence->parameters, sizeof *common->values),
        .all = evidence->count,
        .best = (size_t)ceil((double)evidence->count * best_part),
    };
    common->best = common->best < least_best ? least_best : common->best;
    common->best = common->best > count ? count : common->best;
    if (evidence->count < least_points || common->best < least_best)
        common->best = 0;
    else
        common->ratio = hn_evidence_ratio(evidence, evidence->values[ranked[common->best - 1]],
                                          evidence->values[ranked[0]]);
    for (size_t p = 0; common->best > 0 && p < evidence->parameters; p++)
        find_value(evidence, ranked, p, common);
    qsort(common->values, common->count, sizeof *common->values, compare_chances);
    free(ranked);
}

void hn_common_finish(struct hn_common *common)
{
    free(common->values);
    *common = (struct hn_common){0};
}

static void count_points(const struct hn_evidence *evidence, unsigned refused, int warning,
                         struct hn_warned *warned)
{
    for (size_t i = 0; i < evidence->records->count; i++) {
        const struct hn_record *record = &evidence->records->items[i];
        if ((record->resources.warnings >> warning & 1) == 0)
            continue;
        warned->of[warning].points++;
        warned->of[warning].refused +=
            (refused >> warning & 1) != 0 && record->outcome == HN_OUTCOME_SKIPPED;
    }
}

void hn_warned_find(const struct hn_evidence *evidence, unsigned refused, struct hn_warned *warned)
{
    *warned = (struct hn_warned){0};
    for (int warning = 0; warning < HN_WARNING_COUNT; warning++) {
        double best = INFINITY;
        count_points(evidence, refused, warning, warned);
        for (size_t i = 0; i < evidence->count; i++)
            if ((hn_evidence_record(evidence, i)->resources.warnings >> warning & 1) != 0 &&
                !evidence->lower_bounds[i])
                best = fmin(best, evidence->values[i]);
        if (isfinite(best) && evidence->best != SIZE_MAX)
            warned->of[warning].ratio =
                hn_evidence_ratio(evidence, best, evidence->values[evidence->best]);
    }
}
