/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "cache/record/record_json.h"
#include "runtime/bench/roofs.h"
#include "runtime/bench/support.h"
#include "runtime/plan/data_file.h"
#include "tuner/session/live.h"

/* The numbers of compilations that belong to no ticket. */
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

static enum hn_status start(struct hn_live *live, enum own_job job, const struct hn_source *source,
                            struct hn_error *err)
{
    return hn_compile_pool_ask(live->pool, number_of(job), source, live->architecture,
                               HN_RANK_SETUP, 0, INFINITY, err);
}

/* Blocks for the image of a compilation that was started. */
static enum hn_status take(struct hn_live *live, enum own_job job, struct hn_image *image,
                           struct hn_error *err)
{
    /* What is remembered is there without anybody having to say so. */
    enum hn_status status = hn_compile_pool_process(live->pool, err);
    while (status == HN_OK && !hn_compile_pool_take_one(live->pool, number_of(job), image))
        status = hn_live_sleep(live, err);
    return status;
}

/* The default point's, with which clocks are warmed up, unless there is no time to wait for it. */
static enum hn_status take_default(struct hn_live *live, struct hn_image *image, bool *taken,
                                   struct hn_error *err)
{
    enum hn_status status = hn_compile_pool_process(live->pool, err);
    *taken = hn_compile_pool_take_one(live->pool, number_of(OWN_DEFAULT), image);
    while (status == HN_OK && !*taken && !live->base.hurries) {
        status = hn_live_sleep(live, err);
        *taken = hn_compile_pool_take_one(live->pool, number_of(OWN_DEFAULT), image);
    }
    if (!*taken)
        hn_compile_pool_drop(live->pool, number_of(OWN_DEFAULT));
    return status;
}

static enum hn_status start_support(struct hn_live *live, struct hn_error *err)
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
    return start(live, OWN_SUPPORT, &source, err);
}

static enum hn_status take_support(struct hn_live *live, struct hn_image *image,
                                   struct hn_error *err)
{
    enum hn_status status = take(live, OWN_SUPPORT, image, err);
    if (status == HN_OK && image->outcome != HN_OUTCOME_OK) {
        status = hn_fail(err, HN_ERUN, "the support kernels do not compile for %s: %s",
                         live->architecture, image->message);
        hn_image_finish(image);
    }
    return status;
}

static enum hn_status add_file(const char *path, json_t *list, struct hn_error *err)
{
    struct hn_hash hash;
    enum hn_status status = hn_data_file_hash(path, &hash, err);
    if (status != HN_OK)
        return status;
    /* Workers elsewhere are in other folders. */
    char *folder = path[0] == '/' ? strdup("") : getcwd(NULL, 0);
    json_t *file = folder == NULL ? NULL
                                  : json_pack("{s:s++, s:s}", "path", folder,
                                              path[0] == '/' ? "" : "/", path, "hash", hash.hex);
    free(folder);
    return json_array_append_new(list, file) == 0 ? HN_OK : hn_fail_memory(err);
}

/* Data files are read where the card is: they have to be those that are here. */
static enum hn_status add_data(const struct hn_live *live, struct hn_message *bench,
                               struct hn_error *err)
{
    const struct hn_task *task = live->base.task;
    struct hn_plan_files files;
    if (live->workers->hosts == NULL)
        return HN_OK;
    enum hn_status status = hn_plan_list_files(task->plan, task->problem, &files, err);
    json_t *list = json_array();
    for (size_t i = 0; i < files.count && status == HN_OK; i++)
        status = add_file(files.items[i].path, list, err);
    hn_plan_files_finish(&files);
    json_object_set_new(bench->json, "data", list);
    return status;
}

static enum hn_status set_up_bench(struct hn_live *live, struct hn_error *err)
{
    const struct hn_task *task = live->base.task;
    struct hn_image support;
    struct hn_message bench;
    enum hn_status status = take_support(live, &support, err);
    if (status != HN_OK)
        return status;
    hn_message_init(&bench, "bench");
    json_object_set_new(bench.json, "plan", hn_plan_to_json(task->plan));
    json_object_set_new(bench.json, "problem", hn_bindings_to_json(task->problem));
    json_object_set_new(bench.json, "regime", json_string(hn_regime_name(task->regime)));
    json_object_set_new(bench.json, "seed", json_integer((json_int_t)live->options.seed));
    status = add_data(live, &bench, err);
    if (status == HN_OK)
        status = hn_message_add_image(&bench, "support", &support, err);
    if (status == HN_OK)
        status = hn_live_set_up(live, &bench, NULL, err);
    hn_message_finish(&bench);
    hn_image_finish(&support);
    return status;
}

static enum hn_status start_reference(struct hn_live *live, const struct hn_bindings *point,
                                      struct hn_error *err)
{
    struct hn_source source;
    if (!hn_reference_is_kernel(&live->base.task->plan->reference))
        return HN_OK;
    enum hn_status status = hn_task_reference_source(live->base.task, point, &source, err);
    if (status != HN_OK)
        return status;
    status = start(live, OWN_REFERENCE, &source, err);
    hn_source_finish(&source);
    return status;
}

static enum hn_status take_reference(struct hn_live *live, struct hn_image *image,
                                     struct hn_error *err)
{
    enum hn_status status = take(live, OWN_REFERENCE, image, err);
    if (status == HN_OK && image->outcome != HN_OUTCOME_OK) {
        status = hn_fail(err, HN_ERUN, "the reference does not compile: %s", image->message);
        hn_image_finish(image);
    }
    return status;
}

enum hn_status hn_live_add_variant(struct hn_message *message, const struct hn_bindings *point,
                                   const struct hn_image *image, struct hn_error *err)
{
    json_object_set_new(message->json, "point", hn_bindings_to_json(point));
    return hn_message_add_image(message, "image", image, err);
}

enum hn_status hn_live_make_evaluation(const struct hn_bindings *point,
                                       const struct hn_image *image,
                                       const struct hn_bench_request *request,
                                       struct hn_message *message, struct hn_error *err)
{
    hn_message_init(message, "evaluate");
    json_object_set_new(message->json, "request",
                        hn_fields_to_json(&hn_bench_request_structure, request));
    enum hn_status status = hn_live_add_variant(message, point, image, err);
    if (status != HN_OK)
        hn_message_finish(message);
    return status;
}

/* Of a reference that was started. */
static enum hn_status send_reference(struct hn_live *live, const struct hn_bindings *depends,
                                     struct hn_error *err)
{
    struct hn_image image;
    struct hn_message message;
    enum hn_status status = take_reference(live, &image, err);
    if (status != HN_OK)
        return status;
    hn_message_init(&message, "reference");
    status = hn_live_add_variant(&message, depends, &image, err);
    if (status == HN_OK)
        status = hn_live_set_up(live, &message, NULL, err);
    hn_message_finish(&message);
    hn_image_finish(&image);
    return status;
}

/* Makes sure that the bench has the reference for this point. started: its compilation is. */
static enum hn_status ensure_reference(struct hn_live *live, const struct hn_bindings *point,
                                       bool started, struct hn_error *err)
{
    struct hn_bindings depends;
    if (!hn_reference_is_kernel(&live->base.task->plan->reference))
        return HN_OK;
    enum hn_status status = hn_task_depends(live->base.task, point, &depends, err);
    if (status != HN_OK)
        return status;
    char *key = hn_bindings_text(&depends);
    bool known = false;
    for (size_t i = 0; key != NULL && i < live->reference_count; i++)
        known = known || strcmp(live->references[i], key) == 0;
    if (!known) {
        char **references =
            realloc(live->references, (live->reference_count + 1) * sizeof *references);
        if (references != NULL)
            live->references = references;
        status = key != NULL && references != NULL ? HN_OK : hn_fail_memory(err);
        if (status == HN_OK && !started)
            status = start_reference(live, &depends, err);
        if (status == HN_OK)
            status = send_reference(live, &depends, err);
        if (status == HN_OK) {
            live->references[live->reference_count++] = key;
            key = NULL;
        }
    }
    free(key);
    hn_bindings_finish(&depends);
    return status;
}

enum hn_status hn_live_ensure_reference(struct hn_live *live, const struct hn_bindings *point,
                                        struct hn_error *err)
{
    return ensure_reference(live, point, false, err);
}

static enum hn_status evaluate(struct hn_live *live, const struct hn_bindings *point,
                               const struct hn_image *image, const struct hn_bench_request *request,
                               struct hn_record *record, struct hn_error *err)
{
    const struct hn_live_flight flight = {.point = *point};
    struct hn_message message;
    struct hn_gpu_result result;
    enum hn_status status = hn_live_make_evaluation(point, image, request, &message, err);
    if (status == HN_OK)
        status = hn_live_ask(live, &message, 0, &result, err);
    return status == HN_OK ? hn_live_read_record(&flight, &result, record, err) : status;
}

/* Verifies the default point and warms up with it. A default that fails is an outcome that the
 * search will meet; then the clocks warm up with the first variants instead. noise may be NULL. */
static enum hn_status warm_up(struct hn_live *live, const struct hn_bindings *point,
                              const struct hn_image *image, double *noise, struct hn_error *err)
{
    struct hn_message message;
    struct hn_gpu_result result;
    struct hn_record record;
    hn_record_init(&record);
    enum hn_status status =
        evaluate(live, point, image, &(struct hn_bench_request){.verify = true}, &record, err);
    bool fine = status == HN_OK && record.outcome == HN_OUTCOME_OK;
    hn_record_finish(&record);
    if (!fine)
        return status;

    hn_message_init(&message, "warm_up");
    json_object_set_new(message.json, "stays_warm", json_boolean(live->options.stays_warm));
    json_object_set_new(message.json, "noise", json_boolean(noise != NULL));
    status = hn_live_add_variant(&message, point, image, err);
    /* For other cards. */
    if (status == HN_OK && live->workers->hosts != NULL && noise != NULL) {
        hn_message_finish(&live->warm);
        status = hn_message_copy(&live->warm, &message, err);
    }
    if (status == HN_OK)
        status = hn_live_ask(live, &message, 60, &result, err);
    if (status == HN_OK && result.end == HN_GPU_REPLY) {
        if (noise != NULL)
            status = hn_message_amount(&result.message, "noise", noise, err);
        hn_message_finish(&result.message);
    }
    return status;
}

enum hn_status hn_live_measure(struct hn_backend *backend, const struct hn_racer *variant,
                               bool anew, struct hn_record *record, struct hn_error *err)
{
    struct hn_live *live = (struct hn_live *)backend;
    const struct hn_bench_request request = {.verify = true, .measure = true, .full = true};
    enum hn_status status = hn_live_ensure_reference(live, variant->point, err);
    if (status == HN_OK && anew) {
        /* A process that ends and one that starts are waited for: neither is Hone's own overhead.
         */
        hn_meter_begin(&live->workers->working, hn_now_ms());
        hn_gpu_client_drop(live->lead->card->gpu);
        status = warm_up(live, variant->point, variant->image, NULL, err);
        hn_meter_end(&live->workers->working, hn_now_ms());
    }
    if (status == HN_OK)
        status = evaluate(live, variant->point, variant->image, &request, record, err);
    if (status == HN_OK)
        hn_live_card_scale(live->lead, record);
    if (status != HN_OK || record->outcome != HN_OUTCOME_OK || !anew ||
        backend->task->plan->pipeline != NULL)
        return status;
    /* A megabyte takes about a microsecond; powers of two, so that it is as much another time. */
    double bytes = exp2(fmin(fmax(floor(log2(record->timing.median_us * 1e6)), 20), 28));
    return backend->kind->copy_rate(backend, bytes, &record->timing.copy_gb_per_s, err);
}

static enum hn_status start_default(struct hn_live *live, const struct hn_bindings *point,
                                    struct hn_error *err)
{
    struct hn_source source;
    enum hn_status status = hn_task_source(live->base.task, point, &source, err);
    if (status != HN_OK)
        return status;
    status = start(live, OWN_DEFAULT, &source, err);
    hn_source_finish(&source);
    return status;
}

/* What is needed first comes first. */
static enum hn_status start_all(struct hn_live *live, const struct hn_bindings *point,
                                struct hn_error *err)
{
    struct hn_bindings depends;
    enum hn_status status = hn_task_depends(live->base.task, point, &depends, err);
    if (status != HN_OK)
        return status;
    status = start_support(live, err);
    if (status == HN_OK)
        status = start_reference(live, &depends, err);
    if (status == HN_OK)
        status = start_default(live, point, err);
    hn_bindings_finish(&depends);
    return status;
}

enum hn_status hn_live_start_own(struct hn_live *live, struct hn_error *err)
{
    struct hn_task *task = live->base.task;
    struct hn_bindings point;
    if (live->own_started)
        return HN_OK;
    live->own_started = true;
    hn_bindings_init(&point);
    enum hn_status status = hn_config_default_point(task->config, task->space, &point, err);
    if (status == HN_OK)
        status = start_all(live, &point, err);
    hn_bindings_finish(&point);
    return status;
}

/* The GPU worker makes its context while the compile workers have their first jobs. */
static enum hn_status make_context(struct hn_live *live, struct hn_error *err)
{
    struct hn_message message;
    struct hn_card *lead = live->lead->card;
    if (lead->has_context)
        return HN_OK;
    hn_message_init(&message, "context");
    enum hn_status status = hn_gpu_client_setup(lead->gpu, &message, NULL, NULL, err);
    hn_message_finish(&message);
    lead->has_context = status == HN_OK;
    /* Whoever leads then is given one with the rest. */
    return status == HN_OK ? HN_OK : hn_live_succeed(live, status, err);
}

static enum hn_status try_default(struct hn_live *live, const struct hn_bindings *point,
                                  double *noise, struct hn_error *err)
{
    struct hn_image image;
    bool taken;
    hn_image_init(&image);
    enum hn_status status = take_default(live, &image, &taken, err);
    bool compiled = status == HN_OK && taken && image.outcome == HN_OUTCOME_OK;
    if (compiled)
        status = hn_task_check_default(live->base.task, point, &image, err);
    bool again = compiled && status == HN_OK;
    while (again) {
        status = warm_up(live, point, &image, noise, err);
        again = status != HN_OK && hn_live_succeed(live, status, err) == HN_OK;
    }
    hn_image_finish(&image);
    return status;
}

enum hn_status hn_live_prepare(struct hn_backend *backend, double *noise, struct hn_error *err)
{
    struct hn_live *live = (struct hn_live *)backend;
    struct hn_task *task = backend->task;
    struct hn_bindings point;
    *noise = 0;
    hn_bindings_init(&point);
    enum hn_status status = hn_config_default_point(task->config, task->space, &point, err);
    if (status == HN_OK)
        status = hn_live_start_own(live, err);
    if (status == HN_OK)
        status = make_context(live, err);
    if (status == HN_OK)
        status = set_up_bench(live, err);
    if (status == HN_OK)
        status = ensure_reference(live, &point, true, err);
    if (status == HN_OK)
        status = try_default(live, &point, noise, err);
    hn_bindings_finish(&point);
    live->prepared = status == HN_OK;
    if (live->prepared)
        live->lead->state = HN_CARD_READY;
    /* By now the first points have been asked for. */
    hn_compile_pool_forget(live->pool, HN_RANK_GUESSED, false);
    return status;
}

static enum hn_status compile_roofs(struct hn_live *live, struct hn_image *image,
                                    struct hn_error *err)
{
    struct hn_template template = {.path = (char *)"hone/roofs.cu"};
    struct hn_source source = {.template = &template,
                               .arch_specific = true,
                               .text = (char *)hn_roofs_source,
                               .entries = (char **)hn_roofs_entries,
                               .entry_count = hn_roofs_entry_count};
    enum hn_status status = start(live, OWN_ROOFS, &source, err);
    return status == HN_OK ? take(live, OWN_ROOFS, image, err) : status;
}

enum hn_status hn_backend_live_roofs(struct hn_backend *backend, struct hn_roofs *roofs,
                                     struct hn_error *err)
{
    struct hn_live *live = (struct hn_live *)backend;
    struct hn_message message;
    struct hn_gpu_result result;
    struct hn_image image;
    enum hn_status status = make_context(live, err);
    if (status == HN_OK)
        status = compile_roofs(live, &image, err);
    if (status != HN_OK)
        return status;
    hn_message_init(&message, "roofs");
    status = hn_message_add_image(&message, "image", &image, err);
    if (status == HN_OK)
        status = hn_live_ask(live, &message, 60, &result, err);
    hn_message_finish(&message);
    hn_image_finish(&image);
    if (status != HN_OK)
        return status;
    if (result.end != HN_GPU_REPLY)
        return hn_fail(err, HN_ERUN, "the GPU's worker ended while the roofs were measured");
    status = hn_roofs_from_json(json_object_get(result.message.json, "roofs"), roofs, err);
    hn_message_finish(&result.message);
    return status == HN_OK || hn_live_succeed(live, status, err) != HN_OK
               ? status
               : hn_backend_live_roofs(backend, roofs, err);
}
