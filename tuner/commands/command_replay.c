/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/run.h"
#include "cache/record/record.h"
#include "tuner/commands/command.h"
#include "tuner/config/capture.h"
#include "tuner/family/family.h"
#include "tuner/session/backend.h"
#include "tuner/session/session.h"
#include "tuner/workers/workers.h"

enum { OTHER_PROCESSES = 6 };

struct replay {
    struct hn_given *given;
    struct hn_tuned_list tuned;
    bool failed;
};

/* The record of this very device, else one of another: measured before simulated. */
static const struct hn_tuned *find_tuned(const struct replay *replay, const struct hn_task *task)
{
    const struct hn_tuned *found = NULL;
    int best = -1;
    HN_EACH(tuned, replay->tuned) {
        bool same = hn_identity_equal(&tuned->identity, &task->identity);
        int grade = (same ? 2 : 0) + (tuned->simulated ? 0 : 1);
        struct hn_identity here = tuned->identity;
        here.device = task->identity.device;
        if (grade <= best || !hn_identity_equal(&here, &task->identity))
            continue;
        found = tuned;
        best = grade;
    }
    return found;
}

/* Whether --capture or --reference gave the data that it was tuned with, which a config has not. */
static bool has_given(struct hn_store *store, const struct hn_tuned *tuned)
{
    struct hn_stored_plan plan HN_ENDED_BY(hn_stored_plan_free) = {0};
    if (hn_store_get_plan(store, tuned->identity.kernel, &tuned->version, &plan, NULL) != HN_OK)
        return false;
    return json_is_true(json_object_get(plan.json, "given"));
}

/* The cached image, when what it was compiled from is what we have now. */
static bool load_image(const struct replay *replay, const struct hn_task *task,
                       const struct hn_tuned *tuned, struct hn_image *image)
{
    char *entry HN_FREED = NULL;
    if (!hn_version_equal(&tuned->version, &task->version) ||
        tuned->identity.device.capability != task->identity.device.capability ||
        hn_store_get_image(replay->given->store, &tuned->identity, &tuned->version,
                           &tuned->best.point, &image->cubin, &image->size, &entry, NULL) != HN_OK)
        return false;
    image->outcome = HN_OUTCOME_OK;
    image->resources = tuned->best.resources;
    return hn_image_set_entries(image, entry, NULL) == HN_OK;
}

static void measure(struct hn_backend *backend, const struct hn_tuned *tuned,
                    const struct hn_image *image, bool anew, struct hn_record *record,
                    struct hn_error *err)
{
    struct hn_racer variant = {.point = &tuned->best.point, .image = image};
    struct hn_run run = {
        .kind = HN_RUN_MEASURE, .racers = &variant, .racer_count = 1, .anew = anew};
    if (image->outcome == HN_OUTCOME_OK) {
        backend->kind->run(backend, &run, err);
        *record = variant.record;
    } else if (!hn_failed(err)) {
        hn_record_fail(record, image->outcome, "%s", image->message != NULL ? image->message : "");
        record->point = hn_need_bindings(&tuned->best.point, NULL);
    }
}

/* Processes differed by 6% where each knew its own time to 0.5%. */
static const double unknown_spread = 0.1;

/* 1 where one of both is not known. */
static double ratio(double of, double to)
{
    return of > 0 && to > 0 ? of / to : 1;
}

/* HN_REPLAY_SLOWER: half of the processes of now and more are slower than the record by more than
 * `most` (a tenth at least where the record is of one process) and than both intervals. The
 * record's time is the median of its processes, or that of its race, whichever is longer: a process
 * may have been fast by chance. HN_REPLAY_MACHINE: slower, but for what the copies or the clock
 * lost. A single process (now->processes 0) is held against half of the limit: it is a reason to
 * ask others. */
static enum hn_replay_verdict replay_judge_time(const struct hn_timing *was,
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
    return replay_judge_time(&tuned->best.timing, &record->timing,
                             replay->given->options->max_slowdown);
}

/* No process is believed alone that the kernel is slower. */
static void confirm(const struct replay *replay, struct hn_backend *backend,
                    const struct hn_tuned *tuned, const struct hn_image *image,
                    struct hn_record *record, enum hn_replay_verdict *verdict, struct hn_error *err)
{
    double medians_us[1 + OTHER_PROCESSES];
    if (hn_failed(err) || (*verdict != HN_REPLAY_SLOWER && *verdict != HN_REPLAY_MACHINE))
        return;
    hn_timing_add_process(&record->timing, &record->timing, medians_us);
    for (int i = 0; !hn_failed(err) && record->outcome == HN_OUTCOME_OK && i < OTHER_PROCESSES;
         i++) {
        struct hn_record another = {0};
        measure(backend, tuned, image, true, &another, err);
        bool fails = another.outcome != HN_OUTCOME_OK;
        if (!fails)
            hn_timing_add_process(&record->timing, &another.timing, medians_us);
        hn_record_finish(fails ? record : &another);
        if (fails)
            *record = another;
    }
    *verdict = judge(replay, tuned, true, record);
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
    {.line = "  space     the config's values or constraints exclude this point now: tune it "
             "again{?!in_space}"},
    {.line = "  verdict   {verdict}[: {now.outcome}: {now.message}]"},
    {NULL},
};

/* The differences between versions; null: there are none. */
static json_t *difference_to_json(const struct hn_version *was, const struct hn_version *is,
                                  bool given)
{
    struct hn_text text = {0};
    if (!hn_version_equal(was, is))
        hn_version_append_difference(&text, was, is);
    if (text.length > 0 && given)
        hn_text_append(&text, " (--capture or --reference gave its data)");
    json_t *json = hn_render_text(&text);
    return json != NULL ? json : json_null();
}

static json_t *comparison_to_json(const struct hn_task *task, const struct hn_tuned *tuned,
                                  const struct hn_record *record, enum hn_replay_verdict verdict,
                                  bool from_cache, bool given)
{
    const struct hn_timing *was = &tuned->best.timing, *now = &record->timing;
    uint16_t choice[hn_space_parameter_count(task->space) + 1];
    return json_pack("{ss so so so sb sb ss sb so so so so sb}", "kernel", task->plan->kernel,
                     "problem", hn_bindings_to_json(task->problem), "device",
                     hn_string_to_json(task->identity.device.name), "recorded_on",
                     hn_string_to_json(tuned->identity.device.name), "simulated", tuned->simulated,
                     "in_space", hn_space_has(task->space, &tuned->best.point, choice), "verdict",
                     verdict_names[verdict], "image_from_cache", from_cache, "recorded",
                     hn_record_to_json(&tuned->best), "now", hn_record_to_json(record), "origin",
                     hn_origin_to_json(&tuned->origin), "changed",
                     difference_to_json(&tuned->version, &task->version, given), "compared",
                     now->median_us > 1.025 * was->median_us || now->processes > 0);
}

/* One point, as a session would, until it is done. */
static void compile(struct hn_backend *backend, const struct hn_bindings *point,
                    struct hn_image *image, struct hn_error *err)
{
    const struct hn_start start = {.point = point, .patience_ms = INFINITY};
    struct hn_backend_event event = {.kind = HN_EVENT_NONE};
    backend->kind->start(backend, &start, err);
    while (!hn_failed(err) && event.kind == HN_EVENT_NONE && hn_interrupt_check(err) == HN_OK)
        backend->kind->next(backend, 100, &event, err);
    if (!hn_failed(err))
        *image = event.image;
}

static void replay_on(struct replay *replay, struct hn_backend *backend,
                      const struct hn_tuned *tuned, struct hn_error *err)
{
    struct hn_task *task = backend->task;
    struct hn_record record HN_ENDED_BY(hn_record_finish) = {0};
    struct hn_image image HN_ENDED_BY(hn_image_finish) = HN_NO_IMAGE;
    struct hn_run reseed = {.kind = HN_RUN_RESEED, .seed = (uint64_t)tuned->best.verdict.seed};
    bool same_device = hn_device_identity_equal(&tuned->identity.device, &task->identity.device);
    bool from_cache = load_image(replay, task, tuned, &image);
    if (!from_cache) {
        hn_image_finish(&image);
        compile(backend, &tuned->best.point, &image, err);
    }
    backend->kind->run(backend, &(struct hn_run){.kind = HN_RUN_PREPARE}, err);
    if (tuned->best.final && reseed.seed != 0 && /* times may depend on the inputs */
        task->plan->reference.kind != HN_REFERENCE_FILES)
        backend->kind->run(backend, &reseed, err);
    measure(backend, tuned, &image, false, &record, err);
    enum hn_replay_verdict verdict = judge(replay, tuned, same_device, &record);
    confirm(replay, backend, tuned, &image, &record, &verdict, err);
    if (!hn_failed(err) && record.outcome == HN_OUTCOME_OK)
        hn_metrics_evaluate(task->plan, task->problem, &record, err);
    if (!hn_failed(err)) {
        replay->failed = replay->failed || verdict >= HN_REPLAY_SLOWER;
        hn_show(replay->given,
                comparison_to_json(task, tuned, &record, verdict, from_cache,
                                   has_given(replay->given->store, tuned)),
                views);
    }
}

enum { BEST_COUNT = 5 };

/* The best points of a tuning that a space has; the records begin with theirs. */
struct best {
    struct hn_records records;
    struct hn_bindings points[BEST_COUNT];
    size_t count;
};

static void load_best(struct hn_store *store, const struct hn_tuned *tuned,
                      const struct hn_space *space, struct best *best, struct hn_error *err)
{
    struct hn_records *records = &best->records;
    *best = (struct best){.count = 0};
    if (hn_failed(err) || hn_store_load(store, &tuned->identity, &tuned->version, tuned->simulated,
                                        records, err) != HN_OK)
        return;
    uint16_t choice[hn_space_parameter_count(space) + 1];
    if (records->count > 0)
        qsort(records->items, records->count, sizeof *records->items, hn_record_compare);
    for (size_t i = 0; i < records->count && best->count < BEST_COUNT; i++) {
        struct hn_record record = records->items[i];
        if (record.outcome != HN_OUTCOME_OK || !hn_space_has(space, &record.point, choice))
            continue;
        records->items[i] = records->items[best->count];
        records->items[best->count] = record;
        best->points[best->count++] = record.point;
    }
}

static void replay_problem(struct replay *replay, size_t problem, struct hn_error *err)
{
    struct hn_given *given = replay->given;
    const struct hn_options *options = given->options;
    struct hn_task task HN_ENDED_BY(hn_task_finish) = {0};
    struct hn_tuned restricted;
    struct best best = {.count = 0};
    if (hn_task_make(given->config, problem, (enum hn_regime)options->regime, HN_TASK_MEASURES,
                     &task, err) != HN_OK)
        return;
    const struct hn_live_options live = {.seed = options->search.seed};
    struct hn_backend *backend = hn_backend_live(&task, given->workers, &live, err);
    const struct hn_tuned *tuned = hn_failed(err) ? NULL : find_tuned(replay, &task);
    if (tuned != NULL && given->config->restricted) {
        load_best(given->store, tuned, task.space, &best, err);
        restricted = *tuned;
        if (best.count > 0)
            restricted.best = best.records.items[0];
        tuned = best.count > 0 ? &restricted : NULL;
    }
    if (tuned != NULL) {
        replay_on(replay, backend, tuned, err);
    } else if (!hn_failed(err)) {
        char *text HN_FREED = hn_needed(hn_bindings_text(task.problem));
        hn_fail(err, HN_ENOTFOUND, "the cache holds no tuned %s for %s (%s); `%s` makes one",
                task.plan->kernel, text[0] != '\0' ? text : "this problem", task.identity.regime,
                hn_follow_up(options, "tune", given->path));
    }
    hn_records_free(&best.records);
    hn_backend_destroy(backend);
}

/* useful: as in hn_workers_options. */
static void open_all(struct hn_given *given, enum hn_store_mode mode, double useful,
                     struct hn_error *err)
{
    const struct hn_workers_options workers = hn_workers_of(given->options, useful);
    hn_open_cache(given, mode, NULL, err);
    hn_start_workers(given, &workers, err);
    hn_interrupt_install();
}

static void replay_config(struct hn_given *given, struct hn_error *err)
{
    const struct hn_options *options = given->options;
    struct replay replay = {.given = given};
    if (options->capture != NULL)
        hn_capture_open(options->capture, &given->capture, err);
    given->config = hn_options_config(options, given->path, err);
    if (!hn_failed(err) && given->capture != NULL)
        hn_capture_apply(given->capture, &options->problem, given->config, err);
    /* The point, the default point, the reference and the support kernels. */
    open_all(given, HN_STORE_READ, 4, err);
    if (!hn_failed(err))
        hn_store_list(given->store, HN_STORE_RESULTS, given->config->plan->kernel, NULL,
                      &replay.tuned, err);
    for (size_t i = 0; !hn_failed(err) && i < given->config->problem_count; i++)
        replay_problem(&replay, i, err);
    hn_show_results(given, err);
    if (!hn_failed(err) && replay.failed)
        hn_fail(err, HN_EREPLAY,
                "the replay does not hold: a result is wrong, or slower than its record by more "
                "than %g%% in most processes",
                options->max_slowdown * 100);
    hn_tuned_list_free(&replay.tuned);
}

struct replay_all {
    struct hn_given *given;
    struct hn_device_identity device; /* "" until the first backend was made */
    size_t current;                   /* tunings of the present version */
    size_t raced;
    size_t passed; /* of another device or signature, or not measured by Hone */
    size_t lost;
};

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
    const char *result = now == NULL                                          ? "LOST"
                         : hn_bindings_equal(&now->point, &tuned->best.point) ? "confirmed"
                                                                              : "updated";
    replay->raced++;
    replay->lost += now == NULL;
    hn_show(replay->given,
            json_pack("{s:s, s:o, s:s, s:s, s:o, s:o, s:o, s:o}", "kernel", task->plan->kernel,
                      "problem", hn_bindings_to_json(task->problem), "regime",
                      task->identity.regime, "result", result, "was",
                      hn_record_to_json(&tuned->best), "is",
                      now != NULL ? hn_record_to_json(now) : json_null(), "origin",
                      hn_origin_to_json(&tuned->origin), "changed",
                      difference_to_json(&tuned->version, &task->version, false)),
            raced_views);
}

static void race(struct replay_all *replay, const struct hn_tuned *tuned,
                 struct hn_backend *backend, const struct best *best, struct hn_error *err)
{
    struct hn_session *session = NULL;
    const struct hn_session_options options = {
        .strategy = hn_strategy_find("exhaustive"),
        .seed = replay->given->options->search.seed,
        .full = true,
        .retry_failed = true,
        .command = "hone replay --all",
        .points = best->points,
        .point_count = best->count,
    };
    if (hn_session_create(backend, replay->given->store, &options, &session, err) == HN_OK &&
        hn_session_run(session, NULL, NULL, err) == HN_OK) {
        if (hn_interrupted() != 0)
            hn_fail(err, HN_EINTERRUPTED, "interrupted; what was finished is kept");
        else
            report_all(replay, tuned, session, backend->task);
    }
    hn_session_destroy(session);
}

/* Races a tuning that is of this very device and config, but not of this version. */
static void replay_tuned(struct replay_all *replay, const char *path, const struct hn_tuned *tuned,
                         struct hn_error *err)
{
    struct hn_given *given = replay->given;
    struct hn_config *config = hn_options_config(given->options, path, err);
    struct hn_task task;
    struct hn_backend *backend = NULL;
    struct best best;
    enum hn_regime regime = HN_COLD;
    (void)hn_regime_parse(tuned->identity.regime, &regime);
    if (!hn_failed(err))
        hn_config_take_problem(config, &tuned->identity.problem, err);
    if (!hn_failed(err) && hn_task_make(config, 0, regime, HN_TASK_MEASURES, &task, err) == HN_OK) {
        load_best(given->store, tuned, task.space, &best, err);
        const struct hn_live_options live = {
            .seed = given->options->search.seed,
            .ahead = {.points = best.points, .count = best.count, .complete = true}};
        if (!hn_failed(err) &&
            (backend = hn_backend_live(&task, given->workers, &live, err)) != NULL) {
            replay->device = task.identity.device;
            if (!hn_identity_equal(&tuned->identity, &task.identity))
                replay->passed++;
            else if (hn_version_equal(&tuned->version, &task.version))
                replay->current++;
            else
                race(replay, tuned, backend, &best, err);
        }
        hn_backend_destroy(backend);
        hn_records_free(&best.records);
        hn_task_finish(&task);
    }
    hn_config_destroy(config);
}

static void replay_config_all(struct replay_all *replay, const char *path, struct hn_error *err)
{
    struct hn_given *given = replay->given;
    struct hn_tuned_list list HN_ENDED_BY(hn_tuned_list_free) = {.items = NULL};
    struct hn_config *config = hn_options_config(given->options, path, err);
    if (!hn_failed(err))
        hn_store_list(given->store, HN_STORE_RESULTS, config->plan->kernel, NULL, &list, err);
    hn_config_destroy(config);
    for (size_t i = 0; !hn_failed(err) && i < list.count; i++) {
        const struct hn_tuned *tuned = &list.items[i];
        bool elsewhere = replay->device.name[0] != '\0' &&
                         !hn_device_identity_equal(&replay->device, &tuned->identity.device);
        if (tuned->simulated || elsewhere || has_given(given->store, tuned))
            replay->passed++;
        else
            replay_tuned(replay, path, tuned, err);
    }
}

/* --all: of every tuning of these configs' kernels on this device that is stale (driver, NVRTC,
 * template or plan have changed since), the best five points are compiled, verified and raced
 * again, and stored as of now. HN_EREPLAY when none of a tuning's five works any longer; HN_ERUN
 * when there was no tuning of this device, stale or not. */
static void replay_all(struct hn_given *given, struct hn_error *err)
{
    const struct hn_options *options = given->options;
    struct replay_all replay = {.given = given};
    /* beside the points: default point, reference, support kernels */
    open_all(given, HN_STORE_WRITE, BEST_COUNT + 3, err);
    for (size_t i = 0; !hn_failed(err) && i < options->arguments.count; i++)
        replay_config_all(&replay, options->arguments.items[i], err);
    hn_show_results(given, err);
    size_t fitting = replay.raced + replay.current;
    if (!hn_failed(err) && !options->json && !options->quiet)
        printf("looked at %zu tuning%s: %zu raced again, %zu up to date already, %zu of another "
               "device, of other arguments or data, or simulated\n",
               fitting + replay.passed, hn_plural(fitting + replay.passed), replay.raced,
               replay.current, replay.passed);
    if (!hn_failed(err) && fitting == 0)
        hn_fail(err, HN_ERUN,
                "there is nothing to replay: the cache has no tuning of these configs that was "
                "measured on this device; `%s` shows what it has, `hone tune CONFIG` makes one",
                hn_follow_up(options, "cache list", NULL));
    if (!hn_failed(err) && replay.lost > 0)
        hn_fail(err, HN_EREPLAY, "%zu tuning%s: none of the best points works any longer",
                replay.lost, hn_plural(replay.lost));
}

static const struct hn_view family_views[] = {
    {.line = "family of {kernel}"},
    {.line = "  promised  {promise}"},
    {.line =
         "  now       at {now.sizes} sizes that nobody had measured: {now.mean:.1%} slower than "
         "tuned for each in the mean, {now.worst:.1%} at worst"},
    {.line = "            [{told_apart}]"},
    {.line = "            {?default.sizes}the default point there: {default.mean:.1%} slower in "
             "the mean, {default.worst:.0%} at worst"},
    {.line = "  origin    {origin:origin}"},
    {.line = "  stale     the rule was learnt with another version: {changed}"},
    {.line = "  verdict   {verdict}"},
    {NULL},
};

static void judge_family(struct hn_given *given, const struct hn_family_replay *replay,
                         struct hn_error *err)
{
    const struct hn_tuned *stored = replay->rule;
    const struct hn_held_out_loss *found = &replay->found;
    const struct hn_rule *rule = stored->rule;
    const struct hn_rule_loss *promised =
        rule->measured.sizes > 0 ? &rule->measured : &rule->predicted;
    double slowdown = given->options->max_slowdown;
    bool holds = found->failed == 0 &&
                 (found->low <= promised->mean || found->loss.mean <= promised->mean + slowdown);
    struct hn_text promise = {0}, parts = {0};
    if (found->loss.sizes == 0 && found->failed == 0) {
        hn_fail(err, HN_ERUN,
                "nothing could be measured: the family has no size that is not in the cache, or "
                "--budget is too short for one point");
        return;
    }
    hn_rule_append_loss(&promise, rule);
    hn_rule_append_parts(&parts, &found->parts);
    hn_show(given,
            json_pack("{ss so ss so so sf so so so so so* so*}", "kernel", stored->identity.kernel,
                      "device", hn_string_to_json(replay->device.name), "verdict",
                      holds ? "holds" : "WORSE", "promised",
                      hn_fields_to_json(&hn_rule_loss_structure, promised), "now",
                      hn_fields_to_json(&hn_rule_loss_structure, &found->loss), "mean_at_least",
                      found->low, "parts",
                      hn_fields_to_json(&hn_rule_parts_structure, &found->parts), "default",
                      hn_fields_to_json(&hn_rule_loss_structure, &found->untuned), "origin",
                      hn_origin_to_json(&stored->origin), "changed",
                      difference_to_json(&stored->version, &replay->version, false), "promise",
                      hn_render_text(&promise), "told_apart", hn_render_text(&parts)),
            family_views);
    hn_show_results(given, err);
    if (!hn_failed(err) && found->failed > 0)
        hn_fail(err, HN_EREPLAY,
                "the replay does not hold: what the rule chooses fails at %u of these sizes; `%s` "
                "learns it again",
                found->failed, hn_follow_up(given->options, "tune --family", given->path));
    else if (!hn_failed(err) && !holds)
        hn_fail(err, HN_EREPLAY,
                "the replay does not hold: found %.1f%% slower than tuned in the mean, at least "
                "%.1f%% by the spread of these sizes, expected the promised %.1f%% and at most "
                "%g%% more; `%s` learns it again",
                100 * found->loss.mean, 100 * found->low, 100 * promised->mean, 100 * slowdown,
                hn_follow_up(given->options, "tune --family", given->path));
}

/* --family: what a rule promises, held against searches at sizes that nobody has measured.
 * HN_EREPLAY when more is lost than promised, by more than the spread of these sizes and
 * --max-slowdown. */
static void replay_family(struct hn_given *given, struct hn_error *err)
{
    struct hn_family_replay found = {.rule = NULL};
    given->config = hn_options_config(given->options, given->path, err);
    /* Searches take as many as there are. */
    open_all(given, HN_STORE_WRITE, 1e6, err);
    struct hn_family_options family = hn_family_of(given, err);
    family.search.command = "hone replay --family";
    hn_family_replay(&family, &found, err);
    if (!hn_failed(err))
        judge_family(given, &found, err);
    hn_tuned_list_free(&found.rules);
}

static void run(struct hn_given *given, struct hn_error *err)
{
    const struct hn_texts *paths = &given->options->arguments;
    if (paths->count > 1 && !given->options->all)
        hn_options_misused(given->options, err, "found a second config '%s'", paths->items[1]);
    else if (given->options->family)
        replay_family(given, err);
    else if (given->options->all)
        replay_all(given, err);
    else
        replay_config(given, err);
}

const struct hn_command hn_command_replay = {
    .name = "replay",
    .of = HN_REPLAY,
    .arguments = "CONFIG...",
    .listed = "CONFIG",
    .summary = "run the cached best again and compare it with its record",
    .details =
        "Exit code 4 when it is wrong or slower. With --all, and with any number of configs: the "
        "best five of each tuning that was made with another driver, NVRTC, template or plan are "
        "verified and raced again, which updates or confirms it in seconds. With --family: exit "
        "code 4 when the rule loses more than it promises.",
    .examples = "hone replay scale.yaml --max-slowdown 5%",
    .least = 1,
    .most = SIZE_MAX,
    .missing = "expected the path of a config",
    .run = run,
};
