/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PLAN_PLAN_JSON_H
#define HONE_RUNTIME_PLAN_PLAN_JSON_H

/* The format of a plan's JSON; what plan_json.c writes and plan_from_json.c reads. */
#define HN_PLAN_FORMAT 3

extern const char *const hn_reference_kind_names[3];

#endif
