/* SPDX-License-Identifier: MIT */
#include "tuner/session/live.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/run.h"
#include "cache/record/record.h"
#include "runtime/bench/roofs.h"
#include "runtime/bench/support.h"
#include "runtime/compile/compile.h"
#include "runtime/plan/contents.h"
#include "runtime/plan/launch.h"

static const int race_min_rounds = 6;
/* A race takes a tenth of what the search took, within its limits, and so much of what is left of
 * the time: it lines up before its rounds and compares outputs behind. */
static const double within_end = 0.6;

/* So often, at least, does what is to be done meanwhile get its turn. */
static const int sleep_limit_ms = 50;

static struct hn_live *live_of(const struct hn_backend *backend)
{
    return (struct hn_live *)(uintptr_t)backend;
}

/* How heavy the compilation of a point may be, 0 where the order is to be kept. */
static double weight_of(const struct hn_live *live, const struct hn_bindings *point)
{
    double weight = 0;
    /* More unrolling, tiling or batching makes more code: a guess that needs no knowledge. */
    for (size_t i = 0; live->options.any_order && i < point->count; i++) {
        const struct hn_value *value = &point->values[i];
        if (value->type == HN_INTEGER || value->type == HN_REAL)
            weight += log2(1 + fabs(hn_value_number(value)));
    }
    return weight;
}

static void want(struct hn_live *live, uint64_t id, enum hn_rank rank, double weight,
                 double patience_ms, const struct hn_source *source, struct hn_error *err)
{
    const struct hn_want want = {
        .client = live->pool, .id = id, .rank = rank, .weight = weight, .patience_ms = patience_ms};
    if (!hn_failed(err))
        hn_compile_pool_ask(&want, source, live->architecture, err);
}

static void want_point(struct hn_live *live, uint64_t id, const struct hn_bindings *point,
                       enum hn_rank rank, double patience_ms, struct hn_error *err)
{
    struct hn_source source HN_ENDED_BY(hn_source_finish) = {0};
    if (hn_failed(err))
        return;
    /* The part that takes long needs no worker. */
    hn_workers_unlock(live->workers);
    hn_task_source(live->base.task, point, &source, err);
    hn_workers_lock(live->workers);
    if (hn_failed(err))
        return;
    want(live, id, rank, weight_of(live, point), patience_ms, &source, err);
}

/* Compilations that the first evaluation needs, and that belong to no ticket; the numbers of
 * what is compiled ahead follow. */
enum own_job { OWN_SUPPORT, OWN_REFERENCE, OWN_DEFAULT, OWN_ROOFS, OWN_COUNT };

static uint64_t number_of(size_t job)
{
    return UINT64_MAX - job;
}

static void want_own(struct hn_live *live, enum own_job job, const struct hn_source *source,
                     struct hn_error *err)
{
    want(live, number_of(job), HN_RANK_SETUP, 0, INFINITY, source, err);
}

static bool take(struct hn_live *live, const uint64_t *wanted, uint64_t *id, struct hn_image *image,
                 struct hn_error *err)
{
    const struct hn_task *task = live->base.task;
    if (hn_failed(err) || !hn_compile_pool_take(live->pool, wanted, id, image))
        return false;
    hn_template_check(&task->template, task->plan, err);
    hn_template_check(&task->reference, task->plan, err);
    return true;
}

/* Blocks for its image, unless that is the default point's, with which clocks are warmed up, and
 * there is no time to wait for it. */
static bool take_own(struct hn_live *live, enum own_job job, struct hn_image *image,
                     struct hn_error *err)
{
    uint64_t id = number_of(job);
    bool taken = false;
    *image = HN_NO_IMAGE;
    /* A kept image is there without anybody having to say so. */
    if (!hn_failed(err))
        hn_compile_pool_process(live->pool, err);
    while (!hn_failed(err) && !(taken = take(live, &id, &id, image, err)) &&
           !(job == OWN_DEFAULT && live->base.hurries))
        hn_live_sleep(live, err);
    /* It may have been wanted twice. */
    hn_compile_pool_forget(live->pool, HN_RANK_SETUP, &id);
    return taken && !hn_failed(err);
}

/* The same of one without which nothing goes on. */
static void take_needed(struct hn_live *live, enum own_job job, const char *what,
                        struct hn_image *image, struct hn_error *err)
{
    if (!take_own(live, job, image, err) || image->outcome == HN_OUTCOME_OK)
        return;
    hn_task_advise(live->base.task, true, image);
    hn_fail(err, HN_ERUN, "%s: %s", what, image->message);
}

static void start_reference(struct hn_live *live, const struct hn_bindings *depends,
                            struct hn_error *err)
{
    struct hn_source source HN_ENDED_BY(hn_source_finish) = {0};
    if (hn_failed(err) || !hn_reference_is_kernel(&live->base.task->plan->reference) ||
        hn_task_reference_source(live->base.task, depends, &source, err) != HN_OK)
        return;
    want_own(live, OWN_REFERENCE, &source, err);
}

/* They are started in the order in which they are needed. */
static void start_own(struct hn_live *live, struct hn_error *err)
{
    struct hn_task *task = live->base.task;
    struct hn_bindings depends HN_ENDED_BY(hn_bindings_finish) = {0};
    struct hn_support_options options;
    struct hn_source source = hn_support_program(task->plan, &options);
    if (hn_failed(err) || live->own_started)
        return;
    live->own_started = true;
    hn_plan_depends(task->plan, &task->start, &depends, err);
    want_own(live, OWN_SUPPORT, &source, err);
    start_reference(live, &depends, err);
    if (!hn_failed(err) && hn_task_source(task, &task->start, &source, err) == HN_OK) {
        want_own(live, OWN_DEFAULT, &source, err);
        hn_source_finish(&source);
    }
}

/* The device is known only once the driver is up, a tenth of a second and more into a tune. Its
 * architecture can be guessed long before: what will be wanted first is compiled for that. */
static void start_ahead(struct hn_live *live, struct hn_error *err)
{
    const struct hn_task *task = live->base.task;
    struct hn_device device;
    int guess = live->workers->lead->guess;
    if (hn_failed(err) || live->workers->lead->known || live->own_started || guess == 0 ||
        (live->options.ahead.count == 0 && !live->options.ahead.fresh))
        return;
    snprintf(live->architecture, sizeof live->architecture, "sm_%d", guess);
    /* One that we do not know is left to the driver. */
    if (hn_device_for_architecture(live->architecture, &device, NULL) != HN_OK) {
        live->options.ahead = (struct hn_points_ahead){0};
        return;
    }
    live->pool->prefers_heavy = live->options.any_order && live->options.ahead.complete;
    start_own(live, err);
    while (!hn_failed(err) && live->ahead_count < live->options.ahead.count) {
        const struct hn_bindings *point = &live->options.ahead.points[live->ahead_count];
        uint64_t id = number_of(OWN_COUNT + live->ahead_count++);
        struct hn_record record HN_ENDED_BY(hn_record_finish) = {0};
        struct hn_launch launch HN_ENDED_BY(hn_launch_finish) = {0};
        hn_launch_make_checked(task->plan, &device, task->problem, point, &launch, &record, err);
        if (record.outcome == HN_OUTCOME_OK)
            want_point(live, id, point, HN_RANK_GUESSED, INFINITY, err);
    }
}

static void process_compilations(struct hn_live *live, struct hn_error *err)
{
    if (hn_failed(err))
        return;
    if (live->base.all_asked)
        live->pool->prefers_heavy = live->options.any_order;
    hn_compile_pool_process(live->pool, err);
}

static void start_something(struct hn_backend *backend, const struct hn_start *start,
                            struct hn_error *err)
{
    struct hn_live *live = live_of(backend);
    hn_workers_lock(live->workers);
    if (start->request != NULL) {
        hn_live_evaluate(live, start, err);
    } else {
        live->pool->keeps_shared = !backend->unshared;
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

/* One pass over all workers without blocking. */
static void process(struct hn_live *live, struct hn_backend_event *event, struct hn_error *err)
{
    hn_live_cards_move(live, err);
    if (!hn_failed(err) && live->event_count > 0) {
        *event = live->events[0];
        HN_DROP(live->events, live->event_count, 0);
        return;
    }
    process_compilations(live, err);
    if (take(live, NULL, &event->ticket, &event->image, err))
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
    hn_compile_pool_stop(live->pool);
    hn_workers_unlock(live->workers);
}

void hn_live_add_variant(struct hn_message *message, json_t *object,
                         const struct hn_bindings *point, const struct hn_image *image,
                         struct hn_error *err)
{
    json_object_set_new(object, "point", hn_bindings_to_json(point));
    if (!hn_failed(err))
        hn_message_add_image(message, object, image, err);
}

/* Data files are read where the card is: they have to be those that are here. */
static void add_data(const struct hn_live *live, struct hn_message *bench, struct hn_error *err)
{
    const struct hn_task *task = live->base.task;
    struct hn_plan_files files HN_ENDED_BY(hn_plan_files_finish) = {0};
    if (hn_failed(err) || live->workers->hosts == NULL)
        return;
    json_t *list = json_array();
    hn_plan_list_files(task->plan, task->problem, &files, err);
    for (size_t i = 0; i < files.count && !hn_failed(err); i++) {
        const char *path = files.items[i].path;
        struct hn_hash hash;
        if (hn_data_file_hash(path, &hash, err) != HN_OK)
            break;
        /* Workers elsewhere are in other folders. */
        char *folder HN_FREED = hn_needed(path[0] == '/' ? strdup("") : getcwd(NULL, 0));
        json_array_append_new(list, json_pack("{s:s++, s:s}", "path", folder,
                                              path[0] == '/' ? "" : "/", path, "hash", hash.hex));
    }
    json_object_set_new(bench->json, "data", list);
}

/* All cards are set up with it, which is taken over, before their next request. */
static void set_up_cards(struct hn_live *live, struct hn_message *message, const char *replaces,
                         struct hn_error *err)
{
    for (size_t i = 0; !hn_failed(err) && i < live->workers->card_count; i++) {
        struct hn_card *card = live->workers->cards[i];
        bool follows = card->state > HN_CARD_NEW && card->state < HN_CARD_OUT;
        if (card == live->workers->lead || follows)
            hn_card_keep(card, message, replaces, false);
    }
    hn_message_finish(message);
}

static void set_up_bench(struct hn_live *live, struct hn_error *err)
{
    const struct hn_task *task = live->base.task;
    struct hn_image support HN_ENDED_BY(hn_image_finish) = {0};
    struct hn_message bench;
    char what[80];
    snprintf(what, sizeof what, "the support kernels do not compile for %s", live->architecture);
    take_needed(live, OWN_SUPPORT, what, &support, err);
    hn_message_init(&bench, "bench");
    json_object_set_new(bench.json, "plan", hn_plan_to_json(task->plan));
    json_object_set_new(bench.json, "problem", hn_bindings_to_json(task->problem));
    json_object_set_new(bench.json, "regime", json_string(hn_regime_names[task->regime]));
    json_object_set_new(bench.json, "seed", json_integer((json_int_t)live->options.seed));
    add_data(live, &bench, err);
    if (!hn_failed(err))
        hn_message_add_image(&bench, bench.json, &support, err);
    set_up_cards(live, &bench, NULL, err);
}

void hn_live_ensure_reference(struct hn_live *live, const struct hn_bindings *point,
                              struct hn_error *err)
{
    struct hn_bindings depends HN_ENDED_BY(hn_bindings_finish) = {0};
    struct hn_message message;
    if (hn_failed(err) || !hn_reference_is_kernel(&live->base.task->plan->reference) ||
        hn_plan_depends(live->base.task->plan, point, &depends, err) != HN_OK)
        return;
    char *text HN_FREED = hn_needed(hn_bindings_text(&depends));
    const struct hn_hash key = hn_hash_string(text);
    if (hn_keys_find(&live->references, &key) == HN_NO_KEY) {
        struct hn_image image HN_ENDED_BY(hn_image_finish) = HN_NO_IMAGE;
        start_reference(live, &depends, err);
        bool own = live->base.task->plan->reference.kind == HN_REFERENCE_SELF;
        take_needed(live, OWN_REFERENCE,
                    own ? "the default point, which is the reference, does not compile"
                        : "the reference does not compile",
                    &image, err);
        hn_message_init(&message, "reference");
        hn_live_add_variant(&message, message.json, &depends, &image, err);
        set_up_cards(live, &message, NULL, err);
        hn_keys_add(&live->references, &key);
    }
}

/* Asks the lead for a record, and waits. */
static void evaluate(struct hn_live *live, const struct hn_bindings *point,
                     const struct hn_image *image, const struct hn_bench_request *request,
                     struct hn_record *record, struct hn_error *err)
{
    struct hn_gpu_result result = {.end = HN_GPU_NOTHING};
    struct hn_message message;
    *record = (struct hn_record){0};
    hn_message_init(&message, "evaluate");
    json_object_set_new(message.json, "request",
                        hn_fields_to_json(&hn_bench_request_structure, request));
    hn_live_add_variant(&message, message.json, point, image, err);
    while (hn_live_ask(live, &message, 0, &result, err)) {
        hn_record_finish(record);
        hn_live_read_record(live->workers->lead, point, &result, record, err);
    }
}

/* The number in the reply to a message, which is taken over; 0 where the worker ended. */
static double ask_amount(struct hn_live *live, struct hn_message *message, const char *key,
                         struct hn_error *err)
{
    struct hn_gpu_result result = {.end = HN_GPU_NOTHING};
    double number = 0;
    while (hn_live_ask(live, message, 60, &result, err))
        if (result.end == HN_GPU_REPLY)
            hn_message_amount(&result.message, key, &number, err);
    return hn_failed(err) ? 0 : number;
}

/* Verifies the default point and warms up with it. A default that fails is an outcome that the
 * search will meet; then the clocks warm up with the first variants instead. Returns the noise,
 * where that is asked for. */
static double warm_up(struct hn_live *live, const struct hn_bindings *point,
                      const struct hn_image *image, bool asks_noise, struct hn_error *err)
{
    const struct hn_bench_request request = {.verify = true};
    struct hn_message message;
    struct hn_record record HN_ENDED_BY(hn_record_finish) = {0};
    evaluate(live, point, image, &request, &record, err);
    bool fine = !hn_failed(err) && record.outcome == HN_OUTCOME_OK;
    if (!fine)
        return 0;
    hn_message_init(&message, "warm_up");
    json_object_set_new(message.json, "stays_warm", json_boolean(live->options.stays_warm));
    json_object_set_new(message.json, "noise", json_boolean(asks_noise));
    hn_live_add_variant(&message, message.json, point, image, err);
    /* For other cards. */
    if (!hn_failed(err) && live->workers->hosts != NULL && asks_noise) {
        hn_message_finish(&live->warm);
        hn_message_copy(&live->warm, &message, err);
    }
    return ask_amount(live, &message, "noise", err);
}

static double copy_rate(struct hn_live *live, double bytes, struct hn_error *err)
{
    struct hn_message message;
    hn_message_init(&message, "copy_bandwidth");
    json_object_set_new(message.json, "bytes", json_integer((json_int_t)bytes));
    return ask_amount(live, &message, "gb_per_s", err);
}

static void measure(struct hn_live *live, struct hn_run *run, struct hn_error *err)
{
    const struct hn_bench_request request = {.verify = true, .measure = true, .full = true};
    struct hn_racer *variant = run->racers;
    struct hn_record *record = &variant->record;
    hn_live_ensure_reference(live, variant->point, err);
    if (!hn_failed(err) && run->anew) {
        /* The wait for one process to end and one to start is not Hone's own overhead. */
        hn_meter_begin(&live->workers->working, hn_now_ms());
        hn_card_drop(live->workers->lead);
        warm_up(live, variant->point, variant->image, false, err);
        hn_meter_end(&live->workers->working, hn_now_ms());
    }
    evaluate(live, variant->point, variant->image, &request, record, err);
    if (hn_failed(err) || record->outcome != HN_OUTCOME_OK || !run->anew ||
        live->base.task->plan->pipeline != NULL)
        return;
    /* A megabyte takes about a microsecond; powers of two, so that it is as much another time. */
    double log2_bytes = floor(log2(record->timing.median_us * 1e6));
    record->timing.copy_gb_per_s = copy_rate(live, exp2(fmin(fmax(log2_bytes, 20), 28)), err);
}

static double prepare(struct hn_live *live, struct hn_error *err)
{
    const struct hn_task *task = live->base.task;
    struct hn_image image HN_ENDED_BY(hn_image_finish) = HN_NO_IMAGE;
    double noise = 0;
    start_own(live, err);
    set_up_bench(live, err);
    hn_live_ensure_reference(live, &task->start, err);
    if (take_own(live, OWN_DEFAULT, &image, err) && image.outcome == HN_OUTCOME_OK &&
        hn_task_check_default(task, &task->start, &image, err) == HN_OK)
        noise = warm_up(live, &task->start, &image, true, err);
    live->prepared = !hn_failed(err);
    if (live->prepared)
        live->workers->lead->state = HN_CARD_READY;
    /* By now the first points have been asked for. */
    hn_compile_pool_forget(live->pool, HN_RANK_GUESSED, NULL);
    return noise;
}

/* Whoever ran to the end has as many samples as the others that did. */
static void read_race(const struct hn_live *live, const struct hn_run *run, const json_t *records,
                      struct hn_error *err)
{
    size_t rounds = SIZE_MAX;
    bool complete = json_array_size(records) == run->racer_count;
    for (size_t i = 0; complete && !hn_failed(err) && i < run->racer_count; i++) {
        struct hn_record *record = &run->racers[i].record;
        hn_record_finish(record);
        hn_record_from_json(json_array_get(records, i), NULL, record, err);
        if (hn_failed(err) || record->outcome != HN_OUTCOME_OK)
            continue;
        size_t count = record->timing.sample_count;
        rounds = rounds == SIZE_MAX ? count : rounds;
        complete = count == rounds;
        if (count > HN_RACE_MOST_ROUNDS)
            hn_fail(err, HN_EFORMAT, "a race of %zu rounds; at most %d were asked for", count,
                    HN_RACE_MOST_ROUNDS);
        /* Where another card leads than at first: as of the first. */
        hn_live_card_scale(live->workers->lead, record);
    }
    if (!complete && !hn_failed(err))
        hn_fail(err, HN_EFORMAT, "the result of a race is incomplete");
}

static void race(struct hn_live *live, const struct hn_run *run, struct hn_error *err)
{
    struct hn_gpu_result result = {.end = HN_GPU_NOTHING};
    struct hn_message message;
    double now = hn_now_ms();
    double budget_ms = fmax(fmin((now - live->started_ms) / 10, HN_RACE_MOST_MS), HN_RACE_LEAST_MS);
    if (live->base.end_ms > 0)
        budget_ms = fmin(budget_ms, fmax(live->base.end_ms - now, 0) * within_end);
    const struct hn_race_rules rules = {race_min_rounds, HN_RACE_MOST_ROUNDS, budget_ms};
    json_t *candidates = json_array();
    hn_message_init(&message, "race");
    for (size_t i = 0; i < run->racer_count; i++) {
        json_t *candidate = json_object();
        hn_live_add_variant(&message, candidate, run->racers[i].point, run->racers[i].image, err);
        json_array_append_new(candidates, candidate);
    }
    json_object_set_new(message.json, "rules", hn_fields_to_json(&hn_race_rules_structure, &rules));
    json_object_set_new(message.json, "candidates", candidates);
    while (hn_live_ask(live, &message, 120, &result, err))
        if (result.end == HN_GPU_REPLY)
            read_race(live, run, json_object_get(result.message.json, "records"), err);
}

static void reseed(struct hn_live *live, uint64_t seed, struct hn_error *err)
{
    struct hn_message message;
    hn_message_init(&message, "reseed");
    json_object_set_new(message.json, "seed", json_integer((json_int_t)seed));
    set_up_cards(live, &message, "reseed", err);
}

static void measure_roofs(struct hn_live *live, struct hn_roofs *roofs, struct hn_error *err)
{
    struct hn_gpu_result result = {.end = HN_GPU_NOTHING};
    struct hn_image image HN_ENDED_BY(hn_image_finish) = {0};
    struct hn_message message;
    want_own(live, OWN_ROOFS, &hn_roofs_program, err);
    take_own(live, OWN_ROOFS, &image, err);
    hn_message_init(&message, "roofs");
    if (!hn_failed(err))
        hn_message_add_image(&message, message.json, &image, err);
    while (hn_live_ask(live, &message, 60, &result, err)) {
        *roofs = (struct hn_roofs){.measured = 0};
        if (result.end == HN_GPU_REPLY)
            hn_fields_read("roofs", &hn_roofs_structure,
                           json_object_get(result.message.json, "roofs"), roofs, err);
    }
    /* Without an answer there is nothing to judge the card by. */
    if (!hn_failed(err) && result.end != HN_GPU_REPLY)
        hn_fail(err, HN_ERUN, "the GPU's worker ended while the roofs were measured");
}

static void run(struct hn_backend *backend, struct hn_run *run, struct hn_error *err)
{
    struct hn_live *live = live_of(backend);
    if (hn_failed(err))
        return;
    hn_workers_lock(live->workers);
    switch (run->kind) {
    case HN_RUN_PREPARE:
        run->noise = prepare(live, err);
        break;
    case HN_RUN_RESEED:
        reseed(live, run->seed, err);
        break;
    case HN_RUN_RACE:
        race(live, run, err);
        break;
    case HN_RUN_MEASURE:
        measure(live, run, err);
        break;
    case HN_RUN_COPY:
        run->gb_per_s = copy_rate(live, run->bytes, err);
        break;
    case HN_RUN_ROOFS:
        measure_roofs(live, run->roofs, err);
        break;
    }
    hn_workers_unlock(live->workers);
}

static void look(const struct hn_backend *backend, uint64_t ticket, struct hn_backend_state *state)
{
    struct hn_live *live = live_of(backend);
    hn_workers_lock(live->workers);
    struct hn_compile_load load =
        hn_compile_pool_load(live->pool, ticket != UINT64_MAX ? &ticket : NULL);
    /* To choose from, where the order is free. */
    size_t wanted = (size_t)load.jobs * (live->options.any_order ? 4 : 2);
    size_t unfinished = live->pool->unfinished;
    *state = (struct hn_backend_state){
        .room = unfinished < wanted ? wanted - unfinished : 0,
        .age_ms = load.age_ms,
    };
    hn_live_cards_look(live, state);
    hn_workers_unlock(live->workers);
}

static const char *doing(const struct hn_live *live, const struct hn_card *card)
{
    bool starts = card->state == HN_CARD_NEW;
    if (card->out || card->state == HN_CARD_OUT)
        return "left out";
    if ((starts || card->state == HN_CARD_READY) && !hn_card_is_reachable(card))
        return "its host is not there";
    if (starts)
        return "starting";
    if (card->state == HN_CARD_READY)
        return card->evaluating || card->requested ? "" : "nothing to measure";
    if (card->state == HN_CARD_ANCHORING)
        return live->anchor_count > 0 ? "compared with the first" : "waiting for the first";
    return "warming up";
}

/* Fills in live->usages, and returns how many there are: none where all is of this process. */
static size_t list_cards(struct hn_live *live)
{
    size_t count = live->workers->hosts != NULL ? live->workers->card_count : 0;
    for (size_t i = 0; i < count; i++) {
        const struct hn_card *card = live->workers->cards[i];
        live->usages[i] = (struct hn_card_usage){.host = card->host_name,
                                                 .card = card->device.uuid,
                                                 .measured = card->measured,
                                                 .ratio = card->ratio,
                                                 .doing = doing(live, card)};
    }
    return count;
}

static void usage(const struct hn_backend *backend, struct hn_usage *usage)
{
    struct hn_live *live = live_of(backend);
    struct hn_workers *workers = live->workers;
    double now = hn_now_ms();
    hn_workers_lock(workers);
    struct hn_compile_load load = hn_compile_pool_load(live->pool, NULL);
    *usage = (struct hn_usage){
        .under_way = load.own,
        .compiled = live->pool->pending - live->pool->unfinished,
        .longest_s = load.longest_ms / 1e3,
        .cores_busy = load.busy > 0 && load.busy >= load.jobs,
        .compile_cpu_s = live->pool->cpu_ms / 1e3,
        .compile_wall_s = hn_meter_total_ms(&live->pool->meter, now) / 1e3,
        .gpu_busy_s = hn_meter_total_ms(&workers->on_cards, now) / 1e3,
        .working_s = hn_meter_total_ms(&workers->working, now) / 1e3,
        .holder = hn_card_holder(workers->lead),
        .trials = live->trials,
        .on_gpu = &workers->on_gpu,
        .compiling = &workers->compiling,
        .cards = live->usages,
        .card_count = list_cards(live),
    };
    for (size_t i = 0; i < workers->card_count; i++)
        hn_health_add(&usage->health, &workers->cards[i]->health);
    hn_workers_unlock(workers);
}

static void close_live(struct hn_backend *backend)
{
    struct hn_live *live = live_of(backend);
    stop(backend);
    HN_FREE_EACH(job, live->returned, live->returned_count, hn_card_job_finish(job));
    HN_FREE_EACH(event, live->events, live->event_count, hn_backend_event_finish(event));
    for (size_t i = 0; i < live->anchor_count; i++) {
        hn_message_finish(&live->anchors[i].message);
        hn_bindings_finish(&live->anchors[i].point);
    }
    hn_message_finish(&live->warm);
    hn_keys_finish(&live->references);
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

struct hn_backend *hn_backend_live(struct hn_task *task, struct hn_workers *workers,
                                   const struct hn_live_options *options, struct hn_error *err)
{
    char nvrtc[16], architecture[16];
    hn_error_init(err);
    hn_workers_lock(workers);
    hn_workers_leave(workers);
    workers->pool->prefers_heavy = false;
    struct hn_live *live = hn_need(1, sizeof *live);
    live->base = (struct hn_backend){.kind = &live_kind, .task = task, .end_ms = options->end_ms};
    live->options = *options;
    live->workers = workers;
    live->pool = workers->pool;
    live->started_ms = hn_now_ms();
    live->references.stride = sizeof(struct hn_hash);
    while (!hn_workers_open_lead(workers, false, err) && !hn_failed(err))
        hn_live_sleep(live, err);
    if (!hn_failed(err)) {
        live->base.device = workers->lead->device;
        snprintf(architecture, sizeof architecture, "sm_%d", live->base.device.identity.capability);
        /* Images for another architecture are thrown away. */
        if (live->own_started && strcmp(architecture, live->architecture) != 0) {
            hn_compile_pool_forget(live->pool, HN_RANK_SETUP, NULL);
            live->options.ahead.count = 0;
            live->own_started = false;
        }
        memcpy(live->architecture, architecture, sizeof architecture);
    }
    const char *said = live->pool->nvrtc;
    while (!hn_failed(err) && said[0] == '\0') {
        process_compilations(live, err);
        if (said[0] == '\0')
            hn_live_sleep(live, err);
    }
    memcpy(nvrtc, said, sizeof nvrtc);
    hn_workers_unlock(workers);
    if (!hn_failed(err) && task->config->plan->compiler == HN_COMPILER_NVCC)
        hn_compiler_version(HN_COMPILER_NVCC, NULL, nvrtc, err);
    if (err->status == HN_EINTERRUPTED && hn_interrupted() == 0) {
        hn_error_init(err);
        hn_fail(err, HN_ENOTFOUND,
                "the budget ended before driver and compiler were up; nothing was tuned");
    }
    if (hn_failed(err)) {
        close_live(&live->base);
        return NULL;
    }
    hn_task_set_device(task, &live->base.device.identity, live->base.device.driver, nvrtc);
    return &live->base;
}
