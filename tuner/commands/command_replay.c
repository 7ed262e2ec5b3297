/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "cache/record/record_json.h"
#include "tuner/commands/command.h"
#include "tuner/commands/hosts_option.h"
#include "tuner/commands/open_cache.h"
#include "tuner/family/family.h"
#include "tuner/report/render.h"
#include "tuner/session/backend.h"
#include "tuner/session/session.h"
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
    struct hn_racer variant = {.point = &tuned->best.point, .image = image};
    struct hn_run run = {
        .kind = HN_RUN_MEASURE, .racers = &variant, .racer_count = 1, .anew = anew};
    if (image->outcome == HN_OUTCOME_OK) {
        hn_record_init(&variant.record);
        enum hn_status status = hn_backend_run(backend, &run, err);
        *record = variant.record;
        return status;
    }
    hn_record_fail(record, image->outcome, "%s", image->message != NULL ? image->message : "");
    return hn_bindings_copy(&record->point, &tuned->best.point, err);
}

/* Processes differed by 6% where each knew its own time to 0.5%. */
static const double unknown_spread = 0.1;

/* 1 where one of both is not known. */
static double ratio(double of, double to)
{
    return of > 0 && to > 0 ? of / to : 1;
}

enum hn_replay_verdict hn_replay_judge_time(const struct hn_timing *was,
                                            const struct hn_timing *now, double most)
{
    double then_us = fmax(was->median_us, was->processes > 1 ? was->middle_us : 0);
    double now_us = now->processes > 0 ? now->middle_us : now->median_us;
    double intervals = ratio(now->median_us, now->low_us) * ratio(was->high_us, was->median_us);
    double machine =
        fmax(ratio(was->copy_gb_per_s, now->copy_gb_per_s), ratio(was->clock_mhz, now->clock_mhz));
    double limit = 1 + (was->processes > 1 ? most : fmax(most, unknown_spread));
    if (now->processes == 0)
        limit = (1 + limit) / 2;
    limit = fmax(limit, intervals);
    if (!(now_us > limit * then_us))
        return HN_REPLAY_HOLDS;
    return now_us > limit * fmax(machine, 1) * then_us ? HN_REPLAY_SLOWER : HN_REPLAY_MACHINE;
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

#define PROCESSES(label, timing)                                                                   \
    "  " label "{" timing ".processes} processes: {" timing ".middle_us:.5g} us ({" timing         \
    ".fastest_us:.5g} to {" timing ".slowest_us:.5g}), copy {0+" timing                            \
    ".copy_gb_per_s:.0f} GB/s, SM {" timing ".clock_mhz:.0f} MHz{?compared}{?" timing              \
    ".processes}"
static const struct hn_view views[] = {
    {.line = "{kernel} [{problem}]"},
    {.line = "  point     [{recorded.point}]"},
    {.line =
         "  recorded  {recorded.timing:timing} on {recorded_on}[{?simulated} (from a recording)]"},
    {.line = "  origin    {origin:origin}"},
    {.line = "  now       {now.timing:timing} on {device}, "
             "{now.timing.median_us/recorded.timing.median_us-1:+.1%}{?now.timing.median_us}"},
    {.line = PROCESSES("then      ", "recorded.timing")},
    {.line = PROCESSES("again     ", "now.timing")},
    {.line = "  image     [{?image_from_cache}from the cache|compiled]"},
    {.line = "  stale     the record was measured with another version: {changed}"},
    {.line = "  verdict   {verdict}[: {now.outcome}: {now.message}]"},
    {NULL},
};

/* Whether --json or not. */
static void tell(const struct hn_options *options, json_t *results, json_t *document,
                 const struct hn_view *of)
{
    if (!options->json)
        hn_render(hn_needed(document), of, stdout);
    fflush(stdout);
    json_array_append_new(results, hn_needed(document));
}

/* What differs between versions; null: nothing. */
static json_t *difference_to_json(const struct hn_version *was, const struct hn_version *is)
{
    struct hn_text text = {0};
    if (!hn_version_equal(was, is))
        hn_version_append_difference(&text, was, is);
    json_t *json = text.length > 0 ? hn_string_to_json(text.data) : json_null();
    hn_text_finish(&text);
    return json;
}

static json_t *comparison_to_json(const struct hn_task *task, const struct hn_tuned *tuned,
                                  const struct hn_record *record, enum hn_replay_verdict verdict,
                                  bool from_cache)
{
    const struct hn_timing *was = &tuned->best.timing, *now = &record->timing;
    return json_pack("{ss so so so sb ss sb so so so so sb}", "kernel", task->plan->kernel,
                     "problem", hn_bindings_to_json(task->problem), "device",
                     hn_string_to_json(task->identity.device.name), "recorded_on",
                     hn_string_to_json(tuned->identity.device.name), "simulated", tuned->simulated,
                     "verdict", verdict_names[verdict], "image_from_cache", from_cache, "recorded",
                     hn_record_to_json(&tuned->best), "now", hn_record_to_json(record), "origin",
                     hn_origin_to_json(&tuned->origin), "changed",
                     difference_to_json(&tuned->version, &task->version), "compared",
                     now->median_us > 1.025 * was->median_us || now->processes > 0);
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
        tell(replay->options, replay->results,
             comparison_to_json(task, tuned, &record, verdict, from_cache), views);
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

enum { BEST_COUNT = 5 };

struct replay_all {
    const struct hn_options *options;
    struct hn_store *store;
    struct hn_workers *workers;
    struct hn_device_identity device; /* "" until the first backend was made */
    json_t *results;
    size_t current; /* tunings of the present version */
    size_t raced;
    size_t passed; /* of another device or signature, or not measured by Hone */
    size_t lost;
};

enum result { CONFIRMED, UPDATED, LOST };
static const char *const result_names[] = {"confirmed", "updated", "LOST"};

/* The best points of a tuning, borrowed from its records. */
struct best {
    struct hn_records records;
    struct hn_bindings points[BEST_COUNT];
    size_t count;
};

static int compare_records(const void *a, const void *b)
{
    return hn_record_beats(a, b) ? -1 : hn_record_beats(b, a);
}

static enum hn_status load_best(const struct replay_all *replay, const struct hn_tuned *tuned,
                                struct best *best, struct hn_error *err)
{
    *best = (struct best){.count = 0};
    enum hn_status status =
        hn_store_load(replay->store, &tuned->identity, &tuned->version, false, &best->records, err);
    if (status != HN_OK)
        return status;
    if (best->records.count > 0)
        qsort(best->records.items, best->records.count, sizeof *best->records.items,
              compare_records);
    for (size_t i = 0; i < best->records.count && best->count < BEST_COUNT; i++) {
        if (best->records.items[i].outcome == HN_OUTCOME_OK)
            best->points[best->count++] = best->records.items[i].point;
    }
    return HN_OK;
}

static const struct hn_view raced_views[] = {
    {.line =
         "{kernel} [{problem}] ({regime}): {result}, {was.timing:timing} was[, {is.timing:timing} "
         "is, {is.timing.median_us/was.timing.median_us-1:+.1%}]"},
    {.line = "  origin    {origin:origin}"},
    {.line = "  changed   [{changed}]"},
    {.line = "  best      [{is.point}|{was.point}]"},
    {.line = "  was       {was.point}{?result=updated}"},
    {.line = "  none of its best points works any longer: tune it again{?result=LOST}"},
    {NULL},
};

static void report_all(struct replay_all *replay, const struct hn_tuned *tuned,
                       const struct hn_session *session, const struct hn_task *task)
{
    const struct hn_record *now = hn_session_state(session)->best;
    bool same = now != NULL && hn_bindings_equal(&now->point, &tuned->best.point);
    enum result result = now == NULL ? LOST : same ? CONFIRMED : UPDATED;
    replay->raced++;
    replay->lost += result == LOST;
    tell(replay->options, replay->results,
         json_pack("{s:s, s:o, s:s, s:s, s:o, s:o, s:o, s:o}", "kernel", task->plan->kernel,
                   "problem", hn_bindings_to_json(task->problem), "regime", task->identity.regime,
                   "result", result_names[result], "was", hn_record_to_json(&tuned->best), "is",
                   now != NULL ? hn_record_to_json(now) : json_null(), "origin",
                   hn_origin_to_json(&tuned->origin), "changed",
                   difference_to_json(&tuned->version, &task->version)),
         raced_views);
}

static enum hn_status race(struct replay_all *replay, const struct hn_tuned *tuned,
                           struct hn_backend *backend, const struct best *best,
                           struct hn_error *err)
{
    struct hn_session *session = NULL;
    const struct hn_session_options options = {
        .strategy = hn_strategy_find("exhaustive"),
        .seed = replay->options->seed,
        .full = true,
        .retry_failed = true,
        .command = "hone replay --all",
        .points = best->points,
        .point_count = best->count,
    };
    enum hn_status status = hn_session_create(backend, replay->store, &options, &session, err);
    if (status == HN_OK)
        status = hn_session_run(session, NULL, NULL, err);
    if (status == HN_OK && hn_interrupted() != 0)
        status = hn_fail(err, HN_EINTERRUPTED, "interrupted; what was finished is kept");
    if (status == HN_OK)
        report_all(replay, tuned, session, backend->task);
    hn_session_destroy(session);
    return status;
}

/* A tuning that is of this very device and config, but not of this version. */
static enum hn_status replay_task(struct replay_all *replay, const struct hn_tuned *tuned,
                                  struct hn_task *task, struct hn_error *err)
{
    struct hn_backend *backend = NULL;
    struct best best;
    enum hn_status status = load_best(replay, tuned, &best, err);
    const struct hn_live_options live = {
        .seed = replay->options->seed,
        .ahead = best.points,
        .ahead_count = best.count,
        .ahead_is_all = true,
    };
    if (status == HN_OK)
        status = hn_backend_live(task, replay->workers, &live, &backend, err);
    if (status == HN_OK) {
        replay->device = task->identity.device;
        if (!hn_identity_equal(&tuned->identity, &task->identity))
            replay->passed++;
        else if (hn_version_equal(&tuned->version, &task->version))
            replay->current++;
        else
            status = race(replay, tuned, backend, &best, err);
    }
    hn_backend_destroy(backend);
    hn_records_free(&best.records);
    return status;
}

static enum hn_status replay_tuned(struct replay_all *replay, const char *path,
                                   const struct hn_tuned *tuned, struct hn_error *err)
{
    struct hn_config *config = NULL;
    struct hn_task task;
    enum hn_regime regime = HN_COLD;
    (void)hn_regime_parse(tuned->identity.regime, &regime);
    enum hn_status status = hn_options_config(replay->options, path, &config, err);
    if (status == HN_OK)
        status = hn_config_take_problem(config, &tuned->identity.problem, err);
    if (status == HN_OK)
        status = hn_task_make(config, 0, regime, &task, err);
    if (status == HN_OK) {
        status = replay_task(replay, tuned, &task, err);
        hn_task_finish(&task);
    }
    hn_config_destroy(config);
    return status;
}

static enum hn_status replay_config_all(struct replay_all *replay, const char *path,
                                        struct hn_error *err)
{
    struct hn_config *config = NULL;
    struct hn_tuned_list list = {.items = NULL};
    enum hn_status status = hn_options_config(replay->options, path, &config, err);
    if (status == HN_OK)
        status = hn_store_list(replay->store, config->plan->kernel, &list, err);
    hn_config_destroy(config);
    for (size_t i = 0; status == HN_OK && i < list.count; i++) {
        const struct hn_tuned *tuned = &list.items[i];
        bool elsewhere = replay->device.name[0] != '\0' &&
                         !hn_device_identity_equal(&replay->device, &tuned->identity.device);
        if (tuned->simulated || elsewhere)
            replay->passed++;
        else
            status = replay_tuned(replay, path, tuned, err);
    }
    hn_tuned_list_free(&list);
    return status;
}

static enum hn_status start_all(struct replay_all *replay, struct hn_error *err)
{
    const struct hn_options *options = replay->options;
    /* beside the points: default point, reference, support kernels */
    const struct hn_workers_options workers = hn_workers_of(options, BEST_COUNT + 3);
    enum hn_status status = hn_cache_open(options, HN_STORE_WRITE, &replay->store, err);
    return status == HN_OK ? hn_workers_start(&workers, &replay->workers, err) : status;
}

static enum hn_status finish_report(const struct replay_all *replay, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    if (replay->options->json) {
        status = hn_output_json(replay->results, err);
    } else if (!replay->options->quiet) {
        size_t looked_at = replay->raced + replay->current + replay->passed;
        printf("looked at %zu tuning%s: %zu raced again, %zu up to date already, %zu of another "
               "device, of other arguments or simulated\n",
               looked_at, looked_at == 1 ? "" : "s", replay->raced, replay->current,
               replay->passed);
    }
    char line[HN_FOLLOW_UP_SIZE];
    if (replay->raced + replay->current == 0)
        return hn_fail(
            err, HN_ERUN,
            "there is nothing to replay: the cache has no tuning of these configs that "
            "was measured on this device; `%s` shows what it has, `hone tune CONFIG` makes "
            "one",
            hn_follow_up(replay->options, "cache list", NULL, line));
    if (replay->lost == 0)
        return status;
    return hn_fail(err, HN_EREPLAY, "%zu tuning%s: none of the best points works any longer",
                   replay->lost, replay->lost == 1 ? "" : "s");
}

/* --all: of every tuning of these configs' kernels on this device that is stale (driver, NVRTC,
 * template or plan have changed since), the best five points are compiled, verified and raced
 * again, and stored as of now. HN_EREPLAY when none of a tuning's five works any longer; HN_ERUN
 * when there was no tuning of this device, stale or not. */
static enum hn_status replay_all(const struct hn_options *options, struct hn_error *err)
{
    struct replay_all replay = {.options = options, .results = json_array()};
    enum hn_status status = start_all(&replay, err);
    hn_interrupt_install();
    for (size_t i = 0; status == HN_OK && i < options->arguments.count; i++)
        status = replay_config_all(&replay, options->arguments.items[i], err);
    if (status == HN_OK)
        status = finish_report(&replay, err);
    json_decref(replay.results);
    hn_workers_destroy(replay.workers);
    hn_store_close(replay.store);
    return status;
}

struct replay_family {
    struct hn_family_source source;
    struct hn_config *config;
    struct hn_store *store;
    struct hn_workers *workers;
};

static enum hn_status start_family(struct replay_family *replay, struct hn_error *err)
{
    const struct hn_options *options = replay->source.options;
    /* searches take as many as there are */
    const struct hn_workers_options workers = hn_workers_of(options, 1e6);
    enum hn_status status = hn_options_config(options, replay->source.path, &replay->config, err);
    if (status == HN_OK)
        status = hn_family_source_check(&replay->source, replay->config, err);
    if (status == HN_OK)
        status = hn_cache_open(options, HN_STORE_WRITE, &replay->store, err);
    return status == HN_OK ? hn_workers_start(&workers, &replay->workers, err) : status;
}

/* What was measured of it, else what was predicted. */
static const struct hn_rule_loss *promise_of(const struct hn_rule *rule)
{
    return rule->measured.sizes > 0 ? &rule->measured : &rule->predicted;
}

static bool holds(const struct replay_family *replay, const struct hn_family_replay *found)
{
    double promised = promise_of(&found->rule->rule)->mean;
    return found->found.low <= promised ||
           found->found.loss.mean <= promised + replay->source.options->max_slowdown;
}

static const struct hn_view family_views[] = {
    {.line = "family of {kernel}"},
    {.line = "  promised  {promise}"},
    {.line =
         "  now       at {now.sizes} sizes that nobody had measured: {now.mean:.1%} slower than "
         "tuned for each in the mean, {now.worst:.1%} at worst"},
    {.line = "            [{untuned}]"},
    {.line = "  origin    {origin:origin}"},
    {.line = "  stale     the rule was learnt with another version: {changed}"},
    {.line = "  verdict   {verdict}"},
    {NULL},
};

static enum hn_status report_family(const struct replay_family *replay,
                                    const struct hn_family_replay *found, struct hn_error *err)
{
    const struct hn_stored_rule *stored = found->rule;
    struct hn_text promise = {0}, untuned = {0};
    json_t *results = json_array();
    hn_rule_append_loss(&promise, &stored->rule);
    hn_family_append_default(&untuned, &found->found.untuned);
    tell(replay->source.options, results,
         json_pack("{ss so ss so so sf so so so ss* ss*}", "kernel", stored->identity.kernel,
                   "device", hn_string_to_json(found->device.name), "verdict",
                   holds(replay, found) ? "holds" : "WORSE", "promised",
                   hn_rule_loss_to_json(promise_of(&stored->rule)), "now",
                   hn_rule_loss_to_json(&found->found.loss), "mean_at_least", found->found.low,
                   "default", hn_rule_loss_to_json(&found->found.untuned), "origin",
                   hn_origin_to_json(&stored->origin), "changed",
                   difference_to_json(&stored->version, &found->version), "promise", promise.data,
                   "untuned", untuned.data),
         family_views);
    enum hn_status status = replay->source.options->json ? hn_output_json(results, err) : HN_OK;
    json_decref(results);
    hn_text_finish(&promise);
    hn_text_finish(&untuned);
    return status;
}

static enum hn_status judge_family(const struct replay_family *replay,
                                   const struct hn_family_replay *found, struct hn_error *err)
{
    double promised = promise_of(&found->rule->rule)->mean;
    if (found->found.loss.sizes == 0)
        return hn_fail(
            err, HN_ERUN,
            "nothing could be measured: the family has no size that is not in the cache, "
            "or --budget is too short for one point");
    enum hn_status status = report_family(replay, found, err);
    char line[HN_FOLLOW_UP_SIZE];
    if (status == HN_OK && !holds(replay, found))
        status = hn_fail(
            err, HN_EREPLAY,
            "the replay does not hold: found %.1f%% slower than tuned in the mean, at "
            "least %.1f%% by the spread of these sizes, expected the promised %.1f%% "
            "and at most %g%% more; `%s` learns it again",
            100 * found->found.loss.mean, 100 * found->found.low, 100 * promised,
            100 * replay->source.options->max_slowdown,
            hn_follow_up(replay->source.options, "tune --family", replay->source.path, line));
    return status;
}

/* --family: what a rule promises, held against searches at sizes that nobody has measured.
 * HN_EREPLAY when more is lost than promised, by more than the spread of these sizes and
 * --max-slowdown. */
static enum hn_status replay_family(const struct hn_options *options, const char *path,
                                    struct hn_error *err)
{
    struct hn_family_replay found = {.rule = NULL};
    struct replay_family replay = {.source = {options, path}};
    enum hn_status status = start_family(&replay, err);
    const struct hn_family_options family = {
        .load = hn_family_source_load,
        .say = hn_family_source_say,
        .context = &replay.source,
        .workers = replay.workers,
        .store = replay.store,
        .strategy = hn_strategy_find("auto"),
        .regime = (enum hn_regime)options->regime,
        .seed = options->seed,
        .budget_s = options->budget_s,
        .held_out = options->held_out,
        .command = "hone replay --family",
    };
    hn_interrupt_install();
    if (status == HN_OK)
        status = hn_family_replay(&family, &found, err);
    if (status == HN_OK)
        status = judge_family(&replay, &found, err);
    hn_family_replay_finish(&found);
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
    return options->family ? replay_family(options, paths->items[0], err)
           : options->all  ? replay_all(options, err)
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
