/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "cache/record/record_json.h"
#include "tuner/session/session_internal.h"

/* One line; takes the event over. */
static void write_event(struct hn_session *session, json_t *event, struct hn_error *err)
{
    FILE *events = session->options.events;
    hn_needed(event);
    /* Other sessions may write, too. */
    flockfile(events);
    json_dumpf(event, events, JSON_COMPACT);
    json_decref(event);
    fputc('\n', events);
    bool written = fflush(events) == 0 && ferror(events) == 0;
    funlockfile(events);
    if (!written)
        hn_fail(err, HN_ERUN, "the events (--events) can not be written: %s", strerror(errno));
}

static json_t *number(double value)
{
    return isnan(value) ? json_null() : json_real(value);
}

void hn_session_tell_start(struct hn_session *session, struct hn_error *err)
{
    const struct hn_task *task = session->task;
    if (hn_failed(err) || session->options.events == NULL)
        return;
    write_event(session,
                json_pack("{ss so ss ss ss sb ss sI sI so so sf}", "event", "start", "problem",
                          hn_bindings_to_json(task->problem), "kernel", task->identity.kernel,
                          "device", task->identity.device.name, "regime", task->identity.regime,
                          "simulated", session->backend->simulated, "strategy",
                          session->options.strategy->name, "seed",
                          (json_int_t)session->options.seed, "look_ahead",
                          (json_int_t)session->search.look_ahead, "points",
                          session->state.points != UINT64_MAX
                              ? json_integer((json_int_t)session->state.points)
                              : json_null(),
                          "budget",
                          session->options.budget_count > 0
                              ? json_integer((json_int_t)session->options.budget_count)
                              : json_null(),
                          "time", hn_session_epoch_s()),
                err);
}

void hn_session_tell_record(struct hn_session *session, const struct hn_record *record,
                            struct hn_error *err)
{
    if (hn_failed(err) || session->options.events == NULL)
        return;
    write_event(session,
                json_pack("{ss so ss so}", "event", "record", "problem",
                          hn_bindings_to_json(session->task->problem), "device",
                          session->task->identity.device.name, "record", hn_record_to_json(record)),
                err);
}

void hn_session_tell_chance(struct hn_session *session, double chance, struct hn_error *err)
{
    if (hn_failed(err) || session->options.events == NULL || isnan(chance)) /* not known */
        return;
    write_event(session,
                json_pack("{ss so ss sI sf sf}", "event", "chance", "problem",
                          hn_bindings_to_json(session->task->problem), "device",
                          session->task->identity.device.name, "finished",
                          (json_int_t)session->state.finished, "chance", chance, "time",
                          hn_session_epoch_s()),
                err);
}

json_t *hn_session_counts_to_json(const struct hn_session_state *state)
{
    json_t *counts = json_object();
    for (int outcome = 0; outcome < HN_OUTCOME_COUNT; outcome++)
        if (state->counts[outcome] > 0)
            json_object_set_new(counts, hn_outcome_name((enum hn_outcome)outcome),
                                json_integer((json_int_t)state->counts[outcome]));
    return counts;
}

void hn_session_tell_end(struct hn_session *session, struct hn_error *err)
{
    const struct hn_session_state *state = &session->state;
    if (hn_failed(err) || session->options.events == NULL)
        return;
    write_event(
        session,
        json_pack("{ss so ss sI sI so so so so sb sb sf sf}", "event", "end", "problem",
                  hn_bindings_to_json(session->task->problem), "device",
                  session->task->identity.device.name, "finished", (json_int_t)state->finished,
                  "reused", (json_int_t)state->reused, "outcomes", hn_session_counts_to_json(state),
                  "best",
                  state->best != NULL ? hn_bindings_to_json(&state->best->point) : json_null(),
                  "best_us", number(state->best != NULL ? state->best->timing.median_us : NAN),
                  "chance", number(state->chance), "stopped", state->stopped, "interrupted",
                  state->interrupted, "elapsed_s", state->elapsed_s, "time", hn_session_epoch_s()),
        err);
}
