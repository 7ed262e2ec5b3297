/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "cache/record/record_json.h"
#include "runtime/compile/nvcc.h"
#include "tuner/session/live.h"

/* So often, at least, does what is to be done meanwhile get its turn. */
static const int sleep_limit_ms = 50;

static void destroy(struct hn_backend *backend)
{
    struct hn_live *live = (struct hn_live *)backend;
    hn_compile_pool_halt(live->pool);
    hn_gpu_client_set_sleep(live->gpu, NULL, NULL);
    hn_live_forget_ahead(live);
    hn_bindings_finish(&live->evaluated);
    for (size_t i = 0; i < live->reference_count; i++)
        free(live->references[i]);
    free(live->references);
    free(live->fds);
    free(live);
}

/* --- the loop
 * ----------------------------------------------------------------------------------------------------
 */

static enum hn_status compile(struct hn_backend *backend, uint64_t ticket,
                              const struct hn_bindings *point, struct hn_error *err)
{
    struct hn_live *live = (struct hn_live *)backend;
    struct hn_source source;
    if (hn_live_claim_ahead(live, ticket, point))
        return HN_OK;
    enum hn_status status = hn_task_source(backend->task, point, &source, err);
    if (status != HN_OK)
        return status;
    status = hn_compile_pool_submit(live->pool, ticket, &source, live->architecture,
                                    hn_live_weight(live, point), err);
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
    return !hn_gpu_client_busy(((const struct hn_live *)backend)->gpu);
}

static enum hn_status evaluate(struct hn_backend *backend, uint64_t ticket,
                               const struct hn_bindings *point, const struct hn_image *image,
                               const struct hn_bench_request *request, struct hn_error *err)
{
    struct hn_live *live = (struct hn_live *)backend;
    enum hn_status status = hn_live_ensure_reference(live, point, err);
    if (status == HN_OK)
        status = hn_live_start_evaluation(live, point, image, request, err);
    live->evaluating = ticket;
    if (status == HN_OK)
        status = hn_bindings_copy(&live->evaluated, point, err);
    return status;
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

static enum hn_status take_evaluated(struct hn_live *live, struct hn_gpu_result *result,
                                     struct hn_backend_event *event, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    event->kind = HN_EVENT_EVALUATED;
    event->ticket = live->evaluating;
    hn_record_init(&event->record);
    if (result->end == HN_GPU_REPLY) {
        status = hn_record_from_json(json_object_get(result->message.json, "record"), NULL,
                                     &event->record, err);
        hn_message_finish(&result->message);
        if (status == HN_OK && !hn_bindings_equal(&event->record.point, &live->evaluated))
            status = hn_fail(err, HN_EFORMAT, "the GPU worker answers for another point");
        if (status == HN_OK && result->text[0] != '\0')
            status = append_output(&event->record, result->text, err);
    } else {
        hn_record_fail(&event->record,
                       result->end == HN_GPU_TIMEOUT ? HN_OUTCOME_RUN_TIMEOUT
                                                     : HN_OUTCOME_WORKER_CRASH,
                       "%s", result->text);
        status = hn_bindings_copy(&event->record.point, &live->evaluated, err);
    }
    hn_bindings_finish(&live->evaluated);
    if (status != HN_OK)
        hn_record_finish(&event->record);
    return status;
}

static enum hn_status process_compilations(struct hn_live *live, struct hn_error *err)
{
    if (live->base.all_asked)
        hn_compile_pool_prefer_heavy(live->pool, live->options.any_order);
    return hn_compile_pool_process(live->pool, err);
}

/* One pass over all workers without blocking. */
static enum hn_status process(struct hn_live *live, struct hn_backend_event *event,
                              struct hn_error *err)
{
    struct hn_gpu_result result;
    enum hn_status status = hn_gpu_client_process(live->gpu, &result, err);
    if (status != HN_OK)
        return status;
    if (result.end != HN_GPU_NOTHING)
        return take_evaluated(live, &result, event, err);
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
    int timeout = earlier(timeout_ms, hn_compile_pool_timeout_ms(live->pool));
    poll(live->fds, count, earlier(timeout, hn_gpu_client_timeout_ms(live->gpu)));
    if (live->workers->hosts != NULL)
        hn_hosts_clear(live->workers->hosts);
}

enum hn_status hn_live_sleep(void *pointer, struct hn_error *err)
{
    struct hn_live *live = pointer;
    enum hn_status status = hn_interrupt_check(err);
    if (status == HN_OK && live->base.end_ms > 0 && hn_now_ms() >= live->base.end_ms)
        return HN_EINTERRUPTED;
    if (status == HN_OK && live->base.meanwhile != NULL)
        status = live->base.meanwhile(live->base.owner, err);
    if (status == HN_OK)
        status = hn_live_start_ahead(live, err);
    if (status == HN_OK)
        status = process_compilations(live, err);
    if (status == HN_OK)
        sleep_on_workers(live, sleep_limit_ms);
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
    enum hn_status status = hn_gpu_client_setup(live->gpu, &message, "reseed", NULL, err);
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
    enum hn_status status = hn_gpu_client_request(live->gpu, &message, 60, err);
    hn_message_finish(&message);
    if (status == HN_OK)
        status = hn_gpu_client_wait(live->gpu, &result, err);
    if (status == HN_OK && result.end == HN_GPU_REPLY) {
        status = hn_message_amount(&result.message, "gb_per_s", gb_per_s, err);
        hn_message_finish(&result.message);
    }
    return status;
}

static void read_usage(const struct hn_live *live, struct hn_usage *usage)
{
    struct hn_workers *workers = live->workers;
    double now = hn_now_ms();
    *usage = (struct hn_usage){
        .compile_cpu_s = hn_compile_pool_cpu_ms(live->pool) / 1e3,
        .compile_wall_s = hn_meter_total_ms(hn_compile_pool_meter(live->pool), now) / 1e3,
        .gpu_busy_s = hn_meter_total_ms(hn_gpu_client_meter(live->gpu), now) / 1e3,
        .working_s = hn_meter_total_ms(&workers->working, now) / 1e3,
        .holder = hn_gpu_client_holder(live->gpu),
        .health = *hn_gpu_client_health(live->gpu),
        .on_gpu = &workers->on_gpu,
        .compiling = &workers->compiling,
    };
}

static void usage(const struct hn_backend *backend, struct hn_usage *usage)
{
    const struct hn_live *live = (const struct hn_live *)backend;
    read_usage(live, usage);
    usage->compile_cpu_s -= live->before.compile_cpu_s;
    usage->compile_wall_s -= live->before.compile_wall_s;
    usage->gpu_busy_s -= live->before.gpu_busy_s;
    usage->working_s -= live->before.working_s;
}

static void halt(struct hn_backend *backend)
{
    hn_compile_pool_halt(((struct hn_live *)backend)->pool);
}

static double busy_ms(const struct hn_backend *backend)
{
    struct hn_usage own;
    usage(backend, &own);
    return own.gpu_busy_s * 1e3;
}

static const struct hn_backend_kind live_kind = {
    destroy,    hn_live_prepare, compile,      complete,  room, idle,    evaluate,
    wait_event, reseed,          hn_live_race, copy_rate, halt, busy_ms, usage,
};

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
    live->gpu = workers->gpu;
    live->started_ms = hn_now_ms();
    hn_bindings_init(&live->evaluated);
    live->fds = calloc(hn_workers_poll_most(workers), sizeof *live->fds);
    live->ahead = calloc(options->ahead_count + 1, sizeof *live->ahead);
    if (live->fds != NULL && live->ahead != NULL)
        return live;
    free(live->fds);
    free(live->ahead);
    free(live);
    return NULL;
}

enum hn_status hn_backend_live(struct hn_task *task, struct hn_workers *workers,
                               const struct hn_live_options *options, struct hn_backend **backend,
                               struct hn_error *err)
{
    char nvrtc[16];
    hn_workers_leave(workers);
    hn_compile_pool_prefer_heavy(workers->pool, false);
    struct hn_live *live = create(task, workers, options);
    if (live == NULL)
        return hn_fail_memory(err);
    read_usage(live, &live->before);
    hn_gpu_client_set_sleep(live->gpu, hn_live_sleep, live);
    enum hn_status status = hn_workers_open(workers, err);
    if (status == HN_OK) {
        live->base.device = workers->device;
        hn_live_check_ahead(live, workers->device.identity.capability);
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
