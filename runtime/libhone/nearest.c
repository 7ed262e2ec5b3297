/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/libhone/nearest.h"

/* Results that differ in nothing but the numbers of their problems: positions from `first` on. */
struct class
{
    size_t first;
    size_t count;
};

struct hn_lib_nearest {
    const struct hn_tuned *items;
    size_t count;
    size_t *positions; /* the item at each position, classes one after the other */
    struct class *classes;
    size_t class_count;
    size_t dimensions; /* most problem values of an item */
    float *logs;       /* of problem value d at position p: logs[d * count + p]; 0 for words */
    float *distances;  /* room for a search */
};

/* As hn_lookup_ratio measures: ratios multiply, so that their logarithms add up. */
static float log_of(const struct hn_value *value)
{
    double number = value->type == HN_WORD ? 0 : hn_value_number(value);
    return (float)(number < 0 ? -log2(1 - number) : log2(1 + number));
}

static int compare_values(const struct hn_value *a, const struct hn_value *b)
{
    bool a_word = a->type == HN_WORD;
    bool b_word = b->type == HN_WORD;
    if (a_word != b_word)
        return a_word ? 1 : -1;
    return a_word ? strcmp(a->word, b->word) : 0;
}

static int compare_problems(const struct hn_bindings *a, const struct hn_bindings *b)
{
    int order = (a->count > b->count) - (a->count < b->count);
    for (size_t i = 0; order == 0 && i < a->count; i++) {
        order = strcmp(a->names[i], b->names[i]);
        if (order == 0)
            order = compare_values(&a->values[i], &b->values[i]);
    }
    return order;
}

/* 0 within a class. */
static int compare_classes(const struct hn_identity *a, const struct hn_identity *b)
{
    const struct hn_device_identity *x = &a->device;
    const struct hn_device_identity *y = &b->device;
    int order = strcmp(x->name, y->name);
    if (order == 0)
        order = (x->capability > y->capability) - (x->capability < y->capability);
    if (order == 0)
        order = (x->sm_count > y->sm_count) - (x->sm_count < y->sm_count);
    if (order == 0)
        order = strcmp(a->regime, b->regime);
    if (order == 0)
        order = strcmp(a->objective, b->objective);
    return order != 0 ? order : compare_problems(&a->problem, &b->problem);
}

static int compare_positions(const void *a, const void *b, void *items)
{
    const struct hn_tuned *all = items;
    size_t x = *(const size_t *)a;
    size_t y = *(const size_t *)b;
    int order = compare_classes(&all[x].identity, &all[y].identity);
    return order != 0 ? order : (x > y) - (x < y);
}

static void find_classes(struct hn_lib_nearest *nearest)
{
    for (size_t p = 0; p < nearest->count; p++) {
        const struct hn_identity *own = &nearest->items[nearest->positions[p]].identity;
        struct class *last =
            nearest->class_count == 0 ? NULL : &nearest->classes[nearest->class_count - 1];
        if (last == NULL ||
            compare_classes(&nearest->items[nearest->positions[last->first]].identity, own) != 0) {
            last = &nearest->classes[nearest->class_count++];
            last->first = p;
        }
        last->count++;
        for (size_t d = 0; d < own->problem.count; d++)
            nearest->logs[d * nearest->count + p] = log_of(&own->problem.values[d]);
    }
}

struct hn_lib_nearest *hn_lib_nearest_make(const struct hn_tuned_list *list)
{
    struct hn_lib_nearest *nearest = calloc(1, sizeof *nearest);
    if (nearest == NULL)
        return NULL;
    nearest->items = list->items;
    nearest->count = list->count;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].identity.problem.count > nearest->dimensions)
            nearest->dimensions = list->items[i].identity.problem.count;
    nearest->positions = calloc(list->count + 1, sizeof *nearest->positions);
    nearest->classes = calloc(list->count + 1, sizeof *nearest->classes);
    nearest->logs = calloc(nearest->dimensions * list->count + 1, sizeof *nearest->logs);
    nearest->distances = calloc(list->count + 1, sizeof *nearest->distances);
    if (nearest->positions == NULL || nearest->classes == NULL || nearest->logs == NULL ||
        nearest->distances == NULL) {
        hn_lib_nearest_destroy(nearest);
        return NULL;
    }
    for (size_t i = 0; i < list->count; i++)
        nearest->positions[i] = i;
    qsort_r(nearest->positions, list->count, sizeof *nearest->positions, compare_positions,
            list->items);
    find_classes(nearest);
    return nearest;
}

void hn_lib_nearest_destroy(struct hn_lib_nearest *nearest)
{
    if (nearest == NULL)
        return;
    free(nearest->distances);
    free(nearest->logs);
    free(nearest->classes);
    free(nearest->positions);
    free(nearest);
}

/* How a class serves, but for the numbers: those of its first item. */
static struct hn_lookup_rank rank_of(const struct hn_lib_nearest *nearest, size_t class,
                                     const struct hn_lookup_query *query)
{
    size_t first = nearest->positions[nearest->classes[class].first];
    struct hn_lookup_rank rank = hn_lookup_rank(query, &nearest->items[first].identity);
    if (rank.grade == HN_GRADE_EXACT)
        rank.grade = HN_GRADE_PROBLEM;
    rank.distance = 1;
    rank.sm_ratio = 1;
    return rank;
}

/* In lanes, each with a least of its own, so that compilers make vectors of it. */
static float smallest(const float *numbers, size_t count)
{
    enum { LANES = 8 };
    float least[LANES];
    size_t i = 0;
    for (size_t lane = 0; lane < LANES; lane++)
        least[lane] = INFINITY;
    for (; i + LANES <= count; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            least[lane] = numbers[i + lane] < least[lane] ? numbers[i + lane] : least[lane];
    for (; i < count; i++)
        least[0] = numbers[i] < least[0] ? numbers[i] : least[0];
    for (size_t lane = 1; lane < LANES; lane++)
        least[0] = least[lane] < least[0] ? least[lane] : least[0];
    return least[0];
}

/* The distances of a class, and the least of them. */
static float measure(struct hn_lib_nearest *nearest, const struct class *class,
                     const struct hn_bindings *problem)
{
    float *distances = nearest->distances + class->first;
    memset(distances, 0, class->count * sizeof *distances);
    for (size_t d = 0; d < problem->count; d++) {
        const float *logs = nearest->logs + d * nearest->count + class->first;
        const float own = log_of(&problem->values[d]);
        if (problem->values[d].type == HN_WORD)
            continue;
        for (size_t i = 0; i < class->count; i++)
            distances[i] += fabsf(logs[i] - own);
    }
    return smallest(distances, class->count);
}

/* The best of what lies within rounding of the least distance, by the rule itself. */
static const struct hn_tuned *judge(const struct hn_lib_nearest *nearest, size_t class, float least,
                                    const struct hn_lookup_query *query,
                                    const struct hn_tuned *best, struct hn_lookup_rank *rank)
{
    const float rounding = 1e-4f;
    const struct class *own = &nearest->classes[class];
    for (size_t p = own->first; p < own->first + own->count; p++) {
        if (nearest->distances[p] > least + rounding)
            continue;
        struct hn_lookup_rank found;
        const struct hn_tuned *item =
            hn_lookup(&nearest->items[nearest->positions[p]], 1, query, &found);
        if (item == NULL)
            continue;
        int order = best == NULL ? -1 : hn_lookup_rank_compare(&found, rank);
        if (order < 0 || (order == 0 && hn_lookup_order(item, best) < 0)) {
            best = item;
            *rank = found;
        }
    }
    return best;
}

const struct hn_tuned *hn_lib_nearest_find(struct hn_lib_nearest *nearest,
                                           const struct hn_lookup_query *query,
                                           struct hn_lookup_rank *rank)
{
    struct hn_lookup_rank top = {.grade = HN_GRADE_NONE};
    const struct hn_tuned *best = NULL;
    float least = INFINITY;
    if (query->frozen_count > 0)
        return NULL;
    for (size_t c = 0; c < nearest->class_count; c++) {
        struct hn_lookup_rank own = rank_of(nearest, c, query);
        if (own.grade != HN_GRADE_NONE &&
            (top.grade == HN_GRADE_NONE || hn_lookup_rank_compare(&own, &top) < 0))
            top = own;
    }
    for (int pass = 0; pass < 2 && top.grade != HN_GRADE_NONE; pass++)
        for (size_t c = 0; c < nearest->class_count; c++) {
            struct hn_lookup_rank own = rank_of(nearest, c, query);
            if (own.grade == HN_GRADE_NONE || hn_lookup_rank_compare(&own, &top) != 0)
                continue;
            if (pass == 0)
                least = fminf(least, measure(nearest, &nearest->classes[c], query->problem));
            else
                best = judge(nearest, c, least, query, best, rank);
        }
    return best;
}
