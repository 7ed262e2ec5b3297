/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "tuner/commands/tune.h"
#include "tuner/config/capture.h"
#include "tuner/family/family.h"
#include "tuner/report/render.h"
#include "tuner/workers/workers.h"

static void find_strategy(struct hn_tune *tune, struct hn_error *err)
{
    const char *names[32];
    size_t count = 0;
    const struct hn_options *options = tune->options;
    const char *wanted = options->full ? "exhaustive" : "auto";
    struct hn_text list = {0};
    wanted = options->strategy != NULL ? options->strategy : wanted;
    tune->strategy = hn_strategy_find(wanted);
    if (hn_failed(err) || tune->strategy != NULL)
        return;
    for (; hn_strategy_kinds[count] != NULL && count < 32; count++) {
        names[count] = hn_strategy_kinds[count]->name;
        hn_text_printf(&list, "%s%s", count > 0 ? ", " : "", names[count]);
    }
    const char *nearest = hn_text_nearest(wanted, names, count);
    hn_fail(err, HN_EUSAGE, "unknown strategy '%s'%s%s; there are: %s", wanted,
            nearest != NULL ? "; nearest is " : "", nearest != NULL ? nearest : "", list.data);
    hn_text_finish(&list);
}

static bool is_spread(const struct hn_options *options)
{
    return options->workers != NULL && options->simulate == NULL && !options->family;
}

/* Before all that can be done meanwhile. They are as many at most as there are points of a problem,
 * and what a bench needs beside: reference, default point, support kernels. */
static void start_workers(struct hn_tune *tune, struct hn_error *err)
{
    const struct hn_options *options = tune->options;
    const struct hn_config *config = tune->given->config;
    double points = 1;
    if (hn_failed(err) || options->simulate != NULL)
        return;
    for (size_t i = 0; i < config->parameter_count; i++)
        points *= (double)config->parameters[i].count;
    struct hn_workers_options workers = hn_workers_of(options, points + 3);
    workers.announces = false;
    workers.divided = is_spread(options);
    if (options->workers != NULL && config->plan->compiler == HN_COMPILER_NVCC &&
        strncmp(options->workers, "local", 5) != 0)
        hn_fail(err, HN_EUSAGE,
                "the config is compiled by nvcc, of which other hosts may have another version: "
                "use `--workers local:…`");
    hn_start_workers(tune->given, &workers, err);
}

static void open_events(struct hn_tune *tune, struct hn_error *err)
{
    const char *path = tune->options->events;
    if (hn_failed(err) || path == NULL)
        return;
    tune->events = fopen(path, "we");
    if (tune->events == NULL)
        hn_fail(err, HN_ERUN, "%s can not be written: %s", path, strerror(errno));
}

/* First those that nobody else is at, then the others. */
static void tune_all(struct hn_tune *tune, struct hn_error *err)
{
    struct hn_given *given = tune->given;
    const size_t count = given->config->problem_count;
    bool *later = hn_need(count, sizeof *later);
    /* Problems whose values are no constants of the program have programs in common. */
    if (count > 1 && given->workers != NULL)
        given->workers->pool->keeps_all = true;
    for (size_t n = 0; !hn_failed(err) && n < 2 * count; n++) {
        struct hn_tune_search search = {.tune = tune,
                                        .store = given->store,
                                        .workers = given->workers,
                                        .problem = n % count,
                                        .started_ms = n == 0 ? tune->started_ms : hn_now_ms(),
                                        .waits = n >= count};
        if (search.waits && !later[search.problem])
            continue;
        hn_tune_search_run(&search, err);
        later[search.problem] = search.later;
        if (search.later)
            continue;
        tune->found = tune->found && search.found;
        tune->cut = tune->cut || search.cut;
        if (search.json != NULL)
            json_array_append_new(given->results, search.json);
        if (!hn_failed(err) && hn_interrupted() != 0)
            hn_tune_interrupted(err);
    }
    free(later);
}

static const struct hn_view family_views[] = {
    {.at = "family",
     .line =
         "{rule.configurations+0:.0f} configuration{rule.configurations:s} for any size, chosen "
         "by a tree of {nodes} node{nodes:s}\n"
         "{loss}\n[{untuned}]\n"
         "learnt in {elapsed_s:.0f} s from {sizes} size{sizes:s}, {tuned} of them tuned on their "
         "own, and {cells} time{cells:s} of a configuration at a size"},
    {NULL},
};

static json_t *family_to_json(const struct hn_family_outcome *outcome, const char *kernel)
{
    struct hn_text loss = {0}, untuned = {0};
    hn_rule_append_loss(&loss, &outcome->rule);
    hn_family_append_default(&untuned, &outcome->untuned);
    json_t *json =
        json_pack("{ss s{so sI sI sI sf sb so sI ss* ss*}}", "kernel", kernel, "family", "rule",
                  hn_rule_to_json(&outcome->rule), "sizes", (json_int_t)outcome->sizes, "tuned",
                  (json_int_t)outcome->tuned, "cells", (json_int_t)outcome->cells, "elapsed_s",
                  outcome->elapsed_s, "reached", (int)outcome->reached, "default",
                  hn_rule_loss_to_json(&outcome->untuned), "nodes",
                  (json_int_t)outcome->rule.node_count, "loss", loss.data, "untuned", untuned.data);
    hn_text_finish(&loss);
    hn_text_finish(&untuned);
    return hn_needed(json);
}

static void tune_family(struct hn_tune *tune, struct hn_error *err)
{
    struct hn_given *given = tune->given;
    struct hn_family_outcome outcome;
    struct hn_family_options family = hn_family_of(given);
    family.strategy = tune->strategy;
    family.command = given->options->command;
    family.events = tune->events;
    if (hn_family_tune(&family, &outcome, err) == HN_OK)
        hn_show(given, family_to_json(&outcome, given->config->plan->kernel), family_views);
    hn_rule_finish(&outcome.rule);
}

/* A capture says which config it is of, unless another is given. */
static void read_config(struct hn_given *given, struct hn_error *err)
{
    const struct hn_options *options = given->options;
    if (options->capture != NULL &&
        hn_capture_open(options->capture, &given->capture, err) == HN_OK && given->path == NULL)
        hn_capture_config(given->capture, &given->path, err);
    given->config = hn_options_config(options, given->path, err);
    if (!hn_failed(err) && options->capture != NULL)
        hn_capture_apply(given->capture, given->config, err);
    else if (!hn_failed(err) && options->expected.count > 0)
        hn_config_set_reference(given->config, options->expected.items, options->expected.count,
                                err);
    if (!options->family)
        return;
    hn_check_family(given, err);
    if (!hn_failed(err) && strcmp(given->config->plan->objective, "time") != 0)
        hn_fail(err, HN_ECONFIG, "--family compares times, and the objective of %s is '%s'",
                given->path, given->config->plan->objective);
}

/* Whatever became of the tune: what was given and not used. */
static void report_hosts(const struct hn_workers *workers)
{
    struct hn_hosts *hosts = workers != NULL ? workers->hosts : NULL;
    for (size_t i = 0; i < hn_hosts_count(hosts); i++) {
        struct hn_host_view view;
        hn_host_look(hn_hosts_at(hosts, i), &view);
        if (view.state != HN_HOST_UP && view.reason[0] != '\0')
            fprintf(stderr, "hone: warning: host %s %s: %s\n", view.name,
                    view.state == HN_HOST_OUT ? "was left out" : "was lost, and is not back",
                    view.reason);
    }
    for (size_t i = 0; hosts != NULL && i < workers->card_count; i++) {
        const struct hn_card *card = workers->cards[i];
        if (card->refusal[0] != '\0')
            fprintf(stderr, "hone: warning: GPU %s of host %s was not used: %s\n", card->selector,
                    card->host_name, card->refusal);
    }
}

static void print_next(const struct hn_given *given)
{
    const char *kernel = given->config->plan->kernel;
    char lines[2][HN_FOLLOW_UP_SIZE];
    if (!given->options->quiet)
        fprintf(stderr, "\nnext: %s -o %s_tuned.h\n      %s\n",
                hn_follow_up(given->options, "export", kernel, lines[0]), kernel,
                hn_follow_up(given->options, "explain", given->path, lines[1]));
}

static void tune_opened(struct hn_tune *tune, struct hn_error *err)
{
    struct hn_given *given = tune->given;
    struct hn_error ignored = {.status = HN_OK};
    hn_interrupt_install();
    hn_progress_board_init(&tune->board, given->options->quiet);
    if (given->options->family)
        tune_family(tune, err);
    else if (is_spread(given->options))
        hn_tune_spread_run(tune, err);
    else
        tune_all(tune, err);
    hn_tune_report_loss(tune, given->store, err);
    report_hosts(given->workers);
    hn_progress_board_finish(&tune->board);
    hn_workers_end(given->workers);
    if (!hn_failed(err) || err->status == HN_EINTERRUPTED)
        hn_show_results(given, hn_failed(err) ? &ignored : err);
    if (!hn_failed(err) && tune->cut)
        hn_fail(err, HN_ENOTFOUND,
                "the budget of %g s ended before a variant was measured; points were under way: "
                "give it more",
                given->options->budget_s);
    else if (!hn_failed(err) && !tune->found)
        hn_fail(err, HN_ENOTFOUND,
                "no variant compiled, ran and gave the right result; the first failure of each "
                "kind stands above");
    else if (!hn_failed(err))
        print_next(given);
}

static void run(struct hn_given *given, struct hn_error *err)
{
    struct hn_tune tune = {.given = given,
                           .options = given->options,
                           .started_ms = hn_now_ms(),
                           .jobs = hn_workers_of(given->options, 0).jobs,
                           .found = true};
    read_config(given, err);
    find_strategy(&tune, err);
    start_workers(&tune, err);
    if (!hn_failed(err))
        hn_open_cache(given, HN_STORE_WRITE, given->config->plan->kernel, err);
    tune.server = given->options->simulate == NULL ? given->server : NULL;
    open_events(&tune, err);
    if (!hn_failed(err))
        tune_opened(&tune, err);
    if (tune.events != NULL)
        fclose(tune.events);
}

const struct hn_command hn_command_tune = {
    .name = "tune",
    .of = HN_TUNE,
    .arguments = "CONFIG",
    .summary = "search, verify, measure and cache the variants of a config",
    .help = "Searches the space of CONFIG: verifies, measures and caches its variants.",
    .details = "Every problem of the config is tuned. Run again, it finishes from the cache; "
               "interrupted, it goes on.",
    .examples = "hone tune scale.yaml --budget 60s\n"
                "  hone tune scale.yaml -p n=65536 -s BLOCK=128,256 --full",
    HN_ONE_ARGUMENT("expected the path of a config",
                    "found a second config '%s'; tune them one by one"),
    .run = run,
};
