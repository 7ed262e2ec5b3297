/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SESSION_FINALS_PART_H
#define HONE_TUNER_SESSION_FINALS_PART_H

#include "tuner/session/session_internal.h"

/* The field of the finals: shared by finals.c (verified, raced, audited) and finals_measure.c (counters, energy, copies). */
struct hn_finals {
    struct hn_session *session;
    size_t numbers[HN_FINALIST_LIMIT]; /* tickets that are left */
    size_t count;
    size_t held[HN_FINALIST_LIMIT]; /* all that there were */
    size_t held_count;
    bool raced; /* their times are the race's */
    bool again; /* one fell, and others may be among the best now */
};

static inline struct hn_flight *hn_finals_flight(const struct hn_finals *finals, size_t i)
{
    return finals->session->tickets.items[finals->numbers[i]].flight;
}

/* Finds them and holds them in flight. */
void hn_finals_gather(struct hn_finals *finals, struct hn_error *err);
/* The best first. */
void hn_finals_sort(struct hn_finals *finals);
/* Compiles the finalists that came from the cache or whose images were dropped. */
void hn_finals_ensure_images(struct hn_finals *finals, struct hn_error *err);
/* What the bench says of one of them; HN_OUTCOME_SKIPPED when a signal came or the time is up. The verdict is the caller's to
 * finish. */
void hn_finals_check(struct hn_finals *finals, size_t i, const struct hn_bench_request *request, struct hn_record *verdict,
                     struct hn_error *err);
/* It failed, and was not cut short. */
bool hn_verdict_is_failure(const struct hn_record *verdict);
/* A finalist loses its ok; `where` is the end of its message. */
void hn_finals_fall(struct hn_finals *finals, size_t i, const struct hn_record *verdict, const char *where, struct hn_error *err);

/* With --counters: reads what the GPU counts of the best finalists' launches, into their records. Behind all that is timed,
 * since counting slows launches. Why it can not be done is told once, in the session's state. */
void hn_finals_count(struct hn_finals *finals, struct hn_error *err);
/* The same for finals that were held before: their winner stays, and is counted now. */
void hn_finals_count_again(struct hn_finals *finals, struct hn_error *err);

/* With --energy: what launches of the fastest consume, into their records. Where energy is the objective it is the finalists'
 * result from then on, behind the race and before the winner is audited; who fails meanwhile falls. */
void hn_finals_weigh(struct hn_finals *finals, struct hn_error *err);
/* It was asked for, and not measured in the finals that were held. */
bool hn_finals_lack_energy(const struct hn_session *session);

/* What the best moves per second is set against a memcpy of as much, in the same run. */
void hn_finals_copy(struct hn_finals *finals, struct hn_error *err);
/* What the parts of the best pipeline take alone: its time is set against them. */
void hn_finals_parts(struct hn_finals *finals, struct hn_error *err);

#endif
