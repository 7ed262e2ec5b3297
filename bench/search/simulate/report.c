/* SPDX-License-Identifier: MIT */
#include "bench/search/simulate/report.h"

#include <math.h>

#include "tuner/report/table.h"

static const double near_part = 0.05;

static void add_axes(struct hn_table *table, const struct hn_score *score)
{
    for (int axis = 0; axis < HN_SCORE_AXES; axis++) {
        hn_table_cell(table, "%.3f", score->axes[axis].score);
        hn_table_cell(table, "[%.3f, %.3f]", score->axes[axis].low, score->axes[axis].high);
    }
}

static void add_number(struct hn_table *table, int digits, double number)
{
    if (isfinite(number))
        hn_table_cell(table, "%.*f", digits, number);
    else
        hn_table_cell(table, "-");
}

static void add_row(struct hn_table *table, const char *name, const struct hn_score *score,
                    double random, double budget, bool clock)
{
    hn_table_cell(table, "%s", name);
    add_axes(table, score);
    add_number(table, 0, score->median_evaluations);
    hn_table_cell(table, "%.0f%%", score->reached * 100);
    hn_table_cell(table, "%.0f", random);
    hn_table_cell(table, "%.0f", budget);
    hn_table_cell(table, "%.2f", score->overhead_us);
    if (clock)
        add_number(table, 1, score->median_s);
}

static void print_strategy(const struct hn_batch *batch, const struct hn_score *scores, FILE *file)
{
    bool clock = batch->cores > 0;
    const char *const headings[] = {"~space",
                                    ">time",
                                    "95%",
                                    ">evaluations",
                                    "95%",
                                    ">to 5%",
                                    ">of runs",
                                    ">random",
                                    ">budget",
                                    ">overhead us",
                                    clock ? ">to 5%, s" : NULL,
                                    NULL};
    struct hn_table *table = hn_table_create(headings);
    double random = 0;
    double budget = 0;
    for (size_t i = 0; i < batch->space_count; i++) {
        const struct hn_scale *scale = &batch->scales[i];
        double draws = hn_scale_random_draws(scale, near_part);
        add_row(table, batch->spaces[i].name, &scores[i], draws, (double)scale->budget, clock);
        random += draws;
        budget += (double)scale->budget;
    }
    if (batch->space_count > 1) {
        struct hn_score mean;
        hn_score_mean(scores, batch->space_count, &mean);
        add_row(table, "mean, sum", &mean, random, budget, clock);
    }
    hn_table_print(table, 0, file, 2);
    hn_table_destroy(table);
}

void hn_scores_print(const struct hn_batch *batch, const struct hn_score *scores, FILE *file)
{
    for (size_t i = 0; i < batch->strategy_count; i++) {
        fprintf(file, "%s%s: %zu runs a space, look-ahead %u\n", i > 0 ? "\n" : "",
                batch->strategies[i]->name, batch->run_count, (unsigned)batch->look_ahead);
        print_strategy(batch, scores + i * batch->space_count, file);
    }
}

static json_t *axis_to_json(const struct hn_score_value *value)
{
    return json_pack("{s:f, s:f, s:f}", "score", value->score, "low", value->low, "high",
                     value->high);
}

static json_t *score_to_json(const struct hn_score *score)
{
    json_t *until =
        isfinite(score->median_evaluations) ? json_real(score->median_evaluations) : json_null();
    json_t *seconds = isfinite(score->median_s) ? json_real(score->median_s) : json_null();
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:f, s:f}", "time", axis_to_json(&score->axes[HN_SCORE_TIME]),
        "evaluations", axis_to_json(&score->axes[HN_SCORE_EVALUATIONS]), "median_evaluations",
        until, "median_s", seconds, "reached", score->reached, "overhead_us", score->overhead_us);
}

static json_t *space_to_json(const struct hn_batch *batch, size_t space,
                             const struct hn_score *score)
{
    const struct hn_scale *scale = &batch->scales[space];
    json_t *json = score_to_json(score);
    json_t *name = json_string(batch->spaces[space].name);
    (void)json_object_set_new(json, "space", name != NULL ? name : json_string(""));
    (void)json_object_set_new(json, "random_evaluations",
                              json_real(hn_scale_random_draws(scale, near_part)));
    (void)json_object_set_new(json, "budget_evaluations", json_integer((json_int_t)scale->budget));
    (void)json_object_set_new(json, "budget_ms", json_real(scale->time_end_ms));
    size_t priors = batch->priors != NULL ? batch->priors[space].count : 0;
    (void)json_object_set_new(json, "priors", json_integer((json_int_t)priors));
    return json;
}

static json_t *strategy_to_json(const struct hn_batch *batch, size_t strategy,
                                const struct hn_score *scores)
{
    struct hn_score mean;
    json_t *spaces = json_array();
    hn_score_mean(scores, batch->space_count, &mean);
    for (size_t i = 0; i < batch->space_count; i++)
        (void)json_array_append_new(spaces, space_to_json(batch, i, &scores[i]));
    json_t *json = score_to_json(&mean);
    (void)json_object_set_new(json, "strategy", json_string(batch->strategies[strategy]->name));
    (void)json_object_set_new(json, "spaces", spaces);
    return json;
}

json_t *hn_scores_to_json(const struct hn_batch *batch, const struct hn_score *scores)
{
    json_t *strategies = json_array();
    for (size_t i = 0; i < batch->strategy_count; i++)
        (void)json_array_append_new(strategies,
                                    strategy_to_json(batch, i, scores + i * batch->space_count));
    return json_pack("{s:I, s:I, s:I, s:o}", "runs", (json_int_t)batch->run_count, "seed",
                     (json_int_t)batch->seed, "look_ahead", (json_int_t)batch->look_ahead,
                     "strategies", strategies);
}
