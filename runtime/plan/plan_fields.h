/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PLAN_PLAN_FIELDS_H
#define HONE_RUNTIME_PLAN_PLAN_FIELDS_H

#include "base/expression/expression_json.h"

/* The members of a plan and of its parts, spelled once: their JSON, who frees them, which expressions there are. */
extern const struct hn_structure hn_plan_structure;
extern const struct hn_structure hn_argument_structure;
extern const struct hn_structure hn_compare_structure;
extern const struct hn_structure hn_fill_structure;
extern const struct hn_structure hn_step_structure;
extern const struct hn_structure hn_reference_structure;
extern const struct hn_structure hn_pipeline_structure;

/* What an expression sees, the tag of its field. */
enum hn_plan_scope {
    HN_SEES_ALL,     /* names, pitches and, with a pipeline, the chunk */
    HN_SEES_NAMES,   /* parameters and problem values: pitches are made of them, so that there is an order */
    HN_SEES_PITCHES, /* these and the pitches: how the extent is cut is not for a chunk to say */
    HN_SEES_METRICS, /* all, what was measured, and the metrics before it */
};

#endif
