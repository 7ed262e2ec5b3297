/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/statistics.h"
#include "cache/record/record.h"
#include "tuner/session/live.h"

/* Evaluations, and several cards of one model. The lead is set up first and measures; the others
 * are opened, set up with the same messages, warm up with the default point, measure what the lead
 * has measured (the anchors), and then take points like the lead. Their times are brought to the
 * lead's by the median ratio over the anchors. */

/* After so many points of the lead no more anchors are waited for. */
enum { ANCHORS_WITHIN = 8 };
/* A card that takes longer or shorter than this by the lead's times is another one. */
static const double most_ratio = 1.5;
/* Limits in time, and hosts that come and go, are looked at so often. */
static const double look_ms = 20;
/* One anchor alone may be wrong by so much. */
static const double lone_spread = 0.02;

/* The message stays: somebody else may have to do it, or this card once more. */
static void ask(struct hn_card *card, const struct hn_message *message, const char *type,
                const struct hn_bench_request *request, double timeout_s, struct hn_error *err)
{
    struct hn_message copy HN_ENDED_BY(hn_message_finish) = {0};
    if (hn_failed(err) || hn_message_copy(&copy, message, err) != HN_OK)
        return;
    /* The JSON of a copy is the original's. */
    json_t *json = json_copy(copy.json);
    json_decref(copy.json);
    copy.json = json;
    json_object_set_new(json, "type", json_string(type));
    if (request != NULL)
        json_object_set_new(json, "request",
                            hn_fields_to_json(&hn_bench_request_structure, request));
    hn_card_request(card, &copy, timeout_s, err);
}

/* Moves it, and leaves an empty one. */
static struct hn_card_job take_job(struct hn_card_job *job)
{
    struct hn_card_job taken = *job;
    *job = (struct hn_card_job){.ticket = 0};
    return taken;
}

/* Starts an evaluation, which the card takes over. */
static void begin_evaluation(struct hn_live *live, struct hn_card *card, struct hn_card_job *job,
                             struct hn_error *err)
{
    struct hn_bench_request own = job->request;
    const double idle_s = 5, trial_s = 300;
    double energy_s = hn_bench_asked(own.observe, "energy");
    /* A window of joules comes on top: the idle GPU before it, and the launches that were under way
     * when its seconds were over. 0: the limit of any evaluation. */
    double energy_limit_s = 2 * live->workers->run_timeout_s + energy_s + idle_s;
    double limit_s = own.trial != HN_SUSPICION_NONE ? trial_s : energy_s > 0 ? energy_limit_s : 0;
    if (hn_failed(err))
        return;
    /* The time that it is held against is the first card's. */
    own.censor_us *= card->ratio;
    /* In a process that has launched nothing of it. */
    if (own.trial != HN_SUSPICION_NONE)
        hn_card_drop(card);
    ask(card, &job->message, "evaluate", &own, limit_s, err);
    if (hn_failed(err))
        return;
    card->job = take_job(job);
    card->evaluating = true;
}

static bool is_free(const struct hn_card *card)
{
    return card->state == HN_CARD_READY && !card->evaluating && !card->requested &&
           hn_card_is_reachable(card);
}

/* A card that can evaluate now, the lead first; NULL: there is none. */
static struct hn_card *find_idle(const struct hn_live *live)
{
    const struct hn_workers *workers = live->workers;
    struct hn_card *idle = is_free(workers->lead) ? workers->lead : NULL;
    for (size_t i = 0; idle == NULL && i < workers->card_count; i++)
        idle = is_free(workers->cards[i]) ? workers->cards[i] : NULL;
    return idle;
}

void hn_live_cards_look(struct hn_live *live, struct hn_backend_state *state)
{
    state->idle = live->returned_count == 0 && find_idle(live) != NULL;
    state->quiet = live->returned_count == 0 && live->event_count == 0;
    for (size_t i = 0; i < live->workers->card_count; i++)
        state->quiet = state->quiet && !live->workers->cards[i]->evaluating;
}

void hn_live_evaluate(struct hn_live *live, const struct hn_start *start, struct hn_error *err)
{
    struct hn_card_job job HN_ENDED_BY(hn_card_job_finish) = {.ticket = start->ticket,
                                                              .request = *start->request};
    hn_live_ensure_reference(live, start->point, err);
    /* Finals are measured on one card. */
    struct hn_card *card = start->request->measure ? find_idle(live) : live->workers->lead;
    hn_message_init(&job.message, "evaluate");
    hn_live_add_variant(&job.message, job.message.json, start->point, start->image, err);
    if (!hn_failed(err))
        hn_bindings_copy(&job.point, start->point, err);
    if (card != NULL)
        begin_evaluation(live, card, &job, err);
    else if (!hn_failed(err))
        *HN_NEXT(live->returned, live->returned_count) = take_job(&job);
}

void hn_live_card_scale(const struct hn_card *card, struct hn_record *record)
{
    struct hn_timing *timing = &record->timing;
    double *const times[] = {&timing->median_us, &timing->low_us, &timing->high_us,
                             &timing->resolution_us, &timing->host_us};
    if (card->host != NULL) {
        snprintf(record->host, sizeof record->host, "%s", card->host_name);
        snprintf(record->card, sizeof record->card, "%s", card->device.uuid);
    }
    if (card->ratio == 1)
        return;
    record->ratio = card->ratio;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        *times[i] /= card->ratio;
    for (size_t i = 0; timing->samples_us != NULL && i < timing->sample_count; i++)
        timing->samples_us[i] /= card->ratio;
}

void hn_live_read_record(const struct hn_card *card, const struct hn_bindings *point,
                         const struct hn_gpu_result *result, struct hn_record *record,
                         struct hn_error *err)
{
    *record = (struct hn_record){0};
    if (hn_failed(err))
        return;
    if (result->end != HN_GPU_REPLY) {
        hn_record_fail(record,
                       result->end == HN_GPU_TIMEOUT ? HN_OUTCOME_RUN_TIMEOUT
                                                     : HN_OUTCOME_WORKER_CRASH,
                       "%s", result->text);
        hn_bindings_copy(&record->point, point, err);
    } else {
        hn_record_from_json(json_object_get(result->message.json, "record"), NULL, record, err);
        if (!hn_failed(err) && !hn_bindings_equal(&record->point, point))
            hn_fail(err, HN_EFORMAT, "the GPU worker answers for another point");
        /* A failed device assertion is told in what the worker printed. */
        if (!hn_failed(err) && record->message != NULL && result->text[0] != '\0')
            hn_record_fail(record, record->outcome, "%s%s", record->message, result->text);
    }
    /* Another card may hold its trial. */
    if (!hn_failed(err))
        hn_live_card_scale(card, record);
}

/* The first that the lead has measured in full. */
static void keep_anchor(struct hn_live *live, struct hn_card_job *job,
                        const struct hn_record *record, struct hn_error *err)
{
    struct hn_live_anchor *anchor = &live->anchors[live->anchor_count];
    bool suits = live->workers->hosts != NULL && record->outcome == HN_OUTCOME_OK &&
                 job->request.measure && record->timing.median_us > 0;
    live->lead_finished++;
    if (!suits || live->anchor_count == HN_ANCHORS || live->workers->lead->ratio != 1 ||
        hn_bindings_copy(&anchor->point, &job->point, err) != HN_OK)
        return;
    anchor->message = job->message;
    job->message = (struct hn_message){0};
    anchor->median_us = record->timing.median_us;
    live->anchor_count++;
}

/* Where the trial came to no end, it was the check that failed. */
static void end_trial(struct hn_live *live, struct hn_card_job *job, struct hn_record *record)
{
    if (record->outcome == HN_OUTCOME_RUN_TIMEOUT || record->outcome == HN_OUTCOME_WORKER_CRASH) {
        record->outcome = HN_OUTCOME_OK;
        record->suspicion = HN_SUSPICION_CHECK_FAILED;
    }
    live->trials[record->suspicion]++;
    if (job->suspect.suspicion == HN_SUSPICION_NONE)
        return;
    struct hn_record verdict HN_ENDED_BY(hn_record_finish) = *record;
    *record = job->suspect;
    job->suspect = (struct hn_record){.outcome = HN_OUTCOME_OK};
    record->suspicion = verdict.suspicion;
    if (verdict.outcome != HN_OUTCOME_OK)
        hn_record_fail(record, verdict.outcome, "%s",
                       verdict.message != NULL ? verdict.message : "failed");
}

/* It becomes an event, unless there is a trial first. */
static void take_evaluated(struct hn_live *live, struct hn_card *card,
                           const struct hn_gpu_result *result, struct hn_error *err)
{
    struct hn_card_job *job = &card->job;
    struct hn_record record;
    bool tried = job->request.trial != HN_SUSPICION_NONE;
    hn_live_read_record(card, &job->point, result, &record, err);
    card->measured += !hn_failed(err) && job->request.measure;
    if (!hn_failed(err) && !tried && record.suspicion >= HN_SUSPICION_CHECKED &&
        record.outcome == HN_OUTCOME_OK) {
        /* The record waits for what the trial says. */
        struct hn_card_job trial HN_ENDED_BY(hn_card_job_finish) = take_job(job);
        trial.suspect = record;
        trial.request = (struct hn_bench_request){.trial = record.suspicion};
        begin_evaluation(live, card, &trial, err);
        return;
    }
    if (!hn_failed(err) && tried)
        end_trial(live, job, &record);
    else if (!hn_failed(err) && card == live->workers->lead)
        keep_anchor(live, job, &record, err);
    if (hn_failed(err)) {
        hn_record_finish(&record);
        return;
    }
    *HN_NEXT(live->events, live->event_count) = (struct hn_backend_event){
        .kind = HN_EVENT_EVALUATED, .ticket = job->ticket, .record = record};
    hn_card_job_finish(job);
    card->evaluating = false;
}

/* Its worker is killed, and others take what it was at. */
static void give_back(struct hn_live *live, struct hn_card *card)
{
    hn_card_drop(card);
    if (card->evaluating)
        *HN_NEXT(live->returned, live->returned_count) = take_job(&card->job);
    card->evaluating = false;
}

static bool is_lost(const struct hn_card *card)
{
    return card->out || card->refusal[0] != '\0' || hn_card_is_left_out(card);
}

/* Whether a device can measure beside the lead's; reason: why not. */
static enum hn_status check_match(const struct hn_live *live, const struct hn_card *card,
                                  struct hn_error *reason)
{
    const struct hn_device *device = &card->device, *lead = &live->base.device;
    if (!hn_device_identity_equal(&device->identity, &lead->identity))
        return hn_fail(reason, HN_ERUN,
                       "it is another model (%.80s, and the first card is %.80s): tune it on "
                       "its own, by a --workers that names such cards alone",
                       device->identity.name, lead->identity.name);
    if (strcmp(device->driver, lead->driver) != 0)
        return hn_fail(reason, HN_ERUN, "its driver is %.31s, and the first card's is %.31s",
                       device->driver, lead->driver);
    return HN_OK;
}

/* It is of no use for this problem. */
static void give_up(struct hn_live *live, struct hn_card *card, const char *reason)
{
    snprintf(card->refusal, sizeof card->refusal, "%.390s", reason);
    card->state = HN_CARD_OUT;
    give_back(live, card);
}

/* One that is there now rather than one that may be back. Before the lead was prepared, one that is
 * open and of its model. */
static struct hn_card *find_successor(struct hn_live *live)
{
    struct hn_error mismatch;
    struct hn_card *found = NULL;
    for (size_t i = 0; i < live->workers->card_count; i++) {
        struct hn_card *card = live->workers->cards[i];
        bool open = card->state == HN_CARD_NEW && card->known && !live->prepared;
        if (card == live->workers->lead || (card->state != HN_CARD_READY && !open) || is_lost(card))
            continue;
        if (open && check_match(live, card, &mismatch) != HN_OK) {
            give_up(live, card, mismatch.message);
            continue;
        }
        if (hn_card_is_reachable(card))
            return card;
        found = found != NULL ? found : card;
    }
    return found;
}

static bool promote(struct hn_live *live)
{
    struct hn_card *lost = live->workers->lead;
    struct hn_card *next = is_lost(lost) ? find_successor(live) : NULL;
    if (next == NULL)
        return false;
    give_back(live, lost);
    if (!live->prepared)
        hn_card_keep_as(next, lost);
    lost->state = HN_CARD_OUT;
    live->workers->lead = next;
    return true;
}

/* Whether one may still become a successor. */
static bool has_heir(struct hn_live *live)
{
    for (size_t i = 0; i < live->workers->card_count; i++) {
        const struct hn_card *card = live->workers->cards[i];
        if (card != live->workers->lead && card->state != HN_CARD_OUT && !is_lost(card))
            return true;
    }
    return false;
}

/* A request to the lead failed, or its answer is of no use, as err says: where there is another
 * card, that leads from now on (true, and err is empty again), and the lead is left out. */
static bool succeed(struct hn_live *live, struct hn_error *err)
{
    struct hn_card *card = live->workers->lead;
    if (!hn_failed(err))
        return false;
    if (!live->ends && card->host != NULL && !is_lost(card) &&
        (has_heir(live) || live->workers->whole != NULL))
        snprintf(card->refusal, sizeof card->refusal, "%.390s", err->message);
    while (!live->ends && err->status != HN_EINTERRUPTED && is_lost(live->workers->lead) &&
           !promote(live) && has_heir(live)) {
        struct hn_error reason = {.status = HN_OK};
        hn_live_sleep(live, &reason);
        if (hn_failed(&reason))
            *err = reason;
    }
    if (live->ends || live->workers->lead == card)
        return false;
    hn_error_init(err);
    return true;
}

bool hn_live_ask(struct hn_live *live, struct hn_message *message, double timeout_s,
                 struct hn_gpu_result *result, struct hn_error *err)
{
    bool again = live->asks ? succeed(live, err) : !hn_failed(err);
    live->asks = true;
    for (; again; again = succeed(live, err)) {
        struct hn_card *lead = live->workers->lead;
        hn_message_finish(&result->message);
        ask(lead, message, hn_message_type(message), NULL, timeout_s, err);
        do {
            hn_card_process(lead, result, err);
            if (result->end == HN_GPU_NOTHING)
                hn_live_sleep(live, err);
        } while (!hn_failed(err) && result->end == HN_GPU_NOTHING);
        if (!hn_failed(err))
            return true;
    }
    live->asks = false;
    if (hn_failed(err)) /* or it would be at that request for ever */
        hn_card_drop(live->workers->lead);
    hn_message_finish(&result->message);
    hn_message_finish(message);
    return false;
}

/* err, here and below: why the card cannot be used. */
static void follow(struct hn_live *live, struct hn_card *card, struct hn_error *err)
{
    const struct hn_bench_request request = {.verify = true};
    if (check_match(live, card, err) != HN_OK)
        return;
    hn_card_keep_as(card, live->workers->lead);
    card->state = live->warm.json != NULL ? HN_CARD_VERIFYING : HN_CARD_ANCHORING;
    if (live->warm.json != NULL)
        ask(card, &live->warm, "evaluate", &request, 0, err);
}

/* All anchors are measured that there will be. */
static void settle_ratio(struct hn_live *live, struct hn_card *card, struct hn_error *err)
{
    size_t count = card->ratio_count;
    double ratio = count > 0 ? hn_median(card->ratios, count) : 1;
    if (count == 0 && live->anchor_count > 0)
        hn_fail(err, HN_ERUN, "it measured none of the points that the first card did");
    else if (ratio > most_ratio || ratio < 1 / most_ratio)
        hn_fail(err, HN_ERUN,
                "it takes %.2f times as long as the first card, which is no card of the same kind "
                "or a busy one",
                ratio);
    if (hn_failed(err))
        return;
    double spread = count == 1 ? lone_spread : 0;
    for (size_t i = 0; i < count; i++)
        spread = fmax(spread, fabs(card->ratios[i] / ratio - 1));
    card->ratio = ratio;
    card->state = HN_CARD_READY;
    live->base.spread = fmax(live->base.spread, spread);
}

static void measure_anchors(struct hn_live *live, struct hn_card *card, struct hn_error *err)
{
    const struct hn_bench_request request = {.verify = true, .measure = true, .full = true};
    bool all = live->anchor_count == HN_ANCHORS ||
               (live->anchor_count > 0 && live->lead_finished >= ANCHORS_WITHIN) ||
               is_lost(live->workers->lead);
    if (card->anchor < live->anchor_count)
        ask(card, &live->anchors[card->anchor].message, "evaluate", &request, 0, err);
    else if (all)
        settle_ratio(live, card, err);
}

static void take_result(struct hn_live *live, struct hn_card *card, struct hn_gpu_result *result,
                        struct hn_error *err)
{
    const struct hn_live_anchor *anchor;
    struct hn_record record HN_ENDED_BY(hn_record_finish) = {0};
    struct hn_error ignored = {.status = HN_OK};
    switch (card->state) {
    case HN_CARD_VERIFYING:
        card->state = HN_CARD_WARMING;
        ask(card, &live->warm, "warm_up", NULL, 60, err);
        break;
    case HN_CARD_WARMING:
        card->state = HN_CARD_ANCHORING;
        measure_anchors(live, card, err);
        break;
    case HN_CARD_ANCHORING:
        anchor = &live->anchors[card->anchor++];
        hn_live_read_record(card, &anchor->point, result, &record, &ignored);
        if (!hn_failed(&ignored) && record.outcome == HN_OUTCOME_OK && record.timing.median_us > 0)
            card->ratios[card->ratio_count++] = record.timing.median_us / anchor->median_us;
        measure_anchors(live, card, err);
        break;
    case HN_CARD_READY:
        take_evaluated(live, card, result, err);
        break;
    default:
        break;
    }
    hn_message_finish(&result->message);
}

static void move_card(struct hn_live *live, struct hn_card *card)
{
    struct hn_gpu_result result;
    struct hn_error reason = {.status = HN_OK};
    if (!card->known || card->out || card->state == HN_CARD_OUT)
        return;
    if (card->state == HN_CARD_NEW) {
        if (!hn_card_is_reachable(card))
            return;
        card->refusal[0] = '\0';
        if (live->prepared)
            follow(live, card, &reason);
        else
            hn_card_process(card, &result, &reason);
    } else if (card->state == HN_CARD_ANCHORING && !card->requested) {
        measure_anchors(live, card, &reason);
    } else {
        hn_card_process(card, &result, &reason);
        if (result.end != HN_GPU_NOTHING && !hn_failed(&reason)) {
            take_result(live, card, &result, &reason);
        } else if (!hn_failed(&reason) && card->evaluating && !hn_card_is_reachable(card)) {
            /* Its host is gone, for a while or for good. */
            give_back(live, card);
        }
    }
    if (hn_failed(&reason))
        give_up(live, card, reason.message);
}

static void move_others(struct hn_live *live, struct hn_error *err)
{
    if (hn_failed(err) || live->workers->hosts == NULL)
        return;
    /* With each event; where there are hundreds of cards, few have anything to say. */
    double now_ms = hn_now_ms();
    bool looks_at_all = now_ms - live->looked_ms >= look_ms;
    if (looks_at_all)
        live->looked_ms = now_ms;
    /* Drivers take their time to come up, in which the lead is set up. */
    if (live->workers->lead->known && live->workers->whole == NULL &&
        (looks_at_all || !live->opened))
        live->opened = hn_workers_open_cards(live->workers);
    struct hn_card *lead = live->workers->lead;
    bool reachable = hn_card_is_reachable(lead);
    /* The lead's point need not wait for its host where others are there. */
    if (lead->evaluating && !reachable)
        give_back(live, lead);
    /* Who waits for it sees that it is lost, and asks another. */
    if (!reachable && !lead->requested)
        promote(live);
    for (size_t i = 0; lead->known && !hn_failed(err) && i < live->workers->card_count; i++) {
        struct hn_card *card = live->workers->cards[i];
        bool quiet = card->state == HN_CARD_READY && hn_card_is_quiet(card);
        if (card != live->workers->lead && (looks_at_all || !quiet))
            move_card(live, card);
    }
    /* Evaluations that came back go to whoever is free. */
    struct hn_card *idle;
    while (!hn_failed(err) && live->returned_count > 0 && (idle = find_idle(live)) != NULL) {
        begin_evaluation(live, idle, &live->returned[live->returned_count - 1], err);
        live->returned_count -= !hn_failed(err);
    }
}

void hn_live_cards_move(struct hn_live *live, struct hn_error *err)
{
    struct hn_gpu_result result;
    move_others(live, err);
    struct hn_card *lead = live->workers->lead;
    live->ends = hn_failed(err);
    if (hn_failed(err) || live->asks || live->event_count > 0 || !lead->known)
        return;
    hn_card_process(lead, &result, err);
    if (!hn_failed(err) && result.end != HN_GPU_NOTHING)
        take_evaluated(live, lead, &result, err);
    hn_message_finish(&result.message);
    /* Whoever leads then is set up with the same. */
    succeed(live, err);
}
