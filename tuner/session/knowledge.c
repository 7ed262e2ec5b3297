/* SPDX-License-Identifier: MIT */
#include "tuner/session/knowledge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { MOST_SOURCES = 3, LEAST_POINTS = 8 };

/* Distances of grades; within a grade the problem's distance, far below it, decides. */
static const double other_version = 0;
static const double other_problem = 1;
static const double other_device = 1e6;
static const double other_capability = 2e6;
static const double never = INFINITY;

struct source {
    const struct hn_tuned *tuned;
    double distance;
};

/* Not hn_lookup_ratio, which answers another question: it is near where values are both small
 * (1 + |x|), so that every launch gets some result, and sets words before all numbers. Here nothing
 * has to be found: a size of 1 is as far from 8 as 8 from 64, a word weighs as much as a factor of
 * 256, and an imported problem with other names still counts, last. */
static double value_distance(const struct hn_value *a, const struct hn_value *b)
{
    static const double unlike = 8;
    if (a->type == HN_WORD || b->type == HN_WORD)
        return hn_value_equal(a, b) ? 0 : unlike;
    double x = hn_value_number(a), y = hn_value_number(b);
    if (x <= 0 || y <= 0)
        return x < y || x > y ? unlike : 0;
    return fmin(fabs(log2(x / y)), 64);
}

/* never: the problems have other names. */
static double problem_distance(const struct hn_bindings *a, const struct hn_bindings *b)
{
    double sum = 0;
    if (a->count != b->count)
        return never;
    for (size_t i = 0; i < a->count; i++) {
        const struct hn_value *other = hn_bindings_get(b, a->names[i]);
        if (other == NULL)
            return never;
        sum += value_distance(&a->values[i], other);
    }
    return sum;
}

static double distance(const struct hn_task *task, const struct hn_tuned *tuned)
{
    const struct hn_identity *own = &task->identity, *other = &tuned->identity;
    if (strcmp(own->objective, other->objective) != 0)
        return never;
    if (hn_identity_equal(own, other))
        return hn_version_equal(&task->version, &tuned->version) &&
                       !hn_origin_is_foreign(&tuned->origin)
                   ? never
                   : other_version;
    double problem = problem_distance(&own->problem, &other->problem);
    /* imported tunings name their problem otherwise */
    problem = isinf(problem) ? other_problem + 1000 : other_problem + fmin(problem, 999);
    if (hn_device_identity_equal(&own->device, &other->device))
        return problem;
    bool same_capability =
        own->device.capability > 0 && own->device.capability == other->device.capability;
    return problem + (same_capability ? other_device : other_capability);
}

static int by_distance(const void *a, const void *b)
{
    const struct source *x = a, *y = b;
    if (x->distance < y->distance || x->distance > y->distance)
        return x->distance < y->distance ? -1 : 1;
    return (x->tuned > y->tuned) - (x->tuned < y->tuned);
}

static bool is_measured(const struct hn_record *record)
{
    return record->outcome == HN_OUTCOME_OK || record->outcome == HN_OUTCOME_DUPLICATE;
}

/* Adds the records that are points of this space; takes them back when there are too few. */
static void add_records(struct hn_knowledge *knowledge, const struct hn_space *space,
                        const struct hn_records *records, double before)
{
    size_t width = hn_space_parameter_count(space);
    size_t first = knowledge->count;
    size_t most = first + records->count;
    size_t measured = 0;
    knowledge->priors = hn_need_more(knowledge->priors, most, sizeof *knowledge->priors);
    knowledge->choices = hn_need_more(knowledge->choices, most * width, sizeof *knowledge->choices);
    for (size_t i = 0; i < records->count; i++) {
        const struct hn_record *record = &records->items[i];
        uint16_t *choice = knowledge->choices + knowledge->count * width;
        if (record->time >= before || hn_outcome_is_open(record->outcome) ||
            record->outcome == HN_OUTCOME_SLOWER ||
            hn_space_choice(space, &record->point, choice, NULL) != HN_OK ||
            !hn_space_contains(space, choice))
            continue;
        measured += is_measured(record);
        knowledge->priors[knowledge->count++] = (struct hn_prior){
            .observation = {record->outcome, is_measured(record) ? record->objective : NAN, NULL},
            .source = knowledge->sources,
        };
    }
    if (measured >= LEAST_POINTS)
        knowledge->sources++;
    else
        knowledge->count = first;
}

enum hn_status hn_knowledge_collect(struct hn_store *store, const struct hn_task *task,
                                    bool simulated, double before, struct hn_knowledge *knowledge,
                                    struct hn_error *err)
{
    struct hn_tuned_list list;
    struct hn_error ignored;
    err = hn_error_begin(err, &ignored);
    *knowledge = (struct hn_knowledge){0};
    if (hn_store_list(store, task->identity.kernel, &list, err) != HN_OK)
        return err->status;
    struct source *sources = hn_need(list.count, sizeof *sources);
    size_t count = 0;
    for (size_t i = 0; i < list.count; i++) {
        double far = distance(task, &list.items[i]);
        if (list.items[i].simulated == simulated && !isinf(far))
            sources[count++] = (struct source){&list.items[i], far};
    }
    qsort(sources, count, sizeof *sources, by_distance);
    for (size_t i = 0; i < count && knowledge->sources < MOST_SOURCES && !hn_failed(err); i++) {
        const struct hn_tuned *tuned = sources[i].tuned;
        struct hn_records records;
        if (hn_store_load(store, &tuned->identity, &tuned->version, tuned->simulated, &records,
                          err) != HN_OK)
            break;
        add_records(knowledge, task->space, &records, before);
        hn_records_free(&records);
    }
    size_t width = hn_space_parameter_count(task->space);
    for (size_t i = 0; i < knowledge->count; i++)
        knowledge->priors[i].choice = knowledge->choices + i * width;
    if (hn_failed(err))
        hn_knowledge_finish(knowledge);
    free(sources);
    hn_tuned_list_free(&list);
    return err->status;
}

void hn_knowledge_finish(struct hn_knowledge *knowledge)
{
    free(knowledge->priors);
    free(knowledge->choices);
    *knowledge = (struct hn_knowledge){0};
}
