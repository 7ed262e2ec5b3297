/* SPDX-License-Identifier: MIT */
#include "tuner/session/live.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "cache/record/record_json.h"
#include "runtime/compile/compile.h"
#include "runtime/plan/launch.h"

/* So often, at least, does what is to be done meanwhile get its turn. */
static const int sleep_limit_ms = 50;

static const int race_min_rounds = 6;
/* A race takes a tenth of what the search took, within these. */
static const double race_least_ms = 300;
static const double race_most_ms = 1500;
/* And so much of what is left of the time: before its rounds it lines up, behind them outputs are
 * compared. */
static const double within_end = 0.6;

static struct hn_live *live_of(const struct hn_backend *backend)
{
    return (struct hn_live *)(uintptr_t)backend;
}

/* --- compilations ----------------------------------------------------------------------------- */

/* How heavy the compilation of a point may be, 0 where the order is to be kept. */
static double weight_of(const struct hn_live *live, const struct hn_bindings *point)
{
    double weight = 0;
    /* What is unrolled, tiled or batched more makes more code: a guess that needs no knowledge. */
    for (size_t i = 0; live->options.any_order && i < point->count; i++) {
        const struct hn_value *value = &point->values[i];
        if (value->type == HN_INTEGER || value->type == HN_REAL)
            weight += log2(1 + fabs(hn_value_number(value)));
    }
    return weight;
}

static void want_point(struct hn_live *live, uint64_t ticket, const struct hn_bindings *point,
                       enum hn_rank rank, double patience_ms, struct hn_error *err)
{
    struct hn_source source;
    if (hn_failed(err))
        return;
    /* What takes long of it needs no worker. */
    hn_workers_unlock(live->workers);
    hn_task_source(live->base.task, point, &source, err);
    hn_workers_lock(live->workers);
    if (hn_failed(err))
        return;
    hn_compile_pool_ask(live->pool, ticket, &source, live->architecture, rank,
                        weight_of(live, point), patience_ms, err);
    hn_source_finish(&source);
}

/* The numbers of compilations that belong to no ticket yet; live_setup.c counts down from
 * UINT64_MAX. */
static uint64_t number_ahead(size_t ahead)
{
    return UINT64_MAX - 1000 - (uint64_t)ahead;
}

static void want_ahead(struct hn_live *live, const struct hn_device *device, struct hn_error *err)
{
    const struct hn_task *task = live->base.task;
    const struct hn_bindings *point = &live->options.ahead[live->ahead_count];
    struct hn_record record;
    struct hn_launch launch;
    size_t number = live->ahead_count++;
    hn_record_init(&record);
    hn_launch_make_checked(task->plan, device, task->problem, point, &launch, &record, err);
    if (record.outcome == HN_OUTCOME_OK)
        want_point(live, number_ahead(number), point, HN_RANK_GUESSED, INFINITY, err);
    hn_record_finish(&record);
    hn_launch_finish(&launch);
}

/* The device is known only once the driver is up, a tenth of a second and more into a tune. Its
 * architecture can be guessed long before: what will be wanted first is compiled for it meanwhile.
 */
static void start_ahead(struct hn_live *live, struct hn_error *err)
{
    struct hn_device device;
    int guess = live->workers->lead->gpu->guess;
    if (hn_failed(err) || live->workers->lead->known || live->own_started || guess == 0 ||
        (live->options.ahead_count == 0 && !live->options.measures))
        return;
    snprintf(live->architecture, sizeof live->architecture, "sm_%d", guess);
    /* One that we do not know is left to the driver. */
    if (hn_device_for_architecture(live->architecture, &device, NULL) != HN_OK) {
        live->options.ahead_count = 0;
        live->options.measures = false;
        return;
    }
    hn_compile_pool_set(live->pool, HN_COMPILE_HEAVY_FIRST,
                        live->options.any_order && live->options.ahead_is_all);
    hn_live_start_own(live, err);
    while (!hn_failed(err) && live->ahead_count < live->options.ahead_count)
        want_ahead(live, &device, err);
}

/* The device is known: what was compiled for another architecture is thrown away. */
static void check_ahead(struct hn_live *live)
{
    char architecture[sizeof live->architecture];
    snprintf(architecture, sizeof architecture, "sm_%d", live->base.device.identity.capability);
    if (live->own_started && strcmp(architecture, live->architecture) != 0) {
        hn_compile_pool_forget(live->pool, HN_RANK_SETUP, false);
        live->options.ahead_count = 0;
        live->own_started = false;
    }
    memcpy(live->architecture, architecture, sizeof architecture);
}

static void process_compilations(struct hn_live *live, struct hn_error *err)
{
    if (hn_failed(err))
        return;
    if (live->base.all_asked)
        hn_compile_pool_set(live->pool, HN_COMPILE_HEAVY_FIRST, live->options.any_order);
    hn_compile_pool_process(live->pool, err);
}

/* --- evaluations: asked for, answered, their times as the first card would have them -----------
 */

void hn_live_flight_finish(struct hn_live_flight *flight)
{
    hn_bindings_finish(&flight->point);
    hn_message_finish(&flight->message);
    hn_record_finish(&flight->suspect);
    *flight = (struct hn_live_flight){.ticket = 0};
    hn_bindings_init(&flight->point);
}

/* 0: that of any evaluation. A window of joules comes on top: the idle GPU before it, and the
 * launches that were under way when its seconds were over. */
static double limit_s(const struct hn_workers *workers, const struct hn_bench_request *request)
{
    const double idle_s = 5, trial_s = 300;
    if (request->trial != HN_SUSPICION_NONE)
        return trial_s;
    double energy_s = hn_bench_asked(request->observe, "energy");
    return energy_s > 0 ? 2 * workers->run_timeout_s + energy_s + idle_s : 0;
}

void hn_live_card_evaluate(struct hn_live *live, struct hn_live_card *card,
                           struct hn_live_flight *flight, struct hn_error *err)
{
    struct hn_message sent;
    /* What a time is held against is the first card's. */
    struct hn_bench_request own = flight->request;
    if (hn_failed(err))
        return;
    own.censor_us *= card->ratio;
    json_object_set_new(flight->message.json, "request",
                        hn_fields_to_json(&hn_bench_request_structure, &own));
    /* In a process that has launched nothing of it. */
    if (flight->request.trial != HN_SUSPICION_NONE)
        hn_gpu_client_drop(card->card->gpu);
    /* Somebody else may have to do it, or this card once more. */
    if (hn_message_copy(&sent, &flight->message, err) != HN_OK ||
        hn_gpu_client_request(card->card->gpu, &sent, limit_s(live->workers, &flight->request),
                              err) != HN_OK)
        return;
    card->flight = *flight;
    card->evaluating = true;
    *flight = (struct hn_live_flight){.ticket = 0};
    hn_bindings_init(&flight->point);
}

static void evaluate(struct hn_live *live, const struct hn_start *start, struct hn_error *err)
{
    struct hn_live_flight flight = {.ticket = start->ticket, .request = *start->request};
    hn_bindings_init(&flight.point);
    hn_live_ensure_reference(live, start->point, err);
    /* What decides is measured on one card. */
    struct hn_live_card *card = start->request->measure ? hn_live_card_idle(live) : live->lead;
    hn_live_make_evaluation(start->point, start->image, start->request, &flight.message, err);
    if (!hn_failed(err))
        hn_bindings_copy(&flight.point, start->point, err);
    if (card != NULL)
        hn_live_card_evaluate(live, card, &flight, err);
    else if (!hn_failed(err))
        hn_live_return(live, &flight);
    hn_live_flight_finish(&flight);
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
static void append_output(struct hn_record *record, const char *output)
{
    char *message;
    if (record->message == NULL || output[0] == '\0')
        return;
    if (asprintf(&message, "%s%s", record->message, output) < 0)
        hn_needed(NULL);
    free(record->message);
    record->message = message;
}

void hn_live_read_record(const struct hn_live_flight *flight, struct hn_gpu_result *result,
                         struct hn_record *record, struct hn_error *err)
{
    hn_record_init(record);
    if (hn_failed(err))
        return;
    if (result->end != HN_GPU_REPLY) {
        hn_record_fail(record,
                       result->end == HN_GPU_TIMEOUT ? HN_OUTCOME_RUN_TIMEOUT
                                                     : HN_OUTCOME_WORKER_CRASH,
                       "%s", result->text);
        hn_bindings_copy(&record->point, &flight->point, err);
        return;
    }
    hn_record_from_json(json_object_get(result->message.json, "record"), NULL, record, err);
    hn_message_finish(&result->message);
    if (!hn_failed(err) && !hn_bindings_equal(&record->point, &flight->point))
        hn_fail(err, HN_EFORMAT, "the GPU worker answers for another point");
    if (!hn_failed(err))
        append_output(record, result->text);
}

/* The first that the lead has measured in full. */
static void keep_anchor(struct hn_live *live, struct hn_live_flight *flight,
                        const struct hn_record *record, struct hn_error *err)
{
    struct hn_live_anchor *anchor = &live->anchors[live->anchor_count];
    bool suits = live->workers->hosts != NULL && record->outcome == HN_OUTCOME_OK &&
                 flight->request.measure && record->timing.median_us > 0;
    live->lead_finished++;
    if (!suits || live->anchor_count == HN_ANCHORS || live->lead->ratio != 1 ||
        hn_bindings_copy(&anchor->point, &flight->point, err) != HN_OK)
        return;
    anchor->message = flight->message;
    flight->message = (struct hn_message){0};
    anchor->median_us = record->timing.median_us;
    live->anchor_count++;
}

/* The record waits for what the trial says. */
static void begin_trial(struct hn_live *live, struct hn_live_card *card, struct hn_record *record,
                        struct hn_error *err)
{
    struct hn_live_flight flight = card->flight;
    flight.suspect = *record;
    flight.request = (struct hn_bench_request){.trial = record->suspicion};
    card->flight = (struct hn_live_flight){.ticket = 0};
    hn_record_init(record);
    hn_live_card_evaluate(live, card, &flight, err);
    hn_live_flight_finish(&flight);
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

bool hn_live_card_take(struct hn_live *live, struct hn_live_card *card,
                       struct hn_gpu_result *result, struct hn_backend_event *event,
                       struct hn_error *err)
{
    struct hn_live_flight *flight = &card->flight;
    struct hn_record record;
    bool tried = flight->request.trial != HN_SUSPICION_NONE;
    hn_live_read_record(flight, result, &record, err);
    if (!hn_failed(err) && !tried && record.suspicion >= HN_SUSPICION_CHECKED &&
        record.outcome == HN_OUTCOME_OK) {
        begin_trial(live, card, &record, err);
        return false;
    }
    if (!hn_failed(err) && tried)
        end_trial(live, flight, &record);
    else if (!hn_failed(err) && card == live->lead)
        keep_anchor(live, flight, &record, err);
    if (hn_failed(err)) {
        hn_record_finish(&record);
        return false;
    }
    hn_live_card_scale(card, &record);
    *event = (struct hn_backend_event){
        .kind = HN_EVENT_EVALUATED, .ticket = flight->ticket, .record = record};
    card->measured += flight->request.measure;
    hn_live_flight_finish(flight);
    card->evaluating = false;
    return true;
}

/* --- the loop --------------------------------------------------------------------------------- */

static void start_something(struct hn_backend *backend, const struct hn_start *start,
                            struct hn_error *err)
{
    struct hn_live *live = live_of(backend);
    hn_workers_lock(live->workers);
    if (start->request != NULL) {
        evaluate(live, start, err);
    } else {
        hn_compile_pool_set(live->pool, HN_COMPILE_KEEPS_SHARED, !backend->unshared);
        want_point(live, start->ticket, start->point, HN_RANK_ASKED, start->patience_ms, err);
    }
    hn_workers_unlock(live->workers);
}

static void complete(struct hn_backend *backend, const struct hn_bindings *point,
                     struct hn_image *image, char key[33], struct hn_error *err)
{
    if (!hn_failed(err))
        hn_task_complete_image(backend->task, &backend->device, point, image, key, err);
}

static void process_lead(struct hn_live *live, struct hn_backend_event *event, struct hn_error *err)
{
    struct hn_gpu_result result;
    struct hn_live_card *lead = live->lead;
    if (hn_failed(err))
        return;
    if (hn_gpu_client_process(lead->card->gpu, &result, err) == HN_OK &&
        result.end != HN_GPU_NOTHING)
        hn_live_card_take(live, lead, &result, event, err);
    hn_live_succeed(live, err);
}

/* One pass over all workers without blocking. */
static void process(struct hn_live *live, struct hn_backend_event *event, struct hn_error *err)
{
    hn_live_cards_move(live, err);
    if (!hn_failed(err) && live->event_count > 0) {
        *event = live->events[0];
        live->event_count--;
        memmove(live->events, live->events + 1, live->event_count * sizeof *live->events);
        return;
    }
    process_lead(live, event, err);
    if (hn_failed(err) || event->kind != HN_EVENT_NONE)
        return;
    process_compilations(live, err);
    if (!hn_failed(err) && hn_compile_pool_take(live->pool, &event->ticket, &event->image))
        event->kind = HN_EVENT_COMPILED;
}

static void sleep_on_workers(struct hn_live *live, int timeout_ms)
{
    if (hn_workers_sleep(live->workers, timeout_ms))
        live->looked_ms = 0;
}

void hn_live_sleep(struct hn_live *live, struct hn_error *err)
{
    if (hn_failed(err))
        return;
    if (hn_interrupt_check(err) == HN_OK && live->base.end_ms > 0 &&
        hn_now_ms() >= live->base.end_ms)
        hn_fail(err, HN_EINTERRUPTED, "%s", "");
    if (!hn_failed(err) && live->base.meanwhile != NULL) {
        hn_workers_unlock(live->workers);
        live->base.meanwhile(live->base.owner, err);
        hn_workers_lock(live->workers);
    }
    start_ahead(live, err);
    process_compilations(live, err);
    hn_live_cards_move(live, err);
    live->ends = hn_failed(err);
    hn_live_set_up_lead(live, err);
    if (!hn_failed(err))
        sleep_on_workers(live, sleep_limit_ms);
}

static void next_event(struct hn_backend *backend, int timeout_ms, struct hn_backend_event *event,
                       struct hn_error *err)
{
    struct hn_live *live = live_of(backend);
    *event = (struct hn_backend_event){.kind = HN_EVENT_NONE};
    hn_workers_lock(live->workers);
    process(live, event, err);
    if (!hn_failed(err) && event->kind == HN_EVENT_NONE && timeout_ms != 0) {
        sleep_on_workers(live, timeout_ms);
        process(live, event, err);
    }
    hn_workers_unlock(live->workers);
}

static void stop(struct hn_backend *backend)
{
    const struct hn_live *live = live_of(backend);
    hn_workers_lock(live->workers);
    hn_compile_pool_forget(live->pool, HN_RANK_SETUP, true);
    hn_workers_unlock(live->workers);
}

/* --- the race --------------------------------------------------------------------------------- */

static void make_race(const struct hn_run *run, double budget_ms, struct hn_message *message)
{
    const struct hn_race_rules rules = {race_min_rounds, HN_RACE_MOST_ROUNDS, budget_ms};
    json_t *candidates = json_array();
    hn_message_init(message, "race");
    for (size_t i = 0; i < run->racer_count; i++) {
        json_t *image = hn_needed(hn_message_image_json(message, run->racers[i].image));
        json_array_append_new(candidates,
                              json_pack("{so so}", "point",
                                        hn_bindings_to_json(run->racers[i].point), "image", image));
    }
    json_object_set_new(message->json, "rules",
                        hn_fields_to_json(&hn_race_rules_structure, &rules));
    json_object_set_new(message->json, "candidates", candidates);
}

/* Whoever ran to the end has as many samples as the others that did. */
static void read_race(const json_t *records, const struct hn_run *run, struct hn_error *err)
{
    size_t rounds = SIZE_MAX;
    bool complete = json_array_size(records) == run->racer_count;
    for (size_t i = 0; complete && !hn_failed(err) && i < run->racer_count; i++) {
        struct hn_record *record = &run->racers[i].record;
        hn_record_from_json(json_array_get(records, i), NULL, record, err);
        if (hn_failed(err) || record->outcome != HN_OUTCOME_OK)
            continue;
        size_t count = record->timing.sample_count;
        rounds = rounds == SIZE_MAX ? count : rounds;
        complete = count == rounds;
        if (count > HN_RACE_MOST_ROUNDS)
            hn_fail(err, HN_EFORMAT, "a race of %zu rounds; at most %d were asked for", count,
                    HN_RACE_MOST_ROUNDS);
    }
    if (!complete && !hn_failed(err))
        hn_fail(err, HN_EFORMAT, "the result of a race is incomplete");
}

static void race_once(struct hn_live *live, const struct hn_run *run, struct hn_error *err)
{
    struct hn_message message;
    struct hn_gpu_result ended;
    double now = hn_now_ms();
    double budget_ms = fmax(fmin((now - live->started_ms) / 10, race_most_ms), race_least_ms);
    if (live->base.end_ms > 0)
        budget_ms = fmin(budget_ms, fmax(live->base.end_ms - now, 0) * within_end);
    for (size_t i = 0; i < run->racer_count; i++)
        hn_record_finish(&run->racers[i].record);
    make_race(run, budget_ms, &message);
    hn_live_ask(live, &message, 120, &ended, err);
    if (hn_failed(err) || ended.end != HN_GPU_REPLY)
        return;
    read_race(json_object_get(ended.message.json, "records"), run, err);
    hn_message_finish(&ended.message);
    /* Where another card leads than at first: as of the first. */
    for (size_t i = 0; !hn_failed(err) && i < run->racer_count; i++)
        hn_live_card_scale(live->lead, &run->racers[i].record);
}

static void reseed(struct hn_live *live, uint64_t seed, struct hn_error *err)
{
    struct hn_message message;
    hn_message_init(&message, "reseed");
    json_object_set_new(message.json, "seed", json_integer((json_int_t)seed));
    hn_live_set_up(live, &message, "reseed", err);
    hn_message_finish(&message);
}

static void run(struct hn_backend *backend, struct hn_run *run, struct hn_error *err)
{
    struct hn_live *live = live_of(backend);
    if (hn_failed(err))
        return;
    hn_workers_lock(live->workers);
    switch (run->kind) {
    case HN_RUN_PREPARE:
        run->noise = hn_live_prepare(live, err);
        break;
    case HN_RUN_RESEED:
        reseed(live, run->seed, err);
        break;
    case HN_RUN_RACE:
        do
            race_once(live, run, err);
        while (hn_live_succeed(live, err));
        break;
    case HN_RUN_MEASURE:
        hn_live_measure(live, run, err);
        break;
    case HN_RUN_COPY:
        run->gb_per_s = hn_live_copy_rate(live, run->bytes, err);
        break;
    }
    hn_workers_unlock(live->workers);
}

/* --- how it does ------------------------------------------------------------------------------ */

static void look(const struct hn_backend *backend, uint64_t ticket, struct hn_backend_state *state)
{
    struct hn_live *live = live_of(backend);
    hn_workers_lock(live->workers);
    /* To choose from, where the order is free. */
    size_t wanted = (size_t)hn_compile_pool_jobs(live->pool) * (live->options.any_order ? 4 : 2);
    size_t unfinished = hn_compile_pool_unfinished(live->pool);
    *state = (struct hn_backend_state){
        .room = unfinished < wanted ? wanted - unfinished : 0,
        .idle = live->returned_count == 0 && hn_live_card_idle(live) != NULL,
        .quiet = hn_live_cards_quiet(live),
    };
    if (ticket != UINT64_MAX)
        state->age_ms = hn_compile_pool_age_ms(live->pool, ticket, hn_now_ms());
    hn_workers_unlock(live->workers);
}

static struct hn_health seen_health(const struct hn_workers *workers)
{
    struct hn_health health = {0};
    for (size_t i = 0; i < workers->card_count; i++)
        hn_health_add(&health, &workers->cards[i]->gpu->health);
    return health;
}

static void read_usage(const struct hn_live *live, struct hn_usage *usage)
{
    struct hn_workers *workers = live->workers;
    double now = hn_now_ms();
    struct hn_compile_load load = hn_compile_pool_load(live->pool, now);
    *usage = (struct hn_usage){
        .under_way = load.own,
        .compiled = hn_compile_pool_pending(live->pool) - hn_compile_pool_unfinished(live->pool),
        .longest_s = load.longest_ms / 1e3,
        .cores_busy = load.busy > 0 && load.busy >= hn_compile_pool_jobs(live->pool),
        .compile_cpu_s = load.cpu_ms / 1e3,
        .compile_wall_s = hn_meter_total_ms(&hn_compile_pool_client(live->pool)->meter, now) / 1e3,
        .gpu_busy_s = hn_meter_total_ms(&workers->on_cards, now) / 1e3,
        .working_s = hn_meter_total_ms(&workers->working, now) / 1e3,
        .holder = hn_gpu_client_holder(workers->lead->gpu),
        .health = seen_health(workers),
        .trials = live->trials,
        .on_gpu = &workers->on_gpu,
        .compiling = &workers->compiling,
    };
}

static void usage(const struct hn_backend *backend, struct hn_usage *usage)
{
    struct hn_live *live = live_of(backend);
    hn_workers_lock(live->workers);
    read_usage(live, usage);
    usage->card_count = hn_live_cards_usage(live);
    usage->cards = live->usages;
    usage->compile_cpu_s -= live->before.compile_cpu_s;
    usage->compile_wall_s -= live->before.compile_wall_s;
    usage->gpu_busy_s -= live->before.gpu_busy_s;
    usage->working_s -= live->before.working_s;
    hn_workers_unlock(live->workers);
}

/* --- opening and closing ---------------------------------------------------------------------- */

static void close_live(struct hn_backend *backend)
{
    struct hn_live *live = live_of(backend);
    stop(backend);
    hn_live_cards_finish(live);
    for (size_t i = 0; i < live->reference_count; i++)
        free(live->references[i]);
    free(live->references);
    free(live);
}

static const struct hn_backend_kind live_kind = {
    .close = close_live,
    .start = start_something,
    .next = next_event,
    .run = run,
    .stop = stop,
    .complete = complete,
    .look = look,
    .usage = usage,
};

static void take_lead(struct hn_live *live)
{
    live->lead = live->cards;
    while (live->lead->card != live->workers->lead)
        live->lead++;
}

static void find_nvrtc(struct hn_live *live, char version[16], struct hn_error *err)
{
    while (!hn_failed(err) && !hn_compile_pool_nvrtc(live->pool, version)) {
        hn_compile_pool_start(live->pool, 1, err);
        process_compilations(live, err);
        if (!hn_compile_pool_nvrtc(live->pool, version))
            hn_live_sleep(live, err);
    }
}

enum hn_status hn_backend_live(struct hn_task *task, struct hn_workers *workers,
                               const struct hn_live_options *options, struct hn_backend **backend,
                               struct hn_error *err)
{
    char nvrtc[16];
    hn_error_init(err);
    hn_workers_lock(workers);
    hn_workers_leave(workers);
    hn_compile_pool_set(workers->pool, HN_COMPILE_HEAVY_FIRST, false);
    struct hn_live *live = hn_need(1, sizeof *live);
    live->base = (struct hn_backend){.kind = &live_kind, .task = task, .end_ms = options->end_ms};
    live->options = *options;
    live->workers = workers;
    live->pool = workers->pool;
    live->started_ms = hn_now_ms();
    hn_live_cards_add(live);
    take_lead(live);
    read_usage(live, &live->before);
    while (!hn_workers_open_lead(workers, err) && !hn_failed(err)) {
        hn_live_sleep(live, err);
        take_lead(live);
    }
    if (!hn_failed(err)) {
        take_lead(live);
        hn_workers_find_cards(workers);
        live->base.device = workers->lead->device;
        check_ahead(live);
    }
    find_nvrtc(live, nvrtc, err);
    hn_workers_unlock(workers);
    if (!hn_failed(err) && task->config->plan->compiler == HN_COMPILER_NVCC)
        hn_nvcc_version(nvrtc, err);
    if (err->status == HN_EINTERRUPTED && hn_interrupted() == 0) {
        hn_error_init(err);
        hn_fail(err, HN_ENOTFOUND,
                "the budget ended before driver and compiler were up; nothing was tuned");
    }
    if (hn_failed(err)) {
        close_live(&live->base);
        return err->status;
    }
    hn_task_set_device(task, &live->base.device.identity, live->base.device.driver, nvrtc);
    *backend = &live->base;
    return HN_OK;
}
