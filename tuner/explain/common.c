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

static int compare_chances(const void *a, const void *b)
{
    const struct hn_common_value *x = a;
    const struct hn_common_value *y = b;
    if (x->chance != y->chance)
        return x->chance < y->chance ? -1 : 1;
    return (x->parameter > y->parameter) - (x->parameter < y->parameter);
}

/* More than half of the points can share one value of a parameter at most. */
static enum hn_status find_value(const struct hn_evidence *evidence, const size_t *ranked,
                                 size_t parameter, struct hn_common *common, struct hn_error *err)
{
    size_t values = hn_space_value_count(evidence->space, parameter);
    size_t *among_best = calloc(values, sizeof *among_best);
    size_t *among_all = calloc(values, sizeof *among_all);
    bool made = among_best != NULL && among_all != NULL;
    for (size_t i = 0; made && i < common->best; i++)
        among_best[hn_evidence_choice(evidence, ranked[i])[parameter]]++;
    for (size_t i = 0; made && i < evidence->count; i++)
        among_all[hn_evidence_choice(evidence, i)[parameter]]++;
    for (size_t v = 0; made && v < values; v++) {
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
    return made ? HN_OK : hn_fail_memory(err);
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
    enum hn_status status = HN_OK;
    common->best = (size_t)ceil((double)evidence->count * best_part);
    common->best = common->best < least_best ? least_best : common->best;
    common->best = common->best > count ? count : common->best;
    if (evidence->count < least_points || common->best < least_best)
        common->best = 0;
    else
        common->ratio = hn_evidence_ratio(evidence, evidence->values[ranked[common->best - 1]],
                                          evidence->values[ranked[0]]);
    for (size_t p = 0; status == HN_OK && common->best > 0 && p < evidence->parameters; p++)
        status = find_value(evidence, ranked, p, common, err);
    qsort(common->values, common->count, sizeof *common->values, compare_chances);
    free(ranked);
    if (status != HN_OK)
        hn_common_finish(common);
    return status;
}

void hn_common_finish(struct hn_common *common)
{
    free(common->values);
    *common = (struct hn_common){0};
}
