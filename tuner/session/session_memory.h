/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SESSION_SESSION_MEMORY_H
#define HONE_TUNER_SESSION_SESSION_MEMORY_H

#include "tuner/session/session.h"
#include "tuner/session/ticket.h"

/* What a session holds of its tickets. The record of a finished one stays in flight as long as it is needed, and is read
 * from the cache when it is needed again. */
struct hn_session;

/* The ticket has a flight, with its record, until it is released. */
enum hn_status hn_session_recall(struct hn_session *session, size_t number, struct hn_error *err);
/* Lets go of a finished ticket's flight, unless it is held, among the close ones, or not yet told to the strategy. */
void hn_session_release(struct hn_session *session, size_t number);
/* What is compared of a record; its original becomes the number of a point. */
enum hn_status hn_session_result_of(struct hn_session *session, const struct hn_record *record,
                                    struct hn_result *result, struct hn_error *err);
/* A point by its number. */
enum hn_status hn_session_point(const struct hn_session *session, uint32_t point, struct hn_bindings *bindings,
                                struct hn_error *err);
/* The result of a ticket from the record of its flight. */
enum hn_status hn_session_note_result(struct hn_session *session, size_t number, struct hn_error *err);
/* Keeps image and record of a ticket that is among the best. */
void hn_session_keep_close(struct hn_session *session, size_t number);
/* Makes it the best, or none (SIZE_MAX). */
enum hn_status hn_session_set_best(struct hn_session *session, size_t number, struct hn_error *err);
/* Looks for the best among all: raced ones before others. */
enum hn_status hn_session_find_best(struct hn_session *session, struct hn_error *err);
/* No record counts as raced any more, until the next race. */
void hn_session_forget_races(struct hn_session *session);

#endif
