/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_STORE_NEWEST_H
#define HONE_CACHE_STORE_NEWEST_H

#include "cache/database.h"

/* The start of a query: the table `newest` has all records of a task and version, and those with
 * place = 1 are the ones that count, one a point. A measured record without a verification yields
 * to any other; then the newest session counts; within it the final race, or that a point turned
 * out wrong; then the order of writing. */
#define HN_NEWEST                                                                                  \
    "WITH newest AS (SELECT r.id, r.point, r.outcome, r.final, r.objective, r.json,"               \
    " s.id AS session_id, s.started, ROW_NUMBER() OVER (PARTITION BY r.point ORDER BY"             \
    " r.verification = 0 AND r.outcome IN ('ok', 'slower', 'duplicate'),"                          \
    " s.started DESC, s.id DESC,"                                                                  \
    " r.final OR r.outcome IN ('wrong_result', 'out_of_bounds') DESC, r.id DESC) AS place"         \
    " FROM record r JOIN session s ON r.session_id = s.id"                                         \
    " WHERE s.task_id = ? AND s.version_id = ? AND s.simulated = ?) "

static inline void hn_bind_newest(struct hn_statement *statement, int64_t task_id,
                                  int64_t version_id, bool simulated)
{
    hn_bind_integer(statement, task_id);
    hn_bind_integer(statement, version_id);
    hn_bind_integer(statement, simulated);
}

#endif
