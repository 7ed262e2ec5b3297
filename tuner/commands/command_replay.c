/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "cache/record/record_json.h"
#include "tuner/commands/command.h"
#include "tuner/commands/hosts_option.h"
#include "tuner/commands/open_cache.h"
#include "tuner/commands/output.h"
#include "tuner/commands/replay_all.h"
#include "tuner/commands/replay_family.h"
#include "tuner/commands/replay_judge.h"
#include "tuner/report/format.h"
#include "tuner/session/backend.h"
#include "tuner/workers/workers.h"

enum { OTHER_PROCESSES = 6 };

struct replay {
    const struct hn_options *options;
    struct hn_config *config;
    struct hn_store *store;
    struct hn_workers *workers;
    struct hn_tuned_list tuned;
    bool failed;
    json_t *results;
};

/* Equal but for the device. */
static bool same_work(const struct hn_identity *a, const struct hn_identity *b)
{
    return strcmp(a->kernel, b->kernel) == 0 && strcmp(a->signature, b->signature) == 0 &&
           hn_bindings_equal(&a->problem, &b->problem) && strcmp(a->regime, b->regime) == 0 &&
           strcmp(a->objective, b->objective) == 0;
}

/* The record of this very device, else one of another: measured before simulated. */
static const struct hn_tuned *find_tuned(const struct replay *replay, const struct hn_task *task)
{
    const struct hn_tuned *found = NULL;
    int found_grade = -1;
    for (size_t i = 0; i < replay->tuned.count; i++) {
        const struct hn_tuned *tuned = &replay->tuned.items[i];
        if (!same_work(&tuned->identity, &task->identity))
            continue;
        bool same = hn_identity_equal(&tuned->identity, &task->identity);
        int grade = (same ? 2 : 0) + (tuned->simulated ? 0 : 1);
        if (grade > found_grade) {
            found = tuned;
            found_grade = grade;
        }
    }
    return found;
}

/* The cached image, when what it was compiled from is what we have now. */
static bool load_image(const struct replay *replay, const struct hn_task *task,
                       const struct hn_tuned *tuned, struct hn_image *image)
{
    char *entry = NULL;
    if (!hn_version_equal(&tuned->version, &task->version) ||
        tuned->identity.device.capability != task->identity.device.capability ||
        hn_store_get_image(replay->store, &tuned->identity, &tuned->version, &tuned->best.point,
                           &image->cubin, &image->size, &entry, NULL) != HN_OK)
        return false;
    bool loaded = hn_image_set_entries(image, entry, NULL) == HN_OK;
    image->outcome = HN_OUTCOME_OK;
    image->resources = tuned->best.resources;
    free(entry);
    return loaded;
}

static enum hn_status get_image(struct replay *replay, struct hn_backend *backend,
                                const struct hn_tuned *tuned, struct hn_image *image,
                                bool *from_cache, struct hn_error *err)
{
    hn_image_init(image);
    *from_cache = load_image(replay, backend->task, tuned, image);
    if (*from_cache)
        return HN_OK;
    hn_image_finish(image);
    hn_image_init(image);
    return hn_backend_compile(backend, &tuned->best.point, image, err);
}

static enum hn_status measure(struct hn_backend *backend, const struct hn_tuned *tuned,
                              const struct hn_image *image, bool anew, struct hn_record *record,
                              struct hn_error *err)
{
    const struct hn_racer variant = {&tuned->best.point, image};
    struct hn_run run = {
        .kind = HN_RUN_MEASURE, .racers = &variant, .racer_count = 1, .anew = anew};
    if (image->outcome == HN_OUTCOME_OK) {
        hn_record_init(&run.record);
        enum hn_status status = hn_backend_run(backend, &run, err);
        *record = run.record;
        return status;
    }
    hn_record_fail(record, image->outcome, "%s", image->message != NULL ? image->message : "");
    return hn_bindings_copy(&record->point, &tuned->best.point, err);
}

static const char *const verdict_names[] = {"holds", "verified, no verdict on speed",
                                            "the machine is slower", "SLOWER", "WRONG"};

static enum hn_replay_verdict judge(const struct replay *replay, const struct hn_tuned *tuned,
                                    bool same_device, const struct hn_record *record)
{
    if (record->outcome != HN_OUTCOME_OK)
        return HN_REPLAY_WRONG;
    if (!same_device || tuned->simulated)
        return HN_REPLAY_VERIFIED_ONLY;
    return hn_replay_judge_time(&tuned->best.timing, &record->timing,
                                replay->options->max_slowdown);
}

/* No process is believed alone that the kernel is slower. */
static enum hn_status confirm(const struct replay *replay, struct hn_backend *backend,
                              const struct hn_tuned *tuned, const struct hn_image *image,
                              struct hn_record *record, enum hn_replay_verdict *verdict,
                              struct hn_error *err)
{
    double medians_us[1 + OTHER_PROCESSES];
    enum hn_status status = HN_OK;
    if (*verdict != HN_REPLAY_SLOWER && *verdict != HN_REPLAY_MACHINE)
        return HN_OK;
    hn_timing_add_process(&record->timing, &record->timing, medians_us);
    for (int i = 0; status == HN_OK && record->outcome == HN_OUTCOME_OK && i < OTHER_PROCESSES;
         i++) {
        struct hn_record another;
        hn_record_init(&another);
        status = measure(backend, tuned, image, true, &another, err);
        bool fails = another.outcome != HN_OUTCOME_OK;
        if (!fails)
            hn_timing_add_process(&record->timing, &another.timing, medians_us);
        hn_record_finish(fails ? record : &another);
        if (fails)
            *record = another;
    }
    *verdict = judge(replay, tuned, true, record);
    return status;
}

static void print_comparison(const struct hn_task *task, const struct hn_tuned *tuned,
                             const struct hn_record *record, enum hn_replay_verdict verdict,
                             bool from_cache)
{
    char timing[HN_FORMAT_SIZE];
    struct hn_text text;
    hn_text_init(&text);
    hn_text_printf(&text, "%s ", task->plan->kernel);
    hn_bindings_append(&text, task->problem);
    hn_text_append(&text, "\n  point     ");
    hn_bindings_append(&text, &tuned->best.point);
    hn_format_timing(&tuned->best.timing, timing);
    hn_text_printf(&text, "\n  recorded  %s on %s%s", timing, tuned->identity.device.name,
                   tuned->simulated ? " (from a recording)" : "");
    hn_text_append(&text, "\n  origin    ");
    hn_origin_append(&text, &tuned->origin);
    if (record->timing.median_us > 0) {
        hn_format_timing(&record->timing, timing);
        hn_text_printf(&text, "\n  now       %s on %s, %+.1f%%", timing, task->identity.device.name,
                       (record->timing.median_us / tuned->best.timing.median_us - 1) * 100);
    }
    bool in_doubt = record->timing.median_us > 1.025 * tuned->best.timing.median_us;
    for (int i = 0; i < 2; i++) {
        const struct hn_timing *of = i == 0 ? &tuned->best.timing : &record->timing;
        if (of->processes > 0 && (in_doubt || record->timing.processes > 0))
            hn_text_printf(
                &text, "\n  %s%d processes: %.5g us (%.5g to %.5g), copy %.0f GB/s, SM %.0f MHz",
                i == 0 ? "then      " : "again     ", of->processes, of->middle_us, of->fastest_us,
                of->slowest_us, of->copy_gb_per_s, of->clock_mhz);
    }
    hn_text_printf(&text, "\n  image     %s", from_cache ? "from the cache" : "compiled");
    if (!hn_version_equal(&tuned->version, &task->version)) {
        hn_text_append(&text, "\n  stale     the record was measured with another version: ");
        hn_version_append_difference(&text, &tuned->version, &task->version);
    }
    hn_text_printf(&text, "\n  verdict   %s", verdict_names[verdict]);
    if (record->message != NULL)
        hn_text_printf(&text, ": %s: %s", hn_outcome_name(record->outcome), record->message);
    puts(text.data != NULL ? text.data : "out of memory");
    hn_text_finish(&text);
}

static enum hn_status replay_on(struct replay *replay, struct hn_backend *backend,
                                const struct hn_tuned *tuned, struct hn_error *err)
{
    struct hn_task *task = backend->task;
    struct hn_record record;
    struct hn_image image;
    bool from_cache;
    bool same_device = hn_device_identity_equal(&tuned->identity.device, &task->identity.device);
    hn_record_init(&record);
    hn_image_init(&image);
    enum hn_status status = get_image(replay, backend, tuned, &image, &from_cache, err);
    if (status == HN_OK)
        status = hn_backend_run(backend, &(struct hn_run){.kind = HN_RUN_PREPARE}, err);
    if (status == HN_OK)
        status = measure(backend, tuned, &image, false, &record, err);
    enum hn_replay_verdict verdict = judge(replay, tuned, same_device, &record);
    if (status == HN_OK)
        status = confirm(replay, backend, tuned, &image, &record, &verdict, err);
    if (status == HN_OK) {
        replay->failed = replay->failed || verdict >= HN_REPLAY_SLOWER;
        if (replay->options->json)
            json_array_append_new(
                replay->results,
                json_pack("{ss so ss ss sb so so so}", "kernel", task->plan->kernel, "problem",
                          hn_bindings_to_json(task->problem), "device", task->identity.device.name,
                          "verdict", verdict_names[verdict], "image_from_cache", from_cache,
                          "recorded", hn_record_to_json(&tuned->best), "now",
                          hn_record_to_json(&record), "origin", hn_origin_to_json(&tuned->origin)));
        else
            print_comparison(task, tuned, &record, verdict, from_cache);
    }
    hn_image_finish(&image);
    hn_record_finish(&record);
    return status;
}

static enum hn_status replay_problem(struct replay *replay, size_t problem, struct hn_error *err)
{
    struct hn_task task;
    struct hn_backend *backend = NULL;
    struct hn_live_options live = {.seed = replay->options->seed};
    enum hn_status status =
        hn_task_make(replay->config, problem, (enum hn_regime)replay->options->regime, &task, err);
    if (status != HN_OK)
        return status;
    status = hn_backend_live(&task, replay->workers, &live, &backend, err);
    const struct hn_tuned *tuned = status == HN_OK ? find_tuned(replay, &task) : NULL;
    if (status == HN_OK && tuned == NULL) {
        struct hn_text text;
        char line[HN_FOLLOW_UP_SIZE];
        hn_text_init(&text);
        hn_bindings_append(&text, task.problem);
        status = hn_fail(
            err, HN_ENOTFOUND, "the cache holds no tuned %s for %s (%s); `%s` makes one",
            task.plan->kernel, text.data != NULL ? text.data : "this problem", task.identity.regime,
            hn_follow_up(replay->options, "tune", replay->options->arguments.items[0], line));
        hn_text_finish(&text);
    }
    if (status == HN_OK)
        status = replay_on(replay, backend, tuned, err);
    hn_backend_destroy(backend);
    hn_task_finish(&task);
    return status;
}

static enum hn_status open_store(struct replay *replay, struct hn_error *err)
{
    enum hn_status status = hn_cache_open(replay->options, HN_STORE_READ, &replay->store, err);
    if (status == HN_OK)
        status = hn_store_list(replay->store, replay->config->plan->kernel, &replay->tuned, err);
    return status;
}

static enum hn_status start_workers(struct replay *replay, struct hn_error *err)
{
    const struct hn_options *options = replay->options;
    /* The point, the default point, the reference and the support kernels. */
    const struct hn_workers_options workers = hn_workers_of(options, 4);
    return hn_workers_start(&workers, &replay->workers, err);
}

static enum hn_status execute(struct replay *replay, struct hn_error *err)
{
    enum hn_status status = hn_options_config(replay->options, replay->options->arguments.items[0],
                                              &replay->config, err);
    if (status == HN_OK)
        status = open_store(replay, err);
    if (status == HN_OK)
        status = start_workers(replay, err);
    if (status != HN_OK)
        return status;
    hn_interrupt_install();
    replay->results = json_array();
    for (size_t i = 0; status == HN_OK && i < replay->config->problem_count; i++)
        status = replay_problem(replay, i, err);
    if (status == HN_OK && replay->options->json)
        status = hn_output_json(replay->results, err);
    if (status == HN_OK && replay->failed)
        return hn_fail(err, HN_EREPLAY,
                       "the replay does not hold: a result is wrong, or slower than its record by "
                       "more than %g%% in most processes",
                       replay->options->max_slowdown * 100);
    return status;
}

static enum hn_status replay_config(const struct hn_options *options, struct hn_error *err)
{
    struct replay replay = {.options = options};
    enum hn_status status = execute(&replay, err);
    json_decref(replay.results);
    hn_tuned_list_free(&replay.tuned);
    hn_workers_destroy(replay.workers);
    hn_store_close(replay.store);
    hn_config_destroy(replay.config);
    return status;
}

static enum hn_status run(struct hn_options *options, struct hn_error *err)
{
    const struct hn_texts *paths = &options->arguments;
    if (paths->count > 1 && !options->all)
        return hn_options_misused(options, "found a second config '%s'", paths->items[1]);
    return options->family ? hn_replay_family(options, paths->items[0], err)
           : options->all  ? hn_replay_all(options, err)
                           : replay_config(options, err);
}

const struct hn_command hn_command_replay = {
    .name = "replay",
    .of = HN_REPLAY,
    .arguments = "CONFIG...",
    .listed = "CONFIG",
    .summary = "run the cached best again and compare it with its record",
    .help =
        "Runs the cached best again: compiles, verifies, measures and sets it against the record. "
        "Exit code 4 when it is wrong or slower.",
    .details =
        "With --all, and with any number of configs: the best five of each tuning that was "
        "made with another driver, NVRTC, template or plan are verified and raced again, which "
        "updates or confirms it in seconds. With --family: exit code 4 when the rule loses "
        "more than it promises.",
    .examples = "hone replay scale.yaml --max-slowdown 5%",
    .least = 1,
    .most = SIZE_MAX,
    .missing = "expected the path of a config",
    .run = run,
};
