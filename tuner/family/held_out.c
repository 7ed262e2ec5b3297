/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "base/text.h"
#include "tuner/family/measuring.h"

/* A rule is held against searches at sizes that it has not seen: when it was learnt, and later,
 * when a rule of the cache is replayed. */

enum { MOST_DRAWS = 200 }; /* until a size comes that was not used */

struct asked {
    const struct hn_held_out *held_out;
    const struct hn_bindings *problem;
};

static bool usable(int configuration, void *context)
{
    const struct asked *asked = context;
    const struct hn_held_out *held_out = asked->held_out;
    return hn_family_allows(&held_out->kernel, asked->problem,
                            &held_out->rule->configurations[(size_t)configuration]);
}

static double elapsed_s(const struct hn_held_out *held_out)
{
    return (hn_now_ms() - held_out->started_ms) / 1e3;
}

static void say_compared(const struct hn_held_out *held_out, const struct hn_bindings *problem,
                         const struct hn_compared *compared, bool sure)
{
    const struct hn_family_options *options = held_out->measuring->options;
    struct hn_text line = {0};
    hn_text_printf(&line, "%4.0f s  not used ", elapsed_s(held_out));
    hn_bindings_append(&line, problem);
    hn_text_printf(&line, ": %.4g us, tuned %.4g us, ", compared->chosen_us, compared->best_us);
    if (!isnan(compared->default_us))
        hn_text_printf(&line, "default %.4g us, ", compared->default_us);
    hn_text_printf(&line, "%.1f%% slower%s", 100 * (compared->chosen_us / compared->best_us - 1),
                   sure ? "" : " (not sure)");
    options->say(options->context, line.data);
    hn_text_finish(&line);
}

/* NAN: the rule says nothing, or nothing could be measured. */
static struct hn_compared hold_against(const struct hn_held_out *held_out,
                                       const struct hn_bindings *problem, struct hn_error *err)
{
    bool sure;
    const struct hn_rule *rule = held_out->rule;
    struct asked asked = {held_out, problem};
    struct hn_compared compared = {.chosen_us = NAN, .default_us = NAN, .best_us = NAN};
    int configuration = hn_rule_choose(rule, problem, usable, &asked, &sure);
    if (configuration < 0)
        return compared;
    hn_measuring_compare(held_out->measuring, problem, rule, (size_t)configuration,
                         held_out->budget_s / held_out->count, &compared, err);
    if (!hn_failed(err))
        say_compared(held_out, problem, &compared, sure);
    return compared;
}

static bool is_used(const struct hn_held_out *held_out, const struct hn_bindings *held,
                    unsigned count, const struct hn_bindings *problem)
{
    bool used = held_out->is_used(held_out->context, problem);
    for (unsigned i = 0; i < count && !used; i++)
        used = hn_bindings_equal(&held[i], problem);
    return used;
}

/* Finds a size that was neither used nor held out; a small family may have none left. */
static bool hold_out(const struct hn_held_out *held_out, uint64_t *at, struct hn_bindings *held,
                     unsigned count, struct hn_error *err)
{
    for (int i = 0; i < MOST_DRAWS && !hn_failed(err); i++) {
        held[count] = hn_measuring_draw(held_out->measuring, held_out->seed, at, err);
        if (!hn_failed(err) && !is_used(held_out, held, count, &held[count]))
            return true;
        hn_bindings_finish(&held[count]);
    }
    return false;
}

/* Sums of logarithms of losses. */
struct sums {
    double sum, squares, worst;
    size_t sizes;
};

static void add(struct sums *sums, double time_us, double best_us)
{
    double loss = log(time_us / best_us);
    if (isnan(loss) || isinf(loss))
        return;
    sums->sum += loss;
    sums->squares += loss * loss;
    sums->worst = fmax(sums->worst, loss);
    sums->sizes++;
}

static struct hn_rule_loss loss_of(const struct sums *sums)
{
    if (sums->sizes == 0)
        return (struct hn_rule_loss){.sizes = 0};
    return (struct hn_rule_loss){.mean = expm1(sums->sum / (double)sums->sizes),
                                 .worst = expm1(sums->worst),
                                 .sizes = sums->sizes};
}

/* The lower end of the mean's 95% interval. */
static double low_of(const struct sums *sums)
{
    double n = (double)sums->sizes;
    if (sums->sizes == 0)
        return 0;
    double variance =
        sums->sizes > 1 ? fmax(0, (sums->squares - sums->sum * sums->sum / n) / (n - 1)) : 0;
    return expm1(sums->sum / n - 1.96 * sqrt(variance / n));
}

void hn_held_out_measure(const struct hn_held_out *held_out, struct hn_held_out_loss *found,
                         struct hn_error *err)
{
    const struct hn_family_options *options = held_out->measuring->options;
    struct sums chosen = {.sizes = 0}, defaults = {.sizes = 0};
    struct hn_bindings *held = hn_need(held_out->count, sizeof *held);
    uint64_t at = 0;
    unsigned count = 0;
    while (count < held_out->count && hold_out(held_out, &at, held, count, err)) {
        struct hn_compared compared = hold_against(held_out, &held[count++], err);
        if (hn_failed(err))
            break;
        add(&chosen, compared.chosen_us, compared.best_us);
        add(&defaults, compared.default_us, compared.best_us);
    }
    if (count < held_out->count && !hn_failed(err)) {
        struct hn_text line = {0};
        hn_text_printf(&line, "%4.0f s  the family has no more sizes that were not used",
                       elapsed_s(held_out));
        options->say(options->context, line.data);
        hn_text_finish(&line);
    }
    *found = (struct hn_held_out_loss){
        .loss = loss_of(&chosen), .untuned = loss_of(&defaults), .low = low_of(&chosen)};
    for (unsigned i = 0; i < count; i++)
        hn_bindings_finish(&held[i]);
    free(held);
}

void hn_family_append_default(struct hn_text *text, const struct hn_rule_loss *loss)
{
    if (loss->sizes > 0)
        hn_text_printf(text, "the default point there: %.1f%% slower in the mean, %.0f%% at worst",
                       100 * loss->mean, 100 * loss->worst);
}

/* Replays draw from a sequence of their own. */
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

static void fail_missing(const struct hn_family_replay *replay, const struct hn_identity *identity,
                         struct hn_error *err)
{
    const char *other = NULL;
    for (size_t i = 0; i < replay->rules.count; i++)
        if (is_same_family(&replay->rules.items[i].identity, identity))
            other = replay->rules.items[i].identity.device.name;
    hn_fail(err, HN_ENOTFOUND,
            "the cache holds no rule of %s's family for %s with a %s L2 cache%s%s; `hone tune "
            "--family` learns one",
            identity->kernel, identity->device.name, identity->regime,
            other != NULL ? ", but one for " : "", other != NULL ? other : "");
}

static void find_rule(struct hn_family_replay *replay, struct hn_store *store,
                      const struct hn_task *task, struct hn_error *err)
{
    const struct hn_identity *identity = &task->identity;
    replay->version = task->version;
    replay->device = identity->device;
    if (hn_store_get_rules(store, identity->kernel, &replay->rules, err) != HN_OK)
        return;
    for (size_t i = 0; i < replay->rules.count; i++) {
        const struct hn_stored_rule *stored = &replay->rules.items[i];
        if (is_same_family(&stored->identity, identity) &&
            hn_device_identity_equal(&stored->identity.device, &identity->device))
            replay->rule = stored;
    }
    if (replay->rule == NULL)
        fail_missing(replay, identity, err);
}

/* A task of the family tells the rule's identity. */
static void look_up(struct hn_measuring *measuring, struct hn_family_replay *replay,
                    struct hn_error *err)
{
    struct hn_task task;
    struct hn_bindings middle;
    if (hn_failed(err) || hn_family_middle(measuring->config->family, &middle, err) != HN_OK)
        return;
    struct hn_bindings whole = hn_measuring_complete(measuring, &middle);
    if (hn_measuring_task(measuring, &whole, &task, err) == HN_OK) {
        find_rule(replay, measuring->options->store, &task, err);
        hn_task_finish(&task);
    }
    hn_bindings_finish(&whole);
    hn_bindings_finish(&middle);
}

static void replay_rule(struct hn_measuring *measuring, double started_ms,
                        struct hn_family_replay *replay, struct hn_error *err)
{
    const struct hn_family_options *options = measuring->options;
    const struct hn_family *family = measuring->config->family;
    const struct hn_family_worth worth = hn_family_worth(family);
    struct hn_known_problems known;
    if (hn_known_problems_read(options->store, replay->rule->identity.kernel, &known, err) != HN_OK)
        return;
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
    hn_held_out_measure(&held_out, &replay->found, err);
    hn_known_problems_finish(&known);
}

enum hn_status hn_family_replay(const struct hn_family_options *options,
                                struct hn_family_replay *replay, struct hn_error *err)
{
    struct hn_measuring measuring;
    double started_ms = hn_now_ms();
    *replay = (struct hn_family_replay){.rule = NULL};
    hn_error_init(err);
    hn_measuring_init(&measuring, options, err);
    if (!hn_failed(err))
        hn_workers_open(options->workers, err);
    look_up(&measuring, replay, err);
    if (!hn_failed(err)) {
        hn_compile_pool_set(options->workers->pool, HN_COMPILE_KEEPS_ALL, true);
        replay_rule(&measuring, started_ms, replay, err);
        snprintf(replay->version.nvrtc, sizeof replay->version.nvrtc, "%s", measuring.nvrtc);
    }
    if (err->status == HN_EINTERRUPTED)
        hn_fail(err, HN_EINTERRUPTED, "interrupted; what was measured is kept");
    hn_measuring_finish(&measuring);
    return err->status;
}

void hn_family_replay_finish(struct hn_family_replay *replay)
{
    hn_stored_rules_free(&replay->rules);
}
