/* SPDX-License-Identifier: MIT */
#include "tuner/session/session_cached.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cache/store/store_record.h"
#include "tuner/session/session_internal.h"

static enum hn_status reserve(struct hn_cached *cached, uint32_t wanted, struct hn_error *err)
{
    if (wanted >= cached->capacity) {
        uint32_t capacity = cached->capacity > 0 ? cached->capacity : 64;
        while (capacity <= wanted)
            capacity *= 2;
        struct hn_cached_entry *entries = realloc(cached->entries, capacity * sizeof *entries);
        if (entries == NULL)
            return hn_fail_memory(err);
        cached->entries = entries;
        cached->capacity = capacity;
    }
    for (; cached->count <= wanted; cached->count++)
        cached->entries[cached->count] = (struct hn_cached_entry){.row = 0};
    return HN_OK;
}

static enum hn_status take_record(void *visitor, int64_t id, struct hn_record *record,
                                  struct hn_error *err)
{
    struct hn_session *session = visitor;
    struct hn_cached *cached = &session->cached;
    cached->earliest = fmin(cached->earliest, record->time);
    const struct hn_space *space = session->task->space;
    uint32_t point;
    /* The space may have changed since: points that it no longer has are left alone. */
    if (hn_space_choice(space, &record->point, session->choice, NULL) != HN_OK ||
        !hn_space_contains(space, session->choice))
        return HN_OK;
    enum hn_status status = hn_points_add(&session->points, session->choice, &point, err);
    if (status == HN_OK)
        status = reserve(cached, point, err);
    if (status != HN_OK)
        return status;
    struct hn_cached_entry *entry = &cached->entries[point];
    entry->row = id;
    memcpy(entry->code_hash, record->code_hash, sizeof entry->code_hash);
    status = hn_session_result_of(session, record, &entry->result, err);
    if (record->outcome == HN_OUTCOME_OK &&
        (cached->incumbent == HN_NO_KEY ||
         record->objective < cached->entries[cached->incumbent].result.objective))
        cached->incumbent = point;
    return status;
}

/* Somebody else's measurements are no result, but their best is worth a try. */
static enum hn_status take_lead(void *visitor, int64_t id, struct hn_record *record,
                                struct hn_error *err)
{
    struct hn_session *session = visitor;
    struct hn_cached *cached = &session->cached;
    const struct hn_space *space = session->task->space;
    (void)id;
    if (record->outcome != HN_OUTCOME_OK || !(record->objective < cached->lead_objective) ||
        hn_space_choice(space, &record->point, session->choice, NULL) != HN_OK ||
        !hn_space_contains(space, session->choice))
        return HN_OK;
    cached->lead_objective = record->objective;
    return hn_points_add(&session->points, session->choice, &cached->lead, err);
}

enum hn_status hn_session_load_cached(struct hn_session *session, struct hn_error *err)
{
    session->cached.incumbent = HN_NO_KEY;
    session->cached.earliest = INFINITY;
    session->cached.lead = HN_NO_KEY;
    session->cached.lead_objective = INFINITY;
    /* Kernel Tuner does not say with which driver and compiler: another file of it is another
     * measurement. */
    if (session->store == NULL || session->task->version.protocol == HN_KERNEL_TUNER_PROTOCOL)
        return HN_OK;
    const struct hn_task *task = session->task;
    bool simulated = session->backend->simulated;
    enum hn_status status = hn_store_visit(session->store, &task->identity, &task->version,
                                           simulated, HN_STORE_OWN, take_record, session, err);
    if (status == HN_OK)
        status = hn_store_visit(session->store, &task->identity, &task->version, simulated,
                                HN_STORE_IMPORTED, take_lead, session, err);
    return status;
}

void hn_cached_finish(struct hn_cached *cached)
{
    free(cached->entries);
    *cached = (struct hn_cached){.incumbent = HN_NO_KEY, .lead = HN_NO_KEY};
}

static const struct hn_cached_entry *entry_of(const struct hn_cached *cached, uint32_t point)
{
    return point < cached->count && cached->entries[point].row != 0 ? &cached->entries[point]
                                                                    : NULL;
}

/* Whether what a cached record is held against, the point that it duplicates or that stopped it
 * early, is a point of this space with a time of its own. */
static bool has_footing(const struct hn_cached *cached, const struct hn_result *result)
{
    const struct hn_cached_entry *original =
        result->against != HN_NO_KEY ? entry_of(cached, result->against) : NULL;
    return original != NULL && original->result.outcome == HN_OUTCOME_OK;
}

/* Whether a cached record serves, or its point has to be evaluated again. */
static bool reusable(const struct hn_session *session, const struct hn_result *result)
{
    switch ((enum hn_outcome)result->outcome) {
    case HN_OUTCOME_OK:
        return true;
    case HN_OUTCOME_DUPLICATE:
        return has_footing(&session->cached, result);
    case HN_OUTCOME_SLOWER:
        return !session->options.full && has_footing(&session->cached, result);
    case HN_OUTCOME_COMPILE_STOPPED:
        return false; /* it may be worth more now */
    case HN_OUTCOME_SKIPPED:
        /* Declined by a strategy: another that measures everything does not take its word. */
        return session->options.strategy->compiled != NULL && !session->options.retry_failed;
    default:
        return !session->options.retry_failed;
    }
}

const struct hn_cached_entry *hn_session_find_cached(const struct hn_session *session,
                                                     uint32_t point)
{
    const struct hn_cached_entry *entry = entry_of(&session->cached, point);
    return entry != NULL && reusable(session, &entry->result) ? entry : NULL;
}
