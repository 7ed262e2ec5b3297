/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_REPORT_SUMMARY_H
#define HONE_TUNER_REPORT_SUMMARY_H

#include "tuner/report/render.h"
#include "tuner/session/session.h"

struct hn_roofs;

/* What a session found: the best, ties, the ladder, outcomes, failures with their first message, where the time went. roofs: what
 * times are set against, or NULL. all: with every record, else with those that the views show. NULL: it failed. */
json_t *hn_summary(const struct hn_session *session, const struct hn_backend *backend, const struct hn_roofs *roofs, bool all,
                   struct hn_error *err);
extern const struct hn_view hn_summary_views[];

/* What may have bent the times. */
json_t *hn_health_to_json(const struct hn_health *health);

#endif
