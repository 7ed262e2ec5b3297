/* SPDX-License-Identifier: MIT */
#include "tuner/commands/explain_counters.h"

#include <stdio.h>
#include <string.h>

#include "base/interrupt.h"
#include "tuner/session/session.h"
#include "tuner/workers/workers.h"

static void tell_obstacle(const struct hn_session_state *state)
{
    if (state->no_counters[0] != '\0')
        fprintf(stderr, "hone: no counters: %s\n", state->no_counters);
}

/* A session that measures nothing else, and nothing at all where the cache has it. */
static enum hn_status count_point(struct hn_task *task, struct hn_workers *workers,
                                  struct hn_store *store, const struct hn_bindings *point,
                                  struct hn_error *err)
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
    struct hn_backend *backend = NULL;
    struct hn_session *session = NULL;
    enum hn_status status = hn_backend_live(task, workers, &live, &backend, err);
    if (status == HN_OK)
        status = hn_session_create(backend, store, &options, &session, err);
    if (status == HN_OK)
        status = hn_session_run(session, NULL, NULL, err);
    if (status == HN_OK)
        tell_obstacle(hn_session_state(session));
    hn_session_destroy(session);
    hn_backend_destroy(backend);
    return status;
}

static bool is_here(const struct hn_tuned *tuned, const struct hn_task *task,
                    const struct hn_device_identity *device)
{
    const struct hn_identity *identity = &tuned->identity;
    return !tuned->simulated && hn_bindings_equal(&identity->problem, task->problem) &&
           strcmp(identity->regime, task->identity.regime) == 0 &&
           strcmp(identity->objective, task->identity.objective) == 0 &&
           strcmp(identity->device.name, device->name) == 0 &&
           strcmp(identity->device.mig_profile, device->mig_profile) == 0;
}

/* The newest tuning of the problem on this device. */
static enum hn_status count_problem(struct hn_task *task, struct hn_workers *workers,
                                    struct hn_store *store, struct hn_error *err)
{
    struct hn_tuned_list list;
    struct hn_bindings point;
    const struct hn_tuned *newest = NULL;
    const struct hn_device_identity *device = &workers->lead->device.identity;
    enum hn_status status = hn_store_list(store, task->identity.kernel, &list, err);
    if (status != HN_OK)
        return status;
    for (size_t i = 0; i < list.count; i++)
        if (is_here(&list.items[i], task, device) && list.items[i].best.outcome == HN_OUTCOME_OK &&
            (newest == NULL || list.items[i].best.time > newest->best.time))
            newest = &list.items[i];
    hn_bindings_init(&point);
    if (newest != NULL)
        status = hn_bindings_copy(&point, &newest->best.point, err);
    bool wanted = newest != NULL && !hn_observed_any(&newest->best.observed, "counters");
    hn_tuned_list_free(&list);
    if (status == HN_OK && wanted)
        status = count_point(task, workers, store, &point, err);
    hn_bindings_finish(&point);
    return status;
}

enum hn_status hn_explain_count(const struct hn_config *config, enum hn_regime regime,
                                struct hn_store *store, struct hn_error *err)
{
    const struct hn_workers_options options = {
        .jobs = 2, .useful = 2, .compile_timeout_s = 300, .run_timeout_s = 60};
    struct hn_workers *workers = NULL;
    enum hn_status status = hn_workers_start(&options, &workers, err);
    if (status == HN_OK)
        status = hn_workers_open(workers, err);
    for (size_t i = 0; status == HN_OK && i < config->problem_count && hn_interrupted() == 0; i++) {
        struct hn_task task;
        status = hn_task_make(config, i, regime, &task, err);
        if (status != HN_OK)
            break;
        status = count_problem(&task, workers, store, err);
        hn_task_finish(&task);
    }
    hn_workers_destroy(workers);
    return status == HN_OK ? hn_interrupt_check(err) : status;
}
