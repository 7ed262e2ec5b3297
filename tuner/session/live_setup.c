/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"
#include "cache/record/record_json.h"
#include "runtime/bench/roofs.h"
#include "runtime/bench/support.h"
#include "runtime/plan/contents.h"
#include "tuner/session/live.h"

/* --- compilations that belong to no ticket ---------------------------------------------------- */

enum own_job {
    OWN_SUPPORT,
    OWN_REFERENCE,
    OWN_DEFAULT,
    OWN_ROOFS,
};

static uint64_t number_of(enum own_job job)
{
    return UINT64_MAX - (uint64_t)job;
}

static void start(struct hn_live *live, enum own_job job, const struct hn_source *source,
                  struct hn_error *err)
{
    if (!hn_failed(err))
        hn_compile_pool_ask(live->pool, number_of(job), source, live->architecture, HN_RANK_SETUP,
                            0, INFINITY, err);
}

/* Blocks for the image of a compilation that was started. */
static void take(struct hn_live *live, enum own_job job, struct hn_image *image,
                 struct hn_error *err)
{
    hn_image_init(image);
    /* What is kept is there without anybody having to say so. */
    if (!hn_failed(err))
        hn_compile_pool_process(live->pool, err);
    while (!hn_failed(err) && !hn_compile_pool_take_one(live->pool, number_of(job), image))
        hn_live_sleep(live, err);
}

/* The default point's, with which clocks are warmed up, unless there is no time to wait for it. */
static bool take_default(struct hn_live *live, struct hn_image *image, struct hn_error *err)
{
    bool taken = false;
    hn_image_init(image);
    if (hn_failed(err))
        return false;
    hn_compile_pool_process(live->pool, err);
    while (!(taken = hn_compile_pool_take_one(live->pool, number_of(OWN_DEFAULT), image)) &&
           !hn_failed(err) && !live->base.hurries)
        hn_live_sleep(live, err);
    if (!taken)
        hn_compile_pool_drop(live->pool, number_of(OWN_DEFAULT));
    return taken && !hn_failed(err);
}

static void start_support(struct hn_live *live, struct hn_error *err)
{
    char options[HN_SUPPORT_OPTIONS][24];
    char *option_list[HN_SUPPORT_OPTIONS];
    struct hn_template template = {.path = (char *)"hone/support.cu"};
    struct hn_source source = {.template = &template,
                               .text = (char *)hn_support_source,
                               .entries = (char **)hn_support_entries,
                               .entry_count = hn_support_entry_count,
                               .options = option_list,
                               .option_count = HN_SUPPORT_OPTIONS};
    hn_support_options(live->base.task->plan, options);
    for (size_t i = 0; i < HN_SUPPORT_OPTIONS; i++)
        option_list[i] = options[i];
    start(live, OWN_SUPPORT, &source, err);
}

static void start_reference(struct hn_live *live, const struct hn_bindings *point,
                            struct hn_error *err)
{
    struct hn_source source;
    if (hn_failed(err) || !hn_reference_is_kernel(&live->base.task->plan->reference) ||
        hn_task_reference_source(live->base.task, point, &source, err) != HN_OK)
        return;
    start(live, OWN_REFERENCE, &source, err);
    hn_source_finish(&source);
}

static void start_default(struct hn_live *live, const struct hn_bindings *point,
                          struct hn_error *err)
{
    struct hn_source source;
    if (hn_failed(err) || hn_task_source(live->base.task, point, &source, err) != HN_OK)
        return;
    start(live, OWN_DEFAULT, &source, err);
    hn_source_finish(&source);
}

/* What is needed first comes first. */
void hn_live_start_own(struct hn_live *live, struct hn_error *err)
{
    struct hn_task *task = live->base.task;
    struct hn_bindings point, depends;
    if (hn_failed(err) || live->own_started)
        return;
    live->own_started = true;
    hn_bindings_init(&point);
    hn_bindings_init(&depends);
    hn_config_default_point(task->config, task->space, &point);
    hn_task_depends(task, &point, &depends, err);
    if (!hn_failed(err))
        start_support(live, err);
    start_reference(live, &depends, err);
    start_default(live, &point, err);
    hn_bindings_finish(&depends);
    hn_bindings_finish(&point);
}

/* --- the bench -------------------------------------------------------------------------------- */

/* "point" and "image" of a message. */
static void add_variant(struct hn_message *message, const struct hn_bindings *point,
                        const struct hn_image *image, struct hn_error *err)
{
    json_object_set_new(message->json, "point", hn_bindings_to_json(point));
    if (!hn_failed(err))
        hn_message_add_image(message, "image", image, err);
}

static void add_file(const char *path, json_t *list, struct hn_error *err)
{
    struct hn_hash hash;
    if (hn_data_file_hash(path, &hash, err) != HN_OK)
        return;
    /* Workers elsewhere are in other folders. */
    char *folder = hn_needed(path[0] == '/' ? strdup("") : getcwd(NULL, 0));
    json_array_append_new(list, json_pack("{s:s++, s:s}", "path", folder, path[0] == '/' ? "" : "/",
                                          path, "hash", hash.hex));
    free(folder);
}

/* Data files are read where the card is: they have to be those that are here. */
static void add_data(const struct hn_live *live, struct hn_message *bench, struct hn_error *err)
{
    const struct hn_task *task = live->base.task;
    struct hn_plan_files files;
    if (hn_failed(err) || live->workers->hosts == NULL)
        return;
    json_t *list = json_array();
    hn_plan_list_files(task->plan, task->problem, &files, err);
    for (size_t i = 0; i < files.count && !hn_failed(err); i++)
        add_file(files.items[i].path, list, err);
    hn_plan_files_finish(&files);
    json_object_set_new(bench->json, "data", list);
}

static void set_up_bench(struct hn_live *live, struct hn_error *err)
{
    const struct hn_task *task = live->base.task;
    struct hn_image support;
    struct hn_message bench;
    take(live, OWN_SUPPORT, &support, err);
    if (!hn_failed(err) && support.outcome != HN_OUTCOME_OK)
        hn_fail(err, HN_ERUN, "the support kernels do not compile for %s: %s", live->architecture,
                support.message);
    hn_message_init(&bench, "bench");
    json_object_set_new(bench.json, "plan", hn_plan_to_json(task->plan));
    json_object_set_new(bench.json, "problem", hn_bindings_to_json(task->problem));
    json_object_set_new(bench.json, "regime", json_string(hn_regime_name(task->regime)));
    json_object_set_new(bench.json, "seed", json_integer((json_int_t)live->options.seed));
    add_data(live, &bench, err);
    if (!hn_failed(err))
        hn_message_add_image(&bench, "support", &support, err);
    hn_live_set_up(live, &bench, NULL, err);
    hn_message_finish(&bench);
    hn_image_finish(&support);
}

/* Of a reference that was started. */
static void send_reference(struct hn_live *live, const struct hn_bindings *depends,
                           struct hn_error *err)
{
    struct hn_image image;
    struct hn_message message;
    take(live, OWN_REFERENCE, &image, err);
    if (!hn_failed(err) && image.outcome != HN_OUTCOME_OK)
        hn_fail(err, HN_ERUN, "the reference does not compile: %s", image.message);
    hn_message_init(&message, "reference");
    add_variant(&message, depends, &image, err);
    hn_live_set_up(live, &message, NULL, err);
    hn_message_finish(&message);
    hn_image_finish(&image);
}

static bool has_reference(const struct hn_live *live, const char *key)
{
    for (size_t i = 0; i < live->reference_count; i++)
        if (strcmp(live->references[i], key) == 0)
            return true;
    return false;
}

/* started: its compilation is. */
static void ensure_reference(struct hn_live *live, const struct hn_bindings *point, bool started,
                             struct hn_error *err)
{
    struct hn_bindings depends;
    if (hn_failed(err) || !hn_reference_is_kernel(&live->base.task->plan->reference) ||
        hn_task_depends(live->base.task, point, &depends, err) != HN_OK)
        return;
    char *key = hn_needed(hn_bindings_text(&depends));
    if (!has_reference(live, key)) {
        if (!started)
            start_reference(live, &depends, err);
        send_reference(live, &depends, err);
        if (!hn_failed(err)) {
            live->references =
                hn_need_more(live->references, live->reference_count + 1, sizeof *live->references);
            live->references[live->reference_count++] = key;
            key = NULL;
        }
    }
    free(key);
    hn_bindings_finish(&depends);
}

void hn_live_ensure_reference(struct hn_live *live, const struct hn_bindings *point,
                              struct hn_error *err)
{
    ensure_reference(live, point, false, err);
}

/* --- variants --------------------------------------------------------------------------------- */

void hn_live_make_evaluation(const struct hn_bindings *point, const struct hn_image *image,
                             const struct hn_bench_request *request, struct hn_message *message,
                             struct hn_error *err)
{
    hn_message_init(message, "evaluate");
    json_object_set_new(message->json, "request",
                        hn_fields_to_json(&hn_bench_request_structure, request));
    add_variant(message, point, image, err);
}

/* Asks the lead for a record, and waits. */
static void evaluate(struct hn_live *live, const struct hn_bindings *point,
                     const struct hn_image *image, const struct hn_bench_request *request,
                     struct hn_record *record, struct hn_error *err)
{
    const struct hn_live_flight flight = {.point = *point};
    struct hn_message message;
    struct hn_gpu_result result;
    hn_live_make_evaluation(point, image, request, &message, err);
    hn_live_ask(live, &message, 0, &result, err);
    hn_live_read_record(&flight, &result, record, err);
}

/* The number in the reply to a message, which is taken over; 0 where the worker ended. */
static double ask_amount(struct hn_live *live, struct hn_message *message, const char *key,
                         struct hn_error *err)
{
    struct hn_gpu_result result;
    double amount = 0;
    hn_live_ask(live, message, 60, &result, err);
    if (hn_failed(err) || result.end != HN_GPU_REPLY)
        return 0;
    hn_message_amount(&result.message, key, &amount, err);
    hn_message_finish(&result.message);
    return amount;
}

/* Verifies the default point and warms up with it. A default that fails is an outcome that the
 * search will meet; then the clocks warm up with the first variants instead. Returns the noise,
 * where that is asked for. */
static double warm_up(struct hn_live *live, const struct hn_bindings *point,
                      const struct hn_image *image, bool asks_noise, struct hn_error *err)
{
    const struct hn_bench_request request = {.verify = true};
    struct hn_message message;
    struct hn_record record;
    evaluate(live, point, image, &request, &record, err);
    bool fine = !hn_failed(err) && record.outcome == HN_OUTCOME_OK;
    hn_record_finish(&record);
    if (!fine)
        return 0;
    hn_message_init(&message, "warm_up");
    json_object_set_new(message.json, "stays_warm", json_boolean(live->options.stays_warm));
    json_object_set_new(message.json, "noise", json_boolean(asks_noise));
    add_variant(&message, point, image, err);
    /* For other cards. */
    if (!hn_failed(err) && live->workers->hosts != NULL && asks_noise) {
        hn_message_finish(&live->warm);
        hn_message_copy(&live->warm, &message, err);
    }
    return ask_amount(live, &message, "noise", err);
}

double hn_live_copy_rate(struct hn_live *live, double bytes, struct hn_error *err)
{
    double gb_per_s = 0;
    if (hn_failed(err))
        return 0;
    do {
        struct hn_message message;
        hn_message_init(&message, "copy_bandwidth");
        json_object_set_new(message.json, "bytes", json_integer((json_int_t)bytes));
        gb_per_s = ask_amount(live, &message, "gb_per_s", err);
    } while (hn_live_succeed(live, err));
    return gb_per_s;
}

void hn_live_measure(struct hn_live *live, struct hn_run *run, struct hn_error *err)
{
    const struct hn_bench_request request = {.verify = true, .measure = true, .full = true};
    struct hn_racer *variant = run->racers;
    struct hn_record *record = &variant->record;
    hn_live_ensure_reference(live, variant->point, err);
    if (!hn_failed(err) && run->anew) {
        /* A process that ends and one that starts are waited for: neither is Hone's own overhead.
         */
        hn_meter_begin(&live->workers->working, hn_now_ms());
        hn_gpu_client_drop(live->lead->card->gpu);
        warm_up(live, variant->point, variant->image, false, err);
        hn_meter_end(&live->workers->working, hn_now_ms());
    }
    evaluate(live, variant->point, variant->image, &request, record, err);
    if (hn_failed(err))
        return;
    hn_live_card_scale(live->lead, record);
    if (record->outcome != HN_OUTCOME_OK || !run->anew || live->base.task->plan->pipeline != NULL)
        return;
    /* A megabyte takes about a microsecond; powers of two, so that it is as much another time. */
    double log2_bytes = floor(log2(record->timing.median_us * 1e6));
    record->timing.copy_gb_per_s =
        hn_live_copy_rate(live, exp2(fmin(fmax(log2_bytes, 20), 28)), err);
}

static double try_default(struct hn_live *live, const struct hn_bindings *point,
                          struct hn_error *err)
{
    struct hn_image image;
    double noise = 0;
    if (take_default(live, &image, err) && image.outcome == HN_OUTCOME_OK &&
        hn_task_check_default(live->base.task, point, &image, err) == HN_OK) {
        do
            noise = warm_up(live, point, &image, true, err);
        while (hn_live_succeed(live, err));
    }
    hn_image_finish(&image);
    return noise;
}

double hn_live_prepare(struct hn_live *live, struct hn_error *err)
{
    const struct hn_task *task = live->base.task;
    struct hn_bindings point;
    hn_bindings_init(&point);
    hn_config_default_point(task->config, task->space, &point);
    hn_live_start_own(live, err);
    set_up_bench(live, err);
    ensure_reference(live, &point, true, err);
    double noise = try_default(live, &point, err);
    hn_bindings_finish(&point);
    live->prepared = !hn_failed(err);
    if (live->prepared)
        live->lead->state = HN_CARD_READY;
    /* By now the first points have been asked for. */
    hn_compile_pool_forget(live->pool, HN_RANK_GUESSED, false);
    return noise;
}

/* --- roofs ------------------------------------------------------------------------------------ */

/* False: there was no answer to judge the card by. */
static bool measure_roofs(struct hn_live *live, const struct hn_image *image,
                          struct hn_roofs *roofs, struct hn_error *err)
{
    struct hn_message message;
    struct hn_gpu_result result;
    hn_message_init(&message, "roofs");
    if (!hn_failed(err))
        hn_message_add_image(&message, "image", image, err);
    hn_live_ask(live, &message, 60, &result, err);
    if (!hn_failed(err) && result.end != HN_GPU_REPLY)
        hn_fail(err, HN_ERUN, "the GPU's worker ended while the roofs were measured");
    if (hn_failed(err))
        return false;
    hn_roofs_from_json(json_object_get(result.message.json, "roofs"), roofs, err);
    hn_message_finish(&result.message);
    return true;
}

enum hn_status hn_backend_live_roofs(struct hn_backend *backend, struct hn_roofs *roofs,
                                     struct hn_error *err)
{
    struct hn_live *live = (struct hn_live *)backend;
    struct hn_template template = {.path = (char *)"hone/roofs.cu"};
    struct hn_source source = {.template = &template,
                               .arch_specific = true,
                               .text = (char *)hn_roofs_source,
                               .entries = (char **)hn_roofs_entries,
                               .entry_count = hn_roofs_entry_count};
    bool answered;
    hn_error_init(err);
    hn_workers_lock(live->workers);
    do {
        struct hn_image image;
        start(live, OWN_ROOFS, &source, err);
        take(live, OWN_ROOFS, &image, err);
        answered = measure_roofs(live, &image, roofs, err);
        hn_image_finish(&image);
    } while (answered && hn_live_succeed(live, err));
    hn_workers_unlock(live->workers);
    return err->status;
}
