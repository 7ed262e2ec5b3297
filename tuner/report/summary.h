/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_REPORT_SUMMARY_H
#define HONE_TUNER_REPORT_SUMMARY_H

#include <jansson.h>
#include <stdio.h>

#include "tuner/session/session.h"

struct hn_roofs;

/* What a session found, for people: the best five, ties, the ladder, outcomes, failures with their first message, where
 * the time went. roofs: what times are set against, or NULL. */
enum hn_status hn_summary_print(const struct hn_session *session, const struct hn_backend *backend,
                                const struct hn_roofs *roofs, FILE *file, struct hn_error *err);
/* The same with all records. */
enum hn_status hn_summary_json(const struct hn_session *session, const struct hn_backend *backend,
                               const struct hn_roofs *roofs, json_t **json, struct hn_error *err);

/* What may have bent the times; NULL when out of memory. */
json_t *hn_health_to_json(const struct hn_health *health);

#endif
