/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/clock.h"
#include "runtime/plan/launch.h"
#include "tuner/session/session_internal.h"
#include "tuner/strategy/telling.h"

/* Compiled images waiting for the GPU at most, when the strategy runs ahead. */
static const size_t waiting_limit = 256;

/* The strategy is asked whether to go on from so many points on (fewer are done in no time), and
 * then after so many more, at least. */
static const uint64_t doubt_first = 50;
static const uint64_t doubt_interval = 8;

/* patience_ms: how long that is worth. */
static enum hn_status start_compiling(struct hn_session *session, size_t number, double patience_ms,
                                      struct hn_error *err)
{
    const struct hn_backend_kind *kind = session->backend->kind;
    struct hn_ticket *ticket = &session->tickets.items[number];
    struct hn_record *record = &ticket->flight->record;
    struct hn_launch launch;
    enum hn_status status =
        hn_launch_make_checked(session->task->plan, &session->backend->device,
                               session->task->problem, &record->point, &launch, record, err);
    if (status != HN_OK)
        return status;
    hn_launch_finish(&launch);
    if (record->outcome != HN_OUTCOME_OK)
        return hn_session_finish_ticket(session, number, err);
    session->compiles = true;
    ticket->state = HN_TICKET_COMPILING;
    ticket->flight->compiling_since_ms = hn_now_ms();
    return kind->compile(session->backend, number, &record->point, patience_ms, err);
}

/* The point was proposed before: what became of it then holds now too. */
static enum hn_status replay(struct hn_session *session, size_t number, size_t original,
                             struct hn_error *err)
{
    struct hn_ticket *ticket = &session->tickets.items[number];
    ticket->replayed = true;
    ticket->state = HN_TICKET_DUPLICATE;
    if (session->tickets.items[original].state == HN_TICKET_FINISHED)
        return hn_session_finish_ticket(session, number, err);
    enum hn_status status = hn_tickets_fly(&session->tickets, number, err);
    if (status == HN_OK)
        hn_tickets_follow(&session->tickets, number, original);
    return status;
}

/* Takes over what an earlier session found out. */
static enum hn_status reuse(struct hn_session *session, size_t number,
                            const struct hn_cached_entry *cached, struct hn_error *err)
{
    struct hn_ticket *ticket = &session->tickets.items[number];
    ticket->cached = true;
    ticket->result = cached->result;
    if (session->fresh && session->backend->kind->race != NULL)
        ticket->result.final = false;
    return hn_session_finish_ticket(session, number, err);
}

/* Makes a ticket of the point in session->choice. */
static enum hn_status admit_patiently(struct hn_session *session, bool full, double patience_ms,
                                      struct hn_error *err)
{
    size_t number;
    uint32_t point;
    if (!hn_space_contains(session->task->space, session->choice))
        return hn_fail(err, HN_ECONFIG, "the strategy proposed a point that is not valid");
    enum hn_status status = hn_points_add(&session->points, session->choice, &point, err);
    if (status != HN_OK)
        return status;
    size_t earlier = hn_tickets_of_point(&session->tickets, point);
    status = hn_tickets_add(&session->tickets, point, &number, err);
    if (status != HN_OK)
        return status;
    struct hn_ticket *ticket = &session->tickets.items[number];
    ticket->full = full;
    if (earlier != SIZE_MAX)
        return replay(session, number, earlier, err);
    session->state.proposed++;
    const struct hn_cached_entry *cached = hn_session_find_cached(session, point);
    if (cached != NULL && !(full && cached->result.outcome == HN_OUTCOME_SLOWER))
        return reuse(session, number, cached, err);
    status = hn_tickets_fly(&session->tickets, number, err);
    if (status == HN_OK)
        status = hn_session_point(session, point, &ticket->flight->record.point, err);
    return status == HN_OK ? start_compiling(session, number, patience_ms, err) : status;
}

static enum hn_status admit(struct hn_session *session, bool full, struct hn_error *err)
{
    return admit_patiently(session, full, INFINITY, err);
}

/* What the strategy has just proposed. Who asks for all points waits for all. */
static enum hn_status admit_proposal(struct hn_session *session, struct hn_error *err)
{
    const struct hn_session_options *options = &session->options;
    bool asks = options->strategy->patience != NULL && !options->full;
    double patience_ms = asks ? options->strategy->patience(session->strategy) : INFINITY;
    size_t number = session->tickets.count;
    size_t given = session->given_count;
    enum hn_status status = admit_patiently(session, false, patience_ms, err);
    if (status != HN_OK || !options->strategy->needs_feedback)
        return status;
    size_t first = hn_tickets_of_point(&session->tickets, session->tickets.items[number].point);
    hn_schedule_propose(&session->schedule, number - given,
                        (first < given ? number : first) - given);
    if (first < given)
        hn_schedule_note(&session->schedule, number - given, 0, true);
    return HN_OK;
}

static enum hn_status admit_point(struct hn_session *session, const struct hn_bindings *point,
                                  bool full, struct hn_error *err)
{
    enum hn_status status = hn_space_choice(session->task->space, point, session->choice, err);
    return status == HN_OK ? admit(session, full, err) : status;
}

/* Of points that are known to be good it is a seed like others, and not looked at for its own sake.
 */
static enum hn_status admit_ladder(struct hn_session *session, struct hn_error *err)
{
    const struct hn_config *config = session->task->config;
    bool full = session->options.first_count == 0;
    for (size_t i = 0; i < config->ladder_count; i++) {
        struct hn_bindings point;
        hn_bindings_init(&point);
        /* A restriction (-s) or another problem may leave a step out of the space: it is not
         * measured then. */
        if (hn_config_complete(config, session->task->space, &config->ladder[i], &point, NULL) !=
            HN_OK) {
            hn_bindings_finish(&point);
            continue;
        }
        enum hn_status status = admit_point(session, &point, full, err);
        hn_bindings_finish(&point);
        if (status != HN_OK)
            return status;
    }
    session->ladder_count = full ? session->tickets.count : 0;
    return HN_OK;
}

/* The default point that is for this problem and not for all. */
static enum hn_status admit_default(struct hn_session *session, struct hn_error *err)
{
    const struct hn_task *task = session->task;
    const struct hn_bindings *own = hn_plan_default(task->plan, task->problem);
    struct hn_error invalid;
    if (own == &task->plan->defaults ||
        hn_space_choice(task->space, own, session->choice, &invalid) != HN_OK ||
        !hn_space_contains(task->space, session->choice))
        return HN_OK;
    return admit(session, true, err);
}

/* The best of what is cached takes part in every final race, and the best of what was imported is
 * measured. */
static enum hn_status admit_incumbent(struct hn_session *session, struct hn_error *err)
{
    const uint32_t points[] = {session->cached.incumbent, session->cached.lead};
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < 2; i++) {
        if (points[i] == HN_NO_KEY)
            continue;
        hn_points_choice(&session->points, points[i], session->choice);
        status = admit(session, false, err);
    }
    return status;
}

/* Those that are valid. */
static enum hn_status admit_points(struct hn_session *session, const struct hn_bindings *points,
                                   size_t count, bool full, struct hn_error *err)
{
    const struct hn_space *space = session->task->space;
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < count; i++) {
        struct hn_error invalid;
        if (hn_space_choice(space, &points[i], session->choice, &invalid) == HN_OK &&
            hn_space_contains(space, session->choice))
            status = admit(session, full, err);
    }
    return status;
}

/* While the space is built there is something to measure, at least. */
static enum hn_status admit_meanwhile(struct hn_session *session, struct hn_error *err)
{
    const struct hn_task *task = session->task;
    struct hn_bindings point;
    if (session->strategy != NULL || session->tickets.count > 0)
        return HN_OK;
    hn_bindings_init(&point);
    enum hn_status status = hn_config_default_point(task->config, task->space, &point, err);
    if (status == HN_OK)
        status = admit_points(session, &point, 1, true, err);
    hn_bindings_finish(&point);
    return status;
}

static enum hn_status admit_before_search(struct hn_session *session, struct hn_error *err)
{
    const struct hn_session_options *options = &session->options;
    enum hn_status status = admit_points(session, options->first, options->first_count, false, err);
    if (status == HN_OK)
        status = admit_ladder(session, err);
    if (status == HN_OK)
        status = admit_default(session, err);
    return status == HN_OK ? admit_meanwhile(session, err) : status;
}

enum hn_status hn_session_admit_given(struct hn_session *session, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    const struct hn_session_options *options = &session->options;
    session->exhausted = options->point_count > 0;
    if (session->exhausted)
        status = admit_points(session, options->points, options->point_count, !options->hasty, err);
    else
        status = admit_before_search(session, err);
    if (status == HN_OK)
        status = admit_incumbent(session, err);
    session->given_count = session->tickets.count;
    return status;
}

static struct hn_ticket *strategy_ticket(struct hn_session *session, uint64_t t)
{
    return &session->tickets.items[session->given_count + t];
}

/* A point proposed again has the resources of the first time, which may have to be read. */
struct told {
    struct hn_record read;
    const struct hn_record *record; /* NULL: not known */
};

static void look_up(const struct hn_session *session, size_t number, struct told *told)
{
    const struct hn_ticket *ticket = &session->tickets.items[number];
    hn_record_init(&told->read);
    told->record = NULL;
    if (ticket->replayed)
        ticket = &session->tickets.items[hn_tickets_of_point(&session->tickets, ticket->point)];
    if (ticket->flight != NULL)
        told->record = &ticket->flight->record;
    else if (hn_session_record(session, number, &told->read, NULL) == HN_OK)
        told->record = &told->read;
}

/* Before a ticket is finished its record says what is known. */
static enum hn_outcome outcome_of(const struct hn_session *session, const struct hn_ticket *ticket)
{
    if (ticket->replayed)
        ticket = &session->tickets.items[hn_tickets_of_point(&session->tickets, ticket->point)];
    return ticket->state == HN_TICKET_FINISHED ? (enum hn_outcome)ticket->result.outcome
                                               : ticket->flight->record.outcome;
}

static void tell_compiled(struct hn_session *session, uint64_t t)
{
    struct hn_ticket *ticket = strategy_ticket(session, t);
    const struct hn_strategy_kind *kind = session->options.strategy;
    struct told told;
    if (kind->compiled == NULL)
        return;
    look_up(session, session->given_count + t, &told);
    const struct hn_observation known = {
        .outcome = outcome_of(session, ticket),
        .cost = NAN,
        .resources = told.record != NULL ? &told.record->resources : NULL,
    };
    if (!hn_tell_compiled(kind, session->strategy, t, &known) &&
        ticket->state == HN_TICKET_COMPILED)
        hn_record_fail(&ticket->flight->record, HN_OUTCOME_SKIPPED,
                       "the strategy declined to measure it");
    hn_record_finish(&told.read);
}

static void tell_finished(struct hn_session *session, uint64_t t)
{
    const struct hn_strategy_kind *kind = session->options.strategy;
    const struct hn_result *result = &strategy_ticket(session, t)->result;
    struct told told;
    if (kind->finished == NULL)
        return;
    bool measured = result->outcome == HN_OUTCOME_OK || result->outcome == HN_OUTCOME_SLOWER ||
                    result->outcome == HN_OUTCOME_DUPLICATE;
    look_up(session, session->given_count + t, &told);
    struct hn_observation observation = {
        .outcome = (enum hn_outcome)result->outcome,
        .cost = measured ? result->objective : NAN,
    };
    if (told.record != NULL) {
        const struct hn_costs *costs = &told.record->costs;
        observation.resources = &told.record->resources;
        observation.compile_ms = costs->compile_ms;
        observation.evaluate_ms = costs->verify_ms + costs->measure_ms;
    }
    kind->finished(session->strategy, t, &observation);
    hn_record_finish(&told.read);
}

/* Tell the strategy's tickets, in order, up to the first of which it is not known: to one that
 * needs no feedback. */
static void tell_in_order(struct hn_session *session)
{
    uint64_t count = session->tickets.count - session->given_count;
    for (; session->told_compiled < count; session->told_compiled++) {
        size_t number = session->given_count + session->told_compiled;
        if (number >= session->next_register ||
            session->tickets.items[number].state == HN_TICKET_COMPILING)
            break;
        tell_compiled(session, session->told_compiled);
        session->tickets.items[number].decided = true;
    }
    for (; session->told_finished < session->told_compiled; session->told_finished++) {
        if (strategy_ticket(session, session->told_finished)->state != HN_TICKET_FINISHED)
            return;
        tell_finished(session, session->told_finished);
        strategy_ticket(session, session->told_finished)->told = true;
        hn_session_release(session, session->given_count + session->told_finished);
    }
}

/* What the schedule goes by. */
static const struct hn_costs *costs_of(const struct hn_session *session, uint64_t t,
                                       struct told *told)
{
    static const struct hn_costs none = {0};
    look_up(session, session->given_count + t, told);
    return told->record != NULL ? &told->record->costs : &none;
}

/* What is known by now of the tickets that are not told. */
static void note_compilations(struct hn_session *session)
{
    const struct hn_backend *backend = session->backend;
    for (size_t i = 0; i < session->schedule.count; i++) {
        const struct hn_schedule_ticket *entry = &session->schedule.tickets[i];
        size_t number = session->given_count + entry->number;
        if (entry->known || number >= session->tickets.count)
            continue;
        if (session->tickets.items[number].state == HN_TICKET_COMPILING) {
            if (backend->kind->compiling_ms != NULL && isfinite(entry->start_ms))
                hn_schedule_note(&session->schedule, entry->number,
                                 backend->kind->compiling_ms(backend, number), false);
            continue;
        }
        struct told told;
        double compile_ms = costs_of(session, entry->number, &told)->compile_ms;
        hn_schedule_note(&session->schedule, entry->number, compile_ms, true);
        hn_record_finish(&told.read);
    }
}

void hn_session_hold_against(struct hn_session *session, size_t number)
{
    const struct hn_result *result = &session->tickets.items[number].result;
    if (result->outcome == HN_OUTCOME_OK &&
        (session->censor == SIZE_MAX ||
         result->median_us < session->tickets.items[session->censor].result.median_us))
        session->censor = number;
}

static enum hn_status decide(struct hn_session *session, uint64_t t, struct hn_error *err)
{
    size_t number = session->given_count + t;
    struct hn_ticket *ticket = &session->tickets.items[number];
    enum hn_status status = hn_session_register_ticket(session, number, err);
    if (status != HN_OK)
        return status;
    tell_compiled(session, t);
    ticket->decided = true;
    if (ticket->flight != NULL)
        ticket->flight->censor = session->censor;
    session->told_compiled++;
    hn_schedule_tell(&session->schedule, HN_SCHEDULE_COMPILED, t, 0);
    return HN_OK;
}

static void conclude(struct hn_session *session, uint64_t t)
{
    struct told told;
    size_t number = session->given_count + t;
    const struct hn_costs *costs = costs_of(session, t, &told);
    double evaluate_ms =
        strategy_ticket(session, t)->replayed ? 0 : costs->verify_ms + costs->measure_ms;
    hn_record_finish(&told.read);
    for (; session->censor_next < session->given_count; session->censor_next++)
        hn_session_hold_against(session, session->censor_next);
    hn_session_hold_against(session, number);
    tell_finished(session, t);
    strategy_ticket(session, t)->told = true;
    session->told_finished++;
    hn_schedule_tell(&session->schedule, HN_SCHEDULE_FINISHED, t, evaluate_ms);
    hn_session_release(session, number);
}

/* Tells what is next in the schedule. Nobody is told of the given tickets, but what is told may be
 * a duplicate of theirs, or held against them. told: false where it is not there yet. */
static enum hn_status tell_next(struct hn_session *session, bool *told, struct hn_error *err)
{
    uint64_t t = 0;
    uint64_t count = session->tickets.count - session->given_count;
    note_compilations(session);
    enum hn_schedule_event event = hn_schedule_next(&session->schedule, &t);
    session->held_ms = session->schedule.held_ms;
    *told = event != HN_SCHEDULE_NONE;
    if (!*told || t >= count) {
        if (*told)
            hn_schedule_tell(&session->schedule, event, t, 0);
        return HN_OK;
    }
    if (event == HN_SCHEDULE_COMPILED) {
        *told = !hn_session_given_compile(session) &&
                strategy_ticket(session, t)->state != HN_TICKET_COMPILING;
        return *told ? decide(session, t, err) : HN_OK;
    }
    hn_session_settle(session);
    *told = session->next_settled >= session->given_count &&
            strategy_ticket(session, t)->state == HN_TICKET_FINISHED;
    if (*told)
        conclude(session, t);
    return HN_OK;
}

/* Tells until another proposal may be made. room: false when that is not known yet. */
static enum hn_status tell_for_room(struct hn_session *session, bool *room, struct hn_error *err)
{
    const struct hn_strategy_kind *kind = session->options.strategy;
    bool told = true;
    enum hn_status status = HN_OK;
    *room = false;
    while (status == HN_OK && told) {
        *room = hn_may_propose(kind, session->strategy, &session->schedule);
        if (*room)
            return HN_OK;
        status = tell_next(session, &told, err);
    }
    return status;
}

enum hn_status hn_session_tell(struct hn_session *session, struct hn_error *err)
{
    struct hn_schedule *schedule = &session->schedule;
    uint64_t count = session->tickets.count - session->given_count;
    bool told = true;
    enum hn_status status = HN_OK;
    if (!session->options.strategy->needs_feedback) {
        tell_in_order(session);
        return HN_OK;
    }
    /* Behind the last proposal it goes on as if there were more, so that what is declined does not
     * depend on where the search ends. */
    while (status == HN_OK && told && session->exhausted && session->strategy != NULL &&
           session->told_finished < count) {
        while (hn_schedule_has_room(schedule)) {
            uint64_t number = count + session->after++;
            hn_schedule_propose(schedule, number, number);
            hn_schedule_note(schedule, number, 0, true);
        }
        status = tell_next(session, &told, err);
    }
    return status;
}

static bool budget_is_used(const struct hn_session *session)
{
    const struct hn_session_options *options = &session->options;
    return (options->budget_count > 0 && session->state.proposed >= options->budget_count) ||
           hn_session_search_is_over(session);
}

/* Asks the strategy, now and then, whether something better may be there. */
static enum hn_status doubt(struct hn_session *session, struct hn_error *err)
{
    const struct hn_session_options *options = &session->options;
    if (options->strategy->chance == NULL || session->state.proposed < doubt_first ||
        session->state.proposed < session->next_doubt)
        return HN_OK;
    session->next_doubt = session->state.proposed + doubt_interval + session->state.proposed / 8;
    double chance = options->strategy->chance(session->strategy);
    session->state.chance = chance;
    session->state.stopped = chance < options->stop_chance;
    return hn_session_tell_chance(session, chance, err);
}

static enum hn_status find_room(struct hn_session *session, bool *room, struct hn_error *err)
{
    if (session->options.strategy->needs_feedback)
        return tell_for_room(session, room, err);
    size_t unfinished = session->tickets.count - session->next_settled;
    *room = session->backend->kind->room(session->backend) > 0 && unfinished < waiting_limit;
    return HN_OK;
}

static bool is_exhausted(const struct hn_session *session)
{
    return session->state.proposed == session->state.points ||
           session->repeats >= HN_REPEATS_MOST || budget_is_used(session);
}

static enum hn_status propose(struct hn_session *session, struct hn_error *err)
{
    while (!session->exhausted) {
        uint64_t t = session->tickets.count - session->given_count;
        uint64_t known = session->state.proposed;
        bool room = false;
        session->exhausted = is_exhausted(session);
        enum hn_status status = session->exhausted ? HN_OK : find_room(session, &room, err);
        if (status == HN_OK && !room)
            break;
        if (status == HN_OK)
            status = doubt(session, err);
        if (status != HN_OK)
            return status;
        session->exhausted = session->state.stopped || !session->options.strategy->propose(
                                                           session->strategy, t, session->choice);
        if (session->exhausted)
            break;
        status = admit_proposal(session, err);
        session->repeats = session->state.proposed > known ? 0 : session->repeats + 1;
        /* What is told is let go of: launches that are known not to fit finish right here. */
        if (status == HN_OK && !session->options.strategy->needs_feedback) {
            status = hn_session_register(session, err);
            if (status == HN_OK)
                status = hn_session_tell(session, err);
        }
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}

/* Whether there is a strategy to ask, now that the space may be built. */
static bool may_propose(struct hn_session *session, enum hn_status *status, struct hn_error *err)
{
    *status = HN_OK;
    session->exhausted = session->exhausted || budget_is_used(session);
    if (session->strategy == NULL && !session->exhausted && hn_space_is_built(session->task->space))
        *status = hn_session_begin_search(session, err);
    return *status == HN_OK && session->strategy != NULL;
}

enum hn_status hn_session_propose(struct hn_session *session, struct hn_error *err)
{
    enum hn_status status;
    if (may_propose(session, &status, err))
        status = propose(session, err);
    session->backend->all_asked = session->exhausted;
    return status;
}
