/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "cache/record/record.h"
#include "runtime/bench/arena.h"
#include "runtime/bench/observe/observers.h"
#include "runtime/bench/support.h"
#include "runtime/compile/compile.h"
#include "tuner/commands/command.h"
#include "tuner/report/bounds.h"
#include "tuner/report/summary.h"
#include "tuner/workers/turn.h"

/* All in one process, with no worker between: what a profiler or compute-sanitizer is to see. */
struct once {
    struct hn_given *given;
    const struct hn_options *options;
    struct hn_nvrtc nvrtc;
    struct hn_driver driver;
    struct hn_device device;
    char architecture[16];
    int lock;              /* of the GPU, beside tuners that work on it; -1: none */
    const json_t *wrong;   /* the first result that is not valid; NULL: there is none */
    char no_counters[512]; /* why there are none of the point that is printed; "": there are, or
                              nobody asked */
};

/* One problem: what comes of the point, beside the reference and on a device in which health. */
struct result {
    struct once *once;
    struct hn_task task;
    struct hn_bench *bench;
    struct hn_image image;
    struct hn_record record;
    struct hn_beside beside;
    struct hn_health health;
};

/* Compiles something that every variant needs; `name` goes into the message of a failure. */
static void compile_needed(const struct result *result, const struct hn_source *source,
                           const char *name, struct hn_image *image, struct hn_error *err)
{
    if (hn_compile(&result->once->nvrtc, source, result->once->architecture, image, err) != HN_OK ||
        image->outcome == HN_OUTCOME_OK)
        return;
    hn_task_advise(&result->task, true, image);
    hn_fail(err, HN_ERUN, "the %s not compile: %s", name, image->message);
}

static void set_reference(struct result *result, struct hn_error *err)
{
    const struct hn_task *task = &result->task;
    struct hn_bindings depends HN_ENDED_BY(hn_bindings_finish) = {0};
    struct hn_source source HN_ENDED_BY(hn_source_finish) = {0};
    struct hn_image image HN_ENDED_BY(hn_image_finish) = HN_NO_IMAGE;
    if (hn_failed(err) || !hn_reference_is_kernel(&task->plan->reference) ||
        hn_plan_depends(task->plan, &result->record.point, &depends, err) != HN_OK)
        return;
    if (hn_task_reference_source(task, &depends, &source, err) == HN_OK)
        compile_needed(result, &source, "reference does", &image, err);
    if (!hn_failed(err) && task->plan->reference.kind == HN_REFERENCE_SELF)
        hn_task_check_default(task, &depends, &image, err);
    if (!hn_failed(err)) {
        hn_turn_await(result->once->lock);
        hn_bench_set_reference(result->bench, &depends, &image, err);
        hn_turn_end(result->once->lock);
    }
}

static bool is_good(const struct hn_record *record, const struct hn_error *err)
{
    return !hn_failed(err) && record->outcome == HN_OUTCOME_OK;
}

/* Evaluates the same point, into a record that holds nothing else. */
static void look(struct result *result, const struct hn_bench_request *request,
                 struct hn_record *record, struct hn_error *err)
{
    *record = (struct hn_record){0};
    record->point = hn_need_bindings(&result->record.point, NULL);
    if (!hn_failed(err))
        hn_bench_evaluate(result->bench, &result->image, request, record, err);
}

/* Moves what was counted into the record. */
static void count(struct result *result, struct hn_error *err)
{
    const struct hn_bench_request request = {.observe = "counters"};
    struct hn_record counted HN_ENDED_BY(hn_record_finish) = {0};
    look(result, &request, &counted, err);
    snprintf(result->once->no_counters, sizeof result->once->no_counters, "%s",
             counted.message != NULL ? counted.message : "");
    hn_observed_replace(&result->record.observed, "counters", &counted.observed, err);
}

static void weigh(struct result *result, struct hn_error *err)
{
    struct hn_bench_request request = {.verify = false};
    snprintf(request.observe, sizeof request.observe, "energy=%.17g",
             result->once->options->search.energy_s);
    for (int i = 0; !hn_failed(err) && i < 2; i++) {
        struct hn_record window HN_ENDED_BY(hn_record_finish) = {0};
        look(result, &request, &window, err);
        hn_energy_add(&result->record.observed, &window.observed, err);
    }
}

/* Holds the trial of a suspect in this process (runtime/bench/trial.h), and puts into the record
 * how it ended. */
static void try_suspect(struct result *result, struct hn_record *record, struct hn_error *err)
{
    const struct hn_bench_request request = {.trial = record->suspicion};
    if (is_good(record, err) && record->suspicion >= HN_SUSPICION_CHECKED)
        hn_bench_evaluate(result->bench, &result->image, &request, record, err);
}

static const double repeat_ms = 50;

/* On a second seed, which nobody could prepare for; files say what is right for one seed only. */
static void verify_again(struct result *result, struct hn_error *err)
{
    struct hn_record *record = &result->record;
    bool one_seed = result->task.plan->reference.kind == HN_REFERENCE_FILES;
    const struct hn_bench_request request = {
        .verify = true, .observe = "audit", .repeat_ms = repeat_ms};
    struct hn_record again HN_ENDED_BY(hn_record_finish) = {0};
    struct hn_random secret;
    uint64_t seed = 0;
    if (hn_random_seed_secretly(&secret, err) == HN_OK && !one_seed) {
        seed = hn_random_below(&secret, INT64_MAX); /* as --seed takes it */
        hn_bench_reseed(result->bench, seed, err);
    }
    look(result, &request, &again, err);
    try_suspect(result, &again, err);
    const char *message = again.message == NULL ? "no message" : again.message;
    if (is_good(&again, err))
        record->verdict.seeds += !one_seed;
    else if (!hn_failed(err) && one_seed)
        hn_record_fail(record, again.outcome, "%s (when it was launched again)", message);
    else if (!hn_failed(err))
        hn_record_fail(record, again.outcome, "%s (on the second seed, %llu)", message,
                       (unsigned long long)seed);
    record->verdict.launches += again.verdict.launches;
}

/* Why this plan's reference says nothing of a speedup; NULL when it does. */
static const char *obstacle_of(const struct hn_plan *plan)
{
    if (plan->reference.kind == HN_REFERENCE_NONE)
        return "the config says `reference: none`";
    if (plan->reference.kind == HN_REFERENCE_FILES)
        return "the reference is files, which take no time";
    if (plan->reference.kind == HN_REFERENCE_TEMPLATE && plan->pipeline != NULL)
        return "the reference runs in device memory, the pipeline from host memory to host memory";
    return NULL;
}

static void work(struct result *result, struct hn_error *err)
{
    const struct hn_options *options = result->once->options;
    const struct hn_task *task = &result->task;
    struct hn_record *record = &result->record;
    struct hn_bench_request request = {
        .verify = true, .measure = !options->verify_only, .full = true, .observe = "staging"};
    if (options->verify_only)
        request.observe[0] = '\0';
    else if (options->observe != NULL)
        snprintf(request.observe, sizeof request.observe, "staging,%s", options->observe);
    hn_bench_evaluate(result->bench, &result->image, &request, record, err);
    try_suspect(result, record, err);
    if (is_good(record, err) && record->timing.sample_count > 0)
        hn_metrics_evaluate(task->plan, task->problem, record, err);
    /* Judged as `hone tune` does its finalists: it runs beside its reference, and is verified on a
     * seed that is drawn, audited and repeated. What fails becomes the record's outcome. */
    const bool judges = options->json && !options->verify_only && is_good(record, err);
    if (judges && obstacle_of(task->plan) == NULL)
        hn_bench_beside(result->bench, &result->image, record, &result->beside, err);
    if (judges)
        try_suspect(result, record, err);
    if (judges && is_good(record, err))
        verify_again(result, err);
    if (is_good(record, err) && options->search.counters)
        count(result, err);
    if (is_good(record, err) && options->search.energy_s > 0)
        weigh(result, err);
    /* Energy may be the objective. */
    if (!hn_failed(err) && hn_observed_any(&record->observed, "energy") &&
        record->timing.sample_count > 0)
        hn_metrics_evaluate(task->plan, task->problem, record, err);
}

static void evaluate(struct result *result, struct hn_error *err)
{
    const struct once *once = result->once;
    const struct hn_task *task = &result->task;
    struct hn_record *record = &result->record;
    struct hn_image *image = &result->image;
    struct hn_source source HN_ENDED_BY(hn_source_finish) = {0};
    struct hn_launch launch HN_ENDED_BY(hn_launch_finish) = {0};
    char key[33];
    if (hn_failed(err))
        return;
    hn_launch_make_checked(task->plan, &once->device, task->problem, &record->point, &launch,
                           record, err);
    if (!is_good(record, err) || hn_task_source(task, &record->point, &source, err) != HN_OK)
        return;
    hn_compile(&once->nvrtc, &source, once->architecture, image, err);
    if (hn_failed(err) ||
        hn_task_complete_image(task, &once->device, &record->point, image, key, err) != HN_OK)
        return;
    record->resources = image->resources;
    if (image->outcome != HN_OUTCOME_OK) {
        hn_record_fail(record, image->outcome, "%s", image->message != NULL ? image->message : "");
        return;
    }
    hn_turn_await(once->lock);
    work(result, err);
    hn_turn_end(once->lock);
}

static const struct hn_view views[] = {
    {.line = "{kernel} [{problem}: ][{point}]"},
    {.line = "  outcome      {outcome}[: {message}]"},
    {.line = "  verified     max error {verified.max_error:.3g}, tolerance {verified.tolerance:.3g}"
             "[{?verified.kind=self-verified} (self-verified)]"
             "{?!verified.kind=unverified}{?outcome=ok}"},
    {.line = "  time         {record.timing:timing} ({record.timing.samples_us+0:.0f} samples, "
             "{regime:regime})[, {merit}]"},
    {.line = "  conditions   {conditions}"},
    {.line =
         "  energy       {record.energy.joules:energy} ±{record.energy.spread:.2%} a launch, at "
         "{record.energy.power_w:.0f} W; {record.energy.windows:.0f} windows of "
         "{record.energy.seconds/record.energy.windows:.1f} s; the idle GPU takes "
         "{record.energy.idle_w:.0f} W{?record.energy.windows}"},
    HN_STAGING_VIEWS("record", "  pipeline     "),
    {.line =
         "  resources    {record.resources.registers} registers, "
         "{record.resources.shared_bytes+record.resources.dynamic_shared_bytes:.0f} B shared, "
         "{record.resources.spill_store_bytes+record.resources.spill_load_bytes:.0f} B spilled, "
         "occupancy {record.resources.occupancy:percent}"},
    {.line = "  warnings     {record.resources.warnings}"},
    {.at = "observed.*", .line = "  {@:<28} {:.6g}"},
    {.line = "  no counters  {no_counters}"},
    {.line = "  bound by     {record.counted.bound}"},
    HN_FINDINGS_VIEWS("record", "               ", 0),
    {.at = "record.counters.*", .line = "  {@:<28} {:.6g}"},
    {NULL},
};

static json_t *interval_to_json(const struct hn_interval *interval, const char *const names[3])
{
    return json_pack("{sf sf sf}", names[0], interval->median, names[1], interval->low, names[2],
                     interval->high);
}

/* The point beside its reference, or why there is no speedup. */
static json_t *times_to_json(const struct result *result)
{
    static const char *const in_us[] = {"median_us", "low_us", "high_us"};
    static const char *const as_ratio[] = {"median", "low", "high"};
    const struct hn_beside *beside = &result->beside;
    const char *obstacle = obstacle_of(result->task.plan);
    if (beside->rounds > 0)
        return json_pack("{s{so so si} so sn}", "times", "variant",
                         interval_to_json(&beside->variant_us, in_us), "reference",
                         interval_to_json(&beside->reference_us, in_us), "rounds", beside->rounds,
                         "speedup", interval_to_json(&beside->speedup, as_ratio), "no_speedup");
    return json_pack("{sn sn ss}", "times", "speedup", "no_speedup",
                     result->record.outcome != HN_OUTCOME_OK ? "the variant is not valid"
                     : result->once->options->verify_only
                         ? "no times were asked for (--verify-only)"
                     : obstacle != NULL ? obstacle
                                        : "no round was finished");
}

/* Adds members that only people read. */
static void add_words(const struct result *result, json_t *json)
{
    const struct hn_record *record = &result->record;
    const char *observe = result->once->options->observe;
    const struct hn_bindings *observed = &record->observed;
    struct hn_text conditions = {0};
    json_t *seen = json_object();
    hn_conditions_append(&conditions, observed);
    /* By those observers who were asked for by name. */
    for (size_t i = 0; observe != NULL && i < observed->count; i++) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(observed->names[i], "."),
                 observed->names[i]);
        if (hn_bench_asked(observe, name) > 0)
            json_object_set_new(seen, observed->names[i], hn_value_to_json(&observed->values[i]));
    }
    json_object_update_new(json,
                           json_pack("{ss so so* so}", "kernel", result->task.plan->kernel, "merit",
                                     hn_merit_to_json(result->task.plan, record), "conditions",
                                     hn_render_text(&conditions), "observed", seen));
}

static json_t *result_to_json(const struct result *result)
{
    const struct hn_record *record = &result->record;
    const struct hn_timing *timing = &record->timing;
    const char *no_counters = result->once->no_counters;
    double max_mhz = (double)result->once->device.clock_khz / 1e3;
    json_t *record_json = hn_bounds_to_json(record, NULL, max_mhz);
    /* A message may hold any bytes, and is text there. */
    json_t *message = json_object_get(record_json, "message");
    json_t *verified = json_deep_copy(json_object_get(record_json, "verdict"));
    /* Whether nothing was written beside the buffers; null where that was not looked at. */
    json_t *intact = record->outcome == HN_OUTCOME_OK              ? json_true()
                     : record->outcome == HN_OUTCOME_OUT_OF_BOUNDS ? json_false()
                                                                   : json_null();
    json_object_set_new(
        verified, "guard_zones",
        json_pack("{sI so}", "bytes", (json_int_t)HN_GUARD_BYTES, "intact", intact));
    json_t *json = json_pack("{so so ss sO? so ss s{so sf si sb} so}", "problem",
                             hn_bindings_to_json(result->task.problem), "point",
                             hn_bindings_to_json(&record->point), "outcome",
                             hn_outcome_names[record->outcome], "message", message, "verified",
                             verified, "regime", result->task.identity.regime, "clocks", "sm_mhz",
                             timing->clock_mhz > 0 ? json_real(timing->clock_mhz) : json_null(),
                             "max_mhz", max_mhz, "dropped", timing->dropped, "unstable",
                             timing->unstable, "health", hn_health_to_json(&result->health));
    hn_needed(json);
    json_object_update_new(json, hn_needed(times_to_json(result)));
    json_object_set_new(json, "record", record_json);
    if (no_counters[0] != '\0')
        json_object_set_new(json, "no_counters", hn_string_to_json(no_counters));
    add_words(result, json);
    return json;
}

/* The document of --json, for a program that judges kernels by it: docs/formats.md describes it. */
static json_t *make_document(const struct once *once)
{
    enum { FORMAT = 1 };
    char compiler[16] = "";
    const struct hn_config *config = once->given->config;
    const json_t *results = once->given->results;
    const json_t *telling = once->wrong != NULL ? once->wrong : json_array_get(results, 0);
    const struct hn_device_identity *identity = &once->device.identity;
    hn_compiler_version(config->plan->compiler, &once->nvrtc, compiler, NULL);
    return json_pack("{si ss ss sO sO s{ss ss si si ss} s{ss ss ss si} sO}", "format", FORMAT,
                     "kernel", config->plan->kernel, "config", config->path, "outcome",
                     json_object_get(telling, "outcome"), "message",
                     json_object_get(telling, "message"), "device", "name", identity->name, "uuid",
                     once->device.uuid, "capability", identity->capability, "sm_count",
                     identity->sm_count, "mig_profile", identity->mig_profile, "versions", "hone",
                     HONE_VERSION, "driver", once->device.driver, "nvrtc", compiler, "protocol",
                     HN_MEASURING_PROTOCOL, "problems", results);
}

static void run_problem(struct once *once, size_t problem, struct hn_error *err)
{
    struct hn_image support HN_ENDED_BY(hn_image_finish) = HN_NO_IMAGE;
    struct hn_support_options asked;
    struct result result = {.once = once, .image = HN_NO_IMAGE};
    struct hn_bench_options options = {.regime = (enum hn_regime)once->options->regime,
                                       .seed = once->options->search.seed,
                                       .observers = hn_observers,
                                       .health = &result.health};
    const struct hn_task *task = &result.task;
    if (hn_task_make(once->given->config, problem, options.regime, HN_TASK_MEASURES, &result.task,
                     err) != HN_OK)
        return;
    options.watch = hn_health_watch_create(once->device.uuid);
    const struct hn_source program = hn_support_program(task->plan, &asked);
    compile_needed(&result, &program, "support kernels do", &support, err);
    if (!hn_failed(err)) {
        hn_turn_await(once->lock);
        hn_bench_create(&once->driver, &once->device, &support, task->plan, task->problem, &options,
                        &result.bench, err);
        hn_turn_end(once->lock);
    }
    hn_single_point(once->options, task, &result.record.point, err);
    set_reference(&result, err);
    hn_health_look(options.watch, &result.health);
    evaluate(&result, err);
    hn_health_look(options.watch, &result.health);
    if (!hn_failed(err)) {
        json_t *json = result_to_json(&result);
        hn_show(once->given, json, views);
        if (result.record.outcome != HN_OUTCOME_OK && once->wrong == NULL)
            once->wrong = json;
    }
    hn_bench_destroy(result.bench);
    hn_health_watch_destroy(options.watch);
    hn_record_finish(&result.record);
    hn_image_finish(&result.image);
    hn_task_finish(&result.task);
}

static void run_all(struct once *once, struct hn_error *err)
{
    if (hn_driver_select(&once->driver, once->options->device, &once->device, err) != HN_OK)
        return;
    snprintf(once->architecture, sizeof once->architecture, "sm_%d",
             once->device.identity.capability);
    once->lock = hn_turn_open(once->device.uuid, NULL);
    for (size_t i = 0; !hn_failed(err) && i < once->given->config->problem_count; i++)
        run_problem(once, i, err);
    hn_close(&once->lock);
    if (!hn_failed(err))
        hn_show_alone(once->given, make_document(once), NULL, err);
    if (!hn_failed(err) && once->wrong != NULL)
        hn_fail(err, HN_ENOTFOUND, "the variant is not valid; its outcome stands above");
}

static void run(struct hn_given *given, struct hn_error *err)
{
    struct once once = {.given = given, .options = given->options};
    if (given->options->observe != NULL)
        hn_observers_check(given->options->observe, err);
    /* Or code is loaded by the first launch, while it is timed. */
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    if (hn_failed(err) || hn_driver_open(&once.driver, err) != HN_OK)
        return;
    if (hn_nvrtc_open(&once.nvrtc, err) == HN_OK) {
        run_all(&once, err);
        hn_nvrtc_close(&once.nvrtc);
    }
    hn_driver_close(&once.driver);
}

const struct hn_command hn_command_run = {
    .name = "run",
    .of = HN_RUN,
    .arguments = "CONFIG",
    .summary = "one point in one process, for profilers and sanitizers",
    .details =
        "It is the default point with -s applied; with --json judged for a program: verified on "
        "two seeds, audited, and raced beside the reference.",
    .examples = "hone run scale.yaml -p n=65536 -s BLOCK=256,ITEMS=4",
    HN_ONE_ARGUMENT("expected the path of a config", "found a second config '%s'"),
    .config = HN_POINT_CONFIG,
    .run = run,
};
