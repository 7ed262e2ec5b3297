/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_EXPLAIN_EXPLAIN_H
#define HONE_TUNER_EXPLAIN_EXPLAIN_H

#include "tuner/report/summary.h"

/* What the records of one tuning tell: which parameters matter, what the best points have in common, what bounds the
 * best, and what to try next. Nothing is said that no record supports. */
struct hn_explain_input {
    const struct hn_task *task; /* the task's identity names the device */
    const struct hn_records *records;
    const struct hn_roofs *roofs; /* NULL: not known */
    bool simulated;
    bool stale; /* the template or the config have changed since */
    struct hn_origin origin; /* of the tuning */
    const char *config; /* its path */
    const char *tune, *explain, *run, *measure; /* commands on it that are shown */
    const struct hn_edge_compiler *compiler; /* NULL: what is advised was not compiled */
};

/* docs/formats.md describes the document; its `best` is null where no point was measured in full. */
json_t *hn_explain(const struct hn_explain_input *input);
extern const struct hn_view hn_explain_views[];

#endif
