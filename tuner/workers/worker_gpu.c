/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/run.h"
#include "base/text.h"
#include "cache/record/record_json.h"
#include "runtime/bench/bench.h"
#include "runtime/bench/observe/observers.h"
#include "runtime/bench/roofs.h"
#include "runtime/device/driver.h"
#include "runtime/device/health.h"
#include "runtime/plan/contents.h"
#include "runtime/process/process.h"
#include "tuner/hosts/hosts.h"
#include "tuner/workers/turn.h"
#include "tuner/workers/workers.h"

/* What a GPU worker holds; each message handler answers one message. */
struct gpu {
    struct hn_channel *channel;
    struct hn_driver driver;
    bool driver_open;
    struct hn_device device;
    struct hn_plan *plan;
    struct hn_bindings problem;
    struct hn_context context; /* keeps the primary context that the bench will use */
    struct hn_bench *bench;
    struct hn_health_watch *watch;
    struct hn_health health; /* seen since the last reply */
    int lock;                /* descriptor of the GPU's lock file, -1 when there is none */
    double estimated_w;      /* where energy is the objective, what the GPU may draw; else 0 */
    double busy_ms;          /* when something was last timed; 0: never */
};

/* Clocks keep up for so long without work. */
static const double still_warm_ms = 1000;
/* What a GPU may draw that does not say it. */
static const double unknown_limit_w = 1000;

typedef enum hn_status handle_message(struct gpu *gpu, const struct hn_message *request,
                                      struct hn_message *reply, struct hn_error *err);

static void tell_waiting(struct gpu *gpu)
{
    char holder[64];
    struct hn_message waiting;
    hn_turn_holder(gpu->lock, holder);
    hn_message_init(&waiting, "waiting");
    json_object_set_new(waiting.json, "holder", json_string(holder));
    hn_channel_send(gpu->channel, &waiting, NULL);
    hn_message_finish(&waiting);
}

static void take_turn(struct gpu *gpu)
{
    if (!hn_turn_try(gpu->lock)) {
        tell_waiting(gpu);
        hn_turn_wait(gpu->lock);
    }
    /* The time limit of the request starts here, not while waiting for the other tuner. */
    struct hn_message begun;
    hn_message_init(&begun, "begun");
    hn_channel_send(gpu->channel, &begun, NULL);
    hn_message_finish(&begun);
}

/* The driver takes a tenth of a second to come up, in which there is something to compile. */
static void tell_guess(struct gpu *gpu, int capability)
{
    struct hn_message guess;
    if (capability == 0)
        return;
    hn_message_init(&guess, "guess");
    json_object_set_new(guess.json, "capability", json_integer(capability));
    hn_channel_send(gpu->channel, &guess, NULL);
    hn_message_finish(&guess);
}

static enum hn_status open_device(struct gpu *gpu, const struct hn_message *request,
                                  struct hn_message *reply, struct hn_error *err)
{
    const char *selector = json_string_value(json_object_get(request->json, "device"));
    tell_guess(gpu, hn_health_capability(selector));
    /* Or code is loaded by the first launch, while it is timed. */
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    enum hn_status status = hn_driver_open(&gpu->driver, err);
    if (status != HN_OK)
        return status;
    gpu->driver_open = true;
    status = hn_driver_select(&gpu->driver, selector, &gpu->device, err);
    if (status != HN_OK)
        return status;
    char warning[512];
    gpu->lock = hn_turn_open(gpu->device.uuid, warning);
    json_object_set_new(reply->json, "warning", json_string(warning));
    json_object_set_new(reply->json, "device", hn_device_to_json(&gpu->device));
    return HN_OK;
}

/* Takes a tenth of a second and more, in which there is something to be compiled. */
static enum hn_status make_context(struct gpu *gpu, const struct hn_message *request,
                                   struct hn_message *reply, struct hn_error *err)
{
    (void)request;
    (void)reply;
    return hn_context_init(&gpu->context, &gpu->driver, &gpu->device, err);
}

static enum hn_status get_image(const struct hn_message *request, const char *key,
                                struct hn_image *image, struct hn_error *err)
{
    return hn_message_get_image(request, json_object_get(request->json, key), image, err);
}

static enum hn_status lacks(const char *reason, struct hn_error *err)
{
    char host[64] = "";
    (void)gethostname(host, sizeof host - 1);
    return hn_fail(
        err, HN_ECONFIG,
        "host %s does not have the data files of the config as they are where hone runs "
        "(%.300s): see that its TMPDIR has room, or copy them there, under the same path",
        host, reason);
}

/* Where it is on this host: under its own path, or as it came over the link. */
static enum hn_status find_file(const char *path, const char *hash, char **found,
                                struct hn_error *err)
{
    const char *folder = getenv(HN_NODE_FILES);
    const char *reason = NULL;
    const char *ignored = NULL;
    struct hn_text sent;
    hn_text_init(&sent);
    hn_text_printf(&sent, "%s/%s", folder != NULL ? folder : "", hash);
    *found = NULL;
    if (hn_file_is(path, hash, &reason))
        *found = strdup(path);
    else if (!sent.failed && hn_file_is(sent.data, hash, &ignored))
        *found = hn_text_take(&sent);
    hn_text_finish(&sent);
    return *found != NULL ? HN_OK : lacks(reason != NULL ? reason : "out of memory", err);
}

/* What is measured with other data, or held against other results, is another problem. NULL: hone
 * runs here. */
static enum hn_status find_data(struct gpu *gpu, const json_t *wanted, struct hn_error *err)
{
    struct hn_plan_files files;
    if (wanted == NULL)
        return HN_OK;
    enum hn_status status = hn_plan_list_files(gpu->plan, &gpu->problem, &files, err);
    for (size_t i = 0; i < files.count && status == HN_OK; i++) {
        const char *path;
        const char *hash;
        char *found = NULL;
        if (json_unpack(json_array_get(wanted, i), "{s:s, s:s}", "path", &path, "hash", &hash) != 0)
            status = lacks("their list is not that of the plan", err);
        else
            status = find_file(path, hash, &found, err);
        if (status == HN_OK) {
            free(*files.items[i].name);
            *files.items[i].name = found;
        }
    }
    hn_plan_files_finish(&files);
    return status;
}

/* Until its energy is measured, a point is reckoned with what the GPU may draw at most. */
static enum hn_status prepare_energy(struct gpu *gpu, struct hn_error *err)
{
    enum hn_front_by by;
    double joules = 0;
    gpu->estimated_w = 0;
    if (!hn_plan_weighs(gpu->plan, &by))
        return HN_OK;
    if (gpu->watch == NULL || !hn_health_energy(gpu->watch, &joules))
        return hn_fail(err, HN_ECONFIG,
                       "objective '%s' needs the energy counter of the GPU, which NVML has from "
                       "Volta on and not of parts of a GPU (MIG), and has not got of this one: "
                       "expected objective time, or a metric",
                       gpu->plan->objective);
    double limit_w = hn_health_power_limit(gpu->watch);
    gpu->estimated_w = limit_w > 0 ? limit_w : unknown_limit_w;
    return HN_OK;
}

static enum hn_status make_bench(struct gpu *gpu, const struct hn_message *request,
                                 struct hn_message *reply, struct hn_error *err)
{
    struct hn_bench_options options = {.observers = hn_observers, .health = &gpu->health};
    struct hn_image support;
    const json_t *json = request->json;
    (void)reply;
    if (!hn_regime_parse(json_string_value(json_object_get(json, "regime")), &options.regime))
        return hn_fail(err, HN_EFORMAT, "unknown regime");
    options.seed = (uint64_t)json_integer_value(json_object_get(json, "seed"));
    enum hn_status status = hn_plan_from_json(json_object_get(json, "plan"), &gpu->plan, err);
    if (status == HN_OK)
        status = hn_bindings_from_json(json_object_get(json, "problem"), &gpu->problem, err);
    if (status == HN_OK)
        status = find_data(gpu, json_object_get(json, "data"), err);
    if (status != HN_OK)
        return status;
    gpu->watch = options.watch = hn_health_watch_create(gpu->device.uuid);
    status = prepare_energy(gpu, err);
    if (status == HN_OK)
        status = get_image(request, "support", &support, err);
    if (status != HN_OK)
        return status;
    status = hn_bench_create(&gpu->driver, &gpu->device, &support, gpu->plan, &gpu->problem,
                             &options, &gpu->bench, err);
    hn_image_finish(&support);
    return status;
}

/* The next problem has a bench of its own. */
static enum hn_status leave_bench(struct gpu *gpu, const struct hn_message *request,
                                  struct hn_message *reply, struct hn_error *err)
{
    (void)request;
    (void)reply;
    (void)err;
    hn_bench_destroy(gpu->bench);
    hn_health_watch_destroy(gpu->watch);
    hn_plan_destroy(gpu->plan);
    hn_bindings_finish(&gpu->problem);
    gpu->bench = NULL;
    gpu->watch = NULL;
    gpu->plan = NULL;
    return HN_OK;
}

/* The "point" and "image" of a message, both the caller's to finish. */
static enum hn_status get_variant(const json_t *json, const struct hn_message *request,
                                  struct hn_bindings *point, struct hn_image *image,
                                  struct hn_error *err)
{
    hn_bindings_init(point);
    hn_image_init(image);
    enum hn_status status = hn_bindings_from_json(json_object_get(json, "point"), point, err);
    if (status == HN_OK)
        status = hn_message_get_image(request, json_object_get(json, "image"), image, err);
    if (status != HN_OK)
        hn_bindings_finish(point);
    return status;
}

static enum hn_status set_reference(struct gpu *gpu, const struct hn_message *request,
                                    struct hn_message *reply, struct hn_error *err)
{
    struct hn_bindings point;
    struct hn_image image;
    (void)reply;
    enum hn_status status = get_variant(request->json, request, &point, &image, err);
    if (status != HN_OK)
        return status;
    status = hn_bench_set_reference(gpu->bench, &point, &image, err);
    hn_bindings_finish(&point);
    hn_image_finish(&image);
    return status;
}

static enum hn_status warm_up(struct gpu *gpu, const struct hn_message *request,
                              struct hn_message *reply, struct hn_error *err)
{
    struct hn_bindings point;
    struct hn_image image;
    double noise = 0;
    bool was_busy = gpu->busy_ms > 0 && hn_now_ms() - gpu->busy_ms < still_warm_ms;
    bool is_noise_known = json_is_false(json_object_get(request->json, "noise"));
    bool is_warm = was_busy && json_is_true(json_object_get(request->json, "stays_warm"));
    enum hn_status status = get_variant(request->json, request, &point, &image, err);
    if (status != HN_OK)
        return status;
    if (!is_warm)
        /* Where the noise is known another process was at work a moment ago. */
        status = hn_bench_warm_up(gpu->bench, &point, &image, was_busy || is_noise_known,
                                  is_noise_known ? NULL : &noise, err);
    gpu->busy_ms = hn_now_ms();
    hn_bindings_finish(&point);
    hn_image_finish(&image);
    json_object_set_new(reply->json, "noise", json_real(noise));
    return status;
}

static enum hn_status evaluate(struct gpu *gpu, const struct hn_message *request,
                               struct hn_message *reply, struct hn_error *err)
{
    const json_t *json = request->json;
    struct hn_json_reader reader = {"request", HN_OK, err, NULL};
    struct hn_bench_request wanted = {0};
    hn_fields_read(&reader, &hn_bench_request_structure, json_object_get(json, "request"), &wanted);
    if (reader.status != HN_OK)
        return reader.status;
    struct hn_record record;
    struct hn_image image;
    hn_record_init(&record);
    enum hn_status status = get_variant(json, request, &record.point, &image, err);
    if (status != HN_OK)
        return status;
    status = hn_bench_evaluate(gpu->bench, &image, &wanted, &record, err);
    record.estimated_w = wanted.measure ? gpu->estimated_w : 0;
    if (status == HN_OK)
        json_object_set_new(reply->json, "record", hn_record_to_json(&record));
    if (record.timing.sample_count > 0)
        gpu->busy_ms = hn_now_ms();
    hn_image_finish(&image);
    hn_record_finish(&record);
    return status;
}

static enum hn_status reseed(struct gpu *gpu, const struct hn_message *request,
                             struct hn_message *reply, struct hn_error *err)
{
    (void)reply;
    return hn_bench_reseed(
        gpu->bench, (uint64_t)json_integer_value(json_object_get(request->json, "seed")), err);
}

static enum hn_status copy_bandwidth(struct gpu *gpu, const struct hn_message *request,
                                     struct hn_message *reply, struct hn_error *err)
{
    double rate = 0;
    size_t bytes = (size_t)json_integer_value(json_object_get(request->json, "bytes"));
    enum hn_status status = hn_bench_copy_bandwidth(gpu->bench, bytes, &rate, err);
    json_object_set_new(reply->json, "gb_per_s", json_real(rate));
    return status;
}

static enum hn_status measure_roofs(struct gpu *gpu, const struct hn_message *request,
                                    struct hn_message *reply, struct hn_error *err)
{
    struct hn_roofs roofs;
    struct hn_image image;
    if (gpu->context.primary == NULL)
        return hn_fail(err, HN_EFORMAT, "'roofs' before 'context'");
    enum hn_status status = get_image(request, "image", &image, err);
    if (status != HN_OK)
        return status;
    status = hn_roofs_measure(&gpu->context, &image, &roofs, err);
    hn_image_finish(&image);
    if (status == HN_OK)
        json_object_set_new(reply->json, "roofs", hn_roofs_to_json(&roofs));
    return status;
}

/* The candidates of a race, as the bench takes them. */
struct field {
    size_t count;
    size_t filled;
    struct hn_bindings *points;
    struct hn_image *images;
    struct hn_bench_candidate *candidates;
    struct hn_record *records;
    double *samples;
};

static void finish_field(struct field *field)
{
    for (size_t i = 0; i < field->filled; i++) {
        hn_bindings_finish(&field->points[i]);
        hn_image_finish(&field->images[i]);
        hn_record_finish(&field->records[i]);
    }
    free(field->points);
    free(field->images);
    free(field->candidates);
    free(field->records);
    free(field->samples);
}

static enum hn_status fill_field(struct field *field, const struct hn_message *request, int rounds,
                                 struct hn_error *err)
{
    const json_t *items = json_object_get(request->json, "candidates");
    field->count = json_array_size(items);
    field->points = calloc(field->count + 1, sizeof *field->points);
    field->images = calloc(field->count + 1, sizeof *field->images);
    field->candidates = calloc(field->count + 1, sizeof *field->candidates);
    field->records = calloc(field->count + 1, sizeof *field->records);
    field->samples = calloc(field->count * (size_t)rounds + 1, sizeof *field->samples);
    if (field->points == NULL || field->images == NULL || field->candidates == NULL ||
        field->records == NULL || field->samples == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < field->count; i++) {
        enum hn_status status = get_variant(json_array_get(items, i), request, &field->points[i],
                                            &field->images[i], err);
        if (status != HN_OK)
            return status;
        hn_record_init(&field->records[i]);
        field->filled++;
        field->candidates[i] = (struct hn_bench_candidate){&field->points[i], &field->images[i]};
        status = hn_bindings_copy(&field->records[i].point, &field->points[i], err);
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}

static void report_race(const struct field *field, int rounds, int done, struct hn_message *reply)
{
    json_t *records = json_array();
    json_t *samples = json_array();
    for (size_t i = 0; i < field->count; i++) {
        json_t *row = json_array();
        for (int r = 0; r < done; r++)
            json_array_append_new(row, json_real(field->samples[i * (size_t)rounds + (size_t)r]));
        json_array_append_new(samples, row);
        json_array_append_new(records, hn_record_to_json(&field->records[i]));
    }
    json_object_set_new(reply->json, "samples", samples);
    json_object_set_new(reply->json, "records", records);
}

static enum hn_status race(struct gpu *gpu, const struct hn_message *request,
                           struct hn_message *reply, struct hn_error *err)
{
    struct hn_json_reader reader = {"rules", HN_OK, err, NULL};
    struct hn_race_rules rules = {0};
    struct field field = {0};
    int done = 0;
    hn_fields_read(&reader, &hn_race_rules_structure, json_object_get(request->json, "rules"),
                   &rules);
    enum hn_status status = reader.status;
    if (status == HN_OK)
        status = fill_field(&field, request, rules.max_rounds, err);
    if (status == HN_OK)
        status = hn_bench_race(gpu->bench, field.candidates, field.count, &rules, field.samples,
                               &done, field.records, err);
    gpu->busy_ms = hn_now_ms();
    if (status == HN_OK)
        report_race(&field, rules.max_rounds, done, reply);
    finish_field(&field);
    return status;
}

static const struct {
    const char *type;
    handle_message *handle;
    bool on_device; /* takes a turn on the GPU */
    bool needs_bench;
} handlers[] = {
    {"open", open_device, false, false},
    {"context", make_context, false, false},
    {"bench", make_bench, true, false},
    {"leave", leave_bench, true, false},
    {"reference", set_reference, true, true},
    {"warm_up", warm_up, true, true},
    {"evaluate", evaluate, true, true},
    {"reseed", reseed, true, true},
    {"race", race, true, true},
    {"copy_bandwidth", copy_bandwidth, true, true},
    {"roofs", measure_roofs, true, false},
};

static enum hn_status dispatch(struct gpu *gpu, const struct hn_message *request,
                               struct hn_message *reply, struct hn_error *err)
{
    for (size_t i = 0; i < sizeof handlers / sizeof handlers[0]; i++) {
        if (strcmp(handlers[i].type, hn_message_type(request)) != 0)
            continue;
        if (handlers[i].on_device && !gpu->driver_open)
            return hn_fail(err, HN_EFORMAT, "'%s' before 'open'", handlers[i].type);
        if (handlers[i].needs_bench && gpu->bench == NULL)
            return hn_fail(err, HN_EFORMAT, "'%s' before 'bench'", handlers[i].type);
        if (handlers[i].on_device)
            take_turn(gpu);
        enum hn_status status = handlers[i].handle(gpu, request, reply, err);
        if (handlers[i].on_device)
            hn_turn_end(gpu->lock);
        return status;
    }
    return hn_fail(err, HN_EFORMAT, "unknown message '%s'", hn_message_type(request));
}

/* What the watch has seen goes along with the reply. */
static void report_health(struct gpu *gpu, struct hn_message *reply)
{
    const struct hn_health *health = &gpu->health;
    hn_health_look(gpu->watch, &gpu->health);
    if (!health->watching)
        return;
    json_object_set_new(reply->json, "health",
                        json_pack("{si si si si ss}", "checks", (int)health->checks, "held_down",
                                  (int)health->held_down, "reasons", (int)health->reasons,
                                  "other_processes", (int)health->other_processes, "process",
                                  health->process));
    gpu->health = (struct hn_health){0};
}

/* False when this process is of no more use: hone is gone, the run failed, or the device faulted.
 */
static bool answer(struct gpu *gpu, const struct hn_message *request)
{
    struct hn_message reply;
    struct hn_error err = {0};
    hn_message_init(&reply, "done");
    enum hn_status status = dispatch(gpu, request, &reply, &err);
    bool dead = gpu->bench != NULL && hn_bench_is_dead(gpu->bench);
    if (status == HN_OK) {
        json_object_set_new(reply.json, "dead", json_boolean(dead));
        report_health(gpu, &reply);
        status = hn_channel_send(gpu->channel, &reply, &err);
    } else {
        hn_worker_fail(gpu->channel, status, &err);
    }
    hn_message_finish(&reply);
    return status == HN_OK && !dead;
}

void hn_worker_gpu(struct hn_channel *channel)
{
    struct gpu gpu = {.channel = channel, .lock = -1};
    struct hn_message request;
    struct hn_error err = {0};
    bool alive = true;
    hn_bindings_init(&gpu.problem);
    while (alive && hn_channel_receive(channel, true, &request, &err) == HN_RECEIVED_MESSAGE) {
        alive = answer(&gpu, &request);
        hn_message_finish(&request);
    }
    /* After a fault the driver's own calls may hang or fail: the end of the process cleans up. */
    if (gpu.bench != NULL && !hn_bench_is_dead(gpu.bench))
        hn_bench_destroy(gpu.bench);
    if (gpu.bench == NULL || !hn_bench_is_dead(gpu.bench))
        hn_context_finish(&gpu.context);
    hn_health_watch_destroy(gpu.watch);
    hn_plan_destroy(gpu.plan);
    hn_bindings_finish(&gpu.problem);
    if (gpu.driver_open)
        hn_driver_close(&gpu.driver);
}
