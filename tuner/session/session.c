/* SPDX-License-Identifier: MIT */
#include "tuner/session/session.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "cache/record/record.h"
#include "tuner/session/session_internal.h"

static const double watch_interval_ms = 100;
/* So often is looked whether the space is built. */
static const int building_interval_ms = 5;

/* Finals get as much of a budget of time as they are expected to take: the race as long as live.c
 * lets it, verifying some finalists as the search has verified its points, an audit of so many
 * launches of the winner, and the second seed's reference and the rest; a half at most. */
static const double race_part = 0.1;
static const double expected_finalists = 8;
static const double audit_launches = 14;
static const double rest_ms = 500;
static const double most_processes_ms = 1000; /* the best in other processes */
/* With energy, two windows of each that is weighed, what comes before one, and the idle power. */
static const double windows = 12;
static const double window_rest_ms = 600;
static const double idle_ms = 2000;

/* So much of the finals' time is left to them when all that is compiled was measured. */
static const double finals_kept = 0.7;

/* A compilation that takes longer than this does not hold up the look-up of code behind it. */
static const double register_patience_ms = 3000;

/* A search that has measured nothing when its time is up, but has something compiled, gets the
 * first of it measured, for so long. */
static const double extension_ms = 1500;
/* Whoever waits looks at the clock at least this often. */
static const double extension_ahead_ms = 200;

/* What many points of many problems are timed to: a race tells the best of each apart. */
static const double hasty_target = 0.02;

/* Says what all events have, and `more`, which is taken over. */
static void tell(const struct hn_session *session, const char *name, json_t *more,
                 struct hn_error *err)
{
    FILE *events = session->options.events;
    json_auto_t *event = hn_needed(json_pack("{ss so}", "event", name, "problem",
                                             hn_bindings_to_json(session->task->problem)));
    json_object_update(event, hn_needed(more));
    json_decref(more);
    /* Other sessions may write, too. */
    flockfile(events);
    json_dumpf(event, events, JSON_COMPACT);
    fputc('\n', events);
    bool written = fflush(events) == 0 && ferror(events) == 0;
    funlockfile(events);
    if (!written)
        hn_fail(err, HN_ERUN, "the events (--events) cannot be written: %s", strerror(errno));
}

static bool is_told(const struct hn_session *session, const struct hn_error *err)
{
    return !hn_failed(err) && session->options.events != NULL;
}

static json_t *real(double value)
{
    return isnan(value) ? json_null() : json_real(value);
}

static json_t *count(bool known, uint64_t value)
{
    return known ? json_integer((json_int_t)value) : json_null();
}

static void tell_start(struct hn_session *session, struct hn_error *err)
{
    const struct hn_session_options *options = &session->options;
    if (is_told(session, err))
        tell(session, "start",
             json_pack("{ss ss ss sb ss so so so so sf}", "kernel", session->task->identity.kernel,
                       "device", session->task->identity.device.name, "regime",
                       session->task->identity.regime, "simulated", session->backend->simulated,
                       "strategy", options->strategy->name, "seed", count(true, options->seed),
                       "look_ahead", count(true, session->state.look_ahead), "points",
                       count(session->state.points != UINT64_MAX, session->state.points), "budget",
                       count(options->budget_count > 0, options->budget_count), "time",
                       hn_epoch_s()),
             err);
}

void hn_session_tell_news(struct hn_session *session, const struct hn_record *record,
                          struct hn_error *err)
{
    const char *device = session->task->identity.device.name;
    const struct hn_session_state *state = &session->state;
    if (!is_told(session, err))
        return;
    if (record != NULL)
        tell(session, "record",
             json_pack("{ss so}", "device", device, "record", hn_record_to_json(record)), err);
    else if (!isnan(state->chance))
        tell(session, "chance",
             json_pack("{ss so sf sf}", "device", device, "finished", count(true, state->finished),
                       "chance", state->chance, "time", hn_epoch_s()),
             err);
}

json_t *hn_counts_to_json(const uint64_t counts[HN_OUTCOME_COUNT])
{
    json_t *json = json_object();
    for (int outcome = 0; outcome < HN_OUTCOME_COUNT; outcome++)
        if (counts[outcome] > 0)
            json_object_set_new(json, hn_outcome_names[(enum hn_outcome)outcome],
                                json_integer((json_int_t)counts[outcome]));
    return json;
}

static void tell_end(struct hn_session *session, struct hn_error *err)
{
    const struct hn_session_state *state = &session->state;
    const struct hn_record *best = state->best;
    if (is_told(session, err))
        tell(session, "end",
             json_pack("{ss so so so so so so sb sb sf sf}", "device",
                       session->task->identity.device.name, "finished",
                       count(true, state->finished), "reused", count(true, state->reused),
                       "outcomes", hn_counts_to_json(state->counts), "best",
                       best != NULL ? hn_bindings_to_json(&best->point) : json_null(), "best_us",
                       real(best != NULL ? best->timing.median_us : NAN), "chance",
                       real(state->chance), "stopped", state->stopped, "interrupted",
                       state->interrupted, "elapsed_s", state->elapsed_s, "time", hn_epoch_s()),
             err);
}

enum hn_status hn_session_create(struct hn_backend *backend, struct hn_store *store,
                                 const struct hn_session_options *options, struct hn_session **out,
                                 struct hn_error *err)
{
    struct hn_task *task = backend->task;
    struct hn_session *session = hn_need(1, sizeof *session);
    hn_error_init(err);
    session->backend = backend;
    session->task = task;
    session->store = store;
    session->options = *options;
    session->weighs = hn_plan_weighs(task->plan);
    /* Joules are measured whether they were asked for or not. */
    if (session->weighs) {
        session->options.energy_s = options->energy_s > 0 ? options->energy_s : HN_ENERGY_SECONDS;
        session->options.race_within = fmax(options->race_within, HN_WEIGHED_WITHIN);
    }
    session->held_ms = INFINITY;
    session->best = session->censor = SIZE_MAX;
    session->state.look_ahead = options->look_ahead > 0 ? (unsigned)options->look_ahead
                                                        : (unsigned)task->config->look_ahead;
    session->state.points = UINT64_MAX;
    snprintf(session->state.points_text, sizeof session->state.points_text, "so far uncounted");
    session->state.phase = "preparing";
    session->state.chance = NAN;
    session->state.started_ms = options->started_ms > 0 ? options->started_ms : hn_now_ms();
    session->created_s = hn_epoch_s();
    backend->end_ms =
        options->budget_s > 0 ? session->state.started_ms + options->budget_s * 1e3 : 0;
    session->choice = hn_need(hn_space_parameter_count(task->space), sizeof *session->choice);
    session->points.stride = hn_space_parameter_count(task->space) * sizeof(uint16_t);
    hn_session_load_cached(session, err);
    hn_schedule_init(&session->schedule, session->state.look_ahead);
    if (hn_space_is_built(task->space))
        hn_session_begin_search(session, err);
    if (hn_failed(err))
        hn_session_destroy(session);
    else
        *out = session;
    return err->status;
}

void hn_session_destroy(struct hn_session *session)
{
    if (session == NULL)
        return;
    if (session->strategy != NULL)
        session->options.strategy->destroy(session->strategy);
    hn_tickets_finish(&session->tickets);
    hn_schedule_finish(&session->schedule);
    free(session->cached.entries);
    hn_keys_finish(&session->points);
    free(session->choice);
    hn_tuned_list_free(&session->stored);
    free(session);
}

const struct hn_session_state *hn_session_state(const struct hn_session *session)
{
    return &session->state;
}

static double finals_ms(const struct hn_session *session)
{
    /* Without a result there is nothing to hold finals of. */
    if (session->best == SIZE_MAX || !hn_session_has_finals(session))
        return 0;
    const struct hn_session_state *state = &session->state;
    double whole_ms = session->options.budget_s * 1e3;
    uint64_t measured = state->finished - state->reused;
    /* Of programs, a run is what takes time. */
    double spent_s = session->task->plan->program != NULL ? state->measure_s : state->verify_s;
    double verify_ms = measured > 0 ? spent_s * 1e3 / (double)measured : 0;
    double race_ms = fmax(fmin(race_part * whole_ms, HN_RACE_MOST_MS), HN_RACE_LEAST_MS);
    double wanted_ms = race_ms + (expected_finalists + audit_launches) * verify_ms + rest_ms;
    wanted_ms += session->options.brief ? 0 : fmin(whole_ms / 20, most_processes_ms);
    if (session->options.energy_s > 0)
        wanted_ms += windows * (1e3 * session->options.energy_s + window_rest_ms) + idle_ms;
    return fmin(wanted_ms, whole_ms / 2);
}

double hn_session_left_ms(const struct hn_session *session)
{
    double end_ms = session->backend->end_ms;
    return end_ms > 0 ? end_ms - hn_now_ms() : INFINITY;
}

bool hn_session_is_over(const struct hn_session *session)
{
    return hn_interrupted() != 0 || hn_session_left_ms(session) <= 0;
}

/* Whether a variant is compiled and may be the first to be measured, or soon will be: where the
 * default point has been, the others are worth waiting for. */
static bool has_compiled(const struct hn_session *session)
{
    struct hn_usage usage = {0};
    if (session->backend->kind->usage != NULL)
        session->backend->kind->usage(session->backend, &usage);
    bool has = usage.compiled > 0 || (session->warm && usage.under_way > 0);
    for (size_t i = session->next_settled; i < session->tickets.count && !has; i++) {
        enum hn_ticket_state state = (enum hn_ticket_state)session->tickets.items[i].state;
        has = state == HN_TICKET_COMPILED || state == HN_TICKET_EVALUATING;
    }
    return has;
}

bool hn_session_search_is_over(const struct hn_session *session)
{
    if (session->options.budget_s <= 0)
        return false;
    if (session->extended)
        return session->best != SIZE_MAX || hn_session_left_ms(session) <= 0 ||
               !has_compiled(session);
    return hn_session_left_ms(session) <= finals_ms(session);
}

/* Where nothing is measured though something is compiled: from the middle of the budget on nothing
 * else is waited for, and at its end it is extended up to the first result. */
static void mind_clock(struct hn_session *session)
{
    const double budget_ms = session->options.budget_s * 1e3;
    double left_ms = hn_session_left_ms(session);
    if (budget_ms <= 0 || session->extended || session->best != SIZE_MAX ||
        left_ms > budget_ms / 2 || !has_compiled(session))
        return;
    session->backend->hurries = true;
    session->extended = left_ms < extension_ahead_ms;
    if (session->extended)
        session->backend->end_ms += extension_ms;
}

void hn_session_show(struct hn_session *session, const char *phase)
{
    struct hn_session_state *state = &session->state;
    size_t best = session->best;
    double now = hn_now_ms();
    state->phase = phase;
    state->elapsed_s = (now - state->started_ms) / 1e3;
    if (session->backend->kind->usage != NULL)
        session->backend->kind->usage(session->backend, &state->usage);
    state->best = best != SIZE_MAX ? &session->tickets.items[best].flight->record : NULL;
    session->watched_ms = now;
    if (session->watch != NULL)
        session->watch(session->watcher, state);
}

static void show_in_time(struct hn_session *session)
{
    if (hn_now_ms() - session->watched_ms >= watch_interval_ms)
        hn_session_show(session, session->state.phase);
}

void hn_session_commit(struct hn_session *session, struct hn_error *err)
{
    if (!hn_failed(err) && session->store != NULL)
        hn_store_commit(session->store, err);
}

static int due_ms(const struct hn_session *session)
{
    return session->store != NULL ? hn_store_due_ms(session->store) : -1;
}

void hn_session_start(struct hn_session *session, size_t number, double patience_ms,
                      const struct hn_bench_request *request, struct hn_error *err)
{
    const struct hn_flight *flight = session->tickets.items[number].flight;
    const struct hn_start start = {
        .ticket = number,
        .point = &flight->record.point,
        .patience_ms = patience_ms,
        .image = request != NULL ? &flight->image : NULL,
        .request = request,
    };
    if (!hn_failed(err))
        session->backend->kind->start(session->backend, &start, err);
}

struct hn_backend_state hn_session_look(const struct hn_session *session)
{
    struct hn_backend_state state;
    session->backend->kind->look(session->backend, UINT64_MAX, &state);
    return state;
}

/* Keeps the compile workers busy while the backend prepares. */
static void go_on(void *owner, struct hn_error *err)
{
    struct hn_session *session = owner;
    mind_clock(session);
    show_in_time(session);
    hn_session_propose(session, err);
    if (due_ms(session) == 0)
        hn_session_commit(session, err);
}

void hn_session_prepare(struct hn_session *session, struct hn_error *err)
{
    struct hn_run run = {.kind = HN_RUN_PREPARE};
    if (session->prepared || hn_failed(err))
        return;
    hn_session_show(session, "preparing");
    session->prepared = true;
    /* It blocks, and what is pending must not wait for it. */
    hn_session_commit(session, err);
    session->backend->owner = session;
    session->backend->meanwhile = go_on;
    if (!hn_failed(err))
        session->backend->kind->run(session->backend, &run, err);
    session->backend->meanwhile = NULL;
    session->state.noise = run.noise;
    session->warm = !hn_failed(err);
    session->state.phase = "searching";
}

/* The wait that is under way as things stand; NULL: it is not known. */
static double *find_wait(struct hn_session *session)
{
    struct hn_waits *waits = &session->state.waits;
    struct hn_usage usage;
    if (session->backend->kind->usage == NULL || !session->prepared)
        return NULL;
    if (!hn_session_look(session).quiet)
        return &waits->gpu_s;
    session->backend->kind->usage(session->backend, &usage);
    if (usage.under_way == 0)
        return NULL;
    if (usage.cores_busy)
        return &waits->cores_s;
    return usage.under_way > 1 && !session->exhausted ? &waits->look_ahead_s : &waits->single_s;
}

void hn_session_step(struct hn_session *session, struct hn_backend_event *event,
                     struct hn_error *err)
{
    *event = (struct hn_backend_event){.kind = HN_EVENT_NONE};
    if (hn_failed(err))
        return;
    int due = due_ms(session);
    int timeout = session->strategy != NULL ? (int)watch_interval_ms : building_interval_ms;
    if (due >= 0 && due < timeout)
        timeout = due;
    if (session->held_ms < timeout)
        timeout = (int)session->held_ms + 1;
    double *wait_s = find_wait(session);
    double from_ms = hn_now_ms();
    session->backend->kind->next(session->backend, timeout, event, err);
    if (wait_s != NULL)
        *wait_s += (hn_now_ms() - from_ms) / 1e3;
    if (due_ms(session) == 0)
        hn_session_commit(session, err);
    if (hn_failed(err))
        hn_backend_event_finish(event);
    show_in_time(session);
}

static void step_and_take(struct hn_session *session, struct hn_error *err)
{
    struct hn_backend_event event;
    hn_session_step(session, &event, err);
    hn_session_take_event(session, &event, err);
}

/* The ticket that `number` can be held against, SIZE_MAX: none. Where a strategy hears of it, the
 * best of the tickets told before it, so that the sequence is the same whatever the number of
 * cores, and of a given one, of those long before it; otherwise of all so far. */
static size_t find_censor(struct hn_session *session, size_t number)
{
    const struct hn_ticket *ticket = &session->tickets.items[number];
    if (!session->options.strategy->needs_feedback || session->options.hasty || session->last_call)
        return session->best;
    if (ticket->decided)
        return ticket->flight->censor;
    while (session->censor_next + session->state.look_ahead <= number &&
           session->censor_next < session->next_settled)
        hn_session_hold_against(session, session->censor_next++);
    return session->censor;
}

static void dispatch(struct hn_session *session, size_t number, struct hn_error *err)
{
    struct hn_ticket *ticket = &session->tickets.items[number];
    size_t against = find_censor(session, number);
    const struct hn_result *censor =
        against != SIZE_MAX ? &session->tickets.items[against].result : NULL;
    bool by_time = strcmp(session->task->plan->objective, "time") == 0;
    struct hn_bench_request request = {
        .verify = true,
        .measure = true,
        .full = session->options.full || ticket->full || !(by_time || session->weighs),
        .censor_us = censor != NULL ? censor->median_us *
                                          (session->weighs ? 1 + session->options.race_within : 1)
                                    : 0,
        .censor_clock_mhz = censor != NULL ? (double)censor->clock_mhz : 0,
        .target = session->options.hasty ? hasty_target : 0,
    };
    ticket->state = HN_TICKET_EVALUATING;
    ticket->flight->censor = against;
    hn_session_start(session, number, INFINITY, &request, err);
}

/* Gives each GPU that is idle the lowest ticket that waits for one. A strategy that needs feedback
 * has results in the order in which it is told of compilations, and may decline then; where nobody
 * is told of the sequence, a ticket may go before those that are still being compiled. */
static void feed_gpu(struct hn_session *session, struct hn_error *err)
{
    bool any_order = session->last_call || !session->options.strategy->needs_feedback;
    bool idle = !hn_failed(err) && hn_session_look(session).idle;
    bool skipped_any = false;
    for (size_t i = session->next_dispatch; idle && i < session->tickets.count && !hn_failed(err);
         i++) {
        if (any_order && i >= session->next_register)
            hn_session_register_ticket(session, i, err);
        const struct hn_ticket *ticket = &session->tickets.items[i];
        bool decided = any_order || i < session->given_count || ticket->decided;
        bool compiled = ticket->state == HN_TICKET_COMPILED;
        skipped_any = skipped_any || ticket->state == HN_TICKET_COMPILING || (compiled && !decided);
        if (!hn_failed(err) && compiled && decided) {
            if (ticket->flight->record.outcome != HN_OUTCOME_SKIPPED)
                dispatch(session, i, err);
            else
                hn_session_finish_ticket(session, i, err);
            idle = !hn_failed(err) && hn_session_look(session).idle;
        }
        if (!skipped_any)
            session->next_dispatch = i + 1;
    }
}

/* An evaluation is soon done; a compilation may take a minute. */
static void wait_for_gpu(struct hn_session *session, struct hn_error *err)
{
    while (!hn_failed(err) && !hn_session_look(session).quiet && !hn_session_is_over(session))
        step_and_take(session, err);
}

/* Ends the search before its time: what is compiling is killed, what the GPU is at is waited for.
 * Points that come to nothing so are no failures: they stay unfinished. What was compiled, but
 * waited for slower compilations before it so that results come in their order, is measured now
 * that nobody asks for an order. */
static void end_search(struct hn_session *session, struct hn_error *err)
{
    session->exhausted = true;
    if (session->extended)
        session->backend->end_ms = fmin(session->backend->end_ms, hn_now_ms());
    if (session->backend->kind->stop != NULL)
        session->backend->kind->stop(session->backend);
    wait_for_gpu(session, err);
    session->last_call = true;
    /* Behind the search there is time to measure what is compiled already. */
    while (!hn_failed(err) && session->warm && !hn_session_is_over(session) &&
           hn_session_left_ms(session) > finals_kept * finals_ms(session)) {
        feed_gpu(session, err);
        if (hn_failed(err) || hn_session_look(session).quiet)
            break;
        step_and_take(session, err);
    }
    wait_for_gpu(session, err);
}

/* Where a strategy needs feedback, machine code is looked up when that is told of it, so that
 * duplicates are the same whatever the machine; but nobody is told of the given tickets, which are
 * looked up as they come. */
static void register_codes(struct hn_session *session, struct hn_error *err)
{
    size_t *next = &session->next_register;
    for (; !hn_failed(err) && *next < session->tickets.count; ++*next) {
        const struct hn_ticket *ticket = &session->tickets.items[*next];
        bool compiles = ticket->state == HN_TICKET_COMPILING &&
                        hn_now_ms() - ticket->flight->compiling_since_ms < register_patience_ms;
        if (*next >= session->given_count &&
            (session->options.strategy->needs_feedback || compiles))
            return;
        hn_session_register_ticket(session, *next, err);
    }
}

static void search(struct hn_session *session, struct hn_error *err)
{
    hn_session_show(session, "searching");
    while (!hn_failed(err)) {
        uint64_t finished = session->state.finished;
        mind_clock(session);
        if (hn_session_search_is_over(session)) {
            end_search(session, err);
            return;
        }
        /* Codes that the event before this made known, then proposals because of them. */
        register_codes(session, err);
        hn_session_propose(session, err);
        /* The compile workers have something to do while this blocks. */
        if (session->compiles)
            hn_session_prepare(session, err);
        register_codes(session, err);
        hn_session_tell(session, err);
        feed_gpu(session, err);
        bool all_finished = session->next_settled == session->tickets.count;
        if (hn_session_is_over(session) || (all_finished && session->exhausted))
            return;
        /* Behind what took no time, as points that were declined, there may be more to propose. */
        if (session->state.finished == finished && (!all_finished || session->strategy == NULL))
            step_and_take(session, err);
    }
}

enum hn_status hn_session_run(struct hn_session *session, hn_session_watch *watch, void *watcher,
                              struct hn_error *err)
{
    const struct hn_strategy_kind *strategy = session->options.strategy;
    struct hn_session_state *state = &session->state;
    struct hn_error committed = {.status = HN_OK}, told = {.status = HN_OK};
    hn_error_init(err);
    session->watch = watch;
    session->watcher = watcher;
    tell_start(session, err);
    hn_session_admit_given(session, err);
    for (bool again = true; !hn_failed(err) && again && !hn_session_is_over(session);) {
        search(session, err);
        again = !hn_failed(err) && hn_interrupted() == 0 && hn_session_finals(session, err);
    }
    /* The wait was ended by a signal or by the clock. */
    if (err->status == HN_EINTERRUPTED)
        hn_error_init(err);
    hn_session_tell(session, err);
    if (strategy->chance != NULL && session->strategy != NULL)
        state->chance = strategy->chance(session->strategy);
    /* Finished tickets are kept whatever happened; the first failure is the one that is told. */
    hn_session_commit(session, &committed);
    hn_session_show(session, "done");
    state->interrupted = hn_interrupted() != 0;
    if (!state->interrupted && hn_session_search_is_over(session)) {
        state->cut = state->proposed - state->finished;
        state->unraced = hn_session_has_finals(session) && state->best != NULL &&
                         !state->best->final && state->elsewhere == NULL;
    }
    tell_end(session, &told);
    if (!hn_failed(err))
        *err = hn_failed(&committed) ? committed : told;
    return err->status;
}
