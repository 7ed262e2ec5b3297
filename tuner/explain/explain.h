/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_EXPLAIN_EXPLAIN_H
#define HONE_TUNER_EXPLAIN_EXPLAIN_H

#include <jansson.h>
#include <stdio.h>

#include "tuner/explain/bounds.h"
#include "tuner/explain/common.h"
#include "tuner/explain/effects.h"
#include "tuner/report/edges.h"
#include "tuner/report/findings.h"

/* What the records of one tuning tell: which parameters matter, what the best points have in common, what bounds the
 * best, and what to try next. Nothing is said that no record supports. */

/* A next thing to try, with what speaks for it. */
struct hn_advice {
    const char *kind; /* "widen", "spills", "warnings", "grid", "roof", "occupancy", "counters", "profile", "budget", "drop", "constrain" */
    char *text;
};

struct hn_explanation {
    const struct hn_task *task; /* with the device and version of the records */
    struct hn_device device;
    const struct hn_roofs *roofs; /* NULL: not known */
    const char *measure; /* the command that measures them */
    bool simulated;
    bool stale;
    struct hn_origin origin; /* of the tuning */
    struct hn_evidence evidence;
    struct hn_effects effects;
    struct hn_evidence compiling; /* what compiling took, */
    struct hn_effects compile_effects; /* and what it goes with */
    struct hn_common common;
    struct hn_bounds bounds; /* of the best */
    struct hn_findings findings; /* what its counters say, if they were read */
    struct hn_warned warned;
    struct hn_edges edges;
    struct hn_advice *advice;
    size_t advice_count;
};

struct hn_explain_input {
    const struct hn_task *task; /* the task's identity names the device */
    const struct hn_records *records;
    const struct hn_roofs *roofs;
    bool simulated;
    bool stale; /* the template or the config have changed since */
    struct hn_origin origin; /* of the tuning */
    const char *config; /* its path */
    const char *tune, *explain, *run, *measure; /* commands on it that are shown */
    const struct hn_edge_compiler *compiler; /* NULL: what is advised was not compiled */
};

/* Borrows the input's parts. */
void hn_explain(const struct hn_explain_input *input, struct hn_explanation *explanation);
void hn_explanation_finish(struct hn_explanation *explanation);

/* advice.c: fills in the advice. */
void hn_explain_advise(const struct hn_explain_input *input, struct hn_explanation *explanation);

void hn_explanation_print(const struct hn_explanation *explanation, FILE *file);
/* NULL when out of memory. */
json_t *hn_explanation_to_json(const struct hn_explanation *explanation);

#endif
