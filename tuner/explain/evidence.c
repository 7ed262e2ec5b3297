/* SPDX-License-Identifier: MIT */
#include "tuner/explain/explain_parts.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/statistics.h"
#include "cache/record/record.h"

/* The number of a record's point, which is added; HN_NO_KEY: it is none of the space. */
static uint32_t place(struct hn_evidence *evidence, const struct hn_record *record)
{
    uint16_t choice[evidence->parameters + 1];
    return hn_space_has(evidence->space, &record->point, choice)
               ? hn_keys_add(&evidence->points, choice)
               : HN_NO_KEY;
}

/* A metric that is maximised is kept negated. */
static void take_logarithms(struct hn_evidence *evidence)
{
    double lowest = INFINITY, highest = -INFINITY;
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

static void begin(const struct hn_space *space, const struct hn_records *records,
                  struct hn_evidence *evidence)
{
    size_t room = records->count + 1, parameters = hn_space_parameter_count(space);
    struct hn_blocks memory = {0};
    *evidence = (struct hn_evidence){
        .space = space,
        .records = records,
        .parameters = parameters,
        .values = hn_need_block(&memory, room, sizeof *evidence->values),
        .lower_bounds = hn_need_block(&memory, room, sizeof *evidence->lower_bounds),
        .numbers = hn_need_block(&memory, room, sizeof *evidence->numbers),
        .best = SIZE_MAX,
        .points.stride = parameters * sizeof(uint16_t),
    };
    evidence->memory = memory;
}

static void find_best(struct hn_evidence *evidence, bool compiling)
{
    const struct hn_record *best = NULL;
    for (size_t i = 0; i < evidence->count; i++) {
        bool better = compiling
                          ? best == NULL || evidence->values[i] < evidence->values[evidence->best]
                          : hn_record_beats(hn_evidence_record(evidence, i), best);
        if (!better)
            continue;
        evidence->best = i;
        best = hn_evidence_record(evidence, i);
    }
}

void hn_evidence_make(const struct hn_task *task, const struct hn_records *records, bool compiling,
                      struct hn_evidence *evidence)
{
    const bool weighs = hn_plan_weighs(task->plan);
    begin(task->space, records, evidence);
    /* The timed ones come first; of what did not compile nobody knows how long it would take. */
    for (size_t i = 0; i < (compiling ? 1 : 2) * records->count; i++) {
        size_t number = i % records->count;
        const struct hn_record *record = &records->items[number];
        bool bounded = !compiling && record->outcome == HN_OUTCOME_SLOWER;
        bool ended =
            bounded || record->outcome == HN_OUTCOME_OK || record->outcome == HN_OUTCOME_DUPLICATE;
        /* Energy is measured of the finalists alone. */
        double value = compiling ? record->costs.compile_ms
                       : weighs  ? record->timing.median_us
                                 : record->objective;
        bool timed = compiling ? value > 0 : ended && isfinite(value);
        /* What a session was not asked for says nothing of a point. */
        if (timed != (i < records->count) || (!timed && hn_outcome_is_open(record->outcome)))
            continue;
        size_t known = evidence->count + evidence->failed;
        uint32_t point = place(evidence, record);
        evidence->foreign += point == HN_NO_KEY;
        if (point != known)
            continue;
        evidence->numbers[point] = (uint32_t)number;
        if (timed) {
            evidence->values[evidence->count] = value;
            evidence->lower_bounds[evidence->count++] = bounded;
            evidence->bounded += bounded;
        } else {
            evidence->failed++;
        }
    }
    find_best(evidence, compiling);
    take_logarithms(evidence);
}

const uint16_t *hn_evidence_choice(const struct hn_evidence *evidence, size_t point)
{
    return hn_keys_at(&evidence->points, (uint32_t)point);
}

const struct hn_record *hn_evidence_record(const struct hn_evidence *evidence, size_t point)
{
    return &evidence->records->items[evidence->numbers[point]];
}

double hn_evidence_ratio(const struct hn_evidence *evidence, double value, double other)
{
    return evidence->logarithmic ? exp(value - other) : value - other;
}

static const size_t least_points = 20;
static const size_t least_best = 5;
static const double best_part = 0.05;
static const double surely = 0.01;

static double log_choose(size_t n, size_t k)
{
    return lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1);
}

/* The chance of `hits` or more marked ones among `drawn`, of `all` of which `marked` are. */
static double common_chance(size_t hits, size_t drawn, size_t marked, size_t all)
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

/* More than half of the points can share one value of a parameter at most. */
static void find_value(const struct hn_evidence *evidence, const struct hn_ranked *ranked,
                       size_t best, size_t parameter, json_t *found)
{
    size_t values = hn_space_parameter(evidence->space, parameter)->count;
    size_t *among_best HN_FREED = hn_need(values, sizeof *among_best);
    size_t *among_all HN_FREED = hn_need(values, sizeof *among_all);
    for (size_t i = 0; i < best; i++)
        among_best[hn_evidence_choice(evidence, ranked[i].place)[parameter]]++;
    for (size_t i = 0; i < evidence->count; i++)
        among_all[hn_evidence_choice(evidence, i)[parameter]]++;
    for (size_t v = 0; v < values; v++) {
        double chance = among_best[v] * 2 > best
                            ? common_chance(among_best[v], best, among_all[v], evidence->count)
                            : 1;
        if (!(chance * (double)evidence->parameters < surely))
            continue;
        hn_render_insert(
            found, "chance", true,
            json_pack("{ss so sI sI sf}", "name",
                      hn_space_parameter(evidence->space, parameter)->name, "value",
                      hn_value_to_json(&hn_space_parameter(evidence->space, parameter)->values[v]),
                      "among_best", (json_int_t)among_best[v], "among_all",
                      (json_int_t)among_all[v], "chance", chance));
    }
}

json_t *hn_common_find(const struct hn_evidence *evidence)
{
    size_t count = 0;
    struct hn_ranked *ranked HN_FREED = hn_need(evidence->count, sizeof *ranked);
    size_t best = (size_t)ceil((double)evidence->count * best_part);
    double ratio = NAN;
    json_t *values = json_array();
    /* The points measured in full, best first: what was stopped early is not among the best. */
    for (size_t i = 0; i < evidence->count; i++)
        if (!evidence->lower_bounds[i])
            ranked[count++] = (struct hn_ranked){evidence->values[i], i};
    qsort(ranked, count, sizeof *ranked, hn_ranked_compare);
    best = best < least_best ? least_best : best;
    best = best > count ? count : best;
    if (evidence->count < least_points || best < least_best)
        best = 0;
    else
        ratio = hn_evidence_ratio(evidence, ranked[best - 1].key, ranked[0].key);
    for (size_t p = 0; best > 0 && p < evidence->parameters; p++)
        find_value(evidence, ranked, best, p, values);
    return json_pack("{sI sI so so}", "best", (json_int_t)best, "all", (json_int_t)evidence->count,
                     "ratio", hn_render_number(ratio), "values", values);
}
