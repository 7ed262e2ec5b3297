/* SPDX-License-Identifier: MIT */
#include "tuner/explain/effects.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/explain/forest.h"
#include "tuner/explain/variance.h"

/* Beyond so many valid points they are drawn. */
static const uint64_t most_points = 20000;

/* Points that are looked up by their number in the space, or one by one where there are none. */
struct index {
    const struct hn_evidence *evidence;
    uint32_t *point_of; /* by number; count + failed: not looked at. NULL: points have no numbers */
};

static enum hn_status make_index(const struct hn_evidence *evidence, struct index *index,
                                 struct hn_error *err)
{
    const struct hn_space *space = evidence->space;
    size_t known = evidence->count + evidence->failed;
    *index = (struct index){.evidence = evidence};
    if (!hn_space_enumerated(space) || hn_space_size(space) > most_points)
        return HN_OK;
    size_t size = (size_t)hn_space_size(space);
    index->point_of = calloc(size + 1, sizeof *index->point_of);
    if (index->point_of == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < size; i++)
        index->point_of[i] = (uint32_t)known;
    for (size_t i = 0; i < known; i++)
        index->point_of[hn_space_find(space, hn_evidence_choice(evidence, i))] = (uint32_t)i;
    return HN_OK;
}

/* Every valid point has a time of its own or failed. */
static bool is_complete(const struct index *index)
{
    const struct hn_evidence *evidence = index->evidence;
    return index->point_of != NULL && evidence->bounded == 0 &&
           evidence->count + evidence->failed == hn_space_size(evidence->space);
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
                      const struct hn_evidence *evidence, size_t known,
                      const struct hn_forest *forest)
{
    const uint16_t *choice = sample->choices + sample->count * sample->parameters;
    if (known != SIZE_MAX && known >= evidence->count)
        return;
    if (known == SIZE_MAX) {
        sample->values[sample->count] = hn_forest_predict(forest, choice);
        remember_promising(effects, evidence, choice, sample->values[sample->count]);
    } else if (forest != NULL) {
        sample->values[sample->count] = hn_forest_value(forest, known);
    } else {
        sample->values[sample->count] = evidence->values[known];
    }
    sample->count++;
}

static void take_all(struct hn_effects *effects, struct hn_sample *sample,
                     const struct index *index, const struct hn_forest *forest)
{
    const struct hn_evidence *evidence = index->evidence;
    size_t size = (size_t)hn_space_size(evidence->space);
    for (size_t i = 0; i < size; i++) {
        size_t known = index->point_of[i];
        hn_space_point(evidence->space, i, sample->choices + sample->count * sample->parameters);
        if (known == evidence->count + evidence->failed)
            known = SIZE_MAX;
        add_point(effects, sample, evidence, known, forest);
    }
}

/* Of so many points hardly one is measured: the forest stands for all. */
static void take_some(struct hn_effects *effects, struct hn_sample *sample,
                      const struct hn_evidence *evidence, const struct hn_forest *forest,
                      uint64_t seed)
{
    struct hn_random random = hn_random_seeded(seed);
    for (uint64_t i = 0; i < most_points; i++) {
        hn_space_sample(evidence->space, &random,
                        sample->choices + sample->count * sample->parameters);
        add_point(effects, sample, evidence, SIZE_MAX, forest);
    }
}

static void sum_up(struct hn_sample *sample)
{
    for (size_t i = 0; i < sample->count; i++)
        sample->mean += sample->values[i] / (double)sample->count;
    for (size_t i = 0; i < sample->count; i++)
        sample->squares += (sample->values[i] - sample->mean) * (sample->values[i] - sample->mean);
}

static enum hn_status fill_sample(struct hn_effects *effects, const struct index *index,
                                  const struct hn_forest *forest, uint64_t seed,
                                  struct hn_sample *sample, struct hn_error *err)
{
    const struct hn_evidence *evidence = index->evidence;
    size_t room = index->point_of != NULL ? (size_t)hn_space_size(evidence->space) : most_points;
    *sample = (struct hn_sample){
        .space = evidence->space,
        .parameters = evidence->parameters,
        .choices = calloc((room + 1) * (evidence->parameters + 1), sizeof *sample->choices),
        .values = calloc(room + 1, sizeof *sample->values),
        .drawn = index->point_of == NULL,
    };
    effects->promising = calloc(evidence->parameters + 1, sizeof *effects->promising);
    if (sample->choices == NULL || sample->values == NULL || effects->promising == NULL)
        return hn_fail_memory(err);
    if (index->point_of != NULL)
        take_all(effects, sample, index, forest);
    else
        take_some(effects, sample, evidence, forest, seed);
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

static enum hn_status find(const struct index *index, uint64_t seed, struct hn_effects *effects,
                           struct hn_error *err)
{
    struct hn_forest *forest = NULL;
    struct hn_sample sample = {0};
    enum hn_status status = HN_OK;
    effects->exact = is_complete(index);
    if (!effects->exact)
        status = hn_forest_grow(index->evidence, seed, &forest, err);
    if (status == HN_OK)
        status = fill_sample(effects, index, forest, seed, &sample, err);
    effects->explained = forest != NULL ? hn_forest_explained(forest) : 1;
    effects->known = status == HN_OK && sample.squares > 0;
    if (effects->known)
        status = find_shares(effects, index->evidence, &sample, err);
    free(sample.choices);
    free(sample.values);
    hn_forest_destroy(forest);
    return status;
}

enum hn_status hn_effects_find(const struct hn_evidence *evidence, uint64_t seed,
                               struct hn_effects *effects, struct hn_error *err)
{
    struct index index;
    *effects = (struct hn_effects){0};
    if (evidence->count - evidence->bounded < HN_EFFECTS_LEAST || evidence->best == SIZE_MAX)
        return HN_OK;
    enum hn_status status = make_index(evidence, &index, err);
    if (status == HN_OK)
        status = find(&index, seed, effects, err);
    free(index.point_of);
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
