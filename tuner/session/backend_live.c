/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "cache/record/record_json.h"
#include "runtime/compile/compile.h"
#include "tuner/session/live.h"

/* So often, at least, does what is to be done meanwhile get its turn. */
static const int sleep_limit_ms = 50;

static void destroy(struct hn_backend *backend)
{
    struct hn_live *live = (struct hn_live *)backend;
    hn_compile_pool_forget(live->pool, HN_RANK_SETUP, true);
    hn_workers_set_sleep(live->workers, NULL, NULL);
    hn_live_cards_finish(live);
    for (size_t i = 0; i < live->reference_count; i++)
        free(live->references[i]);
    free(live->references);
    free(live->fds);
    free(live);
}

static enum hn_status compile(struct hn_backend *backend, uint64_t ticket,
                              const struct hn_bindings *point, double patience_ms,
                              struct hn_error *err)
{
    struct hn_live *live = (struct hn_live *)backend;
    struct hn_source source;
    enum hn_status status = hn_task_source(backend->task, point, &source, err);
    if (status != HN_OK)
        return status;
    status = hn_compile_pool_ask(live->pool, ticket, &source, live->architecture, HN_RANK_ASKED,
                                 hn_live_weight(live, point), patience_ms, err);
    hn_source_finish(&source);
    return status;
}

static enum hn_status complete(struct hn_backend *backend, const struct hn_bindings *point,
                               struct hn_image *image, char key[33], struct hn_error *err)
{
    return hn_task_complete_image(backend->task, &backend->device, point, image, key, err);
}

static size_t room(const struct hn_backend *backend)
{
    const struct hn_live *live = (const struct hn_live *)backend;
    /* To choose from, where the order is free. */
    size_t wanted = (size_t)hn_compile_pool_jobs(live->pool) * (live->options.any_order ? 4 : 2);
    size_t unfinished = hn_compile_pool_unfinished(live->pool);
    return unfinished < wanted ? wanted - unfinished : 0;
}

static bool idle(const struct hn_backend *backend)
{
    struct hn_live *live = (struct hn_live *)(uintptr_t)backend;
    return live->returned_count == 0 && hn_live_card_idle(live) != NULL;
}

static bool quiet(const struct hn_backend *backend)
{
    return hn_live_cards_quiet((const struct hn_live *)backend);
}

static enum hn_status evaluate(struct hn_backend *backend, uint64_t ticket,
                               const struct hn_bindings *point, const struct hn_image *image,
                               const struct hn_bench_request *request, struct hn_error *err)
{
    struct hn_live *live = (struct hn_live *)backend;
    struct hn_live_flight flight = {.ticket = ticket, .request = *request};
    hn_bindings_init(&flight.point);
    enum hn_status status = hn_live_ensure_reference(live, point, err);
    /* What decides is measured on one card. */
    struct hn_live_card *card = request->measure ? hn_live_card_idle(live) : live->lead;
    if (status == HN_OK)
        status = hn_live_make_evaluation(point, image, request, &flight.message, err);
    if (status == HN_OK)
        status = hn_bindings_copy(&flight.point, point, err);
    if (status == HN_OK)
        status = card != NULL ? hn_live_card_evaluate(live, card, &flight, err)
                              : hn_live_return(live, &flight, err);
    hn_bindings_finish(&flight.point);
    hn_message_finish(&flight.message);
    return status;
}

static enum hn_status process_compilations(struct hn_live *live, struct hn_error *err)
{
    if (live->base.all_asked)
        hn_compile_pool_set(live->pool, HN_COMPILE_HEAVY_FIRST, live->options.any_order);
    return hn_compile_pool_process(live->pool, err);
}

static enum hn_status process_lead(struct hn_live *live, struct hn_backend_event *event,
                                   struct hn_error *err)
{
    struct hn_gpu_result result;
    struct hn_live_card *lead = live->lead;
    enum hn_status status = hn_gpu_client_process(lead->card->gpu, &result, err);
    if (status == HN_OK && result.end != HN_GPU_NOTHING)
        status = hn_live_card_take(live, lead, &result, event, err);
    return status == HN_OK ? HN_OK : hn_live_succeed(live, status, err);
}

/* One pass over all workers without blocking. */
static enum hn_status process(struct hn_live *live, struct hn_backend_event *event,
                              struct hn_error *err)
{
    enum hn_status status = hn_live_cards_move(live, err);
    if (status == HN_OK && live->event_count > 0) {
        *event = live->events[0];
        live->event_count--;
        memmove(live->events, live->events + 1, live->event_count * sizeof *live->events);
        return HN_OK;
    }
    if (status == HN_OK)
        status = process_lead(live, event, err);
    if (status != HN_OK || event->kind != HN_EVENT_NONE)
        return status;
    status = process_compilations(live, err);
    if (status == HN_OK && hn_compile_pool_take(live->pool, &event->ticket, &event->image))
        event->kind = HN_EVENT_COMPILED;
    return status;
}

static int earlier(int a, int b)
{
    if (a < 0)
        return b;
    return b < 0 || a < b ? a : b;
}

/* Sleeps until a worker has something to say, or a time limit strikes. */
static void sleep_on_workers(struct hn_live *live, int timeout_ms)
{
    size_t count = hn_workers_poll(live->workers, live->fds);
    if (poll(live->fds, count, earlier(timeout_ms, hn_workers_timeout_ms(live->workers))) >= 0 &&
        hn_workers_polled(live->workers, live->fds))
        live->looked_ms = 0;
    hn_workers_clear(live->workers);
}

enum hn_status hn_live_sleep(void *pointer, struct hn_error *err)
{
    struct hn_live *live = pointer;
    enum hn_status status = hn_interrupt_check(err);
    if (status == HN_OK && live->base.end_ms > 0 && hn_now_ms() >= live->base.end_ms)
        status = HN_EINTERRUPTED;
    if (status == HN_OK && live->base.meanwhile != NULL)
        status = live->base.meanwhile(live->base.owner, err);
    if (status == HN_OK)
        status = hn_live_start_ahead(live, err);
    if (status == HN_OK)
        status = process_compilations(live, err);
    if (status == HN_OK)
        status = hn_live_cards_move(live, err);
    if (status == HN_OK)
        sleep_on_workers(live, sleep_limit_ms);
    live->ends = status != HN_OK;
    return status;
}

static enum hn_status wait_event(struct hn_backend *backend, int timeout_ms,
                                 struct hn_backend_event *event, struct hn_error *err)
{
    struct hn_live *live = (struct hn_live *)backend;
    *event = (struct hn_backend_event){.kind = HN_EVENT_NONE};
    enum hn_status status = process(live, event, err);
    if (status != HN_OK || event->kind != HN_EVENT_NONE || timeout_ms == 0)
        return status;
    sleep_on_workers(live, timeout_ms);
    return process(live, event, err);
}

static enum hn_status reseed(struct hn_backend *backend, uint64_t seed, struct hn_error *err)
{
    struct hn_live *live = (struct hn_live *)backend;
    struct hn_message message;
    hn_message_init(&message, "reseed");
    json_object_set_new(message.json, "seed", json_integer((json_int_t)seed));
    enum hn_status status = hn_live_set_up(live, &message, "reseed", err);
    hn_message_finish(&message);
    return status;
}

static enum hn_status copy_rate(struct hn_backend *backend, double bytes, double *gb_per_s,
                                struct hn_error *err)
{
    struct hn_live *live = (struct hn_live *)backend;
    struct hn_message message;
    struct hn_gpu_result result;
    *gb_per_s = 0;
    hn_message_init(&message, "copy_bandwidth");
    json_object_set_new(message.json, "bytes", json_integer((json_int_t)bytes));
    enum hn_status status = hn_live_ask(live, &message, 60, &result, err);
    if (status == HN_OK && result.end == HN_GPU_REPLY) {
        status = hn_message_amount(&result.message, "gb_per_s", gb_per_s, err);
        hn_message_finish(&result.message);
    }
    return status == HN_OK || hn_live_succeed(live, status, err) != HN_OK
               ? status
               : copy_rate(backend, bytes, gb_per_s, err);
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
    struct hn_live *live = (struct hn_live *)(uintptr_t)backend;
    read_usage(live, usage);
    usage->card_count = hn_live_cards_usage(live);
    usage->cards = live->usages;
    usage->compile_cpu_s -= live->before.compile_cpu_s;
    usage->compile_wall_s -= live->before.compile_wall_s;
    usage->gpu_busy_s -= live->before.gpu_busy_s;
    usage->working_s -= live->before.working_s;
}

static double compiling_ms(const struct hn_backend *backend, uint64_t ticket)
{
    return hn_compile_pool_age_ms(((const struct hn_live *)backend)->pool, ticket, hn_now_ms());
}

static void share(struct hn_backend *backend, bool shares)
{
    hn_compile_pool_set(((struct hn_live *)backend)->pool, HN_COMPILE_KEEPS_SHARED, shares);
}

static void halt(struct hn_backend *backend)
{
    hn_compile_pool_forget(((struct hn_live *)backend)->pool, HN_RANK_SETUP, true);
}

static double busy_ms(const struct hn_backend *backend)
{
    struct hn_usage own;
    usage(backend, &own);
    return own.gpu_busy_s * 1e3;
}

static const struct hn_backend_kind live_kind = {
    .destroy = destroy,
    .prepare = hn_live_prepare,
    .compile = compile,
    .complete = complete,
    .room = room,
    .idle = idle,
    .quiet = quiet,
    .evaluate = evaluate,
    .wait = wait_event,
    .reseed = reseed,
    .race = hn_live_race,
    .measure = hn_live_measure,
    .copy_rate = copy_rate,
    .halt = halt,
    .busy_ms = busy_ms,
    .usage = usage,
    .share = share,
    .compiling_ms = compiling_ms,
};

static void take_lead(struct hn_live *live)
{
    live->lead = live->cards;
    while (live->lead->card != live->workers->lead)
        live->lead++;
}

static struct hn_live *create(struct hn_task *task, struct hn_workers *workers,
                              const struct hn_live_options *options)
{
    struct hn_live *live = calloc(1, sizeof *live);
    if (live == NULL)
        return NULL;
    live->base = (struct hn_backend){.kind = &live_kind, .task = task, .end_ms = options->end_ms};
    live->options = *options;
    live->workers = workers;
    live->pool = workers->pool;
    live->started_ms = hn_now_ms();
    for (; live->card_count < workers->card_count; live->card_count++) {
        struct hn_live_card *card = &live->cards[live->card_count];
        *card = (struct hn_live_card){.card = workers->cards[live->card_count], .ratio = 1};
        hn_bindings_init(&card->flight.point);
    }
    take_lead(live);
    live->fds = calloc(hn_workers_poll_most(workers), sizeof *live->fds);
    if (live->fds != NULL)
        return live;
    free(live);
    return NULL;
}

enum hn_status hn_backend_live(struct hn_task *task, struct hn_workers *workers,
                               const struct hn_live_options *options, struct hn_backend **backend,
                               struct hn_error *err)
{
    char nvrtc[16];
    hn_workers_leave(workers);
    hn_compile_pool_set(workers->pool, HN_COMPILE_HEAVY_FIRST, false);
    struct hn_live *live = create(task, workers, options);
    if (live == NULL)
        return hn_fail_memory(err);
    read_usage(live, &live->before);
    hn_workers_set_sleep(workers, hn_live_sleep, live);
    enum hn_status status = hn_workers_open(workers, err);
    if (status == HN_OK) {
        take_lead(live);
        live->base.device = workers->lead->device;
        hn_live_check_ahead(live, live->base.device.identity.capability);
        status = hn_compile_pool_nvrtc(live->pool, hn_live_sleep, live, nvrtc, err);
    }
    if (status == HN_OK && task->config->plan->compiler == HN_COMPILER_NVCC)
        status = hn_nvcc_version(nvrtc, err);
    if (status == HN_EINTERRUPTED && hn_interrupted() == 0)
        status = hn_fail(err, HN_ENOTFOUND,
                         "the budget ended before driver and compiler were up; nothing was tuned");
    if (status != HN_OK) {
        destroy(&live->base);
        return status;
    }
    hn_task_set_device(task, &live->base.device.identity, live->base.device.driver, nvrtc);
    *backend = &live->base;
    return HN_OK;
}
