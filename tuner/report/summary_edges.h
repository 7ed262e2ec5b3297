/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_REPORT_SUMMARY_EDGES_H
#define HONE_TUNER_REPORT_SUMMARY_EDGES_H

#include "tuner/report/edges.h"
#include "tuner/session/session.h"

/* Where the best of a session lies on the edge of a parameter's range and the trend goes on: the space should be widened.
 * Reads no more than the records beside the best. Free with hn_edges_finish. */
enum hn_status hn_summary_edges(const struct hn_session *session, const struct hn_backend *backend,
                                struct hn_edges *edges, struct hn_error *err);
/* A line each, three at most. */
void hn_summary_print_edges(const struct hn_edges *edges, FILE *file);

#endif
