/* SPDX-License-Identifier: MIT */
#include "tuner/session/session_ahead.h"

#include <stdlib.h>

#include "cache/store/store_record.h"
#include "tuner/session/session_internal.h"

/* A point that is proposed again is there already. */
static enum hn_status add(struct hn_points_ahead *ahead, const struct hn_bindings *point,
                          struct hn_error *err)
{
    for (size_t i = 0; i < ahead->count; i++)
        if (hn_bindings_equal(&ahead->points[i], point))
            return HN_OK;
    enum hn_status status = hn_bindings_copy(&ahead->points[ahead->count], point, err);
    ahead->count += status == HN_OK;
    return status;
}

static enum hn_status add_ladder(struct hn_points_ahead *ahead, const struct hn_task *task,
                                 size_t limit, struct hn_error *err)
{
    const struct hn_config *config = task->config;
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < config->ladder_count && ahead->count < limit; i++) {
        struct hn_bindings point;
        hn_bindings_init(&point);
        if (hn_config_complete(config, task->space, &config->ladder[i], &point, NULL) == HN_OK)
            status = add(ahead, &point, err);
        hn_bindings_finish(&point);
    }
    return status;
}

/* What a strategy proposes before it has been told anything. */
static enum hn_status add_proposals(struct hn_points_ahead *ahead, const struct hn_task *task,
                                    const struct hn_session_options *options, size_t limit,
                                    struct hn_error *err)
{
    const struct hn_strategy_kind *kind = options->strategy;
    unsigned look_ahead = hn_session_look_ahead(task, options);
    const struct hn_search search = {
        .space = task->space, .seed = options->seed, .look_ahead = look_ahead};
    uint64_t most = kind->needs_feedback ? look_ahead / 2 : limit;
    struct hn_strategy *strategy;
    uint16_t *choice = calloc(hn_space_parameter_count(task->space) + 1, sizeof *choice);
    if (choice == NULL)
        return hn_fail_memory(err);
    enum hn_status status = hn_space_wait(task->space, err);
    if (status == HN_OK)
        status = kind->create(&search, &strategy, err);
    bool created = status == HN_OK;
    for (uint64_t t = 0; status == HN_OK && t < most && ahead->count < limit; t++) {
        struct hn_bindings point;
        if (t > 0 && kind->waits != NULL && kind->waits(strategy))
            break;
        ahead->complete = !kind->propose(strategy, t, choice);
        if (ahead->complete)
            break;
        status = hn_space_bindings(task->space, choice, &point, err);
        if (status == HN_OK)
            status = add(ahead, &point, err);
        hn_bindings_finish(&point);
    }
    if (created)
        kind->destroy(strategy);
    free(choice);
    return status;
}

enum hn_status hn_points_ahead_make(struct hn_points_ahead *ahead, const struct hn_task *task,
                                    struct hn_store *store,
                                    const struct hn_session_options *options, size_t limit,
                                    struct hn_error *err)
{
    bool known = false;
    *ahead = (struct hn_points_ahead){0};
    enum hn_status status =
        store != NULL ? hn_store_knows(store, &task->version, &known, err) : HN_OK;
    if (status != HN_OK || known)
        return status;
    ahead->fresh = true;
    ahead->points = calloc(limit + 1, sizeof *ahead->points);
    if (ahead->points == NULL)
        return hn_fail_memory(err);
    status = add_ladder(ahead, task, limit, err);
    /* What is known now is enough to begin with. */
    if (status == HN_OK && hn_space_is_built(task->space))
        status = add_proposals(ahead, task, options, limit, err);
    if (status != HN_OK)
        hn_points_ahead_finish(ahead);
    return status;
}

void hn_points_ahead_finish(struct hn_points_ahead *ahead)
{
    for (size_t i = 0; i < ahead->count; i++)
        hn_bindings_finish(&ahead->points[i]);
    free(ahead->points);
    *ahead = (struct hn_points_ahead){0};
}
