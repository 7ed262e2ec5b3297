/* SPDX-License-Identifier: MIT */
#include "cache/store/lookup.h"

#include <string.h>

double hn_lookup_ratio(double a, double b)
{
    double x = 1 + (a < 0 ? -a : a);
    double y = 1 + (b < 0 ? -b : b);
    if ((a < 0) != (b < 0))
        return x * y;
    return x > y ? x / y : y / x;
}

/* Integers by all their bits, as the header's int64_t does. */
static bool same_number(const struct hn_value *a, const struct hn_value *b)
{
    if (a->type == HN_INTEGER && b->type == HN_INTEGER)
        return a->integer == b->integer;
    double x = hn_value_number(a);
    double y = hn_value_number(b);
    return x >= y && x <= y;
}

static bool same_value(const struct hn_value *a, const struct hn_value *b)
{
    if (a->type == HN_WORD || b->type == HN_WORD)
        return hn_value_equal(a, b);
    return same_number(a, b);
}

static bool same_device(const struct hn_lookup_query *query,
                        const struct hn_device_identity *device)
{
    return query->capability == device->capability &&
           (query->sm_count == 0 || query->sm_count == device->sm_count) &&
           (query->device_name == NULL || strcmp(query->device_name, device->name) == 0);
}

static enum hn_grade grade_of(const struct hn_lookup_query *query,
                              const struct hn_device_identity *device, bool same_problem)
{
    if (same_device(query, device))
        return same_problem ? HN_GRADE_EXACT : HN_GRADE_PROBLEM;
    return query->capability == device->capability ? HN_GRADE_ARCHITECTURE : HN_GRADE_ANY;
}

static bool is_frozen(const struct hn_lookup_query *query, const char *name)
{
    for (size_t i = 0; i < query->frozen_count; i++)
        if (strcmp(query->frozen[i], name) == 0)
            return true;
    return false;
}

/* Adds up how far the problems are apart. False: they can not be compared, or a frozen value
 * differs. */
static bool measure(const struct hn_lookup_query *query, const struct hn_bindings *problem,
                    struct hn_lookup_rank *rank, bool *same)
{
    const struct hn_bindings *asked = query->problem;
    if (asked->count != problem->count)
        return false;
    for (size_t i = 0; i < asked->count; i++) {
        const struct hn_value *a = &asked->values[i];
        const struct hn_value *b = &problem->values[i];
        if (strcmp(asked->names[i], problem->names[i]) != 0)
            return false;
        bool equal = same_value(a, b);
        *same = *same && equal;
        if (!equal && is_frozen(query, asked->names[i]))
            return false;
        if (a->type == HN_WORD || b->type == HN_WORD)
            rank->unlike += !equal;
        else
            rank->distance *= hn_lookup_ratio(hn_value_number(b), hn_value_number(a));
    }
    return true;
}

static bool is_other(const char *asked, const char *own)
{
    return asked != NULL && strcmp(asked, own) != 0;
}

bool hn_lookup_is_objective(const char *asked, const char *own)
{
    size_t length = asked == NULL ? 0 : strlen(asked);
    return asked == NULL ||
           (strncmp(asked, own, length) == 0 && (own[length] == '\0' || own[length] == ' '));
}

struct hn_lookup_rank hn_lookup_rank(const struct hn_lookup_query *query,
                                     const struct hn_identity *identity)
{
    struct hn_lookup_rank rank = {HN_GRADE_NONE, 0, 1, 1};
    bool same_problem = true;
    if (is_other(query->regime, identity->regime) ||
        !hn_lookup_is_objective(query->objective, identity->objective) ||
        !measure(query, &identity->problem, &rank, &same_problem))
        return rank;
    rank.grade = grade_of(query, &identity->device, same_problem);
    if (query->sm_count > 0)
        rank.sm_ratio = hn_lookup_ratio(identity->device.sm_count, query->sm_count);
    return rank;
}

static int compare_numbers(double a, double b)
{
    return (a > b) - (a < b);
}

int hn_lookup_rank_compare(const struct hn_lookup_rank *a, const struct hn_lookup_rank *b)
{
    if (a->grade != b->grade)
        return a->grade > b->grade ? -1 : 1;
    if (a->unlike != b->unlike)
        return a->unlike < b->unlike ? -1 : 1;
    int distances = compare_numbers(a->distance, b->distance);
    return distances != 0 ? distances : compare_numbers(a->sm_ratio, b->sm_ratio);
}

static int compare_devices(const struct hn_device_identity *a, const struct hn_device_identity *b)
{
    int names = strcmp(a->name, b->name);
    if (names != 0)
        return names;
    if (a->sm_count != b->sm_count)
        return a->sm_count < b->sm_count ? -1 : 1;
    if (a->capability != b->capability)
        return a->capability < b->capability ? -1 : 1;
    return strcmp(a->mig_profile, b->mig_profile);
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

int hn_lookup_order(const struct hn_tuned *a, const struct hn_tuned *b)
{
    int tasks = compare_tasks(&a->identity, &b->identity);
    if (tasks != 0)
        return tasks;
    if (a->simulated != b->simulated)
        return a->simulated ? 1 : -1;
    int regimes = strcmp(a->identity.regime, b->identity.regime);
    if (regimes != 0)
        return regimes;
    bool a_time = strcmp(a->identity.objective, "time") == 0;
    bool b_time = strcmp(b->identity.objective, "time") == 0;
    if (a_time != b_time)
        return a_time ? -1 : 1;
    return compare_numbers(b->best.time, a->best.time);
}

static bool counts(const struct hn_lookup_query *query, const struct hn_tuned *tuned)
{
    return tuned->best.outcome == HN_OUTCOME_OK &&
           !is_other(query->regime, tuned->identity.regime) &&
           hn_lookup_is_objective(query->objective, tuned->identity.objective);
}

bool hn_lookup_is_shadowed(const struct hn_tuned *tuned, size_t count,
                           const struct hn_lookup_query *query, const struct hn_tuned *candidate)
{
    for (size_t i = 0; i < count; i++)
        if (counts(query, &tuned[i]) &&
            hn_lookup_same_task(&tuned[i].identity, &candidate->identity) &&
            hn_lookup_order(&tuned[i], candidate) < 0)
            return true;
    return false;
}

/* A result with its rank; tuned NULL: none. */
struct candidate {
    const struct hn_tuned *tuned;
    struct hn_lookup_rank rank;
};

/* A total order: the place in the list decides last. */
static int compare_candidates(const struct candidate *a, const struct candidate *b)
{
    int order = hn_lookup_rank_compare(&a->rank, &b->rank);
    if (order == 0)
        order = hn_lookup_order(a->tuned, b->tuned);
    return order != 0 ? order : (a->tuned > b->tuned) - (a->tuned < b->tuned);
}

/* The best one that is worse than `behind`. */
static struct candidate find_next(const struct hn_tuned *tuned, size_t count,
                                  const struct hn_lookup_query *query,
                                  const struct candidate *behind)
{
    struct candidate best = {NULL, {HN_GRADE_NONE, 0, 1, 1}};
    for (size_t i = 0; i < count; i++) {
        const struct candidate own = {&tuned[i], hn_lookup_rank(query, &tuned[i].identity)};
        if (tuned[i].best.outcome != HN_OUTCOME_OK || own.rank.grade == HN_GRADE_NONE)
            continue;
        if (behind->tuned != NULL && compare_candidates(&own, behind) <= 0)
            continue;
        if (best.tuned == NULL || compare_candidates(&own, &best) < 0)
            best = own;
    }
    return best;
}

const struct hn_tuned *hn_lookup(const struct hn_tuned *tuned, size_t count,
                                 const struct hn_lookup_query *query, struct hn_lookup_rank *rank)
{
    struct candidate found = {NULL, {HN_GRADE_NONE, 0, 1, 1}};
    do {
        found = find_next(tuned, count, query, &found);
    } while (found.tuned != NULL &&
             (hn_lookup_is_shadowed(tuned, count, query, found.tuned) ||
              (query->usable != NULL && !query->usable(found.tuned, query->context))));
    if (rank != NULL)
        *rank = found.rank;
    return found.tuned;
}
