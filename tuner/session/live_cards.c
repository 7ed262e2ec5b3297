/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/statistics.h"
#include "cache/record/record_json.h"
#include "tuner/session/live.h"

/* Several cards of one model. The lead is set up first and measures; the others are opened, set up
 * with the same messages, warm up with the default point, measure what the lead has measured (the
 * anchors), and then take points like the lead. Their times are brought to the lead's by the median
 * ratio over the anchors. */

/* After so many points of the lead no more anchors are waited for. */
enum { ANCHORS_WITHIN = 8 };
/* A card that takes longer or shorter than this by the lead's times is another, whatever it is
 * called. */
static const double most_ratio = 1.5;
/* Limits in time, and hosts that come and go, are looked at so often. */
static const double look_ms = 20;
/* What one anchor alone may be wrong by. */
static const double lone_spread = 0.02;

void hn_live_cards_finish(struct hn_live *live)
{
    for (size_t i = 0; i < live->card_count; i++)
        hn_live_flight_finish(&live->cards[i].flight);
    for (size_t i = 0; i < live->returned_count; i++)
        hn_live_flight_finish(&live->returned[i]);
    for (size_t i = 0; i < live->event_count; i++)
        hn_backend_event_finish(&live->events[i]);
    for (size_t i = 0; i < live->anchor_count; i++) {
        hn_message_finish(&live->anchors[i].message);
        hn_bindings_finish(&live->anchors[i].point);
    }
    hn_message_finish(&live->warm);
    free(live->returned);
    free(live->events);
}

void hn_live_return(struct hn_live *live, struct hn_live_flight *flight)
{
    live->returned = hn_need_more(live->returned, live->returned_count + 1, sizeof *live->returned);
    live->returned[live->returned_count++] = *flight;
    *flight = (struct hn_live_flight){.ticket = 0};
    hn_bindings_init(&flight->point);
}

static void give_back(struct hn_live *live, struct hn_live_card *card)
{
    card->evaluating = false;
    hn_live_return(live, &card->flight);
}

static bool is_lost(const struct hn_live_card *card)
{
    struct hn_host_view view;
    if (card->card->host == NULL)
        return false;
    if (card->card->refusal[0] != '\0')
        return true;
    hn_host_look(card->card->host, &view);
    return view.state == HN_HOST_OUT;
}

/* Why a device can not measure beside the lead's; NULL: it can. */
static const char *find_mismatch(const struct hn_live *live, const struct hn_live_card *card,
                                 char text[400])
{
    const struct hn_device *device = &card->card->device;
    const struct hn_device *lead = &live->base.device;
    if (!hn_device_identity_equal(&device->identity, &lead->identity)) {
        snprintf(text, 400,
                 "it is another model (%.80s, and the first card is %.80s): tune it on "
                 "its own, by a --workers that names such cards alone",
                 device->identity.name, lead->identity.name);
        return text;
    }
    if (strcmp(device->driver, lead->driver) != 0) {
        snprintf(text, 400, "its driver is %.31s, and the first card's is %.31s", device->driver,
                 lead->driver);
        return text;
    }
    for (size_t i = 0; i < live->card_count; i++) {
        const struct hn_live_card *other = &live->cards[i];
        if (other == card || !other->card->known || other->state == HN_CARD_OUT ||
            strcmp(other->card->device.uuid, device->uuid) != 0)
            continue;
        snprintf(text, 400, "it is named twice: it is a card of host %.63s too",
                 other->card->host_name);
        return text;
    }
    return NULL;
}

/* It is of no use for this problem; others take what it was at. */
static void give_up(struct hn_live *live, struct hn_live_card *card, const char *reason)
{
    snprintf(card->card->refusal, sizeof card->card->refusal, "%.390s", reason);
    card->state = HN_CARD_OUT;
    hn_gpu_client_drop(card->card->gpu);
    if (card->evaluating)
        give_back(live, card);
}

/* One that is there now rather than one that may be back. Before the lead was prepared, one that is
 * open and of its model. */
static struct hn_live_card *find_successor(struct hn_live *live)
{
    char mismatch[400];
    struct hn_live_card *found = NULL;
    for (size_t i = 0; i < live->card_count; i++) {
        struct hn_live_card *card = &live->cards[i];
        bool open = card->state == HN_CARD_NEW && card->card->known && !live->prepared;
        if (card == live->lead || (card->state != HN_CARD_READY && !open) || is_lost(card))
            continue;
        if (open && find_mismatch(live, card, mismatch) != NULL) {
            give_up(live, card, mismatch);
            continue;
        }
        if (hn_gpu_client_reachable(card->card->gpu))
            return card;
        found = found != NULL ? found : card;
    }
    return found;
}

static bool promote(struct hn_live *live)
{
    struct hn_live_card *lost = live->lead;
    struct hn_live_card *next = is_lost(lost) ? find_successor(live) : NULL;
    if (next == NULL)
        return false;
    if (lost->evaluating)
        give_back(live, lost);
    if (!live->prepared)
        hn_gpu_client_keep_as(next->card->gpu, lost->card->gpu);
    hn_gpu_client_drop(lost->card->gpu);
    lost->state = HN_CARD_OUT;
    live->lead = next;
    live->workers->lead = next->card;
    return true;
}

/* Whether one may still become a successor. */
static bool has_heir(struct hn_live *live)
{
    for (size_t i = 0; i < live->card_count; i++)
        if (&live->cards[i] != live->lead && live->cards[i].state != HN_CARD_OUT &&
            !is_lost(&live->cards[i]))
            return true;
    return false;
}

bool hn_live_succeed(struct hn_live *live, struct hn_error *err)
{
    struct hn_card *card = live->lead->card;
    bool by_card = !live->ends && card->host != NULL;
    if (!hn_failed(err))
        return false;
    if (by_card && !is_lost(live->lead) && (has_heir(live) || live->workers->whole != NULL))
        snprintf(card->refusal, sizeof card->refusal, "%.390s", err->message);
    while (!live->ends && err->status != HN_EINTERRUPTED && is_lost(live->lead)) {
        struct hn_error reason;
        if (promote(live)) {
            hn_error_init(err);
            return true;
        }
        if (!has_heir(live))
            return false;
        hn_error_init(&reason);
        hn_live_sleep(live, &reason);
        if (hn_failed(&reason))
            *err = reason;
    }
    return false;
}

/* Whether it has been given what is kept. */
static bool is_set_up(const struct hn_live_card *card)
{
    return card->state > HN_CARD_OPENING && card->state < HN_CARD_OUT;
}

void hn_live_set_up(struct hn_live *live, const struct hn_message *message, const char *replaces,
                    struct hn_error *err)
{
    for (size_t i = 0; !hn_failed(err) && i < live->card_count; i++)
        if (&live->cards[i] == live->lead || is_set_up(&live->cards[i]))
            hn_gpu_client_keep(live->cards[i].card->gpu, message, replaces, false);
}

void hn_live_set_up_lead(struct hn_live *live, struct hn_error *err)
{
    struct hn_gpu_result result;
    struct hn_card *lead = live->lead->card;
    if (hn_failed(err) || !lead->known || hn_gpu_client_busy(lead->gpu) || is_lost(live->lead))
        return;
    hn_gpu_client_process(lead->gpu, &result, err);
    /* Whoever leads then is set up with the same. */
    hn_live_succeed(live, err);
}

static bool is_free(const struct hn_live_card *card)
{
    return card->state == HN_CARD_READY && !card->evaluating &&
           !hn_gpu_client_busy(card->card->gpu) && hn_gpu_client_reachable(card->card->gpu);
}

struct hn_live_card *hn_live_card_idle(struct hn_live *live)
{
    if (is_free(live->lead))
        return live->lead;
    for (size_t i = 0; i < live->card_count; i++)
        if (is_free(&live->cards[i]))
            return &live->cards[i];
    return NULL;
}

bool hn_live_cards_quiet(const struct hn_live *live)
{
    bool quiet = live->returned_count == 0 && live->event_count == 0;
    for (size_t i = 0; i < live->card_count; i++)
        quiet = quiet && !live->cards[i].evaluating;
    return quiet;
}

void hn_live_ask(struct hn_live *live, struct hn_message *message, double timeout_s,
                 struct hn_gpu_result *result, struct hn_error *err)
{
    bool again = !hn_failed(err);
    while (again) {
        struct hn_message copy;
        struct hn_gpu_client *lead = live->lead->card->gpu;
        if (hn_message_copy(&copy, message, err) == HN_OK &&
            hn_gpu_client_request(lead, &copy, timeout_s, err) == HN_OK)
            while (!hn_failed(err) && hn_gpu_client_process(lead, result, err) == HN_OK &&
                   result->end == HN_GPU_NOTHING)
                hn_live_sleep(live, err);
        again = hn_live_succeed(live, err);
    }
    hn_message_finish(message);
}

static void ask(struct hn_live_card *card, const struct hn_message *message,
                const struct hn_bench_request *request, const char *type, double timeout_s,
                struct hn_error *err)
{
    struct hn_message copy;
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
    hn_gpu_client_request(card->card->gpu, &copy, timeout_s, err);
    hn_message_finish(&copy);
}

static void follow(struct hn_live *live, struct hn_live_card *card, struct hn_error *err)
{
    char mismatch[400];
    const struct hn_bench_request request = {.verify = true};
    if (find_mismatch(live, card, mismatch) != NULL) {
        give_up(live, card, mismatch);
        return;
    }
    hn_gpu_client_keep_as(card->card->gpu, live->lead->card->gpu);
    card->state = live->warm.json != NULL ? HN_CARD_VERIFYING : HN_CARD_ANCHORING;
    if (live->warm.json != NULL)
        ask(card, &live->warm, &request, "evaluate", 0, err);
}

static void take_anchor(const struct hn_live *live, struct hn_live_card *card,
                        struct hn_gpu_result *result)
{
    struct hn_record record;
    struct hn_error ignored;
    const struct hn_live_anchor *anchor = &live->anchors[card->anchor++];
    const struct hn_live_flight asked = {.point = anchor->point};
    hn_error_init(&ignored);
    hn_live_read_record(&asked, result, &record, &ignored);
    if (!hn_failed(&ignored) && record.outcome == HN_OUTCOME_OK && record.timing.median_us > 0)
        card->ratios[card->ratio_count++] = record.timing.median_us / anchor->median_us;
    hn_record_finish(&record);
}

/* All anchors are measured that there will be. */
static void settle_ratio(struct hn_live *live, struct hn_live_card *card)
{
    double sorted[HN_ANCHORS];
    char reason[200];
    size_t count = card->ratio_count;
    memcpy(sorted, card->ratios, sizeof sorted);
    double ratio = count > 0 ? hn_median(sorted, count) : 1;
    if (count == 0 && live->anchor_count > 0) {
        give_up(live, card, "it measured none of the points that the first card did");
        return;
    }
    if (ratio > most_ratio || ratio < 1 / most_ratio) {
        snprintf(reason, sizeof reason,
                 "it takes %.2f times as long as the first card, which is no card of the same kind "
                 "or a busy one",
                 ratio);
        give_up(live, card, reason);
        return;
    }
    double spread = lone_spread;
    if (count != 1) {
        spread = 0;
        for (size_t i = 0; i < count; i++)
            spread = fmax(spread, fabs(card->ratios[i] / ratio - 1));
    }
    card->ratio = ratio;
    card->state = HN_CARD_READY;
    live->base.spread = fmax(live->base.spread, spread);
}

static void measure_anchors(struct hn_live *live, struct hn_live_card *card, struct hn_error *err)
{
    const struct hn_bench_request request = {.verify = true, .measure = true, .full = true};
    bool all = live->anchor_count == HN_ANCHORS ||
               (live->anchor_count > 0 && live->lead_finished >= ANCHORS_WITHIN) ||
               is_lost(live->lead);
    if (card->anchor < live->anchor_count)
        ask(card, &live->anchors[card->anchor].message, &request, "evaluate", 0, err);
    else if (all)
        settle_ratio(live, card);
}

static void take_opened(struct hn_live *live, struct hn_live_card *card,
                        struct hn_gpu_result *result)
{
    struct hn_error reason;
    card->state = HN_CARD_NEW;
    if (hn_card_take_opened(card->card, result, &reason) != HN_OK)
        give_up(live, card, reason.message);
}

static void take_evaluated(struct hn_live *live, struct hn_live_card *card,
                           struct hn_gpu_result *result)
{
    struct hn_backend_event event;
    struct hn_error reason;
    hn_error_init(&reason);
    if (hn_live_card_take(live, card, result, &event, &reason)) {
        live->events = hn_need_more(live->events, live->event_count + 1, sizeof *live->events);
        live->events[live->event_count++] = event;
    } else if (hn_failed(&reason)) {
        give_up(live, card, reason.message);
    }
}

static void take_result(struct hn_live *live, struct hn_live_card *card,
                        struct hn_gpu_result *result, struct hn_error *err)
{
    switch (card->state) {
    case HN_CARD_OPENING:
        take_opened(live, card, result);
        break;
    case HN_CARD_VERIFYING:
        if (result->end == HN_GPU_REPLY)
            hn_message_finish(&result->message);
        card->state = HN_CARD_WARMING;
        ask(card, &live->warm, NULL, "warm_up", 60, err);
        break;
    case HN_CARD_WARMING:
        if (result->end == HN_GPU_REPLY)
            hn_message_finish(&result->message);
        card->state = HN_CARD_ANCHORING;
        measure_anchors(live, card, err);
        break;
    case HN_CARD_ANCHORING:
        take_anchor(live, card, result);
        measure_anchors(live, card, err);
        break;
    case HN_CARD_READY:
        take_evaluated(live, card, result);
        break;
    case HN_CARD_NEW:
    case HN_CARD_OUT:
        break;
    }
}

static void begin(struct hn_live *live, struct hn_live_card *card, struct hn_error *err)
{
    struct hn_gpu_result result;
    struct hn_error reason;
    if (!hn_gpu_client_reachable(card->card->gpu))
        return;
    card->card->refusal[0] = '\0';
    if (hn_card_is_none(card->card)) {
        /* Its host only compiles. */
        card->state = HN_CARD_OUT;
    } else if (!card->card->known) {
        /* The driver takes its time to come up, in which the lead is set up. */
        card->state = HN_CARD_OPENING;
        hn_card_open(card->card, err);
    } else if (live->prepared) {
        follow(live, card, err);
    } else if (hn_gpu_client_process(card->card->gpu, &result, &reason) != HN_OK) {
        give_up(live, card, reason.message);
    }
}

static void move_card(struct hn_live *live, struct hn_live_card *card, struct hn_error *err)
{
    struct hn_gpu_result result;
    struct hn_error reason;
    if (card->state == HN_CARD_OUT)
        return;
    if (card->state == HN_CARD_NEW) {
        begin(live, card, err);
        return;
    }
    if (card->state == HN_CARD_ANCHORING && !hn_gpu_client_busy(card->card->gpu)) {
        measure_anchors(live, card, err);
        return;
    }
    if (hn_gpu_client_process(card->card->gpu, &result, &reason) != HN_OK) {
        give_up(live, card, reason.message);
    } else if (result.end != HN_GPU_NOTHING) {
        take_result(live, card, &result, err);
    } else if (card->evaluating && !hn_gpu_client_reachable(card->card->gpu)) {
        /* Its host is gone, for a while or for good. */
        hn_gpu_client_drop(card->card->gpu);
        give_back(live, card);
    }
}

/* It measures, and nothing came of it. */
static bool is_quiet(const struct hn_live_card *card)
{
    return card->state == HN_CARD_READY && hn_gpu_client_quiet(card->card->gpu);
}

void hn_live_cards_add(struct hn_live *live)
{
    for (; live->card_count < live->workers->card_count; live->card_count++) {
        struct hn_live_card *card = &live->cards[live->card_count];
        *card = (struct hn_live_card){.card = live->workers->cards[live->card_count], .ratio = 1};
        hn_bindings_init(&card->flight.point);
    }
}

/* What came back goes to whoever is free. */
static void hand_on(struct hn_live *live, struct hn_error *err)
{
    struct hn_live_card *card;
    while (!hn_failed(err) && live->returned_count > 0 &&
           (card = hn_live_card_idle(live)) != NULL) {
        hn_live_card_evaluate(live, card, &live->returned[live->returned_count - 1], err);
        live->returned_count -= !hn_failed(err);
    }
}

void hn_live_cards_move(struct hn_live *live, struct hn_error *err)
{
    if (hn_failed(err) || live->workers->hosts == NULL)
        return;
    /* With each event; where there are hundreds of cards, few have anything to say. */
    double now_ms = hn_now_ms();
    bool looks_at_all = now_ms - live->looked_ms >= look_ms;
    if (looks_at_all) {
        live->looked_ms = now_ms;
        hn_workers_find_cards(live->workers);
        hn_live_cards_add(live);
    }
    struct hn_live_card *lead = live->lead;
    bool reachable = hn_gpu_client_reachable(lead->card->gpu);
    /* The lead's point need not wait for its host where others are there. */
    if (lead->evaluating && !reachable) {
        hn_gpu_client_drop(lead->card->gpu);
        give_back(live, lead);
    }
    /* Who waits for it sees that it is lost, and asks another. */
    if (!reachable && !hn_gpu_client_busy(lead->card->gpu))
        promote(live);
    for (size_t i = 0; lead->card->known && !hn_failed(err) && i < live->card_count; i++)
        if (&live->cards[i] != live->lead && (looks_at_all || !is_quiet(&live->cards[i])))
            move_card(live, &live->cards[i], err);
    hand_on(live, err);
}

static const char *doing(const struct hn_live *live, const struct hn_live_card *card)
{
    bool reachable = hn_gpu_client_reachable(card->card->gpu);
    switch (card->state) {
    case HN_CARD_NEW:
    case HN_CARD_OPENING:
        return reachable ? "starting" : "its host is not there";
    case HN_CARD_VERIFYING:
    case HN_CARD_WARMING:
        return "warming up";
    case HN_CARD_ANCHORING:
        return live->anchor_count > 0 ? "compared with the first" : "waiting for the first";
    case HN_CARD_READY:
        if (!reachable)
            return "its host is not there";
        return card->evaluating || hn_gpu_client_busy(card->card->gpu) ? "" : "nothing to measure";
    case HN_CARD_OUT:
        break;
    }
    return "left out";
}

size_t hn_live_cards_usage(struct hn_live *live)
{
    size_t count = live->workers->hosts != NULL ? live->card_count : 0;
    for (size_t i = 0; i < count; i++) {
        const struct hn_live_card *card = &live->cards[i];
        live->usages[i] = (struct hn_card_usage){.host = card->card->host_name,
                                                 .card = card->card->device.uuid,
                                                 .measured = card->measured,
                                                 .ratio = card->ratio,
                                                 .doing = doing(live, card)};
    }
    return count;
}
