/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cache/record/gate.h"
#include "cache/record/record_json.h"
#include "tuner/session/live.h"

static const int race_min_rounds = 6;
/* A race takes a tenth of what the search took, within these. */
static const double race_least_ms = 300;
static const double race_most_ms = 1500;
/* And so much of what is left of the time: before its rounds it lines up, behind them outputs are
 * compared. */
static const double within_end = 0.6;

static enum hn_status make_race(const struct hn_racer *racers, size_t count, double budget_ms,
                                struct hn_message *message, struct hn_error *err)
{
    const struct hn_race_rules rules = {race_min_rounds, HN_RACE_MOST_ROUNDS, budget_ms};
    json_t *candidates = json_array();
    hn_message_init(message, "race");
    for (size_t i = 0; i < count; i++) {
        json_t *image = hn_message_image_json(message, racers[i].image);
        json_array_append_new(
            candidates,
            json_pack("{so so}", "point", hn_bindings_to_json(racers[i].point), "image", image));
    }
    json_object_set_new(message->json, "rules",
                        hn_fields_to_json(&hn_race_rules_structure, &rules));
    if (json_object_set_new(message->json, "candidates", candidates) == 0 &&
        json_array_size(candidates) == count)
        return HN_OK;
    hn_message_finish(message);
    return hn_fail_memory(err);
}

static enum hn_status read_race(const json_t *json, size_t count, struct hn_race_result *result,
                                struct hn_error *err)
{
    const json_t *samples = json_object_get(json, "samples");
    const json_t *records = json_object_get(json, "records");
    if (json_array_size(samples) != count || json_array_size(records) != count)
        return hn_fail(err, HN_EFORMAT, "the result of a race is incomplete");
    result->rounds = json_array_size(json_array_get(samples, 0));
    if (result->rounds > HN_RACE_MOST_ROUNDS)
        return hn_fail(err, HN_EFORMAT, "a race of %zu rounds; at most %d were asked for",
                       result->rounds, HN_RACE_MOST_ROUNDS);
    result->samples = calloc(count * result->rounds + 1, sizeof *result->samples);
    result->records = calloc(count, sizeof *result->records);
    if (result->samples == NULL || result->records == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        hn_record_init(&result->records[i]);
        result->count++;
        enum hn_status status =
            hn_record_from_json(json_array_get(records, i), NULL, &result->records[i], err);
        if (status != HN_OK)
            return status;
        const json_t *row = json_array_get(samples, i);
        bool runs = result->records[i].outcome == HN_OUTCOME_OK; /* to the end */
        for (size_t r = 0; status == HN_OK && r < result->rounds; r++) {
            const json_t *sample = json_array_get(row, r);
            double us = json_is_number(sample) ? json_number_value(sample) : NAN;
            result->samples[i * result->rounds + r] = us;
            if (runs)
                status = hn_gate_time("a sample of a race", us, err);
        }
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}

/* Where another card leads than at first: as of the first. */
static void scale_race(const struct hn_live_card *lead, struct hn_race_result *result)
{
    for (size_t i = 0; i < result->count; i++)
        hn_live_card_scale(lead, &result->records[i]);
    for (size_t i = 0; i < result->count * result->rounds; i++)
        result->samples[i] /= lead->ratio;
}

enum hn_status hn_live_race(struct hn_backend *backend, const struct hn_racer *racers, size_t count,
                            struct hn_race_result *result, struct hn_error *err)
{
    struct hn_live *live = (struct hn_live *)backend;
    struct hn_message message;
    struct hn_gpu_result ended;
    *result = (struct hn_race_result){0};
    double now = hn_now_ms();
    double budget_ms = fmin((now - live->started_ms) / 10, race_most_ms);
    budget_ms = fmax(budget_ms, race_least_ms);
    if (live->base.end_ms > 0)
        budget_ms = fmin(budget_ms, fmax(live->base.end_ms - now, 0) * within_end);
    enum hn_status status = make_race(racers, count, budget_ms, &message, err);
    if (status != HN_OK)
        return status;
    status = hn_live_ask(live, &message, 120, &ended, err);
    if (status != HN_OK)
        return status;
    if (ended.end != HN_GPU_REPLY)
        return HN_OK;
    status = read_race(ended.message.json, count, result, err);
    hn_message_finish(&ended.message);
    if (status == HN_OK)
        scale_race(live->lead, result);
    else
        hn_race_result_finish(result);
    return status == HN_OK || hn_live_succeed(live, status, err) != HN_OK
               ? status
               : hn_live_race(backend, racers, count, result, err);
}
