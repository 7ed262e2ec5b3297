/* SPDX-License-Identifier: MIT */
#include "tuner/session/session_internal.h"

#include <stdlib.h>
#include <string.h>

#include "tuner/interrupt.h"
#include "tuner/workers/process.h"

static const double watch_interval_ms = 100;

/* Whether what a cached record is held against, the point that it duplicates or that stopped it
 * early, is a point of this space with a time of its own. */
static bool has_footing(const struct hn_session *session, const struct hn_record *record)
{
    const struct hn_space *space = session->task->space;
    struct hn_bindings point;
    if (record->original == NULL || hn_bindings_parse(record->original, &point, NULL) != HN_OK)
        return false;
    bool known = hn_space_choice(space, &point, session->choice, NULL) == HN_OK;
    hn_bindings_finish(&point);
    uint64_t number = known ? hn_space_find(space, session->choice) : UINT64_MAX;
    uint32_t cached = number != UINT64_MAX ? session->cached_of_point[number] : 0;
    return cached > 0 && session->cached.items[cached - 1].outcome == HN_OUTCOME_OK;
}

/* Whether a cached record serves, or its point has to be evaluated again. */
static bool reusable(const struct hn_session *session, const struct hn_record *record)
{
    switch (record->outcome) {
    case HN_OUTCOME_OK:
        return true;
    case HN_OUTCOME_DUPLICATE:
        return has_footing(session, record);
    case HN_OUTCOME_SLOWER:
        return !session->options.full && has_footing(session, record);
    case HN_OUTCOME_SKIPPED:
        /* Declined by a strategy: another that measures everything does not take its word. */
        return session->options.strategy->compiled != NULL && !session->options.retry_failed;
    default:
        return !session->options.retry_failed;
    }
}

static enum hn_status index_cache(struct hn_session *session, struct hn_error *err)
{
    const struct hn_space *space = session->task->space;
    session->cached_of_point = calloc(hn_space_size(space) + 1, sizeof *session->cached_of_point);
    if (session->cached_of_point == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < session->cached.count; i++) {
        const struct hn_record *record = &session->cached.items[i];
        /* The space may have changed since: points that it no longer has are left alone. */
        if (hn_space_choice(space, &record->point, session->choice, NULL) != HN_OK)
            continue;
        uint64_t point = hn_space_find(space, session->choice);
        if (point != UINT64_MAX)
            session->cached_of_point[point] = (uint32_t)i + 1;
    }
    for (uint64_t point = 0; point < hn_space_size(space); point++) {
        uint32_t cached = session->cached_of_point[point];
        if (cached > 0 && !reusable(session, &session->cached.items[cached - 1]))
            session->cached_of_point[point] = 0;
    }
    return HN_OK;
}

static enum hn_status load_cache(struct hn_session *session, struct hn_error *err)
{
    if (session->store != NULL) {
        enum hn_status status =
            hn_store_load(session->store, &session->task->identity, &session->task->version,
                          session->backend->simulated, &session->cached, err);
        if (status != HN_OK)
            return status;
    }
    return index_cache(session, err);
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
    session->best = SIZE_MAX;
    session->censor = SIZE_MAX;
    session->started_ms = options->started_ms > 0 ? options->started_ms : hn_now_ms();
    session->state.points = hn_space_size(task->space);
    session->state.phase = "preparing";
    session->choice = calloc(hn_space_parameter_count(task->space) + 1, sizeof *session->choice);
    enum hn_status status = session->choice != NULL ? HN_OK : hn_fail_memory(err);
    if (status == HN_OK)
        status = hn_tickets_init(&session->tickets, session->state.points, err);
    if (status == HN_OK)
        status = load_cache(session, err);
    const struct hn_search search = {
        .space = task->space, .seed = options->seed, .look_ahead = HN_LOOK_AHEAD};
    if (status == HN_OK)
        status = options->strategy->create(&search, &session->strategy, err);
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
    hn_records_free(&session->cached);
    free(session->cached_of_point);
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
    state->best = session->best != SIZE_MAX ? &session->tickets.items[session->best].record : NULL;
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
    if (hn_interrupted() != 0)
        return HN_OK;
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
    /* Only here: new tickets may move the old ones, which an evaluation borrows. */
    session->backend->owner = session;
    session->backend->meanwhile = go_on;
    if (status == HN_OK)
        status = session->backend->kind->prepare(session->backend, &session->state.noise, err);
    session->backend->meanwhile = NULL;
    session->state.phase = "searching";
    return status;
}

enum hn_status hn_session_step(struct hn_session *session, struct hn_backend_event *event,
                               struct hn_error *err)
{
    int due = session->store != NULL ? hn_store_due_ms(session->store) : -1;
    int timeout = (int)watch_interval_ms;
    if (due >= 0 && due < timeout)
        timeout = due;
    enum hn_status status = session->backend->kind->wait(session->backend, timeout, event, err);
    if (status == HN_OK && session->store != NULL && hn_store_due_ms(session->store) == 0) {
        status = hn_store_commit(session->store, err);
        if (status != HN_OK)
            hn_backend_event_finish(event);
    }
    if (hn_now_ms() - session->watched_ms >= watch_interval_ms)
        hn_session_show(session, session->state.phase);
    return status;
}

/* The best time that ticket `number` can be held against. Where a strategy hears of it, of tickets
 * told long ago, so that the sequence is the same whatever the number of cores; otherwise of all
 * before it. */
static const struct hn_record *find_censor(struct hn_session *session, size_t number)
{
    size_t distance = session->options.strategy->needs_feedback ? HN_LOOK_AHEAD : 1;
    while (session->censor_next + distance <= number &&
           session->censor_next < session->next_settled) {
        const struct hn_record *record = &session->tickets.items[session->censor_next].record;
        if (record->outcome == HN_OUTCOME_OK &&
            (session->censor == SIZE_MAX ||
             record->timing.median_us <
                 session->tickets.items[session->censor].record.timing.median_us))
            session->censor = session->censor_next;
        session->censor_next++;
    }
    return session->censor != SIZE_MAX ? &session->tickets.items[session->censor].record : NULL;
}

static enum hn_status dispatch(struct hn_session *session, size_t number, struct hn_error *err)
{
    struct hn_ticket *ticket = &session->tickets.items[number];
    const struct hn_record *censor = find_censor(session, number);
    bool by_time = strcmp(session->task->plan->objective, "time") == 0;
    struct hn_bench_request request = {
        .verify = true,
        .measure = true,
        .full = session->options.full || ticket->full || !by_time,
        .censor_us = censor != NULL ? censor->timing.median_us : 0,
    };
    ticket->state = HN_TICKET_EVALUATING;
    ticket->censor = session->censor;
    return session->backend->kind->evaluate(session->backend, number, &ticket->record.point,
                                            &ticket->image, &request, err);
}

/* A strategy that may decline decides when it is told of the compilation. */
static bool decided(const struct hn_session *session, size_t number)
{
    return session->options.strategy->compiled == NULL ||
           number < session->given_count + session->told_compiled;
}

/* Gives the GPU the lowest ticket that waits for it. */
static enum hn_status feed_gpu(struct hn_session *session, struct hn_error *err)
{
    if (!session->backend->kind->idle(session->backend))
        return HN_OK;
    bool skipped_any = false;
    for (size_t i = session->next_dispatch; i < session->next_register; i++) {
        enum hn_ticket_state state = session->tickets.items[i].state;
        if (state == HN_TICKET_COMPILED && !decided(session, i))
            return HN_OK;
        if (state == HN_TICKET_COMPILED &&
            session->tickets.items[i].record.outcome != HN_OUTCOME_SKIPPED)
            return dispatch(session, i, err);
        if (state == HN_TICKET_COMPILED) {
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

enum hn_status hn_session_loop(struct hn_session *session, struct hn_error *err)
{
    hn_session_show(session, "searching");
    for (;;) {
        struct hn_backend_event event;
        enum hn_status status = hn_session_propose(session, err);
        /* The compile workers have something to do while this blocks. */
        if (status == HN_OK && session->compiles)
            status = hn_session_prepare(session, err);
        if (status == HN_OK)
            status = hn_session_register(session, err);
        if (status == HN_OK) {
            hn_session_tell(session);
            status = feed_gpu(session, err);
        }
        if (status != HN_OK || hn_interrupted() != 0)
            return status;
        if (all_finished(session)) {
            if (session->exhausted)
                return HN_OK;
            continue;
        }
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
    while (status == HN_OK && again && hn_interrupted() == 0) {
        status = hn_session_loop(session, err);
        again = false;
        if (status == HN_OK && hn_interrupted() == 0)
            status = hn_session_finals(session, &again, err);
    }
    return status;
}

enum hn_status hn_session_run(struct hn_session *session, hn_session_watch *watch, void *watcher,
                              struct hn_error *err)
{
    session->watch = watch;
    session->watcher = watcher;
    enum hn_status status = search_and_race(session, err);
    hn_session_tell(session);
    session->state.interrupted = hn_interrupted() != 0;
    /* What was finished is kept whatever happened; the first failure is the one that is told. */
    enum hn_status committed = hn_session_commit(session, status == HN_OK ? err : NULL);
    hn_session_show(session, "done");
    return status != HN_OK ? status : committed;
}
