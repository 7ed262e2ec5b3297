/* SPDX-License-Identifier: MIT */
#include "cache/store/lookup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* How far two values are apart in log space: the exponential of |s(a) - s(b)| with s(x) = sign(x)
 * log(1 + |x|). Made of one operation or two that IEEE 754 rounds correctly, so that C everywhere
 * gives the same bits. */
static double lookup_ratio(double a, double b)
{
    double x = 1 + (a < 0 ? -a : a);
    double y = 1 + (b < 0 ? -b : b);
    if ((a < 0) != (b < 0))
        return x * y;
    return x > y ? x / y : y / x;
}

/* Numbers are compared as such, integers by all their bits, as the header's int64_t does. */
static bool same_value(const struct hn_value *a, const struct hn_value *b)
{
    if (a->type == HN_WORD || b->type == HN_WORD)
        return hn_value_equal(a, b);
    if (a->type == HN_INTEGER && b->type == HN_INTEGER)
        return a->integer == b->integer;
    double x = hn_value_number(a);
    double y = hn_value_number(b);
    return x >= y && x <= y;
}

/* Adds up how far the problems are apart. False: they cannot be compared. */
static bool measure(const struct hn_bindings *asked, const struct hn_bindings *problem,
                    struct hn_lookup_rank *rank, bool *same)
{
    if (asked->count != problem->count)
        return false;
    for (size_t i = 0; i < asked->count; i++) {
        const struct hn_value *a = &asked->values[i];
        const struct hn_value *b = &problem->values[i];
        if (strcmp(asked->names[i], problem->names[i]) != 0)
            return false;
        bool equal = same_value(a, b);
        *same = *same && equal;
        if (a->type == HN_WORD || b->type == HN_WORD)
            rank->unlike += !equal;
        else
            rank->distance *= lookup_ratio(hn_value_number(b), hn_value_number(a));
    }
    return true;
}

bool hn_lookup_is_objective(const char *asked, const char *own)
{
    size_t length = asked == NULL ? 0 : strlen(asked);
    return asked == NULL ||
           (strncmp(asked, own, length) == 0 && (own[length] == '\0' || own[length] == ' '));
}

static bool is_asked(const struct hn_lookup_query *query, const struct hn_identity *identity)
{
    return (query->regime == NULL || strcmp(query->regime, identity->regime) == 0) &&
           hn_lookup_is_objective(query->objective, identity->objective);
}

static const struct hn_lookup_rank no_rank = {HN_GRADE_NONE, 0, 1, 1};

/* Of whatever regime and objective. */
static struct hn_lookup_rank rank_task(const struct hn_lookup_query *query,
                                       const struct hn_identity *identity)
{
    const struct hn_device_identity *device = &identity->device;
    struct hn_lookup_rank rank = no_rank;
    bool same_problem = true;
    if (!measure(query->problem, &identity->problem, &rank, &same_problem))
        return rank;
    if (query->capability != device->capability)
        rank.grade = HN_GRADE_ANY;
    else if ((query->sm_count != 0 && query->sm_count != device->sm_count) ||
             (query->device_name != NULL && strcmp(query->device_name, device->name) != 0))
        rank.grade = HN_GRADE_ARCHITECTURE;
    else
        rank.grade = same_problem ? HN_GRADE_EXACT : HN_GRADE_PROBLEM;
    if (query->sm_count > 0)
        rank.sm_ratio = lookup_ratio(device->sm_count, query->sm_count);
    return rank;
}

struct hn_lookup_rank hn_lookup_rank(const struct hn_lookup_query *query,
                                     const struct hn_identity *identity)
{
    return is_asked(query, identity) ? rank_task(query, identity) : no_rank;
}

static int compare_numbers(double a, double b)
{
    return (a > b) - (a < b);
}

int hn_lookup_rank_compare(const struct hn_lookup_rank *a, const struct hn_lookup_rank *b)
{
    int order = compare_numbers(b->grade, a->grade);
    if (order == 0)
        order = compare_numbers(a->unlike, b->unlike);
    if (order == 0)
        order = compare_numbers(a->distance, b->distance);
    return order != 0 ? order : compare_numbers(a->sm_ratio, b->sm_ratio);
}

static int compare_devices(const struct hn_device_identity *a, const struct hn_device_identity *b)
{
    int order = strcmp(a->name, b->name);
    if (order == 0)
        order = compare_numbers(a->sm_count, b->sm_count);
    if (order == 0)
        order = compare_numbers(a->capability, b->capability);
    return order != 0 ? order : strcmp(a->mig_profile, b->mig_profile);
}

static int compare_problems(const struct hn_bindings *a, const struct hn_bindings *b)
{
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        int order = strcmp(a->names[i], b->names[i]);
        if (order == 0)
            order = hn_value_compare(&a->values[i], &b->values[i]);
        if (order != 0)
            return order;
    }
    return (a->count > b->count) - (a->count < b->count);
}

static int compare_tasks(const struct hn_identity *a, const struct hn_identity *b)
{
    int devices = compare_devices(&a->device, &b->device);
    return devices != 0 ? devices : compare_problems(&a->problem, &b->problem);
}

bool hn_lookup_same_task(const struct hn_identity *a, const struct hn_identity *b)
{
    return compare_tasks(a, b) == 0;
}

int hn_lookup_order(const void *first, const void *second)
{
    const struct hn_tuned *a = first, *b = second;
    int order = compare_tasks(&a->identity, &b->identity);
    if (order == 0)
        order = compare_numbers(a->simulated, b->simulated);
    if (order == 0)
        order = strcmp(a->identity.regime, b->identity.regime);
    if (order == 0)
        order = compare_numbers(strcmp(a->identity.objective, "time") != 0,
                                strcmp(b->identity.objective, "time") != 0);
    if (order == 0)
        order = compare_numbers(b->begun, a->begun);
    return order != 0 ? order : compare_numbers(b->best.time, a->best.time);
}

/* What was found so far; tuned NULL: nothing. */
struct found {
    const struct hn_tuned *tuned;
    struct hn_lookup_rank rank;
};

static bool serves_better(const struct found *own, const struct found *than)
{
    int order = than->tuned == NULL ? -1 : hn_lookup_rank_compare(&own->rank, &than->rank);
    return order != 0 ? order < 0 : hn_lookup_order(own->tuned, than->tuned) < 0;
}

/* The first from a place on that is not farther away; distances NULL: none is. A loop that does
 * nothing else takes three quarters of the time. */
static size_t find_near(const float *distances, size_t from, size_t count, float most)
{
    if (distances != NULL)
        while (from < count && distances[from] > most)
            from++;
    return from;
}

/* Takes a usable result of a list in the order of hn_lookup_order where it serves better than what
 * was found; of each task the first that counts. distances: only those up to `most` are looked at;
 * NULL: all. */
static void take_best(const struct hn_tuned *tuned, size_t count,
                      const struct hn_lookup_query *query, const float *distances, float most,
                      struct found *found)
{
    const struct hn_tuned *last = NULL;
    for (size_t i = find_near(distances, 0, count, most); i < count;
         i = find_near(distances, i + 1, count, most)) {
        if (tuned[i].best.outcome != HN_OUTCOME_OK || !is_asked(query, &tuned[i].identity) ||
            (last != NULL && hn_lookup_same_task(&tuned[i].identity, &last->identity)))
            continue;
        last = &tuned[i];
        const struct found own = {last, rank_task(query, &last->identity)};
        if (own.rank.grade != HN_GRADE_NONE && serves_better(&own, found) &&
            (query->usable == NULL || query->usable(last, query->context)))
            *found = own;
    }
}

static const struct found nothing = {NULL, {HN_GRADE_NONE, 0, 1, 1}};

const struct hn_tuned *hn_lookup(struct hn_tuned_list *list, const struct hn_lookup_query *query,
                                 struct hn_lookup_rank *rank)
{
    struct found found = nothing;
    if (list->count > 1)
        qsort(list->items, list->count, sizeof *list->items, hn_lookup_order);
    take_best(list->items, list->count, query, NULL, 0, &found);
    *rank = found.rank;
    return found.tuned;
}

/* Results for one device whose problems differ in nothing but numbers. */
struct hn_lookup_class {
    size_t first, count;
    struct hn_lookup_rank
        rank; /* for the query at hand, of which all serve alike but for numbers */
};

/* 0 within a class. */
static int compare_classes(const struct hn_identity *a, const struct hn_identity *b)
{
    const struct hn_bindings *x = &a->problem, *y = &b->problem;
    int order = compare_devices(&a->device, &b->device);
    if (order == 0)
        order = (x->count > y->count) - (x->count < y->count);
    for (size_t i = 0; order == 0 && i < x->count; i++) {
        const struct hn_value *own = &x->values[i], *other = &y->values[i];
        bool is_word = own->type == HN_WORD, other_is = other->type == HN_WORD;
        order = strcmp(x->names[i], y->names[i]);
        /* Words are told apart, and from numbers; numbers are not. */
        if (order == 0)
            order = is_word && other_is ? strcmp(own->word, other->word)
                                        : compare_numbers(is_word, other_is);
    }
    return order;
}

static int compare_items(const void *a, const void *b)
{
    const struct hn_tuned *x = a, *y = b;
    int order = compare_classes(&x->identity, &y->identity);
    return order != 0 ? order : hn_lookup_order(x, y);
}

/* As lookup_ratio measures: ratios multiply, so that their logarithms add up. */
static float log_of(const struct hn_value *value)
{
    double number = value->type == HN_WORD ? 0 : hn_value_number(value);
    return (float)(number < 0 ? -log2(1 - number) : log2(1 + number));
}

enum hn_status hn_lookup_index_make(struct hn_lookup_index *index, struct hn_tuned_list *list,
                                    struct hn_error *err)
{
    size_t values = 0, count = list->count;
    for (size_t i = 0; i < count; i++)
        if (list->items[i].identity.problem.count > values)
            values = list->items[i].identity.problem.count;
    hn_error_init(err);
    *index =
        (struct hn_lookup_index){.items = list->items,
                                 .count = count,
                                 .classes = hn_allocate(count, sizeof *index->classes, err),
                                 .logs = hn_allocate(values * count, sizeof *index->logs, err),
                                 .distances = hn_allocate(count, sizeof *index->distances, err)};
    if (hn_failed(err)) {
        hn_lookup_index_finish(index);
        return err->status;
    }
    if (count > 0)
        qsort(list->items, count, sizeof *list->items, compare_items);
    for (size_t i = 0; i < count; i++) {
        const struct hn_identity *own = &list->items[i].identity;
        if (i == 0 || compare_classes(&list->items[i - 1].identity, own) != 0)
            index->classes[index->class_count++].first = i;
        index->classes[index->class_count - 1].count++;
        for (size_t d = 0; d < own->problem.count; d++)
            index->logs[d * count + i] = log_of(&own->problem.values[d]);
    }
    return HN_OK;
}

void hn_lookup_index_finish(struct hn_lookup_index *index)
{
    free(index->classes);
    free(index->logs);
    free(index->distances);
    *index = (struct hn_lookup_index){.items = NULL};
}

/* The results of a class for this very problem. */
static void take_exact(const struct hn_lookup_index *index, const struct hn_lookup_class *class,
                       const struct hn_lookup_query *query, struct found *found)
{
    const struct hn_tuned *items = index->items + class->first;
    size_t low = 0, high = class->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_problems(&items[middle].identity.problem, query->problem) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    while (high < class->count &&
           compare_problems(&items[high].identity.problem, query->problem) == 0)
        high++;
    take_best(items + low, high - low, query, NULL, 0, found);
}

static void measure_class(const struct hn_lookup_index *index, const struct hn_lookup_class *class,
                          const struct hn_bindings *problem)
{
    float *distances = index->distances + class->first;
    const struct hn_bindings *first = &index->items[class->first].identity.problem;
    memset(distances, 0, class->count * sizeof *distances);
    for (size_t d = 0; d < problem->count; d++) {
        const float *logs = index->logs + d * index->count + class->first;
        const float own = log_of(&problem->values[d]);
        if (problem->values[d].type == HN_WORD || first->values[d].type == HN_WORD)
            continue;
        for (size_t i = 0; i < class->count; i++)
            distances[i] += fabsf(logs[i] - own);
    }
}

/* In lanes, each with a least of its own, so that compilers make vectors of it. */
static float find_least(const float *numbers, size_t count)
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

/* The best of what lies within rounding of the least distance, else of the next one. */
static void take_nearest(const struct hn_lookup_index *index, const struct hn_lookup_class *class,
                         const struct hn_lookup_query *query, struct found *found)
{
    const float rounding = 1e-4f;
    float *distances = index->distances + class->first;
    struct found own = nothing;
    measure_class(index, class, query->problem);
    for (float least; own.tuned == NULL;) {
        least = find_least(distances, class->count);
        if (!(least < INFINITY))
            return;
        take_best(index->items + class->first, class->count, query, distances, least + rounding,
                  &own);
        for (size_t i = 0; own.tuned == NULL && i < class->count; i++)
            if (distances[i] <= least + rounding)
                distances[i] = INFINITY;
    }
    if (serves_better(&own, found))
        *found = own;
}

/* The best classes of those that are worse than `than`, which may be NULL: one of them. */
static const struct hn_lookup_class *find_top(const struct hn_lookup_index *index,
                                              const struct hn_lookup_class *than)
{
    const struct hn_lookup_class *top = NULL;
    HN_EACH_OF(class, index->classes, index->class_count) {
        if (class->rank.grade != HN_GRADE_NONE &&
            (than == NULL || hn_lookup_rank_compare(&class->rank, &than->rank) > 0) &&
            (top == NULL || hn_lookup_rank_compare(&class->rank, &top->rank) < 0))
            top = class;
    }
    return top;
}

const struct hn_tuned *hn_lookup_index_find(struct hn_lookup_index *index,
                                            const struct hn_lookup_query *query,
                                            struct hn_lookup_rank *rank)
{
    struct found found = nothing;
    HN_EACH_OF(class, index->classes, index->class_count) {
        const struct hn_lookup_rank own = rank_task(query, &index->items[class->first].identity);
        class->rank = no_rank;
        class->rank.grade = own.grade == HN_GRADE_EXACT ? HN_GRADE_PROBLEM : own.grade;
        class->rank.unlike = own.unlike;
    }
    for (const struct hn_lookup_class *top = find_top(index, NULL);
         top != NULL && found.tuned == NULL; top = find_top(index, top)) {
        for (size_t i = 0; i < index->class_count; i++)
            if (hn_lookup_rank_compare(&index->classes[i].rank, &top->rank) == 0)
                take_exact(index, &index->classes[i], query, &found);
        for (size_t i = 0; i < index->class_count && found.rank.grade != HN_GRADE_EXACT; i++)
            if (hn_lookup_rank_compare(&index->classes[i].rank, &top->rank) == 0)
                take_nearest(index, &index->classes[i], query, &found);
    }
    *rank = found.rank;
    return found.tuned;
}
