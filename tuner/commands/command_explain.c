/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/run.h"
#include "tuner/commands/command.h"
#include "tuner/config/config_files.h"
#include "tuner/explain/explain.h"
#include "tuner/report/summary.h"
#include "tuner/session/backend.h"
#include "tuner/session/session.h"
#include "tuner/session/task.h"
#include "tuner/workers/compile_pool.h"
#include "tuner/workers/workers.h"

struct explain {
    struct hn_given *given;       /* its store: NULL: there is none, with a recording */
    struct hn_compile_pool *pool; /* NULL: no point was tried yet */
    bool tried_in_vain;           /* there is no compiler here */
    size_t found;
    size_t explained; /* of them, with a point measured in full */
};

static const double timeout_s = 20;

/* For a struct hn_edge_compiler, for the architecture of the task's device: compiles a point of
 * which nobody knows yet whether it can be. The first one starts the workers. */
static enum hn_compiles try_to_compile(void *context, const struct hn_task *task,
                                       const struct hn_bindings *point)
{
    struct explain *explain = context;
    struct hn_source source HN_ENDED_BY(hn_source_finish) = {0};
    struct hn_image image HN_ENDED_BY(hn_image_finish) = HN_NO_IMAGE;
    struct hn_error err = {.status = HN_OK};
    char architecture[32];
    uint64_t number;
    if (explain->tried_in_vain || task->identity.device.capability <= 0)
        return HN_COMPILES_UNKNOWN;
    if (explain->pool == NULL)
        explain->pool = hn_compile_pool_create(1, timeout_s, HN_COMPILE_START_S);
    snprintf(architecture, sizeof architecture, "sm_%d", task->identity.device.capability);
    if (hn_task_source(task, point, &source, &err) == HN_OK)
        hn_compile_pool_submit(explain->pool, 0, &source, architecture, &err);
    hn_compile_pool_wait(explain->pool, NULL, &number, &image, &err);
    explain->tried_in_vain = hn_failed(&err);
    return explain->tried_in_vain           ? HN_COMPILES_UNKNOWN
           : image.outcome == HN_OUTCOME_OK ? HN_COMPILES
                                            : HN_COMPILES_NOT;
}

/* A session that measures nothing else, and nothing at all where the cache has it. */
static void count_point(struct hn_task *task, struct hn_workers *workers, struct hn_store *store,
                        const struct hn_bindings *point, struct hn_error *err)
{
    const struct hn_live_options live = {.seed = 1};
    const struct hn_session_options options = {
        .strategy = hn_strategy_find("auto"),
        .seed = 1,
        .counters = true,
        .command = "hone explain --counters",
        .points = point,
        .point_count = 1,
    };
    struct hn_backend *backend = hn_backend_live(task, workers, &live, err);
    struct hn_session *session = NULL;
    if (backend != NULL && hn_session_create(backend, store, &options, &session, err) == HN_OK &&
        hn_session_run(session, NULL, NULL, err) == HN_OK &&
        hn_session_state(session)->no_counters[0] != '\0')
        fprintf(stderr, "hone: no counters: %s\n", hn_session_state(session)->no_counters);
    hn_session_destroy(session);
    hn_backend_destroy(backend);
}

static bool is_of_task(const struct hn_tuned *tuned, const struct hn_task *task)
{
    const struct hn_identity *identity = &tuned->identity;
    return hn_bindings_equal(&identity->problem, task->problem) &&
           (strcmp(identity->regime, hn_regime_names[task->regime]) == 0 ||
            strcmp(identity->regime, HN_REGIME_UNKNOWN) == 0) &&
           strcmp(identity->objective, task->identity.objective) == 0;
}

/* Reads what this machine's GPU counts of the best point of the problem's newest tuning on it,
 * where that is not known, and keeps it in the cache, as `hone tune --counters` of that point alone
 * does. Why there are no counters is told on stderr. */
static void count_problem(struct hn_given *given, struct hn_task *task, struct hn_error *err)
{
    const struct hn_workers_options options = {
        .jobs = 2, .useful = 2, .compile_timeout_s = 300, .run_timeout_s = 60};
    struct hn_tuned_list list HN_ENDED_BY(hn_tuned_list_free) = {0};
    const struct hn_tuned *newest = NULL;
    if (given->workers == NULL) {
        hn_interrupt_install();
        hn_start_workers(given, &options, err);
        if (!hn_failed(err))
            hn_workers_open_lead(given->workers, true, err);
    }
    if (hn_failed(err) || hn_store_list(given->store, HN_STORE_RESULTS, task->identity.kernel, NULL,
                                        &list, err) != HN_OK)
        return;
    const struct hn_device_identity *device = &given->workers->lead->device.identity;
    HN_EACH(tuned, list) {
        if (is_of_task(tuned, task) && !tuned->simulated && tuned->best.outcome == HN_OUTCOME_OK &&
            strcmp(tuned->identity.regime, HN_REGIME_UNKNOWN) != 0 &&
            hn_device_identity_equal(&tuned->identity.device, device) &&
            (newest == NULL || tuned->begun > newest->begun))
            newest = tuned;
    }
    if (newest != NULL && !hn_observed_any(&newest->best.observed, "counters"))
        count_point(task, given->workers, given->store, &newest->best.point, err);
    if (!hn_failed(err))
        hn_interrupt_check(err);
}

/* tuned: whether it was simulated or is stale, and where it comes from. */
static void show(struct explain *explain, const struct hn_task *task,
                 const struct hn_records *records, const struct hn_tuned *tuned)
{
    struct hn_given *given = explain->given;
    struct hn_roofs roofs;
    bool known = given->store != NULL && hn_store_get_roofs(given->store, &task->identity.device,
                                                            NULL, &roofs, NULL) == HN_OK;
    const struct hn_edge_compiler compiler = {try_to_compile, explain};
    struct hn_options options = *explain->given->options;
    options.problem = *task->problem;
    options.restrictions.count = 0;
    options.allow_run = task->config->run != NULL;
    const struct hn_explain_input input = {
        .task = task,
        .records = records,
        .roofs = known ? &roofs : NULL,
        .simulated = tuned->simulated,
        .stale = tuned->stale || hn_config_has_changed(task->config, given->store, &task->identity,
                                                       &tuned->version),
        .origin = tuned->origin,
        .config = given->path,
        .tune = hn_follow_up(&options, "tune", given->path),
        .explain = hn_follow_up(&options, "explain", given->path),
        .run = hn_follow_up(&options, "run", given->path),
        .measure = hn_follow_up(&options, "device --measure", NULL),
        .compiler = &compiler,
    };
    json_t *document = hn_explain(&input);
    fputs(explain->found > 0 && !options.json ? "\n" : "", stdout);
    hn_show(given, document, hn_explain_views);
    explain->found++;
    explain->explained += !json_is_null(json_object_get(document, "best"));
}

/* Those of every device; what was simulated only where it was not measured too. */
static void show_cached(struct explain *explain, struct hn_task *task, struct hn_error *err)
{
    const char *device = explain->given->options->device_name;
    struct hn_tuned_list list HN_ENDED_BY(hn_tuned_list_free) = {0};
    if (hn_store_list(explain->given->store, HN_STORE_RESULTS, task->identity.kernel, NULL, &list,
                      err) != HN_OK)
        return;
    for (size_t i = 0; !hn_failed(err) && i < list.count; i++) {
        const struct hn_tuned *tuned = &list.items[i];
        struct hn_records records HN_ENDED_BY(hn_records_free) = {0};
        if (!is_of_task(tuned, task) ||
            (device != NULL && strstr(tuned->identity.device.name, device) == NULL) ||
            (tuned->simulated &&
             hn_tuned_list_find(&list, &tuned->identity, NULL, false) != NULL) ||
            hn_store_load(explain->given->store, &tuned->identity, &tuned->version,
                          tuned->simulated, &records, err) != HN_OK)
            continue;
        hn_task_set_measured(task, &tuned->identity);
        show(explain, task, &records, tuned);
    }
}

static void run(struct hn_given *given, struct hn_error *err)
{
    const struct hn_options *options = given->options;
    const struct hn_config *config = given->config;
    struct explain explain = {.given = given};
    struct hn_error ignored = {.status = HN_OK};
    /* A recording can be explained without a cache; its roofs are in one, if anywhere. */
    hn_open_cache(given, options->search.counters ? HN_STORE_WRITE : HN_STORE_READ, NULL,
                  options->simulate != NULL ? &ignored : err);
    for (size_t i = 0; !hn_failed(err) && i < config->problem_count; i++) {
        struct hn_task task HN_ENDED_BY(hn_task_finish) = {0};
        struct hn_recording recording HN_ENDED_BY(hn_recording_finish) = {0};
        struct hn_tuned tuned = {.simulated = true};
        if (hn_task_make(config, i, (enum hn_regime)options->regime, HN_TASK_MEASURES, &task,
                         err) != HN_OK)
            break;
        if (options->search.counters)
            count_problem(given, &task, err);
        if (!hn_failed(err) && options->simulate == NULL) {
            show_cached(&explain, &task, err);
        } else if (!hn_failed(err) && hn_find_recording(&task, options->simulate, &recording,
                                                        &tuned.origin, err) == HN_OK) {
            tuned.version = recording.version;
            hn_task_set_measured(&task, &recording.identity);
            show(&explain, &task, &recording.records, &tuned);
        }
    }
    if (!hn_failed(err) && explain.found == 0)
        hn_fail(err, HN_ENOTFOUND,
                "the cache holds no valid result of %s for %s; `%s` makes one, and `%s` shows what "
                "there is",
                config->plan->kernel, config->problem_count > 1 ? "these problems" : "this problem",
                hn_follow_up(options, "tune", given->path),
                hn_follow_up(options, "cache list", NULL));
    hn_show_results(given, err);
    if (!hn_failed(err) && explain.explained == 0)
        hn_fail(err, HN_ENOTFOUND, "no point of the space was measured in full");
    hn_compile_pool_destroy(explain.pool);
}

const struct hn_command hn_command_explain = {
    .name = "explain",
    .of = HN_EXPLAIN,
    .arguments = "CONFIG",
    .summary = "what the measured points tell, and what to try next",
    .details = "Reads the cache, or with --simulate a recording; needs no GPU but for --counters.",
    .examples = "hone explain scale.yaml",
    HN_ONE_ARGUMENT("expected the path of a config",
                    "found a second config '%s'; explain them one by one"),
    .config = HN_CONFIG,
    .run = run,
};
