/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "runtime/process/process.h"
#include "tuner/commands/command.h"
#include "tuner/commands/hosts_option.h"
#include "tuner/commands/open_cache.h"
#include "tuner/commands/tune_search.h"
#include "tuner/commands/tune_spread.h"
#include "tuner/config/capture.h"
#include "tuner/family/family.h"
#include "tuner/report/render.h"
#include "tuner/workers/workers.h"

struct tune {
    const struct hn_options *options;
    const char *path; /* of the config: the capture may say it */
    struct hn_capture *capture;
    struct hn_config *config;
    struct hn_store *store;
    struct hn_server *server;   /* of a cache in PostgreSQL; the store's */
    struct hn_workers *workers; /* NULL for a simulation */
    const struct hn_strategy_kind *strategy;
    FILE *events;
    struct hn_progress_board board;
    bool follows;    /* something stands on stdout */
    json_t *results; /* with --json */
    bool found;      /* a valid variant for every problem so far */
    bool cut;        /* the budget ended before one of them had any */
    double started_ms;
};

static enum hn_status find_strategy(struct tune *tune, struct hn_error *err)
{
    const char *names[32];
    size_t count = 0;
    const char *wanted = tune->options->full ? "exhaustive" : "auto";
    if (tune->options->strategy != NULL)
        wanted = tune->options->strategy;
    tune->strategy = hn_strategy_find(wanted);
    if (tune->strategy != NULL)
        return HN_OK;
    struct hn_text list;
    hn_text_init(&list);
    for (; hn_strategy_kinds[count] != NULL && count < 32; count++) {
        names[count] = hn_strategy_kinds[count]->name;
        hn_text_printf(&list, "%s%s", count > 0 ? ", " : "", names[count]);
    }
    const char *nearest = hn_text_nearest(tune->options->strategy, names, count);
    enum hn_status status =
        hn_fail(err, HN_EUSAGE, "unknown strategy '%s'%s%s; there are: %s", tune->options->strategy,
                nearest != NULL ? "; nearest is " : "", nearest != NULL ? nearest : "",
                list.data != NULL ? list.data : "");
    hn_text_finish(&list);
    return status;
}

static enum hn_status open_store(struct tune *tune, struct hn_error *err)
{
    const struct hn_cache_place place = {.path = tune->options->cache,
                                         .base = tune->options->base,
                                         .kernel = tune->config->plan->kernel,
                                         .quiet = tune->options->quiet};
    return hn_cache_open_place(&place, HN_STORE_WRITE, &tune->store, &tune->server, err);
}

static enum hn_status open_events(struct tune *tune, struct hn_error *err)
{
    if (tune->options->events == NULL)
        return HN_OK;
    tune->events = fopen(tune->options->events, "we");
    if (tune->events == NULL)
        return hn_fail(err, HN_ERUN, "%s can not be written: %s", tune->options->events,
                       strerror(errno));
    return HN_OK;
}

static bool is_spread(const struct tune *tune)
{
    return tune->options->workers != NULL && tune->options->simulate == NULL &&
           !tune->options->family;
}

static int jobs_of(const struct tune *tune)
{
    return tune->options->jobs > 0 ? (int)tune->options->jobs : hn_machine_jobs();
}

/* Every point of a problem beside what a bench needs: reference, default point, support kernels. */
static double most_compilations(const struct hn_config *config)
{
    double points = 1;
    for (size_t i = 0; i < config->parameter_count; i++)
        points *= (double)config->parameters[i].count;
    return points + 3;
}

static enum hn_status check_workers(const struct tune *tune, struct hn_error *err)
{
    const struct hn_options *options = tune->options;
    if (tune->config->plan->compiler == HN_COMPILER_NVCC &&
        strncmp(options->workers, "local", 5) != 0)
        return hn_fail(err, HN_EUSAGE,
                       "the config is compiled by nvcc, of which other hosts may have another "
                       "version: use `--workers local:…`");
    return HN_OK;
}

/* Before all that can be done meanwhile. */
static enum hn_status start_workers(struct tune *tune, struct hn_error *err)
{
    const struct hn_options *options = tune->options;
    struct hn_hosts_option option = {.hosts = NULL};
    enum hn_status status = HN_OK;
    if (options->simulate != NULL)
        return HN_OK;
    if (options->workers != NULL)
        status = check_workers(tune, err);
    if (options->workers != NULL && status == HN_OK)
        status = hn_hosts_option_read(options->workers, options->install, &option, err);
    const struct hn_workers_options workers = {
        .hosts = option.hosts,
        .host_count = option.sites.count,
        .device = options->device,
        .jobs = jobs_of(tune),
        .useful = most_compilations(tune->config),
        .compile_timeout_s = options->compile_timeout_s,
        .run_timeout_s = options->run_timeout_s,
        .divided = is_spread(tune),
    };
    if (status == HN_OK)
        status = hn_workers_start(&workers, &tune->workers, err);
    hn_hosts_option_finish(&option);
    return status;
}

static struct hn_tune_search search_of(struct tune *tune, size_t problem)
{
    return (struct hn_tune_search){
        .options = tune->options,
        .config = tune->config,
        .strategy = tune->strategy,
        .events = tune->events,
        .store = tune->store,
        .server = tune->options->simulate == NULL ? tune->server : NULL,
        .workers = tune->workers,
        .jobs = jobs_of(tune),
        .board = &tune->board,
        .problem = problem,
        .label = "",
        .place = "",
        .follows = &tune->follows,
    };
}

/* *later: another is at it. */
static enum hn_status tune_problem(struct tune *tune, size_t problem, bool waits, bool *later,
                                   struct hn_error *err)
{
    struct hn_tune_search search = search_of(tune, problem);
    search.started_ms = problem == 0 && !waits ? tune->started_ms : hn_now_ms();
    search.waits = waits;
    enum hn_status status = hn_tune_search_run(&search, err);
    *later = status == HN_OK && search.later;
    if (*later)
        return HN_OK;
    tune->found = tune->found && search.found;
    tune->cut = tune->cut || search.cut;
    if (search.json != NULL)
        json_array_append_new(tune->results, search.json);
    return status == HN_OK && hn_interrupted() != 0 ? hn_tune_interrupted(err) : status;
}

/* First those that nobody else is at. */
static enum hn_status tune_all(struct tune *tune, struct hn_error *err)
{
    const size_t count = tune->config->problem_count;
    bool *later = hn_need(count, sizeof *later);
    /* Problems whose values are no constants of the program have programs in common. */
    if (count > 1 && tune->workers != NULL)
        hn_compile_pool_set(tune->workers->pool, HN_COMPILE_KEEPS_ALL, true);
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < count; i++)
        status = tune_problem(tune, i, false, &later[i], err);
    for (size_t i = 0; status == HN_OK && i < count; i++)
        if (later[i])
            status = tune_problem(tune, i, true, &later[i], err);
    free(later);
    return status;
}

/* On the cards of several hosts. */
static enum hn_status tune_spread(struct tune *tune, struct hn_error *err)
{
    const struct hn_tune_search first = search_of(tune, 0);
    struct hn_tune_spread spread = {.search = &first, .started_ms = tune->started_ms};
    enum hn_status status = hn_tune_spread_run(&spread, tune->results, err);
    tune->found = spread.found;
    tune->cut = spread.cut;
    return status;
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

static enum hn_status tune_family(struct tune *tune, struct hn_error *err)
{
    const struct hn_options *options = tune->options;
    struct hn_family_source source = {options, tune->path};
    struct hn_family_outcome outcome;
    const struct hn_family_options family = {
        .load = hn_family_source_load,
        .say = hn_family_source_say,
        .context = &source,
        .workers = tune->workers,
        .store = tune->store,
        .strategy = tune->strategy,
        .regime = (enum hn_regime)options->regime,
        .look_ahead = options->look_ahead,
        .seed = options->seed,
        .budget_s = options->budget_s,
        .loss = options->loss,
        .held_out = options->held_out,
        .command = options->command,
        .events = tune->events,
    };
    enum hn_status status = hn_family_tune(&family, &outcome, err);
    if (status == HN_OK) {
        json_t *json = family_to_json(&outcome, tune->config->plan->kernel);
        if (!options->json)
            hn_render(json, family_views, stdout);
        json_array_append_new(tune->results, json);
    }
    hn_family_outcome_finish(&outcome);
    return status;
}

static enum hn_status check_family(const struct tune *tune, struct hn_error *err)
{
    const struct hn_family_source source = {tune->options, tune->path};
    const struct hn_plan *plan = tune->config->plan;
    if (!tune->options->family)
        return HN_OK;
    enum hn_status status = hn_family_source_check(&source, tune->config, err);
    if (status == HN_OK && strcmp(plan->objective, "time") != 0)
        return hn_fail(err, HN_ECONFIG, "--family compares times, and the objective of %s is '%s'",
                       tune->path, plan->objective);
    return status;
}

static void print_next(const struct tune *tune)
{
    const char *kernel = tune->config->plan->kernel;
    char lines[2][HN_FOLLOW_UP_SIZE];
    if (!tune->options->quiet)
        fprintf(stderr, "\nnext: %s -o %s_tuned.h\n      %s\n",
                hn_follow_up(tune->options, "export", kernel, lines[0]), kernel,
                hn_follow_up(tune->options, "explain", tune->path, lines[1]));
}

static enum hn_status read_given(struct tune *tune, struct hn_error *err)
{
    enum hn_status status = hn_options_config(tune->options, tune->path, &tune->config, err);
    if (status == HN_OK && tune->options->expected.count > 0)
        status = hn_config_set_reference(tune->config, tune->options->expected.items,
                                         tune->options->expected.count, err);
    return status;
}

/* A capture says which config it is of, unless another is given. */
static enum hn_status read_config(struct tune *tune, struct hn_error *err)
{
    if (tune->options->capture == NULL)
        return read_given(tune, err);
    enum hn_status status = hn_capture_open(tune->options->capture, &tune->capture, err);
    if (status == HN_OK && tune->path == NULL)
        status = hn_capture_config(tune->capture, &tune->path, err);
    if (status == HN_OK)
        status = hn_options_config(tune->options, tune->path, &tune->config, err);
    return status == HN_OK ? hn_capture_apply(tune->capture, tune->config, err) : status;
}

/* Whatever became of the tune: what was given and not used. */
static void report_hosts(const struct tune *tune)
{
    struct hn_hosts *hosts = tune->workers != NULL ? tune->workers->hosts : NULL;
    for (size_t i = 0; i < hn_hosts_count(hosts); i++) {
        struct hn_host_view view;
        hn_host_look(hn_hosts_at(hosts, i), &view);
        if (view.state != HN_HOST_UP && view.reason[0] != '\0')
            fprintf(stderr, "hone: warning: host %s %s: %s\n", view.name,
                    view.state == HN_HOST_OUT ? "was left out" : "was lost, and is not back",
                    view.reason);
    }
    for (size_t i = 0; hosts != NULL && i < tune->workers->card_count; i++) {
        const struct hn_card *card = tune->workers->cards[i];
        if (card->refusal[0] != '\0')
            fprintf(stderr, "hone: warning: GPU %s of host %s was not used: %s\n", card->selector,
                    card->host_name, card->refusal);
    }
}

static enum hn_status execute(struct tune *tune, struct hn_error *err)
{
    tune->started_ms = hn_now_ms();
    enum hn_status status = read_config(tune, err);
    if (status == HN_OK)
        status = check_family(tune, err);
    if (status == HN_OK)
        status = find_strategy(tune, err);
    if (status == HN_OK)
        status = start_workers(tune, err);
    if (status == HN_OK)
        status = open_store(tune, err);
    if (status == HN_OK)
        status = open_events(tune, err);
    if (status != HN_OK)
        return status;
    hn_interrupt_install();
    hn_progress_board_init(&tune->board, tune->options->quiet);
    tune->found = true;
    tune->results = json_array();
    if (tune->options->family)
        status = tune_family(tune, err);
    else
        status = is_spread(tune) ? tune_spread(tune, err) : tune_all(tune, err);
    struct hn_error ignored;
    const struct hn_tune_search any = search_of(tune, 0);
    enum hn_status kept = hn_tune_report_loss(&any, status == HN_OK ? err : &ignored);
    status = status == HN_OK ? kept : status;
    report_hosts(tune);
    hn_progress_board_finish(&tune->board);
    hn_workers_end(tune->workers);
    if (tune->options->json && (status == HN_OK || status == HN_EINTERRUPTED)) {
        enum hn_status written = hn_output_json(tune->results, status == HN_OK ? err : NULL);
        if (status == HN_OK)
            status = written;
    }
    if (status == HN_OK && tune->cut)
        return hn_fail(err, HN_ENOTFOUND,
                       "the budget of %g s ended before a variant was measured; points were under "
                       "way: give it more",
                       tune->options->budget_s);
    if (status == HN_OK && !tune->found)
        return hn_fail(err, HN_ENOTFOUND,
                       "no variant compiled, ran and gave the right result; the "
                       "first failure of "
                       "each kind stands above");
    if (status == HN_OK)
        print_next(tune);
    return status;
}

static enum hn_status run(struct hn_options *options, struct hn_error *err)
{
    struct tune tune = {.options = options};
    if (options->arguments.count > 0)
        tune.path = options->arguments.items[0];
    enum hn_status status = execute(&tune, err);
    json_decref(tune.results);
    if (tune.events != NULL)
        fclose(tune.events);
    hn_store_close(tune.store);
    hn_workers_destroy(tune.workers);
    hn_config_destroy(tune.config);
    hn_capture_close(tune.capture);
    return status;
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
    .least = 1,
    .most = 1,
    .missing = "expected the path of a config",
    .extra = "found a second config '%s'; tune them one by one",
    .run = run,
};
