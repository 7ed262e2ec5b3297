/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "cache/record/record_json.h"
#include "runtime/bench/observe/observers.h"
#include "runtime/bench/support.h"
#include "runtime/compile/compile.h"
#include "tuner/commands/command.h"
#include "tuner/commands/output.h"
#include "tuner/commands/run_document.h"
#include "tuner/commands/run_judge.h"
#include "tuner/report/findings.h"
#include "tuner/report/format.h"
#include "tuner/report/staging.h"
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
        status = hn_run_try(bench, image, record, err);
    if (status == HN_OK && record->timing.sample_count > 0 && record->outcome == HN_OUTCOME_OK)
        status = hn_metrics_evaluate(task->plan, task->problem, record, err);
    if (status == HN_OK && record->outcome == HN_OUTCOME_OK && is_judged(once))
        status = hn_run_judge(bench, task->plan, image, record, beside, err);
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

/* What those saw who were asked for by name. */
static void print_observed(const char *observe, const struct hn_bindings *observed)
{
    for (size_t i = 0; observe != NULL && i < observed->count; i++) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(observed->names[i], "."),
                 observed->names[i]);
        if (hn_bench_asked(observe, name) > 0)
            printf("  %-28s %.6g\n", observed->names[i], hn_value_number(&observed->values[i]));
    }
}

static void print_counters(const struct once *once, const struct hn_record *record)
{
    struct hn_findings findings;
    char bound[128];
    if (once->no_counters[0] != '\0')
        printf("  no counters  %s\n", once->no_counters);
    hn_findings_make(record, NULL, (double)once->device.clock_khz / 1e3, &findings);
    if (!findings.known)
        return;
    hn_findings_bound(&findings, bound, sizeof bound);
    printf("  bound by     %s\n", bound);
    hn_findings_print(&findings, record, "               ", SIZE_MAX, stdout);
    for (int i = 0; i < HN_COUNTER_COUNT; i++) {
        const struct hn_value *value = hn_bindings_get(&record->observed, hn_counter_names[i]);
        if (value != NULL)
            printf("  %-28s %.6g\n", hn_counter_names[i] + HN_COUNTER_GROUP,
                   hn_value_number(value));
    }
}

static void print_record(const struct hn_task *task, const struct hn_record *record)
{
    char time[HN_FORMAT_SIZE];
    char merit[HN_FORMAT_SIZE];
    char regime[HN_FORMAT_SIZE];
    struct hn_text text;
    hn_text_init(&text);
    hn_bindings_append(&text, task->problem);
    hn_text_append(&text, text.length > 0 ? ": " : "");
    hn_bindings_append(&text, &record->point);
    printf("%s %s\n", task->plan->kernel, text.data != NULL ? text.data : "");
    hn_text_finish(&text);
    printf("  outcome      %s%s%s\n", hn_outcome_name(record->outcome),
           record->message != NULL ? ": " : "", record->message != NULL ? record->message : "");
    if (record->verdict.kind != HN_UNVERIFIED)
        printf("  verified     max error %.3g, tolerance %.3g%s\n", record->verdict.max_error,
               record->verdict.tolerance,
               record->verdict.kind == HN_SELF_VERIFIED ? " (self-verified)" : "");
    if (record->timing.sample_count > 0) {
        hn_format_timing(&record->timing, time);
        hn_format_merit(task->plan, record, merit);
        hn_format_regime(task->identity.regime, regime);
        printf("  time         %s (%zu samples, %s)%s%s\n", time, record->timing.sample_count,
               regime, merit[0] != '\0' ? ", " : "", merit);
    }
    if (hn_observed_any(&record->observed, "conditions")) {
        struct hn_text conditions;
        hn_text_init(&conditions);
        hn_conditions_append(&conditions, &record->observed);
        printf("  conditions   %s\n", conditions.failed ? "" : conditions.data);
        hn_text_finish(&conditions);
    }
    const struct hn_bindings *observed = &record->observed;
    double windows = hn_observed(observed, "energy.windows");
    if (windows > 0) {
        hn_format_energy(hn_observed(observed, "energy.joules"), merit);
        printf(
            "  energy       %s ±%.2f%% a launch, at %.0f W; %.0f windows of %.1f s; the idle GPU "
            "takes %.0f W\n",
            merit, hn_observed(observed, "energy.spread") * 100,
            hn_observed(observed, "energy.power_w"), windows,
            hn_observed(observed, "energy.seconds") / windows,
            hn_observed(observed, "energy.idle_w"));
    }
    hn_staging_print(record, "  pipeline     ", stdout);
    if (record->resources.known)
        printf("  resources    %d registers, %lld B shared, %d B spilled, occupancy %d%%\n",
               record->resources.registers,
               (long long)hn_resources_shared_bytes(&record->resources),
               record->resources.spill_store_bytes + record->resources.spill_load_bytes,
               hn_format_percent(record->resources.occupancy));
    struct hn_text warnings;
    hn_text_init(&warnings);
    hn_warnings_append(&warnings, record->resources.warnings);
    if (warnings.length > 0)
        printf("  warnings     %s\n", warnings.data);
    hn_text_finish(&warnings);
}

static enum hn_status run_on_bench(struct once *once, struct hn_task *task, struct hn_bench *bench,
                                   struct hn_health_watch *watch, struct hn_health *health,
                                   struct hn_error *err)
{
    struct hn_record record;
    struct hn_beside beside = {.rounds = 0};
    const struct hn_run_result result = {task,
                                         &once->device,
                                         &record,
                                         &beside,
                                         health,
                                         !once->options->verify_only,
                                         once->no_counters};
    hn_record_init(&record);
    enum hn_status status = hn_single_point(once->options, task, &record.point, err);
    if (status == HN_OK)
        status = set_reference(once, task, bench, &record.point, err);
    hn_health_look(watch, health);
    if (status == HN_OK)
        status = evaluate(once, task, bench, &record, &beside, err);
    hn_health_look(watch, health);
    if (status == HN_OK && !once->options->json) {
        print_record(task, &record);
        print_observed(once->options->observe, &record.observed);
        print_counters(once, &record);
    } else if (status == HN_OK) {
        json_array_append_new(once->results, hn_needed(hn_run_result_to_json(&result)));
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
    json_t *document = hn_run_document(once->config, &once->device, &once->nvrtc, once->results);
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
