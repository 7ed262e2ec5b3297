/* SPDX-License-Identifier: MIT */
#include "tuner/commands/replay_family.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "tuner/commands/family_source.h"
#include "tuner/commands/hosts_option.h"
#include "tuner/commands/open_cache.h"
#include "tuner/commands/output.h"
#include "tuner/family/family_replay.h"

struct replay_family {
    struct hn_family_source source;
    struct hn_config *config;
    struct hn_store *store;
    struct hn_workers *workers;
};

static enum hn_status start(struct replay_family *replay, struct hn_error *err)
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

static void print_result(const struct replay_family *replay, const struct hn_family_replay *found)
{
    struct hn_text text;
    const struct hn_stored_rule *stored = found->rule;
    const struct hn_rule_loss *loss = &found->found.loss;
    hn_text_init(&text);
    hn_text_printf(&text, "family of %s\n  promised  ", stored->identity.kernel);
    hn_rule_append_loss(&text, &stored->rule);
    hn_text_printf(&text,
                   "\n  now       at %zu sizes that nobody had measured: %.1f%% slower than tuned "
                   "for each in the mean, %.1f%% at worst\n            ",
                   loss->sizes, 100 * loss->mean, 100 * loss->worst);
    hn_held_out_append_default(&text, &found->found.untuned);
    hn_text_append(&text, "\n  origin    ");
    hn_origin_append(&text, &stored->origin);
    if (!hn_version_equal(&stored->version, &found->version)) {
        hn_text_append(&text, "\n  stale     the rule was learnt with another version: ");
        hn_version_append_difference(&text, &stored->version, &found->version);
    }
    hn_text_printf(&text, "\n  verdict   %s", holds(replay, found) ? "holds" : "WORSE");
    puts(text.data != NULL ? text.data : "out of memory");
    hn_text_finish(&text);
}

static enum hn_status report(const struct replay_family *replay,
                             const struct hn_family_replay *found, struct hn_error *err)
{
    const struct hn_stored_rule *stored = found->rule;
    if (!replay->source.options->json) {
        print_result(replay, found);
        return HN_OK;
    }
    json_t *json = json_pack(
        "[{ss ss ss so so sf so so}]", "kernel", stored->identity.kernel, "device",
        found->device.name, "verdict", holds(replay, found) ? "holds" : "WORSE", "promised",
        hn_rule_loss_to_json(promise_of(&stored->rule)), "now",
        hn_rule_loss_to_json(&found->found.loss), "mean_at_least", found->found.low, "default",
        hn_rule_loss_to_json(&found->found.untuned), "origin", hn_origin_to_json(&stored->origin));
    enum hn_status status = json != NULL ? hn_output_json(json, err) : hn_fail_memory(err);
    json_decref(json);
    return status;
}

static enum hn_status judge(const struct replay_family *replay,
                            const struct hn_family_replay *found, struct hn_error *err)
{
    double promised = promise_of(&found->rule->rule)->mean;
    if (found->found.loss.sizes == 0)
        return hn_fail(
            err, HN_ERUN,
            "nothing could be measured: the family has no size that is not in the cache, "
            "or --budget is too short for one point");
    enum hn_status status = report(replay, found, err);
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

enum hn_status hn_replay_family(const struct hn_options *options, const char *path,
                                struct hn_error *err)
{
    struct hn_family_replay found = {.rule = NULL};
    struct replay_family replay = {.source = {options, path}};
    enum hn_status status = start(&replay, err);
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
        status = judge(&replay, &found, err);
    hn_family_replay_finish(&found);
    hn_workers_destroy(replay.workers);
    hn_store_close(replay.store);
    hn_config_destroy(replay.config);
    return status;
}
