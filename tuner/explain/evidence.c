/* SPDX-License-Identifier: MIT */
#include "tuner/explain/evidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static bool is_timed(const struct hn_record *record)
{
    return (record->outcome == HN_OUTCOME_OK || record->outcome == HN_OUTCOME_SLOWER ||
            record->outcome == HN_OUTCOME_DUPLICATE) &&
           isfinite(record->objective);
}

/* Where the values of the next point go. */
static uint16_t *next_choice(struct hn_evidence *evidence)
{
    return evidence->choices + (evidence->count + evidence->failed) * evidence->parameters;
}

/* Whether the record is a point of the space; then its values are at next_choice. */
static bool place(struct hn_evidence *evidence, const struct hn_record *record)
{
    uint16_t *choice = next_choice(evidence);
    return record->point.count == evidence->parameters &&
           hn_space_choice(evidence->space, &record->point, choice, NULL) == HN_OK &&
           hn_space_contains(evidence->space, choice);
}

static void take_timed(struct hn_evidence *evidence)
{
    for (size_t i = 0; i < evidence->records->count; i++) {
        const struct hn_record *record = &evidence->records->items[i];
        if (!is_timed(record))
            continue;
        if (!place(evidence, record)) {
            evidence->foreign++;
            continue;
        }
        bool bounded = record->outcome == HN_OUTCOME_SLOWER;
        evidence->values[evidence->count] = record->objective;
        evidence->lower_bounds[evidence->count] = bounded;
        evidence->numbers[evidence->count++] = (uint32_t)i;
        evidence->bounded += bounded;
    }
}

static void take_failed(struct hn_evidence *evidence)
{
    for (size_t i = 0; i < evidence->records->count; i++) {
        const struct hn_record *record = &evidence->records->items[i];
        /* What a session was not asked for says nothing of a point. */
        if (is_timed(record) || hn_outcome_is_open(record->outcome))
            continue;
        if (place(evidence, record))
            evidence->numbers[evidence->count + evidence->failed++] = (uint32_t)i;
        else
            evidence->foreign++;
    }
}

/* A metric that is maximised is kept negated. */
static void take_logarithms(struct hn_evidence *evidence)
{
    double lowest = INFINITY;
    double highest = -INFINITY;
    for (size_t i = 0; i < evidence->count; i++) {
        lowest = fmin(lowest, evidence->values[i]);
        highest = fmax(highest, evidence->values[i]);
    }
    evidence->logarithmic = lowest > 0 || highest < 0;
    for (size_t i = 0; evidence->logarithmic && i < evidence->count; i++) {
        double value = evidence->values[i];
        evidence->values[i] = value > 0 ? log(value) : -log(-value);
    }
}

static int compare_choices(const struct hn_evidence *evidence, size_t point, const uint16_t *choice)
{
    return memcmp(hn_evidence_choice(evidence, point), choice,
                  evidence->parameters * sizeof *choice);
}

static int compare_points(const void *a, const void *b, void *context)
{
    const uint32_t *x = a;
    const uint32_t *y = b;
    int order = compare_choices(context, *x, hn_evidence_choice(context, *y));
    return order != 0 ? order : (*x > *y) - (*x < *y);
}

static void sort(struct hn_evidence *evidence)
{
    size_t count = evidence->count + evidence->failed;
    for (size_t i = 0; i < count; i++)
        evidence->sorted[i] = (uint32_t)i;
    qsort_r(evidence->sorted, count, sizeof *evidence->sorted, compare_points, evidence);
}

static void find_best(struct hn_evidence *evidence)
{
    const struct hn_record *best = NULL;
    for (size_t i = 0; i < evidence->count; i++) {
        if (!hn_record_beats(hn_evidence_record(evidence, i), best))
            continue;
        evidence->best = i;
        best = hn_evidence_record(evidence, i);
    }
}

static void begin(const struct hn_space *space, const struct hn_records *records,
                  struct hn_evidence *evidence)
{
    size_t room = records->count + 1;
    size_t parameters = hn_space_parameter_count(space);
    *evidence = (struct hn_evidence){
        .space = space,
        .records = records,
        .parameters = parameters,
        .choices = hn_need(room * (parameters + 1), sizeof *evidence->choices),
        .values = hn_need(room, sizeof *evidence->values),
        .lower_bounds = hn_need(room, sizeof *evidence->lower_bounds),
        .numbers = hn_need(room, sizeof *evidence->numbers),
        .sorted = hn_need(room, sizeof *evidence->sorted),
        .best = SIZE_MAX,
    };
}

void hn_evidence_of_compiling(const struct hn_space *space, const struct hn_records *records,
                              struct hn_evidence *evidence)
{
    begin(space, records, evidence);
    for (size_t i = 0; i < records->count; i++) {
        double ms = records->items[i].costs.compile_ms;
        if (!(ms > 0) || !place(evidence, &records->items[i]))
            continue;
        if (evidence->best == SIZE_MAX || ms < evidence->values[evidence->best])
            evidence->best = evidence->count;
        evidence->values[evidence->count] = ms;
        evidence->numbers[evidence->count++] = (uint32_t)i;
    }
    sort(evidence);
    take_logarithms(evidence);
}

void hn_evidence_make(const struct hn_space *space, const struct hn_records *records,
                      struct hn_evidence *evidence)
{
    begin(space, records, evidence);
    take_timed(evidence);
    take_failed(evidence);
    sort(evidence);
    take_logarithms(evidence);
    find_best(evidence);
}

void hn_evidence_finish(struct hn_evidence *evidence)
{
    free(evidence->choices);
    free(evidence->values);
    free(evidence->lower_bounds);
    free(evidence->numbers);
    free(evidence->sorted);
    *evidence = (struct hn_evidence){0};
}

const uint16_t *hn_evidence_choice(const struct hn_evidence *evidence, size_t point)
{
    return evidence->choices + point * evidence->parameters;
}

const struct hn_record *hn_evidence_record(const struct hn_evidence *evidence, size_t point)
{
    return &evidence->records->items[evidence->numbers[point]];
}

double hn_evidence_ratio(const struct hn_evidence *evidence, double value, double other)
{
    return evidence->logarithmic ? exp(value - other) : value - other;
}

size_t hn_evidence_find(const struct hn_evidence *evidence, const uint16_t *choice)
{
    size_t low = 0;
    size_t high = evidence->count + evidence->failed;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_choices(evidence, evidence->sorted[middle], choice) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < evidence->count + evidence->failed &&
        compare_choices(evidence, evidence->sorted[low], choice) == 0)
        return evidence->sorted[low];
    return SIZE_MAX;
}
