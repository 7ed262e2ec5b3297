/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_REPORT_SUMMARY_H
#define HONE_TUNER_REPORT_SUMMARY_H

#include "base/statistics.h"
#include "tuner/report/bounds.h"
#include "tuner/report/render.h"
#include "tuner/session/session.h"

/* What a session found: the best, ties, the ladder, outcomes, failures with their first message, where the time went. roofs: what
 * times are set against, or NULL. all: with every record, else with those that the views show. NULL: it failed. */
json_t *hn_summary(const struct hn_session *session, const struct hn_backend *backend, const struct hn_roofs *roofs, bool all,
                   struct hn_error *err);
extern const struct hn_view hn_summary_views[];
/* What has to be known before the best is trusted; NULL: nothing. */
const char *hn_summary_reservation(const struct hn_plan *plan, const struct hn_record *best);

/* What may have bent the times. */
json_t *hn_health_to_json(const struct hn_health *health);

/* Whether a point compiles, for whoever can find out. */
enum hn_compiles { HN_COMPILES_UNKNOWN, HN_COMPILES, HN_COMPILES_NOT };
struct hn_edge_compiler {
    enum hn_compiles (*compile)(void *context, const struct hn_task *task, const struct hn_bindings *point);
    void *context;
};

/* The time of one point, in microseconds, of which a lower bound has no upper end; false where it was not measured. */
typedef bool hn_edge_lookup(void *context, const struct hn_bindings *point, struct hn_interval *time_us);

/* Where the best point has the least or the greatest value of a numeric parameter, and the values behind it get worse the
 * further they are from there: the space ends where it should go on. Only for parameters of three values and more, where
 * the next value behind, all else equal, was measured and is worse beyond the intervals and by more than 2%, and where the
 * value that would follow is allowed by the constraints, can be launched, and, where there is a compiler to ask, compiles: an
 * instruction may have no such size.
 *
 * [{"name", "value", "behind", "ratio", "next", "compiles", "text"}, ...], those first that lose most; nothing where the
 * objective is not time. device and compiler may be NULL: limits are not known, nothing is compiled. */
json_t *hn_edges_find(const struct hn_task *task, const struct hn_device *device, const struct hn_record *best,
                      hn_edge_lookup *lookup, void *context, const struct hn_edge_compiler *compiler);
void hn_edge_time_of(const struct hn_record *record, struct hn_interval *time_us);

#endif
