/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    for (size_t i = 0; i < live->kept_count; i++)
        hn_message_finish(&live->kept[i]);
    for (size_t i = 0; i < live->anchor_count; i++) {
        hn_message_finish(&live->anchors[i].message);
        hn_bindings_finish(&live->anchors[i].point);
    }
    hn_message_finish(&live->warm);
    free(live->returned);
    free(live->events);
    free(live->kept);
}

enum hn_status hn_live_return(struct hn_live *live, struct hn_live_flight *flight,
                              struct hn_error *err)
{
    struct hn_live_flight *returned =
        realloc(live->returned, (live->returned_count + 1) * sizeof *returned);
    if (returned == NULL)
        return hn_fail_memory(err);
    live->returned = returned;
    returned[live->returned_count++] = *flight;
    *flight = (struct hn_live_flight){.ticket = 0};
    hn_bindings_init(&flight->point);
    return HN_OK;
}

static enum hn_status give_back(struct hn_live *live, struct hn_live_card *card,
                                struct hn_error *err)
{
    card->evaluating = false;
    return hn_live_return(live, &card->flight, err);
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

static void give_setup(const struct hn_live *live, struct hn_card *card)
{
    struct hn_message context;
    hn_message_init(&context, "context");
    if (!card->has_context)
        hn_gpu_client_keep(card->gpu, &context, NULL, false);
    hn_message_finish(&context);
    card->has_context = true;
    for (size_t i = 0; i < live->kept_count; i++)
        hn_gpu_client_keep(card->gpu, &live->kept[i], NULL, false);
}

/* It is of no use for this problem; others take what it was at. */
static enum hn_status give_up(struct hn_live *live, struct hn_live_card *card, const char *reason,
                              struct hn_error *err)
{
    snprintf(card->card->refusal, sizeof card->card->refusal, "%.390s", reason);
    card->state = HN_CARD_OUT;
    hn_gpu_client_drop(card->card->gpu);
    return card->evaluating ? give_back(live, card, err) : HN_OK;
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
            (void)give_up(live, card, mismatch, NULL);
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
    if (next == NULL || (lost->evaluating && give_back(live, lost, NULL) != HN_OK))
        return false;
    if (!live->prepared)
        give_setup(live, next->card);
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

enum hn_status hn_live_succeed(struct hn_live *live, enum hn_status failed, struct hn_error *err)
{
    struct hn_card *card = live->lead->card;
    bool by_card = !live->ends && card->host != NULL;
    if (by_card && !is_lost(live->lead) && (has_heir(live) || live->workers->wakeup >= 0))
        snprintf(card->refusal, sizeof card->refusal, "%.390s", err->message);
    while (!live->ends && failed != HN_EINTERRUPTED && is_lost(live->lead)) {
        struct hn_error reason = {.message = ""};
        if (promote(live))
            return HN_OK;
        if (!has_heir(live))
            return failed;
        enum hn_status status = hn_live_sleep(live, &reason);
        if (status != HN_OK) {
            *err = reason;
            return status;
        }
    }
    return failed;
}

/* Whether it has been given what is kept. */
static bool is_set_up(const struct hn_live_card *card)
{
    return card->state > HN_CARD_OPENING && card->state < HN_CARD_OUT;
}

static enum hn_status keep(struct hn_live *live, const struct hn_message *message,
                           const char *replaces, struct hn_error *err)
{
    for (size_t i = 0; replaces != NULL && i < live->kept_count; i++) {
        if (strcmp(hn_message_type(&live->kept[i]), replaces) != 0)
            continue;
        hn_message_finish(&live->kept[i]);
        live->kept_count--;
        memmove(&live->kept[i], &live->kept[i + 1], (live->kept_count - i) * sizeof *live->kept);
        break;
    }
    struct hn_message *kept = realloc(live->kept, (live->kept_count + 1) * sizeof *kept);
    if (kept == NULL)
        return hn_fail_memory(err);
    live->kept = kept;
    enum hn_status status = hn_message_copy(&kept[live->kept_count], message, err);
    if (status == HN_OK)
        live->kept_count++;
    for (size_t i = 0; i < live->card_count && status == HN_OK; i++)
        if (&live->cards[i] != live->lead && is_set_up(&live->cards[i]))
            hn_gpu_client_keep(live->cards[i].card->gpu, message, replaces, false);
    return status;
}

enum hn_status hn_live_set_up(struct hn_live *live, const struct hn_message *message,
                              const char *replaces, struct hn_error *err)
{
    struct hn_gpu_client *lead = live->lead->card->gpu;
    enum hn_status status = HN_OK;
    /* Before others are there nobody else needs it. */
    if (live->workers->hosts != NULL)
        status = keep(live, message, replaces, err);
    if (status != HN_OK)
        return status;
    if (hn_gpu_client_busy(lead)) {
        hn_gpu_client_keep(lead, message, replaces, false);
        return HN_OK;
    }
    status = hn_gpu_client_setup(lead, message, replaces, NULL, err);
    /* Whoever leads then has it among what is kept. */
    return status == HN_OK ? HN_OK : hn_live_succeed(live, status, err);
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

enum hn_status hn_live_ask(struct hn_live *live, struct hn_message *message, double timeout_s,
                           struct hn_gpu_result *result, struct hn_error *err)
{
    enum hn_status status;
    bool again = true;
    while (again) {
        struct hn_message copy;
        struct hn_gpu_client *lead = live->lead->card->gpu;
        status = hn_message_copy(&copy, message, err);
        if (status == HN_OK)
            status = hn_gpu_client_request(lead, &copy, timeout_s, err);
        if (status == HN_OK)
            status = hn_gpu_client_wait(lead, result, err);
        again = status != HN_OK && hn_live_succeed(live, status, err) == HN_OK;
    }
    hn_message_finish(message);
    return status;
}

/* HN_EVENT_NONE: its ticket was given back. */
static enum hn_status add_event(struct hn_live *live, struct hn_backend_event *event,
                                struct hn_error *err)
{
    struct hn_backend_event *events =
        realloc(live->events, (live->event_count + 1) * sizeof *events);
    if (events == NULL) {
        hn_backend_event_finish(event);
        return hn_fail_memory(err);
    }
    live->events = events;
    events[live->event_count++] = *event;
    return HN_OK;
}

static enum hn_status ask(struct hn_live_card *card, const struct hn_message *message,
                          const struct hn_bench_request *request, const char *type,
                          double timeout_s, struct hn_error *err)
{
    struct hn_message copy;
    enum hn_status status = hn_message_copy(&copy, message, err);
    if (status != HN_OK)
        return status;
    /* The JSON of a copy is the original's. */
    json_t *json = json_copy(copy.json);
    json_decref(copy.json);
    copy.json = json;
    json_object_set_new(json, "type", json_string(type));
    if (request != NULL)
        json_object_set_new(json, "request",
                            hn_fields_to_json(&hn_bench_request_structure, request));
    status = hn_gpu_client_request(card->card->gpu, &copy, timeout_s, err);
    hn_message_finish(&copy);
    return status;
}

static enum hn_status follow(struct hn_live *live, struct hn_live_card *card, struct hn_error *err)
{
    char mismatch[400];
    if (find_mismatch(live, card, mismatch) != NULL)
        return give_up(live, card, mismatch, err);
    enum hn_status status = HN_OK;
    give_setup(live, card->card);
    const struct hn_bench_request request = {.verify = true};
    card->state = live->warm.json != NULL ? HN_CARD_VERIFYING : HN_CARD_ANCHORING;
    if (status == HN_OK && live->warm.json != NULL)
        status = ask(card, &live->warm, &request, "evaluate", 0, err);
    return status;
}

static void take_anchor(const struct hn_live *live, struct hn_live_card *card,
                        struct hn_gpu_result *result)
{
    struct hn_record record;
    const struct hn_live_anchor *anchor = &live->anchors[card->anchor++];
    const struct hn_live_flight asked = {.point = anchor->point};
    if (hn_live_read_record(&asked, result, &record, NULL) == HN_OK &&
        record.outcome == HN_OUTCOME_OK && record.timing.median_us > 0)
        card->ratios[card->ratio_count++] = record.timing.median_us / anchor->median_us;
    hn_record_finish(&record);
}

/* All anchors are measured that there will be. */
static enum hn_status settle_ratio(struct hn_live *live, struct hn_live_card *card,
                                   struct hn_error *err)
{
    double sorted[HN_ANCHORS];
    char reason[200];
    size_t count = card->ratio_count;
    memcpy(sorted, card->ratios, sizeof sorted);
    double ratio = count > 0 ? hn_median(sorted, count) : 1;
    if (count == 0 && live->anchor_count > 0)
        return give_up(live, card, "it measured none of the points that the first card did", err);
    if (ratio > most_ratio || ratio < 1 / most_ratio) {
        snprintf(reason, sizeof reason,
                 "it takes %.2f times as long as the first card, which is no card of the same kind "
                 "or a busy one",
                 ratio);
        return give_up(live, card, reason, err);
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
    return HN_OK;
}

static enum hn_status measure_anchors(struct hn_live *live, struct hn_live_card *card,
                                      struct hn_error *err)
{
    const struct hn_bench_request request = {.verify = true, .measure = true, .full = true};
    bool all = live->anchor_count == HN_ANCHORS ||
               (live->anchor_count > 0 && live->lead_finished >= ANCHORS_WITHIN) ||
               is_lost(live->lead);
    if (card->anchor < live->anchor_count)
        return ask(card, &live->anchors[card->anchor].message, &request, "evaluate", 0, err);
    return all ? settle_ratio(live, card, err) : HN_OK;
}

static enum hn_status take_result(struct hn_live *live, struct hn_live_card *card,
                                  struct hn_gpu_result *result, struct hn_error *err)
{
    struct hn_backend_event event;
    struct hn_error reason;
    enum hn_status status = HN_OK;
    switch (card->state) {
    case HN_CARD_OPENING:
        if (result->end != HN_GPU_REPLY)
            return give_up(live, card, result->text, err);
        status = hn_card_take_opened(card->card, &result->message, &reason);
        hn_message_finish(&result->message);
        card->state = HN_CARD_NEW;
        return status == HN_OK ? HN_OK : give_up(live, card, reason.message, err);
    case HN_CARD_VERIFYING:
        if (result->end == HN_GPU_REPLY)
            hn_message_finish(&result->message);
        card->state = HN_CARD_WARMING;
        return ask(card, &live->warm, NULL, "warm_up", 60, err);
    case HN_CARD_WARMING:
        if (result->end == HN_GPU_REPLY)
            hn_message_finish(&result->message);
        card->state = HN_CARD_ANCHORING;
        return measure_anchors(live, card, err);
    case HN_CARD_ANCHORING:
        take_anchor(live, card, result);
        return measure_anchors(live, card, err);
    case HN_CARD_READY:
        if (hn_live_card_take(live, card, result, &event, &reason) != HN_OK)
            return give_up(live, card, reason.message, err);
        return event.kind == HN_EVENT_NONE ? HN_OK : add_event(live, &event, err);
    case HN_CARD_NEW:
    case HN_CARD_OUT:
        break;
    }
    return HN_OK;
}

static enum hn_status begin(struct hn_live *live, struct hn_live_card *card, struct hn_error *err)
{
    if (!hn_gpu_client_reachable(card->card->gpu))
        return HN_OK;
    card->card->refusal[0] = '\0';
    /* Its host only compiles. */
    if (hn_card_is_none(card->card)) {
        card->state = HN_CARD_OUT;
        return HN_OK;
    }
    if (card->card->known)
        return live->prepared ? follow(live, card, err) : HN_OK;
    /* The driver takes its time to come up, in which the lead is set up. */
    card->state = HN_CARD_OPENING;
    return hn_card_open(card->card, err);
}

static enum hn_status move_card(struct hn_live *live, struct hn_live_card *card,
                                struct hn_error *err)
{
    struct hn_gpu_result result;
    struct hn_error reason;
    if (card->state == HN_CARD_OUT)
        return HN_OK;
    if (card->state == HN_CARD_NEW)
        return begin(live, card, err);
    if (card->state == HN_CARD_ANCHORING && !hn_gpu_client_busy(card->card->gpu))
        return measure_anchors(live, card, err);
    enum hn_status status = hn_gpu_client_process(card->card->gpu, &result, &reason);
    if (status != HN_OK)
        return give_up(live, card, reason.message, err);
    if (result.end != HN_GPU_NOTHING)
        return take_result(live, card, &result, err);
    /* Its host is gone, for a while or for good. */
    if (card->evaluating && !hn_gpu_client_reachable(card->card->gpu)) {
        hn_gpu_client_drop(card->card->gpu);
        return give_back(live, card, err);
    }
    return HN_OK;
}

/* It measures, and nothing came of it. */
static bool is_quiet(const struct hn_live_card *card)
{
    return card->state == HN_CARD_READY && hn_gpu_client_quiet(card->card->gpu);
}

static enum hn_status look_for_cards(struct hn_live *live, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    (void)err;
    hn_workers_find_cards(live->workers);
    for (; live->card_count < live->workers->card_count; live->card_count++) {
        struct hn_live_card *card = &live->cards[live->card_count];
        card->card = live->workers->cards[live->card_count];
        card->ratio = 1;
        hn_bindings_init(&card->flight.point);
    }
    return status;
}

/* What came back goes to whoever is free. */
static enum hn_status hand_on(struct hn_live *live, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    struct hn_live_card *card;
    while (status == HN_OK && live->returned_count > 0 &&
           (card = hn_live_card_idle(live)) != NULL) {
        status = hn_live_card_evaluate(live, card, &live->returned[live->returned_count - 1], err);
        live->returned_count -= status == HN_OK;
    }
    return status;
}

enum hn_status hn_live_cards_move(struct hn_live *live, struct hn_error *err)
{
    if (live->workers->hosts == NULL)
        return HN_OK;
    /* With each event; where there are hundreds of cards, few have anything to say. */
    double now_ms = hn_now_ms();
    bool looks_at_all = now_ms - live->looked_ms >= look_ms;
    if (looks_at_all)
        live->looked_ms = now_ms;
    enum hn_status status = looks_at_all ? look_for_cards(live, err) : HN_OK;
    struct hn_live_card *lead = live->lead;
    /* The lead's point need not wait for its host where others are there. */
    if (status == HN_OK && lead->evaluating && !hn_gpu_client_reachable(lead->card->gpu)) {
        hn_gpu_client_drop(lead->card->gpu);
        status = give_back(live, lead, err);
    }
    /* Who waits for it sees that it is lost, and asks another. */
    if (!hn_gpu_client_reachable(lead->card->gpu) && !hn_gpu_client_busy(lead->card->gpu))
        promote(live);
    for (size_t i = 0; lead->card->known && status == HN_OK && i < live->card_count; i++)
        if (&live->cards[i] != live->lead && (looks_at_all || !is_quiet(&live->cards[i])))
            status = move_card(live, &live->cards[i], err);
    return status == HN_OK ? hand_on(live, err) : status;
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
