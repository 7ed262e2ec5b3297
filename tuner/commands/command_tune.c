/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/run.h"
#include "cache/record/record.h"
#include "cache/store/store_roofs.h"
#include "runtime/bench/roofs.h"
#include "tuner/commands/tune.h"
#include "tuner/config/capture.h"
#include "tuner/family/family.h"
#include "tuner/report/bounds.h"
#include "tuner/report/summary.h"
#include "tuner/report/table.h"
#include "tuner/server/server.h"

/* Whose turn a problem is: one's own, unless several tuners share the cache of a server. */
enum turn {
    TURN_NOW,
    TURN_LATER, /* another is at it */
    TURN_AGAIN, /* another was at it, and this was waited for: ask anew, as time has passed */
    TURN_OVER,  /* another finished it since this command began, and that is taken */
};

/* Between questions whether another is ready. */
enum { ASK_MS = 500, STEP_MS = 50 };

/* Claims the problem of a task whose device is known, and fetches what others found of the kernel.
 * Where there is a budget and no -s, what another finished meanwhile is taken, not gone on with. */
static enum turn claim_problem(struct hn_tune_search *search, const struct hn_task *task,
                               struct hn_error *err)
{
    const struct hn_identity *identity = &task->identity;
    const bool again = search->tune->options->search.budget_s <= 0 || task->config->restricted;
    enum hn_claim_state state = HN_CLAIM_TAKEN;
    bool waited = false;
    if (hn_failed(err) || search->tune->server == NULL)
        return TURN_NOW;
    for (bool asked = false; !hn_failed(err) && state == HN_CLAIM_TAKEN; asked = true) {
        if (asked && !search->waits)
            return TURN_LATER;
        for (int ms = 0; asked && !hn_failed(err) && ms < ASK_MS; ms += STEP_MS) {
            nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000L}, NULL);
            hn_interrupt_check(err);
        }
        waited = asked;
        if (!hn_failed(err))
            state = hn_server_claim(search->tune->server, identity, &task->version, again,
                                    &search->claim, &search->holder);
        if (hn_failed(err) || state != HN_CLAIM_TAKEN || asked || search->tune->options->quiet)
            continue;
        char *problem HN_FREED = hn_needed(hn_bindings_text(&identity->problem));
        hn_progress_board_hold(&search->tune->board);
        fprintf(stderr, "%s (%s) is being tuned on %s, for %.0f s so far: %s\n", identity->kernel,
                problem[0] != '\0' ? problem : "-", search->holder.machine, search->holder.for_s,
                search->waits ? "waiting" : "the next problem first");
        hn_progress_board_release(&search->tune->board);
    }
    if (!hn_failed(err))
        hn_server_sync(search->tune->server, search->store, identity->kernel, false, err);
    return state == HN_CLAIM_DONE ? TURN_OVER : waited ? TURN_AGAIN : TURN_NOW;
}

/* finished: nothing is left to do. */
static void release_problem(const struct hn_tune_search *search, const struct hn_task *task,
                            bool finished)
{
    if (search->claim == NULL || hn_server_release(search->tune->server, search->claim, finished))
        return;
    char *problem HN_FREED = hn_needed(hn_bindings_text(&task->identity.problem));
    hn_progress_board_hold(&search->tune->board);
    fprintf(stderr,
            "hone: warning: the claim to tune %s (%s) was lost, with the connection to the cache's "
            "server or because this tuner stood still: another has begun it, too; what both found "
            "counts\n",
            task->identity.kernel, problem[0] != '\0' ? problem : "-");
    hn_progress_board_release(&search->tune->board);
}

/* After TURN_OVER: the best that the other found. */
static const struct hn_view taken_views[] = {
    {.line =
         "{kernel} ([{problem}|-]) on {device} was tuned on {tuned_by} meanwhile, "
         "[best {tuned.best.timing.median_us:.4g} us: {tuned.best.point}|without a valid variant]"},
    {NULL},
};

static struct hn_backend *make_backend(struct hn_tune_search *search, struct hn_task *task,
                                       const struct hn_session_options *session,
                                       struct hn_error *err)
{
    struct hn_points_ahead ahead;
    if (search->tune->options->simulate != NULL)
        return hn_backend_simulated(task, search->tune->options->simulate, err);
    if (task->config->run != NULL) {
        const struct hn_workers_options workers = hn_workers_of(search->tune->options, 0);
        struct hn_device device;
        return hn_find_gpu(workers.device, &device, err) == HN_OK
                   ? hn_backend_programs(task, &device, &workers, err)
                   : NULL;
    }
    hn_points_ahead_make(&ahead, task, search->store, session,
                         4 * (size_t)hn_workers_of(search->tune->options, 0).jobs, err);
    const struct hn_live_options live = {
        .seed = search->tune->options->search.seed,
        .end_ms = session->budget_s > 0 ? session->started_ms + session->budget_s * 1e3 : 0,
        .any_order = !search->tune->search.strategy->needs_feedback,
        .ahead = ahead,
    };
    struct hn_backend *backend =
        hn_failed(err) ? NULL : hn_backend_live(task, search->workers, &live, err);
    HN_FREE_EACH(point, ahead.points, ahead.count, hn_bindings_finish(point));
    return backend;
}

/* From the cache, or measured now where the GPU is at work anyway: once for a device and its
 * driver. Without them the report has a column less. */
static bool find_roofs(struct hn_tune_search *search, const struct hn_session *session,
                       struct hn_backend *backend, struct hn_roofs *roofs)
{
    const struct hn_device_identity *device = &backend->task->identity.device;
    const struct hn_session_state *state = hn_session_state(session);
    const char *driver = search->workers != NULL ? backend->device.driver : NULL;
    struct hn_run run = {.kind = HN_RUN_ROOFS, .roofs = roofs};
    struct hn_error ignored;
    if (!hn_roof_is_known(backend->task->plan))
        return false;
    bool known = hn_store_get_roofs(search->store, device, driver, roofs, &ignored) == HN_OK;
    /* An older Hone did not measure tensor cores, nor note how large the L2 cache is. */
    enum hn_tensor_pipe pipe = hn_roof_pipe(backend->task->plan);
    bool lacks = pipe < HN_PIPE_COUNT && !(roofs->tensor.pipes[pipe].gflops > 0) &&
                 hn_roofs_have_pipe(backend->device.identity.capability, pipe);
    if ((known && !lacks && roofs->l2_bytes > 0) || search->workers == NULL ||
        state->finished == state->reused || hn_interrupted() != 0)
        return known;
    hn_error_init(&ignored);
    backend->kind->run(backend, &run, &ignored);
    if (hn_failed(&ignored))
        return known;
    hn_store_put_roofs(search->store, device, roofs, &ignored);
    return true;
}

/* Takes the document over. */
static void show_result(struct hn_tune_search *search, json_t *document,
                        const struct hn_view *views)
{
    if (search->tune->options->json) {
        search->json = document;
        return;
    }
    hn_progress_board_hold(&search->tune->board);
    if (search->tune->follows)
        putchar('\n');
    search->tune->follows = true;
    hn_render(document, views, stdout);
    fflush(stdout);
    hn_progress_board_release(&search->tune->board);
    json_decref(document);
}

static void report(struct hn_tune_search *search, const struct hn_session *session,
                   struct hn_backend *backend, bool finished, struct hn_error *err)
{
    struct hn_roofs measured;
    bool known = finished && find_roofs(search, session, backend, &measured);
    const struct hn_session_state *state = hn_session_state(session);
    search->found = state->best != NULL;
    search->cut = state->best == NULL && state->cut > 0;
    json_t *summary =
        hn_summary(session, backend, known ? &measured : NULL, search->tune->options->json, err);
    if (summary != NULL)
        show_result(search, summary, hn_summary_views);
}

static void print_start(const struct hn_tune_search *search, const struct hn_task *task,
                        const struct hn_session_state *state)
{
    const char *warning = search->workers != NULL ? search->workers->lead->warning : "";
    hn_progress_board_hold(&search->tune->board);
    if (warning[0] != '\0')
        fprintf(stderr, "hone: warning: %s\n", warning);
    fprintf(stderr, "tuning %s%s%s on %s%s", task->identity.kernel,
            search->label[0] != '\0' ? " " : "", search->label, task->identity.device.name,
            search->place);
    if (state->points != UINT64_MAX)
        fprintf(stderr, ": %llu point%s", (unsigned long long)state->points,
                hn_plural(state->points));
    if (state->sources > 0)
        fprintf(stderr, "; %u earlier tuning%s of it lead%s the search", state->sources,
                state->sources > 1 ? "s" : "", state->sources > 1 ? "" : "s");
    fputc('\n', stderr);
    hn_progress_board_release(&search->tune->board);
}

/* The progress of a search, whose beginning is told once its points are known. */
struct watch {
    const struct hn_tune_search *search;
    const struct hn_task *task;
    struct hn_progress progress;
    bool told;
};

static void show(void *watcher, const struct hn_session_state *state)
{
    struct watch *watch = watcher;
    if (!watch->told && !watch->search->tune->options->quiet && state->planned)
        print_start(watch->search, watch->task, state);
    watch->told = watch->told || state->planned;
    hn_progress_show(&watch->progress, state);
}

/* Searches, and reports also what was cut short. */
static void run_session(struct hn_tune_search *search, struct hn_backend *backend,
                        const struct hn_session_options *settings, struct hn_error *err)
{
    const struct hn_options *options = search->tune->options;
    const struct hn_task *task = backend->task;
    struct watch watch = {.search = search, .task = task};
    struct hn_session *session = NULL;
    struct hn_roofs roofs;
    struct hn_error ignored;
    char label[512];
    if (hn_session_create(backend, search->store, settings, &session, err) != HN_OK)
        return;
    bool known =
        hn_roof_is_known(task->plan) &&
        hn_store_get_roofs(search->store, &task->identity.device, NULL, &roofs, &ignored) == HN_OK;
    const struct hn_progress_view view = {
        .backend = backend,
        .roofs = known ? &roofs : NULL,
        .budget_count = options->search.budget_count,
        .budget_s = options->search.budget_s,
        .stop_chance =
            search->tune->search.strategy->chance != NULL ? options->search.stop_chance : 0,
    };
    const char *device = search->names_device ? backend->device.identity.name : "";
    snprintf(label, sizeof label, "%s%s%s", search->label,
             search->label[0] != '\0' && device[0] != '\0' ? " on " : "", device);
    hn_progress_begin(&watch.progress, &search->tune->board, &view, label);
    bool finished = hn_session_run(session, show, &watch, err) == HN_OK;
    hn_progress_end(&watch.progress);
    hn_error_init(&ignored);
    report(search, session, backend, finished, finished ? err : &ignored);
    hn_session_destroy(session);
}

static void report_taken(struct hn_tune_search *search, const struct hn_task *task,
                         struct hn_error *err)
{
    const struct hn_identity *identity = &task->identity;
    struct hn_tuned_list list HN_ENDED_BY(hn_tuned_list_free) = {0};
    if (hn_store_list(search->store, HN_STORE_UNCOUNTED, identity->kernel, &identity->problem,
                      &list, err) != HN_OK)
        return;
    const struct hn_tuned *tuned = hn_tuned_list_find(&list, identity, &task->version, false);
    search->found = tuned != NULL;
    json_t *json = json_pack("{s:s, s:o, s:o, s:o, s:o}", "kernel", identity->kernel, "problem",
                             hn_bindings_to_json(&identity->problem), "device",
                             hn_string_to_json(identity->device.name), "tuned_by",
                             hn_string_to_json(search->holder.machine), "tuned",
                             tuned != NULL ? hn_cache_tuned_to_json(tuned) : json_null());
    show_result(search, hn_needed(json), taken_views);
}

/* With a backend of its own, since that knows when the time is up. */
static enum turn tune_in_turn(struct hn_tune_search *search, struct hn_task *task,
                              struct hn_error *err)
{
    struct hn_session_options settings = search->tune->search;
    settings.started_ms = search->started_ms;
    struct hn_backend *backend = make_backend(search, task, &settings, err);
    enum turn turn = claim_problem(search, task, err);
    if (!hn_failed(err) && turn == TURN_NOW)
        run_session(search, backend, &settings, err);
    else if (!hn_failed(err) && turn == TURN_OVER)
        report_taken(search, task, err);
    if (turn == TURN_NOW)
        release_problem(search, task,
                        !hn_failed(err) && hn_interrupted() == 0 && !task->config->restricted);
    hn_backend_destroy(backend);
    return turn;
}

/* Tells what ended the tuning of one of several problems. Another may well have what this one
 * lacks: a valid point, room on the device, a data file, a reference that runs. What ends the next
 * one, too, is no problem's own, unless it has no points either. */
static void pass_over(struct hn_tune *tune, size_t problem, struct hn_error *err)
{
    const struct hn_config *config = tune->given->config;
    const bool own = err->status == HN_ENOTFOUND;
    if ((!own && err->status != HN_ERUN && err->status != HN_ECONFIG) || config->problem_count == 1)
        return;
    char *label HN_FREED = hn_needed(hn_bindings_text(&config->problems[problem]));
    hn_progress_board_hold(&tune->board);
    if (own || strcmp(tune->last.message, err->message) != 0) {
        fprintf(stderr, "hone: %s: %s\n", label, err->message);
        tune->last = *err;
        hn_error_init(err);
    }
    hn_progress_board_release(&tune->board);
}

void hn_tune_search_run(struct hn_tune_search *search, struct hn_error *err)
{
    struct hn_task task HN_ENDED_BY(hn_task_finish) = {0};
    enum turn turn = TURN_AGAIN;
    struct hn_tune *tune = search->tune;
    const struct hn_config *config = tune->given->config;
    const enum hn_regime regime = (enum hn_regime)tune->options->regime;
    if (hn_failed(err))
        return;
    bool at_once = tune->options->simulate != NULL || !tune->search.strategy->needs_feedback;
    hn_task_make(config, search->problem, regime, at_once ? HN_TASK_MEASURES : HN_TASK_SEARCHES,
                 &task, err);
    while (!hn_failed(err) && turn == TURN_AGAIN) {
        turn = tune_in_turn(search, &task, err);
        search->started_ms = hn_now_ms();
    }
    search->later = turn == TURN_LATER;
    const struct hn_card *lead = search->workers != NULL ? search->workers->lead : NULL;
    search->lost = hn_failed(err) && lead != NULL && err->status != HN_EINTERRUPTED &&
                   (hn_card_is_left_out(lead) || (lead->refusal[0] != '\0' && !search->again));
    if (!search->lost)
        pass_over(tune, search->problem, err);
    fflush(stdout);
}

/* Said whatever else was: what this and earlier runs have found is elsewhere now. */
void hn_tune_report_loss(struct hn_tune *tune, struct hn_store *store, struct hn_error *err)
{
    const char *rescued;
    struct hn_error ignored;
    hn_store_commit(store, hn_failed(err) ? &ignored : err);
    const char *lost = hn_store_lost(store, &rescued);
    if (lost == NULL)
        return;
    hn_progress_board_hold(&tune->board);
    fprintf(stderr,
            "hone: warning: cache '%s' was deleted, moved or replaced during the run; all that was "
            "in it, and all of this run, is in '%s' now: `mv %s %s` takes it back\n",
            lost, rescued, rescued, lost);
    hn_progress_board_release(&tune->board);
}

static void find_strategy(struct hn_tune *tune, struct hn_error *err)
{
    const struct hn_options *options = tune->options;
    const char *wanted = options->search.full ? "exhaustive" : "auto";
    struct hn_text list HN_ENDED_BY(hn_text_finish) = {0};
    wanted = options->strategy != NULL ? options->strategy : wanted;
    tune->search.strategy = hn_strategy_find(wanted);
    if (hn_failed(err) || tune->search.strategy != NULL)
        return;
    for (size_t i = 0; hn_strategy_kinds[i] != NULL; i++)
        hn_text_printf(&list, "%s%s", i > 0 ? ", " : "", hn_strategy_kinds[i]->name);
    hn_fail(err, HN_EUSAGE, "unknown strategy '%s'; there are: %s", wanted, list.data);
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
    if (hn_failed(err) || options->simulate != NULL || config->run != NULL)
        return;
    for (size_t i = 0; i < config->parameter_count; i++)
        points *= (double)config->parameters[i].count;
    struct hn_workers_options workers = hn_workers_of(options, points + 3);
    workers.announces = false;
    workers.divided = is_spread(options);
    hn_start_workers(tune->given, &workers, err);
}

/* First those that nobody else is at, then the others. */
static void tune_all(struct hn_tune *tune, struct hn_error *err)
{
    struct hn_given *given = tune->given;
    const size_t count = given->config->problem_count;
    bool *later HN_FREED = hn_need(count, sizeof *later);
    /* Problems whose values are no constants of the program have programs in common. */
    if (count > 1 && given->workers != NULL)
        given->workers->pool->keeps_all = true;
    for (size_t n = 0; !hn_failed(err) && n < 2 * count; n++) {
        struct hn_tune_search search = {.tune = tune,
                                        .store = given->store,
                                        .workers = given->workers,
                                        .problem = n % count,
                                        .started_ms =
                                            n == 0 ? tune->search.started_ms : hn_now_ms(),
                                        .waits = n >= count || count == 1};
        if (n >= count && !later[search.problem])
            continue;
        hn_tune_search_run(&search, err);
        later[search.problem] = search.later;
        if (search.later)
            continue;
        tune->found = tune->found && search.found;
        tune->cut = tune->cut || search.cut;
        (void)json_array_append_new(given->results, search.json);
        if (!hn_failed(err) && hn_interrupted() != 0)
            hn_fail(err, HN_EINTERRUPTED, HN_TUNE_INTERRUPTED);
    }
}

static const struct hn_view family_views[] = {
    {.at = "family",
     .line =
         "{rule.configurations+0:.0f} configuration{rule.configurations:s} of {programs} "
         "program{programs:s} for any size[, {rule.bytes:bytes} of machine code], chosen by "
         "[cost, sure by {?rule.cost}]a tree of {nodes} node{nodes:s}\n{loss}\n"
         "[{?default.sizes}the default point there: {default.mean:.1%} slower in the mean, "
         "{default.worst:.0%} at worst]\n"
         "learnt in {elapsed_s:.0f} s from {sizes} size{sizes:s}, {tuned} of them tuned on their "
         "own, and {cells} time{cells:s} of a configuration at a size[\n{reservation}]"},
    {NULL},
};

static void tune_family(struct hn_tune *tune, struct hn_error *err)
{
    struct hn_given *given = tune->given;
    struct hn_family_outcome outcome;
    struct hn_text loss = {0};
    const struct hn_plan *plan = given->config->plan;
    const struct hn_record any = {.verdict.kind =
                                      plan->reference.kind == HN_REFERENCE_NONE   ? HN_UNVERIFIED
                                      : plan->reference.kind == HN_REFERENCE_SELF ? HN_SELF_VERIFIED
                                                                                  : HN_VERIFIED};
    struct hn_family_options family = hn_family_of(given, err);
    family.search = tune->search;
    hn_family_tune(&family, &outcome, err);
    if (!hn_failed(err)) {
        hn_rule_append_loss(&loss, &outcome.rule);
        json_t *json =
            json_pack("{ss s{so sI sI sI sI sf sb so sI so* ss*}}", "kernel", plan->kernel,
                      "family", "rule", hn_fields_to_json(&hn_rule_structure, &outcome.rule),
                      "programs", (json_int_t)outcome.programs, "sizes", (json_int_t)outcome.sizes,
                      "tuned", (json_int_t)outcome.tuned, "cells", (json_int_t)outcome.cells,
                      "elapsed_s", outcome.elapsed_s, "reached", (int)outcome.reached, "default",
                      hn_fields_to_json(&hn_rule_loss_structure, &outcome.untuned), "nodes",
                      (json_int_t)outcome.rule.node_count, "loss", hn_render_text(&loss),
                      "reservation", hn_summary_reservation(plan, &any));
        hn_show(given, hn_needed(json), family_views);
    }
    hn_rule_finish(&outcome.rule);
}

/* A capture says which config it is of, unless another is given. */
static void read_config(struct hn_given *given, struct hn_error *err)
{
    const struct hn_options *options = given->options;
    if (options->capture != NULL &&
        hn_capture_open(options->capture, &given->capture, err) == HN_OK && given->path == NULL) {
        const char *config = given->path = given->capture->head.config;
        if (config == NULL || access(config, R_OK) != 0)
            hn_fail(err, HN_ECONFIG,
                    "'%s' is of config '%s', which cannot be read; name the config: hone tune "
                    "CONFIG --capture %s",
                    options->capture, config == NULL ? "" : config, options->capture);
    }
    given->config = hn_options_config(options, given->path, err);
    if (!hn_failed(err) && options->capture != NULL)
        hn_capture_apply(given->capture, &options->problem, given->config, err);
    else if (!hn_failed(err) && options->expected.count > 0)
        hn_config_set_reference(given->config, options->expected.items, options->expected.count,
                                err);
    if (!hn_failed(err) && options->family && strcmp(given->config->plan->objective, "time") != 0)
        hn_fail(err, HN_ECONFIG, "--family compares times, and the objective of %s is '%s'",
                given->path, given->config->plan->objective);
}

/* Whatever became of the tune: tells what was given and not used, and ends all without a wait. */
static void end_workers(struct hn_workers *workers)
{
    struct hn_hosts *hosts = workers->hosts;
    for (size_t i = 0; i < hn_hosts_count(hosts); i++) {
        const struct hn_host_view view = hn_host_look(hn_hosts_at(hosts, i));
        if (view.state != HN_HOST_UP && view.reason[0] != '\0')
            fprintf(stderr, "hone: warning: host %s %s: %s\n", view.name,
                    view.state == HN_HOST_OUT ? "was left out" : "was lost, and is not back",
                    view.reason);
    }
    for (size_t i = 0; i < workers->card_count; i++) {
        struct hn_card *card = workers->cards[i];
        if (hosts != NULL && card->refusal[0] != '\0')
            fprintf(stderr, "hone: warning: GPU %s of host %s was not used: %s\n", card->selector,
                    card->host_name, card->refusal);
        hn_process_end(&card->process);
    }
    hn_compile_pool_end(workers->pool);
}

static void print_next(const struct hn_given *given)
{
    const struct hn_plan *plan = given->config->plan;
    struct hn_options options = *given->options;
    char file[512] = "--json";
    if (options.capture != NULL && given->config->problem_count == 1)
        options.problem = given->config->problems[0];
    if (given->config->run == NULL)
        snprintf(file, sizeof file,
                 plan->override_count > 0 ? "--format patch -o %s.patch" : "-o %s_tuned.h",
                 plan->kernel);
    if (!given->options->quiet)
        fprintf(
            stderr, "\nnext: %s %s\n      %s\n", hn_follow_up(&options, "export", plan->kernel),
            file,
            hn_follow_up(&options, options.family ? "replay --family" : "explain", given->path));
}

static void tune_opened(struct hn_tune *tune, struct hn_error *err)
{
    struct hn_given *given = tune->given;
    struct hn_error ignored = {.status = HN_OK};
    hn_interrupt_install();
    tune->board = (struct hn_progress_board){.lock = PTHREAD_MUTEX_INITIALIZER,
                                             .quiet = given->options->quiet,
                                             .terminal = hn_terminal_is_capable(STDERR_FILENO)};
    if (given->options->family)
        tune_family(tune, err);
    else if (is_spread(given->options))
        hn_tune_spread_run(tune, err);
    else
        tune_all(tune, err);
    hn_tune_report_loss(tune, given->store, err);
    if (given->workers != NULL)
        end_workers(given->workers);
    if (!hn_failed(err) || err->status == HN_EINTERRUPTED)
        hn_show_results(given, hn_failed(err) ? &ignored : err);
    if (!hn_failed(err) && tune->cut)
        hn_fail(err, HN_ENOTFOUND,
                "the budget of %g s ended before a variant was measured; points were under way: "
                "give it more",
                given->options->search.budget_s);
    else if (!hn_failed(err) && hn_failed(&tune->last))
        hn_fail(err, tune->last.status, "not every problem could be tuned, as is told above");
    else if (!hn_failed(err) && !tune->found)
        hn_fail(err, HN_ENOTFOUND,
                "no variant compiled, ran and gave the right result; the first failure of each "
                "kind stands above");
    else if (!hn_failed(err))
        print_next(given);
}

static void run(struct hn_given *given, struct hn_error *err)
{
    struct hn_tune tune = {
        .given = given, .options = given->options, .search = given->options->search, .found = true};
    const char *events = given->options->events;
    tune.search.started_ms = hn_now_ms();
    tune.search.race_within = tune.search.energy_s > 0 ? HN_WEIGHED_WITHIN : 0;
    read_config(given, err);
    find_strategy(&tune, err);
    start_workers(&tune, err);
    if (!hn_failed(err))
        hn_open_cache(given, HN_STORE_WRITE, given->config->plan->kernel, err);
    tune.server = given->options->simulate == NULL ? given->server : NULL;
    hn_spare_inputs(given->options, "--events", events,
                    given->config == NULL ? NULL : given->config->plan, err);
    if (!hn_failed(err) && events != NULL && (tune.search.events = fopen(events, "we")) == NULL)
        hn_fail(err, HN_ERUN, "'%s' cannot be written: %s", events, strerror(errno));
    if (!hn_failed(err))
        tune_opened(&tune, err);
    if (tune.search.events != NULL)
        fclose(tune.search.events);
}

const struct hn_command hn_command_tune = {
    .name = "tune",
    .of = HN_TUNE,
    .arguments = "CONFIG",
    .summary = "search, verify, measure and cache the variants of a config",
    .details = "Every problem of the config is tuned. Run again, it finishes from the cache; "
               "interrupted, it goes on.",
    .examples = "hone tune scale.yaml --budget 60s\n"
                "  hone tune scale.yaml -p n=65536 -s BLOCK=128,256 --full",
    HN_ONE_ARGUMENT("expected the path of a config",
                    "found a second config '%s'; tune them one by one"),
    .run = run,
};
