/* SPDX-License-Identifier: MIT */
#include "tuner/explain/effects.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/explain/forest.h"

/* Beyond so many valid points they are drawn. */
static const uint64_t most_points = 20000;

static bool takes_all(const struct hn_space *space)
{
    return hn_space_enumerated(space) && hn_space_size(space) <= most_points;
}

/* Every valid point has a time of its own or failed. */
static bool is_complete(const struct hn_evidence *evidence, uint16_t *choice)
{
    const struct hn_space *space = evidence->space;
    if (!takes_all(space) || evidence->bounded > 0)
        return false;
    for (uint64_t i = 0; i < hn_space_size(space); i++) {
        hn_space_point(space, i, choice);
        if (hn_evidence_find(evidence, choice) == SIZE_MAX)
            return false;
    }
    return true;
}

static void remember_promising(struct hn_effects *effects, const struct hn_evidence *evidence,
                               const uint16_t *choice, double value)
{
    double ratio = hn_evidence_ratio(evidence, value, evidence->values[evidence->best]);
    effects->unmeasured++;
    if (effects->unmeasured > 1 && ratio >= effects->promise)
        return;
    effects->promise = ratio;
    memcpy(effects->promising, choice, evidence->parameters * sizeof *choice);
}

/* Adds the point at the sample's end with its value, or the forest's; not one that failed. */
static void add_point(struct hn_effects *effects, struct hn_sample *sample,
                      const struct hn_evidence *evidence, const struct hn_forest *forest)
{
    const uint16_t *choice = sample->choices + sample->count * sample->parameters;
    double *value = &sample->values[sample->count];
    size_t known = hn_evidence_find(evidence, choice);
    if (known != SIZE_MAX && known >= evidence->count)
        return;
    if (known == SIZE_MAX) {
        *value = hn_forest_predict(forest, choice);
        remember_promising(effects, evidence, choice, *value);
    } else {
        *value = forest != NULL ? hn_forest_value(forest, known) : evidence->values[known];
    }
    sample->count++;
}

static void sum_up(struct hn_sample *sample)
{
    for (size_t i = 0; i < sample->count; i++)
        sample->mean += sample->values[i] / (double)sample->count;
    for (size_t i = 0; i < sample->count; i++)
        sample->squares += (sample->values[i] - sample->mean) * (sample->values[i] - sample->mean);
}

static enum hn_status fill_sample(struct hn_effects *effects, const struct hn_evidence *evidence,
                                  const struct hn_forest *forest, uint64_t seed,
                                  struct hn_sample *sample, struct hn_error *err)
{
    const struct hn_space *space = evidence->space;
    struct hn_random random = hn_random_seeded(seed);
    bool all = takes_all(space);
    size_t room = all ? (size_t)hn_space_size(space) : most_points;
    *sample = (struct hn_sample){
        .space = space,
        .parameters = evidence->parameters,
        .choices = calloc((room + 1) * (evidence->parameters + 1), sizeof *sample->choices),
        .values = calloc(room + 1, sizeof *sample->values),
        .drawn = !all,
    };
    if (sample->choices == NULL || sample->values == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < room; i++) {
        uint16_t *choice = sample->choices + sample->count * sample->parameters;
        if (all)
            hn_space_point(space, i, choice);
        else
            hn_space_sample(space, &random, choice);
        add_point(effects, sample, evidence, forest);
    }
    sum_up(sample);
    effects->points = sample->count;
    effects->sampled = sample->drawn;
    return HN_OK;
}

/* Measured points that differ from the best in one parameter say what that one does there. */
static void look_around(const struct hn_evidence *evidence, struct hn_effect *mains)
{
    const uint16_t *best = hn_evidence_choice(evidence, evidence->best);
    for (size_t i = 0; i < evidence->count; i++) {
        const uint16_t *choice = hn_evidence_choice(evidence, i);
        size_t differing = 0;
        size_t last = 0;
        for (size_t p = 0; p < evidence->parameters && differing < 2; p++) {
            if (choice[p] == best[p])
                continue;
            differing++;
            last = p;
        }
        if (differing != 1)
            continue;
        double ratio =
            hn_evidence_ratio(evidence, evidence->values[i], evidence->values[evidence->best]);
        struct hn_effect *effect = &mains[last];
        effect->worst_alone = effect->alone == 0 ? ratio : fmax(effect->worst_alone, ratio);
        effect->alone++;
    }
}

static int compare_mains(const void *a, const void *b)
{
    const struct hn_effect *x = a;
    const struct hn_effect *y = b;
    if (x->share != y->share)
        return x->share > y->share ? -1 : 1;
    return (x->parameter > y->parameter) - (x->parameter < y->parameter);
}

static int compare_pairs(const void *a, const void *b)
{
    const struct hn_interaction *x = a;
    const struct hn_interaction *y = b;
    if (x->share != y->share)
        return x->share > y->share ? -1 : 1;
    return (x->parameters[0] > y->parameters[0]) - (x->parameters[0] < y->parameters[0]);
}

static enum hn_status find_shares(struct hn_effects *effects, const struct hn_evidence *evidence,
                                  const struct hn_sample *sample, struct hn_error *err)
{
    size_t count = evidence->parameters;
    enum hn_status status = HN_OK;
    effects->mains = calloc(count + 1, sizeof *effects->mains);
    effects->pairs = calloc(count * count / 2 + 1, sizeof *effects->pairs);
    if (effects->mains == NULL || effects->pairs == NULL)
        return hn_fail_memory(err);
    effects->parameter_count = count;
    for (size_t p = 0; status == HN_OK && p < count; p++) {
        effects->mains[p].parameter = p;
        status = hn_sample_main(sample, &effects->mains[p], err);
    }
    look_around(evidence, effects->mains);
    for (size_t p = 0; p < count; p++) {
        for (size_t q = p + 1; status == HN_OK && q < count; q++) {
            struct hn_interaction *pair = &effects->pairs[effects->pair_count++];
            *pair = (struct hn_interaction){.parameters = {p, q}};
            status = hn_sample_pair(sample, pair, err);
        }
    }
    qsort(effects->mains, count, sizeof *effects->mains, compare_mains);
    qsort(effects->pairs, effects->pair_count, sizeof *effects->pairs, compare_pairs);
    return status;
}

static enum hn_status find(const struct hn_evidence *evidence, uint64_t seed,
                           struct hn_effects *effects, struct hn_error *err)
{
    struct hn_forest *forest = NULL;
    struct hn_sample sample = {0};
    enum hn_status status = HN_OK;
    effects->promising = calloc(evidence->parameters + 1, sizeof *effects->promising);
    if (effects->promising == NULL)
        return hn_fail_memory(err);
    effects->exact = is_complete(evidence, effects->promising);
    if (!effects->exact)
        status = hn_forest_grow(evidence, seed, &forest, err);
    if (status == HN_OK)
        status = fill_sample(effects, evidence, forest, seed, &sample, err);
    effects->explained = forest != NULL ? hn_forest_explained(forest) : 1;
    effects->known = status == HN_OK && sample.squares > 0;
    if (effects->known)
        status = find_shares(effects, evidence, &sample, err);
    free(sample.choices);
    free(sample.values);
    hn_forest_destroy(forest);
    return status;
}

enum hn_status hn_effects_find(const struct hn_evidence *evidence, uint64_t seed,
                               struct hn_effects *effects, struct hn_error *err)
{
    *effects = (struct hn_effects){0};
    if (evidence->count - evidence->bounded < HN_EFFECTS_LEAST || evidence->best == SIZE_MAX)
        return HN_OK;
    enum hn_status status = find(evidence, seed, effects, err);
    if (status != HN_OK)
        hn_effects_finish(effects);
    return status;
}

void hn_effects_finish(struct hn_effects *effects)
{
    for (size_t p = 0; p < effects->parameter_count; p++) {
        free(effects->mains[p].means);
        free(effects->mains[p].counts);
    }
    free(effects->mains);
    free(effects->pairs);
    free(effects->promising);
    *effects = (struct hn_effects){0};
}

const struct hn_effect *hn_effects_of(const struct hn_effects *effects, size_t parameter)
{
    for (size_t p = 0; p < effects->parameter_count; p++)
        if (effects->mains[p].parameter == parameter)
            return &effects->mains[p];
    return NULL;
}

double hn_effects_most(const struct hn_effects *effects, size_t parameter)
{
    double most = 0;
    for (size_t p = 0; p < effects->parameter_count; p++)
        if (effects->mains[p].parameter == parameter)
            most = fmax(most, effects->mains[p].share);
    for (size_t i = 0; i < effects->pair_count; i++)
        if (effects->pairs[i].parameters[0] == parameter ||
            effects->pairs[i].parameters[1] == parameter)
            most = fmax(most, effects->pairs[i].share);
    return most;
}
