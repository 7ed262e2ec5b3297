/* SPDX-License-Identifier: MIT */
#include "tuner/commands/replay_all.h"

#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "cache/record/record_json.h"
#include "tuner/commands/hosts_option.h"
#include "tuner/commands/open_cache.h"
#include "tuner/commands/output.h"
#include "tuner/report/format.h"
#include "tuner/session/session.h"
#include "tuner/workers/workers.h"

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

static void print_result(const struct hn_tuned *tuned, const struct hn_task *task,
                         const struct hn_record *now, enum result result)
{
    char timing[HN_FORMAT_SIZE];
    struct hn_text text;
    hn_text_init(&text);
    hn_text_printf(&text, "%s ", task->plan->kernel);
    hn_bindings_append(&text, task->problem);
    hn_format_timing(&tuned->best.timing, timing);
    hn_text_printf(&text, " (%s): %s, %s was", task->identity.regime, result_names[result], timing);
    if (now != NULL) {
        hn_format_timing(&now->timing, timing);
        hn_text_printf(&text, ", %s is, %+.1f%%", timing,
                       (now->timing.median_us / tuned->best.timing.median_us - 1) * 100);
    }
    hn_text_append(&text, "\n  origin    ");
    hn_origin_append(&text, &tuned->origin);
    hn_text_append(&text, "\n  changed   ");
    hn_version_append_difference(&text, &tuned->version, &task->version);
    hn_text_append(&text, "\n  best      ");
    hn_bindings_append(&text, now != NULL ? &now->point : &tuned->best.point);
    if (result == UPDATED) {
        hn_text_append(&text, "\n  was       ");
        hn_bindings_append(&text, &tuned->best.point);
    }
    if (result == LOST)
        hn_text_append(&text, "\n  none of its best points works any longer: tune it again");
    puts(text.data != NULL ? text.data : "out of memory");
    hn_text_finish(&text);
    fflush(stdout);
}

static enum hn_status report(struct replay_all *replay, const struct hn_tuned *tuned,
                             const struct hn_session *session, const struct hn_task *task,
                             struct hn_error *err)
{
    const struct hn_record *now = hn_session_state(session)->best;
    bool same = now != NULL && hn_bindings_equal(&now->point, &tuned->best.point);
    enum result result = now == NULL ? LOST : same ? CONFIRMED : UPDATED;
    replay->raced++;
    replay->lost += result == LOST;
    if (!replay->options->json) {
        print_result(tuned, task, now, result);
        return HN_OK;
    }
    json_t *json =
        json_pack("{s:s, s:o, s:s, s:s, s:o, s:o, s:o}", "kernel", task->plan->kernel, "problem",
                  hn_bindings_to_json(task->problem), "regime", task->identity.regime, "result",
                  result_names[result], "was", hn_record_to_json(&tuned->best), "is",
                  now != NULL ? hn_record_to_json(now) : json_null(), "origin",
                  hn_origin_to_json(&tuned->origin));
    return json_array_append_new(replay->results, json) == 0 ? HN_OK : hn_fail_memory(err);
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
        status = report(replay, tuned, session, backend->task, err);
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

static enum hn_status replay_config(struct replay_all *replay, const char *path,
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

static enum hn_status start(struct replay_all *replay, struct hn_error *err)
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

enum hn_status hn_replay_all(const struct hn_options *options, struct hn_error *err)
{
    struct replay_all replay = {.options = options, .results = json_array()};
    enum hn_status status = start(&replay, err);
    hn_interrupt_install();
    for (size_t i = 0; status == HN_OK && i < options->arguments.count; i++)
        status = replay_config(&replay, options->arguments.items[i], err);
    if (status == HN_OK)
        status = finish_report(&replay, err);
    json_decref(replay.results);
    hn_workers_destroy(replay.workers);
    hn_store_close(replay.store);
    return status;
}
