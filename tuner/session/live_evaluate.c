/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "cache/record/record_json.h"
#include "tuner/session/live.h"

/* One evaluation on one card: asked for, answered, its times as the first card would have them. */

void hn_live_flight_finish(struct hn_live_flight *flight)
{
    hn_bindings_finish(&flight->point);
    hn_message_finish(&flight->message);
    hn_record_finish(&flight->suspect);
    *flight = (struct hn_live_flight){.ticket = 0};
    hn_bindings_init(&flight->point);
}

/* What a time is held against is the first card's. */
static void set_request(const struct hn_live_card *card, struct hn_live_flight *flight)
{
    struct hn_bench_request own = flight->request;
    own.censor_us *= card->ratio;
    json_object_set_new(flight->message.json, "request",
                        hn_fields_to_json(&hn_bench_request_structure, &own));
}

/* 0: that of any evaluation. A window of joules comes on top: the idle GPU before it, and the
 * launches that were under way when its seconds were over. */
static double limit_s(const struct hn_workers *workers, const struct hn_bench_request *request)
{
    const double idle_s = 5, trial_s = 300;
    if (request->trial != HN_SUSPICION_NONE)
        return trial_s;
    return request->energy_s > 0 ? 2 * workers->run_timeout_s + request->energy_s + idle_s : 0;
}

enum hn_status hn_live_card_evaluate(struct hn_live *live, struct hn_live_card *card,
                                     struct hn_live_flight *flight, struct hn_error *err)
{
    struct hn_message sent;
    set_request(card, flight);
    /* In a process that has launched nothing of it. */
    if (flight->request.trial != HN_SUSPICION_NONE)
        hn_gpu_client_drop(card->card->gpu);
    /* Somebody else may have to do it, or this card once more. */
    enum hn_status status = hn_message_copy(&sent, &flight->message, err);
    if (status == HN_OK)
        status = hn_gpu_client_request(card->card->gpu, &sent,
                                       limit_s(live->workers, &flight->request), err);
    if (status != HN_OK)
        return status;
    card->flight = *flight;
    card->evaluating = true;
    *flight = (struct hn_live_flight){.ticket = 0};
    hn_bindings_init(&flight->point);
    return HN_OK;
}

void hn_live_card_scale(const struct hn_live_card *card, struct hn_record *record)
{
    struct hn_timing *timing = &record->timing;
    double *const times[] = {&timing->median_us, &timing->low_us, &timing->high_us,
                             &timing->resolution_us, &timing->host_us};
    if (card->card->host != NULL) {
        snprintf(record->host, sizeof record->host, "%s", card->card->host_name);
        snprintf(record->card, sizeof record->card, "%s", card->card->device.uuid);
    }
    if (card->ratio == 1)
        return;
    record->ratio = card->ratio;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        *times[i] /= card->ratio;
    for (size_t i = 0; timing->samples_us != NULL && i < timing->sample_count; i++)
        timing->samples_us[i] /= card->ratio;
}

/* A failed device assertion is told in what the worker printed. */
static enum hn_status append_output(struct hn_record *record, const char *output,
                                    struct hn_error *err)
{
    char *message;
    if (record->message == NULL)
        return HN_OK;
    if (asprintf(&message, "%s%s", record->message, output) < 0)
        return hn_fail_memory(err);
    free(record->message);
    record->message = message;
    return HN_OK;
}

enum hn_status hn_live_read_record(const struct hn_live_flight *flight,
                                   struct hn_gpu_result *result, struct hn_record *record,
                                   struct hn_error *err)
{
    hn_record_init(record);
    if (result->end != HN_GPU_REPLY) {
        hn_record_fail(record,
                       result->end == HN_GPU_TIMEOUT ? HN_OUTCOME_RUN_TIMEOUT
                                                     : HN_OUTCOME_WORKER_CRASH,
                       "%s", result->text);
        return hn_bindings_copy(&record->point, &flight->point, err);
    }
    enum hn_status status =
        hn_record_from_json(json_object_get(result->message.json, "record"), NULL, record, err);
    hn_message_finish(&result->message);
    if (status == HN_OK && !hn_bindings_equal(&record->point, &flight->point))
        status = hn_fail(err, HN_EFORMAT, "the GPU worker answers for another point");
    if (status == HN_OK && result->text[0] != '\0')
        status = append_output(record, result->text, err);
    return status;
}

/* The first that the lead has measured in full. */
static enum hn_status keep_anchor(struct hn_live *live, struct hn_live_flight *flight,
                                  const struct hn_record *record, struct hn_error *err)
{
    struct hn_live_anchor *anchor = &live->anchors[live->anchor_count];
    bool suits = live->workers->hosts != NULL && record->outcome == HN_OUTCOME_OK &&
                 flight->request.measure && record->timing.median_us > 0;
    live->lead_finished++;
    if (!suits || live->anchor_count == HN_ANCHORS || live->lead->ratio != 1)
        return HN_OK;
    enum hn_status status = hn_bindings_copy(&anchor->point, &flight->point, err);
    if (status != HN_OK)
        return status;
    anchor->message = flight->message;
    flight->message = (struct hn_message){0};
    anchor->median_us = record->timing.median_us;
    live->anchor_count++;
    return HN_OK;
}

/* The record waits for what the trial says. */
static enum hn_status begin_trial(struct hn_live *live, struct hn_live_card *card,
                                  struct hn_record *record, struct hn_error *err)
{
    struct hn_live_flight flight = card->flight;
    flight.suspect = *record;
    flight.request = (struct hn_bench_request){.trial = record->suspicion};
    card->flight = (struct hn_live_flight){.ticket = 0};
    hn_record_init(record);
    enum hn_status status = hn_live_card_evaluate(live, card, &flight, err);
    hn_live_flight_finish(&flight);
    return status;
}

/* Where the trial came to no end, it was the check that failed. */
static void end_trial(struct hn_live *live, struct hn_live_flight *flight, struct hn_record *record)
{
    struct hn_record verdict = *record;
    if (verdict.outcome == HN_OUTCOME_RUN_TIMEOUT || verdict.outcome == HN_OUTCOME_WORKER_CRASH) {
        verdict.outcome = HN_OUTCOME_OK;
        verdict.suspicion = HN_SUSPICION_CHECK_FAILED;
    }
    live->trials[verdict.suspicion]++;
    *record = verdict;
    if (flight->suspect.suspicion == HN_SUSPICION_NONE)
        return;
    *record = flight->suspect;
    flight->suspect = (struct hn_record){.outcome = HN_OUTCOME_OK};
    record->suspicion = verdict.suspicion;
    if (verdict.outcome != HN_OUTCOME_OK)
        hn_record_fail(record, verdict.outcome, "%s",
                       verdict.message != NULL ? verdict.message : "failed");
    hn_record_finish(&verdict);
}

enum hn_status hn_live_card_take(struct hn_live *live, struct hn_live_card *card,
                                 struct hn_gpu_result *result, struct hn_backend_event *event,
                                 struct hn_error *err)
{
    struct hn_live_flight *flight = &card->flight;
    *event = (struct hn_backend_event){.kind = HN_EVENT_EVALUATED, .ticket = flight->ticket};
    enum hn_status status = hn_live_read_record(flight, result, &event->record, err);
    bool tried = flight->request.trial != HN_SUSPICION_NONE;
    if (status == HN_OK && !tried && event->record.suspicion >= HN_SUSPICION_CHECKED &&
        event->record.outcome == HN_OUTCOME_OK) {
        event->kind = HN_EVENT_NONE;
        return begin_trial(live, card, &event->record, err);
    }
    if (status == HN_OK && tried)
        end_trial(live, flight, &event->record);
    else if (status == HN_OK && card == live->lead)
        status = keep_anchor(live, flight, &event->record, err);
    if (status != HN_OK) {
        hn_record_finish(&event->record);
        event->kind = HN_EVENT_NONE;
        return status;
    }
    hn_live_card_scale(card, &event->record);
    card->measured += flight->request.measure;
    hn_live_flight_finish(flight);
    card->evaluating = false;
    return HN_OK;
}
