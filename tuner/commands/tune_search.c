/* SPDX-License-Identifier: MIT */
#include "tuner/commands/tune_search.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/memory.h"
#include "base/run.h"
#include "cache/record/bindings_json.h"
#include "cache/store/store_roofs.h"
#include "runtime/bench/roofs.h"
#include "tuner/commands/cache_command.h"
#include "tuner/commands/open_cache.h"
#include "tuner/report/progress.h"
#include "tuner/report/roof.h"
#include "tuner/report/summary.h"
#include "tuner/server/server.h"
#include "tuner/session/session.h"
#include "tuner/session/task.h"

/* Whose turn a problem is, where several tuners share the cache of a server. */
struct sharing {
    struct hn_server *server; /* NULL: nobody shares it, and it is always one's own */
    struct hn_store *store;
    struct hn_progress_board *board;
    bool takes; /* what another finished meanwhile is taken as it is, and not gone on with */
    bool waits; /* until nobody else is at it, instead of TURN_LATER */
    bool quiet;

    struct hn_server_claim *claim;
    struct hn_claim_holder holder; /* the other */
};

enum turn {
    TURN_NOW,
    TURN_LATER, /* another is at it */
    TURN_AGAIN, /* another was at it, and this was waited for: ask anew, as time has passed */
    TURN_OVER,  /* another finished it since this command began, and that is taken */
};

/* Between questions whether another is ready. */
enum { ASK_MS = 500, STEP_MS = 50 };

static void say(const struct sharing *sharing, const struct hn_task *task)
{
    char *problem = hn_cache_problem_text(&task->identity.problem);
    hn_progress_board_hold(sharing->board);
    if (!sharing->quiet)
        fprintf(stderr, "%s (%s) is being tuned on %s, for %.0f s so far: %s\n",
                task->identity.kernel, problem == NULL ? "" : problem, sharing->holder.machine,
                sharing->holder.for_s, sharing->waits ? "waiting" : "the next problem first");
    hn_progress_board_release(sharing->board);
    free(problem);
}

static enum hn_status wait_a_while(struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (int ms = 0; status == HN_OK && ms < ASK_MS; ms += STEP_MS) {
        nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000L}, NULL);
        status = hn_interrupt_check(err);
    }
    return status;
}

static enum hn_status claim(struct sharing *sharing, const struct hn_task *task,
                            enum hn_claim_state *state, struct hn_error *err)
{
    const struct hn_server_wish wish = {&task->identity, &task->version, !sharing->takes};
    return hn_server_claim(sharing->server, &wish, &sharing->claim, state, &sharing->holder, err);
}

/* Claims the problem of a task whose device is known, and fetches what others found of the kernel.
 */
static enum hn_status sharing_claim(struct sharing *sharing, const struct hn_task *task,
                                    enum turn *turn, struct hn_error *err)
{
    enum hn_claim_state state;
    bool waited = false;
    *turn = TURN_NOW;
    if (sharing->server == NULL)
        return HN_OK;
    enum hn_status status = claim(sharing, task, &state, err);
    if (status == HN_OK && state == HN_CLAIM_TAKEN)
        say(sharing, task);
    while (status == HN_OK && state == HN_CLAIM_TAKEN && sharing->waits) {
        waited = true;
        status = wait_a_while(err);
        if (status == HN_OK)
            status = claim(sharing, task, &state, err);
    }
    if (status != HN_OK)
        return status;
    *turn = state == HN_CLAIM_TAKEN  ? TURN_LATER
            : state == HN_CLAIM_DONE ? TURN_OVER
            : waited                 ? TURN_AGAIN
                                     : TURN_NOW;
    if (*turn == TURN_LATER)
        return HN_OK;
    return hn_cache_refresh(sharing->server, sharing->store, task->identity.kernel, err);
}

/* After TURN_NOW. finished: nothing is left to do. */
static void sharing_end(struct sharing *sharing, const struct hn_task *task, bool finished)
{
    if (sharing->claim == NULL)
        return;
    bool held = hn_server_release(sharing->server, sharing->claim, finished);
    sharing->claim = NULL;
    if (held)
        return;
    char *problem = hn_cache_problem_text(&task->identity.problem);
    hn_progress_board_hold(sharing->board);
    fprintf(stderr,
            "hone: warning: the claim to tune %s (%s) was lost, with the connection to the cache's "
            "server or because this tuner stood still: another has begun it, too; what both found "
            "counts\n",
            task->identity.kernel, problem == NULL ? "" : problem);
    hn_progress_board_release(sharing->board);
    free(problem);
}

static const struct hn_tuned *find_tuned(const struct hn_tuned_list *list,
                                         const struct hn_task *task)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct hn_tuned *tuned = &list->items[i];
        if (!tuned->simulated && hn_identity_equal(&tuned->identity, &task->identity) &&
            hn_version_equal(&tuned->version, &task->version))
            return tuned;
    }
    return NULL;
}

static enum hn_status list_results(const struct sharing *sharing, const struct hn_task *task,
                                   struct hn_tuned_list *list, const struct hn_tuned **tuned,
                                   struct hn_error *err)
{
    enum hn_status status = hn_store_list_problem(sharing->store, task->identity.kernel,
                                                  &task->identity.problem, list, err);
    *tuned = status == HN_OK ? find_tuned(list, task) : NULL;
    return status;
}

/* After TURN_OVER: the best that the other found. */
static const struct hn_view taken_views[] = {
    {.line =
         "{kernel} ([{problem}|-]) on {device} was tuned on {tuned_by} meanwhile, "
         "[best {tuned.best.timing.median_us:.4g} us: {tuned.best.point}|without a valid variant]"},
    {NULL},
};

static enum hn_status make_backend(struct hn_tune_search *search, struct hn_task *task,
                                   const struct hn_session_options *session,
                                   struct hn_backend **backend, struct hn_error *err)
{
    struct hn_points_ahead ahead;
    if (search->options->simulate != NULL)
        return hn_backend_simulated(task, search->options->simulate, backend, err);
    enum hn_status status =
        hn_points_ahead_make(&ahead, task, search->store, session, 4 * (size_t)search->jobs, err);
    if (status != HN_OK)
        return status;
    struct hn_live_options live = {
        .seed = search->options->seed,
        .end_ms = session->budget_s > 0 ? session->started_ms + session->budget_s * 1e3 : 0,
        .any_order = !search->strategy->needs_feedback,
        .ahead = ahead.points,
        .ahead_count = ahead.count,
        .ahead_is_all = ahead.complete,
        .measures = ahead.fresh,
    };
    status = hn_backend_live(task, search->workers, &live, backend, err);
    hn_points_ahead_finish(&ahead);
    return status;
}

/* An older Hone did not measure tensor cores. */
static bool lacks_pipe(const struct hn_backend *backend, const struct hn_roofs *roofs)
{
    enum hn_tensor_pipe pipe = hn_roof_pipe(backend->task->plan);
    return pipe < HN_PIPE_COUNT && !(roofs->tensor.pipes[pipe].gflops > 0) &&
           hn_roofs_have_pipe(backend->device.identity.capability, pipe);
}

/* From the cache, or measured now where the GPU is at work anyway: once for a device and its
 * driver. Without them the report has a column less. */
static bool find_roofs(struct hn_tune_search *search, const struct hn_session *session,
                       struct hn_backend *backend, struct hn_roofs *roofs)
{
    const struct hn_device_identity *device = &backend->task->identity.device;
    const struct hn_session_state *state = hn_session_state(session);
    const char *driver = search->workers != NULL ? backend->device.driver : NULL;
    struct hn_error ignored;
    if (!hn_roof_is_known(backend->task->plan))
        return false;
    bool known = hn_store_get_roofs(search->store, device, driver, roofs, &ignored) == HN_OK;
    if (known && (search->workers == NULL || !lacks_pipe(backend, roofs)))
        return true;
    if (search->workers == NULL || state->finished == state->reused || hn_interrupted() != 0 ||
        hn_backend_live_roofs(backend, roofs, &ignored) != HN_OK)
        return known;
    hn_store_put_roofs(search->store, device, roofs, &ignored);
    return true;
}

/* Takes the document over. */
static void show_result(struct hn_tune_search *search, json_t *document,
                        const struct hn_view *views)
{
    if (search->options->json) {
        search->json = document;
        return;
    }
    hn_progress_board_hold(search->board);
    if (*search->follows)
        putchar('\n');
    *search->follows = true;
    hn_render(document, views, stdout);
    fflush(stdout);
    hn_progress_board_release(search->board);
    json_decref(document);
}

static enum hn_status report(struct hn_tune_search *search, const struct hn_session *session,
                             struct hn_backend *backend, bool finished, struct hn_error *err)
{
    struct hn_roofs measured;
    const struct hn_roofs *roofs = NULL;
    if (finished && find_roofs(search, session, backend, &measured))
        roofs = &measured;
    const struct hn_session_state *state = hn_session_state(session);
    search->found = state->best != NULL;
    search->cut = state->best == NULL && state->cut > 0;
    json_t *summary = hn_summary(session, backend, roofs, search->options->json, err);
    if (summary == NULL)
        return err->status;
    show_result(search, summary, hn_summary_views);
    return HN_OK;
}

static void print_start(const struct hn_tune_search *search, const struct hn_task *task,
                        const struct hn_session_state *state)
{
    const char *warning = search->workers != NULL ? search->workers->lead->warning : "";
    hn_progress_board_hold(search->board);
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
    hn_progress_board_release(search->board);
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
    if (!watch->told && !watch->search->options->quiet && state->planned)
        print_start(watch->search, watch->task, state);
    watch->told = watch->told || state->planned;
    hn_progress_show(&watch->progress, state);
}

static enum hn_status run_session(const struct hn_tune_search *search, struct hn_session *session,
                                  const struct hn_backend *backend, struct hn_error *err)
{
    const struct hn_options *options = search->options;
    struct watch watch = {.search = search, .task = backend->task};
    struct hn_roofs roofs;
    struct hn_error ignored;
    bool known = hn_roof_is_known(backend->task->plan) &&
                 hn_store_get_roofs(search->store, &backend->task->identity.device, NULL, &roofs,
                                    &ignored) == HN_OK;
    const struct hn_progress_view view = {
        .backend = backend,
        .roofs = known ? &roofs : NULL,
        .budget_count = options->budget_count,
        .budget_s = options->budget_s,
        .stop_chance = search->strategy->chance != NULL ? options->stop_chance : 0,
    };
    char label[160];
    const char *device = search->names_device ? backend->device.identity.name : "";
    snprintf(label, sizeof label, "%s%s%s", search->label,
             search->label[0] != '\0' && device[0] != '\0' ? " on " : "", device);
    hn_progress_begin(&watch.progress, search->board, &view, label);
    enum hn_status status = hn_session_run(session, show, &watch, err);
    hn_progress_end(&watch.progress);
    return status;
}

/* The session of a problem whose turn it is. */
static enum hn_status run_and_report(struct hn_tune_search *search, struct hn_backend *backend,
                                     const struct hn_session_options *options, struct hn_error *err)
{
    struct hn_session *session = NULL;
    enum hn_status status = hn_session_create(backend, search->store, options, &session, err);
    if (status != HN_OK)
        return status;
    status = run_session(search, session, backend, err);
    struct hn_error ignored;
    enum hn_status reported =
        report(search, session, backend, status == HN_OK, status == HN_OK ? err : &ignored);
    hn_session_destroy(session);
    return status == HN_OK ? reported : status;
}

static enum hn_status report_taken(struct hn_tune_search *search, const struct sharing *sharing,
                                   const struct hn_task *task, struct hn_error *err)
{
    struct hn_tuned_list list;
    const struct hn_tuned *tuned;
    enum hn_status status = list_results(sharing, task, &list, &tuned, err);
    if (status != HN_OK)
        return status;
    search->found = tuned != NULL;
    json_t *json = json_pack("{s:s, s:o, s:o, s:s, s:o}", "kernel", task->identity.kernel,
                             "problem", hn_bindings_to_json(&task->identity.problem), "device",
                             hn_string_to_json(task->identity.device.name), "tuned_by",
                             sharing->holder.machine, "tuned",
                             tuned != NULL ? hn_cache_tuned_to_json(tuned) : json_null());
    show_result(search, hn_needed(json), taken_views);
    hn_tuned_list_free(&list);
    return HN_OK;
}

/* With a backend of its own, since that knows when the time is up. */
static enum hn_status tune_in_turn(struct hn_tune_search *search, struct hn_task *task,
                                   struct sharing *sharing, enum turn *turn, struct hn_error *err)
{
    struct hn_backend *backend = NULL;
    const struct hn_session_options options = {
        .strategy = search->strategy,
        .look_ahead = search->options->look_ahead,
        .seed = search->options->seed,
        .budget_s = search->options->budget_s,
        .budget_count = search->options->budget_count,
        .stop_chance = search->options->stop_chance,
        .full = search->options->full,
        .counters = search->options->counters,
        .retry_failed = search->options->retry_failed,
        .energy_s = search->energy_s,
        .race_within = search->energy_s > 0 ? HN_WEIGHED_WITHIN : 0,
        .events = search->events,
        .command = search->command,
        .started_ms = search->started_ms,
    };
    enum hn_status status = make_backend(search, task, &options, &backend, err);
    if (status == HN_OK)
        status = sharing_claim(sharing, task, turn, err);
    if (status == HN_OK && *turn == TURN_NOW) {
        status = run_and_report(search, backend, &options, err);
        sharing_end(sharing, task, status == HN_OK && hn_interrupted() == 0);
    } else if (status == HN_OK && *turn == TURN_OVER) {
        status = report_taken(search, sharing, task, err);
    }
    hn_backend_destroy(backend);
    return status;
}

static enum hn_status tune_task(struct hn_tune_search *search, struct hn_task *task,
                                struct hn_error *err)
{
    enum turn turn = TURN_AGAIN;
    enum hn_status status = HN_OK;
    struct sharing sharing = {
        .server = search->server,
        .store = search->store,
        .board = search->board,
        .takes = search->options->budget_s > 0,
        .waits = search->waits,
        .quiet = search->options->quiet,
    };
    while (status == HN_OK && turn == TURN_AGAIN) {
        status = tune_in_turn(search, task, &sharing, &turn, err);
        search->started_ms = hn_now_ms();
    }
    search->later = turn == TURN_LATER;
    return status;
}

enum hn_status hn_tune_search_run(struct hn_tune_search *search, struct hn_error *err)
{
    struct hn_task task;
    const enum hn_regime regime = (enum hn_regime)search->options->regime;
    enum hn_status status =
        search->options->simulate != NULL || !search->strategy->needs_feedback
            ? hn_task_make(search->config, search->problem, regime, &task, err)
            : hn_task_make_search(search->config, search->problem, regime, &task, err);
    if (status != HN_OK)
        return status;
    status = tune_task(search, &task, err);
    hn_task_finish(&task);
    fflush(stdout);
    return status;
}

/* Said whatever else was: what this and earlier runs have found is elsewhere now. */
enum hn_status hn_tune_report_loss(const struct hn_tune_search *search, struct hn_error *err)
{
    const char *rescued;
    enum hn_status status = hn_store_commit(search->store, err);
    const char *lost = hn_store_lost(search->store, &rescued);
    hn_progress_board_hold(search->board);
    if (lost != NULL)
        fprintf(stderr,
                "hone: warning: cache '%s' was deleted, moved or replaced during the run; all that "
                "was in it, and all of this run, is in '%s' now: `mv %s %s` takes it back\n",
                lost, rescued, rescued, lost);
    hn_progress_board_release(search->board);
    return status;
}

enum hn_status hn_tune_interrupted(struct hn_error *err)
{
    return hn_fail(err, HN_EINTERRUPTED,
                   "interrupted; what was finished is kept, and the same command goes on from "
                   "there");
}
