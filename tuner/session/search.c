/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "base/statistics.h"
#include "cache/store/store.h"
#include "runtime/plan/launch.h"
#include "tuner/session/session_internal.h"
#include "tuner/strategy/schedule.h"

/* Compiled images waiting for the GPU at most, when the strategy runs ahead. */
static const size_t waiting_limit = 256;

/* The strategy is asked whether to go on from so many points on (fewer are done in no time), and
 * then after so many more, at least. */
static const uint64_t doubt_first = 50;
static const uint64_t doubt_interval = 8;

/* patience_ms: how long that is worth. */
static void start_compiling(struct hn_session *session, size_t number, double patience_ms,
                            struct hn_error *err)
{
    struct hn_ticket *ticket = &session->tickets.items[number];
    struct hn_record *record = &ticket->flight->record;
    struct hn_launch launch HN_ENDED_BY(hn_launch_finish) = {0};
    if (hn_failed(err) || hn_launch_make_checked(session->task->plan, &session->backend->device,
                                                 session->task->problem, &record->point, &launch,
                                                 record, err) != HN_OK)
        return;
    if (record->outcome != HN_OUTCOME_OK) {
        hn_session_finish_ticket(session, number, err);
        return;
    }
    session->compiles = true;
    ticket->state = HN_TICKET_COMPILING;
    ticket->flight->compiling_since_ms = hn_now_ms();
    hn_session_start(session, number, patience_ms, NULL, err);
}

static const struct hn_cached_entry *entry_of(const struct hn_cached *cached, uint32_t point)
{
    return point < cached->count && cached->entries[point].row != 0 ? &cached->entries[point]
                                                                    : NULL;
}

/* The entry of a point when it serves this session; NULL when it has to be evaluated. */
static const struct hn_cached_entry *find_cached(const struct hn_session *session, uint32_t point)
{
    const struct hn_cached_entry *entry = entry_of(&session->cached, point);
    if (entry == NULL)
        return NULL;
    const struct hn_cached_entry *original = entry_of(&session->cached, entry->result.against);
    bool serves = !session->options.retry_failed;
    switch ((enum hn_outcome)entry->result.outcome) {
    case HN_OUTCOME_OK:
        return entry;
    case HN_OUTCOME_DUPLICATE:
    case HN_OUTCOME_SLOWER:
        /* The point that it duplicates or that stopped it early needs a time of its own here. */
        serves = original != NULL && original->result.outcome == HN_OUTCOME_OK &&
                 (entry->result.outcome == HN_OUTCOME_DUPLICATE || !session->options.full);
        break;
    case HN_OUTCOME_COMPILE_STOPPED:
        return NULL; /* it may be worth more now */
    case HN_OUTCOME_SKIPPED:
        /* Declined by a strategy: another that measures everything does not take its word. */
        serves = serves && session->options.strategy->compiled != NULL;
        break;
    default:
        break;
    }
    return serves ? entry : NULL;
}

/* Makes a ticket of the point in session->choice. */
static void admit(struct hn_session *session, bool full, double patience_ms, struct hn_error *err)
{
    if (!hn_failed(err) && !hn_space_contains(session->task->space, session->choice))
        hn_fail(err, HN_ECONFIG, "the strategy proposed a point that is not valid");
    if (hn_failed(err))
        return;
    uint32_t point = hn_keys_add(&session->points, session->choice);
    size_t earlier = hn_tickets_of_point(&session->tickets, point);
    size_t number = hn_tickets_add(&session->tickets, point);
    struct hn_ticket *ticket = &session->tickets.items[number];
    const struct hn_cached_entry *cached = find_cached(session, point);
    ticket->full = full;
    session->state.proposed += earlier == SIZE_MAX;
    if (earlier != SIZE_MAX) {
        /* The fate that the point had then holds now too. */
        ticket->replayed = true;
        ticket->state = HN_TICKET_DUPLICATE;
        if (session->tickets.items[earlier].state == HN_TICKET_FINISHED) {
            hn_session_finish_ticket(session, number, err);
            return;
        }
        hn_tickets_fly(&session->tickets, number)->original = earlier;
        session->tickets.items[earlier].awaited = true;
    } else if (cached != NULL && !(full && cached->result.outcome == HN_OUTCOME_SLOWER)) {
        ticket->cached = true;
        ticket->result = cached->result;
        if (session->fresh && !session->backend->simulated)
            ticket->result.final = false;
        hn_session_finish_ticket(session, number, err);
    } else {
        struct hn_flight *flight = hn_tickets_fly(&session->tickets, number);
        hn_session_point(session, point, &flight->record.point);
        start_compiling(session, number, patience_ms, err);
    }
}

/* Admits the proposal in session->choice. Who asks for all points waits for all. */
static void admit_proposal(struct hn_session *session, struct hn_error *err)
{
    const struct hn_strategy_kind *kind = session->options.strategy;
    struct hn_schedule *schedule = &session->schedule;
    bool asks = kind->patience != NULL && !session->options.full;
    double patience_ms = asks ? kind->patience(session->strategy) : INFINITY;
    size_t number = session->tickets.count;
    size_t given = session->given_count;
    admit(session, false, patience_ms, err);
    if (hn_failed(err) || !kind->needs_feedback)
        return;
    size_t first = hn_tickets_of_point(&session->tickets, session->tickets.items[number].point);
    hn_schedule_propose(schedule, number - given, (first < given ? number : first) - given);
    if (first < given)
        hn_schedule_note(schedule, number - given, 0, true);
}

/* Those that are valid. */
static void admit_points(struct hn_session *session, const struct hn_bindings *points, size_t count,
                         bool full, struct hn_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (hn_space_has(session->task->space, &points[i], session->choice))
            admit(session, full, INFINITY, err);
}

/* Beside points that are known to be good it is a seed like others, and may be stopped early. */
static void admit_ladder(struct hn_session *session, struct hn_error *err)
{
    const struct hn_task *task = session->task;
    const struct hn_config *config = task->config;
    bool full = session->options.first_count == 0;
    for (size_t i = 0; i < config->ladder_count && !hn_failed(err); i++) {
        struct hn_bindings point HN_ENDED_BY(hn_bindings_finish) =
            hn_need_bindings(&task->start, &config->ladder[i]);
        /* Not a step that a restriction (-s) or another problem leaves out. */
        admit_points(session, &point, 1, full, err);
    }
    session->ladder_count = full ? session->tickets.count : 0;
}

void hn_session_admit_given(struct hn_session *session, struct hn_error *err)
{
    const struct hn_session_options *options = &session->options;
    const struct hn_task *task = session->task;
    const struct hn_bindings *own = hn_plan_default(task->plan, task->problem);
    session->exhausted = options->point_count > 0;
    if (session->exhausted) {
        admit_points(session, options->points, options->point_count, !options->hasty, err);
    } else {
        admit_points(session, options->first, options->first_count, false, err);
        admit_ladder(session, err);
        /* The default point that is for this problem and not for all, or beside which a program is
         * scored. */
        if (own != &task->plan->defaults || task->plan->program != NULL)
            admit_points(session, own, 1, true, err);
        /* While the space is built there is something to measure, at least. */
        if (!hn_failed(err) && session->strategy == NULL && session->tickets.count == 0)
            admit_points(session, &task->start, 1, true, err);
    }
    /* The best of what is cached takes part in every final race, and the best of what was imported
     * is measured. */
    const uint32_t known[] = {session->cached.incumbent, session->cached.lead};
    for (size_t i = 0; i < 2; i++) {
        if (known[i] == HN_NO_KEY)
            continue;
        memcpy(session->choice, hn_keys_at(&session->points, known[i]), session->points.stride);
        admit(session, false, INFINITY, err);
    }
    session->given_count = session->tickets.count;
}

/* The program of a point; false where there is none. */
static bool find_program(const struct hn_task *task, const struct hn_bindings *point,
                         struct hn_hash *program)
{
    struct hn_source source HN_ENDED_BY(hn_source_finish) = {0};
    struct hn_source_key key;
    if (hn_task_source(task, point, &source, NULL) != HN_OK)
        return false;
    bool found = hn_source_key(&source, "", &key, NULL) == HN_OK;
    *program = key.hash;
    return found;
}

/* Points that differ from one in a parameter have its program. Some values of a long list tell. One
 * for which there is no program decides nothing. *asked: there was another. */
static bool is_unread(const struct hn_task *task, const struct hn_bindings *point, size_t parameter,
                      bool *asked)
{
    enum { ASKED_MOST = 8 };
    const struct hn_space *space = task->space;
    size_t count = hn_space_parameter(space, parameter)->count;
    bool same = true;
    struct hn_hash program;
    struct hn_bindings other HN_ENDED_BY(hn_bindings_finish) = {0};
    *asked = false;
    if (!find_program(task, point, &program) || hn_bindings_copy(&other, point, NULL) != HN_OK)
        return true;
    for (size_t i = 0; i < count && same; i += 1 + count / ASKED_MOST) {
        struct hn_hash changed;
        if (hn_bindings_set(&other, hn_space_parameter(space, parameter)->name,
                            &hn_space_parameter(space, parameter)->values[i], NULL) != HN_OK ||
            hn_bindings_equal(&other, point) || !find_program(task, &other, &changed))
            continue;
        same = strcmp(changed.hex, program.hex) == 0;
        *asked = true;
    }
    return same;
}

enum { MOST_SOURCES = 3, LEAST_POINTS = 8 };

/* Distances of grades; within a grade the problem's distance, far below it, decides. */
static const double other_version = 0;
static const double other_problem = 1;
static const double other_device = 1e6;
static const double other_capability = 2e6;
static const double never = INFINITY;

/* Not hn_lookup_ratio, which answers another question: it is near where values are both small
 * (1 + |x|), so that every launch gets some result, and sets words before all numbers. Here nothing
 * has to be found: a size of 1 is as far from 8 as 8 from 64, a word weighs as much as a factor of
 * 256, and an imported problem with other names still counts, last. */
static double value_distance(const struct hn_value *a, const struct hn_value *b)
{
    static const double unlike = 8;
    if (a->type == HN_WORD || b->type == HN_WORD)
        return hn_value_equal(a, b) ? 0 : unlike;
    double x = hn_value_number(a), y = hn_value_number(b);
    if (x <= 0 || y <= 0)
        return x < y || x > y ? unlike : 0;
    return fmin(fabs(log2(x / y)), 64);
}

/* never: the problems have other names. */
static double problem_distance(const struct hn_bindings *a, const struct hn_bindings *b)
{
    double sum = 0;
    if (a->count != b->count)
        return never;
    for (size_t i = 0; i < a->count; i++) {
        const struct hn_value *other = hn_bindings_get(b, a->names[i]);
        if (other == NULL)
            return never;
        sum += value_distance(&a->values[i], other);
    }
    return sum;
}

static double distance(const struct hn_task *task, const struct hn_tuned *tuned)
{
    const struct hn_identity *own = &task->identity, *other = &tuned->identity;
    if (strcmp(own->objective, other->objective) != 0)
        return never;
    if (hn_identity_equal(own, other))
        return hn_version_equal(&task->version, &tuned->version) &&
                       (tuned->simulated || !hn_origin_is_foreign(&tuned->origin))
                   ? never
                   : other_version;
    double problem = problem_distance(&own->problem, &other->problem);
    /* imported tunings name their problem otherwise */
    problem = isinf(problem) ? other_problem + 1000 : other_problem + fmin(problem, 999);
    if (hn_device_identity_equal(&own->device, &other->device))
        return problem;
    bool same_capability =
        own->device.capability > 0 && own->device.capability == other->device.capability;
    return problem + (same_capability ? other_device : other_capability);
}

static bool is_measured(const struct hn_record *record)
{
    return record->outcome == HN_OUTCOME_OK || record->outcome == HN_OUTCOME_DUPLICATE;
}

/* Adds the records that are points of this space; takes them back when there are too few. */
static void add_records(struct hn_knowledge *knowledge, const struct hn_space *space,
                        const struct hn_records *records, double before)
{
    size_t width = hn_space_parameter_count(space);
    size_t first = knowledge->count;
    size_t most = first + records->count;
    size_t measured = 0;
    knowledge->priors = hn_need_more(knowledge->priors, most, sizeof *knowledge->priors);
    knowledge->choices = hn_need_more(knowledge->choices, most * width, sizeof *knowledge->choices);
    HN_EACH(record, *records) {
        uint16_t *choice = knowledge->choices + knowledge->count * width;
        if (record->time >= before || hn_outcome_is_open(record->outcome) ||
            record->outcome == HN_OUTCOME_SLOWER || !hn_space_has(space, &record->point, choice))
            continue;
        measured += is_measured(record);
        knowledge->priors[knowledge->count++] = (struct hn_prior){
            .observation = {record->outcome, is_measured(record) ? record->objective : NAN, NULL},
            .source = knowledge->sources,
        };
    }
    if (measured >= LEAST_POINTS)
        knowledge->sources++;
    else
        knowledge->count = first;
}

static void knowledge_finish(struct hn_knowledge *knowledge)
{
    free(knowledge->priors);
    free(knowledge->choices);
}

/* Nearest first: this problem and device in another version; this device, by the problem's distance
 * (the sum of |log2(a / b)| over its values); devices of the same compute capability; any. Three
 * tunings at most, each with at least eight measured points of this space. Only what was measured
 * before `before` (seconds since the epoch) counts, so that a tuning that is run again finds what
 * it found the first time. simulated selects which kind. */
static void knowledge_collect(struct hn_store *store, const struct hn_task *task, bool simulated,
                              double before, struct hn_knowledge *knowledge, struct hn_error *err)
{
    struct hn_tuned_list list HN_ENDED_BY(hn_tuned_list_free) = {0};
    if (hn_store_list(store, HN_STORE_RESULTS, task->identity.kernel, NULL, &list, err) != HN_OK)
        return;
    struct hn_ranked *sources HN_FREED = hn_need(list.count, sizeof *sources);
    size_t count = 0;
    for (size_t i = 0; i < list.count; i++) {
        double far = distance(task, &list.items[i]);
        if (list.items[i].simulated == simulated && !isinf(far))
            sources[count++] = (struct hn_ranked){far, i};
    }
    qsort(sources, count, sizeof *sources, hn_ranked_compare);
    for (size_t i = 0; i < count && knowledge->sources < MOST_SOURCES && !hn_failed(err); i++) {
        const struct hn_tuned *tuned = &list.items[sources[i].place];
        struct hn_records records HN_ENDED_BY(hn_records_free) = {0};
        if (hn_store_load(store, &tuned->identity, &tuned->version, tuned->simulated, &records,
                          err) != HN_OK)
            break;
        add_records(knowledge, task->space, &records, before);
    }
    size_t width = hn_space_parameter_count(task->space);
    for (size_t i = 0; i < knowledge->count; i++)
        knowledge->priors[i].choice = knowledge->choices + i * width;
}

static void create_strategy(struct hn_session *session, struct hn_error *err)
{
    const struct hn_session_options *options = &session->options;
    struct hn_knowledge knowledge HN_ENDED_BY(knowledge_finish) = {0};
    if (options->strategy->uses_priors && session->store != NULL)
        knowledge_collect(session->store, session->task, session->backend->simulated,
                          fmin(session->cached.earliest, session->created_s), &knowledge, err);
    if (hn_failed(err))
        return;
    session->state.sources = knowledge.sources;
    const struct hn_task *task = session->task;
    /* By parameter: no program reads it, as far as the default point and some values tell. Where
     * points are told nobody asks. */
    bool unread[hn_space_parameter_count(task->space) + 1];
    bool shares = false; /* a point beside the default point has its program */
    bool chooses = options->point_count == 0;
    bool asks = chooses && !session->backend->simulated && task->plan->program == NULL;
    for (size_t i = 0; asks && i < hn_space_parameter_count(task->space); i++) {
        bool asked;
        unread[i] = is_unread(task, &task->start, i, &asked);
        shares = shares || (unread[i] && asked);
    }
    session->backend->unshared = chooses && !shares;
    const struct hn_search search = {
        .unread = asks ? unread : NULL,
        .space = task->space,
        .seed = options->seed,
        .look_ahead = session->state.look_ahead,
        .priors = knowledge.priors,
        .prior_count = knowledge.count,
    };
    session->strategy = options->strategy->create(&search, err);
    session->state.planned = !hn_failed(err);
}

/* The ladder needs no more than constraints, so that it does not wait for this. */
void hn_session_begin_search(struct hn_session *session, struct hn_error *err)
{
    struct hn_space *space = session->task->space;
    if (hn_failed(err) || hn_space_wait(space, err) != HN_OK)
        return;
    session->state.points = hn_space_size(space);
    hn_space_count_text(space, session->state.points_text);
    create_strategy(session, err);
}

static uint64_t strategy_count(const struct hn_session *session)
{
    return session->tickets.count - session->given_count;
}

/* A point proposed again has the record of the first time, which may have to be read; NULL: it is
 * not known. *first: the ticket that has it, to be released. */
static const struct hn_record *look_up(struct hn_session *session, size_t number, size_t *first)
{
    const struct hn_ticket *ticket = &session->tickets.items[number];
    struct hn_error ignored = {.status = HN_OK};
    *first = ticket->replayed ? hn_tickets_of_point(&session->tickets, ticket->point) : number;
    const struct hn_flight *flight = hn_session_recall(session, *first, &ignored);
    return flight != NULL ? &flight->record : NULL;
}

static void tell_compiled(struct hn_session *session, uint64_t t)
{
    size_t number = session->given_count + t;
    struct hn_ticket *ticket = &session->tickets.items[number];
    const struct hn_strategy_kind *kind = session->options.strategy;
    size_t first;
    if (kind->compiled == NULL)
        return;
    const struct hn_record *record = look_up(session, number, &first);
    struct hn_observation known = {.outcome = (enum hn_outcome)ticket->result.outcome, .cost = NAN};
    if (record != NULL) {
        known.outcome = record->outcome;
        known.resources = &record->resources;
    }
    if (!hn_tell_compiled(kind, session->strategy, t, &known) &&
        ticket->state == HN_TICKET_COMPILED)
        hn_record_fail(&ticket->flight->record, HN_OUTCOME_SKIPPED,
                       "the strategy declined to measure it");
    hn_session_release(session, first);
}

/* Notes the compile times that are known by now of tickets that are not told. */
static void note_compilations(struct hn_session *session)
{
    struct hn_schedule *schedule = &session->schedule;
    HN_EACH_OF(entry, schedule->tickets, schedule->count) {
        size_t number = session->given_count + entry->number;
        struct hn_backend_state state;
        size_t first;
        if (entry->known || number >= session->tickets.count)
            continue;
        if (session->tickets.items[number].state != HN_TICKET_COMPILING) {
            const struct hn_record *record = look_up(session, number, &first);
            hn_schedule_note(schedule, entry->number, record != NULL ? record->costs.compile_ms : 0,
                             true);
            hn_session_release(session, first);
        } else if (isfinite(entry->start_ms)) {
            session->backend->kind->look(session->backend, number, &state);
            hn_schedule_note(schedule, entry->number, state.age_ms, false);
        }
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

static void conclude(struct hn_session *session, uint64_t t)
{
    const struct hn_strategy_kind *kind = session->options.strategy;
    size_t number = session->given_count + t;
    struct hn_ticket *ticket = &session->tickets.items[number];
    const struct hn_result *result = &ticket->result;
    bool measured = result->outcome == HN_OUTCOME_OK || result->outcome == HN_OUTCOME_SLOWER ||
                    result->outcome == HN_OUTCOME_DUPLICATE;
    struct hn_observation observation = {.outcome = (enum hn_outcome)result->outcome,
                                         .cost = measured ? result->objective : NAN};
    size_t first;
    for (; session->censor_next < session->given_count; session->censor_next++)
        hn_session_hold_against(session, session->censor_next);
    hn_session_hold_against(session, number);
    const struct hn_record *record = look_up(session, number, &first);
    if (record != NULL) {
        const struct hn_costs *costs = &record->costs;
        observation.resources = &record->resources;
        observation.compile_ms = costs->compile_ms;
        observation.evaluate_ms = costs->verify_ms + costs->measure_ms;
    }
    if (kind->finished != NULL)
        kind->finished(session->strategy, t, &observation);
    ticket->told = true;
    session->told_finished++;
    hn_schedule_tell(&session->schedule, HN_SCHEDULE_FINISHED, t,
                     ticket->replayed ? 0 : observation.evaluate_ms);
    hn_session_release(session, number);
    hn_session_release(session, first);
}

/* Tells what is next in the schedule. Nobody is told of the given tickets, but what is told may be
 * a duplicate of theirs, or held against them. False: it is not there yet. */
static bool tell_next(struct hn_session *session, struct hn_error *err)
{
    uint64_t t = 0;
    struct hn_schedule *schedule = &session->schedule;
    note_compilations(session);
    enum hn_schedule_event event = hn_schedule_next(schedule, &t);
    session->held_ms = schedule->held_ms;
    if (event == HN_SCHEDULE_NONE)
        return false;
    if (t >= strategy_count(session)) {
        hn_schedule_tell(schedule, event, t, 0);
        return true;
    }
    size_t number = session->given_count + t;
    enum hn_ticket_state state = (enum hn_ticket_state)session->tickets.items[number].state;
    if (event == HN_SCHEDULE_COMPILED) {
        size_t *given = &session->next_given;
        while (*given < session->given_count &&
               session->tickets.items[*given].state != HN_TICKET_COMPILING)
            ++*given;
        if (*given < session->given_count || state == HN_TICKET_COMPILING)
            return false;
        hn_session_register_ticket(session, number, err);
        if (hn_failed(err))
            return false;
        struct hn_ticket *ticket = &session->tickets.items[number];
        tell_compiled(session, t);
        ticket->decided = true;
        if (ticket->flight != NULL)
            ticket->flight->censor = session->censor;
        hn_schedule_tell(schedule, event, t, 0);
        return true;
    }
    if (session->next_settled < session->given_count || state != HN_TICKET_FINISHED)
        return false;
    conclude(session, t);
    return true;
}

void hn_session_tell(struct hn_session *session, struct hn_error *err)
{
    uint64_t count = strategy_count(session);
    if (hn_failed(err) || !session->options.strategy->needs_feedback)
        return;
    /* Behind the last proposal it goes on as if there were more, so that what is declined does not
     * depend on where the search ends. */
    bool told = session->exhausted && session->strategy != NULL;
    while (told && session->told_finished < count) {
        while (hn_schedule_has_room(&session->schedule)) {
            uint64_t number = count + session->after++;
            hn_schedule_propose(&session->schedule, number, number);
            hn_schedule_note(&session->schedule, number, 0, true);
        }
        told = tell_next(session, err);
    }
}

static bool budget_is_used(const struct hn_session *session)
{
    const struct hn_session_options *options = &session->options;
    return (options->budget_count > 0 && session->state.proposed >= options->budget_count) ||
           hn_session_search_is_over(session);
}

/* Whether another proposal may be made, once all was told that it takes. */
static bool find_room(struct hn_session *session, struct hn_error *err)
{
    if (!session->options.strategy->needs_feedback)
        return session->tickets.count - session->next_settled < waiting_limit &&
               hn_session_look(session).room > 0;
    while (!hn_may_propose(session->options.strategy, session->strategy, &session->schedule))
        if (!tell_next(session, err))
            return false;
    return true;
}

static void propose_one(struct hn_session *session, struct hn_error *err)
{
    const struct hn_strategy_kind *kind = session->options.strategy;
    struct hn_session_state *state = &session->state;
    uint64_t known = state->proposed;
    /* It is asked, now and then, whether something better may be there. */
    if (kind->chance != NULL && known >= doubt_first && known >= session->next_doubt) {
        session->next_doubt = known + doubt_interval + known / 8;
        state->chance = kind->chance(session->strategy);
        state->stopped = state->chance < session->options.stop_chance;
        hn_session_tell_news(session, NULL, err);
    }
    if (hn_failed(err))
        return;
    session->exhausted = state->stopped || !kind->propose(session->strategy,
                                                          strategy_count(session), session->choice);
    if (session->exhausted)
        return;
    admit_proposal(session, err);
    session->repeats = state->proposed > known ? 0 : session->repeats + 1;
}

void hn_session_propose(struct hn_session *session, struct hn_error *err)
{
    session->exhausted = session->exhausted || budget_is_used(session);
    /* The space may be built by now. */
    if (session->strategy == NULL && !session->exhausted && hn_space_is_built(session->task->space))
        hn_session_begin_search(session, err);
    while (!hn_failed(err) && session->strategy != NULL && !session->exhausted) {
        session->exhausted = session->state.proposed == session->state.points ||
                             session->repeats >= HN_REPEATS_MOST || budget_is_used(session);
        if (session->exhausted || !find_room(session, err))
            break;
        propose_one(session, err);
    }
    session->backend->all_asked = session->exhausted;
}

/* A point that is proposed again is there already. */
static void add_ahead(struct hn_points_ahead *ahead, const struct hn_bindings *point,
                      struct hn_error *err)
{
    for (size_t i = 0; i < ahead->count; i++)
        if (hn_bindings_equal(&ahead->points[i], point))
            return;
    if (hn_bindings_copy(&ahead->points[ahead->count], point, err) == HN_OK)
        ahead->count++;
}

/* Proposals that a strategy makes before it has been told anything. */
static void add_proposals(struct hn_points_ahead *ahead, const struct hn_task *task,
                          const struct hn_session_options *options, size_t limit,
                          struct hn_error *err)
{
    const struct hn_strategy_kind *kind = options->strategy;
    unsigned look_ahead = options->look_ahead > 0 ? (unsigned)options->look_ahead
                                                  : (unsigned)task->config->look_ahead;
    const struct hn_search search = {
        .space = task->space, .seed = options->seed, .look_ahead = look_ahead};
    uint64_t most = kind->needs_feedback ? look_ahead / 2 : limit;
    struct hn_strategy *strategy;
    if (hn_failed(err) || hn_space_wait(task->space, err) != HN_OK ||
        (strategy = kind->create(&search, err)) == NULL)
        return;
    uint16_t choice[hn_space_parameter_count(task->space) + 1];
    for (uint64_t t = 0; t < most && ahead->count < limit && !hn_failed(err); t++) {
        struct hn_bindings point HN_ENDED_BY(hn_bindings_finish) = {0};
        if (t > 0 && kind->waits != NULL && kind->waits(strategy))
            break;
        ahead->complete = !kind->propose(strategy, t, choice);
        if (ahead->complete)
            break;
        hn_space_bindings(task->space, choice, &point);
        add_ahead(ahead, &point, err);
    }
    kind->destroy(strategy);
}

void hn_points_ahead_make(struct hn_points_ahead *ahead, const struct hn_task *task,
                          struct hn_store *store, const struct hn_session_options *options,
                          size_t limit, struct hn_error *err)
{
    const struct hn_config *config = task->config;
    hn_error_init(err);
    *ahead = (struct hn_points_ahead){0};
    bool known = store != NULL && hn_store_knows(store, &task->version, err);
    if (hn_failed(err) || known)
        return;
    ahead->fresh = true;
    ahead->points = hn_need(limit, sizeof *ahead->points);
    for (size_t i = 0; i < config->ladder_count && ahead->count < limit && !hn_failed(err); i++) {
        struct hn_bindings point HN_ENDED_BY(hn_bindings_finish) = {0};
        if (hn_config_complete(config, task->space, &task->start, &config->ladder[i], &point,
                               NULL) == HN_OK)
            add_ahead(ahead, &point, err);
    }
    /* As much as is known now is enough to begin with. */
    if (hn_space_is_built(task->space))
        add_proposals(ahead, task, options, limit, err);
}
