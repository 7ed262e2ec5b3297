/* SPDX-License-Identifier: MIT */
#include "tuner/family/family_replay.h"

#include <stdio.h>
#include <string.h>

#include "base/run.h"
#include "cache/store/store.h"
#include "tuner/family/family_tune.h"

/* Of a sequence of its own. */
static const uint64_t replay_salt = 0xd1b54a32d192ed03;

/* Whoever measured a size may have learnt from it. */
static bool is_known(void *context, const struct hn_bindings *problem)
{
    return hn_known_problems_may_have(context, problem);
}

static bool is_same_family(const struct hn_identity *a, const struct hn_identity *b)
{
    return strcmp(a->signature, b->signature) == 0 && strcmp(a->regime, b->regime) == 0 &&
           strcmp(a->objective, b->objective) == 0;
}

static enum hn_status fail_missing(const struct hn_family_replay *replay,
                                   const struct hn_identity *identity, struct hn_error *err)
{
    const char *other = NULL;
    for (size_t i = 0; i < replay->rules.count; i++)
        if (is_same_family(&replay->rules.items[i].identity, identity))
            other = replay->rules.items[i].identity.device.name;
    return hn_fail(err, HN_ENOTFOUND,
                   "the cache holds no rule of %s's family for %s with a %s L2 cache%s%s; `hone "
                   "tune --family` learns one",
                   identity->kernel, identity->device.name, identity->regime,
                   other != NULL ? ", but one for " : "", other != NULL ? other : "");
}

static enum hn_status find_rule(struct hn_family_replay *replay, struct hn_store *store,
                                const struct hn_task *task, struct hn_error *err)
{
    const struct hn_identity *identity = &task->identity;
    enum hn_status status = hn_store_get_rules(store, identity->kernel, &replay->rules, err);
    for (size_t i = 0; status == HN_OK && i < replay->rules.count; i++) {
        const struct hn_stored_rule *stored = &replay->rules.items[i];
        if (is_same_family(&stored->identity, identity) &&
            hn_device_identity_equal(&stored->identity.device, &identity->device))
            replay->rule = stored;
    }
    replay->version = task->version;
    replay->device = identity->device;
    return status == HN_OK && replay->rule == NULL ? fail_missing(replay, identity, err) : status;
}

/* A task of the family, which tells the rule's identity. */
static enum hn_status look_up(struct hn_measuring *measuring, struct hn_family_replay *replay,
                              struct hn_error *err)
{
    struct hn_task task;
    struct hn_bindings middle, whole;
    const struct hn_family_options *options = measuring->options;
    const struct hn_device *device = &options->workers->lead->device;
    enum hn_status status = hn_family_middle(measuring->config->family, &middle, err);
    if (status != HN_OK)
        return status;
    status = hn_measuring_complete(measuring, &middle, &whole, err);
    if (status == HN_OK)
        status = hn_config_take_problem(measuring->config, &whole, err);
    if (status == HN_OK)
        status = hn_task_make(measuring->config, 0, options->regime, &task, err);
    hn_bindings_finish(&whole);
    hn_bindings_finish(&middle);
    if (status != HN_OK)
        return status;
    hn_task_set_device(&task, &device->identity, device->driver, "");
    status = find_rule(replay, options->store, &task, err);
    hn_task_finish(&task);
    return status;
}

static enum hn_status measure(struct hn_measuring *measuring, double started_ms,
                              struct hn_family_replay *replay, struct hn_error *err)
{
    const struct hn_family_options *options = measuring->options;
    const struct hn_family *family = measuring->config->family;
    const struct hn_family_worth worth = hn_family_worth(family);
    const struct hn_identity *identity = &replay->rule->identity;
    struct hn_known_problems known;
    enum hn_status status = hn_known_problems_read(options->store, identity->kernel, &known, err);
    if (status != HN_OK)
        return status;
    const struct hn_held_out held_out = {
        .measuring = measuring,
        .kernel = {family, measuring->config->plan, &options->workers->lead->device},
        .rule = &replay->rule->rule,
        .seed = options->seed ^ replay_salt,
        .count = options->held_out > 0 ? options->held_out : worth.held_out,
        .budget_s =
            options->budget_s > 0 ? options->budget_s : hn_family_held_out_s(worth.budget_s),
        .started_ms = started_ms,
        .is_used = is_known,
        .context = &known,
    };
    status = hn_held_out_measure(&held_out, &replay->found, err);
    hn_known_problems_finish(&known);
    return status;
}

enum hn_status hn_family_replay(const struct hn_family_options *options,
                                struct hn_family_replay *replay, struct hn_error *err)
{
    struct hn_measuring measuring;
    double started_ms = hn_now_ms();
    *replay = (struct hn_family_replay){.rule = NULL};
    enum hn_status status = hn_measuring_init(&measuring, options, err);
    if (status == HN_OK)
        status = hn_workers_open(options->workers, err);
    if (status == HN_OK)
        status = look_up(&measuring, replay, err);
    if (status == HN_OK) {
        hn_compile_pool_set(options->workers->pool, HN_COMPILE_KEEPS_ALL, true);
        status = measure(&measuring, started_ms, replay, err);
        snprintf(replay->version.nvrtc, sizeof replay->version.nvrtc, "%s", measuring.nvrtc);
    }
    if (status == HN_EINTERRUPTED)
        status = hn_fail(err, HN_EINTERRUPTED, "interrupted; what was measured is kept");
    hn_measuring_finish(&measuring);
    return status;
}

void hn_family_replay_finish(struct hn_family_replay *replay)
{
    hn_stored_rules_free(&replay->rules);
}
