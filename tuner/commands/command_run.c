/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"
#include "cache/record/record_json.h"
#include "runtime/bench/arena.h"
#include "runtime/bench/observe/observers.h"
#include "runtime/bench/support.h"
#include "runtime/compile/compile.h"
#include "tuner/commands/command.h"
#include "tuner/report/findings.h"
#include "tuner/report/format.h"
#include "tuner/report/roof.h"
#include "tuner/report/summary.h"
#include "tuner/workers/turn.h"

/* All in one process, with no worker between: what a profiler or compute-sanitizer is to see. */
struct once {
    const struct hn_options *options;
    struct hn_config *config;
    struct hn_nvrtc nvrtc;
    struct hn_driver driver;
    struct hn_device device;
    char architecture[16];
    int lock; /* of the GPU, beside tuners that work on it; -1: none */
    bool wrong;
    char no_counters[512]; /* why there are none of the point that is printed; "": there are, or
                              nobody asked */
    json_t *results;       /* with --json, where each point is judged */
};

static enum hn_status compile_support(const struct once *once, const struct hn_plan *plan,
                                      struct hn_image *image, struct hn_error *err)
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
    hn_support_options(plan, options);
    for (size_t i = 0; i < HN_SUPPORT_OPTIONS; i++)
        option_list[i] = options[i];
    return hn_compile_source(&once->nvrtc, &source, once->architecture, image, err);
}

static enum hn_status set_reference(const struct once *once, const struct hn_task *task,
                                    struct hn_bench *bench, const struct hn_bindings *point,
                                    struct hn_error *err)
{
    struct hn_bindings depends;
    struct hn_source source;
    struct hn_image image;
    if (!hn_reference_is_kernel(&task->plan->reference))
        return HN_OK;
    enum hn_status status = hn_task_depends(task, point, &depends, err);
    if (status != HN_OK)
        return status;
    hn_image_init(&image);
    status = hn_task_reference_source(task, &depends, &source, err);
    if (status == HN_OK) {
        status = hn_compile_source(&once->nvrtc, &source, once->architecture, &image, err);
        hn_source_finish(&source);
    }
    if (status == HN_OK && image.outcome != HN_OUTCOME_OK)
        status = hn_fail(err, HN_ERUN, "the reference does not compile: %s", image.message);
    if (status == HN_OK) {
        hn_turn_take(once->lock);
        status = hn_bench_set_reference(bench, &depends, &image, err);
        hn_turn_end(once->lock);
    }
    hn_image_finish(&image);
    hn_bindings_finish(&depends);
    return status;
}

static bool is_judged(const struct once *once)
{
    return once->options->json && !once->options->verify_only;
}

/* Moves what was counted into the record. */
static enum hn_status count(struct once *once, struct hn_bench *bench, const struct hn_image *image,
                            struct hn_record *record, struct hn_error *err)
{
    const struct hn_bench_request request = {.observe = "counters"};
    struct hn_record counted;
    hn_record_init(&counted);
    enum hn_status status = hn_bindings_copy(&counted.point, &record->point, err);
    if (status == HN_OK)
        status = hn_bench_evaluate(bench, image, &request, &counted, err);
    snprintf(once->no_counters, sizeof once->no_counters, "%s",
             counted.message != NULL ? counted.message : "");
    if (status == HN_OK) {
        hn_error_init(err);
        hn_observed_replace(&record->observed, "counters", &counted.observed, err);
        status = err->status;
    }
    hn_record_finish(&counted);
    return status;
}

static enum hn_status weigh(const struct once *once, struct hn_bench *bench,
                            const struct hn_image *image, struct hn_record *record,
                            struct hn_error *err)
{
    struct hn_bench_request request = {.verify = false};
    enum hn_status status = HN_OK;
    snprintf(request.observe, sizeof request.observe, "energy=%.17g", once->options->energy_s);
    for (int i = 0; status == HN_OK && i < 2; i++) {
        struct hn_record window;
        hn_record_init(&window);
        status = hn_bindings_copy(&window.point, &record->point, err);
        if (status == HN_OK)
            status = hn_bench_evaluate(bench, image, &request, &window, err);
        if (status == HN_OK) {
            hn_error_init(err);
            hn_observers_add("energy", &record->observed, &window.observed, err);
            status = err->status;
        }
        hn_record_finish(&window);
    }
    return status;
}

static const double repeat_ms = 50;

/* Holds the trial of a suspect in this process (runtime/bench/trial.h), and puts into the record
 * how it ended. */
static enum hn_status try_suspect(struct hn_bench *bench, const struct hn_image *image,
                                  struct hn_record *record, struct hn_error *err)
{
    const struct hn_bench_request request = {.trial = record->suspicion};
    if (record->outcome != HN_OUTCOME_OK || record->suspicion < HN_SUSPICION_CHECKED)
        return HN_OK;
    return hn_bench_evaluate(bench, image, &request, record, err);
}

/* On a second seed, which nobody could prepare for; files say what is right for one seed only. */
static enum hn_status verify_again(struct hn_bench *bench, const struct hn_plan *plan,
                                   const struct hn_image *image, struct hn_record *record,
                                   struct hn_error *err)
{
    bool one_seed = plan->reference.kind == HN_REFERENCE_FILES;
    const struct hn_bench_request request = {
        .verify = true, .observe = "audit", .repeat_ms = repeat_ms};
    struct hn_record again;
    struct hn_random secret;
    uint64_t seed = 0;
    hn_record_init(&again);
    enum hn_status status = hn_bindings_copy(&again.point, &record->point, err);
    if (status == HN_OK)
        status = hn_random_seed_secretly(&secret, err);
    if (status == HN_OK && !one_seed) {
        seed = hn_random_below(&secret, INT64_MAX); /* as --seed takes it */
        status = hn_bench_reseed(bench, seed, err);
    }
    if (status == HN_OK)
        status = hn_bench_evaluate(bench, image, &request, &again, err);
    if (status == HN_OK)
        status = try_suspect(bench, image, &again, err);
    if (status == HN_OK && again.outcome != HN_OUTCOME_OK && one_seed)
        hn_record_fail(record, again.outcome, "%s (when it was launched again)",
                       again.message == NULL ? "no message" : again.message);
    else if (status == HN_OK && again.outcome != HN_OUTCOME_OK)
        hn_record_fail(record, again.outcome, "%s (on the second seed, %llu)",
                       again.message == NULL ? "no message" : again.message,
                       (unsigned long long)seed);
    record->verdict.seeds += status == HN_OK && again.outcome == HN_OUTCOME_OK && !one_seed;
    record->verdict.launches += again.verdict.launches;
    hn_record_finish(&again);
    return status;
}

/* What --json asks of a point that was verified and measured, as `hone tune` does of its finalists:
 * it runs beside its reference, and is verified on a seed that is drawn, audited and repeated. What
 * fails becomes the record's outcome. */
static enum hn_status judge(struct hn_bench *bench, const struct hn_plan *plan,
                            const struct hn_image *image, struct hn_record *record,
                            struct hn_beside *beside, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    if (hn_beside_obstacle(plan) == NULL)
        status = hn_bench_beside(bench, image, record, beside, err);
    if (status == HN_OK)
        status = try_suspect(bench, image, record, err);
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK)
        status = verify_again(bench, plan, image, record, err);
    return status;
}

static enum hn_status work(struct once *once, const struct hn_task *task, struct hn_bench *bench,
                           const struct hn_image *image, struct hn_record *record,
                           struct hn_beside *beside, struct hn_error *err)
{
    struct hn_bench_request request = {
        .verify = true, .measure = !once->options->verify_only, .full = true, .observe = "staging"};
    if (once->options->verify_only)
        request.observe[0] = '\0';
    else if (once->options->observe != NULL)
        snprintf(request.observe, sizeof request.observe, "staging,%s", once->options->observe);
    enum hn_status status = hn_bench_evaluate(bench, image, &request, record, err);
    if (status == HN_OK)
        status = try_suspect(bench, image, record, err);
    if (status == HN_OK && record->timing.sample_count > 0 && record->outcome == HN_OUTCOME_OK)
        status = hn_metrics_evaluate(task->plan, task->problem, record, err);
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK && is_judged(once))
        status = judge(bench, task->plan, image, record, beside, err);
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK && once->options->counters)
        status = count(once, bench, image, record, err);
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK && once->options->energy_s > 0)
        status = weigh(once, bench, image, record, err);
    /* Energy may be the objective. */
    if (status == HN_OK && hn_observed_any(&record->observed, "energy") &&
        record->timing.sample_count > 0)
        status = hn_metrics_evaluate(task->plan, task->problem, record, err);
    return status;
}

static enum hn_status evaluate(struct once *once, const struct hn_task *task,
                               struct hn_bench *bench, struct hn_record *record,
                               struct hn_beside *beside, struct hn_error *err)
{
    struct hn_source source;
    struct hn_image image;
    struct hn_launch launch;
    char key[33];
    hn_image_init(&image);
    enum hn_status status = hn_launch_make_checked(task->plan, &once->device, task->problem,
                                                   &record->point, &launch, record, err);
    hn_launch_finish(&launch);
    if (status != HN_OK || record->outcome != HN_OUTCOME_OK)
        return status;
    status = hn_task_source(task, &record->point, &source, err);
    if (status != HN_OK)
        return status;
    status = hn_compile_source(&once->nvrtc, &source, once->architecture, &image, err);
    hn_source_finish(&source);
    if (status == HN_OK && image.outcome != HN_OUTCOME_OK) {
        hn_record_fail(record, image.outcome, "%s", image.message != NULL ? image.message : "");
    } else if (status == HN_OK) {
        status = hn_task_complete_image(task, &once->device, &record->point, &image, key, err);
        record->resources = image.resources;
        if (status == HN_OK && image.outcome != HN_OUTCOME_OK)
            hn_record_fail(record, image.outcome, "%s", image.message);
        hn_turn_take(once->lock);
        if (status == HN_OK && image.outcome == HN_OUTCOME_OK)
            status = work(once, task, bench, &image, record, beside, err);
        hn_turn_end(once->lock);
    }
    hn_image_finish(&image);
    return status;
}

/* One problem: what came of the point, beside the reference and on a device in which health. */
struct result {
    const struct once *once;
    const struct hn_task *task;
    const struct hn_record *record;
    const struct hn_beside *beside;
    const struct hn_health *health;
};

static const struct hn_view views[] = {
    {.line = "{kernel} [{problem}: ][{point}]"},
    {.line = "  outcome      {outcome}[: {message}]"},
    {.line = "  verified     max error {verified.max_error:.3g}, tolerance {verified.tolerance:.3g}"
             "[{?verified.kind=self-verified} (self-verified)]{?!verified.kind=unverified}"},
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
    const struct hn_beside *beside = result->beside;
    const char *obstacle = hn_beside_obstacle(result->task->plan);
    if (beside->rounds > 0)
        return json_pack("{s{so so si} so sn}", "times", "variant",
                         interval_to_json(&beside->variant_us, in_us), "reference",
                         interval_to_json(&beside->reference_us, in_us), "rounds", beside->rounds,
                         "speedup", interval_to_json(&beside->speedup, as_ratio), "no_speedup");
    return json_pack("{sn sn ss}", "times", "speedup", "no_speedup",
                     result->record->outcome != HN_OUTCOME_OK ? "the variant is not valid"
                     : result->once->options->verify_only
                         ? "no times were asked for (--verify-only)"
                     : obstacle != NULL ? obstacle
                                        : "no round was finished");
}

/* What only people read. */
static void add_words(const struct result *result, json_t *json)
{
    const struct hn_record *record = result->record;
    const char *observe = result->once->options->observe;
    const struct hn_bindings *observed = &record->observed;
    char merit[HN_FORMAT_SIZE];
    struct hn_text conditions = {0};
    json_t *seen = json_object();
    hn_format_merit(result->task->plan, record, merit);
    hn_conditions_append(&conditions, observed);
    /* By those observers who were asked for by name. */
    for (size_t i = 0; observe != NULL && i < observed->count; i++) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(observed->names[i], "."),
                 observed->names[i]);
        if (hn_bench_asked(observe, name) > 0)
            json_object_set_new(seen, observed->names[i], hn_value_to_json(&observed->values[i]));
    }
    json_object_update_new(json, json_pack("{ss ss ss* so}", "kernel", result->task->plan->kernel,
                                           "merit", merit, "conditions", conditions.data,
                                           "observed", seen));
    hn_text_finish(&conditions);
}

static json_t *result_to_json(const struct result *result)
{
    const struct hn_record *record = result->record;
    const struct hn_timing *timing = &record->timing;
    const char *no_counters = result->once->no_counters;
    double max_mhz = (double)result->once->device.clock_khz / 1e3;
    struct hn_findings findings;
    json_t *record_json = hn_needed(hn_record_to_json(record));
    hn_staging_add_json(record, record_json);
    hn_findings_make(record, NULL, max_mhz, &findings);
    if (findings.known)
        json_object_set_new(record_json, "counted", hn_findings_to_json(&findings));
    /* What may hold any bytes is text there. */
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
                             hn_bindings_to_json(result->task->problem), "point",
                             hn_bindings_to_json(&record->point), "outcome",
                             hn_outcome_name(record->outcome), "message", message, "verified",
                             verified, "regime", result->task->identity.regime, "clocks", "sm_mhz",
                             timing->clock_mhz > 0 ? json_real(timing->clock_mhz) : json_null(),
                             "max_mhz", max_mhz, "dropped", timing->dropped, "unstable",
                             timing->unstable, "health", hn_health_to_json(result->health));
    hn_needed(json);
    json_object_update_new(json, hn_needed(times_to_json(result)));
    json_object_set_new(json, "record", record_json);
    if (no_counters[0] != '\0')
        json_object_set_new(json, "no_counters", hn_string_to_json(no_counters));
    add_words(result, json);
    return json;
}

/* The first problem whose point is not valid, else the first. */
static const json_t *find_telling(const json_t *problems)
{
    size_t index;
    const json_t *problem;
    json_array_foreach(problems, index, problem)
    {
        const char *outcome = json_string_value(json_object_get(problem, "outcome"));
        if (strcmp(outcome, hn_outcome_name(HN_OUTCOME_OK)) != 0)
            return problem;
    }
    return json_array_get(problems, 0);
}

/* What --json says, for a program that judges kernels by it: docs/formats.md describes it. */
static json_t *make_document(const struct once *once)
{
    enum { FORMAT = 1 };
    char compiler[16] = "";
    const struct hn_config *config = once->config;
    const json_t *telling = find_telling(once->results);
    const struct hn_device_identity *identity = &once->device.identity;
    hn_compiler_version(config->plan->compiler, &once->nvrtc, compiler, NULL);
    return json_pack("{si ss ss sO sO s{ss ss si si ss} s{ss ss ss si} sO}", "format", FORMAT,
                     "kernel", config->plan->kernel, "config", config->path, "outcome",
                     json_object_get(telling, "outcome"), "message",
                     json_object_get(telling, "message"), "device", "name", identity->name, "uuid",
                     once->device.uuid, "capability", identity->capability, "sm_count",
                     identity->sm_count, "mig_profile", identity->mig_profile, "versions", "hone",
                     HONE_VERSION, "driver", once->device.driver, "nvrtc", compiler, "protocol",
                     HN_MEASURING_PROTOCOL, "problems", once->results);
}

static enum hn_status run_on_bench(struct once *once, struct hn_task *task, struct hn_bench *bench,
                                   struct hn_health_watch *watch, struct hn_health *health,
                                   struct hn_error *err)
{
    struct hn_record record;
    struct hn_beside beside = {.rounds = 0};
    const struct result result = {once, task, &record, &beside, health};
    hn_record_init(&record);
    enum hn_status status = hn_single_point(once->options, task, &record.point, err);
    if (status == HN_OK)
        status = set_reference(once, task, bench, &record.point, err);
    hn_health_look(watch, health);
    if (status == HN_OK)
        status = evaluate(once, task, bench, &record, &beside, err);
    hn_health_look(watch, health);
    if (status == HN_OK) {
        json_t *json = hn_needed(result_to_json(&result));
        if (!once->options->json)
            hn_render(json, views, stdout);
        json_array_append_new(once->results, json);
    }
    once->wrong = once->wrong || (status == HN_OK && record.outcome != HN_OUTCOME_OK);
    hn_record_finish(&record);
    return status;
}

static enum hn_status run_problem(struct once *once, size_t problem, struct hn_error *err)
{
    struct hn_task task;
    struct hn_image support;
    struct hn_bench *bench = NULL;
    enum hn_regime regime = (enum hn_regime)once->options->regime;
    struct hn_health health = {.checks = 0};
    struct hn_bench_options options = {.regime = regime,
                                       .seed = once->options->seed,
                                       .observers = hn_observers,
                                       .health = &health};
    enum hn_status status = hn_task_make(once->config, problem, regime, &task, err);
    if (status != HN_OK)
        return status;
    hn_image_init(&support);
    options.watch = hn_health_watch_create(once->device.uuid);
    status = compile_support(once, task.plan, &support, err);
    if (status == HN_OK && support.outcome != HN_OUTCOME_OK)
        status = hn_fail(err, HN_ERUN, "the support kernels do not compile: %s", support.message);
    if (status == HN_OK) {
        hn_turn_take(once->lock);
        status = hn_bench_create(&once->driver, &once->device, &support, task.plan, task.problem,
                                 &options, &bench, err);
        hn_turn_end(once->lock);
    }
    if (status == HN_OK)
        status = run_on_bench(once, &task, bench, options.watch, &health, err);
    hn_bench_destroy(bench);
    hn_health_watch_destroy(options.watch);
    hn_image_finish(&support);
    hn_task_finish(&task);
    return status;
}

static enum hn_status print_document(const struct once *once, struct hn_error *err)
{
    json_t *document = make_document(once);
    enum hn_status status = hn_output_json(document, err);
    json_decref(document);
    return status;
}

static enum hn_status run_all(struct once *once, struct hn_error *err)
{
    enum hn_status status =
        hn_driver_select(&once->driver, once->options->device, &once->device, err);
    snprintf(once->architecture, sizeof once->architecture, "sm_%d",
             once->device.identity.capability);
    if (status == HN_OK)
        once->lock = hn_turn_open(once->device.uuid, NULL);
    for (size_t i = 0; status == HN_OK && i < once->config->problem_count; i++)
        status = run_problem(once, i, err);
    if (status == HN_OK && once->options->json)
        status = print_document(once, err);
    if (status == HN_OK && once->wrong)
        return hn_fail(err, HN_ENOTFOUND, "the variant is not valid; its outcome stands above");
    return status;
}

static enum hn_status execute(struct once *once, struct hn_error *err)
{
    const char *observe = once->options->observe;
    if (observe != NULL && hn_observers_check(observe, err) != HN_OK)
        return err->status;
    enum hn_status status = hn_single_point_config(once->options, once->options->arguments.items[0],
                                                   &once->config, err);
    if (status != HN_OK)
        return status;
    /* Or code is loaded by the first launch, while it is timed. */
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    status = hn_driver_open(&once->driver, err);
    if (status != HN_OK)
        return status;
    status = hn_nvrtc_open(&once->nvrtc, err);
    if (status != HN_OK)
        goto close_driver;
    once->results = json_array();
    status = run_all(once, err);
    hn_nvrtc_close(&once->nvrtc);
close_driver:
    hn_driver_close(&once->driver);
    return status;
}

static enum hn_status run(struct hn_options *options, struct hn_error *err)
{
    struct once once = {.options = options, .lock = -1};
    enum hn_status status = execute(&once, err);
    json_decref(once.results);
    if (once.lock >= 0)
        close(once.lock);
    hn_config_destroy(once.config);
    return status;
}

const struct hn_command hn_command_run = {
    .name = "run",
    .of = HN_RUN,
    .arguments = "CONFIG",
    .summary = "one point in one process, for profilers and sanitizers",
    .help = "Compiles, verifies and measures one point in this very process, for profilers and "
            "sanitizers: the default point with -s applied.",
    .details = "With --json it is judged for a program: verified on two seeds, audited, and raced "
               "beside the reference.",
    .examples = "hone run scale.yaml -p n=65536 -s BLOCK=256,ITEMS=4",
    .least = 1,
    .most = 1,
    .missing = "expected the path of a config",
    .extra = "found a second config '%s'",
    .run = run,
};
