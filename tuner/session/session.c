/* SPDX-License-Identifier: MIT */
#include "tuner/session/session_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "runtime/plan/launch.h"
#include "runtime/process/process.h"
#include "tuner/session/knowledge.h"

static const double watch_interval_ms = 100;
/* So often is looked whether the space is built. */
static const int building_interval_ms = 5;

unsigned hn_session_look_ahead(const struct hn_task *task, const struct hn_session_options *options)
{
    return options->look_ahead > 0 ? options->look_ahead : task->config->look_ahead;
}

bool hn_session_weighs(const struct hn_session *session)
{
    enum hn_front_by by;
    return hn_plan_weighs(session->task->plan, &by);
}

/* Joules are measured whether they were asked for or not. */
static void set_weighing(struct hn_session *session)
{
    struct hn_session_options *options = &session->options;
    if (!hn_session_weighs(session))
        return;
    options->energy_s = options->energy_s > 0 ? options->energy_s : HN_ENERGY_SECONDS;
    options->race_within = fmax(options->race_within, HN_WEIGHED_WITHIN);
}

static enum hn_status create_strategy(struct hn_session *session, struct hn_error *err)
{
    const struct hn_session_options *options = &session->options;
    struct hn_knowledge knowledge = {0};
    enum hn_status status = HN_OK;
    if (options->strategy->uses_priors && session->store != NULL)
        status = hn_knowledge_collect(session->store, session->task, session->backend->simulated,
                                      fmin(session->cached.earliest, session->created_s),
                                      &knowledge, err);
    if (status != HN_OK)
        return status;
    session->state.sources = knowledge.sources;
    bool unread[hn_space_parameter_count(session->task->space) + 1];
    bool shares = false;
    bool reads = session->backend->simulated ||
                 hn_task_find_unread(session->task, unread, &shares, NULL) != HN_OK;
    if (session->backend->kind->share != NULL)
        session->backend->kind->share(session->backend, !reads && shares);
    const struct hn_search search = {
        .unread = reads ? NULL : unread,
        .space = session->task->space,
        .seed = options->seed,
        .look_ahead = session->look_ahead,
        .priors = knowledge.priors,
        .prior_count = knowledge.count,
    };
    status = options->strategy->create(&search, &session->strategy, err);
    session->state.planned = status == HN_OK;
    hn_knowledge_finish(&knowledge);
    return status;
}

/* The ladder needs no more than constraints, so that it does not wait for this. */
enum hn_status hn_session_begin_search(struct hn_session *session, struct hn_error *err)
{
    struct hn_space *space = session->task->space;
    enum hn_status status = hn_space_wait(space, err);
    if (status != HN_OK)
        return status;
    session->state.points = hn_space_size(space);
    hn_space_count_text(space, session->state.points_text);
    return create_strategy(session, err);
}

enum hn_status hn_session_create(struct hn_backend *backend, struct hn_store *store,
                                 const struct hn_session_options *options, struct hn_session **out,
                                 struct hn_error *err)
{
    struct hn_task *task = backend->task;
    struct hn_session *session = calloc(1, sizeof *session);
    if (session == NULL)
        return hn_fail_memory(err);
    session->backend = backend;
    session->task = task;
    session->store = store;
    session->options = *options;
    set_weighing(session);
    session->look_ahead = hn_session_look_ahead(task, options);
    session->state.look_ahead = session->look_ahead;
    session->best = SIZE_MAX;
    session->censor = SIZE_MAX;
    session->held_ms = INFINITY;
    hn_session_start_clock(session);
    session->created_s = hn_session_epoch_s();
    session->state.points = UINT64_MAX;
    snprintf(session->state.points_text, sizeof session->state.points_text, "so far uncounted");
    session->state.phase = "preparing";
    session->state.chance = NAN;
    session->choice = calloc(hn_space_parameter_count(task->space) + 1, sizeof *session->choice);
    enum hn_status status = session->choice != NULL ? HN_OK : hn_fail_memory(err);
    hn_tickets_init(&session->tickets);
    if (status == HN_OK)
        status = hn_points_init(&session->points, task->space, err);
    if (status == HN_OK)
        status = hn_session_load_cached(session, err);
    if (status == HN_OK)
        status = hn_schedule_init(&session->schedule, session->look_ahead, err);
    if (status == HN_OK && hn_space_is_built(task->space))
        status = hn_session_begin_search(session, err);
    if (status != HN_OK) {
        hn_session_destroy(session);
        return status;
    }
    *out = session;
    return HN_OK;
}

void hn_session_destroy(struct hn_session *session)
{
    if (session == NULL)
        return;
    if (session->strategy != NULL)
        session->options.strategy->destroy(session->strategy);
    hn_tickets_finish(&session->tickets);
    hn_schedule_finish(&session->schedule);
    hn_cached_finish(&session->cached);
    hn_points_finish(&session->points);
    free(session->choice);
    free(session);
}

const struct hn_session_state *hn_session_state(const struct hn_session *session)
{
    return &session->state;
}

void hn_session_show(struct hn_session *session, const char *phase)
{
    struct hn_session_state *state = &session->state;
    double now = hn_now_ms();
    state->phase = phase;
    state->elapsed_s = (now - session->started_ms) / 1e3;
    if (session->backend->kind->usage != NULL)
        session->backend->kind->usage(session->backend, &state->usage);
    state->gpu_busy_s = session->backend->kind->busy_ms(session->backend) / 1e3;
    state->best =
        session->best != SIZE_MAX ? &session->tickets.items[session->best].flight->record : NULL;
    session->watched_ms = now;
    if (session->watch != NULL)
        session->watch(session->watcher, state);
}

enum hn_status hn_session_commit(struct hn_session *session, struct hn_error *err)
{
    return session->store != NULL ? hn_store_commit(session->store, err) : HN_OK;
}

/* Keeps the compile workers busy while the backend prepares. */
static enum hn_status go_on(void *owner, struct hn_error *err)
{
    struct hn_session *session = owner;
    hn_session_mind_clock(session);
    if (hn_now_ms() - session->watched_ms >= watch_interval_ms)
        hn_session_show(session, session->state.phase);
    enum hn_status status = hn_session_propose(session, err);
    if (status == HN_OK && session->store != NULL && hn_store_due_ms(session->store) == 0)
        status = hn_store_commit(session->store, err);
    return status;
}

enum hn_status hn_session_prepare(struct hn_session *session, struct hn_error *err)
{
    if (session->prepared)
        return HN_OK;
    hn_session_show(session, "preparing");
    session->prepared = true;
    /* It blocks, and what is pending must not wait for it. */
    enum hn_status status = hn_session_commit(session, err);
    session->backend->owner = session;
    session->backend->meanwhile = go_on;
    if (status == HN_OK)
        status = session->backend->kind->prepare(session->backend, &session->state.noise, err);
    session->backend->meanwhile = NULL;
    session->warm = status == HN_OK;
    session->state.phase = "searching";
    return status;
}

/* What is waited for as things stand; NULL: nothing is known of it. */
static double *find_wait(struct hn_session *session)
{
    const struct hn_backend_kind *kind = session->backend->kind;
    struct hn_waits *waits = &session->state.waits;
    struct hn_usage usage;
    if (kind->usage == NULL || !session->prepared)
        return NULL;
    if (!(kind->quiet != NULL ? kind->quiet : kind->idle)(session->backend))
        return &waits->gpu_s;
    kind->usage(session->backend, &usage);
    if (usage.under_way == 0)
        return NULL;
    if (usage.cores_busy)
        return &waits->cores_s;
    return usage.under_way > 1 && !session->exhausted ? &waits->look_ahead_s : &waits->single_s;
}

static enum hn_status wait_for_event(struct hn_session *session, int timeout_ms,
                                     struct hn_backend_event *event, struct hn_error *err)
{
    double *wait_s = find_wait(session);
    double from_ms = hn_now_ms();
    enum hn_status status = session->backend->kind->wait(session->backend, timeout_ms, event, err);
    if (wait_s != NULL)
        *wait_s += (hn_now_ms() - from_ms) / 1e3;
    return status;
}

enum hn_status hn_session_step(struct hn_session *session, struct hn_backend_event *event,
                               struct hn_error *err)
{
    int due = session->store != NULL ? hn_store_due_ms(session->store) : -1;
    int timeout = session->strategy != NULL ? (int)watch_interval_ms : building_interval_ms;
    if (due >= 0 && due < timeout)
        timeout = due;
    if (session->held_ms < timeout)
        timeout = (int)session->held_ms + 1;
    enum hn_status status = wait_for_event(session, timeout, event, err);
    if (status == HN_OK && session->store != NULL && hn_store_due_ms(session->store) == 0) {
        status = hn_store_commit(session->store, err);
        if (status != HN_OK)
            hn_backend_event_finish(event);
    }
    if (hn_now_ms() - session->watched_ms >= watch_interval_ms)
        hn_session_show(session, session->state.phase);
    return status;
}

/* What ticket `number` can be held against, SIZE_MAX: nothing. Where a strategy hears of it, the
 * best of the tickets told before it, so that the sequence is the same whatever the number of
 * cores, and of a given one, of those long before it; otherwise of all so far. */
static size_t find_censor(struct hn_session *session, size_t number)
{
    const struct hn_ticket *tickets = session->tickets.items;
    if (!session->options.strategy->needs_feedback || session->options.hasty || session->last_call)
        return session->best;
    if (tickets[number].decided)
        return tickets[number].flight->censor;
    while (session->censor_next + session->look_ahead <= number &&
           session->censor_next < session->next_settled)
        hn_session_hold_against(session, session->censor_next++);
    return session->censor;
}

static enum hn_status dispatch(struct hn_session *session, size_t number, struct hn_error *err)
{
    struct hn_ticket *ticket = &session->tickets.items[number];
    size_t against = find_censor(session, number);
    const struct hn_result *censor =
        against != SIZE_MAX ? &session->tickets.items[against].result : NULL;
    bool by_time = strcmp(session->task->plan->objective, "time") == 0;
    bool weighs = hn_session_weighs(session);
    struct hn_bench_request request = {
        .verify = true,
        .measure = true,
        .full = session->options.full || ticket->full || !(by_time || weighs),
        .censor_us = censor != NULL
                         ? censor->median_us * (weighs ? 1 + session->options.race_within : 1)
                         : 0,
        .censor_clock_mhz = censor != NULL ? (double)censor->clock_mhz : 0,
    };
    ticket->state = HN_TICKET_EVALUATING;
    ticket->flight->censor = against;
    return session->backend->kind->evaluate(session->backend, number, &ticket->flight->record.point,
                                            &ticket->flight->image, &request, err);
}

/* A strategy that may decline decides when it is told of the compilation, and one that needs
 * feedback has results in the order in which it is told of that. */
static bool decided(const struct hn_session *session, size_t number)
{
    const struct hn_strategy_kind *strategy = session->options.strategy;
    return session->last_call || (!strategy->needs_feedback && strategy->compiled == NULL) ||
           number < session->given_count || session->tickets.items[number].decided;
}

/* Whether a ticket may go to the GPU before those that are still being compiled: where nobody is
 * told of the sequence. */
static bool may_overtake(const struct hn_session *session)
{
    const struct hn_strategy_kind *strategy = session->options.strategy;
    return session->last_call || (!strategy->needs_feedback && strategy->compiled == NULL);
}

/* Gives each GPU that is idle the lowest ticket that waits for one. */
static enum hn_status feed_gpu(struct hn_session *session, struct hn_error *err)
{
    const struct hn_backend_kind *kind = session->backend->kind;
    if (!kind->idle(session->backend))
        return HN_OK;
    bool skipped_any = false;
    bool told = session->options.strategy->needs_feedback;
    size_t end = may_overtake(session) || told ? session->tickets.count : session->next_register;
    for (size_t i = session->next_dispatch; i < end; i++) {
        if (i >= session->next_register && may_overtake(session)) {
            enum hn_status status = hn_session_register_ticket(session, i, err);
            if (status != HN_OK)
                return status;
        }
        enum hn_ticket_state state = (enum hn_ticket_state)session->tickets.items[i].state;
        bool waits = state == HN_TICKET_COMPILED && !decided(session, i);
        if (waits && !told)
            return HN_OK;
        if (waits) {
            skipped_any = true;
            continue;
        }
        if (state == HN_TICKET_COMPILED &&
            session->tickets.items[i].flight->record.outcome != HN_OUTCOME_SKIPPED) {
            enum hn_status status = dispatch(session, i, err);
            if (status != HN_OK || !kind->idle(session->backend))
                return status;
        } else if (state == HN_TICKET_COMPILED) {
            enum hn_status status = hn_session_finish_ticket(session, i, err);
            if (status != HN_OK)
                return status;
        }
        skipped_any = skipped_any || state == HN_TICKET_COMPILING;
        if (!skipped_any)
            session->next_dispatch = i + 1;
    }
    return HN_OK;
}

void hn_session_settle(struct hn_session *session)
{
    while (session->next_settled < session->tickets.count &&
           session->tickets.items[session->next_settled].state == HN_TICKET_FINISHED)
        session->next_settled++;
}

static bool all_finished(struct hn_session *session)
{
    hn_session_settle(session);
    return session->next_settled == session->tickets.count;
}

/* What was compiled, but waited for slower compilations before it so that results come in their
 * order, is measured now that nobody asks for an order. */
static enum hn_status measure_compiled(struct hn_session *session, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    session->last_call = true;
    while (status == HN_OK && hn_session_may_measure(session)) {
        struct hn_backend_event event;
        status = feed_gpu(session, err);
        if (status != HN_OK || hn_session_is_quiet(session))
            return status;
        status = hn_session_step(session, &event, err);
        if (status == HN_OK)
            status = hn_session_take_event(session, &event, err);
    }
    return status;
}

static enum hn_status end_search(struct hn_session *session, struct hn_error *err)
{
    enum hn_status status = hn_session_halt(session, err);
    if (status == HN_OK)
        status = measure_compiled(session, err);
    return status == HN_OK ? hn_session_wait_for_gpu(session, err) : status;
}

enum hn_status hn_session_loop(struct hn_session *session, struct hn_error *err)
{
    hn_session_show(session, "searching");
    for (;;) {
        struct hn_backend_event event;
        hn_session_mind_clock(session);
        if (hn_session_search_is_over(session))
            return end_search(session, err);
        /* What the event before this made known, then what is proposed because of it. */
        enum hn_status status = hn_session_register(session, err);
        if (status == HN_OK)
            status = hn_session_propose(session, err);
        /* The compile workers have something to do while this blocks. */
        if (status == HN_OK && session->compiles)
            status = hn_session_prepare(session, err);
        if (status == HN_OK)
            status = hn_session_register(session, err);
        if (status == HN_OK)
            status = hn_session_tell(session, err);
        if (status == HN_OK)
            status = feed_gpu(session, err);
        if (status != HN_OK || hn_session_is_over(session))
            return status;
        if (all_finished(session) && session->exhausted)
            return HN_OK;
        if (all_finished(session) && session->strategy != NULL)
            continue;
        status = hn_session_step(session, &event, err);
        if (status == HN_OK)
            status = hn_session_take_event(session, &event, err);
        if (status != HN_OK)
            return status;
    }
}

static enum hn_status search_and_race(struct hn_session *session, struct hn_error *err)
{
    bool again = true;
    enum hn_status status = hn_session_admit_given(session, err);
    while (status == HN_OK && again && !hn_session_is_over(session)) {
        status = hn_session_loop(session, err);
        again = false;
        if (status == HN_OK && hn_interrupted() == 0)
            status = hn_session_finals(session, &again, err);
    }
    return status;
}

static void note_end(struct hn_session *session)
{
    struct hn_session_state *state = &session->state;
    state->interrupted = hn_interrupted() != 0;
    if (state->interrupted || !hn_session_search_is_over(session))
        return;
    state->cut = state->proposed - state->finished;
    state->unraced =
        session->backend->kind->race != NULL && state->best != NULL && !state->best->final;
}

enum hn_status hn_session_run(struct hn_session *session, hn_session_watch *watch, void *watcher,
                              struct hn_error *err)
{
    session->watch = watch;
    session->watcher = watcher;
    enum hn_status status = hn_session_tell_start(session, err);
    if (status == HN_OK)
        status = search_and_race(session, err);
    /* What was waited for came to nothing, by a signal or by the clock. */
    if (status == HN_EINTERRUPTED)
        status = HN_OK;
    if (status == HN_OK)
        status = hn_session_tell(session, err);
    if (session->options.strategy->chance != NULL && session->strategy != NULL)
        session->state.chance = session->options.strategy->chance(session->strategy);
    /* What was finished is kept whatever happened; the first failure is the one that is told. */
    enum hn_status committed = hn_session_commit(session, status == HN_OK ? err : NULL);
    hn_session_show(session, "done");
    note_end(session);
    enum hn_status told = hn_session_tell_end(session, status == HN_OK ? err : NULL);
    if (status == HN_OK)
        status = committed;
    return status != HN_OK ? status : told;
}
