/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/run.h"
#include "base/text.h"
#include "cache/record/record.h"
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

/* A GPU worker. */
struct gpu {
    struct hn_channel *channel;
    /* The message that is answered: */
    const struct hn_message *message;
    const json_t *request; /* its JSON */
    json_t *reply;         /* to be filled in */
    struct hn_bindings point;
    struct hn_image image;

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
/* A GPU that does not say it may draw so much. */
static const double unknown_limit_w = 1000;

/* Says something before the reply; the value, which is taken over, may be NULL. */
static void tell(struct gpu *gpu, const char *type, const char *key, json_t *value)
{
    struct hn_message message HN_ENDED_BY(hn_message_finish) = {0};
    hn_message_init(&message, type);
    json_object_set_new(message.json, key, value);
    hn_channel_send(gpu->channel, &message, NULL);
}

static void take_turn(struct gpu *gpu)
{
    char holder[64];
    if (!hn_turn_take(gpu->lock, false)) {
        hn_turn_holder(gpu->lock, holder);
        tell(gpu, "waiting", "holder", json_string(holder));
        hn_turn_take(gpu->lock, true);
    }
    /* The time limit of the request starts here, not while waiting for the other tuner. */
    tell(gpu, "begun", "", NULL);
}

static void open_device(struct gpu *gpu, struct hn_error *err)
{
    char warning[512];
    const char *selector = json_string_value(json_object_get(gpu->request, "device"));
    int capability = hn_health_capability(selector);
    /* The driver takes a tenth of a second to come up, in which there is something to compile. */
    if (capability != 0)
        tell(gpu, "guess", "capability", json_integer(capability));
    /* Or code is loaded by the first launch, while it is timed. */
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    gpu->driver_open = hn_driver_open(&gpu->driver, err) == HN_OK;
    if (!gpu->driver_open || hn_driver_select(&gpu->driver, selector, &gpu->device, err) != HN_OK)
        return;
    gpu->lock = hn_turn_open(gpu->device.uuid, warning);
    json_object_set_new(gpu->reply, "warning", json_string(warning));
    json_object_set_new(gpu->reply, "device",
                        hn_fields_to_json(&hn_device_structure, &gpu->device));
}

/* Takes a tenth of a second and more, in which there is something to be compiled. */
static void make_context(struct gpu *gpu, struct hn_error *err)
{
    hn_context_init(&gpu->context, &gpu->driver, &gpu->device, err);
}

static void lacks(const char *reason, struct hn_error *err)
{
    char host[64] = "";
    (void)gethostname(host, sizeof host - 1);
    hn_fail(err, HN_ECONFIG,
            "host %s does not have the data files of the config as they are where hone runs "
            "(%.300s): see that its TMPDIR has room, or copy them there, under the same path",
            host, reason);
}

/* Where it is on this host: under its own path, or as it came over the link. NULL: nowhere. */
static char *find_file(const char *path, const char *hash, struct hn_error *err)
{
    const char *folder = getenv(HN_NODE_FILES), *reason = NULL, *ignored = NULL;
    struct hn_text sent = {0};
    if (hn_hash_is(path, hash, &reason))
        return hn_need_copy(path);
    hn_text_printf(&sent, "%s/%s", folder != NULL ? folder : "", hash);
    char *found = hn_needed(hn_text_take(&sent));
    if (hn_hash_is(found, hash, &ignored))
        return found;
    free(found);
    lacks(reason, err);
    return NULL;
}

/* Measuring with other data, or against other results, is another problem. NULL: hone runs here. */
static void find_data(struct gpu *gpu, const json_t *wanted, struct hn_error *err)
{
    struct hn_plan_files files HN_ENDED_BY(hn_plan_files_finish) = {0};
    if (hn_failed(err) || wanted == NULL)
        return;
    hn_plan_list_files(gpu->plan, &gpu->problem, &files, err);
    for (size_t i = 0; i < files.count && !hn_failed(err); i++) {
        const char *path, *hash;
        char *found = NULL;
        if (json_unpack(json_array_get(wanted, i), "{s:s, s:s}", "path", &path, "hash", &hash) != 0)
            lacks("their list is not that of the plan", err);
        else
            found = find_file(path, hash, err);
        if (found != NULL) {
            free(*files.items[i].name);
            *files.items[i].name = found;
        }
    }
}

/* Until its energy is measured, a point is reckoned with what the GPU may draw at most. */
static void prepare_energy(struct gpu *gpu, struct hn_error *err)
{
    double joules = 0;
    gpu->estimated_w = 0;
    if (hn_failed(err) || !hn_plan_weighs(gpu->plan))
        return;
    if (gpu->watch == NULL || !hn_health_energy(gpu->watch, &joules)) {
        hn_fail(err, HN_ECONFIG,
                "objective '%s' needs the energy counter of the GPU, which NVML has from "
                "Volta on and not of parts of a GPU (MIG), and has not got of this one: "
                "expected objective time, or a metric",
                gpu->plan->objective);
        return;
    }
    double limit_w = hn_health_power_limit(gpu->watch);
    gpu->estimated_w = limit_w > 0 ? limit_w : unknown_limit_w;
}

static void make_bench(struct gpu *gpu, struct hn_error *err)
{
    struct hn_bench_options options = {
        .seed = (uint64_t)json_integer_value(json_object_get(gpu->request, "seed")),
        .observers = hn_observers,
        .health = &gpu->health,
    };
    const char *regime = json_string_value(json_object_get(gpu->request, "regime"));
    if (!hn_regime_parse(regime, &options.regime))
        hn_fail(err, HN_EFORMAT, "unknown regime");
    if (!hn_failed(err))
        hn_plan_from_json(json_object_get(gpu->request, "plan"), &gpu->plan, err);
    if (!hn_failed(err))
        hn_bindings_from_json(json_object_get(gpu->request, "problem"), &gpu->problem, err);
    find_data(gpu, json_object_get(gpu->request, "data"), err);
    if (!hn_failed(err))
        gpu->watch = options.watch = hn_health_watch_create(gpu->device.uuid);
    prepare_energy(gpu, err);
    if (!hn_failed(err))
        hn_bench_create(&gpu->driver, &gpu->device, &gpu->image, gpu->plan, &gpu->problem, &options,
                        &gpu->bench, err);
}

/* The next problem has a bench of its own. After a fault the driver's own calls may hang or fail:
 * the end of the process cleans up. */
static void leave_bench(struct gpu *gpu, struct hn_error *err)
{
    (void)err;
    if (gpu->bench != NULL && !hn_bench_is_dead(gpu->bench))
        hn_bench_destroy(gpu->bench);
    hn_health_watch_destroy(gpu->watch);
    hn_plan_destroy(gpu->plan);
    hn_bindings_finish(&gpu->problem);
    gpu->bench = NULL;
    gpu->watch = NULL;
    gpu->plan = NULL;
}

static void set_reference(struct gpu *gpu, struct hn_error *err)
{
    hn_bench_set_reference(gpu->bench, &gpu->point, &gpu->image, err);
}

static void warm_up(struct gpu *gpu, struct hn_error *err)
{
    double noise = 0;
    bool was_busy = gpu->busy_ms > 0 && hn_now_ms() - gpu->busy_ms < still_warm_ms;
    bool is_noise_known = json_is_false(json_object_get(gpu->request, "noise"));
    bool is_warm = was_busy && json_is_true(json_object_get(gpu->request, "stays_warm"));
    /* Where the noise is known another process was at work a moment ago. */
    if (!is_warm)
        hn_bench_warm_up(gpu->bench, &gpu->point, &gpu->image, was_busy || is_noise_known,
                         is_noise_known ? NULL : &noise, err);
    gpu->busy_ms = hn_now_ms();
    json_object_set_new(gpu->reply, "noise", json_real(noise));
}

static void evaluate(struct gpu *gpu, struct hn_error *err)
{
    struct hn_bench_request wanted = {0};
    struct hn_record record HN_ENDED_BY(hn_record_finish) = {0};
    hn_fields_read("request", &hn_bench_request_structure, json_object_get(gpu->request, "request"),
                   &wanted, err);
    if (!hn_failed(err))
        hn_bindings_copy(&record.point, &gpu->point, err);
    if (!hn_failed(err) &&
        hn_bench_evaluate(gpu->bench, &gpu->image, &wanted, &record, err) == HN_OK) {
        record.estimated_w = wanted.measure ? gpu->estimated_w : 0;
        json_object_set_new(gpu->reply, "record", hn_record_to_json(&record));
    }
    if (record.timing.sample_count > 0)
        gpu->busy_ms = hn_now_ms();
}

static void reseed(struct gpu *gpu, struct hn_error *err)
{
    hn_bench_reseed(gpu->bench, (uint64_t)json_integer_value(json_object_get(gpu->request, "seed")),
                    err);
}

static void copy_bandwidth(struct gpu *gpu, struct hn_error *err)
{
    double rate = 0;
    size_t bytes = (size_t)json_integer_value(json_object_get(gpu->request, "bytes"));
    hn_bench_copy_bandwidth(gpu->bench, bytes, &rate, err);
    json_object_set_new(gpu->reply, "gb_per_s", json_real(rate));
}

static void measure_roofs(struct gpu *gpu, struct hn_error *err)
{
    struct hn_roofs roofs;
    if (gpu->context.primary == NULL)
        hn_fail(err, HN_EFORMAT, "'roofs' before 'context'");
    else if (hn_roofs_measure(&gpu->context, &gpu->image, &roofs, err) == HN_OK)
        json_object_set_new(gpu->reply, "roofs", hn_fields_to_json(&hn_roofs_structure, &roofs));
}

/* The "point" and "image" of an object in the message, both the caller's, who begins and finishes
 * them. */
static void get_variant(const struct gpu *gpu, const json_t *json, struct hn_bindings *point,
                        struct hn_image *image, struct hn_error *err)
{
    if (!hn_failed(err) &&
        hn_bindings_from_json(json_object_get(json, "point"), point, err) == HN_OK)
        hn_message_get_image(gpu->message, json_object_get(json, "image"), image, err);
}

static void race(struct gpu *gpu, struct hn_error *err)
{
    const json_t *items = json_object_get(gpu->request, "candidates");
    const size_t count = json_array_size(items);
    struct hn_race_rules rules = {0};
    hn_fields_read("rules", &hn_race_rules_structure, json_object_get(gpu->request, "rules"),
                   &rules, err);
    struct hn_image *images HN_FREED = hn_need(count, sizeof *images);
    struct hn_bench_candidate *candidates HN_FREED = hn_need(count, sizeof *candidates);
    struct hn_record *records HN_FREED = hn_need(count, sizeof *records);
    for (size_t i = 0; i < count; i++) {
        get_variant(gpu, json_array_get(items, i), &records[i].point, &images[i], err);
        candidates[i] = (struct hn_bench_candidate){&records[i].point, &images[i]};
    }
    if (!hn_failed(err))
        hn_bench_race(gpu->bench, candidates, count, &rules, records, err);
    gpu->busy_ms = hn_now_ms();
    json_t *told = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(told, hn_record_to_json(&records[i]));
        hn_image_finish(&images[i]);
        hn_record_finish(&records[i]);
    }
    json_object_set_new(gpu->reply, "records", told);
}

static const struct {
    const char *type;
    void (*answer)(struct gpu *gpu, struct hn_error *err);
    bool on_device; /* takes a turn on the GPU */
    bool needs_bench;
    enum { NOTHING, IMAGE, VARIANT } reads; /* of the message: an image, or a point, too */
} handlers[] = {
    {"open", open_device, false, false, NOTHING},
    {"context", make_context, false, false, NOTHING},
    {"bench", make_bench, true, false, IMAGE},
    {"leave", leave_bench, true, false, NOTHING},
    {"reference", set_reference, true, true, VARIANT},
    {"warm_up", warm_up, true, true, VARIANT},
    {"evaluate", evaluate, true, true, VARIANT},
    {"reseed", reseed, true, true, NOTHING},
    {"race", race, true, true, NOTHING},
    {"copy_bandwidth", copy_bandwidth, true, true, NOTHING},
    {"roofs", measure_roofs, true, false, IMAGE},
};

static void dispatch(struct gpu *gpu, struct hn_error *err)
{
    const char *type = hn_message_type(gpu->message);
    size_t i = 0, count = sizeof handlers / sizeof handlers[0];
    while (i < count && strcmp(handlers[i].type, type) != 0)
        i++;
    if (i == count)
        hn_fail(err, HN_EFORMAT, "unknown message '%s'", type);
    else if (handlers[i].on_device && !gpu->driver_open)
        hn_fail(err, HN_EFORMAT, "'%s' before 'open'", type);
    else if (handlers[i].needs_bench && gpu->bench == NULL)
        hn_fail(err, HN_EFORMAT, "'%s' before 'bench'", type);
    if (hn_failed(err))
        return;
    gpu->point = (struct hn_bindings){0};
    gpu->image = HN_NO_IMAGE;
    if (handlers[i].reads == VARIANT)
        get_variant(gpu, gpu->request, &gpu->point, &gpu->image, err);
    else if (handlers[i].reads == IMAGE)
        hn_message_get_image(gpu->message, json_object_get(gpu->request, "image"), &gpu->image,
                             err);
    if (!hn_failed(err) && handlers[i].on_device)
        take_turn(gpu);
    if (!hn_failed(err))
        handlers[i].answer(gpu, err);
    if (handlers[i].on_device)
        hn_turn_end(gpu->lock);
    hn_bindings_finish(&gpu->point);
    hn_image_finish(&gpu->image);
}

/* The sightings of the watch go along with the reply. False when this process is of no more use:
 * hone is gone, the run failed or the device faulted. */
static bool answer(struct gpu *gpu, const struct hn_message *request)
{
    struct hn_message reply HN_ENDED_BY(hn_message_finish) = {0};
    struct hn_error err = {.status = HN_OK};
    hn_message_init(&reply, "done");
    gpu->message = request;
    gpu->request = request->json;
    gpu->reply = reply.json;
    dispatch(gpu, &err);
    bool dead = gpu->bench != NULL && hn_bench_is_dead(gpu->bench);
    if (!hn_failed(&err)) {
        json_object_set_new(reply.json, "dead", json_boolean(dead));
        hn_health_look(gpu->watch, &gpu->health);
        if (gpu->health.watching) {
            json_object_set_new(reply.json, "health",
                                hn_fields_to_json(&hn_health_structure, &gpu->health));
            gpu->health = (struct hn_health){0};
        }
        hn_channel_send(gpu->channel, &reply, &err);
    } else {
        hn_worker_fail(gpu->channel, err.status, &err);
    }
    return !hn_failed(&err) && !dead;
}

void hn_worker_gpu(struct hn_channel *channel)
{
    struct gpu gpu = {.channel = channel, .lock = -1};
    struct hn_message request;
    struct hn_error err = {0};
    bool alive = true;
    while (alive && hn_channel_receive(channel, true, &request, &err) == HN_RECEIVED_MESSAGE) {
        alive = answer(&gpu, &request);
        hn_message_finish(&request);
    }
    bool dead = gpu.bench != NULL && hn_bench_is_dead(gpu.bench);
    leave_bench(&gpu, &err);
    if (!dead)
        hn_context_finish(&gpu.context);
    if (gpu.driver_open)
        hn_driver_close(&gpu.driver);
}
